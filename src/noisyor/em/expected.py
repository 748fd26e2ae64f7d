"""Expected counts of hidden causes, and the parameters that explain them best (the M-step).

Were the diseases and the causes of each finding seen, every parameter would be a share: cases of
the records, findings that a disease failed to cause of its cases, findings that came by themselves
of the records. EM takes the expected counts instead,

    value = (successes + size * mean) / (trials + size)

under a Beta prior of that mean and size, or with a size of 0. By the log odds of the values, the
derivative of the log likelihood is successes - trials * value (Fisher's identity).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.findings import Findings
from noisyor.inference.flat import Floats
from noisyor.miss_rates import MissRates
from noisyor.network import NoisyOrNetwork
from noisyor.parallel import in_threads
from noisyor.parameters import Booleans, Parameters
from noisyor.structure import Structure

Sums = TypeVar("Sums", bound=tuple[Any, ...])

SMALLEST = 1e-6
"""Without priors, values stay this far from 0 and 1: EM could not leave them again."""
SMALLEST_LEAK = 1e-9


class Counts(Protocol):
    """What the M-step of failures, leaks and priors needs, whatever else was counted."""

    def __iter__(self) -> Iterator[Floats]:
        """Give all of them, and whatever else was counted."""
        ...

    @property
    def cases(self) -> Floats:
        """Of each disease."""
        ...

    @property
    def caused(self) -> Floats:
        """Findings that each edge caused."""
        ...

    @property
    def unknown(self) -> Floats:
        """Cases in which the finding of each edge is unknown."""
        ...

    @property
    def leaked(self) -> Floats:
        """Findings of each symptom that came by themselves."""
        ...


class ExpectedCounts(NamedTuple):
    """What records are expected to contain, given a network; kernels add to it."""

    cases: Floats
    """Of each disease."""
    caused: Floats
    """Findings that each edge caused."""
    unknown: Floats
    """Cases in which the finding of each edge is unknown."""
    leaked: Floats
    """Findings of each symptom that came by themselves."""

    @classmethod
    def zeros(cls, structure: Structure) -> "ExpectedCounts":
        """Return counts of nothing."""
        sizes = structure.n_diseases, structure.n_edges, structure.n_edges, structure.n_symptoms
        return cls(*(np.zeros(size) for size in sizes))


LARGE, AT_ONCE = 1 << 18, 1 << 16
"""Sums of more numbers are made in threads, so many numbers at a time."""


def total_of(parts: Iterable[Sums], n_jobs: int | None = 1) -> Sums:
    """Add up tuples of the same kind, in the order of the parts."""
    following = iter(parts)
    first = next(following)
    total = [np.array(each, order="C") for each in first]
    for part in following:
        for sums, more in zip(total, part, strict=True):
            _add(sums.reshape(-1), np.ravel(more), n_jobs)
    kind: Any = type(first)
    return cast(Sums, kind(*total))


def _add(sums: Floats, more: Floats, n_jobs: int | None) -> None:
    """Add numbers to sums, in threads where they are many."""

    def add_some(first: int) -> None:
        some = slice(first, first + AT_ONCE)
        np.add(sums[some], more[some], out=sums[some])

    if len(sums) < LARGE:
        np.add(sums, more, out=sums)
    else:
        in_threads(add_some, range(0, len(sums), AT_ONCE), n_jobs)


class RecordTotals(NamedTuple):
    """What is counted of the records, whatever the network."""

    n_records: float
    known: Floats
    """Records in which each symptom is known."""

    @classmethod
    def of(cls, findings: Findings) -> "RecordTotals":
        """Count some findings."""
        return cls(findings.n_records, findings.n_records - findings.count_unknown().astype(float))


class Trials(NamedTuple):
    """How often each parameter was put to the test, and how often it came true, in expectation."""

    successes: Parameters
    trials: Parameters

    @classmethod
    def of(cls, structure: Structure, counts: Counts, totals: RecordTotals) -> "Trials":
        """Return the trials of expected counts."""
        at_risk = counts.cases[structure.edges[:, 0]] - counts.unknown
        return cls(
            Parameters(counts.cases, at_risk - counts.caused, counts.leaked),
            Parameters(np.full(structure.n_diseases, totals.n_records), at_risk, totals.known),
        )

    def by_rates(self, network: NoisyOrNetwork, rates: MissRates) -> "Trials":
        """Return the trials of miss rates and leaks, given those of failures and leaks.

        A disease causes a code that is present with it with probability (1 - f) / (1 - m), and so
        `caused` tells how often it is; its leaks are then those of the other records.
        """
        if not rates.any:
            return self
        edges, symptoms = rates.edges, rates.symptoms
        f, leaks = network.failures[edges], network.leaks[symptoms]
        present = 1.0 - f * (1.0 - leaks)
        cases, failed = self.trials.failures[edges], self.successes.failures[edges]
        with_code = np.clip((cases - failed) * present / (1.0 - f), 0.0, cases)
        alone = np.maximum(self.successes.leaks[symptoms] - with_code * leaks / present, 0.0)
        (successes, trials) = ([each.failures.copy(), each.leaks.copy()] for each in self)
        successes[0][edges], successes[1][symptoms] = cases - with_code, alone
        trials[1][symptoms] = np.maximum(trials[1][symptoms] - cases, alone)
        return Trials(
            Parameters(self.successes.priors, *successes), Parameters(self.trials.priors, *trials)
        )

    def derivatives(self, network: NoisyOrNetwork) -> Floats:
        """Return the derivatives of the log likelihood by the log odds of all parameters."""
        values = network.parameters.vector
        return np.asarray(self.successes.vector - self.trials.vector * values)


@dataclass(frozen=True)
class Expected:
    """An E-step: the trials, and the log likelihood of the network (or a bound of it)."""

    trials: Trials
    log_likelihood: float


@dataclass(frozen=True)
class BetaPriors:
    """A Beta prior for each parameter."""

    means: Parameters
    sizes: Parameters
    """In cases: the two parameters of the distribution added up."""
    believed: Parameters | None = None
    """As many of these cases as were given as beliefs; None: none."""
    rates: MissRates | None = None
    """The codes whose miss rates they speak of, and not of failures; None: none."""

    @classmethod
    def weak(
        cls, network: NoisyOrNetwork, share: float = 1.0, unknown: float = 0.0
    ) -> "BetaPriors":
        """Return weak priors around the present estimates, which count for a share of their size.

        They keep every value inside of its bounds, and what the records say little of near the
        others of its kind. `unknown` is the mean variance of the failures' errors: true failures
        differ by that much more than estimates do that are drawn to their mean.
        """
        causing, mean, size = 1.0 - network.failures, 0.5, 0.5
        if len(causing):
            # Of the Beta distribution with the same moments; in cases, between 0.5 and 20.
            mean, variance = float(causing.mean()), max(float(causing.var()) + unknown, 1e-12)
            size = float(np.clip(mean * (1.0 - mean) / variance - 1.0, 0.5, 20.0))
        leak = network.leaks.mean() if len(network.leaks) else 0.0
        structure = network.structure
        return cls(
            Parameters.full(structure, (0.5, 1.0 - mean, leak)),
            Parameters.full(structure, (share, share * size, share)),
        )

    @classmethod
    def none(cls, structure: Structure) -> "BetaPriors":
        """Return priors that say nothing."""
        return cls(Parameters.full(structure, 0.5), Parameters.full(structure, 0.0))

    def believing(self, beliefs: Beliefs) -> "BetaPriors":
        """Return priors in which beliefs take the place of as many cases as they are worth."""
        if not beliefs.has_weighted:
            return replace(self, rates=beliefs.rates) if beliefs.rates.any else self
        cases = beliefs.cases
        left = self.sizes.map(lambda size, n: np.maximum(size - n, 0.0), cases)

        def mean(mine: Floats, n: Floats, theirs: Floats, m: Floats) -> Floats:
            both = (n * mine + m * theirs) / np.maximum(n + m, 1e-300)
            return np.where(n + m > 0.0, both, mine)

        return BetaPriors(
            self.means.map(mean, left, beliefs.means, cases),
            left.map(np.add, cases),
            cases,
            beliefs.rates,
        )

    def without_beliefs(self) -> Parameters:
        """Return the sizes without beliefs."""
        return self.sizes if self.believed is None else self.sizes.map(np.subtract, self.believed)

    def values_of(self, network: NoisyOrNetwork) -> Floats:
        """Return the values of what they speak of."""
        values = network.parameters
        return (values if self.rates is None else self.rates.put_in(values)).vector

    def log_density(self, network: NoisyOrNetwork, is_counted: Booleans) -> float:
        """Return the log density of some of the log odds, but for a constant.

        n (m log x + (1 - m) log(1 - x)), what n cases would add to a log likelihood.
        """
        values, means = self.values_of(network), self.means.vector
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = means * np.log(values) + (1.0 - means) * np.log1p(-values)
        return float((self.sizes.vector * logs)[is_counted].sum())

    def derivatives(self, network: NoisyOrNetwork) -> tuple[Floats, Floats]:
        """Return first and negative second derivatives by the log odds: n (m - x), n x (1 - x).

        By those of miss rates, where they speak of these.
        """
        values, sizes = self.values_of(network), self.sizes.vector
        return sizes * (self.means.vector - values), sizes * values * (1.0 - values)


def maximise(
    trials: Trials, network: NoisyOrNetwork, fixed: Beliefs, priors: BetaPriors | None = None
) -> NoisyOrNetwork:
    """Return the network that explains expected counts best (M-step).

    What no record says anything of stays as it is.
    """
    if priors is None:
        priors = BetaPriors(network.parameters, Parameters.full(network.structure, 0.0))
    trials, before = trials.by_rates(network, fixed.rates), fixed.rates.put_in(network.parameters)

    def share(k: Floats, n: Floats, mean: Floats, size: Floats, before: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(n + size > 0.0, (k + size * mean) / (n + size), before)

    values = trials.successes.map(share, trials.trials, priors.means, priors.sizes, before)
    without_prior = priors.sizes.map(lambda size: size == 0.0)
    values = fixed.rates.taken_out(without_prior.map(np.where, inside(values), values))
    return network.with_parameters(values).with_fixed(fixed)


def inside(values: Parameters) -> Parameters:
    """Return parameters that keep off 0 and 1."""
    p, f, leaks = (np.minimum(each, 1.0 - SMALLEST) for each in values)
    return Parameters(
        *(np.maximum(p, SMALLEST), np.maximum(f, SMALLEST), np.maximum(leaks, SMALLEST_LEAK))
    )
