"""CardSampler: expected counts where the card samples diseases, as `RecordSampler` does here.

Records, their candidates and the diseases they have for the moment stay on the card from round to
round. What is sampled depends on a record's number and a seed alone, so both find the same.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisyor.em.candidate_kernels import MOST_ENUMERATED, OpenRecord, SampledRecords, Seen
from noisyor.em.expected import Counts, ExpectedCounts
from noisyor.em.sampled import RecordSampler, Sums
from noisyor.em.sampling_kernels import Sweeps
from noisyor.errors import give_notice
from noisyor.gpu import Work, is_full, is_simulated, n_multiprocessors
from noisyor.gpu.arrays import from_card, on_card, zeros_on_card
from noisyor.inference.flat import FlatNetwork, flatten
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

THREADS = 128 if not is_simulated() else 1
BLOCKS_OF_MULTIPROCESSOR = 8
"""So many blocks of threads work at a time on each; with less memory fewer."""
EDGE_SECONDS, CARD_EDGE_SECONDS, N_ROUNDS = 1.6e-10, 1.2e-11, 9
"""What a round takes a record for each edge: on one core, and on an H200 (`reproduce gpu`)."""


def sampling_work(structure: Structure, n_records: int) -> Work:
    """Return what the rounds of EM take."""
    n = float(n_records) * N_ROUNDS * structure.n_edges
    return Work("sampling diseases", EDGE_SECONDS * n, CARD_EDGE_SECONDS * n)


class CardRecords:
    """Records on the card, with what is kept of each and what threads need to work on them."""

    def __init__(self, sampler: RecordSampler, n_threads: int) -> None:
        from numba import cuda

        from noisyor.em.card_kernels import Threads

        listed = [block.listed() for block in sampler.blocks]
        sizes = _joined([np.diff(offsets) for offsets, _, _ in listed], np.int64)
        self.n_threads = n_threads
        self.weights = sizes.astype(np.uint16)
        """How much work each record is, roughly: threads side by side should have records that
        take as long."""
        numbers = np.arange(len(sampler.blocks), dtype=np.int32)
        self.blocks = on_card(np.repeat(numbers, np.diff(sampler.starts)))
        self.records = SampledRecords(
            on_card(np.concatenate([[0], np.cumsum(sizes)])),
            on_card(_joined([symptoms for _, symptoms, _ in listed], np.int32)),
            on_card(_joined([is_unknown for _, _, is_unknown in listed], np.bool_)),
            sampler.first_record, on_card(sampler.states), on_card(sampler.candidates),
            Seen(*map(on_card, sampler.clamped)),
        )  # fmt: skip
        self.few = on_card(np.array(sampler.negligible_cases))
        """Cases of diseases that are not candidates, by block."""
        self.threads = Threads(
            _workspaces(sampler.structure, int(sizes.max(initial=1)), n_threads),
            cuda.device_array(n_threads, np.uint64),
        )

    def weigh(self) -> None:
        """Let records with as many candidates stand together from now on."""
        from numba import cuda

        from noisyor.em.card_kernels import count_candidates

        found = cuda.device_array(len(self.weights), np.uint16)
        count_candidates[_grid(self.n_threads), THREADS](self.records.candidates, found)
        self.weights = from_card(found)

    def order(self, n_records: int) -> Any:
        """Return the first records on the card, those that take longest first."""
        return on_card(np.argsort(self.weights[:n_records], kind="stable")[::-1])


class CardSampler(RecordSampler):
    """Keeps records and their sampled diseases on the card."""

    _there: CardRecords | None = None
    """None: the card has nothing yet, or what it has is older than what is here..."""
    _is_newer_there = False
    """... or newer."""
    _may_fit = True

    def expect(
        self, network: NoisyOrNetwork, n_blocks: int, *, must_screen: bool, n_sweeps: int, seed: int
    ) -> Counts:
        """Sample the diseases of the first blocks; return the expected counts."""
        there = self._sent()
        n_blocks = min(n_blocks, len(self.blocks))
        if there is None or not n_blocks:
            return super().expect(
                network, n_blocks, must_screen=must_screen, n_sweeps=n_sweeps, seed=seed
            )
        sweeps = Sweeps(self.least_odds, False, must_screen, n_sweeps, seed)
        return self._expect_there(there, flatten(network), n_blocks, sweeps)

    def _expect_there(
        self, there: CardRecords, net: FlatNetwork, n_blocks: int, sweeps: Sweeps
    ) -> ExpectedCounts:
        from noisyor.em.card_kernels import Turns, sampling_kernel

        n_records = int(self.starts[n_blocks])
        if sweeps.must_screen:
            few = from_card(there.few)
            few[:n_blocks] = 0.0
            there.few = on_card(few)
        counts = ExpectedCounts(*map(on_card, ExpectedCounts.zeros(self.structure)))
        turns = Turns(there.order(n_records), there.blocks, on_card(self.is_started))
        sampling_kernel()[_grid(there.n_threads), THREADS](
            FlatNetwork(*map(on_card, net)), there.records, turns, sweeps, there.threads, counts,
            there.few,
        )  # fmt: skip
        if sweeps.must_screen or not self.is_started[:n_blocks].all():
            there.weigh()
        self.is_started[:n_blocks] = True
        self._is_newer_there = True
        found = ExpectedCounts(*(from_card(each) for each in counts))
        np.add(found.cases, from_card(there.few)[:n_blocks].sum(axis=0), out=found.cases)
        return found

    def _sent(self) -> CardRecords | None:
        """Return the records on the card; None where they do not fit."""
        n_threads = THREADS * BLOCKS_OF_MULTIPROCESSOR * n_multiprocessors()
        while self._there is None and self._may_fit:
            try:
                self._there = CardRecords(self, n_threads)
            except Exception as error:
                if not is_full(error):
                    raise
                n_threads //= 2
                if n_threads < THREADS * n_multiprocessors():
                    self._may_fit = False
                    give_notice(
                        "the card's memory does not suffice for these records and their diseases: "
                        "they are sampled on the processor."
                    )
        return self._there

    def bring_here(self) -> None:
        """Bring what was sampled here."""
        if self._there is not None and self._is_newer_there:
            self.states = from_card(self._there.records.states)
            self.candidates = from_card(self._there.records.candidates)
            self.negligible_cases = list(from_card(self._there.few))
            self._is_newer_there = False

    def share_enumerated(self) -> float:
        """Return the share of the records whose candidates are few enough to be summed up."""
        self.bring_here()
        return super().share_enumerated()

    def _gathered(self, kind: type[Sums], *arguments: Any, **more: Any) -> Sums:
        """Gather here, from what was sampled there; sampling goes on here meanwhile."""
        self.bring_here()
        found = super()._gathered(kind, *arguments, **more)
        self._there = None
        return found

    def copied(self) -> Self:
        """Return a sampler that goes on from here and leaves this one as it is."""
        self.bring_here()
        other = super().copied()
        other._there = None
        return other


def _workspaces(structure: Structure, most_findings: int, n_threads: int) -> OpenRecord:
    """Return workspaces for records of so many findings at most: a column for each thread."""
    n, m = structure.n_diseases, structure.n_symptoms
    n_children = int(np.diff(structure.child_offsets).max(initial=1))
    n_entries, most = MOST_ENUMERATED * most_findings, most_findings
    sizes: list[tuple[int, Any]] = [
        (m, np.int32), (n, np.bool_), (n, np.int8), (n, np.float64), (n, np.int64),
        (most, np.float64), (most, np.float64), (most, np.float64), (n_children, np.float64),
        (MOST_ENUMERATED + 1, np.int64), (n_entries, np.int64), (n_entries, np.int64),
        (MOST_ENUMERATED, np.float64), (n_entries, np.float64), (most, np.float64),
        (MOST_ENUMERATED, np.float64), (MOST_ENUMERATED, np.int64),
    ]  # fmt: skip
    return OpenRecord(*(zeros_on_card((size, n_threads), dtype) for size, dtype in sizes))


def _joined(parts: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=dtype), *parts])


def _grid(n_threads: int) -> int:
    return n_threads // THREADS
