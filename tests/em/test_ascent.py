"""Climbing the exact likelihood: by EM and leaps, and by its derivatives."""

import numpy as np
import pytest

import naive
from conftest import as_lists, as_rows, with_unknown
from em.small_networks import random_start, small_network
from noisyor import Findings, Fixed, Structure, datasets
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import maximise
from noisyor.errors import ParameterError
from noisyor.learning import EMSettings, Flag, learn_exact_em, learn_maximum_likelihood
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


def test_products_of_the_scores_are_the_information(rng):
    network = small_network(rng)
    findings = with_unknown(network.sample(200, rng=1), rng)
    values = network.parameters.vector
    one_by_one = np.zeros((len(values), len(values)))
    for row in findings.to_numpy().astype(float):
        one = ExactExpectation(Findings.from_numpy(row[np.newaxis], network.structure))
        by_log_odds = one.expect(network).trials.derivatives(network)
        scores = by_log_odds / (values * (1.0 - values))
        one_by_one += np.outer(scores, scores)
    assert ExactExpectation(findings).information(network) == pytest.approx(one_by_one, rel=1e-8)


def test_intervals_of_exact_em_hold_the_truth():
    held = known = 0
    for seed in range(20):
        network = datasets.figure1(seed)
        estimate = learn_exact_em(
            network.sample(20_000, rng=seed), network.structure, settings=EMSettings(n_init=2)
        )
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
        learn_exact_em(findings, structure, settings=EMSettings(max_operations=2.0**40))
    with pytest.raises(ParameterError, match="max_operations must be a number from 1 on"):
        learn_exact_em(findings, structure, settings=EMSettings(max_operations=0))


def test_values_at_a_bound_are_flagged_and_have_no_interval():
    network = datasets.figure1(0)
    n_found = 0
    for seed in range(6):
        estimate = learn_exact_em(
            network.sample(200, rng=seed), network.structure, settings=EMSettings(n_init=2)
        )
        for part in estimate.parts.values():
            at_bound = (part.values < 1e-5) | (part.values > 1 - 1e-5)
            n_found += at_bound.sum()
            assert ((part.flags & Flag.CLIPPED) != 0)[at_bound].all()
            assert np.isnan(part.standard_errors[at_bound]).all()
    assert n_found


def test_exact_em_and_maximum_likelihood_agree_and_never_fall():
    for seed in range(4):
        network = datasets.figure1(seed)
        findings = network.sample(10_000, rng=seed)
        ends = []
        for learn in learn_exact_em, learn_maximum_likelihood:
            estimate = learn(findings, network.structure, settings=EMSettings(rng=seed))
            trace = estimate.trace
            assert (np.diff(trace.values) >= 0.0).all()
            assert len(trace.ends) == 4
            assert trace.values[-1] == trace.ends.max()
            ends.append(trace.values[-1])
        assert ends[0] == pytest.approx(ends[1], rel=1e-6)


def test_exact_em_refuses_what_is_out_of_reach():
    structure = Structure.from_matrix(np.ones((30, 40)))
    findings = Findings.from_numpy(np.ones((3, 40)), structure)
    for learn in learn_exact_em, learn_maximum_likelihood:
        with pytest.raises(ParameterError, match="exact inference is out of reach: 1 of 1"):
            learn(findings, structure)
