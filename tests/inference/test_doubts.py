"""Which diseases rest on flagged parameters, of their own or of others."""

import numpy as np
import pytest

import naive
from inference.patients import random_patient
from noisyor import (
    Findings,
    NoisyOrNetwork,
    Parameters,
    Structure,
    datasets,
    posterior,
    posteriors,
)
from noisyor.flags import Flag
from noisyor.inference.doubts import PROBABLE, UNKNOWN_SIZE, doubts_of
from noisyor.inference.flat import list_records
from noisyor.inference.intervals import NetworkWithErrors


def random_flags(structure, rng):
    """Return flags of which most are none, and some say no more than that a value is fixed."""
    kinds = np.array([0] * 12 + [Flag.WEAK, Flag.CLIPPED, Flag.COMPLEX, Flag.FIXED], np.uint16)
    return Parameters.full(structure, 0).map(lambda part: rng.choice(kinds, len(part)))


def as_naive(network, row, probabilities):
    doubtful = network.flags.map(lambda part: part & int(Flag.DOUBTFUL))
    return naive.doubts(
        network.structure.edges.tolist(), [part.tolist() for part in doubtful], row,
        list(probabilities), PROBABLE, int(UNKNOWN_SIZE),
    )  # fmt: skip


def test_doubts_are_those_of_the_slow_twin():
    rng = np.random.default_rng(0)
    n_others = 0
    for _ in range(200):
        network, row, present, absent = random_patient(rng)
        network = network.with_flags(random_flags(network.structure, rng))
        found = posterior(network, present, absent)
        expected = as_naive(network, row, found.probabilities)
        assert found.flags.tolist() == expected
        assert [bool(text) for text in found.flagged_by] == list(map(bool, expected))
        n_others += sum("(by " in text for text in found.flagged_by)
    assert n_others > 100


@pytest.mark.parametrize("share_unknown", [0.0, 0.2, 0.8])
def test_many_records_have_the_doubts_of_each(share_unknown):
    rng = np.random.default_rng(1)
    clinic = datasets.clinic().with_flags(random_flags(datasets.clinic().structure, rng))
    rows = clinic.sample(70, rng=2).to_numpy().astype(np.float64)
    rows[rng.random(rows.shape) < share_unknown] = np.nan
    found = posteriors(clinic, Findings.from_numpy(rows, clinic.structure))
    for number, row in enumerate(rows.tolist()):
        states = [None if value != value else int(value) for value in row]  # noqa: PLR0124
        assert found.flags[number].tolist() == as_naive(clinic, states, found.probabilities[number])
    assert found.table().column_names[-1] == "is_flagged"


def shared_cough():
    """Two diseases that can cause a cough, of which one has a flagged prior."""
    structure = Structure.from_edges([("flu", "fever"), ("flu", "cough"), ("asthma", "cough")])
    flags = Parameters.full(structure, 0, np.uint16)
    flags = Parameters(np.array([0, Flag.WEAK], dtype=np.uint16), flags.failures, flags.leaks)
    return NoisyOrNetwork(structure, [0.1, 0.1], [0.2, 0.3, 0.2], [0.05, 0.05], flags)


def test_a_disease_that_shares_a_present_finding_with_a_flagged_one_is_marked():
    """It was not, and had an interval as if the other disease were known."""
    network = shared_cough()
    errors = Parameters.full(network.structure, 0.01)
    found = posterior(NetworkWithErrors(network, errors), ["cough"], draws=20)
    assert found.is_flagged.tolist() == [True, True]
    assert np.isnan(found.interval_lower).all()
    assert found["flu"]["flags"] == "weak"
    assert found["flu"]["flagged_by"] == "asthma (by cough)"
    assert found["asthma"]["flagged_by"] == "its prior"
    for apart in ({"fever": 1}, {"fever": 1, "cough": 0}):
        found = posterior(NetworkWithErrors(network, errors), apart, draws=20)
        assert found.is_flagged.tolist() == [False, True]
        assert found["flu"]["interval_upper"] > found["flu"]["interval_lower"]


def test_what_is_flagged_is_named():
    clinic = datasets.clinic()
    flags = Parameters.full(clinic.structure, 0, np.uint16)
    failures, leaks = flags.failures.copy(), flags.leaks.copy()
    failures[clinic.structure.edges_of("influenza")] = Flag.WEAK
    leaks[clinic.structure.symptom_index("cough")] = Flag.CLIPPED
    flagged = clinic.with_flags(Parameters(flags.priors, failures, leaks))
    found = posterior(flagged, ["cough", "fever"], ["muscle pain", "fatigue", "chills"])
    said = "its failure of fever, cough, muscle pain, 2 more; the leak of cough"
    assert found["influenza"]["flagged_by"] == said
    assert found["asthma"]["flagged_by"] == "the leak of cough; influenza (by cough)"
    assert found["pneumonia"]["flagged_by"] == "the leak of cough; influenza (by fever, cough)"


def test_an_improbable_disease_marks_others_only_if_nobody_knows_how_probable_it_is():
    network = shared_cough()
    priors = np.array([0.1, 1e-5])
    rare = network.with_parameters(Parameters(priors, network.failures, network.leaks))
    for flag, is_marked in (Flag.WEAK, False), (Flag.CLIPPED, True), (Flag.COMPLEX, True):
        flags = Parameters(np.array([0, flag], np.uint16), *list(network.flags)[1:])
        assert posterior(rare.with_flags(flags), ["cough"]).is_flagged[0] == is_marked


def test_without_flags_there_are_no_doubts():
    clinic = datasets.clinic()
    assert doubts_of(clinic, list_records([]), np.zeros((0, 20))) is None
    found = posterior(clinic, ["fever"])
    assert not found.is_flagged.any()
    assert found.flagged_by is None
    assert not posteriors(clinic, clinic.sample(3, rng=0)).is_flagged.any()
    assert "flags" not in found.table().column_names
