"""Rules of intervals and flags: what few cases tell is flagged, alike for all."""

import numpy as np
import pytest

from conftest import random_structure
from noisyor import NoisyOrLearner, NoisyOrNetwork, Structure, datasets
from noisyor.evaluation import check_intervals
from noisyor.experiments.settings import weak_network
from noisyor.learning import Flag
from noisyor.learning.trust import (
    all_if_most,
    flat_directions,
    hides_in_weak_edges,
    intervals_of,
    moment_intervals,
    rests_on_few,
    rests_on_priors,
)
from noisyor.parameters import Parameters

STRUCTURE = Structure.from_edges([("A", "a"), ("A", "b"), ("B", "b")])


def test_intervals_by_log_odds_stay_inside_and_are_skewed():
    values, errors = np.array([0.01, 0.5, 0.99, 0.2]), np.array([0.01, 0.1, 0.01, np.nan])
    lower, upper = intervals_of(values, errors, by_log_odds=True)
    odds = values / (1 - values)
    factor = np.exp(1.96 * errors / (values * (1 - values)))
    assert lower[:3] / (1 - lower[:3]) == pytest.approx((odds / factor)[:3])
    assert upper[:3] / (1 - upper[:3]) == pytest.approx((odds * factor)[:3])
    assert np.isnan(lower[3])
    assert np.isnan(upper[3])
    lower, upper = intervals_of(values, errors)
    assert lower[:3] == pytest.approx([0.0, 0.304, 0.9704])
    assert upper[:3] == pytest.approx([0.0296, 0.696, 1.0])


def test_what_is_certain_has_an_interval_of_one_point():
    values = np.array([0.06, 0.1, 0.3])
    for by_log_odds in True, False:
        for end in intervals_of(values, np.zeros(3), by_log_odds=by_log_odds):
            assert (end == values).all()


def test_what_rests_on_few_cases_or_unknown_findings_is_found():
    few = rests_on_few(STRUCTURE, np.array([0.001, 0.1]), np.array([1000.0, 20.0]), 1000.0)
    assert few.priors.tolist() == [True, False]
    assert few.failures.tolist() == [True, True, True]  # of B's 100 cases 2 tell of b
    assert few.leaks.tolist() == [False, False]
    few = rests_on_few(STRUCTURE, np.array([0.1, np.nan]), np.array([1000.0, 0.0]), 1000.0)
    assert few.priors.tolist() == [False, True]
    assert few.failures.tolist() == [False, True, True]
    assert few.leaks.tolist() == [False, True]


def test_what_weak_priors_say_is_found():
    values = Parameters([0.5, 0.5], [0.5, 0.5, 0.5], [0.5, 0.5])
    errors = Parameters([0.1, 0.45], [0.12, 0.1, np.nan], [0.1, 0.1])
    sizes = Parameters([1.0, 1.0], [10.0, 10.0, 10.0], [1.0, 1.0])
    found = rests_on_priors(values, errors, sizes)
    assert found.priors.tolist() == [False, True]
    assert found.failures.tolist() == [False, False, True]
    assert not found.leaks.any()


@pytest.mark.parametrize("n_sharing", [2, 3, 6])
def test_all_that_share_a_flat_direction_are_flat_and_nothing_else(rng, n_sharing):
    """Of six that share one, each prior makes up a sixth only: looked at alone, none was found."""
    scores = rng.normal(size=(200, 10))
    scores[:, n_sharing - 1] = scores[:, : n_sharing - 1].sum(axis=1)
    covariance = np.linalg.inv(scores.T @ scores + np.eye(10))
    found = flat_directions(covariance, np.ones(10))
    assert found.is_flat.tolist() == [True] * n_sharing + [False] * (10 - n_sharing)
    assert (found.partners[n_sharing:] == -1).all()
    if n_sharing == 2:
        assert found.partners[:2].tolist() == [1, 0]


def test_what_only_its_own_prior_tells_is_flat_without_a_partner():
    found = flat_directions(np.diag([1.0, 0.5, 0.0]), np.array([1.0, 1.0, 1.0]))
    assert found.is_flat.tolist() == [True, False, False]
    assert (found.partners == -1).all()


def test_what_priors_of_others_say_a_little_of_is_not_flat():
    """Records tell half of it: three of four priors of weak networks had a flag."""
    shared = np.full((6, 6), 1.0 / 6.0)
    for told, is_flat in (1.0, False), (0.2, True):
        information = 1000.0 * (np.eye(6) - shared) + told * shared
        found = flat_directions(np.linalg.inv(information + np.eye(6)), np.ones(6))
        assert (found.is_flat == is_flat).all()


def test_intervals_from_moments_reach_as_far_as_either_kind():
    values = Parameters([0.1, 0.1], [0.5, 0.97, 0.02], [0.01, 0.5])
    errors = Parameters([0.02, np.nan], [0.01, 0.02, 0.05], [0.005, 0.0])
    lower, upper = moment_intervals(values, errors, 25)
    t = 2.0639  # of 24 degrees of freedom
    odds = 1.0 / 9.0 * np.exp(np.array([-1.0, 1.0]) * t * 0.02 / 0.09)
    assert [lower.priors[0], upper.priors[0]] == pytest.approx((odds / (1.0 + odds)).tolist(), 1e-4)
    assert np.isnan(lower.priors[1])
    assert np.isnan(upper.priors[1])
    assert lower.failures[0] == pytest.approx(0.5 - t * 0.01, abs=1e-5)
    # Near 1: the lower end is farther by log odds, the upper one at equal length.
    assert lower.failures[1] < 0.97 - t * 0.02
    assert upper.failures[1] == 1.0
    # An error larger than the value: by log odds no wider than with an error of that size.
    odds = 0.02 / 0.98 * np.exp(1.96)
    assert upper.failures[2] == pytest.approx(odds / (1.0 + odds))
    assert lower.failures[2] == 0.0
    assert lower.leaks[1] == upper.leaks[1] == 0.5


def test_where_most_is_weak_all_is():
    weak = Parameters([True, False], [True, True, True], [True, True])
    learned = weak.map(np.ones_like)
    assert all_if_most(weak, learned).vector.all()
    not_all = Parameters([False, False], [True, True, True], [True, False])
    assert (all_if_most(not_all, learned).vector == not_all.vector).all()
    some = Parameters([True, False], [False, False, False], [False, False])  # the others are fixed
    assert all_if_most(weak, some).vector.tolist() == weak.vector.tolist()


def test_failures_of_a_guessed_prior_are_flagged():
    """They had errors of 0.01, and were 0.3 off, where the prior was known up to a factor of 3."""
    network = weak_network(20, 100)
    records = network.sample(3000, rng=101)
    estimate = NoisyOrLearner(network.structure, method="pooled").fit(records).estimate_
    is_guessed = (estimate.priors.flags & Flag.WEAK) != 0
    assert is_guessed.any()
    of_guessed = is_guessed[network.structure.edges[:, 0]]
    assert ((estimate.failures.flags[of_guessed] & Flag.WEAK) != 0).all()
    assert (estimate.failures.flags == 0).any()


@pytest.mark.parametrize("method", ["refined", "pooled"])
def test_what_no_known_finding_tells_is_flagged(method):
    network = datasets.clinic()
    records = network.sample(3000, rng=0).to_numpy().astype(float)
    emptied = network.structure.symptoms[3]
    records[:, 3] = np.nan
    estimate = NoisyOrLearner(network.structure, method=method).fit(records).estimate_
    of_it = network.structure.edges[:, 1] == 3
    assert of_it.sum() > 1, emptied
    assert ((estimate.failures.flags[of_it] & Flag.WEAK) != 0).all()
    assert estimate.leaks.flags[3] & Flag.WEAK
    assert (estimate.failures.flags[~of_it] == 0).mean() > 0.9


def test_pooled_intervals_of_few_cases_hold_the_truth():
    network = datasets.clinic()
    held = []
    for seed in range(8):
        learner = NoisyOrLearner(network.structure, method="pooled")
        found = check_intervals(learner.fit(network.sample(600, rng=seed)).estimate_, network)
        held.append(found["failure"].holds[found["failure"].is_sound])
    assert 0.89 < np.concatenate(held).mean() < 0.99  # 0.83 without widening


@pytest.mark.parametrize("is_weak", [True, False])
def test_pooled_trusts_nothing_where_most_edges_cannot_be_told_from_none(rng, is_weak):
    structure = Structure.from_matrix(rng.random((12, 60)) < 0.2)
    weak = rng.random(structure.n_edges) < (0.85 if is_weak else 0.2)
    failures = np.where(weak, 0.995, rng.uniform(0.3, 0.6, structure.n_edges))
    network = NoisyOrNetwork(structure, np.full(12, 0.08), failures, np.full(60, 0.01))
    learner = NoisyOrLearner(structure, method="pooled")
    found = learner.fit(network.sample(30_000, rng=1)).estimate_
    n_flagged = sum(int((part.flags != 0).sum()) for part in found.parts.values())
    if is_weak:
        assert n_flagged == structure.n_parameters
    else:
        assert n_flagged < 0.5 * structure.n_parameters


def test_pooled_without_groups_has_no_errors_and_is_not_called_weak_for_that():
    network = datasets.clinic()
    learner = NoisyOrLearner(network.structure, method="pooled", n_groups=5)
    flags = learner.fit(network.sample(5000, rng=1)).estimate_.flags.failures
    assert ((flags & Flag.NO_ERROR) != 0).all()
    assert ((flags & Flag.WEAK) != 0).mean() < 0.1


def test_priors_and_leaks_that_hide_in_weak_edges():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        structure = random_structure(rng)
        failures = rng.uniform(0.5, 1.0, structure.n_edges)
        errors = rng.choice([0.0, 0.02, 0.2, np.nan], structure.n_edges)
        found = hides_in_weak_edges(structure, failures, errors)
        told = [
            error == 0 or 1 - failure >= 1.96 * error
            for failure, error in zip(failures, errors, strict=True)
        ]
        for axis, part in ((0, found.priors), (1, found.leaks)):
            for index, is_hidden in enumerate(part):
                own = [is_told for edge, is_told in zip(structure.edges, told, strict=True)
                       if edge[axis] == index]  # fmt: skip
                n_open = np.count_nonzero(errors != 0)
                is_all = n_open and np.sum(np.invert(told)) > 0.67 * n_open
                assert is_hidden == (is_all or sum(own) < len(own) / 2)
        assert not found.failures.any()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", ["refined", "pooled"])
def test_a_disease_whose_place_another_has_taken_has_a_flag(method, seed):
    """One with all of its symptoms and more: its own prior is next to nothing then."""
    names = [f"s{j}" for j in range(9)]
    matrix = np.array([[1, 1, 1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1, 1]])
    truth = Structure.from_matrix(matrix, diseases=["D", "E"], symptoms=names)
    network = NoisyOrNetwork(truth, [0.12, 0.1], np.full(truth.n_edges, 0.4), np.full(9, 0.02))
    ghost = np.array([[1, 1, 1, 1, 0, 0, 0, 0, 0], *matrix[::-1]])
    structure = Structure.from_matrix(ghost, diseases=["ghost", "E", "D"], symptoms=names)
    records = network.sample(6000, rng=seed).with_structure(structure)
    learned = NoisyOrLearner(structure, method=method, random_state=0).fit(records).estimate_
    assert learned.flags.priors[0] & Flag.WEAK, learned.network.priors
