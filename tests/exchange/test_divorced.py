"""Chains of inner nodes are taken together where that is exact, and only there."""

import itertools

import numpy as np
import pytest

from noisyor.errors import ExchangeError, NoisyOrWarning
from noisyor.exchange.divorced import collapsed, collapsible, two_layers
from noisyor.exchange.nodes import Node, check_parents, network_from_nodes


def node(key, parents=(), failures=(), probability=0.0):
    return Node(key, key, "here", tuple(parents), None, probability, tuple(failures))


def chance(nodes, states):
    """Return P(states of all nodes), by the definition of each."""
    product = 1.0
    for each in nodes:
        absent = 1.0 - each.probability
        for parent, failure in zip(each.parents, each.failures, strict=True):
            absent *= failure if states[parent] else 1.0
        product *= 1.0 - absent if states[each.key] else absent
    return product


def joint_of(nodes, kept):
    """Return the distribution of some nodes, summed over all states of the others."""
    keys = [each.key for each in nodes]
    found = {}
    for bits in itertools.product([0, 1], repeat=len(keys)):
        states = dict(zip(keys, bits, strict=True))
        shown = tuple(states[key] for key in kept)
        found[shown] = found.get(shown, 0.0) + chance(nodes, states)
    return found


def chain(rng):
    """A symptom above which two inner nodes stand in a chain, with a disease on two ways."""
    f = rng.uniform(0.0, 1.0, 6).tolist()
    leaks = rng.uniform(0.0, 0.3, 3).tolist()
    return [
        node("c", ["y", "d1"], [0.0, f[0]], leaks[0]),  # before its parents
        node("d1", probability=0.3),
        node("d2", probability=0.2),
        node("d3", probability=0.6),
        node("x", ["d1", "d2"], [f[1], f[2]], leaks[1]),
        node("y", ["x", "d3"], [0.0, f[3]], leaks[2]),
        node("e", ["d2"], [f[4]], 0.1),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_the_distribution_stays(seed):
    nodes = chain(np.random.default_rng(seed))
    found = collapsed(nodes)
    kept = [each.key for each in nodes if each.key not in ("x", "y")]
    assert [each.key for each in found] == kept
    before, after = joint_of(nodes, kept), joint_of(found, kept)
    assert before.keys() == after.keys()
    for states in before:
        assert after[states] == pytest.approx(before[states], abs=1e-14)


def test_what_is_not_exact_is_left_and_refused():
    imperfect = [node("d", probability=0.1), node("x", ["d"], [0.5]), node("s", ["x"], [0.1])]
    two_children = [
        node("d", probability=0.1), node("x", ["d"], [0.5]),
        node("s", ["x"], [0.0]), node("t", ["x"], [0.0]),
    ]  # fmt: skip
    for nodes in (imperfect, two_children):
        assert collapsible(nodes) == set()
        assert collapsed(nodes) == nodes
        with pytest.raises(ExchangeError, match="'x', which has parents itself"):
            network_from_nodes(nodes, "here")


def test_a_notice_names_what_was_taken_out():
    nodes = chain(np.random.default_rng(0))
    with pytest.warns(NoisyOrWarning, match="2 nodes between .* taken into it: 'x', 'y'"):
        network = network_from_nodes(two_layers(nodes, "here"), "here")
    assert network.structure.n_edges == 4
    assert network.structure.symptoms == ("c", "e")


def test_cycles_are_refused():
    with pytest.raises(ExchangeError, match="which has parents itself"):
        check_parents([node("a", ["b"], [0.0]), node("b", ["a"], [0.0])])
