"""The counts so far, and the threads that add to them.

A plane is counted in one of three ways: by combining columns, many records at a time; by looking
up the pairs of each record's findings, where records have few; and with margins, where some
findings are unknown.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from noisyor.findings.blocks import Words
from noisyor.moments.moments import Margins, Moments, counter_type
from noisyor.moments.plan import MomentPlan

TILE_SYMPTOMS = 32
"""Pairs are visited tile by tile, so that the rows of a tile stay in the caches nearby."""
PARALLEL_WORDS = 1 << 18
"""Pieces with fewer words to combine are counted by one thread."""
DENSE_WORD_SECONDS = 0.2e-9
"""Time of one thread to combine and count a word of two columns (measured by benchmarks)."""
LISTED_PAIR_SECONDS = 14e-9
"""Time a record, over the square of its findings, to look up all pairs (measured likewise)."""
MOST_TABLE_SYMPTOMS = 8192
"""Structures with more symptoms have no table of pairs: it would take over 256 MB."""


class Tally:
    """Counts of a plan per group, added to piece by piece."""

    def __init__(self, plan: MomentPlan, n_groups: int, threads: int) -> None:
        self._plan = plan
        self._n_groups = n_groups
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads)
        self._sets = VisitedSets(plan)
        self._listed_sets: ListedSets | None = None
        self.discard()

    def discard(self) -> None:
        """Start with no counts."""
        self._complete = Accumulator(self._plan, self._n_groups, with_margins=False)
        self._partial: Accumulator | None = None

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
            self._partial = Accumulator(self._plan, self._n_groups, with_margins=True)
        self._partial.grow(group, n_records)
        known = np.zeros_like(present)
        np.bitwise_and(~unknown[:, first:last], valid, out=known[:, first:last])
        self._add_with_margins(self._partial, present, known, first, last, group)

    def _add_complete(
        self, present: Words, first: int, last: int, group: int, n_records: int
    ) -> None:
        from noisyor.moments import kernels

        counts, sets = self._complete, self._sets
        before = counts.symptoms[group].astype(np.int64)
        kernels.count_symptoms(present, first, last, sets.symptoms, counts.symptoms[group])
        n_findings = int((counts.symptoms[group] - before).sum())
        if self.listing_is_cheaper(n_findings, n_records, last - first):
            self._add_listed(present, first, last, group)
            return

        def count(part: int, parts: int) -> None:
            lone, triplets, owners = (
                _share(n, part, parts)
                for n in (sets.n_lone_pairs, len(sets.plain_triplets), len(sets.owners))
            )
            kernels.count_pairs(present, first, last, sets.pairs[lone], counts.pairs[group, lone])
            kernels.count_triplets(
                present,
                first,
                last,
                sets.triplets,
                sets.plain_triplets[triplets],
                counts.triplets[group],
            )
            kernels.count_triplets_and_pairs(
                present,
                first,
                last,
                sets.triplets,
                sets.owners[owners],
                sets.owned_pairs,
                counts.triplets[group],
                counts.pairs[group],
            )

        self._in_parallel(count, last - first)

    def listing_is_cheaper(self, n_findings: int, n_records: int, n_words: int) -> bool:
        """Compare looking up every pair of a record's findings with combining all columns."""
        n_symptoms = self._plan.structure.n_symptoms
        most_are_wanted = 2 * len(self._plan.symptoms) > n_symptoms
        if not n_records or not most_are_wanted or n_symptoms > MOST_TABLE_SYMPTOMS:
            return False
        listed = n_findings * n_findings / n_records * LISTED_PAIR_SECONDS
        n_sets = len(self._plan.pairs) + 1.5 * len(self._plan.triplets)
        return listed < n_sets * n_words * DENSE_WORD_SECONDS / self._threads

    def _add_listed(self, present: Words, first: int, last: int, group: int) -> None:
        from noisyor.findings.kernels import list_bits
        from noisyor.moments.kernels import count_listed

        if self._listed_sets is None:
            self._listed_sets = ListedSets(self._plan, self._sets.pairs)
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

    def _add_with_margins(
        self,
        counts: "Accumulator",
        present: Words,
        known: Words,
        first: int,
        last: int,
        group: int,
    ) -> None:
        from noisyor.moments import kernels

        margins, sets = counts.margins, self._sets
        assert margins is not None
        kernels.count_symptoms(present, first, last, sets.symptoms, counts.symptoms[group])
        kernels.count_symptoms(known, first, last, sets.symptoms, margins.symptoms[group])

        def count(part: int, parts: int) -> None:
            pairs, triplets = (_share(len(s), part, parts) for s in (sets.pairs, sets.triplets))
            rows = np.arange(triplets.start, triplets.stop)
            span = first, last
            kernels.count_pairs(present, *span, sets.pairs[pairs], counts.pairs[group, pairs])
            kernels.count_pair_margins(
                present, known, *span, sets.pairs[pairs], margins.pairs[group, pairs]
            )
            kernels.count_triplets(present, *span, sets.triplets, rows, counts.triplets[group])
            kernels.count_triplet_margins(
                present, known, *span, sets.triplets[triplets], margins.triplets[group, triplets]
            )

        self._in_parallel(count, last - first)

    def _in_parallel(self, count: Callable[[int, int], None], n_words: int) -> None:
        """Share the sets among the threads, so that each count has one of them."""
        n_sets = len(self._plan.pairs) + len(self._plan.triplets)
        parts = self._threads if n_sets * n_words > PARALLEL_WORDS else 1
        if parts == 1:
            count(0, 1)
        else:
            list(self._pool.map(count, range(parts), [parts] * parts))

    def take(self) -> Moments:
        """Return the counts with the pairs in the plan's order, and start with none."""
        total = self._complete.moments(self._plan, self._sets.pair_order)
        if self._partial is not None:
            total += self._partial.moments(self._plan, self._sets.pair_order)
        self.discard()
        return total


def _share(n: int, part: int, parts: int) -> slice:
    return slice(n * part // parts, n * (part + 1) // parts)


class Accumulator:
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

    def moments(self, plan: MomentPlan, pair_order: NDArray[np.int64]) -> Moments:
        """Return the counts with the pairs in the plan's order; to be asked once."""
        per_pair = [self.pairs] + ([] if self.margins is None else [self.margins.pairs])
        for counts in per_pair:
            for group in counts:  # one at a time: a second copy of all would double the memory
                group[pair_order] = group.copy()
        present = self.symptoms, self.pairs, self.triplets
        return Moments(plan, self.records, present, self.margins)


class VisitedSets:
    """The sets of a plan in the order in which columns are combined.

    A triplet's columns are at hand when it is counted, so it also counts those of its pairs that
    no triplet before it has counted: it owns them. The pairs that no triplet owns come first.
    """

    def __init__(self, plan: MomentPlan) -> None:
        self.symptoms = plan.symptoms.astype(np.int32)
        self.triplets = plan.triplets.astype(np.int32)
        owned, first_at = np.unique(plan.triplet_rows.ravel(), return_index=True)
        is_lone = np.ones(len(plan.pairs), dtype=np.bool_)
        is_lone[owned] = False
        lone = np.flatnonzero(is_lone)
        self.n_lone_pairs = len(lone)
        self.pair_order = np.concatenate([lone[_tile_order(plan.pairs[lone])], owned])
        self.pairs = plan.pairs[self.pair_order].astype(np.int32)
        self.owned_pairs = np.full(plan.triplet_rows.shape, -1, dtype=np.int32)
        self.owned_pairs.ravel()[first_at] = len(lone) + np.arange(len(owned))
        is_owner = (self.owned_pairs >= 0).any(axis=1)
        self.owners = np.flatnonzero(is_owner)
        self.plain_triplets = np.flatnonzero(~is_owner)


class ListedSets:
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
