"""CardTally: counts of a plan on a graphics card, the same integers as `Tally` has.

Slices of planes are put side by side in one of two buffers, which is sent and counted while the
other is being filled. What does not fit the card's memory is tried with smaller buffers, and then
left to the processor.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import CardError, give_notice
from noisyor.gpu import Work, is_full, is_simulated, n_multiprocessors
from noisyor.gpu.arrays import from_card, on_card, zeros_on_card
from noisyor.moments.moments import Margins, Moments, sum_moments
from noisyor.moments.plan import MomentPlan
from noisyor.moments.tally import Accumulator, PlaneSlice, Tally
from noisyor.parallel import in_threads

WORDS_OF_BUFFER = 1024
"""So many times 64 records are sent at a time: with 4,075 symptoms 33 MB, which stay in the cache
of a large card while their sets are counted."""
TILE = 256
"""Symptoms that stand near each other: pairs of two tiles are counted together."""
SHORTEST = 16
"""Words of a run, at least: a block of threads must begin and end it."""
FEWEST_WORDS = 16
MOST_COUNTED = 1 << 32
"""Counts on the card have 32 bits: before so many records they are brought here."""
THREADS = 512 if not is_simulated() else 4
CORE_RATE, CARD_RATE = 1e11, 1.6e13
"""Sets x records a second, of one core and of an H200 (`noisyor reproduce gpu`)..."""
SENDING_SECONDS, FETCHING_SECONDS = 5e-11, 2.5e-7
"""... for which a finding is sent, and a set is arranged and its counts are brought back."""
MARGINS = ([0], [0, 1, 2], [0, 1, 2, 4, 3, 5, 6])
"""By order, the subsets whose counts are margins, as bits: in the order of `Margins`."""


def counting_work(plan: MomentPlan, n_records: int | None) -> Work:
    """Return what counting takes, as far as that is known beforehand."""
    n = 10_000_000 if n_records is None else n_records
    n_sets = sum(plan.sizes)
    on_the_way = SENDING_SECONDS * plan.structure.n_symptoms * n + FETCHING_SECONDS * n_sets
    sets = float(n_sets) * n
    return Work(f"counting {n_sets:,} sets", sets / CORE_RATE, sets / CARD_RATE + on_the_way)


class WordRun(NamedTuple):
    """Words of a plane whose records belong to one group."""

    first: int
    last: int
    group: int


class CardPlane(NamedTuple):
    """Records on the card: a row per symptom, a word per 64 records."""

    present: Any
    unknown: Any
    """None where all findings are known."""
    valid: Any
    """Which bits are records."""
    runs: list[WordRun]


class Buffer:
    """Slices of records that are sent to the card together."""

    def __init__(self, n_symptoms: int, n_words: int, n_jobs: int = 1) -> None:
        from numba import cuda

        self._shape, self._n_jobs = (n_symptoms, n_words), n_jobs
        self.stream = cuda.stream()
        self._here = [cuda.pinned_array(self._shape, np.uint64)]
        self._there = [cuda.device_array(self._shape, np.uint64)]
        self._valid = cuda.pinned_array(n_words, np.uint64)
        self._valid_there = cuda.device_array(n_words, np.uint64)
        self.start()

    def start(self) -> None:
        """Begin anew, once the card has done with what was sent."""
        self.stream.synchronize()
        self.slices: list[PlaneSlice] = []
        self.n_words, self._has_unknown = 0, False

    @property
    def room(self) -> int:
        """How many words are free."""
        return self._shape[1] - self.n_words

    def take(self, part: PlaneSlice, has_unknown: bool) -> None:
        """Put a slice beside those that are there; it must have room."""
        from numba import cuda

        if has_unknown and len(self._here) == 1:
            # Both before any is kept: one of them may not fit.
            more = (
                cuda.pinned_array(self._shape, np.uint64),
                cuda.device_array(self._shape, np.uint64),
            )
            for arrays, array in zip((self._here, self._there), more, strict=True):
                arrays.append(array)
        self._has_unknown |= has_unknown
        self.slices.append(part)
        self.n_words += part.last - part.first

    def send(self) -> CardPlane:
        """Send what was put in."""
        ends = np.cumsum([0, *(part.last - part.first for part in self.slices)]).tolist()
        groups = [part.group for part in self.slices]
        runs = list(map(WordRun, ends[:-1], ends[1:], groups))
        in_threads(self._copy, list(zip(runs, self.slices, strict=True)), self._n_jobs)
        self._valid_there.copy_to_device(self._valid, stream=self.stream)
        for number in range(1 + self._has_unknown):
            self._there[number].copy_to_device(self._here[number], stream=self.stream)
        unknown = self._there[1] if self._has_unknown else None
        return CardPlane(self._there[0], unknown, self._valid_there, runs)

    def _copy(self, item: tuple[WordRun, PlaneSlice]) -> None:
        """Copy a slice to where it is sent from."""
        run, part = item
        here, there = slice(run.first, run.last), slice(part.first, part.last)
        self._here[0][:, here] = part.present[:, there]
        if self._has_unknown:
            self._here[1][:, here] = 0 if part.unknown is None else part.unknown[:, there]
        self._valid[here] = part.valid


class Chunks(NamedTuple):
    """Sets of symptoms in the order in which they are counted: in chunks with few symptoms."""

    bounds: NDArray[np.int32]
    """Of each chunk its first set, how many it has, and the same of its symptoms in the list."""
    listed: NDArray[np.int32]
    """Of each set its index in the plan; then the symptoms of all chunks, one after the other."""
    sets: NDArray[np.uint16]
    """A row for each member: its index among the symptoms of its chunk."""

    @classmethod
    def arranged(cls, sets: NDArray[Any], most_sets: int, most_symptoms: int) -> "Chunks":
        """Arrange sets in chunks: sets whose symptoms stand near each other are counted together.

        >>> Chunks.arranged(np.array([[0, 1], [300, 301], [0, 2]]), 2, 9).listed
        array([  0,   2,   1,   0,   1,   2, 300, 301], dtype=int32)
        """
        tiles = np.zeros(len(sets), dtype=np.int64)
        for members in sets.T // TILE:
            tiles = tiles * (int(sets.max(initial=0)) // TILE + 1) + members
        numbers = np.argsort(tiles, kind="stable")
        sets = sets[numbers]
        firsts = range(0, len(sets), most_sets)
        waiting = [(first, min(first + most_sets, len(sets))) for first in firsts][::-1]
        bounds, listed, n_listed = [], [numbers], len(numbers)
        members = np.empty(sets.shape, dtype=np.uint16)
        while waiting:
            first, last = waiting.pop()
            found, index = np.unique(sets[first:last], return_inverse=True)
            if len(found) > most_symptoms:
                middle = (first + last) // 2
                waiting += [(middle, last), (first, middle)]
                continue
            members[first:last] = index.reshape(last - first, -1)
            bounds.append((first, last - first, n_listed, len(found)))
            listed.append(found)
            n_listed += len(found)
        return cls(
            np.array(bounds, np.int32), np.concatenate(listed).astype(np.int32),
            np.ascontiguousarray(members.T),
        )  # fmt: skip


class CardSets:
    """Sets of one order on the card."""

    def __init__(self, sets: NDArray[Any], *, with_margins: bool) -> None:
        from noisyor.moments import card_kernels as kernels

        self.order, self.with_margins = sets.shape[1], with_margins
        n_sets = THREADS * (1 if with_margins else kernels.SETS_OF_THREAD)
        most = kernels.most_near(kernels.FEW_ROWS, with_margins)
        chunks = Chunks.arranged(sets, n_sets, most)
        self.n_chunks, widest = len(chunks.bounds), int(chunks.bounds[:, 3].max())
        has_room = widest <= kernels.most_near(kernels.MANY_ROWS, with_margins)
        n_rows = kernels.MANY_ROWS if has_room else kernels.FEW_ROWS
        self._kernel = kernels.count_kernel(self.order, n_rows, with_margins)
        self._arrays = tuple(on_card(array) for array in chunks)

    def count(self, plane: CardPlane, counts: Any, stream: Any = 0) -> None:
        """Add the counts over the records of a plane."""
        wanted = -(-16 * n_multiprocessors() // self.n_chunks)
        runs = on_card(np.array(_shortened(plane.runs, wanted), np.int32), stream)
        # Without margins nobody looks at what is unknown.
        unknown = plane.present if plane.unknown is None else plane.unknown
        self._kernel[(self.n_chunks, len(runs)), THREADS, stream](
            plane.present, unknown, plane.valid, runs, *self._arrays, counts
        )


def _shortened(runs: list[WordRun], wanted: int) -> list[WordRun]:
    """Cut runs where there are few, so that all of the card has work."""
    parts = -(-wanted // max(len(runs), 1))
    return [
        run._replace(first=first, last=min(first + length, run.last))
        for run in runs
        for length in [max(-(-(run.last - run.first) // parts), SHORTEST)]
        for first in range(run.first, run.last, length)
    ]


class CardCounts:
    """Counts of a plan by group that stay on the card until they are fetched."""

    def __init__(self, plan: MomentPlan, n_groups: int, *, with_margins: bool) -> None:
        self._n_groups, self._with_margins = n_groups, with_margins
        self._sets = {
            order: CardSets(plan.sets(order), with_margins=with_margins)
            for order in (1, 2, 3)
            if len(plan.sets(order))
        }
        self._shapes = {
            order: (n_groups, len(plan.sets(order)), 1 << order if with_margins else 1)
            for order in self._sets
        }
        self.start()

    def start(self) -> None:
        """Begin with no counts."""
        self._counts = {
            order: zeros_on_card(shape, np.uint32) for order, shape in self._shapes.items()
        }

    def add(self, plane: CardPlane, stream: Any = 0) -> None:
        """Count the records of a plane."""
        for order, sets in self._sets.items():
            sets.count(plane, self._counts[order], stream)

    def fetch(self, into: Accumulator) -> None:
        """Add the counts to others, here, and start with none."""
        for order, counts in self._counts.items():
            found = from_card(counts)
            here = into.present[order - 1]
            if self._with_margins:
                margins = into.margins[order - 1]
                margins += found[..., MARGINS[order - 1]].reshape(margins.shape)
            here += found[..., -1]
        self.start()


class CardTally:
    """Counts of a plan per group, added to slice by slice; as `Tally`, but on the card."""

    def __init__(
        self, plan: MomentPlan, n_groups: int, n_jobs: int, n_words: int | None = None
    ) -> None:
        self._plan, self._n_groups, self._n_jobs = plan, n_groups, n_jobs
        self._n_words = n_words or WORDS_OF_BUFFER
        self._buffers: list[Buffer] = []
        self._counts: dict[bool, CardCounts] = {}
        self._processor: Tally | None = None
        self._start()

    def _start(self) -> None:
        self._here: dict[bool, Accumulator] = {}
        self._records = {has_unknown: self._no_records() for has_unknown in (False, True)}
        self._n_there = 0

    def _no_records(self) -> NDArray[np.int64]:
        return np.zeros(self._n_groups, dtype=np.int64)

    def add(self, part: PlaneSlice) -> None:
        """Count a part, whose arrays must not change any more."""
        for piece in _cut(part, self._n_words):
            self._add_piece(piece)

    def _add_piece(self, part: PlaneSlice) -> None:
        unknown = part.unknown
        has_unknown = unknown is not None and bool(unknown[:, part.first : part.last].any())
        if self._processor is None:
            self._attempt(lambda: self._put(part, has_unknown), [part])
        else:
            self._processor.add(part)

    def _put(self, part: PlaneSlice, has_unknown: bool) -> None:
        """Put a part into the buffer; if that is full, have it counted first."""
        if not self._buffers:
            size = len(part.present), self._n_words
            self._buffers = [Buffer(*size, self._n_jobs) for _ in range(2)]
        if self._buffers[0].room < part.last - part.first:
            self._count_buffer()
        self._buffers[0].take(part, has_unknown)

    def _count_buffer(self) -> None:
        """Send the first buffer and have it counted; fill the other one meanwhile."""
        buffer = self._buffers[0]
        if buffer.n_words:
            n_records = _records_of(buffer.slices, self._n_groups)
            if self._n_there + int(n_records.sum()) >= MOST_COUNTED:
                self._fetch()  # counters of 32 bits would overflow
            plane = buffer.send()
            has_margins = plane.unknown is not None
            if has_margins not in self._counts:
                self._counts[has_margins] = CardCounts(
                    self._plan, self._n_groups, with_margins=has_margins
                )
            try:
                self._counts[has_margins].add(plane, buffer.stream)
            except Exception as error:  # some of it may be counted: there is no way back
                raise CardError(
                    f"the card failed while counting ({error}): take --device cpu."
                ) from error
            self._records[has_margins] += n_records
            self._n_there += int(n_records.sum())
            buffer.slices = []
        self._buffers.reverse()
        self._buffers[0].start()

    def _attempt(self, work: Callable[[], None], more: list[PlaneSlice]) -> None:
        """Do some work with the card; if it has not the memory, try smaller buffers, or give up.

        What waits in buffers, and `more` that the work is about, is then counted anew.
        """
        try:
            work()
        except Exception as error:
            if not is_full(error):
                raise
            waiting = [part for buffer in self._buffers for part in buffer.slices]
            for buffer in self._buffers:
                buffer.stream.synchronize()
            self._buffers = []
            if self._n_words > FEWEST_WORDS:
                self._n_words //= 4
            else:
                give_notice(
                    "the card's memory does not suffice for these counts: what is left is counted "
                    "on the processor. Fewer groups (--groups) take less."
                )
                self._processor = Tally(self._plan, self._n_groups, self._n_jobs)
            for part in [*waiting, *(part for part in more if not _is_among(part, waiting))]:
                self.add(part)

    def _fetch(self) -> None:
        """Bring the counts here."""
        for buffer in self._buffers:
            buffer.stream.synchronize()
        for has_margins, counts in self._counts.items():
            if has_margins not in self._here:
                found = Accumulator(self._plan, self._n_groups, with_margins=has_margins)
                found.widen()
                self._here[has_margins] = found
            counts.fetch(self._here[has_margins])
        self._n_there = 0

    def take(self) -> Moments:
        """Return the counts, and start with none."""
        while self._buffers and self._buffers[0].n_words:
            self._attempt(self._count_buffer, [])
        self._fetch()
        if not self._here:
            self._here[False] = Accumulator(self._plan, self._n_groups, with_margins=False)
        parts = [
            Moments(
                self._plan, self._records[has_margins], tuple(found.present),
                Margins(*found.margins) if has_margins else None,
            )
            for has_margins, found in self._here.items()
        ]  # fmt: skip
        if self._processor is not None:
            parts.append(self._processor.take())
        self._start()
        return sum_moments(parts)

    def discard(self) -> None:
        """Forget all counts."""
        self.take()


def _cut(part: PlaneSlice, n_words: int) -> list[PlaneSlice]:
    """Return a part as parts of at most so many words."""
    return [
        part._replace(
            first=first, last=min(first + n_words, part.last),
            valid=part.valid[first - part.first : first - part.first + n_words],
        )
        for first in range(part.first, part.last, n_words)
    ]  # fmt: skip


def _records_of(parts: list[PlaneSlice], n_groups: int) -> NDArray[np.int64]:
    """Return how many records of each group some parts have."""
    found = np.zeros(n_groups, dtype=np.int64)
    for part in parts:
        found[part.group] += int(np.bitwise_count(part.valid).sum())
    return found


def _is_among(part: PlaneSlice, parts: list[PlaneSlice]) -> bool:
    return any(part is other for other in parts)
