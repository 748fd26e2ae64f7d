"""Intervals of posteriors from the standard errors of the parameters."""

import numpy as np
import pytest

from noisyor import NoisyOrLearner, NoisyOrNetwork, Parameters, Structure, datasets, posterior
from noisyor.flags import Flag
from noisyor.inference.intervals import NetworkWithErrors


def test_intervals_grow_with_the_standard_errors():
    clinic = datasets.clinic()
    sizes = clinic.structure.n_diseases, clinic.structure.n_edges, clinic.structure.n_symptoms
    widths = []
    for scale in (0.0, 0.01, 0.05):
        errors = tuple(np.full(size, scale) for size in sizes)
        found = posterior(NetworkWithErrors(clinic, errors), ["fever", "cough"], draws=60)
        assert found.n_without_error == 0
        widths.append((found.interval_upper - found.interval_lower).max())
    assert widths[0] == pytest.approx(0.0, abs=1e-12)
    assert 0.0 < widths[1] < widths[2]


def test_parameters_without_an_error_are_counted():
    clinic = datasets.clinic()
    errors = [np.zeros(20), np.zeros(120), np.full(60, np.nan)]
    found = posterior(NetworkWithErrors(clinic, errors), ["fever", "cough"], draws=10)
    assert found.n_without_error == 2  # only the leaks of what is known matter


def with_two_symptoms():
    """A disease that can be learned, and one with two symptoms, which can not."""
    edges = [("sure", "a"), ("sure", "b"), ("sure", "c"), ("open", "d"), ("open", "e")]
    structure = Structure.from_edges(edges)
    return NoisyOrNetwork(structure, [0.2, 0.3], [0.2, 0.3, 0.4, 0.2, 0.5], [0.05] * 5)


@pytest.mark.parametrize("method", ["refined", "pooled", "exact_em"])
def test_what_cannot_be_known_is_flagged_and_has_no_interval(method):
    network = with_two_symptoms()
    learner = NoisyOrLearner(network.structure, method=method).fit(network.sample(3000, rng=0))
    found = posterior(learner.estimate_, ["a", "d"])
    assert found.is_flagged.tolist() == [False, True]
    width = found.interval_upper - found.interval_lower
    assert width[0] > 0.01
    assert np.isnan(width[1])
    rows = {row["disease"]: row["flags"] for row in found.table().to_pylist()}
    assert rows["sure"] == ""
    assert Flag.from_codes(rows["open"]) & (Flag.UNCERTIFIED | Flag.NOT_SCHEDULED)
    assert "open" in repr(found)
    assert "(flagged)" in repr(found)
    assert posterior(learner.network_, ["a", "d"]).is_flagged.tolist() == [False, True]


def test_only_parameters_that_matter_flag_a_disease():
    clinic = datasets.clinic()
    errors, flags = (Parameters.full(clinic.structure, value) for value in (0.01, 0))
    failures = flags.failures.copy()
    failures[clinic.structure.edge_index("influenza", "fever")] = Flag.WEAK
    flagged = clinic.with_flags(Parameters(flags.priors, failures, flags.leaks))
    influenza = clinic.structure.disease_index("influenza")
    edges = clinic.structure.edge_names()
    pairs = zip(edges["disease"], edges["symptom"], strict=True)
    others = {name for name, symptom in pairs if symptom == "fever"} - {"influenza"}
    for finding, is_flagged in ("fever", True), ("wheezing", False):
        found = posterior(NetworkWithErrors(flagged, errors), [finding], draws=20)
        assert found.is_flagged[influenza] == is_flagged
        pairs = list(zip(clinic.structure.diseases, found.flagged_by, strict=True))
        assert [name for name, text in pairs if "its" in text] == ["influenza"] * is_flagged
        sharing = {name for name, text in pairs if "influenza (by fever)" in text}
        assert sharing == (others if is_flagged else set())
        assert np.array_equal(np.isnan(found.interval_lower), found.is_flagged)
    assert not posterior(clinic, ["fever"]).is_flagged.any()


def test_without_an_error_there_is_no_interval():
    clinic = datasets.clinic()
    errors = [np.full(20, np.nan), np.zeros(120), np.zeros(60)]
    found = posterior(NetworkWithErrors(clinic, errors), ["fever"], draws=10)
    assert np.isnan(found.interval_lower).all()
    assert np.isnan(found.interval_upper).all()
