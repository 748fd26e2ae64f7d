"""Which diseases are cleaned up together."""

import numpy as np
import pytest

from conftest import network_on
from learning.cleanup_cases import SHAPES, without_pieces
from noisyor import (
    Fixed,
    Moments,
    NoisyOrWarning,
    Structure,
    count_moments,
    datasets,
    find_schedule,
)
from noisyor.learning.cleanup.clean import clean_up
from noisyor.learning.cleanup.pieces import cleanup_plan, find_clusters, find_pieces, is_counted
from noisyor.learning.decompose import edge_strengths


def test_clusters_are_diseases_with_much_the_same_symptoms():
    structure = Structure.from_matrix(SHAPES[4])
    clusters = find_clusters(structure, np.arange(4))
    assert [cluster.tolist() for cluster in clusters] == [[0, 1], [2, 3]]


def test_kin_are_fitted_along_and_not_kept():
    # Twins, and a third with the same symptoms that three of its own make known.
    shape = np.zeros((3, 11))
    shape[:2, :8] = 1
    shape[2] = 1
    structure = Structure.from_matrix(shape)
    pieces, _ = find_pieces(find_schedule(structure), Fixed(structure))
    assert pieces[0].diseases.tolist() == [0, 1]
    assert pieces[0].kin.tolist() == [2]
    assert not pieces[0].kept_priors[pieces[0].priors == 2].any()
    network = network_on(structure, np.random.default_rng(0))
    moments = Moments.exact(network, cleanup_plan(structure, pieces))
    truth = edge_strengths(network.priors[structure.edges[:, 0]], network.failures)
    strengths, lambdas = without_pieces(network, pieces)
    wrong = truth[structure.edges_of(2)] * 1.1  # learned, but badly
    strengths[structure.edges_of(2)] = wrong
    cleaned = clean_up(moments, pieces, (strengths, lambdas), [])
    assert strengths[structure.edges_of(2)] == pytest.approx(wrong)
    assert not cleaned.priors[2]
    found, expected = (
        sorted(values[structure.edges_of(i)].tolist() for i in (0, 1))
        for values in (strengths, truth)
    )
    assert np.array(found) == pytest.approx(np.array(expected), rel=0.05)


def test_moments_without_the_triplets_leave_it_unlearned():
    network = datasets.figure2(0)
    schedule = find_schedule(network.structure)
    pieces, _ = find_pieces(schedule, Fixed(network.structure))
    moments = count_moments(network.sample(500, seed=0), schedule.plan())
    assert not is_counted(pieces[0], moments)
    strengths, lambdas = without_pieces(network, pieces)
    with pytest.warns(NoisyOrWarning, match="no schedule learns 'A', 'B', and the moments lack"):
        cleaned = clean_up(moments, pieces, (strengths, lambdas), [])
    assert not cleaned.edges.any()
    assert not cleaned.priors.any()
    assert not cleaned.parts
