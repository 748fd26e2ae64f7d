"""Quantities of a cell, against sums written out."""

import numpy as np
import pytest

from noisyor import datasets, evaluate
from noisyor.experiments.learners import fit
from noisyor.experiments.measures import (
    best_of,
    coverage,
    in_new_process,
    mean_errors,
    sums_of_errors,
    timed,
)


def test_errors():
    network, other = datasets.figure1(0), datasets.figure1(1)
    same = evaluate(network, network, n_records=0)
    assert sums_of_errors(same) == {"l1": 0.0, "l1_with_leaks": 0.0}
    found = evaluate(network, other, n_records=0)
    assert sums_of_errors(found)["l1"] == pytest.approx(
        np.abs(network.priors - other.priors).sum()
        + np.abs(network.failures - other.failures).sum()
    )
    means = mean_errors(found)
    wrong = np.abs(network.failures - other.failures)
    assert means["failures"] == means["failures reached"] == pytest.approx(wrong.mean())
    assert means["failures of depth 0"] <= wrong.max()


def test_coverage_counts_sound_intervals_only():
    network = datasets.figure1(0)
    estimate = fit(network.sample(20_000, rng=1), network.structure, "refined")
    found = coverage(estimate, network)
    assert 0.0 <= found["flagged"] <= 1.0
    assert found["covered"] > 0.6
    kinds = "prior", "failure", "leak"
    held, sound = (sum(found[f"{what} {kind}"] for kind in kinds) for what in ("held", "sound"))
    assert held / sound == pytest.approx(found["covered"])
    assert sound <= 14


def test_time_and_memory():
    total, found = timed(lambda n: np.ones(n).sum(), 20_000_000)
    assert total == 20_000_000
    assert found["seconds"] > 0.0
    assert found.get("megabytes", 153.0) > 100.0
    assert 0.0 <= best_of(3, sum, [1, 2]) < 1.0
    elapsed, peak = in_new_process("def work():\n    return bytearray(b'x') * 200_000_000")
    assert elapsed < 5.0
    assert peak > 190.0
