"""A learned network in the words of the reduced RUM."""

import itertools
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import naive
from conftest import as_lists
from noisyor import Findings, NoisyOrError, NoisyOrLearner, NoisyOrNetwork, Structure
from noisyor import analyse_skills as analyse
from noisyor.education import _tetrachoric_slopes, holm, tetrachoric
from noisyor.exchange import read_model
from noisyor.network import Joint, Trait
from together import as_naive

ECPE = Path(__file__).parents[2] / "shared" / "records" / "ecpe"
Q_MATRIX = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [1, 1], [1, 1]])
STRUCTURE = Structure.from_matrix(
    Q_MATRIX.T, diseases=["adding", "dividing"], symptoms=[f"item {j}" for j in range(8)]
)
SHARES = [0.45, 0.15, 0.1, 0.3]


def a_test(causes=None):
    rng = np.random.default_rng(0)
    return NoisyOrNetwork(
        STRUCTURE, None, rng.uniform(0.2, 0.6, STRUCTURE.n_edges), np.full(8, 0.1),
        causes=causes or Joint(SHARES),
    )  # fmt: skip


@pytest.fixture(scope="module")
def case():
    wrong = a_test().sample(3000, rng=1)
    estimate = NoisyOrLearner(STRUCTURE, causes="joint").fit(wrong).estimate_
    return wrong, estimate, analyse(estimate, wrong)


def test_items_have_pi_star_and_r_star(case):
    _, estimate, found = case
    _, failures, leaks = as_lists(estimate.network)
    pi_star, r_star = naive.reduced_rum_parameters(failures, leaks)
    errors = estimate.standard_errors
    edges = {(i, j): e for e, (i, j) in enumerate(STRUCTURE.edges.tolist())}
    rows = found.items.to_pylist()
    assert len(rows) == 8 + STRUCTURE.n_edges
    for row in rows:
        item = STRUCTURE.symptom_index(row["item"])
        if row["parameter"] == "pi*":
            assert row["skill"] is None
            expected, error = pi_star[item], errors.leaks[item]
        else:
            skill = STRUCTURE.disease_index(row["skill"])
            expected, error = r_star[skill][item], errors.failures[edges[skill, item]]
        assert row["value"] == pytest.approx(expected)
        assert row["standard_error"] == pytest.approx(error)
        assert row["lower"] < row["value"] < row["upper"]
    assert [row["parameter"] for row in rows[-3:]] == ["pi*", "r*", "r*"]


def test_classes_are_named_by_what_is_mastered(case):
    _, estimate, found = case
    rows = found.classes.to_pylist()
    assert [row["pattern"] for row in rows] == ["11", "10", "01", "00"]
    assert [row["mastered"] for row in rows] == ["adding + dividing", "adding", "dividing", "none"]
    learned = estimate.learned_causes
    np.testing.assert_allclose([row["share"] for row in rows], learned.values)
    np.testing.assert_allclose([row["standard_error"] for row in rows], learned.standard_errors)
    off = (learned.values - SHARES) / learned.standard_errors
    assert np.abs(off).max() < 3.5


def test_persons_are_classified_as_by_enumeration():
    rng = np.random.default_rng(3)
    wrong = rng.integers(0, 2, size=(40, 8)).astype(float)
    wrong[rng.random(wrong.shape) < 0.2] = np.nan
    trait = a_test(Trait([0.2, -0.5], [1.5, 1.0]))
    estimate = fitted_to(trait)
    persons = analyse(estimate, wrong).persons.to_pylist()
    network = as_naive(trait)
    for row, person in zip(wrong.tolist(), persons, strict=True):
        answers = [None if math.isnan(x) else int(x) for x in row]
        weights = dict(naive.weighted_states(*network, answers))
        total = sum(weights.values())
        best = max(weights, key=weights.get)
        assert person["pattern"] == "".join(str(1 - d) for d in best)
        assert person["probability"] == pytest.approx(weights[best] / total)
        for skill, name in enumerate(STRUCTURE.diseases):
            has = sum(w for states, w in weights.items() if not states[skill])
            assert person[name] == pytest.approx(has / total)


def fitted_to(network):
    """An estimate of exactly this network: fitted to few records, then put in its place."""
    from dataclasses import replace

    from noisyor.learning.learned_causes import LearnedCauses

    estimate = NoisyOrLearner(STRUCTURE).fit(network.sample(200, rng=0)).estimate_
    causes = network.causes
    values = (
        causes.shares[0]
        if isinstance(causes, Joint)
        else np.column_stack([causes.intercepts, causes.loadings]).ravel()
    )
    names = tuple(("value", None, str(i)) for i in range(len(values)))
    errors, covariance = np.full(len(values), 0.1), 0.01 * np.eye(len(values))
    flags = np.zeros(len(values), np.uint16)
    learned = LearnedCauses(causes, names, values, errors, covariance, 0.0, flags)
    return replace(estimate, values=network.parameters, learned_causes=learned)


@pytest.mark.parametrize("causes", [Joint(SHARES), Trait([0.2, -0.5], [2.0, 1.0])])
def test_accuracy_and_consistency_are_what_they_say(causes):
    network = a_test(causes)
    answers = network.sample(60_000, rng=5)
    found = analyse(fitted_to(network), answers).classification
    expected = np.array(naive.classification(*as_naive(network)))
    assert found["skill"].to_pylist() == ["adding", "dividing", "all skills"]
    np.testing.assert_allclose(found["accuracy"], expected[:, 0], atol=0.004)
    np.testing.assert_allclose(found["consistency"], expected[:, 1], atol=0.006)
    # The negative control: they differ from each other by far more than that.
    assert (expected[:, 0] - expected[:, 1] > 0.02).all()


def test_impossible_answers_classify_nobody():
    network = NoisyOrNetwork(STRUCTURE, None, [0.0] * 10, [0.0] * 8, causes=Joint(SHARES))
    answers = np.zeros((2, 8))
    answers[1, 0] = 1.0  # right to items 1 and 2: the skill is there, and it cannot fail
    found = analyse(fitted_to(network), answers)
    persons = found.persons.to_pylist()
    assert persons[0]["pattern"] == "11"
    assert persons[1] == {
        "record": 1, "pattern": None, "probability": None, "adding": None, "dividing": None,
    }  # fmt: skip
    assert found.classification["accuracy"].to_pylist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("seed", range(6))
def test_tetrachoric_correlations(seed):
    rng = np.random.default_rng(seed)
    table = rng.dirichlet([1, 1, 1, 1]).reshape(2, 2)
    value = tetrachoric(table)
    assert value == pytest.approx(naive.tetrachoric(table.tolist()), abs=2e-4)
    slopes = _tetrachoric_slopes(table, value)
    step = 1e-6
    for at, move in enumerate(([[-1, 0], [1, 0]], [[-1, 1], [0, 0]], [[1, -1], [-1, 1]])):
        ends = [tetrachoric(table + sign * step * np.array(move)) for sign in (1, -1)]
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(slopes[at], rel=1e-3)


def test_tables_with_empty_cells():
    assert tetrachoric(np.array([[0.5, 0.0], [0.1, 0.4]])) == pytest.approx(1.0)
    assert tetrachoric(np.array([[0.0, 0.5], [0.4, 0.1]])) == pytest.approx(-1.0)
    assert math.isnan(tetrachoric(np.array([[0.5, 0.5], [0.0, 0.0]])))


def test_correlations_of_skills_have_errors(case):
    wrong, estimate, found = case
    row = found.correlations.to_pylist()[0]
    assert (row["skill"], row["other"]) == ("adding", "dividing")
    draws = estimate.learned_causes.drawn(300, np.random.default_rng(0))
    spread = np.std([tetrachoric(each.joint([0, 1])) for each in draws])
    assert row["standard_error"] == pytest.approx(spread, rel=0.15)
    truth = tetrachoric(np.reshape(SHARES, (2, 2)))
    assert abs(row["correlation"] - truth) < 3.5 * row["standard_error"]
    plain = analyse(NoisyOrLearner(STRUCTURE).fit(wrong).estimate_, wrong)
    row = plain.correlations.to_pylist()[0]
    assert row["correlation"] == pytest.approx(0.0, abs=1e-6)
    assert row["standard_error"] is None
    assert plain.classes["standard_error"].null_count == 4


def test_pairs_of_items_have_x2(case):
    _, estimate, _ = case
    rng = np.random.default_rng(2)
    wrong = rng.integers(0, 2, size=(60, 8)).astype(float)
    wrong[rng.random(wrong.shape) < 0.1] = np.nan
    records = [[None if math.isnan(x) else int(x) for x in row] for row in wrong.tolist()]
    found = analyse(estimate, wrong)
    network = as_naive(estimate.network)
    rows = found.pairs.to_pylist()
    assert len(rows) == 28
    for row, (i, j) in zip(rows, itertools.combinations(range(8), 2), strict=True):
        assert (row["item"], row["other"]) == (f"item {i}", f"item {j}")
        assert row["x2"] == pytest.approx(naive.pair_x2(*network, records, i, j))
        assert row["p_value"] == pytest.approx(chi2.sf(row["x2"], 1))
    adjusted = naive.holm([row["p_value"] for row in rows])
    np.testing.assert_allclose([row["p_adjusted"] for row in rows], adjusted)
    worst = found.max_x2
    assert worst["x2"] == max(row["x2"] for row in rows)


def test_a_test_that_fits_has_no_pair_that_does_not(case):
    _, _, found = case
    assert found.srmsr < 0.03
    assert found.max_x2["p_adjusted"] > 0.01
    assert repr(found).startswith("SkillAnalysis(8 items, 2 skills, 3,000 persons; accuracy 0.")


def test_adjusted_p_values_pass_over_what_is_unknown():
    found = holm(np.array([0.04, np.nan, 0.01]))
    np.testing.assert_allclose(found, [0.04, np.nan, 0.02])


def test_right_answers_are_inverted(case):
    wrong, estimate, found = case
    array = wrong.to_numpy()
    right = pa.table({name: (1 - array[:, j]) for j, name in enumerate(STRUCTURE.symptoms)})
    assert analyse(estimate, right, invert=True).persons == found.persons


def test_what_cannot_be_analysed_is_said(case):
    wrong, estimate, _ = case
    with pytest.raises(NoisyOrError, match="expected an Estimate"):
        analyse(estimate.network, wrong)
    with pytest.raises(NoisyOrError, match="there are no answers"):
        analyse(estimate, np.zeros((0, 8)))
    people = pa.table({"age": np.arange(3000.0)})
    other = NoisyOrLearner(STRUCTURE).fit(wrong, covariates=people).estimate_
    with pytest.raises(NoisyOrError, match="depend on covariates"):
        analyse(other, wrong)
    named = Structure.from_edges([("pattern", f"s{j}") for j in range(4)])
    records = np.random.default_rng(0).integers(0, 2, size=(50, 4))
    with pytest.raises(NoisyOrError, match="'pattern' is the name of a column"):
        analyse(NoisyOrLearner(named).fit(records).estimate_, records)
    many = Structure.from_edges([(f"d{i}", f"s{i}{x}") for i in range(13) for x in range(3)])
    records = np.random.default_rng(0).integers(0, 2, size=(50, 39))
    with pytest.raises(NoisyOrError, match="13 skills; patterns are made of 1 to 12"):
        analyse(NoisyOrLearner(many, method="pooled").fit(records).estimate_, records)


@pytest.mark.slow
@pytest.mark.skipif(not ECPE.exists(), reason="the records of others are not here")
def test_ecpe_from_file_to_result():
    structure = read_model(ECPE / "q_matrix.csv", "q-matrix")
    answers = Findings.read(ECPE / "responses.csv", structure, invert=True)
    estimate = NoisyOrLearner(structure, causes="joint").fit(answers).estimate_
    found = analyse(estimate, answers)
    classes = {row["pattern"]: row for row in found.classes.to_pylist()}
    assert classes["111"]["share"] == pytest.approx(0.349, abs=0.005)
    assert classes["000"]["share"] == pytest.approx(0.300, abs=0.005)
    assert min(found.correlations["correlation"].to_pylist()) > 0.75
    accuracy = found.classification["accuracy"].to_pylist()
    assert min(accuracy[:3]) > 0.85
    assert 0.6 < accuracy[3] < min(accuracy[:3])
    assert found.srmsr < 0.04
    independent = NoisyOrLearner(structure).fit(answers).estimate_.misfits()
    cause = independent.causes[0]
    assert (cause.kind, cause.members) == ("dependent diseases", (0, 1, 2))
    assert cause.share > 0.8


def test_options_that_an_array_does_not_heed_are_refused():
    answers = a_test().sample(100, rng=0)
    learned = NoisyOrLearner(STRUCTURE, causes="joint").fit(answers).estimate_
    with pytest.raises(NoisyOrError, match="no options to read: 'invert'"):
        analyse(learned, answers.to_numpy(), invert=True)
