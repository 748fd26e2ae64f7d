"""A network with the size and the troubles of QMR."""

import numpy as np
import pytest

from conftest import learnable_rounds
from noisyor import datasets
from noisyor.datasets.qmr import FREQUENCY_CLASSES


@pytest.mark.parametrize("seed", [0])
def test_qmr_shaped_has_the_size_and_troubles_of_qmr(seed):
    network = datasets.qmr_shaped(seed)
    structure = network.structure
    assert (structure.n_diseases, structure.n_symptoms, structure.n_edges) == (570, 4075, 45470)
    assert np.diff(structure.parent_offsets).max() == 570
    assert np.diff(structure.parent_offsets).min() == 1
    assert set(np.round(1 - network.failures, 6)) == set(FREQUENCY_CLASSES)
    assert network.priors.sum() == pytest.approx(3.6, abs=0.1)
    assert network.marginals().sum() == pytest.approx(96, abs=5)

    with_pairs, left = learnable_rounds(structure)
    assert len(with_pairs) == 4, "depth up to 3"
    assert with_pairs[0] > 0.85 * structure.n_edges, "most at depth 0"
    pair = {disease for disease, _ in left}
    first, second = (set(structure.children(disease).tolist()) for disease in pair)
    assert len(first) == len(second) == 61
    assert len(first & second) == 60
    assert len(left) == 122, "every edge but those of the pair is learned"

    without, left_without = learnable_rounds(structure, pairs=False)
    assert left_without == left
    assert len(without) > len(with_pairs)


def test_datasets_depend_on_the_seed_and_on_nothing_else():
    assert datasets.qmr_shaped(1) == datasets.qmr_shaped(1)
    assert datasets.qmr_shaped(1).structure != datasets.qmr_shaped(2).structure
    assert datasets.figure2(3) == datasets.figure2(3)
    assert datasets.figure2(3) != datasets.figure2(4)
