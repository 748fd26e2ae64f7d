"""Beliefs count as cases, in every method that uses them, and are told where records differ."""

import numpy as np
import pytest

from noisyor import (
    Beliefs,
    Findings,
    NoisyOrError,
    NoisyOrLearner,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
    datasets,
)
from noisyor.learning import EMSettings, Flag, fit
from noisyor.learning.believed import with_beliefs, without_beliefs
from noisyor.moments import count_moments
from noisyor.parameters import Parameters

USING = ["refined", "exact_em", "maximum_likelihood", "bayesian", "pooled"]


@pytest.fixture(scope="module")
def star():
    """One disease with many symptoms: nearly as good as seen."""
    structure = Structure.from_matrix(np.ones((1, 8)), diseases=["A"])
    return NoisyOrNetwork(structure, [0.3], [0.1] * 8, [0.01] * 8)


@pytest.fixture(scope="module")
def records(star):
    return star.sample(1000, rng=1)


@pytest.mark.parametrize(
    "method",
    [pytest.param(each, marks=pytest.mark.slow) if each == "bayesian" else each for each in USING],
)
def test_a_belief_of_as_many_cases_meets_the_records_half_way(star, records, method):
    settings = EMSettings(n_init=1)
    alone = fit(records, star.structure, method, settings)
    beliefs = {"priors": {"A": (0.27, 1000)}}
    both = fit(records, star.structure, method, settings, beliefs=beliefs)
    expected = (alone.values.priors[0] + 0.27) / 2.0
    assert both.values.priors[0] == pytest.approx(expected, abs=0.004)
    ratio = both.standard_errors.priors[0] / alone.standard_errors.priors[0]
    assert ratio == pytest.approx(np.sqrt(0.5), abs=0.12)
    found = both.without_beliefs()
    assert found.values[0] == pytest.approx(alone.values.priors[0], abs=0.01)
    assert found.errors[0] == pytest.approx(alone.standard_errors.priors[0], rel=0.25)
    assert not found.is_contradicted.any()
    assert np.isnan(found.values[1:]).all()  # of which nothing is believed


@pytest.mark.parametrize(
    "method",
    [pytest.param(each, marks=pytest.mark.slow) if each == "bayesian" else each for each in USING],
)
def test_a_belief_of_great_weight_is_nearly_fixed(star, records, method):
    beliefs = {"leaks": {0: (0.05, 1e6)}}
    settings = EMSettings(n_init=1)
    if method == "bayesian":  # draws are too few to tell records from such a belief
        found = fit(records, star.structure, method, settings, beliefs=beliefs)
    else:
        with pytest.warns(NoisyOrWarning, match="the leak of .* believed 0.05"):
            found = fit(records, star.structure, method, settings, beliefs=beliefs)
    assert found.values.leaks[0] == pytest.approx(0.05, abs=1e-3)


def test_two_diseases_are_told_apart_by_what_is_believed_of_them():
    structure = Structure.from_matrix(np.ones((2, 4)), diseases=["A", "B"])
    failures = [0.2, 0.3, 0.6, 0.7, 0.7, 0.6, 0.3, 0.2]
    network = NoisyOrNetwork(structure, [0.1, 0.2], failures, [0.02] * 4)
    findings = network.sample(5000, rng=0)
    for priors in (0.1, 0.2), (0.2, 0.1):
        beliefs = {"priors": {"A": (priors[0], 200), "B": (priors[1], 200)}}
        for method in "refined", "exact_em":
            estimate = fit(findings, structure, method, beliefs=beliefs)
            assert estimate.values.priors == pytest.approx(priors, abs=0.05)
            assert not (estimate.flags.vector & (Flag.SWAPPABLE | Flag.UNCERTIFIED)).any()


def test_a_wrong_belief_is_told_and_a_right_one_is_not(star, records):
    with pytest.warns(NoisyOrWarning, match="1 belief is contradicted .* the prior of A: believed"):
        wrong = fit(records, star.structure, beliefs={"priors": {"A": (0.6, 100)}})
    assert wrong.without_beliefs().is_contradicted.tolist()[:2] == [True, False]
    right = fit(records, star.structure, beliefs={"priors": {"A": (0.3, 100)}})
    assert not right.contradiction


def test_the_summary_shows_belief_records_and_both(star, records):
    beliefs = {"priors": {"A": (0.27, 1000)}}
    table = fit(records, star.structure, beliefs=beliefs).summary()
    row = table[0]
    assert (row["belief"], row["weight"], row["is_contradicted"]) == (0.27, 1000.0, False)
    assert row["belief"] < row["value"] < row["records_alone"] or (
        row["belief"] > row["value"] > row["records_alone"]
    )
    assert table[1]["belief"] is None
    assert "belief" not in fit(records, star.structure).summary().column_names


def test_a_symptom_never_seen_has_what_is_believed(star):
    """Nobody has looked for it: then a belief is all there is, and no flag says otherwise."""
    array = star.sample(500, rng=0).to_numpy().astype(float)
    array[:, 0] = np.nan
    findings = Findings.from_numpy(array, star.structure)
    beliefs = {"failures": {("A", 0): (0.25, 40)}, "leaks": {0: (0.02, 40)}}
    estimate = fit(findings, star.structure, beliefs=beliefs)
    assert estimate.values.failures[0] == pytest.approx(0.25, abs=0.03)
    assert estimate.standard_errors.failures[0] == pytest.approx(np.sqrt(0.1875 / 40), rel=0.15)
    assert estimate.flags.failures[0] == 0


def test_taking_out_what_was_put_in():
    structure = Structure.from_edges([("flu", "fever")])
    beliefs = Beliefs(structure, priors={"flu": (0.4, 30)})
    values, errors = Parameters([0.3], [0.5], [0.1]), Parameters([0.05], [0.1], [0.1])
    found, spread, here = with_beliefs(values.vector, errors.vector, beliefs)
    assert here.tolist() == [True, False, False]
    assert 0.3 < found[0] < 0.4
    assert spread[0] < 0.05
    both = Parameters.split(structure, found), Parameters.split(structure, spread)
    again = without_beliefs(*both, beliefs)
    assert again.values[0] == pytest.approx(0.3, abs=0.003)
    assert again.errors[0] == pytest.approx(0.05, abs=0.003)


def test_methods_that_use_no_beliefs_refuse_them(star, records):
    beliefs = {"priors": {"A": (0.3, 10)}}
    for method in "sequential", "variational_em", "observed", "uniform":
        with pytest.raises(NoisyOrError, match="does not use beliefs, only fixed values"):
            fit(records, star.structure, method, beliefs=beliefs)


def test_pooled_takes_beliefs_with_counts_alone():
    clinic = datasets.clinic()
    name = clinic.structure.diseases[0]
    learner = NoisyOrLearner(clinic.structure, method="pooled")
    findings = clinic.sample(2000, rng=0)
    moments = count_moments(findings, learner.find_plan())
    before = learner.fit(moments).estimate_
    after = learner.fit(moments, beliefs={"priors": {name: (0.06, 1000)}}).estimate_
    assert abs(after.values.priors[0] - 0.06) < abs(before.values.priors[0] - 0.06)
    assert after.standard_errors.priors[0] < before.standard_errors.priors[0]
