"""RecordSampler: expected counts where diseases are sampled, record by record.

With the sampled diseases D, a present finding j was caused by disease i with the probability
(1 - f_ij) / P(s_j = 1 | D). Records with few candidates are summed up over all of their states
instead. What is sampled depends on the record's number and a seed, not on who does the work.
"""

import copy
import itertools
from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from noisyor.em import sampling_kernels
from noisyor.em.candidate_kernels import MOST_ENUMERATED, SampledRecords, Seen
from noisyor.em.expected import Counts, ExpectedCounts, total_of
from noisyor.em.sampling_kernels import (
    DiseaseInformation,
    Scores,
    SharedScores,
    SummedBounds,
    Sweeps,
)
from noisyor.em.seen import seen_of
from noisyor.findings.blocks import Block
from noisyor.findings.labels import Labels, SeenCounts
from noisyor.inference.flat import Floats, Integers, flatten
from noisyor.network import NoisyOrNetwork
from noisyor.parallel import one_by_one
from noisyor.parameters import Parameters
from noisyor.structure import Structure

Sums = TypeVar("Sums", DiseaseInformation, Scores, SharedScores)
GATHERED: dict[type, Any] = {
    DiseaseInformation: sampling_kernels.gather_information,
    Scores: sampling_kernels.gather_scores,
    SharedScores: sampling_kernels.gather_shared,
}
"""What adds up each kind of sums."""

SUMMED_PARTS, MATRIX_PARTS = 64, 16
"""Sums over blocks are made in so many parts, whatever the number of threads: so they are equal.
Matrices of all parameters are large, so there are fewer of them."""
SAMPLED_AT_ONCE = 1024
"""Blocks are split into such of so many records, which many threads can share evenly."""


def with_children(structure: Structure, seen: SeenCounts | None = None) -> Structure:
    """Return the structure without diseases that cause nothing: no record says anything of them.

    They must not take part in sampling, where they would change what is drawn for the others. Those
    that have labels are kept.
    """
    has_children = np.diff(structure.child_offsets) > 0
    if seen is not None:
        has_children = has_children | seen.is_labelled
    if has_children.all() or not has_children.any():
        return structure
    return structure.subset(diseases=np.flatnonzero(has_children).tolist())


class Sampler(Protocol):
    """Samples the diseases of records, wherever these are; block after block."""

    structure: Structure
    starts: Integers
    """The first record of each block, and their number."""
    known: Floats
    """Records in which each symptom is known."""
    seen: SeenCounts | None = None
    """How often diseases were seen; None: there are no labels."""

    def labelled(self) -> "Sampler | None":
        """Return a sampler of the labelled records alone, where these are known to be some."""
        return None

    def expect(
        self, network: NoisyOrNetwork, n_blocks: int, *, must_screen: bool, n_sweeps: int, seed: int
    ) -> Counts:
        """Sample the diseases of the first blocks; return the expected counts."""
        ...

    def inform(
        self, network: NoisyOrNetwork, n_sweeps: int, seed: int, every: int = 1
    ) -> DiseaseInformation:
        """Return the information that the records bring on each disease and each leak.

        As if all were such as those of every so many blocks.
        """
        ...

    def bound(self, network: NoisyOrNetwork, every: int) -> SummedBounds:
        """Return lower bounds of the log evidences of every so many records."""
        ...

    def share_enumerated(self) -> float:
        """Return the share of the records whose candidates are few enough to be summed up."""
        ...

    def score_findings(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> Scores:
        """Return what diseases and findings that are present add to the scores."""
        ...

    def score(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> Scores:
        """Return the derivatives of the log likelihood, and the information of the records.

        To what is found of each record comes what all have: diseases and findings may be absent.
        """
        found, n_records = self.score_findings(network, n_sweeps, seed), int(self.starts[-1])
        p, f, leaks = network.parameters
        nothing = Parameters(-1.0 / (1.0 - p), np.zeros(len(f)), -1.0 / (1.0 - leaks)).vector
        information = _with_nothing(found.information, found.total, nothing, n_records)
        return Scores(np.asarray(found.total + n_records * nothing), information)

    def share_findings(
        self, network: NoisyOrNetwork, following: Floats, n_sweeps: int, seed: int, every: int = 1
    ) -> SharedScores:
        """Return what diseases and findings that are present add to what diseases share."""
        ...

    def share(
        self, network: NoisyOrNetwork, following: Floats, n_sweeps: int, seed: int, every: int = 1
    ) -> Floats:
        """Return the information on the priors of all diseases together.

        The failures of a disease follow its prior: a change of it changes each by so much.
        """
        found = self.share_findings(network, following, n_sweeps, seed, every)
        total = Parameters.split(self.structure, found.total)
        followed = following * total.failures
        by_disease = np.bincount(self.structure.edges[:, 0], followed, self.structure.n_diseases)
        nothing = -1.0 / (1.0 - network.priors)
        n_records = int(self.starts[-1])
        return _with_nothing(found.information, total.priors + by_disease, nothing, n_records)


def _with_nothing(products: Floats, total: Floats, nothing: Floats, n_records: int) -> Floats:
    """Return the products of scores to each of which something is added, the same in all."""
    cross = np.outer(nothing, total)
    found = (products + products.T) / 2.0 + cross + cross.T
    return np.asarray(found + n_records * np.outer(nothing, nothing))


class RecordSampler(Sampler):
    """Keeps the sampled diseases of some blocks of records in memory."""

    def __init__(
        self,
        structure: Structure,
        blocks: Sequence[Block],
        least_odds: float = 1e-5,
        *,
        labels: Labels | None = None,
        first_record: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.least_odds = least_odds
        """Diseases with smaller odds are not candidates of a record."""
        self.structure = structure
        self.blocks = [each for block in blocks for each in block.split(SAMPLED_AT_ONCE)]
        self.clamped = seen_of(labels, structure)
        self.seen = None if labels is None else labels.counts()
        self.first_record = first_record
        """The number of the first of these records among all: what is sampled depends on it."""
        self._n_jobs = n_jobs
        self._count()
        words = (structure.n_diseases + 63) // 64
        self.states = np.zeros((self.starts[-1], words), dtype=np.uint64)
        self.candidates = np.zeros_like(self.states)
        self.is_started = np.zeros(len(self.blocks), dtype=np.bool_)
        self.negligible_cases = [np.zeros(structure.n_diseases) for _ in self.blocks]

    def _count(self) -> None:
        """Set what is known of the blocks: where each starts, and how often symptoms are known."""
        self.starts = np.cumsum([0, *(block.n_records for block in self.blocks)])
        self.known = np.full(self.structure.n_symptoms, float(self.starts[-1]))
        for block in self.blocks:
            if block.unknown is not None:
                self.known -= np.bitwise_count(block.unknown).sum(axis=1)

    def thinned(self, every: int) -> Self:
        """Return a sampler of the records of every so many blocks, which leaves this as it is."""
        other, chosen = copy.copy(self), range(0, len(self.blocks), every)
        rows = self._rows(chosen)
        other.blocks = [self.blocks[k] for k in chosen]
        other._count()
        other.states, other.candidates = self.states[rows], self.candidates[rows]
        if len(self.clamped.known):
            other.clamped = Seen(self.clamped.known[rows], self.clamped.on[rows])
        other.is_started = self.is_started[::every].copy()
        other.negligible_cases = self.negligible_cases[::every]
        return other

    def _rows(self, blocks: range) -> Integers:
        """Return the numbers of the records of some blocks."""
        parts = [np.arange(self.starts[k], self.starts[k + 1]) for k in blocks]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def expect(
        self, network: NoisyOrNetwork, n_blocks: int, *, must_screen: bool, n_sweeps: int, seed: int
    ) -> Counts:
        """Sample the diseases of the first blocks; return the expected counts."""
        net = flatten(network)

        def expect_part(part: range) -> ExpectedCounts:
            counts = ExpectedCounts.zeros(self.structure)
            for k in part:
                is_start = not self.is_started[k]
                if must_screen or is_start:
                    self.negligible_cases[k] = np.zeros(self.structure.n_diseases)
                sweeps = Sweeps(self.least_odds, is_start, must_screen or is_start, n_sweeps, seed)
                few = self.negligible_cases[k]
                sampling_kernels.sample_records(net, self._records(k), sweeps, counts, few)
                np.add(counts.cases, few, out=counts.cases)
                self.is_started[k] = True
            return counts

        return total_of(one_by_one(expect_part, self._parts(n_blocks), self._n_jobs))

    def _parts(self, n_blocks: int) -> list[range]:
        """Split the first blocks into parts that are summed up one by one."""
        n_blocks = min(n_blocks, len(self.blocks))
        n_parts = max(min(n_blocks, SUMMED_PARTS), 1)
        bounds = np.linspace(0, n_blocks, n_parts + 1).astype(int).tolist()
        return [range(first, last) for first, last in itertools.pairwise(bounds)]

    def inform(
        self, network: NoisyOrNetwork, n_sweeps: int, seed: int, every: int = 1
    ) -> DiseaseInformation:
        """Return the information that the records bring on each disease and each leak."""
        return self._gathered(DiseaseInformation, network, n_sweeps, seed, every)

    def bound(self, network: NoisyOrNetwork, every: int) -> SummedBounds:
        """Return lower bounds of the log evidences of every so many records."""
        net = flatten(network)

        def bound_block(k: int) -> SummedBounds:
            found = SummedBounds.zeros(self.structure)
            sampling_kernels.bound_records(net, self._records(k), every, found)
            return found

        return total_of(one_by_one(bound_block, self._blocks_of_every(every), self._n_jobs))

    def _blocks_of_every(self, n: int) -> list[int]:
        """Return the blocks that have one of every so many records, of which there is one."""
        ends = -(-(self.first_record + self.starts) // n)  # multiples of n before each
        return np.flatnonzero(np.diff(ends)).tolist() or [0]

    def share_enumerated(self) -> float:
        """Return the share of the records whose candidates are few enough to be summed up."""
        n_candidates = np.bitwise_count(self.candidates).sum(axis=1)
        return float(np.mean(n_candidates <= MOST_ENUMERATED))

    def score_findings(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> Scores:
        """Return what diseases and findings that are present add to the scores."""
        return self._gathered(Scores, network, n_sweeps, seed, may_exchange=True)

    def share_findings(
        self, network: NoisyOrNetwork, following: Floats, n_sweeps: int, seed: int, every: int = 1
    ) -> SharedScores:
        """Return what diseases and findings that are present add to what diseases share.

        It is asked of large networks, where exchanging diseases would take too long.
        """
        return self._gathered(SharedScores, network, n_sweeps, seed, every, more=(following,))

    def _gathered(
        self,
        kind: type[Sums],
        network: NoisyOrNetwork,
        n_sweeps: int,
        seed: int,
        every: int = 1,
        *,
        more: tuple[Any, ...] = (),
        may_exchange: bool = False,
    ) -> Sums:
        """Return what is gathered over every so many blocks, as if all were such as these."""
        net, gather = flatten(network), GATHERED[kind]
        sweeps = Sweeps(self.least_odds, False, False, n_sweeps, seed, may_exchange=may_exchange)

        chosen = range(0, len(self.blocks), every)

        def gather_part(first: int) -> Sums:
            found = kind.zeros(self.structure)
            for k in chosen[first::MATRIX_PARTS]:
                gather(net, self._records(k), sweeps, *more, found)
            return found

        total = total_of(one_by_one(gather_part, range(MATRIX_PARTS), self._n_jobs), self._n_jobs)
        if every == 1:
            return total
        n_chosen = sum(self.blocks[k].n_records for k in chosen)
        return kind(*(self.starts[-1] / max(n_chosen, 1) * each for each in total))

    def copied(self) -> Self:
        """Return a sampler that goes on from here and leaves this one as it is."""
        other = copy.copy(self)
        other.states, other.candidates = self.states.copy(), self.candidates.copy()
        other.is_started = self.is_started.copy()
        other.negligible_cases = list(self.negligible_cases)
        return other

    def _records(self, k: int) -> SampledRecords:
        """Return a block of records with what is kept of them."""
        rows = slice(self.starts[k], self.starts[k + 1])
        return SampledRecords(
            *self.blocks[k].listed(), self.first_record + int(self.starts[k]), self.states[rows],
            self.candidates[rows], Seen(self.clamped.known[rows], self.clamped.on[rows]),
        )  # fmt: skip
