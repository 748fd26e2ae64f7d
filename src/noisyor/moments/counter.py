"""A counter of records: block after block, by group, on all cores, in bounded memory.

Rows of one group that stand together are counted where they are, short runs of them together; those
that go by their ids are gathered into a plane per group first and counted when it is full
(`gathering`). Threads count while the next records are being read (`tally`).
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError, count_of
from noisyor.findings.blocks import Block, BlockBuilder, Origin, first_bits, pack, words_for
from noisyor.findings.label_tables import LabelledBlocks, LabelTable
from noisyor.findings.labels import Labels
from noisyor.moments.gathering import GatheredPlanes
from noisyor.moments.groups import Segment, id_groups, row_segments
from noisyor.moments.labelled import LabelledTally
from noisyor.moments.moments import Moments
from noisyor.moments.plan import MomentPlan
from noisyor.moments.tally import PlaneSlice, Tally
from noisyor.moments.tally_on_card import CardTally
from noisyor.parallel import n_threads
from noisyor.structure import Structure

Progress = Callable[[int], None]
"""Called with the number of records counted since the last call."""


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
        self._gathered = GatheredPlanes(plan.structure, n_groups, self._tally, n_threads(n_jobs))
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
                for segment in segments:
                    self._tally.add(_slice_of(block, segment))
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
        self._gathered.discard()
        self._tally.discard()
        self.take_label_uses()
        if self._labelled is not None:
            self._labelled.take()


def _slice_of(block: Block, segment: Segment) -> PlaneSlice:
    """Return the words of a block that hold the rows of a segment."""
    first, last = segment.start // 64, words_for(segment.stop)
    valid = first_bits(segment.stop - segment.start, last - first)
    return PlaneSlice(block.present, block.unknown, first, last, valid, segment.group)


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
