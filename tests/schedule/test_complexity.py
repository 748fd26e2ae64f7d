"""Theorem 2."""

import numpy as np
import pytest

from noisyor import datasets, find_schedule
from noisyor.errors import ParameterError, StructureError


def test_theorem_2_by_hand():
    """Figure 1 with all parameters 1/2: every quantity of the theorem can be written down."""
    network = datasets.figure1(0)
    structure = network.structure
    half = type(network)(structure, [0.5] * 2, [0.5] * 7, [0.0] * 5)
    asked = find_schedule(structure).sample_complexity(half, epsilon=0.1, delta=0.05)
    assert (asked.depth, asked.max_parents, asked.n_parameters) == (1, 2, 9)
    absent = 0.75**2
    confidence = 0.05 / (9 * 2)
    growth = absent**-11 * 0.5**-10 * 0.5**-2 * np.log(1 / confidence) / confidence
    records = growth**4 * 2**2 * absent**-6 * 0.1**-2 * np.log(9 / 0.05)
    assert asked.log10_error_growth == pytest.approx(np.log10(growth))
    assert asked.log10_records == pytest.approx(np.log10(records))
    largest = 0.5 / growth * absent**3 / (15 * 2)
    assert asked.log10_largest_epsilon == pytest.approx(np.log10(largest))
    assert not asked.holds
    with pytest.raises(ParameterError, match="epsilon"):
        find_schedule(structure).sample_complexity(half, epsilon=0)
    with pytest.raises(StructureError, match="different structures"):
        find_schedule(structure).sample_complexity(datasets.figure2(0))
    with pytest.raises(ParameterError, match="learns nothing"):
        find_schedule(datasets.figure2(0).structure).sample_complexity(datasets.figure2(0))
