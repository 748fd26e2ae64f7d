"""Expected counts, and the parameters that explain them best."""

from typing import NamedTuple

import numpy as np
import pytest

import naive
from conftest import as_lists, as_rows, with_unknown
from em.small_networks import random_start, small_network
from noisyor import Fixed, NoisyOrNetwork, Structure
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import (
    BetaPriors,
    ExpectedCounts,
    RecordTotals,
    Trials,
    maximise,
    total_of,
)
from noisyor.parameters import Parameters

STRUCTURE = Structure.from_edges([("A", "a"), ("A", "b"), ("B", "b")])
BEFORE = NoisyOrNetwork(STRUCTURE, [0.1, 0.2], [0.3, 0.4, 0.6], [0.05, 0.15])


def some_trials(**changed):
    """Of twenty records, in which the first symptom is known in ten and the second in 18."""
    counts = {
        "cases": np.array([4.0, 10.0]),
        "caused": np.array([1.0, 2.0, 6.0]),
        "unknown": np.array([2.0, 0.0, 2.0]),
        "leaked": np.array([5.0, 1.0]),
    } | changed
    return Trials.of(STRUCTURE, ExpectedCounts(**counts), RecordTotals(20, np.array([10.0, 18.0])))


def test_a_step_of_em_is_that_of_the_naive_twin(rng):
    for _ in range(30):
        network = small_network(rng)
        findings = with_unknown(network.sample(20, rng=int(rng.integers(10**6))), rng)
        start = random_start(network.structure, rng)
        expected = ExactExpectation(findings).expect(start)
        found = maximise(expected.trials, start, Fixed(network.structure))
        total, priors, failures, leaks = naive.em_step(*as_lists(start), as_rows(findings))
        assert expected.log_likelihood == pytest.approx(total, rel=1e-10)
        assert found.priors == pytest.approx(priors, abs=2e-6)
        of_edges = np.array(failures)[tuple(network.structure.edges.T)]
        assert found.failures == pytest.approx(of_edges, abs=2e-6)
        assert found.leaks == pytest.approx(leaks, abs=2e-6)


def test_derivatives_of_the_likelihood_agree_with_differences(rng):
    for _ in range(10):
        network = small_network(rng)
        findings = with_unknown(network.sample(50, rng=1), rng)
        expectation = ExactExpectation(findings)
        start = random_start(network.structure, rng)
        values = start.parameters.vector
        found = expectation.expect(start).trials.derivatives(start)
        for k in range(len(values)):
            step = 1e-6 * (np.arange(len(values)) == k)
            moved = (Parameters.split(start.structure, values + by) for by in (step, -step))
            high, low = (
                expectation.expect(start.with_parameters(each)).log_likelihood for each in moved
            )
            by_log_odds = (high - low) / 2e-6 * values[k] * (1.0 - values[k])
            assert found[k] == pytest.approx(by_log_odds, abs=1e-4)


def test_values_are_shares_of_what_was_put_to_the_test():
    found = maximise(some_trials(), BEFORE, Fixed(STRUCTURE))
    assert found.priors == pytest.approx([4 / 20, 10 / 20])
    # Of 4 - 2, 4 and 10 - 2 cases whose finding is known, those in which it was not caused.
    assert found.failures == pytest.approx([1 / 2, 2 / 4, 2 / 8])
    assert found.leaks == pytest.approx([5 / 10, 1 / 18])


def test_a_beta_prior_counts_as_so_many_cases():
    priors = BetaPriors(
        Parameters([0.5, 0.5], [0.1, 0.1, 0.1], [0.0, 0.0]),
        Parameters([2.0, 0.0], [4.0, 4.0, 4.0], [1.0, 1.0]),
    )
    found = maximise(some_trials(), BEFORE, Fixed(STRUCTURE), priors)
    assert found.priors == pytest.approx([(4 + 1) / 22, 10 / 20])
    assert found.failures == pytest.approx([1.4 / 6, 2.4 / 8, 2.4 / 12])
    assert found.leaks == pytest.approx([5 / 11, 1 / 19])


def test_fixed_values_stay_and_so_does_what_no_record_tells():
    fixed = Fixed(STRUCTURE, priors={"A": 0.77}, failures={("B", "b"): 0.88})
    nothing = some_trials(unknown=np.array([4.0, 0.0, 2.0]), caused=np.array([0.0, 2.0, 6.0]))
    found = maximise(nothing, BEFORE, fixed)
    assert found.priors == pytest.approx([0.77, 10 / 20])
    assert found.failures == pytest.approx([BEFORE.failures[0], 2 / 4, 0.88])


def test_without_priors_no_value_ends_at_a_bound():
    extreme = some_trials(
        cases=np.array([0.0, 20.0]), caused=np.array([0.0, 0.0, 18.0]),
        unknown=np.array([0.0, 0.0, 2.0]), leaked=np.array([0.0, 18.0]),
    )  # fmt: skip
    found = maximise(extreme, BEFORE, Fixed(STRUCTURE))
    assert found.priors.tolist() == [1e-6, 1 - 1e-6]
    assert found.failures[2] == 1e-6
    assert found.leaks.tolist() == [1e-9, 1 - 1e-6]


def test_weak_priors_have_the_moments_of_the_estimates():
    weak = BetaPriors.weak(BEFORE, share=0.5)
    mean, variance = np.mean([0.7, 0.6, 0.4]), np.var([0.7, 0.6, 0.4])
    assert weak.means.failures == pytest.approx(np.full(3, 1 - mean))
    assert weak.sizes.failures == pytest.approx(
        np.full(3, 0.5 * (mean * (1 - mean) / variance - 1))
    )
    assert weak.means.leaks == pytest.approx([0.1, 0.1])
    assert weak.sizes.priors.tolist() == [0.5, 0.5]
    alike = NoisyOrNetwork(STRUCTURE, [0.1, 0.2], [0.3, 0.3, 0.3], [0.1, 0.1])
    assert BetaPriors.weak(alike).sizes.failures.tolist() == [20.0, 20.0, 20.0]


def test_derivatives_of_beta_priors_agree_with_differences():
    weak = BetaPriors.weak(BEFORE)
    sizes, means, values = weak.sizes.vector, weak.means.vector, BEFORE.parameters.vector

    def log_density(by):
        x = 1 / (1 + (1 / values - 1) * np.exp(-by))
        return sizes * (means * np.log(x) + (1 - means) * np.log(1 - x))

    first, second = weak.derivatives(BEFORE)
    high, here, low = log_density(1e-4), log_density(0.0), log_density(-1e-4)
    assert first == pytest.approx((high - low) / 2e-4, abs=1e-6)
    assert second == pytest.approx(-(high - 2 * here + low) / 1e-8, abs=1e-5)


def test_counts_of_parts_add_up():
    one = ExpectedCounts(*(np.arange(n, dtype=float) for n in (2, 3, 3, 2)))
    total = total_of([one, one, ExpectedCounts.zeros(STRUCTURE)])
    assert isinstance(total, ExpectedCounts)
    assert [each.tolist() for each in total] == [(2 * each).tolist() for each in one]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_large_sums_are_made_in_threads_and_are_the_same(rng, monkeypatch, n_jobs):
    monkeypatch.setattr("noisyor.em.expected.LARGE", 10)
    monkeypatch.setattr("noisyor.em.expected.AT_ONCE", 7)
    parts = [(rng.normal(size=(5, 8)).T, rng.normal(size=3)) for _ in range(4)]
    before = [each.copy() for each in parts[0]]
    large, small = total_of((Pair(*part) for part in parts), n_jobs)
    for found, each in (large, 0), (small, 1):
        expected = parts[0][each] + parts[1][each] + parts[2][each] + parts[3][each]
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(parts[0][each], before[each])


class Pair(NamedTuple):
    large: object
    small: object
