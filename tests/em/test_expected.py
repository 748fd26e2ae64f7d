"""Expected counts, and the parameters that explain them best."""

import numpy as np
import pytest

import naive
from conftest import as_lists, as_rows, with_unknown
from em.small_networks import random_start, small_network
from noisyor import Fixed
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import maximise
from noisyor.parameters import Parameters


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
