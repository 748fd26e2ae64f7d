"""Uncertain values are moved towards the others; the jackknife."""

import numpy as np
import pytest

from noisyor import NoisyOrLearner
from noisyor.experiments.settings import real_network
from noisyor.flags import Flag
from noisyor.learning.uncertainty import jackknife_errors, shrink_failures, shrink_leaks


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


@pytest.mark.parametrize("seed", range(5))
def test_leaks_that_are_shrunk_onto_the_common_value_are_weak(seed):
    rng = np.random.default_rng(seed)
    true = np.exp(rng.uniform(np.log(0.0004), np.log(0.009), 120))
    errors = np.where(np.arange(120) < 60, 0.0002, 0.02)  # half of them are told by the records
    shrunk = shrink_leaks(rng.normal(true, errors), errors)
    told, untold = shrunk.values[:60], shrunk.values[60:]
    assert np.log(untold).std() < 0.5 * np.log(true[60:]).std()
    assert np.corrcoef(np.log(told), np.log(true[:60]))[0, 1] > 0.9
    assert shrunk.is_weak[60:].all()
    assert not shrunk.is_weak[:60].any()


def test_an_upper_bound_is_told_too():
    true = np.full(60, 0.004)
    errors = np.full(60, 0.0004)
    raw, spread = np.append(true, 0.0001), np.append(errors, 0.0003)
    shrunk = shrink_leaks(raw, spread)  # the last is surely below the others
    assert shrunk.values[-1] < 0.001
    assert not shrunk.is_weak.any()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_flags_tell_learned_leaks_from_the_common_value(real_structures, seed):
    network = real_network(real_structures / "health_knowledge_graph")
    learner = NoisyOrLearner(network.structure, method="pooled")
    leaks = learner.fit(network.sample(5000, rng=seed)).estimate_.leaks
    is_weak = leaks.flags & Flag.WEAK != 0
    known, weak = (
        np.corrcoef(np.log(leaks.values[here]), np.log(network.leaks[here]))[0, 1]
        for here in (leaks.flags == 0, is_weak)
    )
    assert known > 0.75
    assert weak < 0.35
    assert np.log(leaks.values[is_weak]).std() < 0.5 * np.log(network.leaks[is_weak]).std()
