"""The counts so far, and the threads that add to them.

A plane is counted in one of three ways: by combining columns, many records at a time; by looking
up the pairs of each record's findings, where records have few; and with margins, where some
findings are unknown.
"""

import functools
import math
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.findings.blocks import Words
from noisyor.memory import announce
from noisyor.moments.min_count import QUARTET_SUBSETS
from noisyor.moments.moments import Margins, Moments, counter_type, shapes_of
from noisyor.moments.plan import MomentPlan
from noisyor.parallel import in_threads, return_pool, take_pool

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

    @property
    def n_words(self) -> int:
        """How many words these are."""
        return self.last - self.first

    @property
    def has_unknown(self) -> bool:
        """Whether a finding is unknown."""
        unknown = self.unknown
        return unknown is not None and bool(unknown[:, self.first : self.last].any())

    @property
    def n_records(self) -> int:
        """How many records these are."""
        return int(np.bitwise_count(self.valid).sum())


class Tally:
    """Counts of a plan per group, added to slice by slice.

    Each slice is counted by one thread, several at a time, while the next are being made. Two
    slices of one group would write to the same counts: they take turns, and where groups are few
    there are several copies of their counts, which are added up in the end.
    """

    SHORTEST, LONGEST = 64, 128
    """Words of a slice. A call costs as much as counting some tens of words: slices that are
    shorter wait for others of their group, and are counted together, so many words at most."""

    def __init__(self, plan: MomentPlan, n_groups: int, n_jobs: int) -> None:
        self._plan = plan
        self._n_groups = n_groups
        self._n_jobs = n_jobs
        # As many counts as slices that are not yet counted: few meet, and no copy is added in vain.
        self._n_copies = -(-2 * n_jobs // n_groups) if n_jobs > 1 else 1
        _, n_pairs, n_triplets, n_quartets = plan.sizes
        more = f" and {n_quartets:,} quartets" if n_quartets else ""
        announce(
            4.0 * sum(plan.sizes) * n_groups * self._n_copies,
            f"counting {n_pairs:,} pairs, {n_triplets:,} triplets{more} in {n_groups:,} groups",
            "take fewer groups (--groups), or fewer symptoms",
        )
        self._locks = [threading.Lock() for _ in range(n_groups * self._n_copies)]
        self._pool: ThreadPoolExecutor | None = None
        self._pending: deque[Future[None]] = deque()
        self._n_submitted = 0
        self._sets = visited_sets(plan)
        self._workspaces = Workspaces()
        self._start()

    def _start(self) -> None:
        rows = self._n_groups * self._n_copies
        self._complete = Accumulator(self._plan, rows, with_margins=False)
        self._partial: Accumulator | None = None
        self._short: list[list[PlaneSlice]] = [[] for _ in range(self._n_groups)]
        self._n_short = [0] * self._n_groups

    def add(self, part: PlaneSlice) -> None:
        """Count a part, whose arrays must not change any more."""
        group, n_words = part.group, part.n_words
        if n_words >= self.SHORTEST:
            self._submit([part])
            return
        if self._n_short[group] + n_words > self.LONGEST:
            self._submit_short(group)
        self._short[group].append(part)
        self._n_short[group] += n_words

    def _submit_short(self, group: int) -> None:
        parts, self._short[group], self._n_short[group] = self._short[group], [], 0
        if parts:
            self._submit(parts)

    def _submit(self, parts: list[PlaneSlice]) -> None:
        """Have parts of one group counted together."""
        self._n_submitted += 1
        row = parts[0].group + self._n_groups * (self._n_submitted % self._n_copies)
        has_unknown = any(part.has_unknown for part in parts)
        if has_unknown and self._partial is None:
            self._partial = Accumulator(self._plan, len(self._locks), with_margins=True)
        counts = self._partial if has_unknown else self._complete
        assert counts is not None
        n_records = sum(part.n_records for part in parts)
        if counts.must_widen(row, n_records):
            self._wait(0)
            counts.widen()
        counts.records[row] += n_records
        if self._n_jobs == 1:
            self._count(parts, counts, row, n_records)
            return
        self._wait(2 * self._n_jobs - 1)  # so that a reader never outruns the counting
        self._pool = self._pool or take_pool(self._n_jobs)
        self._pending.append(self._pool.submit(self._count, parts, counts, row, n_records))

    def _wait(self, n_left: int) -> None:
        while len(self._pending) > n_left:
            self._pending.popleft().result()

    def _end(self) -> None:
        """Wait until all is counted that was submitted."""
        self._wait(0)
        if self._pool is not None:
            return_pool(self._pool, self._n_jobs)
            self._pool = None

    def _count(
        self, parts: list[PlaneSlice], counts: "Accumulator", row: int, n_records: int
    ) -> None:
        part = parts[0] if len(parts) == 1 else self._workspaces.joined(parts)
        with self._locks[row]:
            if counts.margins:
                self._count_with_margins(part, counts, row)
                return
            most_listed = self._most_listed(n_records, part.n_words)
            n_findings = self._count_columns(part, counts, row, most_listed)
            if n_findings <= most_listed:
                self._count_listed(part, counts, row)

    def _count_columns(
        self, part: PlaneSlice, counts: "Accumulator", row: int, most_listed: int = -1
    ) -> int:
        from noisyor.moments.count_kernels import ColumnCounts, count_columns

        span = part.present, part.first, part.last
        near = self._workspaces.zeros(len(self._plan.pairs), len(self._plan.triplets))
        into = ColumnCounts(*counts.present, *near)
        return int(count_columns(*span, most_listed, self._sets, row, into))

    def _most_listed(self, n_records: int, n_words: int) -> int:
        """Return with how many findings every pair of a record's findings is looked up.

        With more, combining all columns is cheaper.
        """
        n_symptoms = self._plan.structure.n_symptoms
        most_are_wanted = 2 * len(self._plan.symptoms) > n_symptoms
        # A table of the pairs of more symptoms would take over 256 MB.
        if not n_records or not most_are_wanted or n_symptoms > 8192:
            return -1
        n_sets = len(self._plan.pairs) + 1.5 * len(self._plan.triplets)
        # Time of one thread to combine and count a word of columns (`noisyor reproduce speed`).
        combined = n_sets * n_words * 0.2e-9
        return math.ceil(math.sqrt(combined * n_records / LISTED_PAIR_SECONDS)) - 1

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
        self._count_columns(part, counts, row)
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
        for group in range(self._n_groups):
            self._submit_short(group)
        self._end()
        asked = self._plan, self._n_groups, self._n_jobs
        total = self._complete.moments(*asked)
        if self._partial is not None:
            total += self._partial.moments(*asked)
        self._start()
        return total

    def discard(self) -> None:
        """Forget all counts."""
        self._end()
        self._start()


class Workspaces:
    """Where threads put slices side by side, and count: memory of each, which is used again."""

    def __init__(self) -> None:
        self._of_thread = threading.local()

    def zeros(self, *sizes: int) -> list[NDArray[np.uint32]]:
        """Return arrays of zeros; whoever changes them makes them zeros again."""
        try:
            found: list[NDArray[np.uint32]] = self._of_thread.zeros
        except AttributeError:
            found = [np.zeros(size, dtype=np.uint32) for size in sizes]
            self._of_thread.zeros = found
        return found

    def joined(self, parts: list[PlaneSlice]) -> PlaneSlice:
        """Return slices of one group as one; it holds until the next call of this thread."""
        n_words = sum(part.n_words for part in parts)
        # A loop over a few whole vectors is faster than one that ends within a vector.
        width = _up_to(n_words, 4 if n_words <= 4 else 16)
        present = self._filled("present", [part.present for part in parts], parts, width)
        unknown = None
        if any(part.unknown is not None for part in parts):
            unknown = self._filled("unknown", [part.unknown for part in parts], parts, width)
        valid = np.zeros(width, dtype=np.uint64)
        valid[:n_words] = np.concatenate([part.valid for part in parts])
        return PlaneSlice(present, unknown, 0, width, valid, parts[0].group)

    def _filled(
        self, name: str, planes: list[Words | None], parts: list[PlaneSlice], width: int
    ) -> Words:
        """Return the parts' words of some planes; none are set where there is no plane."""
        n_symptoms = len(parts[0].present)
        memory = getattr(self._of_thread, name, None)
        if memory is None or len(memory) < n_symptoms * width:
            memory = np.empty(n_symptoms * width, dtype=np.uint64)
            setattr(self._of_thread, name, memory)
        filled, start = memory[: n_symptoms * width].reshape(n_symptoms, width), 0
        for plane, part in zip(planes, parts, strict=True):
            stop = start + part.n_words
            filled[:, start:stop] = 0 if plane is None else plane[:, part.first : part.last]
            start = stop
        filled[:, start:] = 0
        filled.flags.writeable = False  # like planes of blocks, for which kernels are compiled
        return filled


def _up_to(n: int, multiple: int) -> int:
    return -(-n // multiple) * multiple


class Accumulator:
    """Counts per group, of which there may be several copies."""

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

    def moments(self, plan: MomentPlan, n_groups: int, n_jobs: int) -> Moments:
        """Return the counts, those of copies added up."""
        records = self.records.reshape(-1, n_groups).sum(axis=0)
        dtype = counter_type(int(records.max(initial=0)))
        present, margins = (
            tuple(_joined(each, n_groups, dtype, n_jobs) for each in counts)
            for counts in (self.present, self.margins)
        )
        return Moments(plan, records, present, Margins(*margins) if margins else None)


def _joined(counts: NDArray[Any], n_groups: int, dtype: Any, n_jobs: int) -> NDArray[Any]:
    """Add up the copies of each group's counts."""
    if len(counts) == n_groups:
        return counts
    copies = counts.reshape(len(counts) // n_groups, n_groups, *counts.shape[1:])
    total = np.empty(copies.shape[1:], dtype=dtype)

    def add_up(group: int) -> None:
        copies[:, group].sum(axis=0, out=total[group])

    in_threads(add_up, range(n_groups), n_jobs)
    return total


def visited_sets(plan: MomentPlan) -> Any:
    """Return the `ColumnSets` of a plan: in the order in which columns are combined."""
    from noisyor.moments.count_kernels import ColumnSets

    # The last to write its number is the first triplet that has a pair.
    first_at, backwards = np.full(len(plan.pairs), -1), plan.triplet_rows.ravel()[::-1]
    first_at[backwards] = np.arange(len(backwards))[::-1]
    lone, owned = np.flatnonzero(first_at < 0), np.flatnonzero(first_at >= 0)
    owned_pairs = np.full(plan.triplet_rows.shape, -1, dtype=np.int32)
    owned_pairs.ravel()[first_at[owned]] = owned
    is_owner = (owned_pairs >= 0).any(axis=1)
    return ColumnSets(
        plan.symptoms.astype(np.int32), plan.pairs.astype(np.int32),
        lone[_tile_order(plan.pairs[lone])].astype(np.int32), plan.triplets.astype(np.int32),
        np.flatnonzero(is_owner).astype(np.int32), owned_pairs,
        np.flatnonzero(~is_owner).astype(np.int32), plan.quartets.astype(np.int32),
    )  # fmt: skip


def _tile_order(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order that visits sorted pairs tile by tile, whose rows stay in the caches nearby.

    A stable sort by tiles alone: numbers of 16 bits are sorted in one pass.
    """
    first, second = (pairs // 32).T
    tiles = first * (second.max(initial=0) + 1) + second
    is_narrow = tiles.max(initial=0) < 1 << 16
    return np.argsort(tiles.astype(np.uint16) if is_narrow else tiles, kind="stable")
