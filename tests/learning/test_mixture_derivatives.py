"""Derivatives of moments of dependent diseases, against differences."""

import itertools

import numpy as np
import pytest

from noisyor import NoisyOrNetwork
from noisyor.learning.learned_causes import _causes_with
from noisyor.learning.mixture_derivatives import log_moment_derivatives
from noisyor.network import Joint
from together import KINDS, random_together


def moved_network(network, number, step):
    """The network with one failure, or parameter of its causes, changed a little."""
    failures, causes = network.failures.copy(), network.causes
    n_edges = network.structure.n_edges
    if number < n_edges:
        failures[number] += step
        return NoisyOrNetwork(network.structure, None, failures, network.leaks, causes=causes)
    if isinstance(causes, Joint):
        sizes = [len(each) for each in causes.shares]
        rest = causes.log_odds()[~causes.is_blocked]
        logs = np.concatenate([*map(np.log, causes.shares), rest])
        logs[number - n_edges] += step
        parts = np.split(logs, np.cumsum(sizes))
        shares = [np.exp(part) / np.exp(part).sum() for part in parts[:-1]]
        causes = _causes_with(causes, np.concatenate([*shares, parts[-1]]))
    else:
        parts = [causes.intercepts[:, np.newaxis], causes.loadings]
        parts += [] if causes.effects is None else [causes.effects.coefficients]
        values = np.concatenate(parts, axis=1).ravel()
        values[number - n_edges] += step
        causes = _causes_with(causes, values)
    return NoisyOrNetwork(network.structure, None, failures, network.leaks, causes=causes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2])
def test_derivatives_are_those_of_differences(kind, size):
    network = random_together(np.random.default_rng(0), 4, 6, kind)
    sets = np.array(list(itertools.combinations(range(6), size)))
    found = log_moment_derivatives(network, sets).toarray()
    step = 1e-6
    for number in range(found.shape[1]):
        ends = [
            np.log(moved_network(network, number, sign * step).negative_moments(sets))
            for sign in (1.0, -1.0)
        ]
        expected = (ends[0] - ends[1]) / (2.0 * step)
        np.testing.assert_allclose(found[:, number], expected, atol=2e-8)


def test_no_sets_have_no_derivatives():
    network = random_together(np.random.default_rng(0), 4, 6, "joint")
    found = log_moment_derivatives(network, np.empty((0, 2), dtype=np.int64))
    assert found.shape == (0, network.structure.n_edges + 16)
