"""People whose traits and covariates are sampled with their diseases, against exact sums."""

import numpy as np
import pytest

from noisyor import Findings, Fixed
from noisyor.em import people_kernels, sampled
from noisyor.em.cause_models import LogisticModel
from noisyor.em.cells import Cells
from noisyor.em.mixed import MixedExpectation
from noisyor.em.people import PeopleRounds, PeopleSampler, population_of
from noisyor.network.design import Design
from together import random_together

KINDS = ("trait", "traits", "covariates", "trait with covariates")


def random_case(seed, kind, n_records=300, labelled=False):
    """Records, a sampler of them, the exact sums of them, and a network."""
    rng = np.random.default_rng(seed)
    network = random_together(rng, 4, 6, kind)
    records = rng.choice([0.0, 1.0, np.nan], size=(n_records, 6), p=[0.6, 0.3, 0.1])
    findings = Findings.from_numpy(records, network.structure)
    if labelled:
        labels = rng.choice([0.0, 1.0, np.nan], (n_records, 4), p=[0.2, 0.2, 0.6])
        findings = findings.with_labels(labels)
    design, effects = None, network.causes.effects
    if effects is not None:
        rows = effects.cells[rng.integers(len(effects.cells), size=n_records)].copy()
        rows[rng.random(n_records) < 0.1, 0] = np.nan
        design = Design(effects.covariates, rows)
    model = LogisticModel.of(4, network.causes.loadings.shape[1], design)
    network = network.with_causes(model.causes_at(model.position_of(network.causes)))
    cells = Cells.nothing(n_records) if design is None else Cells.of(design)
    sampler = PeopleSampler(
        network.structure, findings.blocks, model, cells, least_odds=1e-12,
        labels=findings.labels,
    )  # fmt: skip
    return sampler, MixedExpectation(findings, design), network, model


def exact_scores(expectation, network, model):
    return expectation.score(network, model)


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_few_diseases_are_the_evidences(kind, labelled, rng):
    seed = int(rng.integers(10**6))
    sampler, expectation, network, model = random_case(seed, kind, labelled=labelled)
    bounded = sampler.bound(network, 1)
    scored = exact_scores(expectation, network, model)
    assert bounded.total[0] == pytest.approx(scored.log_likelihood)
    assert bounded.n_records[0] == 300


@pytest.mark.parametrize(
    ("kind", "labelled"),
    [
        *(pytest.param(kind, False, marks=pytest.mark.slow) for kind in KINDS),
        *(pytest.param(kind, True, marks=pytest.mark.slow) for kind in KINDS[:-1]),
        (KINDS[-1], True),
    ],
)
def test_expectations_agree_with_exact_derivatives(kind, labelled, rng):
    seed = int(rng.integers(10**6))
    sampler, expectation, network, model = random_case(seed, kind, labelled=labelled)
    population = population_of(model, network.causes, sampler.design)
    n_rounds, found = 400, []
    for seed in range(n_rounds + 20):
        told = sampler.expect(network, 10, must_screen=True, n_sweeps=1, seed=seed)
        expected = np.zeros_like(told.moments)
        hessian = np.zeros((*expected.shape, expected.shape[1]))
        people_kernels.sum_logistic(population, told.occupancy, expected, hessian)
        found.append((told.moments - expected).ravel())
    found = np.array(found[20:])
    scored = exact_scores(expectation, network, model)
    size = found.shape[1]
    # Rounds depend on those before: the means of batches tell how well they say the mean.
    errors = found.reshape(20, -1, size).mean(axis=1).std(axis=0) / np.sqrt(19)
    off = (found.mean(axis=0) - scored.derivatives[:size]) / np.maximum(errors, 1e-9)
    assert np.abs(off).max() < 6.0
    assert told.occupancy.sum() == pytest.approx(300)


@pytest.mark.slow
def test_the_information_has_no_noise_of_sampling(rng):
    sampler, expectation, network, model = random_case(3, "trait with covariates", 3000)
    for seed in range(5):
        sampler.expect(network, 10, must_screen=True, n_sweeps=1, seed=seed)
    products = sampler.inform_causes(network, 100, 7).matrix  # off by 9% after 6, by 2% now
    exact = exact_scores(expectation, network, model).information
    assert len(products) == len(exact)  # failures and leaks, too
    flat = model.flat(network.causes, expectation.design)
    of_causes = model.if_seen(network.causes, flat, expectation.cell_weights())
    scale = np.sqrt(np.maximum(np.diag(exact), np.pad(of_causes, (0, len(exact) - len(of_causes)))))
    assert np.abs((products - exact) / np.outer(scale, scale)).max() < 4.0 / np.sqrt(3000)


def test_thinned_records_are_those_of_every_so_many_blocks(monkeypatch):
    monkeypatch.setattr(sampled, "SAMPLED_AT_ONCE", 64)
    sampler, _, network, _ = random_case(4, "trait with covariates", labelled=True)
    sampler.expect(network, 2, must_screen=True, n_sweeps=1, seed=0)  # some have been begun
    before = sampler.states.copy()
    thin = sampler.thinned(3)
    rows = np.concatenate([np.arange(k, min(k + 64, 300)) for k in range(0, 300, 192)])
    assert thin.starts[-1] == len(rows)
    assert np.array_equal(thin.states, before[rows])
    assert thin.is_started.tolist() == [True, False]
    everybody, some = sampler._people, thin._people
    for number, row in enumerate(rows):
        mine, its = (
            each.possible[each.starts[at] : each.starts[at + 1]].tolist()
            for each, at in ((some, number), (everybody, row))
        )
        assert mine == its
    n_unknown = sum(np.bitwise_count(block.unknown).sum(axis=1) for block in sampler.blocks[::3])
    assert np.array_equal(thin.known, len(rows) - n_unknown)
    told = thin.expect(network, 2, must_screen=True, n_sweeps=1, seed=1)
    assert told.occupancy.sum() == pytest.approx(len(rows))
    assert np.array_equal(sampler.states, before)


def test_a_round_does_not_depend_on_threads():
    found = []
    for n_jobs in (1, 2):
        sampler, _, network, model = random_case(5, "trait with covariates")
        sampler._n_jobs = n_jobs
        rounds = PeopleRounds(sampler, model, Fixed(network.structure))
        found.append(rounds.make(network, 1, must_screen=True, n_sweeps=1, seed=4))
    assert found[0] == found[1]


def test_traits_are_standardised_whatever_they_were():
    sampler, _, network, model = random_case(2, "traits")
    rounds = PeopleRounds(sampler, model, Fixed(network.structure))
    occupancy = np.zeros((1, 121))
    occupancy[0, [60, 61, 72, 10]] = 10.0, 30.0, 20.0, 5.0
    before = model.position_of(network.causes)
    after = rounds._standardised(before, occupancy).reshape(4, 3)
    nodes = population_of(model, network.causes, sampler.design).traits
    weights = occupancy[0] / occupancy.sum()
    mean, spread = weights @ nodes, np.cov(nodes.T, aweights=weights, ddof=0)
    before = before.reshape(4, 3)
    # Log odds have the same mean and covariances for people with such traits as before.
    assert after[:, 0] == pytest.approx(before[:, 0] + before[:, 1:] @ mean)
    assert after[:, 1:] @ after[:, 1:].T == pytest.approx(before[:, 1:] @ spread @ before[:, 1:].T)


def test_traits_that_follow_covariates_are_taken_for_effects_of_these():
    sampler, _, network, model = random_case(2, "trait with covariates")
    rounds = PeopleRounds(sampler, model, Fixed(network.structure))
    nodes = population_of(model, network.causes, sampler.design).traits[:, 0]
    design = np.column_stack([np.ones(len(sampler.design)), sampler.design])
    rng = np.random.default_rng(0)
    slopes, sizes = rng.normal(0.0, 0.2, design.shape[1]), rng.integers(5, 50, len(design))
    occupancy = np.zeros((len(design), len(nodes)))
    for cell, mean in enumerate(design @ slopes):  # two nodes, whose mean is as the cell has it
        left = np.searchsorted(nodes, mean) - 1
        share = (mean - nodes[left]) / (nodes[left + 1] - nodes[left])
        occupancy[cell, left : left + 2] = sizes[cell] * np.array([1.0 - share, share])
    before = model.position_of(network.causes).reshape(4, -1)
    after = rounds._standardised(before.ravel(), occupancy).reshape(4, -1)
    # Log odds have the same means in every cell, and the same spread over all people.
    columns = [0, *range(2, before.shape[1])]
    expected = before[:, columns] @ design.T + np.outer(before[:, 1], design @ slopes)
    assert after[:, columns] @ design.T == pytest.approx(expected)
    rest = nodes - (design @ slopes)[:, np.newaxis]
    variance = (occupancy * rest**2).sum() / occupancy.sum()
    assert after[:, 1] == pytest.approx(before[:, 1] * np.sqrt(variance))
