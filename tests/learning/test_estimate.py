"""What an estimate tells of its parameters."""

import pytest

from noisyor import count_moments, datasets, find_schedule
from noisyor.learning import learn_sequential


def test_the_summary_has_a_row_for_each_parameter():
    network = datasets.figure1(0)
    schedule = find_schedule(network.structure)
    moments = count_moments(network.sample(10_000, rng=0), schedule.plan())
    estimate = learn_sequential(moments, schedule)
    rows = estimate.summary().to_pylist()
    assert len(rows) == 2 + 7 + 5
    by_name = {(row["disease"], row["symptom"]): row for row in rows}
    row = by_name["A", "b"]
    edge = network.structure.edge_index("A", "b")
    assert row["parameter"] == "failure"
    assert row["value"] == estimate.failures.values[edge]
    error = estimate.standard_errors.failures[edge]
    assert row["standard_error"] == error
    assert row["lower"] == pytest.approx(max(row["value"] - 1.96 * error, 0))
    assert row["upper"] == pytest.approx(min(row["value"] + 1.96 * error, 1))
    assert (row["depth"], row["moments"], row["flags"]) == (1, "triplet a, b, c", "")
    assert by_name["B", None]["moments"] == "triplet b, d, e"
    assert by_name[None, "a"]["parameter"] == "leak"
    assert by_name[None, "a"]["depth"] == 2
    assert by_name[None, "e"]["depth"] == 1
    assert estimate.n_records == 10_000
