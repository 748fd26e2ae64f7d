"""Removing influences: on joint distributions and on ratios, the same."""

import itertools

import numpy as np
import pytest

import naive
from conftest import as_lists, random_network
from noisyor import Moments, find_schedule
from noisyor.errors import ParameterError
from noisyor.learning import remove_influence
from noisyor.learning.adjust import adjusted_excesses
from noisyor.learning.decompose import Influences
from noisyor.learning.sequential import step_tables


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_removal_agrees_with_naive_and_with_a_network_without_the_disease(order, rng):
    for _ in range(50):
        network = random_network(rng, n_symptoms=order)
        priors, failures, leaks = as_lists(network)
        gone = int(rng.integers(len(priors)))
        tensor = network.joint(range(order))
        without = remove_influence(tensor, priors[gone], failures[gone])
        priors[gone] = 0.0
        states = list(itertools.product([0, 1], repeat=order))
        twin = naive.remove_influence(
            {state: tensor[state] for state in states}, network.priors[gone], failures[gone]
        )
        for state in states:
            values = dict(enumerate(state))
            exact = naive.joint_probability(priors, failures, leaks, values)
            assert without[state] == pytest.approx(exact, abs=1e-9)
            assert twin[state] == pytest.approx(exact, abs=1e-9)


def test_adjusted_ratios_agree_with_adjusted_joint_distributions(rng):
    """Twins: every step of random schedules, on moments and parameters that do not fit."""
    n_compared = 0
    while n_compared < 300:
        network = random_network(rng, 5, 9)
        structure = network.structure
        schedule = find_schedule(structure)
        if not len(schedule.removed):
            continue
        moments = Moments.exact(network, schedule.plan())
        wrong = random_network(rng, 5, 9)  # its parameters are removed, though they are not true
        priors = wrong.priors
        failures = rng.uniform(0.05, 0.95, structure.n_edges)
        matrix = np.ones((5, 9))
        matrix[tuple(structure.edges.T)] = failures
        influences = Influences.of(structure.edges[:, 0], priors, failures)
        for steps in step_tables(schedule):
            rows = excesses_of_steps(schedule, moments)[steps.numbers]
            adjusted = adjusted_excesses(steps.removed, influences, rows)
            for number, found in zip(steps.numbers, adjusted, strict=True):
                symptoms = [j for j in schedule.step_symptoms[number] if j >= 0]
                tensor = network.joint(symptoms)
                removed = schedule.removed[schedule.removed[:, 0] == number, 1]
                for disease in removed:
                    tensor = remove_influence(tensor, priors[disease], matrix[disease, symptoms])
                expected = excesses_of_tensor(tensor)
                assert found[: len(expected)] == pytest.approx(expected, rel=1e-8, abs=1e-9)
                n_compared += len(removed) > 0


def excesses_of_steps(schedule, moments):
    rows = np.zeros((schedule.n_steps, 4))
    plan = moments.plan
    for number, symptoms in enumerate(schedule.step_symptoms):
        if symptoms[2] < 0:
            rows[number, 0] = moments.excesses(2)[plan.rows_of(2, np.sort(symptoms[None, :2]))][0]
        else:
            row = plan.rows_of(3, symptoms[None])
            rows[number, :3] = moments.values(3).pair_excesses[row]
            rows[number, 3] = moments.excesses(3)[row][0]
    return rows


def excesses_of_tensor(tensor):
    """c of the pairs, and k, from a joint distribution of two or three symptoms."""

    def ratio(axes):
        others = tuple(axis for axis in range(tensor.ndim) if axis not in axes)
        moment = tensor.sum(axis=others)[(0,) * len(axes)]
        absent = [np.moveaxis(tensor, axis, 0)[0].sum() for axis in axes]
        return moment / np.prod(absent)

    if tensor.ndim == 2:
        return [ratio((0, 1)) - 1]
    pairs = [ratio(axes) - 1 for axes in ((0, 1), (0, 2), (1, 2))]
    return [*pairs, ratio((0, 1, 2)) - 1 - sum(pairs)]


def test_shapes_must_match():
    with pytest.raises(ParameterError, match="2 for each of the 3 failures"):
        remove_influence(np.ones((2, 2)) / 4, 0.1, [0.5, 0.5, 0.5])
    with pytest.raises(ParameterError, match="between 0 and 1"):
        remove_influence(np.ones((2, 2)) / 4, -3, [0.5, 7])
    with pytest.raises(ParameterError, match="always present and always causes"):
        remove_influence(np.ones((2, 2)) / 4, 1, [0, 0.5])
