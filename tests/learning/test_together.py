"""Learning how diseases occur together, and how they depend on covariates."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv as pa_csv
import pytest

from noisyor import (
    Estimate,
    Findings,
    Fixed,
    NoisyOrError,
    NoisyOrLearner,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
    posterior,
)
from noisyor.network import Covariate, Effects, Independent, Joint, Trait
from together import small_network, small_structure

RECORDS = Path(__file__).parents[3] / "shared" / "records" / "ecpe"


def standardised(found, truth, errors):
    return (found - truth) / errors


@pytest.fixture(scope="module")
def joint_case():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(16, 1.0))
    network = small_network(Joint(shares), rng)
    findings = network.sample(3000, rng=1)
    learner = NoisyOrLearner(network.structure, causes="joint").fit(findings)
    return network, findings, learner


def test_a_joint_distribution_is_learned(joint_case):
    network, findings, learner = joint_case
    learned = learner.estimate_.learned_causes
    table = learned.table().to_pydict()
    assert table["name"][0] == "none"
    off = standardised(learned.values, network.causes.shares[0], learned.standard_errors)
    assert np.sqrt((off**2).mean()) < 1.8
    errors = learner.estimate_.standard_errors
    off = standardised(learner.network_.failures, network.failures, errors.failures)
    assert np.sqrt((off**2).mean()) < 1.6
    assert learner.score(findings) * 3000 == pytest.approx(learned.log_likelihood)
    plain = NoisyOrLearner(network.structure).fit(findings)
    assert learner.score(findings) > plain.score(findings) + 10 / 3000
    off = standardised(learner.network_.priors, network.priors, errors.priors)
    assert np.abs(off).max() < 3.5


def test_estimates_are_files_and_give_intervals(joint_case, tmp_path):
    network, _, learner = joint_case
    learner.network_.save(tmp_path / "network.json")
    assert NoisyOrNetwork.load(tmp_path / "network.json") == learner.network_
    found = posterior(learner.estimate_, ["s00", "s10"], draws=50)
    truth = posterior(network, ["s00", "s10"]).probabilities
    assert (found.interval_lower <= found.probabilities + 1e-9).all()
    assert (found.interval_upper - found.interval_lower).max() > 0.01
    assert np.abs(found.probabilities - truth).max() < 0.15
    with pytest.raises(NoisyOrError, match="does not hold how diseases occur together"):
        learner.network_.to_csv(*(tmp_path / x for x in "a"), priors="b", leaks="c")


def test_a_trait_with_covariates_is_learned():
    rng = np.random.default_rng(3)
    covariates = [Covariate("age", (), 50.0, 20.0), Covariate("sex", ("f", "m"))]
    coefficients = np.column_stack([[0.8, -0.5, 0.0, 0.4], [0.3] * 4, [-0.3] * 4])
    cells = np.array([[a, s, 1 - s] for a in (-1.0, 0.0, 1.0) for s in (0.0, 1.0)])
    effects = Effects(covariates, coefficients, cells, np.ones(6))
    trait = Trait([-1.5, -1.0, -1.2, -1.4], [1.5, 1.0, 1.2, 0.8], effects)
    network = small_network(trait, rng)
    people = pd.DataFrame(
        {"age": rng.choice([30.0, 50.0, 70.0], 4000), "sex": rng.choice(["f", "m"], 4000)}
    )
    frame = pd.DataFrame(
        network.sample(4000, rng=4, covariates=people).to_numpy().astype(int),
        columns=network.structure.symptoms,
    )
    learner = NoisyOrLearner(network.structure, causes="trait")
    learner.fit(frame.join(people), covariates=["age", "sex"])
    learned = learner.estimate_.learned_causes
    table = learned.table().to_pandas()
    loadings = table[table.parameter == "loading"]
    off = standardised(loadings.value, trait.loadings[:, 0], loadings.standard_error)
    assert np.abs(off).max() < 3.5
    ages = table[table.name == "age"]
    off = standardised(ages.value, coefficients[:, 0] / 20.0, ages.standard_error)  # of a year
    assert np.abs(off).max() < 3.5
    # Of two levels, each stands half of their difference from the mean, as well known as that.
    women, men = (table[table.name == f"sex={level}"] for level in "fm")
    np.testing.assert_allclose(women.value.to_numpy(), -men.value.to_numpy())
    np.testing.assert_allclose(women.standard_error.to_numpy(), men.standard_error.to_numpy())
    halves = (coefficients[:, 1] - coefficients[:, 2]) / 2.0
    assert np.abs(standardised(women.value, halves, women.standard_error)).max() < 3.5
    assert women.standard_error.max() < 0.3
    prevalence = learned.prevalence(network.structure).to_pandas()
    of_women = prevalence[(prevalence.covariate == "sex") & (prevalence.value == "f")]
    cells = np.array([[a, 1.0, 0.0] for a in (-1.0, 0.0, 1.0)])
    expected = np.mean(
        [trait.given({"age": 50 + 20 * c[0], "sex": "f"}).marginals() for c in cells], 0
    )
    assert (of_women.lower.to_numpy() < expected + 0.02).all()
    assert (of_women.upper.to_numpy() > expected - 0.02).all()
    old = learner.posteriors(frame[:2], covariates=people[:2])
    assert old.is_exact.all()


def test_independent_diseases_have_small_loadings():
    rng = np.random.default_rng(5)
    network = small_network(Independent([0.2, 0.3, 0.25, 0.15]), rng)
    findings = network.sample(2000, rng=6)
    learner = NoisyOrLearner(network.structure, causes="trait")
    with pytest.warns(NoisyOrWarning, match="cannot be told from none"):
        learner.fit(findings)
    assert loadings_of(learner.estimate_).standard_error.isna().all()
    plain = NoisyOrLearner(network.structure).fit(findings)
    gain = 2000 * (learner.score(findings) - plain.score(findings))
    assert -1.0 < gain < 12.0


@pytest.mark.slow
@pytest.mark.skipif(not RECORDS.exists(), reason="the records of others are not here")
def test_ecpe_has_its_published_likelihood():
    needs = pa_csv.read_csv(RECORDS / "q_matrix.csv").to_pandas().set_index("item")
    structure = Structure.from_matrix(
        needs.to_numpy().T, diseases=list(needs.columns), symptoms=list(needs.index)
    )
    findings = Findings.read(RECORDS / "responses.csv", structure, invert=True)
    joint = NoisyOrLearner(structure, causes="joint").fit(findings)
    learned = joint.estimate_.learned_causes
    assert learned.log_likelihood > -42_745.75  # by EM in a prototype: -42,745.64
    assert learned.values[[0, -1]] == pytest.approx([0.349, 0.300], abs=0.005)
    trait = NoisyOrLearner(structure, causes="trait").fit(findings)
    assert trait.estimate_.learned_causes.log_likelihood > -42_745.7 - 5.0


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({"causes": "both"}, {}, "'causes' parameter"),
        ({"causes": "trait", "n_traits": 2}, {}, "2 traits cannot be learned from 4 diseases"),
        ({"causes": "joint", "method": "pooled"}, {}, "is learned by method 'refined'"),
        ({"causes": "joint"}, {"covariates": {"age": [1]}}, "no covariates: take causes='trait'"),
        ({"blocks": [["d0"]]}, {}, "blocks are for causes='joint'"),
        ({"n_traits": 2}, {}, r"n_traits \(--traits\) is for causes='trait'"),
        ({"causes": "joint", "blocks": [["d0", "x"]]}, {}, "'x'"),
        ({}, {"covariates": ["age"]}, "no columns of covariates"),
        ({}, {"covariates": "age"}, "a table, or a list of names"),
        ({}, {"covariates": {"age": [1]}, "unknown_covariates": "drop"}, "'refuse' or 'keep'"),
        (
            {"causes": "joint"},
            {"fixed": {"priors": {"d0": 0.0}}, "y": np.ones((50, 4))},
            "'d0' was seen in 50 records, but its prior is fixed at 0",
        ),
    ],
)
def test_what_cannot_be_learned_is_said(options, arguments, message):
    structure = small_structure()
    records = np.random.default_rng(0).integers(0, 2, size=(50, structure.n_symptoms))
    with pytest.raises(NoisyOrError, match=message):
        NoisyOrLearner(structure, **options).fit(records, **arguments)


@pytest.mark.slow
def test_labels_tell_how_diseases_occur_together():
    rng = np.random.default_rng(3)
    network = small_network(Joint(rng.dirichlet(np.full(16, 1.0))), rng)
    findings, diseases = network.sample(800, rng=4, return_diseases=True)
    seen = diseases.astype(float)
    seen[rng.random(seen.shape) < 0.2] = np.nan
    one, other = (
        NoisyOrLearner(network.structure, causes="joint").fit(findings, y) for y in (None, seen)
    )
    errors = [each.estimate_.learned_causes.standard_errors for each in (one, other)]
    assert np.nanmean(errors[1]) < np.nanmean(errors[0])
    off = other.network_.causes.shares[0] - network.causes.shares[0]
    assert np.sqrt(((off / errors[1]) ** 2).mean()) < 1.8
    # If all is seen, shares are those that were counted.
    whole = NoisyOrLearner(network.structure, causes="joint").fit(findings, diseases)
    numbers = diseases @ (1 << np.arange(4)[::-1])
    counted = np.bincount(numbers, minlength=16) / 800
    assert whole.network_.causes.shares[0] == pytest.approx(counted, abs=2e-4)


@pytest.mark.parametrize(
    "causes", ["joint", pytest.param("trait", marks=pytest.mark.slow), "independent"]
)
def test_priors_can_be_fixed_and_believed(causes):
    rng = np.random.default_rng(5)
    network = small_network(Joint(rng.dirichlet(np.full(16, 1.0))), rng)
    frame = network.sample(600, rng=6).to_arrow().to_pandas()
    options = {}
    if causes == "independent":
        frame["age"] = rng.integers(20, 80, 600)
        options = {"covariates": ["age"]}
    p = network.priors
    given = {"priors": {"d0": float(p[0])}}, {"priors": {"d1": (float(p[1]), 1e5)}}
    learner = NoisyOrLearner(network.structure, causes=causes)
    free = learner.fit(frame, **options).estimate_
    known = learner.fit(frame, fixed=given[0], beliefs=given[1], **options).estimate_
    assert known.network.causes.marginals()[0] == pytest.approx(p[0], rel=1e-6)
    assert known.priors.standard_errors[0] == 0.0
    assert known.priors.values[1] == pytest.approx(p[1], rel=0.02)
    assert known.priors.standard_errors[1] < 0.3 * free.priors.standard_errors[1]


TRAIT = Trait([-1.0] * 4, [1.5, 1.0, 1.2, 0.0])


@pytest.fixture(scope="module")
def trait_records():
    return small_network(TRAIT, np.random.default_rng(0)).sample(2000, rng=1)


def loadings_of(estimate):
    table = estimate.learned_causes.table().to_pandas()
    return table[table.parameter == "loading"].reset_index()


def test_loadings_can_be_fixed_and_believed(trait_records, tmp_path):
    structure = small_structure()
    learner = NoisyOrLearner(structure, causes="trait")
    free = loadings_of(learner.fit(trait_records).estimate_)
    known = {"fixed": {"loadings": {"d3": 0.0}}, "beliefs": {"loadings": {"d1": (1.0, 0.1)}}}
    estimate = learner.fit(trait_records, **known).estimate_
    found = loadings_of(estimate)
    assert found.value[3] == found.standard_error[3] == 0.0
    assert found["flags"].tolist() == ["", "", "", "fixed"]
    assert 100.0 < 1.0 / found.standard_error[1] ** 2 < 200.0  # both add up
    rows = [row for row in estimate.summary() if row["parameter"] == "loading"]
    assert rows[1]["belief"] == 1.0
    assert rows[1]["belief_error"] == pytest.approx(0.1)
    assert rows[1]["weight"] is None
    assert rows[1]["records_alone"] == pytest.approx(free.value[1], abs=0.1)
    assert rows[3]["flag_codes"] == "fixed"
    estimate.save(tmp_path / "learned.json")
    again = Estimate.load(tmp_path / "learned.json")
    assert (again, again.beliefs) == (estimate, estimate.beliefs)
    # The rows of a summary are a table of what is fixed.
    estimate.save_summary(tmp_path / "summary.csv")
    fixed = Fixed.load(tmp_path / "summary.csv", structure)
    same = learner.fit(trait_records, fixed=fixed).estimate_
    assert loadings_of(same).value.tolist() == pytest.approx(found.value.tolist())
    assert set(loadings_of(same)["flags"]) == {"fixed"}


def test_a_belief_that_records_contradict_is_told(trait_records):
    learner = NoisyOrLearner(small_structure(), causes="trait")
    beliefs = {"loadings": {"d3": (1.0, 0.2)}}
    with pytest.warns(NoisyOrWarning, match="the loading of 'd3' on 'trait': believed 1 .error"):
        learner.fit(trait_records, beliefs=beliefs)


def test_effects_can_be_fixed_and_believed():
    rng = np.random.default_rng(2)
    frame = small_network(Independent([0.2] * 4), rng).sample(1500, rng=1).to_arrow().to_pandas()
    frame["age"], frame["sex"] = rng.integers(20, 80, 1500), rng.choice(["f", "m"], 1500)
    known = {
        "fixed": {"effects": {("d0", "age"): 0.0, ("d1", "sex"): 0.0, ("d2", "age"): 0.02}},
        "beliefs": {"effects": {("d2", "sex=f"): (0.2, 0.05)}},
    }
    learner = NoisyOrLearner(small_structure()).fit(frame, covariates=["age", "sex"], **known)
    table = learner.estimate_.learned_causes.table()
    assert table.row("effect", "d0", "age")["value"] == 0.0
    assert table.row("effect", "d2", "age")["value"] == pytest.approx(0.02)
    for level in "fm":
        row = table.row("effect", "d1", f"sex={level}")
        assert row["value"] == row["standard_error"] == 0.0
    one, other = (table.row("effect", "d2", f"sex={level}") for level in "fm")
    assert one["value"] == pytest.approx(-other["value"])
    assert 0.1 < one["value"] < 0.2
    assert one["standard_error"] < 0.055


@pytest.mark.parametrize(
    ("fixed", "is_right"),
    [
        ({"loadings": {"d0": TRAIT.loadings[0, 0]}}, True),
        ({"loadings": dict.fromkeys(("d0", "d1", "d2", "d3"), 6.0)}, False),
    ],
)
def test_records_contradict_fixed_loadings(trait_records, fixed, is_right):
    estimate = NoisyOrLearner(small_structure(), causes="trait").fit(trait_records, fixed=fixed)
    assert estimate.estimate_.misfits().fits == is_right


def test_covariates_that_say_nothing_do_not_hide_dependence(trait_records, rng):
    frame = trait_records.to_arrow().to_pandas()
    frame["age"] = rng.integers(20, 80, len(frame))
    for name, levels in (("sex", "fm"), ("site", "xyz")):
        frame[name] = rng.choice(list(levels), len(frame))
    learner = NoisyOrLearner(small_structure())
    learner.fit(frame, covariates=["age", "sex", "site"])
    assert learner.estimate_.misfits().p_value < 1e-6


def test_shares_can_be_fixed_and_believed(trait_records):
    structure = small_structure()
    learner = NoisyOrLearner(structure, causes="joint")
    known = {
        "fixed": {"shares": {("d0", "d1", "d2", "d3"): 0.0, "none": 0.4}},
        "beliefs": {"shares": {"d3": (0.1, 1e5)}},
    }
    estimate = learner.fit(trait_records, **known).estimate_
    rows = {row["name"]: row for row in estimate.learned_causes.table()}
    assert rows["d0 + d1 + d2 + d3"]["value"] == 0.0
    assert rows["none"]["value"] == pytest.approx(0.4)
    assert rows["none"]["standard_error"] == 0.0
    believed = rows["d3"]
    assert believed["value"] == pytest.approx(0.1, rel=0.05)
    assert believed["standard_error"] == pytest.approx(np.sqrt(0.1 * 0.9 / 1e5), rel=0.1)
    everything = posterior(estimate.network, structure.symptoms).probabilities
    assert everything.sum() <= 3.0 + 1e-9  # nobody has all of them


@pytest.mark.parametrize(
    ("causes", "known", "message"),
    [
        ("independent", {"loadings": {"d0": 0.0}}, "learn with causes='trait'"),
        ("independent", {"shares": {"none": 0.5}}, "learn with causes='joint'"),
        ("independent", {"effects": {("d0", "age"): 0.0}}, "learn with covariates"),
        ("trait", {"loadings": dict.fromkeys(["d0", "d1"], 0.0)}, "only 2 diseases may depend on"),
        ("trait", {"loadings": dict.fromkeys(["d0", "d1", "d2", "d3"], 0.0)}, "it does nothing"),
        (
            "joint",
            {"priors": {"d0": 0.1}, "shares": {"d0": 0.5}},
            "fixed shares and fixed priors contradict each other",
        ),
    ],
)
def test_what_cannot_be_fixed_is_said(causes, known, message):
    structure = small_structure()
    records = np.random.default_rng(0).integers(0, 2, size=(50, structure.n_symptoms))
    with pytest.raises(NoisyOrError, match=message):
        NoisyOrLearner(structure, causes=causes).fit(records, fixed=known)


def test_thirteen_diseases_are_too_many_for_a_joint_distribution():
    structure = Structure.from_edges([(f"d{i}", f"s{i}{x}") for i in range(13) for x in range(3)])
    records = np.random.default_rng(0).integers(0, 2, size=(50, 39))
    with pytest.raises(NoisyOrError, match="up to 12 diseases; the structure has 13"):
        NoisyOrLearner(structure, causes="joint").fit(records)


def test_counts_do_not_tell():
    network = small_network(Joint(np.full(16, 1 / 16)), np.random.default_rng(0))
    learner = NoisyOrLearner(network.structure, method="pooled")
    moments = learner.fit(network.sample(500, rng=0)).moments_
    with pytest.raises(NoisyOrError, match="counts of pairs and triplets do not tell"):
        NoisyOrLearner(network.structure, causes="joint").fit(moments)
    with pytest.raises(NoisyOrError, match="bit by bit"):
        NoisyOrLearner(network.structure, causes="joint").partial_fit(network.sample(9, rng=0))


def test_a_disease_in_two_blocks_is_named():
    learner = NoisyOrLearner(small_structure(), causes="joint", blocks=[["d0", "d1"], ["d1", "d2"]])
    with pytest.raises(NoisyOrError, match="'d1' is named twice: each disease is in one block"):
        learner.fit(np.zeros((10, 20)))
