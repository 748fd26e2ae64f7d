"""Records as lists of findings."""

import numba
import numpy as np
import pandas as pd
import pytest

from noisyor import (
    Findings,
    NoisyOrNetwork,
    Structure,
    best_questions,
    datasets,
    explain,
    most_probable,
    posterior,
)
from noisyor.errors import ParameterError
from noisyor.inference.flat import distinct_records, flatten


def test_networks_of_any_size_are_of_one_type():
    """A single edge made all kernels be compiled once more: half a minute."""
    kinds = set()
    for n in range(4):
        structure = Structure(["flu"], ["a", "b", "c"], [[0, j] for j in range(n)])
        network = NoisyOrNetwork(structure, [0.1], [0.5] * n, [0.1] * 3)
        kinds.add(numba.typeof(flatten(network)))
    assert len(kinds) == 1


def test_same_records_are_merged(rng):
    rows = rng.choice([0, 1, np.nan], (500, 3))
    findings = Findings.from_numpy(rows, Structure.from_matrix(np.ones((1, 3))))
    records = distinct_records(findings)
    assert records.weights.sum() == 500
    assert len(records.weights) == len({tuple(map(str, row)) for row in rows.tolist()})


STATES = [
    {"fever": 1, "cough": 0, "rash": None},
    {"fever": True, "cough": False, "rash": float("nan")},
    {"fever": "present", "cough": "Absent", "rash": "unknown"},
    {"fever": np.int8(1), "cough": np.bool_(False)},
    pd.Series({"fever": 1.0, "cough": 0.0, "rash": np.nan}),
    pd.Series({"fever": 1, "cough": 0, "rash": pd.NA}, dtype="Int8"),
]


@pytest.mark.parametrize("states", STATES)
@pytest.mark.parametrize("ask", [posterior, explain, best_questions, most_probable])
def test_a_mapping_is_evidence(ask, states):
    clinic = datasets.clinic()
    assert str(ask(clinic, states)) == str(ask(clinic, ["fever"], ["cough"]))


def test_states_that_are_none_are_told():
    clinic = datasets.clinic()
    for wrong in 2, "yes please", [1], 0.5:
        with pytest.raises(ParameterError, match="the finding 'fever' is"):
            posterior(clinic, {"fever": wrong})
    with pytest.raises(ParameterError, match="leave out `absent`"):
        posterior(clinic, {"fever": 1}, ["cough"])
