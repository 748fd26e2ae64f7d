"""The networks of Figures 1 and 2."""

import numpy as np
import pytest

from conftest import learnable_rounds
from noisyor import datasets


def edge_names(network):
    return {"".join(pair) for pair in zip(*network.structure.edge_names().values(), strict=True)}


def test_figures_have_the_papers_edges_and_ranges():
    assert edge_names(datasets.figure1(0)) == {"Aa", "Ab", "Ac", "Bb", "Bc", "Bd", "Be"}
    assert edge_names(datasets.figure2(0)) == edge_names(datasets.figure1(0)) | {"Ad"}
    values = []
    for seed in range(200):
        network = datasets.figure1(seed)
        assert (network.leaks == 0.01).all()
        values += [*network.priors, *network.failures]
    assert 0.2 <= min(values) < 0.21
    assert 0.79 < max(values) <= 0.8
    assert np.mean(values) == pytest.approx(0.5, abs=0.03)


def test_figure_1_is_learned_in_two_rounds_and_figure_2_not_at_all():
    assert learnable_rounds(datasets.figure1(0).structure) == ([4, 3], set())
    learned, left = learnable_rounds(datasets.figure2(0).structure)
    assert learned == []
    assert len(left) == 8
