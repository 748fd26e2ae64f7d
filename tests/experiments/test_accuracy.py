"""Accuracy on large networks: what is run, and how rounds of EM are read off a cell's name."""

from noisyor.experiments import ExperimentSettings, accuracy
from noisyor.experiments.results import Cell


def test_of_a_million_records_only_some_are_run():
    cells = accuracy.cells(ExperimentSettings())
    slow = [cell for cell in cells if cell.method == "sequential"]
    assert {cell.seed for cell in slow if cell.n_records == 100_000} == set(range(5))
    assert {cell.seed for cell in slow if cell.n_records == 1_000_000} == {0}
    assert {c.seed for c in cells if c[1] == 1_000_000 and c.method == "refined"} == set(range(3))
    assert [cell.method for cell in cells][-len(accuracy.ROUNDS) :] == list(accuracy.ROUNDS)


def test_what_is_measured_of_a_method_and_of_rounds():
    settings = ExperimentSettings(quick=True)
    seen, few, many = (
        accuracy.measure(Cell("figure1", 3000, 0, method), settings)
        for method in ("observed", "refined, 1 rounds", "refined, 20 rounds")
    )
    assert "covered failures" not in seen  # only of methods that compete
    assert 0 < seen["failures reached"] < 0.1
    assert few["failures reached"] != many["failures reached"]
    for found in seen, few, many:
        assert 0 <= found["flagged failure"] <= 1
        assert found["priors relative"] > 0
