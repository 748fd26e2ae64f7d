"""Timings: each step of the paper is timed on its own, and compared with the paper's seconds."""

import pytest

from noisyor.experiments import ExperimentSettings, timings
from noisyor.experiments.results import Cell, Results


def test_each_step_does_its_work_so_many_times(monkeypatch):
    done = []

    def best_of(n, work, *arguments, **options):
        done.append((n, work.__name__))
        work(*arguments, **options)
        return 3.0

    monkeypatch.setattr(timings, "best_of", best_of)
    found = {
        what: timings.measure(Cell("figure1", 500, 0, what), ExperimentSettings())["seconds"]
        for what in timings.PAPER
    }
    assert [work for _, work in done] == ["find_schedule", "count_moments", "learn_sequential"]
    assert {n for n, _ in done} == {timings.REPEATS}
    # Statistics are told for a record.
    assert found == pytest.approx({"schedule": 3.0, "statistics": 3.0 / 500, "solving": 3.0})


def test_the_table_tells_how_many_times_faster():
    results = Results(None)
    for what in timings.PAPER:
        results.add(Cell("figure1", 500, 0, what), {"seconds": timings.PAPER[what][0] / 4000})
    page = timings.page(results)
    assert page["n_records"] == 500
    assert str(page["steps"]).count("4,000") == 3
