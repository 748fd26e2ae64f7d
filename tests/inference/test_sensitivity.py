"""Sensitivity: each parameter moved alone to the ends of its interval."""

import numpy as np
import pytest

from noisyor import NoisyOrLearner, NoisyOrNetwork, Structure, datasets, posterior, sensitivity
from noisyor.errors import ParameterError
from noisyor.inference.intervals import NetworkWithErrors
from noisyor.inference.sensitivity import mattering
from noisyor.parameters import Parameters

NETWORK = datasets.figure1(0)


def with_errors(network, error=0.05):
    return NetworkWithErrors(network, Parameters.full(network.structure, error))


def test_each_end_is_a_posterior_of_the_changed_network():
    found = sensitivity(with_errors(NETWORK), ["a", "b"], ["d"], disease="A")
    assert found.probability == pytest.approx(
        posterior(NETWORK, ["a", "b"], ["d"]).probabilities[0]
    )
    assert (np.diff(found.swings) <= 1e-15).all()
    for number, index in enumerate(found.parameters.tolist()):
        for end, stated in ((found.lower, found.at_lower), (found.upper, found.at_upper)):
            values = NETWORK.parameters.vector.copy()
            values[index] = end[number]
            there = NETWORK.with_parameters(Parameters.split(NETWORK.structure, values))
            true = posterior(there, ["a", "b"], ["d"]).probabilities[0]
            assert stated[number] == pytest.approx(true, abs=1e-12)


def test_what_does_not_matter_moves_nothing(rng):
    """Every parameter that is left out may be anything."""
    clinic = datasets.clinic()
    present, absent = ["fever", "wheezing"], ["cough"]
    parts = tuple(clinic.structure.symptom_indices(each) for each in (present, absent))
    disease = clinic.structure.disease_index("influenza")
    matters = mattering(clinic.structure, parts, disease)
    before = posterior(clinic, present, absent).probabilities[disease]
    values = clinic.parameters.vector.copy()
    values[~matters] = rng.uniform(0.05, 0.95, int((~matters).sum()))
    other = clinic.with_parameters(Parameters.split(clinic.structure, values))
    assert posterior(other, present, absent).probabilities[disease] == pytest.approx(before)
    for index in np.flatnonzero(matters)[:30].tolist():  # and of the others each matters
        values = clinic.parameters.vector.copy()
        values[index] = 0.5 * values[index] + 0.2
        there = clinic.with_parameters(Parameters.split(clinic.structure, values))
        moved = posterior(there, present, absent).probabilities[disease]
        assert abs(moved - before) > 1e-12, index


def test_intervals_are_those_of_the_estimate():
    """They were symmetric in log odds here, and of other lengths in the summary."""
    sample = NETWORK.sample(800, rng=0)
    for method in "refined", "pooled", "bayesian":
        learner = NoisyOrLearner(NETWORK.structure, method=method, random_state=0, max_iter=50)
        estimate = learner.fit(sample).estimate_
        found = sensitivity(estimate, ["a", "b"], ["d"], disease="A")
        summary = estimate.summary()
        assert len(found.parameters) > 3
        for row in found.table().to_pylist():
            stated = summary.row(row["parameter"], *filter(None, (row["disease"], row["symptom"])))
            assert (row["lower"], row["upper"]) == (stated["lower"], stated["upper"])


def test_an_end_at_which_findings_are_impossible_is_approached():
    structure = Structure.from_edges([("flu", "fever"), ("flu", "cough")])
    network = NoisyOrNetwork(structure, [0.2], [0.3, 0.3], [0.0, 0.02])
    found = sensitivity(with_errors(network, 0.2), ["fever"], ["cough"])
    assert found.lower.min() == 0.0
    assert not np.isnan(found.swings).any()


def test_what_has_no_error_is_counted_and_not_drawn():
    errors = Parameters.full(NETWORK.structure, np.nan)
    found = sensitivity(NetworkWithErrors(NETWORK, errors), ["a"], disease="A")
    assert len(found.swings) == 0
    assert found.n_without_error == 3  # prior, failure and leak
    assert repr(found).startswith("Sensitivity(A ")
    assert found.table().num_rows == 0


def test_what_rests_on_unknown_parameters_alone_is_not_called_stable():
    found = sensitivity(with_errors(NETWORK, np.nan), ["a"], disease="A")
    assert "moves it by nobody knows how much; " in repr(found)
    assert "without a standard error are left out)" in repr(found)


def test_a_table_by_names():
    structure = Structure.from_edges([("flu", "fever"), ("cold", "fever"), ("gout", "toe")])
    network = NoisyOrNetwork(structure, [0.1, 0.2, 0.1], [0.3, 0.6, 0.5], [0.02, 0.01])
    assert sensitivity(with_errors(network), ["fever"]).disease == "cold"  # the most probable
    found = sensitivity(with_errors(network, 0.02), ["fever"], disease="flu")
    rows = found.table()
    assert rows.row("prior", "flu")["at_upper"] > found.probability
    assert rows.row("prior", "cold")["at_upper"] < found.probability
    assert "gout" not in rows
    assert rows.row("leak", "fever")["swing"] > 0


def test_what_is_refused():
    with pytest.raises(ParameterError, match="needs standard errors: give an Estimate"):
        sensitivity(NETWORK, ["a"])
    joint = NoisyOrLearner(NETWORK.structure, causes="joint").fit(NETWORK.sample(500, rng=0))
    with pytest.raises(ParameterError, match="occur together"):
        sensitivity(joint.estimate_, ["a"])
