"""Stochastic EM: sample each record's diseases, then set every parameter to its expectation.

With the sampled diseases D, a present finding j was caused by disease i with the probability
(1 - f_ij) / P(s_j = 1 | D). The M-step is then in closed form,

    p_i = E[cases of i] / records       1 - f_ij = E[findings j caused by i] / E[cases of i]

and the same for leaks. Weak priors, whose means are those of the current estimates, keep every
value inside of its bounds. The last iterates are averaged, which takes the sampling noise off.
"""

import copy
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from noisyor.findings.blocks import Block
from noisyor.learning.uncertainty import beta_prior
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Fixed
from noisyor.structure import Structure

if TYPE_CHECKING:
    from noisyor.learning.polish.record_kernels import FlatNetwork, Records

Floats = NDArray[np.float64]
Part = TypeVar("Part")

PARTS = 4
"""Sums over blocks are made in so many parts, whatever the number of threads: so they are equal."""


class Expectations(NamedTuple):
    """What the records are expected to hold, given the parameters."""

    cases: Floats
    """Of each disease."""
    negligible_cases: Floats
    """Of each disease, in records for which it is no candidate."""
    caused: Floats
    """Findings that each edge caused."""
    unknown: Floats
    """Cases in which the finding of each edge is unknown."""
    leaked: Floats
    """Findings of each symptom that came by themselves."""

    @classmethod
    def nothing(cls, structure: Structure) -> "Expectations":
        """Return zeros."""
        n_diseases, n_edges = structure.n_diseases, structure.n_edges
        sizes = n_diseases, n_diseases, n_edges, n_edges, structure.n_symptoms
        return cls(*(np.zeros(size) for size in sizes))


class Information(NamedTuple):
    """What the records tell: a matrix for each disease, of its failures and its prior; leaks."""

    offsets: NDArray[np.int64]
    matrices: Floats
    """One after the other, row by row; only the lower triangles."""
    leaks: Floats

    @classmethod
    def nothing(cls, structure: Structure) -> "Information":
        """Return zeros."""
        sizes = np.diff(structure.child_offsets) + 1
        offsets = np.concatenate([[0], np.cumsum(sizes * sizes)])
        return cls(offsets, np.zeros(offsets[-1]), np.zeros(structure.n_symptoms))


class Scores(NamedTuple):
    """By failures, priors and leaks, in this order: derivatives and their products."""

    total: Floats
    information: Floats


class Sampler(Protocol):
    """Samples the diseases of records, wherever these are; block after block."""

    structure: Structure
    starts: NDArray[np.int64]
    """The first record of each block, and their number."""

    def expect(
        self, network: NoisyOrNetwork, n_blocks: int, *, must_screen: bool, n_sweeps: int, seed: int
    ) -> Expectations:
        """Sample the diseases of the first blocks; return the expectations of the last sweep."""
        ...

    def inform(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> Information:
        """Return the information that the records bring on each disease and each leak."""
        ...

    def share_enumerated(self) -> float:
        """Return the share of the records whose candidates are few enough to be summed up."""
        ...

    def score(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> Scores:
        """Return the derivatives of the log likelihood, and the information of the records."""
        ...


class RecordSampler:
    """Keeps the sampled diseases of some blocks of records in memory."""

    def __init__(
        self,
        structure: Structure,
        blocks: Sequence[Block],
        least_odds: float = 1e-5,
        *,
        first_record: int = 0,
        threads: int | None = None,
    ) -> None:
        self.least_odds = least_odds
        """Diseases with smaller odds are no candidates of a record."""
        self.structure = structure
        self.blocks = blocks
        self._first_record = first_record
        """Where these records stand among all: what is sampled depends on it."""
        self._threads = threads or os.cpu_count()
        self.starts = np.concatenate([[0], np.cumsum([block.n_records for block in blocks])])
        words = (structure.n_diseases + 63) // 64
        self.states = np.zeros((self.starts[-1], words), dtype=np.uint64)
        self.candidates = np.zeros_like(self.states)
        self.is_started = np.zeros(len(blocks), dtype=np.bool_)
        self.negligible_cases = [np.zeros(structure.n_diseases) for _ in blocks]

    def expect(
        self, network: NoisyOrNetwork, n_blocks: int, *, must_screen: bool, n_sweeps: int, seed: int
    ) -> Expectations:
        """Sample the diseases of the first blocks; return the expectations of the last sweep."""
        net = flat(network)
        with ThreadPoolExecutor(self._threads) as pool:
            parts = pool.map(
                lambda k: self._expect_block(k, net, must_screen, n_sweeps, seed),
                range(n_blocks),
            )
            total = Expectations.nothing(self.structure)
            for part in parts:  # in their order, so that the sum does not depend on the threads
                for whole, more in zip(total, part, strict=True):
                    np.add(whole, more, out=whole)
        return total

    def inform(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> "Information":
        """Return the information that the records bring on each disease and each leak."""
        return sum_information(
            self._in_parts(lambda first: self._inform(network, n_sweeps, seed, first))
        )

    def share_enumerated(self) -> float:
        """Return the share of the records whose candidates are few enough to be summed up."""
        from noisyor.learning.polish.record_kernels import MOST_ENUMERATED

        n_candidates = np.bitwise_count(self.candidates).sum(axis=1)
        return float(np.mean(n_candidates <= MOST_ENUMERATED))

    def score(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> "Scores":
        """Return the derivatives of the log likelihood, and the information of the records."""
        found = self.score_findings(network, n_sweeps, seed)
        return with_all_absent(found, network, int(self.starts[-1]))

    def score_findings(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> "Scores":
        """Return what diseases and findings that are present add to the scores."""
        return sum_scores(self._in_parts(lambda k: self._score(network, n_sweeps, seed, k)))

    def copied(self) -> "RecordSampler":
        """Return a sampler that goes on from here and leaves this one as it is."""
        other = copy.copy(self)
        other.states, other.candidates = self.states.copy(), self.candidates.copy()
        other.is_started = self.is_started.copy()
        other.negligible_cases = list(self.negligible_cases)
        return other

    def _in_parts(self, work: Callable[[int], Part]) -> list[Part]:
        """Return what `work` makes of each part of the blocks: part k has block k, k + PARTS..."""
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(work, range(PARTS)))

    def _score(self, network: NoisyOrNetwork, n_sweeps: int, seed: int, first: int) -> "Scores":
        from noisyor.learning.polish.kernels import gather_scores

        size = self.structure.n_edges + self.structure.n_diseases + self.structure.n_symptoms
        found, net = Scores(np.zeros(size), np.zeros((size, size))), flat(network)
        for k in range(first, len(self.blocks), PARTS):
            gather_scores(net, self._records(k), self.least_odds, n_sweeps, seed, *found)
        return found

    def _inform(
        self, network: NoisyOrNetwork, n_sweeps: int, seed: int, first: int
    ) -> "Information":
        from noisyor.learning.polish.kernels import gather_information

        found, net = Information.nothing(self.structure), flat(network)
        for k in range(first, len(self.blocks), PARTS):
            gather_information(net, self._records(k), n_sweeps, seed, *found)
        return found

    def _expect_block(
        self, k: int, net: "FlatNetwork", must_screen: bool, n_sweeps: int, seed: int
    ) -> Expectations:
        from noisyor.learning.polish.kernels import sample_records

        must_screen = must_screen or not self.is_started[k]
        part = Expectations.nothing(self.structure)
        if not must_screen:
            part = part._replace(negligible_cases=self.negligible_cases[k])
        sample_records(
            net, self._records(k), self.least_odds, not self.is_started[k], must_screen, n_sweeps,
            seed, *part,
        )  # fmt: skip
        self.is_started[k] = True
        self.negligible_cases[k] = part.negligible_cases
        return part

    def _records(self, k: int) -> "Records":
        """Return a block of records with what is kept of them."""
        from noisyor.learning.polish.record_kernels import Records

        rows = slice(self.starts[k], self.starts[k + 1])
        return Records(
            *self.blocks[k].listed(), self._first_record + int(self.starts[k]), self.states[rows],
            self.candidates[rows],
        )  # fmt: skip


def flat(network: NoisyOrNetwork) -> "FlatNetwork":
    """Return a network as arrays for compiled code."""
    from noisyor.learning.polish.record_kernels import FlatNetwork

    structure = network.structure
    logits = np.log(network.priors) - np.log1p(-network.priors)
    owners = structure.edges[:, 0]
    base: Floats = logits + np.bincount(owners, np.log(network.failures), minlength=len(logits))
    return FlatNetwork(
        structure.child_offsets,
        np.ascontiguousarray(structure.edges[:, 1]),
        structure.parent_offsets,
        structure.parent_diseases,
        1.0 / network.failures[structure.parent_edges],
        network.priors,
        network.failures,
        network.leaks,
        base,
        np.exp(base),
    )


def sum_expectations(parts: Iterable[Expectations]) -> Expectations:
    """Add up, in the order in which they come."""
    return Expectations(*(np.sum(each, axis=0) for each in zip(*parts, strict=True)))


def sum_information(parts: Sequence[Information]) -> Information:
    """Add up what is known of the same network."""
    matrices = np.sum([part.matrices for part in parts], axis=0)
    return Information(parts[0].offsets, matrices, np.sum([part.leaks for part in parts], axis=0))


def sum_scores(parts: Sequence[Scores]) -> Scores:
    """Add up scores of different records."""
    return Scores(
        np.sum([part.total for part in parts], axis=0),
        np.sum([part.information for part in parts], axis=0),
    )


def with_all_absent(found: Scores, network: NoisyOrNetwork, n_records: int) -> Scores:
    """Return the scores with what every record adds: diseases and findings may all be absent."""
    nothing = np.concatenate(
        [
            np.zeros(network.structure.n_edges),
            -1.0 / (1.0 - network.priors),
            -1.0 / (1.0 - network.leaks),
        ]
    )
    cross = np.outer(nothing, found.total)
    information = (found.information + found.information.T) / 2.0 + cross + cross.T
    information += n_records * np.outer(nothing, nothing)
    return Scores(np.asarray(found.total + n_records * nothing), np.asarray(information))


def maximise(
    network: NoisyOrNetwork,
    expected: Expectations,
    n_records: int,
    known: Floats,
    fixed: Fixed,
    share: float = 1.0,
) -> NoisyOrNetwork:
    """Return the network that explains the expectations best, under weak priors (M-step).

    The weak priors count for `share` of their usual sizes.
    """
    structure = network.structure
    diseases = structure.edges[:, 0]
    cases = expected.cases + expected.negligible_cases
    priors = (cases + 0.5 * share) / (n_records + share)
    mean, size = failure_prior(network, share)
    at_risk = cases[diseases] - expected.unknown
    causes = (expected.caused + size * mean) / (at_risk + size)
    leaks = (expected.leaked + share * network.leaks.mean()) / (known + share)
    return NoisyOrNetwork(structure, priors, 1.0 - causes, leaks).with_fixed(fixed)


def failure_prior(network: NoisyOrNetwork, share: float = 1.0) -> tuple[float, float]:
    """Return mean and size of the weak prior of 1 - f, which all edges share."""
    mean, size = beta_prior(1.0 - network.failures, least_size=0.5)
    return mean, share * size
