"""Figure 4: as large as the paper's, but for what takes too long."""

import numpy as np

from noisyor.experiments import ExperimentSettings, figure4
from noisyor.experiments.results import Cell


def test_the_full_run_is_as_large_as_the_papers():
    sizes = {cell.n_records for cell in figure4.cells(ExperimentSettings())}
    assert sizes >= {10_000, 100_000, 1_000_000, 10_000_000}


def test_without_pairs_more_is_left_to_learn():
    found = {
        schedule: figure4.measure(Cell("figure1", 0, 0, schedule), ExperimentSettings())
        for schedule in figure4.SCHEDULES
    }
    for left in found.values():
        assert left["left -1"] == 7  # at the outset, all
        assert (np.diff(list(left.values())) <= 0).all()
    pairs, triplets = found["triplets and pairs"], found["triplets only"]
    assert list(pairs.values())[-1] <= list(triplets.values())[-1]


def test_more_records_than_memory_are_learned_from_in_chunks(monkeypatch):
    monkeypatch.setattr(figure4, "CHUNK", 2000)
    cell = Cell("figure1", 6000, 0, "sequential")
    found = figure4.measure(cell, ExperimentSettings())
    assert found["seconds"] > 0
    assert 0 < found["failures of depth 0"] < 0.2
