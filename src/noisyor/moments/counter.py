"""A counter of records: block after block, by group, on all cores, in bounded memory.

Rows of one group that stand together are counted where they are; shorter runs, and records that go
by their ids, are gathered into a plane per group first and counted when it is full. Threads count
while the next records are being read (`tally`).
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError, count_of
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
from noisyor.findings.label_tables import LabelledBlocks, LabelTable
from noisyor.findings.labels import Labels
from noisyor.moments.groups import Segment, id_groups, row_segments
from noisyor.moments.labelled import LabelledTally
from noisyor.moments.moments import Moments
from noisyor.moments.plan import MomentPlan
from noisyor.moments.tally import PlaneSlice, Tally
from noisyor.moments.tally_on_card import CardTally
from noisyor.parallel import n_threads
from noisyor.structure import Structure

FEW_WORDS = 4096
"""So many are copied at once; a thread would take longer to begin."""
COPIED_AT_ONCE = 8
"""So many runs of rows a thread copies at a time; handing each over would take as long."""
Progress = Callable[[int], None]
"""Called with the number of records counted since the last call."""


Listed = tuple[NDArray[np.int64], NDArray[np.int32]]
"""The findings of records, one after the other: offsets of the records, and symptoms."""
Run = tuple[int, slice, slice]
"""A group, words of a block, and those of the group's plane where they go."""


class MomentCounter:
    """Counts blocks of records as they come; `take` gives the moments so far and starts anew.

    With a table of labels those of the records are counted, too, or with labels of all records.
    """

    def __init__(
        self,
        plan: MomentPlan,
        n_groups: int,
        n_jobs: int | None = None,
        labels: LabelTable | Labels | None = None,
        *,
        on_card: bool = False,
    ) -> None:
        self._plan = plan
        self._n_groups = n_groups
        self._tally = (CardTally if on_card else Tally)(plan, n_groups, n_threads(n_jobs))
        self._gathered = GatheredPlanes(plan.structure, n_groups, self._tally)
        self._labels = LabelledBlocks(labels) if isinstance(labels, LabelTable) else labels
        self._labelled = None if labels is None else LabelledTally(plan.structure, n_groups)
        self._n_records = 0

    def add_blocks(self, blocks: Iterable[Block], progress: Progress | None = None) -> None:
        """Count the records of one source, given in order."""
        n_without_origin = 0
        for block in aligned(blocks, self._plan.structure):
            origin = block.origin
            if origin is None:
                origin = Origin("", n_without_origin)
                n_without_origin += block.n_records
            if block.record_ids is not None:
                groups = id_groups(block.record_ids, origin.first_row, self._n_groups)
                self._gathered.add_by_group(block, groups)
            else:
                segments = list(row_segments(*origin, block.n_records, self._n_groups))
                self._add_segments(block, segments)
                if self._labelled is not None:
                    groups = np.repeat(*np.array([[s.group, s.stop - s.start] for s in segments]).T)
            if self._labelled is not None:
                self._labelled.add(block, self._labels_of(block), groups)
            if progress is not None:
                progress(block.n_records)

    def _labels_of(self, block: Block) -> Labels:
        """Return the labels of the next block, by ids or by the order of all records."""
        if isinstance(self._labels, LabelledBlocks):
            return self._labels.labels_of(block)
        assert self._labels is not None
        first, self._n_records = self._n_records, self._n_records + block.n_records
        if self._n_records > len(self._labels):
            self.check_labels()
        return self._labels.taken(slice(first, self._n_records))

    def _add_segments(self, block: Block, segments: list[Segment]) -> None:
        short = []
        for segment in segments:
            first, last = segment.start // 64, words_for(segment.stop)
            # A call costs as much as counting some tens of words.
            if last - first < 64:
                short.append(segment)
                continue
            valid = first_bits(segment.stop - segment.start, last - first)
            self._tally.add(
                PlaneSlice(block.present, block.unknown, first, last, valid, segment.group)
            )
        self._gathered.add_runs(block, short)

    def take(self) -> Moments:
        """Return all counts since the last call."""
        self._gathered.flush_all()
        found = self._tally.take()
        return found if self._labelled is None else found.with_labelled(self._labelled.take())

    def check_labels(self) -> None:
        """Raise an error where labels that go by order are not as many as the records."""
        if isinstance(self._labels, Labels) and len(self._labels) != self._n_records:
            raise ParameterError(
                f"there are labels of {count_of(len(self._labels), 'record')}, but findings of "
                f"{self._n_records:,}; give both a column of ids, or a label for each record."
            )

    def take_label_uses(self) -> NDArray[np.int64]:
        """Return to how many records each row of the table of labels belongs, since the last."""
        if not isinstance(self._labels, LabelledBlocks):
            return np.zeros(0, dtype=np.int64)
        return self._labels.take_uses()

    def discard(self) -> None:
        """Forget all counts since the last `take`."""
        self._gathered = GatheredPlanes(self._plan.structure, self._n_groups, self._tally)
        self._tally.discard()
        self.take_label_uses()
        if self._labelled is not None:
            self._labelled.take()


def aligned(blocks: Iterable[Block], structure: Structure) -> Iterator[Block]:
    """Give blocks that each start at a multiple of 64 records, refilling those that do not.

    Blocks that were read from tables do so already; those joined in memory need not.
    """
    builder, held = BlockBuilder(structure), None
    for block in blocks:
        if held is not None:  # it is not the last: what follows goes on within a word
            yield from _refilled(held, builder)
            held = None
        if block.origin is not None or (not builder.filled and block.n_records % 64 == 0):
            yield block
        elif not builder.filled:
            held = block
        else:
            yield from _refilled(block, builder)
    if held is not None:
        yield held
    yield from builder.last_block()


def _refilled(block: Block, builder: BlockBuilder) -> Iterator[Block]:
    """Put a block's records into a builder; give the blocks that become full."""
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


class GatheredPlanes:
    """A plane per group that is filled from short runs of rows or from single records."""

    def __init__(self, structure: Structure, n_groups: int, tally: Tally | CardTally) -> None:
        self._n_symptoms, self._most_words = structure.n_symptoms, BLOCK_RECORDS // 64
        self._n_groups = n_groups
        self._tally = tally
        self._locks = [threading.Lock() for _ in range(n_groups)]
        self._copies: dict[int, list[Future[None]]] = {}
        """What threads are still copying into a group's planes."""
        self._present: dict[int, Words] = {}
        self._unknown: dict[int, Words] = {}
        self._valid = np.zeros((n_groups, self._most_words), dtype=np.uint64)
        self._filled = np.zeros(n_groups, dtype=np.int64)

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

    def add_runs(self, block: Block, segments: list[Segment]) -> None:
        """Add runs of rows, word by word; threads copy them, some at a time."""
        waiting: list[Run] = []
        for segment in segments:
            group = segment.group
            words = slice(segment.start // 64, words_for(segment.stop))
            n_words = words.stop - words.start
            if words_for(int(self._filled[group])) + n_words > self._most_words:
                self._copy(block, waiting)
                waiting = []
                self.flush(group)
            start = words_for(int(self._filled[group]))
            target = slice(start, start + n_words)
            waiting.append((group, words, target))
            self._valid[group, target] = first_bits(segment.stop - segment.start, n_words)
            self._filled[group] = 64 * target.stop
            if len(waiting) == COPIED_AT_ONCE:
                self._copy(block, waiting)
                waiting = []
        self._copy(block, waiting)

    def _copy(self, block: Block, runs: list[Run]) -> None:
        """Copy runs to the planes of their groups; a thread does, unless they are few."""

        def copy() -> None:
            for group, words, target in runs:
                with self._locks[group]:
                    plane = self._plane(self._present, group, target.stop)
                    plane[:, target] = block.present[:, words]
                    if block.unknown is not None:
                        plane = self._plane(self._unknown, group, target.stop)
                        plane[:, target] = block.unknown[:, words]

        n_words = sum(words.stop - words.start for _, words, _ in runs)
        if n_words * self._n_symptoms < FEW_WORDS:
            copy()
        elif (copying := self._tally.start(copy)) is not None:
            for group, _, _ in runs:
                self._copies.setdefault(group, []).append(copying)

    def _wait_for_copies(self, group: int) -> None:
        for copying in self._copies.pop(group, []):
            copying.result()

    def add_by_group(self, block: Block, groups: NDArray[np.int64]) -> None:
        """Add records to their groups, a bit each."""
        from noisyor.findings.bit_kernels import list_bits

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
        self._wait_for_copies(group)
        position = int(self._filled[group])
        n_words = words_for(position + len(records))
        plane = self._plane(self._present, group, n_words)
        scatter_records(*present, records, position, plane)
        if unknown is not None:
            plane = self._plane(self._unknown, group, n_words)
            scatter_records(*unknown, records, position, plane)
        positions = position + np.arange(len(records))
        bits = np.uint64(1) << (positions & 63).astype(np.uint64)
        np.bitwise_or.at(self._valid[group], positions >> 6, bits)
        self._filled[group] += len(records)

    def flush(self, group: int) -> None:
        """Hand a group's plane over to be counted; the next record starts a new one."""
        words = words_for(int(self._filled[group]))
        self._wait_for_copies(group)
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
