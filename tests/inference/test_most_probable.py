"""The most probable sets of diseases, against all states."""

import numpy as np
import pytest

import naive
from conftest import as_lists
from inference.patients import random_patient
from noisyor import NoisyOrNetwork, Structure, datasets, most_probable


def test_the_best_explanations_are_the_best(rng):
    for number in range(150):
        network, row, present, absent = random_patient(rng)
        k = number % 6 + 1
        truth = naive.best_states(*as_lists(network), row, k)
        found = most_probable(network, present, absent, k=k)
        joints = np.exp(found.log_joints)
        assert found.is_proven
        n = len(joints)
        assert joints == pytest.approx(truth[:n], rel=1e-9, abs=1e-15)
        assert all(weight < 1e-15 for weight in truth[n:])  # what is left out is impossible
        total = sum(weight for _, weight in naive.weighted_states(*as_lists(network), row))
        assert found.probabilities == pytest.approx(joints / total, rel=1e-6, abs=1e-12)


def test_a_search_that_ends_early_says_so():
    network = datasets.qmr_shaped(0)
    present = np.flatnonzero(network.sample(3, rng=9).to_numpy()[0])[:25].tolist()
    found = most_probable(network, present, k=8, budget=0.01)
    assert not found.is_proven
    assert found.log_bound > found.log_joints[-1]
    assert (np.diff(found.log_joints) <= 0.0).all()


def test_the_search_ends_where_a_sure_cause_is_as_rare_as_the_leak():
    """Rounding let it turn the disease on and off for ever."""
    structure = Structure.from_edges([("a", "x")])
    network = NoisyOrNetwork(structure, [1e-8], [0.0], [1e-8])
    found = most_probable(network, ["x"], k=2)
    truth = [p for _, p in naive.states_given(*as_lists(network), [1])]
    assert sorted(found.probabilities) == pytest.approx(sorted(truth), rel=1e-12)
