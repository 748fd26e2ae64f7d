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
from typing import Any

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.em.expected import BetaPriors, RecordTotals, Trials, inside, maximise
from noisyor.em.information import MOST_TOGETHER, covariance_of, scale_of, without
from noisyor.em.runs import Run
from noisyor.em.sampled import Sampler
from noisyor.inference.flat import Floats
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Parameters, from_log_odds, log_odds
from noisyor.structure import Structure

BOUNDED = "penalised log likelihood, bounded from below on some of the records,"
"""What is climbed, in words."""
LITTLE = 0.05
"""Rounds end when they gain less than this part of half the number of parameters, which is what a
maximum is above the true network."""


@dataclass(frozen=True)
class StochasticSettings:
    """How many rounds to make, and how."""

    rounds: int = 10
    """Over all records; each half of them is averaged..."""
    most_rounds: int = 20
    """... and if the second gains much on the first, there are more, up to so many."""
    warm_up_records: int = 100_000
    """With more records some rounds are made over so many of them first..."""
    warm_up_rounds: int = 5
    rounds_after: int = 4
    """... and fewer over all records."""
    sweeps: int = 2
    """How often each disease is drawn in a round."""
    screen_every: int = 3
    """Rounds after which every record's candidates are looked for anew."""
    least_odds: float = 1e-5
    """Odds below which a disease is not a candidate of a record."""
    information_sweeps: int = 4
    informed_records: int = 250_000
    """Of more records standard errors come from about so many: they need not be exact."""

    @classmethod
    def of(cls, structure: Structure, max_iter: int | None = None) -> "StochasticSettings":
        """Return the settings for a structure.

        On small networks fewer candidates can be summed up exactly; the others then count for so
        much that they are looked at in every round.
        """
        found = cls()
        if is_small(structure):  # Fisher scoring goes on
            found = cls(screen_every=1, least_odds=1e-3, most_rounds=found.rounds)
        if max_iter is None:
            return found
        first, after = min(found.rounds, max_iter), min(found.rounds_after, max_iter)
        warm_up = min(found.warm_up_rounds, max_iter)
        return replace(
            found, rounds=first, rounds_after=after, warm_up_rounds=warm_up, most_rounds=max_iter
        )


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

    Of more, each disease's is inverted on its own, and that of all priors together.
    """
    return structure.n_parameters <= MOST_TOGETHER


class Rounds:
    """Rounds of EM over the records of a sampler: an E-step by sampling, then the M-step."""

    guarded_records = 400
    """The records on whose evidence it is decided which network is returned."""

    def __init__(self, sampler: Sampler, fixed: Beliefs, share: float = 1.0) -> None:
        self.sampler, self.fixed, self.share = sampler, fixed, share
        self._weak: BetaPriors | None = None

    @property
    def n_free(self) -> int:
        """How many parameters are learned."""
        return int((~self.fixed.mask.vector).sum())

    def totals(self, n_blocks: int) -> RecordTotals:
        """Return what is counted of the first blocks."""
        n_records = int(self.sampler.starts[n_blocks])
        return RecordTotals(n_records, n_records / self.sampler.starts[-1] * self.sampler.known)

    def make(
        self, network: NoisyOrNetwork, n_blocks: int, *, must_screen: bool, n_sweeps: int, seed: int
    ) -> NoisyOrNetwork:
        """Make a round over the first blocks."""
        counts = self.sampler.expect(
            network, n_blocks, must_screen=must_screen, n_sweeps=n_sweeps, seed=seed
        )
        trials = Trials.of(network.structure, counts, self.totals(n_blocks))
        return maximise(
            trials, network, self.fixed, BetaPriors.weak(network, self.share).believing(self.fixed)
        )

    def prepared(self, start: NoisyOrNetwork) -> NoisyOrNetwork:
        """Return a start with what is fixed, and all else off 0 and 1."""
        return start.with_parameters(inside(start.parameters)).with_fixed(self.fixed)

    def mean(self, networks: list[NoisyOrNetwork]) -> NoisyOrNetwork:
        """Return the mean of the parameters of some networks."""
        mean = np.mean([each.parameters.vector for each in networks], axis=0)
        return networks[0].with_parameters(Parameters.split(networks[0].structure, mean))

    def log_density(self, network: NoisyOrNetwork) -> float:
        """Return that of the weak priors, which are those around the first network for all."""
        if self._weak is None:
            self._weak = BetaPriors.weak(network, self.share).believing(self.fixed)
        return self._weak.log_density(network, ~self.fixed.mask.vector)


class Guard:
    """Judges networks by the penalised log likelihood of some of the records, bounded from below.

    Whatever sampling leads to, what is returned is not far below the best that was seen.
    """

    def __init__(self, rounds: Rounds, start: NoisyOrNetwork, tol: float) -> None:
        self._rounds, self._tol, self.n_before = rounds, tol, 0
        self._every = max(int(rounds.sampler.starts[-1]) // rounds.guarded_records, 1)
        self.networks, self.values, self.steps = [start], [self.value_of(start)], [0]

    def value_of(self, network: NoisyOrNetwork) -> float:
        """Return the bound, as if all records were such as those that are looked at."""
        sampler = self._rounds.sampler
        bounded = sampler.bound(network, self._every)
        found = float(bounded.total[0] * int(sampler.starts[-1]) / bounded.n_records[0])
        return found + self._rounds.log_density(network)

    def see(self, network: NoisyOrNetwork, n_steps: int) -> float:
        """Judge a network after so many more steps; return what it gains on the one before."""
        self.networks.append(network)
        self.values.append(self.value_of(network))
        self.steps.append(self.steps[-1] + n_steps)
        return self.values[-1] - self.values[-2]

    def is_little(self, gain: float) -> bool:
        """Return True if a gain is hardly worth more steps."""
        return gain <= (self._tol * abs(self.values[-1]) or LITTLE * self._rounds.n_free / 2.0)

    def best(self, is_settled: bool) -> Run:
        """Return the last network, its value last, or the best if that is better by far.

        Some of the records do not tell two networks apart that are as good: near the maximum log
        likelihoods differ by about half the number of parameters, k, and one in so many records
        shows that with an error of about the root of k times so many.
        """
        best = int(np.argmax(self.values))
        if self.values[best] - self.values[-1] <= 3.0 * np.sqrt(self._rounds.n_free * self._every):
            best = len(self.values) - 1
        values, steps = self.values, self.steps
        if best < len(values) - 1:
            values, steps = [*values, values[best]], [*steps, steps[-1]]
        return Run(self.networks[best], values, is_settled, self.n_before, steps)


def stochastic_em(
    rounds: Rounds,
    start: NoisyOrNetwork,
    seed: int,
    settings: StochasticSettings,
    progress: Callable[[int], None],
    tol: float = 0.0,
    warm_up: Callable[[NoisyOrNetwork], NoisyOrNetwork] | None = None,
) -> tuple[Guard, bool]:
    """Make rounds until they gain little; return what was seen, and whether they do.

    After some rounds the mean of their networks is looked at, and they go on from the last one.
    `warm_up` comes nearer before them, where that is not done by rounds over the first records.
    """
    starts, numbers = rounds.sampler.starts, itertools.count(seed * 1000 + 1)
    n_blocks = len(starts) - 1

    def make(network: NoisyOrNetwork, n: int, n_blocks: int) -> list[NoisyOrNetwork]:
        """Return the networks after each of n rounds over the first blocks."""
        found = []
        for number in range(n):
            network = rounds.make(
                network, n_blocks, must_screen=number % settings.screen_every == 0,
                n_sweeps=settings.sweeps, seed=next(numbers),
            )  # fmt: skip
            progress(int(starts[n_blocks]))
            found.append(network)
        return found

    network = rounds.prepared(start)
    guard = Guard(rounds, network, tol)
    n_rounds = settings.rounds
    n_warm = int(np.searchsorted(starts, settings.warm_up_records))
    if warm_up is not None:
        network, guard.n_before = warm_up(network), settings.warm_up_rounds
    elif n_warm < n_blocks:
        network = make(network, settings.warm_up_rounds, n_warm)[-1]
        guard.n_before = settings.warm_up_rounds
    if n_warm < n_blocks:
        n_rounds = settings.rounds_after
    n_left, is_little = max(settings.most_rounds, n_rounds), False
    while n_left > 0 and not is_little:
        last = make(network, min((n_rounds + 1) // 2, n_left), n_blocks)
        is_first, network, n_left = len(guard.values) == 1, last[-1], n_left - len(last)
        is_little = guard.is_little(guard.see(rounds.mean(last), len(last))) and not is_first
    return guard, is_little


def fisher_scoring(
    sampler: Sampler,
    start: NoisyOrNetwork,
    seed: int,
    fixed: Beliefs,
    share: float = 1.0,
    settings: ScoringSettings = ScoringSettings(),
    see: Callable[[NoisyOrNetwork, int], Any] = lambda *_: None,
) -> tuple[NoisyOrNetwork, Floats]:
    """Return the maximum of the likelihood, under weak priors, near a start; its covariance.

    That is one by log odds. Every few steps, and at the end, the network is shown to `see`, with
    the number of steps since the last time.
    """
    structure, is_fixed = start.structure, fixed.mask.vector
    rates = fixed.rates
    position = log_odds(rates.put_in(start.parameters).vector)
    information = np.zeros((len(position), len(position)))
    last_move, damping, is_exact = np.zeros(len(position)), 1.0, False

    def network_at(position: Floats) -> NoisyOrNetwork:
        values = Parameters.split(structure, from_log_odds(position, 14.0))
        return NoisyOrNetwork(structure, *rates.taken_out(values)).with_fixed(fixed)

    for step in range(settings.most_steps):
        network = network_at(position)
        if step % settings.screen_every == 0:  # as parameters move, other diseases become possible
            if step:
                see(network, settings.screen_every)
            n_blocks, sample = len(sampler.starts) - 1, seed + 500 + step
            sampler.expect(network, n_blocks, must_screen=True, n_sweeps=1, seed=sample)
        scores = sampler.score(network, settings.sweeps, seed + 700 + step)
        if step % settings.screen_every == 0:  # scores look at more candidates
            is_exact = sampler.share_enumerated() > settings.exact_share
        scale = scale_of(network)
        gradient, curvature = BetaPriors.weak(network, share).believing(fixed).derivatives(network)
        fresh = scale[:, np.newaxis] * scores.information * scale
        length = damping if is_exact else 1.0 / max(1, step - settings.full_steps + 2)
        weight = 1.0 if is_exact else max(length / 2.0, 1.0 / (step + 1))
        information += weight * (fresh - information)
        told = rates.information(network.parameters, information)
        whole = without(is_fixed, told + np.diag(curvature))
        slope = rates.derivatives(network.parameters, scale * scores.total) + gradient
        move = np.linalg.solve(whole, np.where(is_fixed, 0.0, slope))
        move = np.clip(move, -settings.longest_step, settings.longest_step)
        # The information of few records is not the curvature: steps back and forth are too long.
        damping = damping / 2.0 if move @ whole @ last_move < 0.0 else min(1.5 * damping, 1.0)
        last_move = move
        position = position + min(length, damping) * move
        is_short = (np.abs(move) * np.sqrt(np.diag(whole))).max() < settings.short
        if is_short if is_exact else step + 1 == settings.steps:
            break
    network = network_at(position)
    see(network, step % settings.screen_every + 1)
    weak = BetaPriors.weak(network, share).believing(fixed)
    return network, covariance_of(network, information, fixed, weak)


def sampled_covariance(
    sampler: Sampler, network: NoisyOrNetwork, seed: int, fixed: Beliefs, share: float
) -> Floats:
    """Return the covariance by log odds at a network, from sampled diseases."""
    n_blocks, n_sweeps, scale = len(sampler.starts) - 1, ScoringSettings.sweeps, scale_of(network)
    sampler.expect(network, n_blocks, must_screen=True, n_sweeps=n_sweeps, seed=seed)
    information = sampler.score(network, n_sweeps, seed).information
    information = scale[:, np.newaxis] * information * scale
    return covariance_of(
        network, information, fixed, BetaPriors.weak(network, share).believing(fixed)
    )
