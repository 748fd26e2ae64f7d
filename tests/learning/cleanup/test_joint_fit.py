"""The joint fit of all parameters of a component: what it predicts, its derivatives, its ends."""

import numpy as np
import pytest

from conftest import network_on
from learning.cleanup.cases import SHAPES, without_components
from noisyor import Fixed, Moments, Structure, datasets, find_schedule
from noisyor.learning.cleanup import clean_up, find_components
from noisyor.learning.cleanup.components import plan_of
from noisyor.learning.cleanup.joint_fit import JointFit
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


def problem_of(network):
    """Return the joint fit's problem at exact moments, and the true position in it."""
    structure = network.structure
    components, _ = find_components(find_schedule(structure), Fixed(structure))
    moments = Moments.exact(network, plan_of(structure, components))
    problem = JointFit(structure, components[0], moments)._problem(
        without_components(network, components)
    )
    owners = structure.edges[:, 0]
    strengths = edge_strengths(network.priors[owners], network.failures)[problem.edges]
    return problem, problem.position(strengths, lambdas_of(network.priors)[problem.priors])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_truth_predicts_the_moments(shape, rng):
    for _ in range(20):
        network = network_on(Structure.from_matrix(shape), rng)
        problem, truth = problem_of(network)
        derivatives = np.empty(problem.columns.shape)
        assert problem._residuals(truth, derivatives) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_derivatives_agree_with_differences(shape, rng):
    problem, truth = problem_of(network_on(Structure.from_matrix(shape), rng))
    position = truth * rng.uniform(0.7, 1.3, len(truth))
    derivatives, ignored = np.empty(problem.columns.shape), np.empty(problem.columns.shape)
    problem._residuals(position, derivatives)
    offsets, columns = problem.observed.couplings.offsets, problem.columns
    sets = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    for index in range(len(position)):
        step = 1e-5 * (np.arange(len(position)) == index)
        ahead, behind = (problem._residuals(position + by, ignored) for by in (step, -step))
        found = np.zeros(len(offsets) - 1)
        entries, kinds = np.nonzero(columns == index)
        np.add.at(found, sets[entries], derivatives[entries, kinds])
        assert found == pytest.approx((behind - ahead) / 2e-5, abs=1e-6)


def test_near_duplicates_are_tried_swapped():
    shape = np.ones((2, 9))
    shape[1, 0] = 0  # all that distinguishes them
    network = network_on(Structure.from_matrix(shape), np.random.default_rng(3))
    problem, truth = problem_of(network)
    (swapped,) = problem._swapped(truth)
    assert problem.misfit(swapped) > problem.misfit(truth)
    (back,) = problem._swapped(swapped)
    assert back == pytest.approx(truth)
    assert swapped[0] == truth[0]  # the edge that has no counterpart stays
