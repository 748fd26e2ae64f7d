"""Structures of any size."""

from noisyor import datasets
from noisyor.experiments.sequential import enlarged


def test_an_enlarged_structure_has_as_many_edges():
    structure = enlarged(datasets.clinic().structure, 100, 300, 600)
    assert structure.n_diseases == 100
    assert abs(structure.n_edges - 600) < 60
