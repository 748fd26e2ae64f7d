"""The paper's grid search over two diseases."""

import numpy as np
import pytest

from noisyor import (
    Fixed,
    Moments,
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    count_moments,
    datasets,
    find_schedule,
)
from noisyor.learning import learn_sequential


@pytest.mark.parametrize("seed", range(5))
def test_the_papers_grid_search_recovers_figure_2(seed):
    network = datasets.figure2(seed)
    schedule = find_schedule(network.structure)
    plan = NoisyOrLearner(network.structure, method="sequential").find_plan()
    learned = learn_sequential(Moments.exact(network, plan), schedule, cleanup="grid").network
    assert learned.priors == pytest.approx(network.priors, abs=1e-5)
    assert learned.failures == pytest.approx(network.failures, abs=1e-5)


def test_grid_and_joint_fit_agree_on_records():
    network = datasets.figure2(2)
    schedule = find_schedule(network.structure)
    plan = NoisyOrLearner(network.structure, method="sequential").find_plan()
    moments = count_moments(network.sample(200_000, rng=0), plan)
    for method in "grid", "joint":
        learned = learn_sequential(moments, schedule, cleanup=method, standard_errors=False).network
        assert np.abs(learned.failures - network.failures).max() < 0.1


def test_three_diseases_are_no_case_for_the_grid():
    structure = Structure.from_matrix(np.ones((3, 7)))
    network = NoisyOrNetwork(structure, [0.2, 0.3, 0.4], np.full(21, 0.5), np.full(7, 0.01))
    schedule = find_schedule(structure)
    plan = NoisyOrLearner(structure, method="sequential").find_plan()
    moments = count_moments(network.sample(500, rng=0), plan)
    assert not learn_sequential(moments, schedule, cleanup="grid").failures.is_learned.any()


def test_a_grid_without_a_possible_point_learns_nothing():
    structure = datasets.figure2(0).structure
    network = NoisyOrNetwork(structure, [0.5, 0.5], np.full(8, 0.999), np.full(5, 0.05))
    schedule = find_schedule(structure)
    plan = NoisyOrLearner(structure, method="sequential").find_plan()
    for seed in range(3):
        moments = count_moments(network.sample(300, rng=seed), plan)
        part = learn_sequential(moments, schedule, cleanup="grid").failures
        assert ((part.flags != 0) | np.isfinite(part.standard_errors)).all()


def test_the_grid_does_not_apply_where_failures_are_fixed():
    network = datasets.figure2(0)
    structure = network.structure
    fixed = Fixed(structure, failures={("A", "b"): 0.9})
    schedule = find_schedule(structure, fixed=fixed)
    plan = NoisyOrLearner(structure, method="sequential").find_plan(fixed=fixed)
    moments = count_moments(network.sample(2000, rng=0), plan)
    part = learn_sequential(moments, schedule, cleanup="grid", fixed=fixed).failures
    assert part.is_learned.sum() == 1  # the one that is fixed
