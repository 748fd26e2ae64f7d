"""The counts so far, and the threads that add to them.

A plane is counted in one of three ways: by combining columns, many records at a time; by looking
up the pairs of each record's findings, where records have few; and with margins, where some
findings are unknown.
"""

import functools
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.findings.blocks import Words
from noisyor.memory import announce
from noisyor.moments.min_count import QUARTET_SUBSETS
from noisyor.moments.moments import N_ORDERS, Margins, Moments, counter_type, shapes_of
from noisyor.moments.plan import MomentPlan
from noisyor.parallel import in_threads

IS_MEMBER = np.array([[k in subset for k in range(4)] for subset in QUARTET_SUBSETS])
"""Which symptoms of a quartet are in each subset that its margins count."""
LISTED_PAIR_SECONDS = 14e-9
"""Time a record, over the square of its findings, to look up all pairs (`reproduce speed`)."""


class PlaneSlice(NamedTuple):
    """Some words of a plane whose records belong to one group."""

    present: Words
    unknown: Words | None
    first: int
    last: int
    valid: Words
    """One word for each from `first` to `last`, with the bits set that are records."""
    group: int


class Tally:
    """Counts of a plan per group, added to slice by slice.

    Each slice is counted by one thread, several at a time, while the next are being made. Two
    slices of one group would write to the same counts: they take turns, and where groups are few
    there are several copies of their counts, which are added up in the end.
    """

    SHORTEST = 64
    """Words of a slice that is better counted where it is, not gathered with others before: a call
    costs as much as counting some tens of words."""

    def __init__(self, plan: MomentPlan, n_groups: int, n_jobs: int) -> None:
        self._plan = plan
        self._n_groups = n_groups
        self._n_jobs = n_jobs
        self._n_copies = -(-4 * n_jobs // n_groups) if n_jobs > 1 else 1
        _, n_pairs, n_triplets, n_quartets = plan.sizes
        more = f" and {n_quartets:,} quartets" if n_quartets else ""
        announce(
            4.0 * sum(plan.sizes) * n_groups * self._n_copies,
            f"counting {n_pairs:,} pairs, {n_triplets:,} triplets{more} in {n_groups:,} groups",
            "take fewer groups (--groups), or fewer symptoms",
        )
        self._locks = [threading.Lock() for _ in range(n_groups * self._n_copies)]
        self._pool = ThreadPoolExecutor(n_jobs)
        self._pending: deque[Future[None]] = deque()
        self._n_slices = 0
        self._sets = VisitedSets(plan)
        self._start()

    def _start(self) -> None:
        rows = self._n_groups * self._n_copies
        self._complete = Accumulator(self._plan, rows, with_margins=False)
        self._partial: Accumulator | None = None

    def add(self, part: PlaneSlice) -> None:
        """Count a part, whose arrays must not change any more."""
        self._n_slices += 1
        row = part.group + self._n_groups * (self._n_slices % self._n_copies)
        unknown = part.unknown
        has_unknown = unknown is not None and unknown[:, part.first : part.last].any()
        if has_unknown and self._partial is None:
            self._partial = Accumulator(self._plan, len(self._locks), with_margins=True)
        counts = self._partial if has_unknown else self._complete
        assert counts is not None
        n_records = int(np.bitwise_count(part.valid).sum())
        if counts.must_widen(row, n_records):
            self._wait(0)
            counts.widen()
        counts.records[row] += n_records
        if self._n_jobs == 1:
            self._count(part, counts, row, n_records)
        else:
            self._wait(2 * self._n_jobs - 1)  # so that a reader never outruns the counting
            self._pending.append(self._pool.submit(self._count, part, counts, row, n_records))

    def _wait(self, n_left: int) -> None:
        while len(self._pending) > n_left:
            self._pending.popleft().result()

    def _count(self, part: PlaneSlice, counts: "Accumulator", row: int, n_records: int) -> None:
        with self._locks[row]:
            if counts.margins:
                self._count_with_margins(part, counts, row)
                return
            n_findings = self._count_symptoms(part, counts, row)
            if self.listing_is_cheaper(n_findings, n_records, part.last - part.first):
                self._count_listed(part, counts, row)
            else:
                self._count_columns(part, counts, row)
            self._count_quartets(part, counts, row)

    def _count_symptoms(self, part: PlaneSlice, counts: "Accumulator", row: int) -> int:
        """Count single symptoms; return how many findings there were."""
        from noisyor.moments.count_kernels import count_symptoms

        found = np.zeros(len(self._sets.symptoms), dtype=np.int64)
        count_symptoms(part.present, part.first, part.last, self._sets.symptoms, found)
        symptoms = counts.present[0]
        symptoms[row] += found.astype(symptoms.dtype)
        return int(found.sum())

    def _count_columns(self, part: PlaneSlice, counts: "Accumulator", row: int) -> None:
        from noisyor.moments import count_kernels as kernels

        sets, span = self._sets, (part.present, part.first, part.last)
        _, pairs, triplets, _ = (present[row] for present in counts.present)
        n_lone = sets.n_lone_pairs
        kernels.count_pairs(*span, sets.pairs[:n_lone], pairs[:n_lone])
        kernels.count_triplets(*span, sets.triplets, sets.plain_triplets, triplets)
        kernels.count_triplets_and_pairs(
            *span, sets.triplets, sets.owners, sets.owned_pairs, triplets, pairs
        )

    def _count_quartets(self, part: PlaneSlice, counts: "Accumulator", row: int) -> None:
        """Combine the columns of each quartet: these are few, and no list would be shorter."""
        from noisyor.moments.count_kernels import count_quartets

        if len(self._sets.quartets):
            span = part.present, part.first, part.last
            count_quartets(*span, self._sets.quartets, counts.present[3][row])

    def listing_is_cheaper(self, n_findings: int, n_records: int, n_words: int) -> bool:
        """Compare looking up every pair of a record's findings with combining all columns."""
        n_symptoms = self._plan.structure.n_symptoms
        most_are_wanted = 2 * len(self._plan.symptoms) > n_symptoms
        # A table of the pairs of more symptoms would take over 256 MB.
        if not n_records or not most_are_wanted or n_symptoms > 8192:
            return False
        listed = n_findings * n_findings / n_records * LISTED_PAIR_SECONDS
        n_sets = len(self._plan.pairs) + 1.5 * len(self._plan.triplets)
        # Time of one thread to combine and count a word of columns (`noisyor reproduce speed`).
        return listed < n_sets * n_words * 0.2e-9

    def _count_listed(self, part: PlaneSlice, counts: "Accumulator", row: int) -> None:
        from noisyor.findings.bit_kernels import list_bits
        from noisyor.moments.count_kernels import count_listed

        words = np.ascontiguousarray(part.present[:, part.first : part.last])
        listed = list_bits(words, 64 * words.shape[1])
        _, pairs, triplets, _ = counts.present
        count_listed(*listed, self._listed_sets, pairs[row], triplets[row])

    @functools.cached_property
    def _listed_sets(self) -> Any:
        """Pairs and triplets in the form that counting from lists of findings needs."""
        from noisyor.moments.count_kernels import ListedSets

        pairs, triplets = self._sets.pairs, self._sets.triplets
        n_symptoms = self._plan.structure.n_symptoms
        pair_at = np.full((n_symptoms, n_symptoms), -1, dtype=np.int32)
        pair_at[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs), dtype=np.int32)
        first_pairs = pair_at[triplets[:, 0], triplets[:, 1]]
        order = np.argsort(first_pairs, kind="stable").astype(np.int32)
        offsets = np.searchsorted(first_pairs[order], np.arange(len(pairs) + 1))
        return ListedSets(pair_at, offsets, triplets[order, 2], order)

    def _count_with_margins(self, part: PlaneSlice, counts: "Accumulator", row: int) -> None:
        from noisyor.moments import count_kernels as kernels

        sets, words = self._sets, slice(part.first, part.last)
        symptoms, pairs, triplets, quartets = (margins[row] for margins in counts.margins)
        assert part.unknown is not None
        known = np.zeros_like(part.present)
        np.bitwise_and(~part.unknown[:, words], part.valid, out=known[:, words])
        self._count_symptoms(part, counts, row)
        self._count_columns(part, counts, row)
        self._count_quartets(part, counts, row)
        span = part.first, part.last
        kernels.count_symptoms(known, *span, sets.symptoms, symptoms)
        kernels.count_pair_margins(part.present, known, *span, sets.pairs, pairs)
        kernels.count_triplet_margins(part.present, known, *span, sets.triplets, triplets)
        if len(sets.quartets):
            kernels.count_quartet_margins(
                part.present, known, *span, sets.quartets, IS_MEMBER, quartets
            )

    def take(self) -> Moments:
        """Return the counts with the pairs in the plan's order, and start with none."""
        self._wait(0)
        asked = self._plan, self._sets.pair_order, self._n_groups, self._n_jobs
        total = self._complete.moments(*asked)
        if self._partial is not None:
            total += self._partial.moments(*asked)
        self._start()
        return total

    def discard(self) -> None:
        """Forget all counts."""
        self._wait(0)
        self._start()


class Accumulator:
    """Counts per group; pairs stand in the order in which they are visited."""

    def __init__(self, plan: MomentPlan, n_groups: int, *, with_margins: bool) -> None:
        shapes, dtype = shapes_of(plan, n_groups), counter_type(0)
        self.records = np.zeros(n_groups, dtype=np.int64)
        self.present = [np.zeros(shape, dtype=dtype) for shape in shapes["present"]]
        wide = shapes["margins"] if with_margins else []
        self.margins = [np.zeros(shape, dtype=dtype) for shape in wide]
        """Empty where no finding is unknown."""

    def must_widen(self, row: int, n_records: int) -> bool:
        """Return True if so many more records could overflow the counters."""
        dtype = counter_type(int(self.records[row]) + n_records)
        return bool(np.dtype(dtype) > self.present[0].dtype)

    def widen(self) -> None:
        """Make the counters wide enough for any number of records."""
        self.present = [counts.astype(np.uint64) for counts in self.present]
        self.margins = [counts.astype(np.uint64) for counts in self.margins]

    def moments(
        self, plan: MomentPlan, pair_order: NDArray[np.int64], n_groups: int, n_jobs: int
    ) -> Moments:
        """Return the counts with the pairs in the plan's order; to be asked once."""
        records, *counts = (
            _joined(each, n_groups) for each in (self.records, *self.present, *self.margins)
        )

        def arrange(group: NDArray[Any]) -> None:
            group[pair_order] = group.copy()

        for pairs in counts[
            1::N_ORDERS
        ]:  # some at a time: a second copy of all would double the memory
            in_threads(arrange, list(pairs), n_jobs)
        margins = Margins(*counts[N_ORDERS:]) if counts[N_ORDERS:] else None
        return Moments(plan, records, tuple(counts[:N_ORDERS]), margins)


def _joined(counts: NDArray[Any], n_groups: int) -> NDArray[Any]:
    """Add up the copies of each group's counts."""
    if len(counts) == n_groups:
        return counts
    copies = counts.reshape(len(counts) // n_groups, n_groups, *counts.shape[1:])
    return np.asarray(copies.sum(axis=0, dtype=np.int64))


class VisitedSets:
    """The sets of a plan in the order in which columns are combined.

    A triplet's columns are at hand when it is counted, so it also counts those of its pairs that
    no triplet before it has counted: it owns them. The pairs that no triplet owns come first.
    """

    def __init__(self, plan: MomentPlan) -> None:
        self.symptoms = plan.symptoms.astype(np.int32)
        self.triplets = plan.triplets.astype(np.int32)
        self.quartets = plan.quartets.astype(np.int32)
        # The last to write its number is the first triplet that has a pair.
        first_at, backwards = np.full(len(plan.pairs), -1), plan.triplet_rows.ravel()[::-1]
        first_at[backwards] = np.arange(len(backwards))[::-1]
        lone, owned = np.flatnonzero(first_at < 0), np.flatnonzero(first_at >= 0)
        self.n_lone_pairs = len(lone)
        self.pair_order = np.concatenate([lone[_tile_order(plan.pairs[lone])], owned])
        self.pairs = plan.pairs[self.pair_order].astype(np.int32)
        self.owned_pairs = np.full(plan.triplet_rows.shape, -1, dtype=np.int32)
        self.owned_pairs.ravel()[first_at[owned]] = len(lone) + np.arange(len(owned))
        is_owner = (self.owned_pairs >= 0).any(axis=1)
        self.owners = np.flatnonzero(is_owner)
        self.plain_triplets = np.flatnonzero(~is_owner)


def _tile_order(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order that visits sorted pairs tile by tile, whose rows stay in the caches nearby.

    A stable sort by tiles alone: numbers of 16 bits are sorted in one pass.
    """
    first, second = (pairs // 32).T
    tiles = first * (second.max(initial=0) + 1) + second
    is_narrow = tiles.max(initial=0) < 1 << 16
    return np.argsort(tiles.astype(np.uint16) if is_narrow else tiles, kind="stable")
