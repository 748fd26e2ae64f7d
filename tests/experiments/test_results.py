"""Results in a CSV file."""

import csv

import numpy as np
import pytest

from noisyor import NoisyOrError
from noisyor.experiments import ExperimentSettings, reproduce
from noisyor.experiments.results import Cell, Results

QUICK = ExperimentSettings(quick=True)


def test_seeds_and_methods_do_not_mix(tmp_path):
    results = Results(tmp_path / "x.csv")
    results.add(Cell("a", 10, 0, "m"), {"error": 1.0})
    results.add(Cell("a", 10, 1, "m"), {"error": 3.0})
    results.add(Cell("a", 10, 1, "n"), {"error": 7.0})
    again = Results(tmp_path / "x.csv")
    assert again.mean("a", 10, "m", "error") == 2.0
    assert again.spread("a", 10, "m", "error") == pytest.approx(np.sqrt(2.0))
    assert np.isnan(again.mean("a", 11, "m", "error"))
    with (tmp_path / "x.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 3


def test_what_was_measured_is_listed():
    results = Results()
    results.add(Cell("orphanet570", 100, 0, "m"), {"depth 1": 1.0, "depth 0": 2.0, "other": 3.0})
    results.add(Cell("4 diseases", 0, 0, "m"), {"x": 1.0})
    results.add(Cell("figure1", 10, 0, "m"), {"x": 1.0})
    assert results.networks() == ["figure1", "orphanet570", "4 diseases"]
    assert results.sizes() == [10, 100]
    assert results.sizes("figure1") == [10]
    assert results.numbers("orphanet570", "depth") == [0, 1]


def test_runs_are_listed_in_order():
    results = Results()
    for network, n, method in (("orphanet570", 5, "m, 2"), ("clinic", 20, "m, 1"),
                               ("clinic", 10, "m, 1"), ("clinic", 10, "m, 2")):  # fmt: skip
        results.add(Cell(network, n, 0, method), {"x": 1.0})
    assert results.methods("m") == ["m, 2", "m, 1"]
    assert results.runs("m, 1", "m, 2") == [
        ("clinic", 10, "m, 1"), ("clinic", 10, "m, 2"), ("clinic", 20, "m, 1"),
        ("orphanet570", 5, "m, 2"),
    ]  # fmt: skip
    assert results.runs("m, 2", network="clinic") == [("clinic", 10, "m, 2")]
    assert results.runs("other") == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "was not written by"),
        ("network,records,seed,method,quantity,value\nx,y,0,m,q,1\n", "line 2"),
        ("network,records,seed,method,quantity,value\nx,1,0,m,q", "cut off"),
    ],
)
def test_other_files_are_not_taken_for_results(content, message, tmp_path):
    (tmp_path / "table1.csv").write_text(content)
    with pytest.raises(NoisyOrError, match=message):
        reproduce("table1", tmp_path, QUICK)
