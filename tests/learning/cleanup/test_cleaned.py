"""The clean-up within the methods: what no schedule learns but the moments tell."""

import numpy as np
import pytest

from conftest import network_on
from noisyor import (
    Fixed,
    Moments,
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    count_moments,
    datasets,
)
from noisyor.learning import Flag

METHODS = ("refined", "pooled", "sequential")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_figure_2(method):
    network = datasets.figure2(0)
    learner = NoisyOrLearner(network.structure, method=method).fit(network.sample(20_000, rng=0))
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


def test_moments_of_sites_can_be_cleaned_up_too():
    network = datasets.figure2(1)
    learner = NoisyOrLearner(network.structure, method="pooled")
    moments = count_moments(network.sample(20_000, rng=0), learner.find_plan())
    assert np.abs(learner.fit(moments).network_.failures - network.failures).max() < 0.12


def test_diseases_that_differ_in_nothing_are_called_weakly_identified():
    structure = Structure.from_matrix(np.ones((2, 6)))
    failures = np.tile(np.linspace(0.2, 0.8, 6), 2)
    network = NoisyOrNetwork(structure, [0.05, 0.05], failures, np.full(6, 0.05))
    for method in METHODS:
        learner = NoisyOrLearner(structure, method=method).fit(network.sample(20_000, rng=0))
        part = learner.estimate_.failures
        unsure = (part.flags & (Flag.WEAKLY_IDENTIFIED | Flag.AMBIGUOUS)) != 0
        assert (unsure | ~part.is_learned).all()


def test_an_estimate_tells_how_well_its_parts_fit():
    network = datasets.figure2(0)
    learner = NoisyOrLearner(network.structure, method="pooled").fit(network.sample(5000, rng=0))
    (part,) = learner.estimate_.explained
    assert part.diseases.tolist() == [0, 1]
    assert 0.0 < part.misfit < 10.0 * part.n_moments
    assert part.second > part.misfit


def test_diseases_with_the_same_symptoms_are_marked():
    structure = Structure.from_matrix(np.ones((2, 6)))
    network = NoisyOrNetwork(
        structure, [0.2, 0.4], np.linspace(0.2, 0.8, 12)[::-1], np.full(6, 0.05)
    )
    for method in METHODS:
        learner = NoisyOrLearner(structure, method=method).fit(network.sample(5000, rng=0))
        estimate = learner.estimate_
        assert (estimate.priors.flags & Flag.SWAPPABLE).all()
        assert (estimate.failures.flags & Flag.SWAPPABLE).all()


def learned_from_exact(network, method, fixed=None):
    """Learn from exact moments, all that the method could have counted."""
    learner = NoisyOrLearner(network.structure, method=method)
    plan = learner.find_plan(fixed=fixed)
    return learner.fit(Moments.exact(network, plan), fixed=fixed).estimate_


@pytest.mark.parametrize("method", ["sequential", "pooled"])
@pytest.mark.parametrize("seed", range(5))
def test_whole_methods_are_exact_on_exact_moments(method, seed):
    network = datasets.figure2(seed)
    estimate = learned_from_exact(network, method)
    assert estimate.explained[0].misfit == pytest.approx(0.0, abs=1e-6)
    assert estimate.network.failures == pytest.approx(network.failures, abs=1e-6)
    assert estimate.network.priors == pytest.approx(network.priors, abs=1e-6)


@pytest.mark.parametrize("method", ["sequential", "pooled"])
def test_true_values_that_are_fixed_do_not_harm(method):
    structure = Structure.from_matrix(np.ones((2, 6)))
    for seed in range(10):
        network = network_on(structure, np.random.default_rng(seed))
        fixed = Fixed.of(network, "failures")
        some = np.where(np.arange(12) < 1 + seed % 2, fixed.values.failures, np.nan)
        estimate = learned_from_exact(network, method, Fixed(structure, failures=some))
        assert estimate.network.failures == pytest.approx(network.failures, abs=1e-5)
        assert estimate.network.priors == pytest.approx(network.priors, abs=1e-5)


@pytest.mark.parametrize("method", ["sequential", "pooled"])
def test_a_prior_is_learned_from_fixed_failures_of_two_symptoms(method):
    structure = Structure.from_matrix(np.ones((1, 2)))
    network = NoisyOrNetwork(structure, [0.2], [0.4, 0.6], [0.05, 0.1])
    estimate = learned_from_exact(network, method, Fixed.of(network, "failures"))
    assert estimate.network.priors == pytest.approx([0.2], abs=1e-6)
    assert estimate.network.leaks == pytest.approx([0.05, 0.1], abs=1e-6)
    assert estimate.priors.flags == Flag.AMBIGUOUS  # 0.943 gives the same pair


@pytest.mark.parametrize("method", METHODS)
def test_what_only_fixed_leaks_would_tell_is_not_called_certain(method):
    structure = Structure.from_matrix(np.ones((1, 2)))
    network = NoisyOrNetwork(structure, [0.2], [0.4, 0.6], [0.05, 0.1])
    learner = NoisyOrLearner(structure, method=method)
    part = learner.fit(network.sample(5000, rng=0), fixed=Fixed.of(network, "leaks")).estimate_
    for learned in part.priors, part.failures:
        assert (learned.flags != 0).all()


@pytest.mark.parametrize("method", ["sequential", "pooled"])
def test_records_that_tell_nothing_teach_nothing(method):
    network = datasets.figure2(0)
    nothing = np.full((500, network.structure.n_symptoms), np.nan)
    learner = NoisyOrLearner(network.structure, method=method).fit(nothing)
    assert not learner.estimate_.failures.is_learned.any()
    rows = network.sample(5000, rng=0).to_numpy().astype(float)
    rows[:, 0] = np.nan
    part = NoisyOrLearner(network.structure, method=method).fit(rows).estimate_.failures
    of_first = network.structure.edges[:, 1] == 0
    assert (part.flags[of_first] != 0).all()


def test_two_explanations_with_the_same_misfit_are_noticed():
    # Ten moments for ten parameters: now and then another network has the very same moments.
    structure = Structure.from_matrix(np.ones((2, 4)))
    n_wrong = 0
    for seed in range(8):
        network = network_on(structure, np.random.default_rng(seed))
        estimate = learned_from_exact(network, "pooled")
        wrong = np.abs(np.sort(estimate.network.priors) - np.sort(network.priors)).max() > 0.01
        n_wrong += wrong
        assert (
            not wrong or (estimate.failures.flags & (Flag.AMBIGUOUS | Flag.WEAKLY_IDENTIFIED)).all()
        )
    assert n_wrong  # else the test would show nothing


def test_leaks_share_the_doubts_about_their_parents():
    structure = Structure.from_matrix(np.ones((2, 6)))
    failures = np.tile(np.linspace(0.2, 0.8, 6), 2)
    network = NoisyOrNetwork(structure, [0.05, 0.05], failures, np.full(6, 0.05))
    learner = NoisyOrLearner(structure, method="pooled").fit(network.sample(5000, rng=0))
    estimate = learner.estimate_
    doubt = Flag.AMBIGUOUS | Flag.WEAKLY_IDENTIFIED
    assert (estimate.failures.flags & doubt).any()
    assert (estimate.leaks.flags & doubt).all()
