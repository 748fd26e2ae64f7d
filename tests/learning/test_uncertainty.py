"""Uncertain values are moved towards the others; the jackknife."""

import numpy as np
import pytest

from noisyor.learning.uncertainty import jackknife_errors, shrink_failures


def test_shrinking_leaves_the_certain_and_moves_the_uncertain():
    raw = np.concatenate([np.linspace(0.3, 0.7, 50), [1.4, -0.5, np.nan]])
    errors = np.concatenate([np.full(50, 0.001), [0.5, 0.5, 0.5]])
    shrunk = shrink_failures(raw, errors)
    assert shrunk.values[:50] == pytest.approx(raw[:50], abs=0.003)
    assert 0.5 < shrunk.values[50] < 0.75
    assert 0.25 < shrunk.values[51] < 0.5
    assert shrunk.values[52] == pytest.approx(0.5, abs=0.02)
    assert shrunk.is_weak[52]
    assert not shrunk.is_weak[:50].any()


def test_the_jackknife_weighs_groups_by_their_size(rng):
    sizes = np.array([800, *[22] * 8, 24])
    n = sizes.sum()
    groups = np.repeat(np.arange(len(sizes)), sizes)
    squares = []
    for _ in range(300):
        values = rng.normal(size=n)
        sums = np.bincount(groups, values)
        without = ((values.sum() - sums) / (n - sizes))[:, np.newaxis]
        # As if the groups were of equal size, the error is wrong.
        squares.append(
            [
                jackknife_errors(values.mean(), without, each)[0] ** 2
                for each in (sizes, sizes * 0 + 1)
            ]
        )
    right, wrong = n * np.mean(squares, axis=0)
    assert right == pytest.approx(1.0, rel=0.3)
    assert wrong > 2.0
