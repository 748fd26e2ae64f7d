"""RecordSampler: expected counts where diseases are sampled, record by record.

With the sampled diseases D, a present finding j was caused by disease i with the probability
(1 - f_ij) / P(s_j = 1 | D). Records with few candidates are summed up over all of their states
instead. What is sampled depends on the record's number and a seed, not on who does the work.
"""

import copy
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from noisyor.em.candidate_kernels import MOST_ENUMERATED, SampledRecords
from noisyor.em.expected import ExpectedCounts
from noisyor.em.sampling_kernels import (
    DiseaseInformation,
    Sweeps,
    gather_information,
    gather_scores,
    sample_records,
)
from noisyor.findings.blocks import Block
from noisyor.inference.flat import FlatNetwork, flatten
from noisyor.network import NoisyOrNetwork
from noisyor.parallel import in_threads
from noisyor.parameters import Parameters
from noisyor.structure import Structure

Floats = NDArray[np.float64]
Part = TypeVar("Part")

SUMMED_PARTS, MATRIX_PARTS = 64, 4
"""Sums over blocks are made in so many parts, whatever the number of threads: so they are equal.
Matrices of all parameters are large, so there are fewer of them."""


class Scores(NamedTuple):
    """Derivatives of the log likelihood by all parameters, and the products of each two."""

    total: Floats
    information: Floats


class Sampler(Protocol):
    """Samples the diseases of records, wherever these are; block after block."""

    structure: Structure
    starts: NDArray[np.int64]
    """The first record of each block, and their number."""
    known: Floats
    """Records in which each symptom is known."""

    def expect(
        self, network: NoisyOrNetwork, n_blocks: int, *, must_screen: bool, n_sweeps: int, seed: int
    ) -> ExpectedCounts:
        """Sample the diseases of the first blocks; return the expected counts."""
        ...

    def inform(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> DiseaseInformation:
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
        n_jobs: int | None = None,
    ) -> None:
        self.least_odds = least_odds
        """Diseases with smaller odds are not candidates of a record."""
        self.structure = structure
        self.blocks = blocks
        self._first_record = first_record
        """The number of the first of these records among all: what is sampled depends on it."""
        self._n_jobs = n_jobs
        self.starts = np.cumsum([0, *(block.n_records for block in blocks)])
        self.known = known_records(structure, blocks)
        words = (structure.n_diseases + 63) // 64
        self.states = np.zeros((self.starts[-1], words), dtype=np.uint64)
        self.candidates = np.zeros_like(self.states)
        self.is_started = np.zeros(len(blocks), dtype=np.bool_)
        self.negligible_cases = [np.zeros(structure.n_diseases) for _ in blocks]

    def expect(
        self, network: NoisyOrNetwork, n_blocks: int, *, must_screen: bool, n_sweeps: int, seed: int
    ) -> ExpectedCounts:
        """Sample the diseases of the first blocks; return the expected counts."""
        net, sweeps = (
            flatten(network),
            self._sweeps(n_sweeps, seed)._replace(must_screen=must_screen),
        )
        n_parts = max(min(n_blocks, SUMMED_PARTS), 1)
        bounds = np.linspace(0, n_blocks, n_parts + 1).astype(int).tolist()

        def expect_part(part: int) -> ExpectedCounts:
            counts = ExpectedCounts.zeros(self.structure)
            for k in range(bounds[part], bounds[part + 1]):
                self._expect_block(k, net, sweeps, counts)
                np.add(counts.cases, self.negligible_cases[k], out=counts.cases)
            return counts

        return ExpectedCounts.total(in_threads(expect_part, range(n_parts), self._n_jobs))

    def _expect_block(
        self, k: int, net: FlatNetwork, sweeps: Sweeps, counts: ExpectedCounts
    ) -> None:
        is_start = not self.is_started[k]
        must_screen = sweeps.must_screen or is_start
        if must_screen:
            self.negligible_cases[k] = np.zeros(self.structure.n_diseases)
        here = sweeps._replace(is_start=is_start, must_screen=must_screen)
        sample_records(net, self._records(k), here, counts, self.negligible_cases[k])
        self.is_started[k] = True

    def inform(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> DiseaseInformation:
        """Return the information that the records bring on each disease and each leak."""
        net, sweeps = flatten(network), self._sweeps(n_sweeps, seed)

        def inform_part(blocks: range) -> DiseaseInformation:
            found = no_information(self.structure)
            for k in blocks:
                gather_information(net, self._records(k), sweeps, found)
            return found

        return sum_information(self._in_parts(inform_part))

    def share_enumerated(self) -> float:
        """Return the share of the records whose candidates are few enough to be summed up."""
        n_candidates = np.bitwise_count(self.candidates).sum(axis=1)
        return float(np.mean(n_candidates <= MOST_ENUMERATED))

    def score(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> Scores:
        """Return the derivatives of the log likelihood, and the information of the records."""
        found = self.score_findings(network, n_sweeps, seed)
        return with_all_absent(found, network, int(self.starts[-1]))

    def score_findings(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> Scores:
        """Return what diseases and findings that are present add to the scores."""
        net, sweeps = flatten(network), self._sweeps(n_sweeps, seed)
        size = self.structure.n_parameters

        def score_part(blocks: range) -> Scores:
            found = Scores(np.zeros(size), np.zeros((size, size)))
            for k in blocks:
                gather_scores(net, self._records(k), sweeps, *found)
            return found

        return sum_scores(self._in_parts(score_part))

    def copied(self) -> "RecordSampler":
        """Return a sampler that goes on from here and leaves this one as it is."""
        other = copy.copy(self)
        other.states, other.candidates = self.states.copy(), self.candidates.copy()
        other.is_started = self.is_started.copy()
        other.negligible_cases = list(self.negligible_cases)
        return other

    def _sweeps(self, n_sweeps: int, seed: int) -> Sweeps:
        return Sweeps(self.least_odds, False, False, n_sweeps, seed)

    def _in_parts(self, work: Callable[[range], Part]) -> list[Part]:
        """Return what `work` makes of each part of the blocks."""
        n_blocks = len(self.blocks)
        parts = [range(first, n_blocks, MATRIX_PARTS) for first in range(MATRIX_PARTS)]
        return in_threads(work, parts, self._n_jobs)

    def _records(self, k: int) -> SampledRecords:
        """Return a block of records with what is kept of them."""
        rows = slice(self.starts[k], self.starts[k + 1])
        return SampledRecords(
            *self.blocks[k].listed(), self._first_record + int(self.starts[k]), self.states[rows],
            self.candidates[rows],
        )  # fmt: skip


def known_records(structure: Structure, blocks: Sequence[Block]) -> Floats:
    """Return in how many records each symptom is known."""
    known = np.zeros(structure.n_symptoms)
    for block in blocks:
        known += block.n_records
        if block.unknown is not None:
            known -= np.bitwise_count(block.unknown).sum(axis=1)
    return known


def no_information(structure: Structure) -> DiseaseInformation:
    """Return zeros."""
    sizes = np.diff(structure.child_offsets) + 1
    offsets = np.concatenate([[0], np.cumsum(sizes * sizes)])
    return DiseaseInformation(offsets, np.zeros(offsets[-1]), np.zeros(structure.n_symptoms))


def sum_information(parts: Sequence[DiseaseInformation]) -> DiseaseInformation:
    """Add up what is known of the same network."""
    matrices = np.sum([part.matrices for part in parts], axis=0)
    leaks = np.sum([part.leaks for part in parts], axis=0)
    return DiseaseInformation(parts[0].offsets, matrices, leaks)


def sum_scores(parts: Sequence[Scores]) -> Scores:
    """Add up scores of different records."""
    return Scores(*(np.sum(each, axis=0) for each in zip(*parts, strict=True)))


def with_all_absent(found: Scores, network: NoisyOrNetwork, n_records: int) -> Scores:
    """Return the scores with what every record adds: diseases and findings may all be absent."""
    p, f, leaks = network.parameters
    nothing = Parameters(-1.0 / (1.0 - p), np.zeros(len(f)), -1.0 / (1.0 - leaks)).vector
    cross = np.outer(nothing, found.total)
    information = (found.information + found.information.T) / 2.0 + cross + cross.T
    information += n_records * np.outer(nothing, nothing)
    return Scores(np.asarray(found.total + n_records * nothing), np.asarray(information))
