"""The fit of a component to its moments: what it predicts, and its derivatives."""

import numpy as np
import pytest

from conftest import network_on
from learning.cleanup_cases import SHAPES, without_components
from noisyor import Fixed, Moments, Structure, find_schedule
from noisyor.learning.cleanup.components import find_components, plan_of
from noisyor.learning.cleanup.joint_fit import JointFit
from noisyor.learning.decompose import edge_strengths, lambdas_of


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
    shape[1, 0] = 0  # all that tells the first from the second
    network = network_on(Structure.from_matrix(shape), np.random.default_rng(3))
    problem, truth = problem_of(network)
    (swapped,) = problem._swapped(truth)
    assert problem.misfit(swapped) > problem.misfit(truth)
    (back,) = problem._swapped(swapped)
    assert back == pytest.approx(truth)
    assert swapped[0] == truth[0]  # the edge that has no counterpart stays
