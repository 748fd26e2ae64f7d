"""Which diseases are cleaned up together."""

import numpy as np
import pytest

from conftest import network_on
from learning.cleanup.cases import SHAPES, without_components
from noisyor import (
    Fixed,
    Moments,
    NoisyOrWarning,
    Structure,
    count_moments,
    datasets,
    find_schedule,
)
from noisyor.learning.cleanup import clean_up, find_components
from noisyor.learning.cleanup.components import find_clusters, plan_of
from noisyor.learning.decompose import edge_strengths


def test_clusters_are_diseases_with_much_the_same_symptoms():
    structure = Structure.from_matrix(SHAPES[4])
    clusters = find_clusters(structure, np.arange(4))
    assert [cluster.tolist() for cluster in clusters] == [[0, 1], [2, 3]]


def test_near_duplicates_are_fitted_along_and_not_kept():
    # Near-duplicates, and a third with the same symptoms that three of its own make known.
    shape = np.zeros((3, 11))
    shape[:2, :8] = 1
    shape[2] = 1
    structure = Structure.from_matrix(shape)
    components, _ = find_components(find_schedule(structure), Fixed(structure))
    assert components[0].diseases.tolist() == [0, 1]
    assert components[0].near_duplicates.tolist() == [2]
    assert not components[0].kept_priors[components[0].priors == 2].any()
    network = network_on(structure, np.random.default_rng(0))
    moments = Moments.exact(network, plan_of(structure, components))
    truth = edge_strengths(network.priors[structure.edges[:, 0]], network.failures)
    learned = without_components(network, components)
    wrong = truth[structure.edges_of(2)] * 1.1  # learned, but badly
    learned.strengths[structure.edges_of(2)] = wrong
    cleaned = clean_up(moments, components, learned, {})
    assert learned.strengths[structure.edges_of(2)] == pytest.approx(wrong)
    assert not cleaned.priors[2]
    found, expected = (
        sorted(values[structure.edges_of(i)].tolist() for i in (0, 1))
        for values in (learned.strengths, truth)
    )
    assert np.array(found) == pytest.approx(np.array(expected), rel=0.05)


def test_moments_without_the_triplets_leave_it_unlearned():
    network = datasets.figure2(0)
    schedule = find_schedule(network.structure)
    components, _ = find_components(schedule, Fixed(network.structure))
    moments = count_moments(network.sample(500, rng=0), schedule.plan())
    assert not components[0].is_counted(moments)
    learned = without_components(network, components)
    with pytest.warns(NoisyOrWarning, match="no schedule learns 'A', 'B', and the moments lack"):
        cleaned = clean_up(moments, components, learned, {})
    assert not cleaned.edges.any()
    assert not cleaned.priors.any()
    assert not cleaned.explained
