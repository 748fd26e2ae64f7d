"""Stochastic EM: sample each record's diseases, then set every parameter to its expectation.

Weak priors, whose means are those of the current estimates, keep every value inside of its bounds.
The last iterates are averaged, which takes the sampling noise off. On small networks Fisher scoring
follows, because EM crawls where two diseases can explain the same findings: what is missing is then
nearly all. A Fisher step takes the correlations of all parameters into account, I^-1 g with the
derivatives g and the information I of the records, both from sampled diseases; the steps become
smaller and the results are averaged (Robbins and Monro). On the scale of log odds, so that every
value stays inside of its bounds.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from noisyor.em.expected import BetaPriors, RecordTotals, Trials, inside, maximise
from noisyor.em.information import information_errors, scale_of, without
from noisyor.em.sampled import Sampler
from noisyor.inference.flat import Floats
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Fixed, Parameters, from_log_odds, log_odds
from noisyor.structure import Structure


@dataclass(frozen=True)
class StochasticSettings:
    """How many rounds to make, and how."""

    rounds: int = 10
    """Over all records; the second half of them is averaged."""
    warm_up_records: int = 100_000
    """With more records some rounds are made over so many of them first..."""
    warm_up_rounds: int = 5
    rounds_after: int = 5
    """... and fewer over all records."""
    sweeps: int = 2
    """How often each disease is drawn in a round."""
    screen_every: int = 3
    """Rounds after which every record's candidates are looked for anew."""
    least_odds: float = 1e-5
    """Odds below which a disease is not a candidate of a record."""
    information_sweeps: int = 4

    @classmethod
    def of(cls, structure: Structure, max_iter: int | None = None) -> "StochasticSettings":
        """Return the settings for a structure.

        On small networks fewer candidates can be summed up exactly; the others then count for so
        much that they are looked at in every round.
        """
        found = cls(screen_every=1, least_odds=1e-3) if is_small(structure) else cls()
        if max_iter is None:
            return found
        warm_up = min(found.warm_up_rounds, max_iter)
        return replace(found, rounds=max_iter, rounds_after=max_iter, warm_up_rounds=warm_up)


@dataclass(frozen=True)
class ScoringSettings:
    """How many steps of Fisher scoring to make, and how."""

    full_steps: int = 5
    steps: int = 15
    """Where records are sampled: so many, the later ones shorter."""
    most_steps: int = 60
    """Where they are summed up exactly: until they are short."""
    short: float = 0.05
    """A step is short if none is longer than this part of its standard error, given the others."""
    exact_share: float = 0.9995
    """With so many records summed up exactly, there is no noise to be averaged."""
    screen_every: int = 5
    sweeps: int = 4
    longest_step: float = 0.5


def is_small(structure: Structure) -> bool:
    """Return True if the information on all parameters of a network is inverted together.

    Of more than 3,000, each disease's is inverted on its own.
    """
    return structure.n_parameters <= 3000


def stochastic_em(
    sampler: Sampler,
    start: NoisyOrNetwork,
    seed: int,
    fixed: Fixed,
    share: float,
    settings: StochasticSettings,
    progress: Callable[[int], None],
) -> tuple[NoisyOrNetwork, int]:
    """Return the mean of the last rounds' networks, and how many rounds over all records were made.

    The weak priors count for a `share` of their usual sizes.
    """
    n_blocks, numbers = len(sampler.starts) - 1, itertools.count(seed * 1000 + 1)

    def rounds(network: NoisyOrNetwork, n: int, n_blocks: int) -> list[NoisyOrNetwork]:
        """Return the networks after each of n rounds over the first blocks."""
        n_records, found = int(sampler.starts[n_blocks]), []
        totals = RecordTotals(n_records, n_records / sampler.starts[-1] * sampler.known)
        for number in range(n):
            counts = sampler.expect(
                network, n_blocks, must_screen=number % settings.screen_every == 0,
                n_sweeps=settings.sweeps, seed=next(numbers),
            )  # fmt: skip
            trials = Trials.of(network.structure, counts, totals)
            network = maximise(trials, network, fixed, BetaPriors.weak(network, share))
            progress(n_records)
            found.append(network)
        return found

    network = start.with_parameters(inside(start.parameters)).with_fixed(fixed)
    n_rounds = settings.rounds
    n_warm = int(np.searchsorted(sampler.starts, settings.warm_up_records))
    if n_warm < n_blocks:
        network = rounds(network, settings.warm_up_rounds, n_warm)[-1]
        n_rounds = settings.rounds_after
    last = rounds(network, n_rounds, n_blocks)[n_rounds // 2 :]
    mean = np.mean([each.parameters.vector for each in last], axis=0)
    return network.with_parameters(Parameters.split(network.structure, mean)), n_rounds


def fisher_scoring(
    sampler: Sampler,
    start: NoisyOrNetwork,
    seed: int,
    fixed: Fixed,
    share: float = 1.0,
    settings: ScoringSettings = ScoringSettings(),
) -> tuple[NoisyOrNetwork, Parameters]:
    """Return the maximum of the likelihood, under weak priors, near a start; standard errors."""
    structure, is_fixed = start.structure, fixed.mask.vector
    position = log_odds(start.parameters.vector)
    information = np.zeros((len(position), len(position)))
    last_move, damping, is_exact = np.zeros(len(position)), 1.0, False

    def network_at(position: Floats) -> NoisyOrNetwork:
        values = from_log_odds(position, 14.0)
        return NoisyOrNetwork(structure, *Parameters.split(structure, values)).with_fixed(fixed)

    for step in range(settings.most_steps):
        network = network_at(position)
        if step % settings.screen_every == 0:  # as parameters move, other diseases become possible
            n_blocks, sample = len(sampler.starts) - 1, seed + 500 + step
            sampler.expect(network, n_blocks, must_screen=True, n_sweeps=1, seed=sample)
            is_exact = sampler.share_enumerated() > settings.exact_share
        scores = sampler.score(network, settings.sweeps, seed + 700 + step)
        scale = scale_of(network)
        gradient, curvature = BetaPriors.weak(network, share).derivatives(network)
        fresh = scale[:, np.newaxis] * scores.information * scale
        length = damping if is_exact else 1.0 / max(1, step - settings.full_steps + 2)
        weight = 1.0 if is_exact else max(length / 2.0, 1.0 / (step + 1))
        information += weight * (fresh - information)
        whole = without(is_fixed, information + np.diag(curvature))
        move = np.linalg.solve(whole, np.where(is_fixed, 0.0, scale * scores.total + gradient))
        move = np.clip(move, -settings.longest_step, settings.longest_step)
        # The information of few records is not the curvature: steps back and forth are too long.
        damping = damping / 2.0 if move @ whole @ last_move < 0.0 else min(1.5 * damping, 1.0)
        last_move = move
        position = position + min(length, damping) * move
        is_short = (np.abs(move) * np.sqrt(np.diag(whole))).max() < settings.short
        if is_short if is_exact else step + 1 == settings.steps:
            break
    network = network_at(position)
    return network, information_errors(network, information, fixed, BetaPriors.weak(network, share))
