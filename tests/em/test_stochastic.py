"""Stochastic EM and Fisher scoring: they lead to the truth, and keep what is fixed."""

import numpy as np
import pytest

from noisyor import Fixed, NoisyOrNetwork, datasets
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import BetaPriors
from noisyor.em.information import errors_of, information_errors
from noisyor.em.sampled import RecordSampler
from noisyor.em.stochastic import (
    Rounds,
    StochasticSettings,
    fisher_scoring,
    is_small,
    stochastic_em,
)
from noisyor.learning import learn_exact_em
from noisyor.parameters import Parameters


def neutral(structure):
    return NoisyOrNetwork(structure, *Parameters.full(structure, (0.3, 0.5, 0.1)))


def sampler_of(*samples):
    structure = samples[0].structure
    blocks = [block for sample in samples for block in sample.blocks]
    return RecordSampler(structure, blocks, StochasticSettings.of(structure).least_odds)


def test_small_networks_are_looked_at_more_closely():
    small, large = datasets.figure1(0).structure, datasets.qmr_shaped(0).structure
    assert is_small(small)
    assert not is_small(large)
    close, usual = StochasticSettings.of(small), StochasticSettings.of(large)
    assert close.screen_every < usual.screen_every
    assert close.least_odds > usual.least_odds
    assert close.rounds == usual.rounds
    assert StochasticSettings.of(large, max_iter=3).rounds == 3


def test_rounds_climb_towards_the_truth_on_figure_1():
    network = datasets.figure1(0)
    findings = network.sample(20_000, rng=1)
    fixed = Fixed(network.structure, priors={"A": network.priors[0]})
    start, ends, exact = neutral(network.structure), [], ExactExpectation(findings)
    for n_rounds in 1, 5, 40:
        settings = StochasticSettings.of(network.structure, n_rounds)
        rounds = Rounds(sampler_of(findings), fixed)
        guard, _ = stochastic_em(rounds, start, 0, settings, lambda _: None)
        found = guard.best(False).network
        assert guard.steps[-1] <= n_rounds
        assert found.priors[0] == pytest.approx(network.priors[0], rel=1e-12)
        ends.append(exact.expect(found).log_likelihood)
    assert exact.expect(start).log_likelihood < ends[0] < ends[1] < ends[2]
    assert np.abs(found.failures - network.failures).max() < 0.1


def test_the_first_rounds_look_at_some_records_only():
    network = datasets.figure1(0)
    sampler = sampler_of(*(network.sample(1000, rng=seed) for seed in range(4)))
    settings = StochasticSettings(rounds_after=3, warm_up_records=1000, warm_up_rounds=2)
    seen = []
    rounds = Rounds(sampler, Fixed(network.structure))
    guard, _ = stochastic_em(rounds, neutral(network.structure), 0, settings, seen.append)
    assert seen[:5] == [1000] * 2 + [4000] * 3
    assert guard.n_before == 2
    assert guard.steps[-1] == len(seen) - 2


def test_what_is_returned_is_not_below_anything_that_was_seen():
    network = datasets.clinic()
    sampler = sampler_of(network.sample(500, rng=1))
    fixed = Fixed(network.structure)
    settings = StochasticSettings.of(network.structure, 4)
    guard, _ = stochastic_em(Rounds(sampler, fixed), network, 0, settings, lambda _: None)
    guard.see(neutral(network.structure), 1)  # far below
    run = guard.best(True)
    assert run.values[-1] == max(guard.values) > guard.values[-1]
    assert guard.value_of(run.network) == run.values[-1]
    assert run.values[-1] >= guard.values[0]
    assert run.steps[-1] == 5


def test_rounds_end_when_they_gain_little_and_say_whether_they_did():
    network = datasets.figure1(0)
    findings, fixed = network.sample(5000, rng=1), Fixed(network.structure)
    start = neutral(network.structure)
    ends = []
    for tol in 0.9, 1e-15:
        settings = StochasticSettings.of(network.structure, 12)
        sampler = sampler_of(findings)
        guard, is_settled = stochastic_em(
            Rounds(sampler, fixed), start, 0, settings, lambda _: None, tol
        )
        ends.append((guard.steps[-1], is_settled))
    assert ends[0] == (10, True)
    assert ends[1][0] == 12


def test_as_many_rounds_are_made_as_asked_for():
    structure = datasets.figure1(0).structure
    for max_iter in 1, 3, 20:
        settings = StochasticSettings.of(structure, max_iter)
        assert settings.most_rounds == max_iter
        assert max(settings.rounds, settings.rounds_after) <= max_iter
        assert settings.warm_up_rounds <= max_iter


@pytest.mark.parametrize("share", [1.0, 0.05])
def test_fisher_scoring_ends_as_high_as_exact_em(share):
    network = datasets.figure1(0)
    findings = network.sample(5000, rng=1)
    fixed = Fixed(network.structure, leaks={"b": network.leaks[1]})
    seen = []
    found, covariance = fisher_scoring(
        sampler_of(findings), network, 0, fixed, share, see=lambda *each: seen.append(each)
    )
    assert seen[-1][0] is found
    assert sum(n for _, n in seen) >= 5
    errors = errors_of(found, covariance, fixed.rates)
    assert found.leaks[1] == network.leaks[1]
    exact = ExactExpectation(findings)
    highest = learn_exact_em(findings, network.structure, fixed=fixed).network
    assert exact.expect(found).log_likelihood > exact.expect(highest).log_likelihood - 0.2
    assert exact.expect(network).log_likelihood < exact.expect(highest).log_likelihood - 2.0
    expected = information_errors(
        found, exact.information(found), fixed, BetaPriors.weak(found, share)
    )
    assert errors.failures == pytest.approx(expected.failures, rel=0.05)
