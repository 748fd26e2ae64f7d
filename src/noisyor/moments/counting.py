"""Counting moments: one pass over records of any amount, on all cores, in bounded memory.

Records come in blocks. Rows of one group that stand together are counted where they are; shorter
runs, and records that go by their ids, are gathered into a plane per group first and counted when
it is full (`gathering`). Threads count while the next records are being read (`tally`).
"""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Unpack

import numpy as np

from noisyor.errors import ParameterError, StructureError, some_of
from noisyor.findings import Findings
from noisyor.findings.blocks import Block, BlockBuilder, words_for
from noisyor.findings.reading import ReadOptions, RecordFormat, record_streams
from noisyor.moments.gathering import GatheredPlanes, valid_bits
from noisyor.moments.groups import N_GROUPS, Segment, row_segments
from noisyor.moments.moments import Moments
from noisyor.moments.plan import MomentPlan
from noisyor.moments.tally import Piece, Tally
from noisyor.structure import Structure

Progress = Callable[[int], None]
"""Called with the number of records counted since the last call."""

MOST_GROUPS = 1000
"""Each group has counts of its own; more would take memory and tell no more about errors."""
SHORT_WORDS = 64
"""Runs of fewer words are gathered: a call costs as much as counting some tens of words."""


def count_moments(
    source: Any,
    plan: MomentPlan,
    *,
    n_groups: int = N_GROUPS,
    progress: Progress | None = None,
    threads: int | None = None,
    client: Any = None,
    skip_broken: bool = False,
    **options: Unpack[ReadOptions],
) -> Moments:
    """Count a plan's sets over records: findings, a path or a list of paths, or a table.

    Where some findings are unknown, each set is counted over the records in which all of its
    symptoms are known, with margins of its own. The options are those of
    `noisyor.findings.reading.RecordFormat`. Records without ids are put into groups by the name of
    their file; findings in memory count as one file with an empty name.

    With a `client` (a `distributed.Client` of Dask) files, or a DataFrame of Dask, are counted on
    its cluster: the same integers. With `skip_broken`, files that cannot be read there are left
    out, each as a whole, and a warning names them.

    >>> from noisyor import datasets
    >>> network = datasets.figure1(seed=0)
    >>> moments = count_moments(network.sample(1000, seed=1), MomentPlan.coupled(network.structure))
    >>> moments
    Moments(1,000 records in 50 groups, MomentPlan(5 symptoms, 8 pairs, 0 triplets))
    """
    if not isinstance(n_groups, int | np.integer) or not 1 <= n_groups <= MOST_GROUPS:
        raise ParameterError(f"n_groups must be at least 1 and at most {MOST_GROUPS}.")
    if threads is not None and (not isinstance(threads, int | np.integer) or threads < 1):
        raise ParameterError(f"threads must be a whole number from 1, not {threads!r}.")
    is_here = isinstance(source, Findings) or hasattr(source, "__arrow_c_stream__")
    if client is not None and not is_here:
        from noisyor.moments.cluster import count_on_cluster

        moments, _ = count_on_cluster(
            client, source, plan, RecordFormat(**options), n_groups=n_groups, progress=progress,
            skip_broken=skip_broken,
        )  # fmt: skip
        return moments
    if skip_broken:
        raise ParameterError("skip_broken is for work on a cluster: give a client.")
    counter = MomentCounter(plan, n_groups, threads)
    if isinstance(source, Findings):
        if options:
            raise ParameterError(f"findings in memory need no options to read: {some_of(options)}.")
        if source.structure.symptoms != plan.structure.symptoms:
            raise StructureError("the findings and the plan have different symptoms.")
        counter.add_blocks("", source.blocks, progress)
    else:
        form = RecordFormat(**options)
        for stream in record_streams(source, plan.structure, form):
            counter.add_blocks(stream.file_name, stream.blocks, progress)
    return counter.take()


class MomentCounter:
    """Counts blocks of records as they come; `take` gives the moments so far and starts anew."""

    def __init__(self, plan: MomentPlan, n_groups: int, threads: int | None = None) -> None:
        self._plan = plan
        self._n_groups = n_groups
        self._tally = Tally(plan, n_groups, threads or os.cpu_count() or 1)
        self._gathered = GatheredPlanes(plan.structure, n_groups, self._tally)

    def add_blocks(
        self,
        file_name: str,
        blocks: Iterable[Block],
        progress: Progress | None = None,
        *,
        first_row: int = 0,
    ) -> None:
        """Count the records of one file, given in order, from some row of it on."""
        row = first_row
        for block in aligned(blocks, self._plan.structure, -first_row % 64):
            if block.record_ids is not None:
                self._gathered.add_by_id(block, row)
            else:
                for segment in row_segments(file_name, row, block.n_records, self._n_groups):
                    self._add_segment(block, segment)
            row += block.n_records
            if progress is not None:
                progress(block.n_records)

    def _add_segment(self, block: Block, segment: Segment) -> None:
        first, last = segment.start // 64, words_for(segment.stop)
        n_records = segment.stop - segment.start
        if last - first < SHORT_WORDS:
            self._gathered.add_words(block, segment)
        else:
            valid = valid_bits(n_records, last - first)
            piece = Piece(block.present, block.unknown, first, last, valid, segment.group)
            self._tally.add(piece)

    def take(self) -> Moments:
        """Return all counts since the last call."""
        self._gathered.flush_all()
        return self._tally.take()

    def discard(self) -> None:
        """Forget all counts since the last `take`."""
        self._gathered = GatheredPlanes(self._plan.structure, self._n_groups, self._tally)
        self._tally.discard()


def aligned(blocks: Iterable[Block], structure: Structure, lead: int = 0) -> Iterator[Block]:
    """Give blocks that each start at a multiple of 64 records, refilling those that do not.

    With a `lead`, the first block holds that many records, and the second one starts at a multiple.
    """
    builder = BlockBuilder(structure)
    remaining = iter(blocks)
    if lead:
        yield from itertools.islice(remaining, 1)
    for block in remaining:
        if not builder.filled and block.n_records % 64 == 0:
            yield block
            continue
        present, unknown = block.unpacked()
        start = 0
        while start < block.n_records:
            stop = min(block.n_records, start + builder.room)
            builder.append_flags(
                present[start:stop],
                None if unknown is None else unknown[start:stop],
                None if block.record_ids is None else block.record_ids[start:stop],
            )
            start = stop
            if not builder.room:
                yield builder.take_block()
    yield from builder.last_block()
