"""What compiling costs, measured in processes with caches of their own."""

from noisyor.experiments import ExperimentSettings, first_minute
from noisyor.experiments.results import Cell, Results


def test_a_second_process_compiles_nothing():
    cell = Cell("clinic", 50, 0, "count a file")
    found = first_minute.measure(cell, ExperimentSettings())
    assert found["functions"] > 0
    assert found["again"] == 0
    assert found["empty, s"] > found["full, s"] > 0.0


def test_the_page_has_what_was_asked_in_its_order():
    results = Results()
    for method in reversed(first_minute.WORK):
        results.add(Cell("clinic", 50, 0, method), {"functions": 1.0})
    assert [run[2] for run in first_minute.page(results)["asked"]] == list(first_minute.WORK)
