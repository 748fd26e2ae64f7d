import itertools
import json
import pickle

import numpy as np
import pytest

import naive
from noisyor import NoisyOrError, NoisyOrNetwork, Structure
from noisyor.network import Independent, Joint, Trait
from noisyor.network.causes import trait_grid
from together import KINDS, as_naive, random_causes, random_together


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_marginals_joint_and_correlations_agree_with_all_states(kind, seed):
    rng = np.random.default_rng(seed)
    causes = random_causes(rng, 4, kind)
    priors = naive.Mixed(*(part.tolist() for part in causes.components))
    states = np.array(list(itertools.product([0, 1], repeat=4)))
    chances = np.array([naive.probability_of_states(priors, state) for state in states])
    assert chances.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(causes.marginals(), chances @ states, rtol=1e-12)
    np.testing.assert_allclose(causes.joint(range(4)).ravel(), chances, rtol=1e-10)
    deviations = states - chances @ states
    covariances = deviations.T @ (deviations * chances[:, np.newaxis])
    scale = np.sqrt(np.diag(covariances))
    expected = covariances / np.outer(scale, scale)
    np.testing.assert_allclose(causes.correlations(), expected, atol=1e-9)
    odds = causes.marginals() / (1.0 - causes.marginals())
    np.testing.assert_allclose(np.exp(causes.log_odds()), odds)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_moments_agree_with_naive(kind, seed):
    rng = np.random.default_rng(seed)
    network = random_together(rng, 4, 5, kind)
    twin = as_naive(network)
    for members in ([0], [1, 3], [0, 2, 4]):
        assert network.negative_moment(members) == pytest.approx(
            naive.negative_moment(*twin, members)
        )
    marginals = [naive.joint_probability(*twin, {j: 1}) for j in range(5)]
    np.testing.assert_allclose(network.marginals(), marginals)
    joint = network.joint([0, 1, 2])
    for values in itertools.product([0, 1], repeat=3):
        expected = naive.joint_probability(*twin, dict(enumerate(values)))
        assert joint[values] == pytest.approx(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_sampled_records_have_the_moments(kind):
    rng = np.random.default_rng(1)
    network = random_together(rng, 4, 5, kind)
    n = 40_000
    findings, diseases = network.sample(n, rng=2, return_diseases=True)
    error = 4.5 * np.sqrt(0.25 / n)
    np.testing.assert_allclose(diseases.mean(axis=0), network.priors, atol=error)
    np.testing.assert_allclose(
        np.corrcoef(diseases.T), network.causes.correlations(), atol=5.0 / np.sqrt(n)
    )
    np.testing.assert_allclose(findings.count_present() / n, network.marginals(), atol=error)
    assert findings == network.sample(n, rng=2, n_jobs=1)


def test_records_of_people_with_covariates():
    rng = np.random.default_rng(0)
    network = random_together(rng, 4, 5, "trait with covariates")
    people = {"age": [70.0] * 20_000, "site": ["b"] * 20_000}
    _, diseases = network.sample(20_000, rng=1, return_diseases=True, covariates=people)
    expected = network.given({"age": 70.0, "site": "b"}).priors
    np.testing.assert_allclose(diseases.mean(axis=0), expected, atol=4.5 * np.sqrt(0.25 / 20_000))
    with pytest.raises(NoisyOrError, match="give all covariates of 3 records; there are 20,000"):
        network.sample(3, covariates=people)


def test_given_covariates_is_the_mean_over_people_like_that():
    rng = np.random.default_rng(3)
    causes = random_causes(rng, 3, "covariates")
    effects = causes.effects
    expected = np.zeros(3)
    for cell, weight in zip(effects.cells, effects.weights, strict=True):
        row = np.concatenate([cell[:1], [0.0, 1.0, 0.0]])
        log_odds = causes.intercepts + effects.coefficients @ row
        expected += weight / (1.0 + np.exp(-log_odds))
    np.testing.assert_allclose(causes.given({"site": "b"}).marginals(), expected)
    np.testing.assert_allclose(causes.given({}).marginals(), causes.marginals())
    np.testing.assert_allclose(causes.given({"age": None}).marginals(), causes.marginals())


@pytest.mark.parametrize("kind", KINDS)
def test_files_there_and_back(tmp_path, kind):
    rng = np.random.default_rng(0)
    network = random_together(rng, 4, 5, kind)
    network.save(tmp_path / "network.json")
    again = NoisyOrNetwork.load(tmp_path / "network.json")
    assert again == network
    assert again.causes == network.causes
    assert json.loads((tmp_path / "network.json").read_text())["version"] == 3
    assert pickle.loads(pickle.dumps(network)) == network  # noqa: S301
    assert hash(again) == hash(network)
    assert network.as_independent() != network
    assert network.with_causes(None) == network.as_independent()


def test_independent_causes_are_a_plain_network(tmp_path):
    structure = Structure.from_edges([("flu", "fever")])
    plain = NoisyOrNetwork(structure, [0.1], [0.2], [0.01])
    network = NoisyOrNetwork(structure, None, [0.2], [0.01], causes=Independent([0.1]))
    assert network == plain
    assert network.is_independent
    network.save(tmp_path / "network.json")
    assert json.loads((tmp_path / "network.json").read_text())["version"] == 1


def test_the_grid_of_traits_has_their_moments():
    for n_traits in (1, 2, 3):
        nodes, weights = trait_grid(n_traits)
        assert weights @ nodes == pytest.approx(np.zeros(n_traits), abs=1e-12)
        assert (nodes * weights[:, np.newaxis]).T @ nodes == pytest.approx(
            np.eye(n_traits), abs=0.02
        )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Joint(np.full(2**13, 2.0**-13)), "of 1 to 12 diseases, not of 13"),
        (lambda: Joint([0.5, 0.6]), "add up to 1.1, not to 1"),
        (lambda: Joint([0.5, 0.2, 0.3]), "a block of 1 diseases has 2 shares, not 3"),
        (lambda: Joint([[0.5, 0.5]], [[1]]), "blocks hold each disease once"),
        (lambda: Joint([[0.5, 0.5]], [[0]], [0.1, 2.0]), "priors must lie between 0 and 1"),
        (lambda: Joint([[0.5, 0.5]], [[0], [1]]), "2 blocks, but shares of 1"),
        (
            lambda: Joint([np.full(2**12, 2.0**-12)] * 2, [range(12), range(12, 24)]),
            "2.24 states together",
        ),
        (lambda: Trait([0.0], [[1.0] * 4]), "1 diseases x 1 to 3 traits"),
        (lambda: Trait([0.0, np.nan], [1.0, 1.0]), "intercepts must be finite"),
        (lambda: Independent([0.5, 1.5]), "between 0 and 1"),
        (lambda: Independent(["x"]), "priors must be numbers"),
        (lambda: Joint([0.5, 0.5]).given({"age": 3}), "no covariates.*'age'"),
    ],
)
def test_what_is_wrong_is_named(make, message):
    with pytest.raises(NoisyOrError, match=message):
        make()


def test_causes_that_do_not_fit_a_network_are_refused():
    structure = Structure.from_edges([("flu", "fever")])
    for arguments, message in [
        ((None, [0.2], [0.01]), "needs priors, or causes"),
        (
            (None, [0.2], [0.01], None, Independent([0.1, 0.2])),
            "of 2 diseases; the structure has 1",
        ),
        (([0.3], [0.2], [0.01], None, Joint([0.5, 0.5])), "not those of the causes"),
        ((None, [0.2], [0.01], None, "joint"), "Independent, Joint or Trait .*, not str"),
    ]:
        with pytest.raises(NoisyOrError, match=message):
            NoisyOrNetwork(structure, *arguments)
    together = NoisyOrNetwork(structure, None, [0.2], [0.01], causes=Joint([0.5, 0.5]))
    with pytest.raises(NoisyOrError, match="no products of the diseases' influences"):
        together.influence("flu", ["fever"])


@pytest.mark.parametrize(
    ("causes", "message"),
    [
        ({"kind": "other"}, "kind is one of independent, joint, trait"),
        ({"kind": "joint", "shares": [[0.5, 0.6]], "blocks": [[0]]}, "add up to 1.1"),
        ({"kind": "trait", "intercepts": [0.0]}, "'causes'"),
        ({"kind": "trait", "intercepts": [0, 0], "loadings": [1, 1]}, "of 2 diseases, not 1"),
        ({"kind": "independent", "priors": [0.1], "effects": []}, "'effects' must have the lists"),
        ({"kind": "joint", "shares": 3, "blocks": 3}, "'causes'"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, causes, message):
    structure = Structure.from_edges([("flu", "fever")])
    path = tmp_path / "network.json"
    NoisyOrNetwork(structure, [0.1], [0.2], [0.01]).save(path)
    document = json.loads(path.read_text()) | {"causes": causes, "version": 3}
    path.write_text(json.dumps(document))
    with pytest.raises(NoisyOrError, match=message):
        NoisyOrNetwork.load(path)
