"""rearranging: edges that are tried together, and where fitting them begins."""

import numpy as np

from noisyor import NoisyOrNetwork, Structure
from noisyor.discovery.rearranging import (
    STARVING,
    WEAKLY,
    edges_to_try,
    given_back,
    likenesses,
    nearest_roles,
    shared_out,
    starving,
    taken_over,
    with_disease_of,
    with_edges,
    with_roles,
)
from noisyor.discovery.scores import EdgeScores

# The first two diseases are near-duplicates; the third shares one symptom with the first.
MATRIX = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [0, 0, 1, 0, 1]])
STRUCTURE = Structure.from_matrix(MATRIX)
NETWORK = NoisyOrNetwork(
    STRUCTURE, [0.3, 0.1, 0.2], [0.2, 0.3, 0.4, 0.5, 0.6, 0.9, 0.7, 0.1], [0.01] * 5
)


def test_likeness_is_the_share_of_common_symptoms_times_the_strength():
    expected = np.zeros((3, 5))
    strengths = np.zeros((3, 5))
    strengths[STRUCTURE.edges[:, 0], STRUCTURE.edges[:, 1]] = 1.0 - NETWORK.failures
    for i in range(3):
        for other in set(range(3)) - {i}:
            shared = (MATRIX[i] & MATRIX[other]).sum() / MATRIX[i].sum()
            expected[i] = np.maximum(expected[i], shared * strengths[other])
    np.testing.assert_allclose(likenesses(NETWORK), expected)


def test_edges_are_tried_that_tests_or_near_duplicates_speak_for():
    edges = np.argwhere(MATRIX == 0)
    gains = np.zeros(len(edges))
    by_test = edges.tolist().index([1, 4])  # no other with a common symptom has it
    gains[by_test] = 1.5
    nothing, ones = np.zeros(len(edges)), np.ones(len(edges))
    scores = EdgeScores(edges, gains, ones, nothing + 0.3, nothing > 0.0, is_there=False)
    found = edges_to_try(NETWORK, scores)
    assert found[1, 4] == 0.3
    assert found[1, 2] == 0.3  # above half of 2 / 3 times 0.6
    assert (2, 3) not in found
    assert edges_to_try(NETWORK, scores._replace(alone=nothing)).keys() == found.keys() - {(1, 4)}
    # What is named must show in other samples too; what is only tried need not.
    assert edges_to_try(NETWORK, scores._replace(again=nothing)) == found


def test_cases_are_shared_out_with_the_one_that_an_edge_may_belong_to():
    grown = with_edges(NETWORK, {(0, 3): 0.25})
    assert grown.structure.has_edge(0, 3)
    assert grown.failures[grown.structure.edge_index(0, 3)] == 0.75
    index = grown.structure.edge_index(1, 1)
    assert grown.failures[index] == NETWORK.failures[STRUCTURE.edge_index(1, 1)]
    found = shared_out(grown, {(0, 3)})
    np.testing.assert_allclose(found.priors, [0.2, 0.2, 0.2])
    assert found.failures[index] == grown.failures[grown.structure.edge_index(0, 1)]
    own = grown.structure.edge_index(1, 3)
    assert found.failures[own] == grown.failures[own]
    np.testing.assert_array_equal(shared_out(grown, set()).failures, grown.failures)


def test_an_edge_may_belong_to_a_near_duplicate_with_this_symptom():
    grown = with_edges(NETWORK, {(0, 3): 0.25, (2, 3): 0.25}).structure
    assert taken_over(grown, {(0, 3), (2, 3)}) == [(0, 3)]
    assert taken_over(grown, set()) == []


def test_a_disease_starves_that_has_far_fewer_cases_than_a_near_duplicate():
    for times, expected in ((0.5, [(1, 0)]), (1.5, [])):
        priors = [0.3, 0.3 * STARVING * times, 1e-6]  # the third shares only one symptom
        network = NoisyOrNetwork(STRUCTURE, priors, NETWORK.failures, NETWORK.leaks)
        assert starving(network) == expected
    alone = Structure.from_matrix(np.eye(2, dtype=np.int8))
    assert starving(NoisyOrNetwork(alone, [0.5, 1e-6], [0.5, 0.5], [0.01, 0.01])) == []


def test_cases_are_given_back_with_the_symptoms_that_both_have():
    found = given_back(NETWORK, [(1, 0)])
    np.testing.assert_allclose(found.priors, [0.2, 0.2, 0.2])
    expected = NETWORK.failures.copy()
    expected[3:6] = [*NETWORK.failures[:2], 1.0 - WEAKLY]  # the first disease has not its last one
    np.testing.assert_allclose(found.failures, expected)
    np.testing.assert_array_equal(found.leaks, NETWORK.leaks)


def test_a_disease_becomes_what_it_was():
    grown = shared_out(with_edges(NETWORK, {(0, 3): 0.25}), {(0, 3)})
    found = with_disease_of(grown, NETWORK, STRUCTURE.diseases[1])
    np.testing.assert_allclose(found.priors, [0.2, 0.1, 0.2])
    own = found.structure.child_offsets
    np.testing.assert_array_equal(found.failures[own[1] : own[2]], NETWORK.failures[3:6])
    np.testing.assert_array_equal(found.failures[: own[1]], grown.failures[: own[1]])


def test_names_are_those_with_which_least_has_changed():
    names = STRUCTURE.diseases
    given = {
        name: {STRUCTURE.symptoms[j] for j in np.flatnonzero(row)}
        for name, row in zip(names, MATRIX, strict=True)
    }
    assert nearest_roles(STRUCTURE, given).tolist() == [0, 1, 2]
    exchanged = Structure.from_matrix(MATRIX[[1, 0, 2]])
    assert nearest_roles(exchanged, given).tolist() == [1, 0, 2]
    back, edges = with_roles(exchanged, np.array([1, 0, 2]))
    assert back == STRUCTURE
    assert edges.tolist() == [3, 4, 5, 0, 1, 2, 6, 7]
    # With one symptom moved nothing is won by other names, nor is it where they are not given.
    moved = MATRIX.copy()
    moved[0, 2], moved[0, 4] = 0, 1
    assert nearest_roles(Structure.from_matrix(moved), given).tolist() == [0, 1, 2]
    del given[names[0]]
    assert nearest_roles(exchanged, given).tolist() == [0, 1, 2]
