"""Exact EM against its slow twin."""

import numpy as np
import pytest

import naive
from baselines.small_networks import random_start, small_network
from conftest import as_lists, as_rows, with_unknown
from noisyor import (
    Findings,
    Fixed,
    NoisyOrNetwork,
    Structure,
    datasets,
    learn_exact_em,
)
from noisyor.baselines.exact_em import EmSteps
from noisyor.errors import ParameterError
from noisyor.inference.exact import ExactInference
from noisyor.learning import Flag


def test_a_step_of_em_is_that_of_the_naive_twin(rng):
    for _ in range(30):
        network = small_network(rng)
        findings = with_unknown(network.sample(20, seed=int(rng.integers(10**6))), rng)
        start = random_start(network.structure, rng)
        steps = EmSteps(findings, Fixed(network.structure), None)
        expected = steps.expect(start)
        found = steps.maximise(expected, start)
        total, priors, failures, leaks = naive.em_step(*as_lists(start), as_rows(findings))
        assert expected.log_likelihood == pytest.approx(total, rel=1e-10)
        assert found.priors == pytest.approx(priors, abs=2e-6)
        of_edges = np.array(failures)[tuple(network.structure.edges.T)]
        assert found.failures == pytest.approx(of_edges, abs=2e-6)
        assert found.leaks == pytest.approx(leaks, abs=2e-6)


def parameters(network):
    return np.concatenate([network.priors, network.failures, network.leaks])


def moved(network, values):
    structure = network.structure
    cuts = structure.n_diseases, structure.n_diseases + structure.n_edges
    return NoisyOrNetwork(structure, *np.split(values, cuts))


def test_slopes_of_the_likelihood_agree_with_differences(rng):
    for _ in range(10):
        network = small_network(rng)
        findings = with_unknown(network.sample(50, seed=1), rng)
        steps = EmSteps(findings, Fixed(network.structure), None)
        start = random_start(network.structure, rng)
        values = parameters(start)
        found = steps.gradient(steps.expect(start), start)
        for k in range(len(values)):
            step = 1e-6 * (np.arange(len(values)) == k)
            high, low = (
                steps.expect(moved(start, values + by)).log_likelihood for by in (step, -step)
            )
            by_log_odds = (high - low) / 2e-6 * values[k] * (1.0 - values[k])
            assert found[k] == pytest.approx(by_log_odds, abs=1e-4)


def test_scores_add_up_to_the_slopes(rng):
    network = small_network(rng)
    structure = network.structure
    findings = with_unknown(network.sample(200, seed=1), rng)
    one_by_one = np.zeros((len(parameters(network)),) * 2)
    for row in findings.to_numpy().astype(float):
        one = Findings.from_numpy(row[np.newaxis], structure)
        steps = EmSteps(one, Fixed(structure), None)
        slopes = steps.gradient(steps.expect(network), network)
        values = parameters(network)
        slopes = slopes / (values * (1.0 - values))
        priors, failures, leaks = np.split(
            slopes, [structure.n_diseases, structure.n_diseases + structure.n_edges]
        )
        slopes = np.concatenate([failures, priors, leaks])  # the order of the information
        one_by_one += np.outer(slopes, slopes)
    assert ExactInference(findings).information(network) == pytest.approx(one_by_one, rel=1e-8)


def test_intervals_of_exact_em_hold_the_truth():
    held = known = 0
    for seed in range(20):
        network = datasets.figure1(seed)
        estimate = learn_exact_em(network.sample(20_000, seed=seed), network.structure, restarts=2)
        for part, truth in zip(
            estimate.parts.values(), (network.priors, network.failures, network.leaks), strict=True
        ):
            lower, upper = part.intervals()
            held += ((lower <= truth) & (truth <= upper)).sum()
            known += len(truth)
    assert 0.90 <= held / known <= 0.99


def test_a_raised_budget_does_not_make_the_impossible_possible():
    structure = Structure.from_matrix(np.ones((25, 30)))
    findings = Findings.from_numpy(np.ones((2, 30)), structure)
    with pytest.raises(ParameterError, match="30 present findings far more"):
        learn_exact_em(findings, structure, most_operations=2.0**40)
    with pytest.raises(ParameterError, match="most_operations must be at least 1"):
        learn_exact_em(findings, structure, most_operations=0)


def test_values_at_a_bound_are_flagged_and_have_no_interval():
    network = datasets.figure1(0)
    n_found = 0
    for seed in range(6):
        estimate = learn_exact_em(network.sample(200, seed=seed), network.structure, restarts=2)
        for part in estimate.parts.values():
            at_bound = (part.values < 1e-5) | (part.values > 1 - 1e-5)
            n_found += at_bound.sum()
            assert ((part.flags & Flag.CLIPPED) != 0)[at_bound].all()
            assert np.isnan(part.standard_errors[at_bound]).all()
    assert n_found
