"""The clean-up: what no schedule learns but the moments tell."""

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
    learn_sequential,
)
from noisyor.learning import Flag
from noisyor.learning.cleanup import (
    Cleaned,
    _predict,
    clean_up,
    cleanup_plan,
    find_pieces,
    is_counted,
)
from noisyor.learning.decompose import edge_strengths, lambdas_of

METHODS = ("refined", "pooled", "sequential")


def without_pieces(network, pieces):
    """Return strengths and lambdas of a network, with those of the pieces wiped out."""
    owners = network.structure.edges[:, 0]
    strengths = edge_strengths(network.priors[owners], network.failures)
    lambdas = lambdas_of(network.priors)
    for piece in pieces:
        strengths[piece.edges] = 0.0
        lambdas[piece.priors] = np.nan
    return strengths, lambdas


@pytest.mark.parametrize("seed", range(5))
def test_figure_2_is_recovered_from_exact_moments(seed):
    network = datasets.figure2(seed)
    pieces, result = find_pieces(find_schedule(network.structure), Fixed(network.structure))
    assert result.order == 3
    moments = Moments.exact(network, cleanup_plan(network.structure, pieces))
    strengths, lambdas = without_pieces(network, pieces)
    cleaned = clean_up(moments, pieces, (strengths, lambdas), [])
    assert cleaned.edges.all()
    assert cleaned.priors.all()
    owners = network.structure.edges[:, 0]
    assert lambdas == pytest.approx(lambdas_of(network.priors), abs=1e-6)
    expected = edge_strengths(network.priors[owners], network.failures)
    assert strengths == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_figure_2(method):
    network = datasets.figure2(0)
    learner = NoisyOrLearner(network.structure, method=method).fit(network.sample(20_000, seed=0))
    estimate = learner.estimate_
    assert estimate.is_complete
    for part, truth in zip(
        estimate.parts.values(), (network.priors, network.failures, network.leaks), strict=True
    ):
        assert np.abs(part.values - truth).max() < 0.12
        known = np.isfinite(part.standard_errors)
        assert (np.abs(part.values - truth) < 5 * part.standard_errors + 0.01)[known].all()
    assert (estimate.failures.depths == 0).all()  # no rounds before it
    assert not estimate.failures.flags.any()


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
    moments = count_moments(network.sample(200_000, seed=0), plan)
    for how in "grid", "joint":
        learned = learn_sequential(moments, schedule, cleanup=how, standard_errors=False).network
        assert np.abs(learned.failures - network.failures).max() < 0.1


def test_three_diseases_are_no_case_for_the_grid():
    structure = Structure.from_matrix(np.ones((3, 7)))
    network = NoisyOrNetwork(structure, [0.2, 0.3, 0.4], np.full(21, 0.5), np.full(7, 0.01))
    schedule = find_schedule(structure)
    plan = NoisyOrLearner(structure, method="sequential").find_plan()
    moments = count_moments(network.sample(500, seed=0), plan)
    assert not learn_sequential(moments, schedule, cleanup="grid").failures.is_learned.any()


def test_moments_of_sites_can_be_cleaned_up_too():
    network = datasets.figure2(1)
    learner = NoisyOrLearner(network.structure, method="pooled")
    moments = count_moments(network.sample(20_000, seed=0), learner.find_plan())
    assert np.abs(learner.fit(moments).network_.failures - network.failures).max() < 0.12


def test_derivatives_agree_with_differences(rng):
    v = np.where(rng.random((30, 3, 3)) < 0.8, rng.uniform(0.1, 1.0, (30, 3, 3)), 0.0)
    v[:10, :, 2] = 0.0
    lambdas = rng.uniform(-1.0, 5.0, 3)
    predicted, by_strength, by_lambda = _predict(v, lambdas, 10)
    step = 1e-6
    for disease in range(3):
        moved = lambdas + step * (np.arange(3) == disease)
        slope = (_predict(v, moved, 10)[0] - predicted) / step
        assert by_lambda[:, disease] == pytest.approx(slope, abs=1e-4)
        for place in range(3):
            more = v.copy()
            more[:, disease, place] += step
            slope = (_predict(more, lambdas, 10)[0] - predicted) / step
            chosen = slice(10, None) if place == 2 else slice(None)
            assert by_strength[chosen, disease, place] == pytest.approx(slope[chosen], abs=1e-4)


def test_diseases_with_the_same_symptoms_are_marked():
    structure = Structure.from_matrix(np.ones((2, 6)))
    network = NoisyOrNetwork(
        structure, [0.2, 0.4], np.linspace(0.2, 0.8, 12)[::-1], np.full(6, 0.05)
    )
    for method in METHODS:
        learner = NoisyOrLearner(structure, method=method).fit(network.sample(5000, seed=0))
        estimate = learner.estimate_
        assert (estimate.priors.flags & Flag.SWAPPABLE).all()
        assert (estimate.failures.flags & Flag.SWAPPABLE).all()


def test_moments_without_the_triplets_leave_it_unlearned():
    network = datasets.figure2(0)
    schedule = find_schedule(network.structure)
    pieces, _ = find_pieces(schedule, Fixed(network.structure))
    moments = count_moments(network.sample(500, seed=0), schedule.plan())
    assert not is_counted(pieces[0], moments)
    strengths, lambdas = without_pieces(network, pieces)
    cleaned = clean_up(moments, pieces, (strengths, lambdas), [])
    assert not cleaned.edges.any()
    nothing = Cleaned.nothing(network.structure)
    assert [part.tolist() for part in cleaned] == [part.tolist() for part in nothing]
