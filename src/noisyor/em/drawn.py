"""Gibbs sampling: diseases and causes given the parameters, parameters given these, and again.

With everything seen, the posterior of each parameter is a Beta distribution,

    p ~ Beta(a + cases, b + other records)
    f ~ Beta(a + cases that did not cause the finding, b + cases that did)
    leak ~ Beta(a + findings that came by themselves, b + other records)

with the pseudo-counts a and b of its prior (Tanner & Wong 1987). So the draws have the posterior
distribution, also where the likelihood has flat valleys. Where the records can be summed up
exactly, a Hamiltonian move along these follows each round.
"""

import copy
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.em.candidate_kernels import SampledRecords, Seen
from noisyor.em.drawing_kernels import MOST_JOINT, count_listed, draw_records
from noisyor.em.expected import (
    SMALLEST,
    BetaPriors,
    ExpectedCounts,
    RecordTotals,
    Trials,
    inside,
)
from noisyor.em.hamiltonian import Hamiltonian, SummedPosterior
from noisyor.em.seen import distinct_seen
from noisyor.findings import Findings
from noisyor.inference.flat import Floats, Integers, Records, flatten
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Parameters


class DrawnRecords:
    """The records of a chain, with the diseases that were drawn last where these are many."""

    def __init__(self, findings: Findings) -> None:
        self.structure = findings.structure
        self.totals = RecordTotals.of(findings)
        any_values = Parameters.full(self.structure, 0.5)
        flat = flatten(NoisyOrNetwork(self.structure, *any_values))
        distinct, _, seen = distinct_seen(findings)
        weights = distinct.weights.astype(np.int64)
        n_listed, n_seen = np.zeros((2, self.structure.n_diseases), dtype=np.int64)
        sampled = self._with_states(distinct, seen)
        n_explaining = count_listed(flat, sampled, weights, n_listed, n_seen)
        self._n_seen = n_seen
        """Of the others: records in which a disease was seen all of whose findings are absent."""
        self._n_unlisted = findings.n_records - n_listed
        """Records in which all findings of a disease are absent: they are drawn all at once."""
        n_copies = np.where(n_explaining > MOST_JOINT, weights, 1)
        self.weights: Integers = np.repeat(np.where(n_copies > 1, 1, weights), n_copies)
        if len(seen.known):
            seen = Seen(*(np.repeat(each, n_copies, axis=0) for each in seen))
        self._records = self._with_states(_repeated(distinct, n_copies), seen)
        if len(seen.known):  # where not all diseases are drawn at once, some wait for their turn
            is_many = np.repeat(n_explaining > MOST_JOINT, n_copies)
            self._records.states[is_many] = seen.on[is_many]

    def _with_states(self, records: Records, seen: Seen) -> SampledRecords:
        """Return records in which no disease was drawn yet."""
        words = (self.structure.n_diseases + 63) // 64
        states = np.zeros((len(records.weights), words), dtype=np.uint64)
        return SampledRecords(
            records.offsets, records.symptoms, ~records.is_present, 0, states, states, seen
        )

    def copied(self) -> Self:
        """Return the same records for another chain."""
        other = copy.copy(self)
        states = self._records.states.copy()
        other._records = self._records._replace(states=states, candidates=states)
        return other

    def draw(self, network: NoisyOrNetwork, rng: np.random.Generator) -> Trials:
        """Draw diseases and causes, given those that were drawn last; return what is counted."""
        flat, counts = flatten(network), ExpectedCounts.zeros(self.structure)
        seed = int(rng.integers(2**52))
        draw_records(flat, self._records, self.weights, seed, counts)
        counts.cases[:] += self._n_seen
        counts.cases[:] += rng.binomial(self._n_unlisted, 1.0 / (1.0 + np.exp(-flat.log_odds)))
        return Trials.of(self.structure, counts, self.totals)


def _repeated(records: Records, n_copies: Integers) -> Records:
    """Return each record as often as asked."""
    chosen = np.repeat(np.arange(len(n_copies)), n_copies)
    sizes = np.diff(records.offsets)[chosen]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
    listed = np.repeat(records.offsets[chosen], sizes) + within
    return Records(
        offsets, records.symptoms[listed], records.is_present[listed],
        records.others_unknown[chosen], records.weights[chosen],
    )  # fmt: skip


def draw_parameters(
    trials: Trials,
    priors: BetaPriors,
    fixed: Beliefs,
    rng: np.random.Generator,
    before: Parameters,
) -> Parameters:
    """Draw all parameters given everything else, after others; fixed ones stay as they are."""

    def draw(successes: Floats, n: Floats, mean: Floats, size: Floats) -> Floats:
        return rng.beta(size * mean + successes, size * (1.0 - mean) + n - successes)

    drawn = inside(trials.successes.map(draw, trials.trials, priors.means, priors.sizes))
    if fixed.rates.any:
        drawn = _accepted(trials, priors, fixed, rng, before, drawn)
    return fixed.apply_to(drawn)


def _accepted(
    trials: Trials,
    priors: BetaPriors,
    fixed: Beliefs,
    rng: np.random.Generator,
    before: Parameters,
    drawn: Parameters,
) -> Parameters:
    """Return what was drawn, of codes with a known sensitivity only what is accepted.

    Their prior is one of the miss rate m = f (1 - l), so that f and l were drawn from a
    distribution near that which is meant (Metropolis and Hastings): the leaks, while m stays, as if
    f stayed; the failures, as if the prior was one of f.
    """
    edges, codes = fixed.rates.edges, fixed.rates.symptoms
    failed = trials.successes.failures[edges]
    caused = trials.trials.failures[edges] - failed
    means, sizes = priors.means.failures[edges], priors.sizes.failures[edges]

    def of_trials(f: Floats) -> Floats:
        return np.asarray(failed * np.log(f) + caused * np.log1p(-f))

    def of_prior(x: Floats) -> Floats:
        a, b = sizes * means, sizes * (1.0 - means)
        return np.asarray((a - 1.0) * np.log(x) + (b - 1.0) * np.log1p(-x))

    def chosen(gain: Floats, new: Floats, old: Floats) -> Floats:
        return np.where(np.log(rng.random(len(edges))) < gain, new, old)

    f, leak = before.failures[edges], before.leaks[codes]
    new = fixed.apply("leaks", drawn.leaks)[codes]
    moved = f * (1.0 - leak) / (1.0 - new)
    can_be = moved < 1.0 - SMALLEST
    moved = np.where(can_be, moved, f)
    gain = np.where(can_be, of_trials(moved) - of_trials(f), -np.inf)
    leak = chosen(gain, new, leak)
    f = np.where(leak == new, moved, f)
    new = drawn.failures[edges]
    at, there = f * (1.0 - leak), new * (1.0 - leak)
    f = chosen(of_prior(there) - of_prior(at) + of_prior(f) - of_prior(new), new, f)
    failures, leaks = drawn.failures.copy(), drawn.leaks.copy()
    failures[edges], leaks[codes] = f, leak
    return Parameters(drawn.priors, failures, leaks)


class ParameterChain:
    """One chain of draws."""

    def __init__(
        self,
        records: DrawnRecords,
        start: NoisyOrNetwork,
        priors: BetaPriors,
        fixed: Beliefs,
        rng: np.random.Generator,
        posterior: SummedPosterior | None = None,
    ) -> None:
        self.network = start.with_fixed(fixed)
        self._moves = None if posterior is None else Hamiltonian(posterior, rng)
        self._records, self._priors, self._fixed, self._rng = records.copied(), priors, fixed, rng
        self.drawn: list[Floats] = []
        """The parameters that were written down."""

    def extend(self, n_draws: int, stride: int, progress: Callable[[int], Any]) -> None:
        """Make rounds until so many draws are written down, every so many rounds one."""
        while len(self.drawn) < n_draws:
            for _ in range(stride):
                trials = self._records.draw(self.network, self._rng)
                values = draw_parameters(
                    trials, self._priors, self._fixed, self._rng, self.network.parameters
                )
                self.network = self.network.with_parameters(values)
                if self._moves is not None:
                    self.network = self._moves.move(self.network)
            self.drawn.append(self.network.parameters.vector)
            progress(stride)

    def thin(self) -> None:
        """Forget every second draw."""
        self.drawn = self.drawn[1::2]
