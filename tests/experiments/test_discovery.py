"""The experiment of structures: what is damaged, and how a repair is judged."""

import numpy as np
import pytest

from noisyor import NoisyOrNetwork, Structure, datasets
from noisyor.experiments.discovery import cells, damaged, errors_against, judged, page
from noisyor.experiments.results import Results
from noisyor.experiments.settings import ExperimentSettings

CLINIC = datasets.clinic()


def test_as_many_edges_come_as_go():
    structure, deleted, added = damaged(CLINIC.structure, np.random.default_rng(0))
    true = {tuple(edge) for edge in CLINIC.structure.edges.tolist()}
    assert len(deleted) == len(added) == 6
    assert deleted <= true
    assert not added & true
    assert {tuple(edge) for edge in structure.edges.tolist()} == (true - deleted) | added


def test_a_repair_is_judged_by_what_came_and_went():
    structure, deleted, added = damaged(CLINIC.structure, np.random.default_rng(0))
    mended = judged(CLINIC, CLINIC.structure, deleted, added)
    assert mended["precision of additions"] == mended["recall of additions"] == 1.0
    assert mended["precision of deletions"] == mended["recall of deletions"] == 1.0
    assert mended["false changes"] == 0.0
    left = judged(CLINIC, structure, deleted, added)
    assert left["recall of additions"] == left["recall of deletions"] == 0.0
    assert np.isnan(left["precision of additions"])
    wrong = Structure(
        CLINIC.structure.diseases, CLINIC.structure.symptoms, CLINIC.structure.edges[2:]
    )
    found = judged(CLINIC, wrong, set(), set())
    assert found["false changes"] == 2.0
    assert found["strong edges lost"] == (CLINIC.failures[:2] <= 0.8).sum() == 2
    weak = NoisyOrNetwork(CLINIC.structure, CLINIC.priors, np.full(120, 0.9), CLINIC.leaks)
    assert judged(weak, wrong, set(), set())["strong edges lost"] == 0.0


def test_errors_count_edges_that_are_missing():
    assert errors_against(CLINIC, CLINIC) == 0.0
    structure = CLINIC.structure
    cut = Structure(structure.diseases, structure.symptoms, structure.edges[1:])
    less = NoisyOrNetwork(cut, CLINIC.priors, CLINIC.failures[1:], CLINIC.leaks)
    expected = (1.0 - CLINIC.failures[0]) / structure.n_edges
    assert errors_against(CLINIC, less) == pytest.approx(expected)


def test_cells_without_folders_are_those_that_are_drawn():
    found = cells(ExperimentSettings(quick=True))
    assert {cell.network for cell in found} == {"clinic", "planted8", "test3"}
    assert len(found) == len(set(found))
    assert page(Results())["share"] == "5%"
