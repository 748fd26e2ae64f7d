"""A counter of records: block after block, by group, on all cores, in bounded memory.

Rows of one group that stand together are counted where they are; shorter runs, and records that go
by their ids, are gathered into a plane per group first and counted when it is full. Threads count
while the next records are being read (`tally`).
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from noisyor.findings.blocks import (
    BLOCK_RECORDS,
    Block,
    BlockBuilder,
    Origin,
    Words,
    first_bits,
    pack,
    words_for,
)
from noisyor.moments.groups import Segment, id_groups, row_segments
from noisyor.moments.moments import Moments
from noisyor.moments.plan import MomentPlan
from noisyor.moments.tally import PlaneSlice, Tally
from noisyor.parallel import n_threads
from noisyor.structure import Structure

Progress = Callable[[int], None]
"""Called with the number of records counted since the last call."""


Listed = tuple[NDArray[np.int64], NDArray[np.int32]]
"""The findings of records, one after the other: offsets of the records, and symptoms."""


class MomentCounter:
    """Counts blocks of records as they come; `take` gives the moments so far and starts anew."""

    def __init__(self, plan: MomentPlan, n_groups: int, n_jobs: int | None = None) -> None:
        self._plan = plan
        self._n_groups = n_groups
        self._tally = Tally(plan, n_groups, n_threads(n_jobs))
        self._gathered = GatheredPlanes(plan.structure, n_groups, self._tally)

    def add_blocks(self, blocks: Iterable[Block], progress: Progress | None = None) -> None:
        """Count the records of one source, given in order."""
        n_without_origin = 0
        for block in aligned(blocks, self._plan.structure):
            origin = block.origin
            if origin is None:
                origin = Origin("", n_without_origin)
                n_without_origin += block.n_records
            if block.record_ids is not None:
                self._gathered.add_by_id(block, origin.first_row)
            else:
                for segment in row_segments(*origin, block.n_records, self._n_groups):
                    self._add_segment(block, segment)
            if progress is not None:
                progress(block.n_records)

    def _add_segment(self, block: Block, segment: Segment) -> None:
        first, last = segment.start // 64, words_for(segment.stop)
        # A call costs as much as counting some tens of words.
        if last - first < 64:
            self._gathered.add_words(block, segment)
        else:
            valid = first_bits(segment.stop - segment.start, last - first)
            self._tally.add(
                PlaneSlice(block.present, block.unknown, first, last, valid, segment.group)
            )

    def take(self) -> Moments:
        """Return all counts since the last call."""
        self._gathered.flush_all()
        return self._tally.take()

    def discard(self) -> None:
        """Forget all counts since the last `take`."""
        self._gathered = GatheredPlanes(self._plan.structure, self._n_groups, self._tally)
        self._tally.discard()


def aligned(blocks: Iterable[Block], structure: Structure) -> Iterator[Block]:
    """Give blocks that each start at a multiple of 64 records, refilling those that do not.

    Blocks that were read from tables do so already; those joined in memory need not.
    """
    builder = BlockBuilder(structure)
    for block in blocks:
        if block.origin is not None or (not builder.filled and block.n_records % 64 == 0):
            yield block
            continue
        present, unknown = block.unpacked()
        start = 0
        while start < block.n_records:
            stop = min(block.n_records, start + builder.room)
            builder.append(
                stop - start,
                pack(present[start:stop]),
                None if unknown is None else pack(unknown[start:stop]),
                None if block.record_ids is None else block.record_ids[start:stop],
            )
            start = stop
            if not builder.room:
                yield builder.take_block()
    yield from builder.last_block()


class GatheredPlanes:
    """A plane per group that is filled from short runs of rows or from single records."""

    def __init__(self, structure: Structure, n_groups: int, tally: Tally) -> None:
        self._shape = structure.n_symptoms, BLOCK_RECORDS // 64
        self._n_groups = n_groups
        self._tally = tally
        self._present: dict[int, Words] = {}
        self._unknown: dict[int, Words] = {}
        self._valid = np.zeros((n_groups, self._shape[1]), dtype=np.uint64)
        self._filled = np.zeros(n_groups, dtype=np.int64)

    def _plane(self, planes: dict[int, Words], group: int) -> Words:
        if group not in planes:
            planes[group] = np.zeros(self._shape, dtype=np.uint64)
        return planes[group]

    def add_words(self, block: Block, segment: Segment) -> None:
        """Add a run of rows, word by word."""
        group = segment.group
        words = slice(segment.start // 64, words_for(segment.stop))
        n_words = words.stop - words.start
        if words_for(int(self._filled[group])) + n_words > self._shape[1]:
            self.flush(group)
        start = words_for(int(self._filled[group]))
        target = slice(start, start + n_words)
        self._plane(self._present, group)[:, target] = block.present[:, words]
        if block.unknown is not None:
            self._plane(self._unknown, group)[:, target] = block.unknown[:, words]
        self._valid[group, target] = first_bits(segment.stop - segment.start, n_words)
        self._filled[group] = 64 * target.stop

    def add_by_id(self, block: Block, first_row: int) -> None:
        """Add records to the groups of their ids, a bit each."""
        from noisyor.findings.bit_kernels import list_bits

        groups = id_groups(block.record_ids, first_row, self._n_groups)
        present = list_bits(block.present, block.n_records)
        unknown = None if block.unknown is None else list_bits(block.unknown, block.n_records)
        for start in range(0, block.n_records, BLOCK_RECORDS):
            part = slice(start, min(start + BLOCK_RECORDS, block.n_records))
            order = part.start + np.argsort(groups[part], kind="stable")
            sizes = np.bincount(groups[part], minlength=self._n_groups)
            for group, records in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
                if len(records):
                    self._add_records(group, records, present, unknown)

    def _add_records(
        self, group: int, records: NDArray[np.int64], present: Listed, unknown: Listed | None
    ) -> None:
        """Give records the next free bits of their group's plane, and set their findings there."""
        from noisyor.moments.count_kernels import scatter_records

        if self._filled[group] + len(records) > BLOCK_RECORDS:
            self.flush(group)
        position = int(self._filled[group])
        scatter_records(*present, records, position, self._plane(self._present, group))
        if unknown is not None:
            scatter_records(*unknown, records, position, self._plane(self._unknown, group))
        positions = position + np.arange(len(records))
        bits = np.uint64(1) << (positions & 63).astype(np.uint64)
        np.bitwise_or.at(self._valid[group], positions >> 6, bits)
        self._filled[group] += len(records)

    def flush(self, group: int) -> None:
        """Hand a group's plane over to be counted; the next record starts a new one."""
        words = words_for(int(self._filled[group]))
        if words:
            valid = self._valid[group, :words].copy()
            present = self._plane(self._present, group)
            unknown = self._unknown.pop(group, None)
            # Like the planes of blocks, for which the kernels are compiled already.
            present.flags.writeable = False
            if unknown is not None:
                unknown.flags.writeable = False
            self._tally.add(PlaneSlice(present, unknown, 0, words, valid, group))
        self._present.pop(group, None)
        self._valid[group] = 0
        self._filled[group] = 0

    def flush_all(self) -> None:
        """Count all planes."""
        for group in range(self._n_groups):
            self.flush(group)
