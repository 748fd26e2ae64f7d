"""Records whose neighbours belong to other groups, gathered into planes of their groups."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.findings.blocks import BLOCK_RECORDS, Block, Words, first_bits, words_for
from noisyor.moments.tally import PlaneSlice, Tally
from noisyor.moments.tally_on_card import CardTally
from noisyor.structure import Structure

FEW_WORDS = 4096
"""So many are copied at once; a thread would take longer to begin."""


class DealtRun(NamedTuple):
    """Records of one group, side by side."""

    group: int
    first_word: int
    n_records: int
    position: int
    """Where they go in the plane of their group."""


class GatheredPlanes:
    """A plane per group that is filled from single records.

    Threads fill them; who adds records only says where they go.
    """

    def __init__(
        self, structure: Structure, n_groups: int, tally: Tally | CardTally, n_jobs: int
    ) -> None:
        self._n_symptoms, self._most_words = structure.n_symptoms, BLOCK_RECORDS // 64
        self._n_groups = n_groups
        self._tally = tally
        self._n_jobs, self._pool = n_jobs, ThreadPoolExecutor(n_jobs)
        self._locks = [threading.Lock() for _ in range(n_groups)]
        self._pending: list[Future[None]] = []
        self._start()

    def _start(self) -> None:
        self._present: dict[int, Words] = {}
        self._unknown: dict[int, Words] = {}
        self._valid = np.zeros((self._n_groups, self._most_words), dtype=np.uint64)
        self._filled = np.zeros(self._n_groups, dtype=np.int64)

    def _plane(self, planes: dict[int, Words], group: int, n_words: int) -> Words:
        """Return a group's plane with room for so many words; one of all would cost few records."""
        before = planes.get(group)
        if before is None or before.shape[1] < n_words:
            width = min(max(n_words, 4 * before.shape[1] if before is not None else 4),
                        self._most_words)  # fmt: skip
            planes[group] = np.zeros((self._n_symptoms, width), dtype=np.uint64)
            if before is not None:
                planes[group][:, : before.shape[1]] = before
        return planes[group]

    def _work(self, work: Callable[[], None], n_words: int) -> None:
        """Let a thread do something, if it is worth that."""
        if self._n_jobs == 1 or n_words * self._n_symptoms < FEW_WORDS:
            work()
            return
        while len(self._pending) > 2 * self._n_jobs:  # a reader must not outrun the threads
            self._pending.pop(0).result()
        self._pending.append(self._pool.submit(work))

    def _wait(self) -> None:
        for pending in self._pending:
            pending.result()
        self._pending = []

    def add_by_group(self, block: Block, groups: NDArray[np.int64]) -> None:
        """Add records to their groups, a bit each."""
        for first in range(0, block.n_records, BLOCK_RECORDS):
            self._add_records(block, first, groups[first : first + BLOCK_RECORDS])

    def _add_records(self, block: Block, first: int, groups: NDArray[np.int64]) -> None:
        """Add records from one on: brought side by side by group, then put into the planes."""
        sizes = np.bincount(groups, minlength=self._n_groups)
        n_words = -(-sizes // 64)
        first_words = np.cumsum(n_words) - n_words
        positions = np.empty(len(groups), dtype=np.int64)
        positions[np.argsort(groups, kind="stable")] = np.arange(len(groups)) + np.repeat(
            64 * first_words - (np.cumsum(sizes) - sizes), sizes
        )
        runs = [
            self._room_for(group, int(first_words[group]), int(sizes[group]))
            for group in np.flatnonzero(sizes).tolist()
        ]
        width = int(n_words.sum())
        self._work(lambda: self._deal(block, first, positions, width, runs), width)

    def _room_for(self, group: int, first_word: int, n_records: int) -> DealtRun:
        """Give records the next free bits of their group's plane."""
        if self._filled[group] + n_records > BLOCK_RECORDS:
            self.flush(group)
        position = int(self._filled[group])
        self._filled[group] += n_records
        bits = first_bits(position + n_records, self._most_words)
        self._valid[group] |= bits & ~first_bits(position, self._most_words)
        return DealtRun(group, first_word, n_records, position)

    def _deal(
        self, block: Block, first: int, positions: NDArray[np.int64], width: int,
        runs: list[DealtRun],
    ) -> None:  # fmt: skip
        """Set the findings of records in the planes of their groups."""
        from noisyor.moments.gathering_kernels import add_dealt, deal_records

        for source, planes in ((block.present, self._present), (block.unknown, self._unknown)):
            if source is None:
                continue
            dealt = np.zeros((self._n_symptoms, width), dtype=np.uint64)
            deal_records(source, first // 64, words_for(len(positions)), positions, dealt)
            for group, first_word, n_records, position in runs:
                with self._locks[group]:
                    plane = self._plane(planes, group, words_for(position + n_records))
                    add_dealt(dealt, first_word, n_records, plane, position)

    def flush(self, group: int) -> None:
        """Hand a group's plane over to be counted; the next record starts a new one."""
        self._wait()
        words = words_for(int(self._filled[group]))
        if words:
            valid = self._valid[group, :words].copy()
            present = self._plane(self._present, group, words)
            unknown = None
            if group in self._unknown:
                unknown = self._plane(self._unknown, group, present.shape[1])
            # Like the planes of blocks, for which the kernels are compiled already.
            present.flags.writeable = False
            if unknown is not None:
                unknown.flags.writeable = False
            self._tally.add(PlaneSlice(present, unknown, 0, words, valid, group))
        self._present.pop(group, None)
        self._unknown.pop(group, None)
        self._valid[group] = 0
        self._filled[group] = 0

    def flush_all(self) -> None:
        """Count all planes."""
        for group in range(self._n_groups):
            self.flush(group)

    def discard(self) -> None:
        """Forget what was gathered."""
        self._wait()
        self._start()
