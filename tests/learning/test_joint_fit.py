"""The joint fit of all parameters of a component."""

import numpy as np
import pytest

from conftest import network_on
from learning.cleanup_cases import SHAPES, without_components
from noisyor import Fixed, Moments, Structure, datasets, find_schedule
from noisyor.learning.cleanup import clean_up, find_components
from noisyor.learning.cleanup.components import plan_of
from noisyor.learning.decompose import edge_strengths, lambdas_of


@pytest.mark.parametrize("seed", range(5))
def test_figure_2_is_recovered_from_exact_moments(seed):
    network = datasets.figure2(seed)
    components, result = find_components(find_schedule(network.structure), Fixed(network.structure))
    assert result.order == 3
    moments = Moments.exact(network, plan_of(network.structure, components))
    learned = without_components(network, components)
    cleaned = clean_up(moments, components, learned, {})
    assert cleaned.edges.all()
    assert cleaned.priors.all()
    owners = network.structure.edges[:, 0]
    assert learned.lambdas == pytest.approx(lambdas_of(network.priors), abs=1e-6)
    expected = edge_strengths(network.priors[owners], network.failures)
    assert learned.strengths == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_joint_fit_recovers_exact_moments(shape, rng):
    structure = Structure.from_matrix(shape)
    network = network_on(structure, rng)
    components, result = find_components(find_schedule(structure), Fixed(structure))
    moments = Moments.exact(network, plan_of(structure, components))
    learned = without_components(network, components)
    cleaned = clean_up(moments, components, learned, {})
    assert cleaned.edges.all()
    truth = edge_strengths(network.priors[structure.edges[:, 0]], network.failures)
    for group in result.swaps or [(disease,) for disease in range(structure.n_diseases)]:
        found = sorted(learned.strengths[structure.edges_of(disease)].tolist() for disease in group)
        expected = sorted(truth[structure.edges_of(disease)].tolist() for disease in group)
        assert np.array(found) == pytest.approx(np.array(expected), abs=1e-5)


def test_what_is_identifiable_of_a_component_is_learned_and_no_more():
    # Two near-duplicates, which share two symptoms with a disease that has no others.
    shape = np.array([[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 0], [0, 0, 0, 1, 1, 0]])
    shape[:2, 5] = [1, 0]
    structure = Structure.from_matrix(shape)
    components, result = find_components(find_schedule(structure), Fixed(structure))
    known = result.orders.failures >= 0
    assert known.any()
    assert not known.all()
    rng = np.random.default_rng(1)
    network = network_on(structure, rng)
    moments = Moments.exact(network, plan_of(structure, components))
    learned = without_components(network, components)
    cleaned = clean_up(moments, components, learned, {})
    assert (cleaned.edges == known).all()
    truth = edge_strengths(network.priors[structure.edges[:, 0]], network.failures)
    assert learned.strengths[known] == pytest.approx(truth[known], abs=1e-5)
    assert (learned.strengths[~known] == 0.0).all()
