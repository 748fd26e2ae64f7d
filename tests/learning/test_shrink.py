"""Uncertain values are moved towards the others."""

import numpy as np
import pytest

from noisyor.learning.pooled.shrink import shrink_failures


def test_shrinking_leaves_the_certain_and_moves_the_uncertain():
    raw = np.concatenate([np.linspace(0.3, 0.7, 50), [1.4, -0.5, np.nan]])
    given = np.concatenate([np.full(50, 0.001), [0.5, 0.5, 0.5]])
    shrunk = shrink_failures(raw, given)
    assert shrunk.values[:50] == pytest.approx(raw[:50], abs=0.003)
    assert 0.5 < shrunk.values[50] < 0.75
    assert 0.25 < shrunk.values[51] < 0.5
    assert shrunk.values[52] == pytest.approx(0.5, abs=0.02)
    assert shrunk.is_weak[52]
    assert not shrunk.is_weak[:50].any()
