"""Diseases that may be swapped."""

import numpy as np

from noisyor import datasets
from noisyor.experiments.identifiability import matching_edges


def test_swapped_diseases_are_matched():
    network = datasets.figure2(0)
    structure = network.structure
    swapped = network.failures.copy()
    first, second = structure.edges_of(0), structure.edges_of(1)
    swapped[first], swapped[second] = network.failures[second], network.failures[first]
    edges = matching_edges(network, [(0, 1)], swapped)
    assert np.array_equal(swapped[edges], network.failures)
