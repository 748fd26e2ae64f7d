"""Stochastic EM: sample each record's diseases, then set every parameter to its expectation.

Weak priors, whose means are those of the current estimates, keep every value inside of its bounds.
The last iterates are averaged, which takes the sampling noise off. On small networks Fisher scoring
follows, because EM crawls where two diseases can explain the same findings: what is missing is then
nearly all. A Fisher step takes the correlations of all parameters into account, I^-1 g with the
derivatives g and the information I of the records, both from sampled diseases; the steps become
smaller and the results are averaged (Robbins and Monro). On the scale of log odds, so that every
value stays inside of its bounds.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisyor.em.expected import BetaPriors, RecordTotals, Trials, maximise
from noisyor.em.information import information_errors, scale_of, without
from noisyor.em.sampled import Sampler
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Fixed, Parameters, from_log_odds, log_odds
from noisyor.structure import Structure

Floats = NDArray[np.float64]

LARGEST_LOG_ODDS = 14.0


@dataclass(frozen=True)
class StochasticSettings:
    """How many rounds to make, and how."""

    rounds: int = 10
    """Over all records; half of them where the warm-up was on a part. The second half of them is
    averaged."""
    warm_up_records: int = 100_000
    """With more records the first rounds look at so many only."""
    warm_up_rounds: int = 5
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
        rounds = cls.rounds if max_iter is None else max_iter
        if is_small(structure):
            return cls(rounds, screen_every=1, least_odds=1e-3)
        return cls(rounds)


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


MOST_TOGETHER = 3000
"""Parameters whose information is inverted together; of more, each disease's on its own."""


def is_small(structure: Structure) -> bool:
    """Return True if the information on all parameters of a network is inverted together."""
    return structure.n_parameters <= MOST_TOGETHER


class StochasticEM:
    """Rounds of stochastic EM over the records of a sampler, one after the other."""

    def __init__(
        self,
        sampler: Sampler,
        fixed: Fixed,
        settings: StochasticSettings,
        seed: int,
        share: float,
        progress: Callable[[int], None],
    ) -> None:
        self._sampler = sampler
        self._fixed = fixed
        self._settings = settings
        self._seed = seed
        self._share = share
        """The weak priors count for this share of their usual sizes."""
        self._progress = progress
        self._n_done = 0

    def run(self, start: NoisyOrNetwork) -> NoisyOrNetwork:
        """Return the mean of the last rounds' networks."""
        settings, starts = self._settings, self._sampler.starts
        n_blocks = len(starts) - 1
        n_warm = int(np.searchsorted(starts, settings.warm_up_records))
        network, n_rounds = start.with_fixed(self._fixed), settings.rounds
        if n_warm < n_blocks:
            network = self._rounds(network, settings.warm_up_rounds, n_warm)[-1]
            n_rounds = max(n_rounds // 2, 1)
        last = self._rounds(network, n_rounds, n_blocks)[n_rounds // 2 :]
        mean = np.mean([each.parameters.vector for each in last], axis=0)
        return network.with_parameters(Parameters.split(network.structure, mean))

    def _rounds(self, network: NoisyOrNetwork, n: int, n_blocks: int) -> list[NoisyOrNetwork]:
        """Return the networks after each of n rounds over the first blocks."""
        settings, n_records = self._settings, int(self._sampler.starts[n_blocks])
        part = n_records / self._sampler.starts[-1]
        totals = RecordTotals(n_records, part * self._sampler.known)
        found = []
        for number in range(n):
            self._n_done += 1
            counts = self._sampler.expect(
                network,
                n_blocks,
                must_screen=number % settings.screen_every == 0,
                n_sweeps=settings.sweeps,
                seed=self._seed * 1000 + self._n_done,
            )
            trials = Trials.of(network.structure, counts, totals)
            weak = BetaPriors.weak(network, self._share)
            network = maximise(trials, network, self._fixed, weak)
            self._progress(n_records)
            found.append(network)
        return found


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
        values = from_log_odds(position, LARGEST_LOG_ODDS)
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
    scale = scale_of(network)
    plain = information / scale[:, np.newaxis] / scale
    return network, information_errors(network, plain, fixed, share)
