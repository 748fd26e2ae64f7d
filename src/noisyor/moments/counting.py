"""Counting moments: one pass over records of any amount, on all cores, in bounded memory.

Records come in blocks. Rows of one group that stand together are counted where they are; shorter
runs, and records that go by their ids, are gathered into a plane per group first and counted when
it is full. Threads share the sets, not the records, so that each count has one place.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError, StructureError
from noisyor.findings import Findings
from noisyor.findings.blocks import BLOCK_RECORDS, Block, BlockBuilder, Words, words_for
from noisyor.findings.reading import ReadOptions, RecordFormat, record_streams
from noisyor.moments.groups import N_GROUPS, Segment, id_groups, row_segments
from noisyor.moments.moments import Margins, Moments, counter_type
from noisyor.moments.plan import MomentPlan
from noisyor.structure import Structure

Progress = Callable[[int], None]
"""Called with the number of records counted since the last call."""

TILE_SYMPTOMS = 128
"""Pairs are visited tile by tile, so that the rows of a tile stay in the level-2 cache."""
SHORT_WORDS = 64
"""Runs of fewer words are gathered: a call costs as much as counting some tens of words."""
PARALLEL_WORDS = 1 << 18
"""Pieces with fewer words to combine are counted by one thread."""
DENSE_WORD_SECONDS = 0.17e-9
"""Time to combine and count a word of two columns."""
LISTED_PAIR_SECONDS = 4e-9
"""Time to look up one pair of present findings in a record's list."""
MOST_TABLE_SYMPTOMS = 8192
"""Structures with more symptoms have no table of pairs: it would take over 256 MB."""


def count_moments(
    source: Any,
    plan: MomentPlan,
    *,
    n_groups: int = N_GROUPS,
    progress: Progress | None = None,
    threads: int | None = None,
    **options: Unpack[ReadOptions],
) -> Moments:
    """Count a plan's sets over records: findings, a path or a list of paths, or a table.

    Where some findings are unknown, each set is counted over the records in which all of its
    symptoms are known, with margins of its own. The options are those of
    `noisyor.findings.reading.RecordFormat`.

    >>> from noisyor import datasets
    >>> network = datasets.figure1(seed=0)
    >>> moments = count_moments(network.sample(1000, seed=1), MomentPlan.coupled(network.structure))
    >>> moments
    Moments(1,000 records in 50 groups, MomentPlan(5 symptoms, 8 pairs, 0 triplets))
    """
    if n_groups < 1:
        raise ParameterError(f"n_groups must be at least 1, not {n_groups}.")
    counter = MomentCounter(plan, n_groups, threads)
    if isinstance(source, Findings):
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
        self._tally = _Tally(plan, n_groups, threads or os.cpu_count() or 1)
        self._gathered = _Gathered(plan.structure, n_groups, self._tally)

    def add_blocks(
        self, file_name: str, blocks: Iterable[Block], progress: Progress | None = None
    ) -> None:
        """Count the records of one file, given in order."""
        row = 0
        for block in aligned(blocks, self._plan.structure):
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
            valid = _valid_bits(n_records, last - first)
            self._tally.add(block.present, block.unknown, first, last, segment.group, valid)

    def take(self) -> Moments:
        """Return all counts since the last call."""
        self._gathered.flush_all()
        return self._tally.take()

    def discard(self) -> None:
        """Forget all counts since the last `take`."""
        self._gathered = _Gathered(self._plan.structure, self._n_groups, self._tally)
        self._tally.discard()


def aligned(blocks: Iterable[Block], structure: Structure) -> Iterator[Block]:
    """Give blocks that each start at a multiple of 64 records, refilling those that do not."""
    builder = BlockBuilder(structure)
    for block in blocks:
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


def _valid_bits(n_records: int, n_words: int) -> Words:
    """Return words in which the first so many bits are set."""
    valid = np.zeros(n_words, dtype=np.uint64)
    valid[: n_records // 64] = ~np.uint64(0)
    if n_records % 64:
        valid[n_records // 64] = np.uint64((1 << (n_records % 64)) - 1)
    return valid


class _Gathered:
    """A plane per group that is filled from short runs of rows or from single records."""

    def __init__(self, structure: Structure, n_groups: int, tally: "_Tally") -> None:
        self._shape = n_groups, structure.n_symptoms, BLOCK_RECORDS // 64
        self._tally = tally
        self._present: Words | None = None
        self._unknown: Words | None = None
        self._valid = np.zeros((n_groups, self._shape[2]), dtype=np.uint64)
        self._filled = np.zeros(n_groups, dtype=np.int64)

    def _planes(self) -> Words:
        if self._present is None:
            self._present = np.zeros(self._shape, dtype=np.uint64)
        return self._present

    def _unknown_planes(self) -> Words:
        if self._unknown is None:
            self._unknown = np.zeros(self._shape, dtype=np.uint64)
        return self._unknown

    def add_words(self, block: Block, segment: Segment) -> None:
        """Add a run of rows, word by word."""
        group = segment.group
        words = slice(segment.start // 64, words_for(segment.stop))
        n_words = words.stop - words.start
        if words_for(int(self._filled[group])) + n_words > self._shape[2]:
            self.flush(group)
        start = words_for(int(self._filled[group]))
        target = slice(start, start + n_words)
        self._planes()[group, :, target] = block.present[:, words]
        if block.unknown is not None:
            self._unknown_planes()[group, :, target] = block.unknown[:, words]
        self._valid[group, target] = _valid_bits(segment.stop - segment.start, n_words)
        self._filled[group] = 64 * target.stop

    def add_by_id(self, block: Block, first_row: int) -> None:
        """Add records to the groups of their ids, a bit each."""
        groups = id_groups(block.record_ids, first_row, self._shape[0])
        for start in range(0, block.n_records, BLOCK_RECORDS):
            part = slice(start, min(start + BLOCK_RECORDS, block.n_records))
            positions = self._positions(groups[part])
            self._scatter(block.present, self._planes(), block.n_records, part, groups, positions)
            if block.unknown is not None:
                planes = self._unknown_planes()
                self._scatter(block.unknown, planes, block.n_records, part, groups, positions)

    def _positions(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give each record the next free bit of its group's plane; flush what would overflow."""
        new = np.bincount(groups, minlength=self._shape[0])
        for group in np.flatnonzero(self._filled + new > BLOCK_RECORDS):
            self.flush(int(group))
        order = np.argsort(groups, kind="stable")
        starts = np.cumsum(new) - new
        positions = np.empty(len(groups), dtype=np.int64)
        positions[order] = np.arange(len(groups)) - starts[groups[order]]
        positions += self._filled[groups]
        bits = np.uint64(1) << (positions & 63).astype(np.uint64)
        np.bitwise_or.at(self._valid, (groups, positions >> 6), bits)
        self._filled += new
        return positions

    @staticmethod
    def _scatter(
        plane: Words,
        planes: Words,
        n_records: int,
        part: slice,
        groups: NDArray[np.int64],
        positions: NDArray[np.int64],
    ) -> None:
        from noisyor.findings.kernels import list_bits
        from noisyor.moments.kernels import scatter_records

        offsets, listed = list_bits(plane, n_records)
        scatter_records(
            offsets[part.start : part.stop + 1], listed, groups[part], positions, planes
        )

    def flush(self, group: int) -> None:
        """Count a group's plane and empty it."""
        words = words_for(int(self._filled[group]))
        if words:
            unknown = None if self._unknown is None else self._unknown[group]
            valid = self._valid[group, :words].copy()
            self._tally.add(self._planes()[group], unknown, 0, words, group, valid)
            self._planes()[group, :, :words] = 0
            if unknown is not None:
                unknown[:, :words] = 0
        self._valid[group] = 0
        self._filled[group] = 0

    def flush_all(self) -> None:
        """Count all planes."""
        for group in range(self._shape[0]):
            self.flush(group)


class _Tally:
    """The counts so far, and the threads that add to them."""

    def __init__(self, plan: MomentPlan, n_groups: int, threads: int) -> None:
        self._plan = plan
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads)
        self._symptoms = plan.symptoms.astype(np.int32)
        self._tile_order = _tile_order(plan.pairs)
        self._pairs = plan.pairs[self._tile_order].astype(np.int32)
        self._triplets = plan.triplets.astype(np.int32)
        self._listed_sets: _ListedSets | None = None
        self._n_groups = n_groups
        self.discard()

    def discard(self) -> None:
        """Start with no counts."""
        self._complete = _Accumulator(self._plan, self._n_groups, with_margins=False)
        self._partial: _Accumulator | None = None

    def add(
        self, present: Words, unknown: Words | None, first: int, last: int, group: int, valid: Words
    ) -> None:
        """Count words `first` to `last` of a plane, whose records are the bits set in `valid`."""
        n_records = int(np.bitwise_count(valid).sum())
        if unknown is None or not unknown[:, first:last].any():
            self._complete.grow(group, n_records)
            self._add_complete(present, first, last, group, n_records)
            return
        if self._partial is None:
            self._partial = _Accumulator(self._plan, self._n_groups, with_margins=True)
        self._partial.grow(group, n_records)
        known = np.zeros_like(present)
        np.bitwise_and(~unknown[:, first:last], valid, out=known[:, first:last])
        self._add_partial(present, known, first, last, group)

    def _add_complete(
        self, present: Words, first: int, last: int, group: int, n_records: int
    ) -> None:
        from noisyor.moments import kernels

        counts = self._complete
        before = counts.symptoms[group].astype(np.int64)
        kernels.count_symptoms(present, first, last, self._symptoms, counts.symptoms[group])
        n_findings = int((counts.symptoms[group] - before).sum())
        if self._listing_is_cheaper(n_findings, n_records, last - first):
            self._add_listed(present, first, last, group)
            return

        def count(pairs: slice, triplets: slice) -> None:
            kernels.count_pairs(
                present, first, last, self._pairs[pairs], counts.pairs[group, pairs]
            )
            kernels.count_triplets(
                present, first, last, self._triplets[triplets], counts.triplets[group, triplets]
            )

        self._in_parallel(count, last - first)

    def _listing_is_cheaper(self, n_findings: int, n_records: int, n_words: int) -> bool:
        """Compare looking up every pair of a record's findings with combining all columns."""
        if self._plan.structure.n_symptoms > MOST_TABLE_SYMPTOMS or not n_records:
            return False
        mean = n_findings / n_records
        # Twice the square of the mean: findings of real records vary a lot in number.
        listed = n_records * mean * mean * LISTED_PAIR_SECONDS
        n_sets = len(self._pairs) + 1.5 * len(self._triplets)
        return listed < n_sets * n_words * DENSE_WORD_SECONDS / self._threads

    def _add_listed(self, present: Words, first: int, last: int, group: int) -> None:
        from noisyor.findings.kernels import list_bits
        from noisyor.moments.kernels import count_listed

        if self._listed_sets is None:
            self._listed_sets = _ListedSets(self._plan, self._pairs)
        words = np.ascontiguousarray(present[:, first:last])
        offsets, listed = list_bits(words, 64 * (last - first))
        sets, counts = self._listed_sets, self._complete
        count_listed(
            offsets,
            listed,
            sets.pair_at,
            counts.pairs[group],
            sets.offsets,
            sets.thirds,
            sets.triplets,
            counts.triplets[group],
        )

    def _add_partial(self, present: Words, known: Words, first: int, last: int, group: int) -> None:
        from noisyor.moments import kernels

        counts = self._partial
        assert counts is not None
        margins = counts.margins
        assert margins is not None
        kernels.count_symptoms(present, first, last, self._symptoms, counts.symptoms[group])
        kernels.count_symptoms(known, first, last, self._symptoms, margins.symptoms[group])

        def count(pairs: slice, triplets: slice) -> None:
            span, sets2, sets3 = (first, last), self._pairs[pairs], self._triplets[triplets]
            kernels.count_pairs(present, *span, sets2, counts.pairs[group, pairs])
            kernels.count_pair_margins(present, known, *span, sets2, margins.pairs[group, pairs])
            kernels.count_triplets(present, *span, sets3, counts.triplets[group, triplets])
            kernels.count_triplet_margins(
                present, known, *span, sets3, margins.triplets[group, triplets]
            )

        self._in_parallel(count, last - first)

    def _in_parallel(self, count: Callable[[slice, slice], None], n_words: int) -> None:
        """Share the pairs and triplets among the threads."""
        n_pairs, n_triplets = len(self._pairs), len(self._triplets)
        parts = self._threads if (n_pairs + n_triplets) * n_words > PARALLEL_WORDS else 1
        slices = [
            tuple(slice(n * part // parts, n * (part + 1) // parts) for n in (n_pairs, n_triplets))
            for part in range(parts)
        ]
        if parts == 1:
            count(*slices[0])
        else:
            list(self._pool.map(count, *zip(*slices, strict=True)))

    def take(self) -> Moments:
        """Return the counts with the pairs in the plan's order, and start with none."""
        total = self._complete.moments(self._plan, self._tile_order)
        if self._partial is not None:
            total += self._partial.moments(self._plan, self._tile_order)
        self.discard()
        return total


class _Accumulator:
    """Counts per group; pairs stand in the order in which they are visited."""

    def __init__(self, plan: MomentPlan, n_groups: int, *, with_margins: bool) -> None:
        dtype = counter_type(0)
        self.records = np.zeros(n_groups, dtype=np.int64)
        self.symptoms, self.pairs, self.triplets = (
            np.zeros((n_groups, size), dtype=dtype) for size in plan.sizes
        )
        self.margins = None
        if with_margins:
            shapes = [(n_groups, size) for size in plan.sizes]
            self.margins = Margins(
                np.zeros(shapes[0], dtype=dtype),
                np.zeros((*shapes[1], 3), dtype=dtype),
                np.zeros((*shapes[2], 7), dtype=dtype),
            )

    def grow(self, group: int, n_records: int) -> None:
        """Count records into a group, and widen the counters before they could overflow."""
        self.records[group] += n_records
        dtype = counter_type(int(self.records[group]))
        if dtype != self.symptoms.dtype and dtype is np.uint64:
            self.symptoms, self.pairs, self.triplets = (
                counts.astype(dtype) for counts in (self.symptoms, self.pairs, self.triplets)
            )
            if self.margins is not None:
                self.margins = Margins(*(counts.astype(dtype) for counts in self.margins))

    def moments(self, plan: MomentPlan, tile_order: NDArray[np.int64]) -> Moments:
        """Return the counts with the pairs in the plan's order; to be asked once."""
        per_pair = [self.pairs] + ([] if self.margins is None else [self.margins.pairs])
        for counts in per_pair:
            for group in counts:  # one at a time: a second copy of all would double the memory
                group[tile_order] = group.copy()
        present = self.symptoms, self.pairs, self.triplets
        return Moments(plan, self.records, present, self.margins)


class _ListedSets:
    """Pairs and triplets in the form that counting from lists of findings needs."""

    def __init__(self, plan: MomentPlan, pairs: NDArray[np.int32]) -> None:
        n_symptoms = plan.structure.n_symptoms
        self.pair_at = np.full((n_symptoms, n_symptoms), -1, dtype=np.int32)
        self.pair_at[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs), dtype=np.int32)
        of_triplet = self.pair_at[plan.triplets[:, 0], plan.triplets[:, 1]]
        order = np.argsort(of_triplet, kind="stable")
        self.offsets = np.searchsorted(of_triplet[order], np.arange(len(pairs) + 1))
        self.thirds = plan.triplets[order, 2].astype(np.int32)
        self.triplets = order.astype(np.int32)


def _tile_order(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order that visits pairs square tile by square tile."""
    tiles = pairs // TILE_SYMPTOMS
    return np.lexsort((pairs[:, 1], pairs[:, 0], tiles[:, 1], tiles[:, 0]))
