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

WORDS_OF_BUFFER = 1024
"""So many times 64 records are sent at a time: with 4,075 symptoms 33 MB, which stay in the cache
of a large card while their sets are counted."""
FEWEST_WORDS = 16
MOST_COUNTED = 1 << 32
"""Counts on the card have 32 bits: before so many records they are brought here."""
THREADS = 512 if not is_simulated() else 4
CORE_RATE, CARD_RATE = 2.2e11, 1.3e13
"""Sets x records a second, of one core (`noisyor reproduce speed`) and of an H200."""
MARGINS = ([0], [0, 1, 2], [0, 1, 2, 4, 3, 5, 6])
"""By order, the subsets whose counts are margins, as bits: in the order of `Margins`."""


def counting_work(plan: MomentPlan, n_records: int | None) -> Work:
    """Return what counting takes, as far as that is known beforehand."""
    n = 10_000_000 if n_records is None else n_records
    sets = float(sum(plan.sizes)) * n
    return Work(f"counting {sum(plan.sizes):,} sets", sets / CORE_RATE, sets / CARD_RATE)


class CardPlane(NamedTuple):
    """Records on the card: a row per word of 32 records, a word per symptom."""

    present: Any
    known: Any
    """None where all findings are known."""
    groups: Any
    """Of each row."""
    n_words: int


class Buffer:
    """Columns of records that are sent to the card together, and what they become there."""

    def __init__(self, n_symptoms: int, n_words: int) -> None:
        from numba import cuda

        self._shape = n_symptoms, n_words
        self.stream = cuda.stream()
        self._here = [cuda.pinned_array(self._shape, np.uint64)]
        self._there = [cuda.device_array((n_symptoms, 2 * n_words), np.uint32)]
        self._turned = [cuda.device_array((2 * n_words, n_symptoms), np.uint32)]
        self._valid = cuda.pinned_array(n_words, np.uint64)
        self._groups = cuda.pinned_array(2 * n_words, np.int32)
        self._valid_there = cuda.device_array(2 * n_words, np.uint32)
        self._groups_there = cuda.device_array(2 * n_words, np.int32)
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

        here = slice(self.n_words, self.n_words + part.last - part.first)
        if has_unknown and len(self._here) == 1:
            # All three before any is kept: one of them may not fit.
            more = (
                cuda.pinned_array(self._shape, np.uint64),
                cuda.device_array(self._there[0].shape, np.uint32),
                cuda.device_array(self._turned[0].shape, np.uint32),
            )
            for arrays, array in zip((self._here, self._there, self._turned), more, strict=True):
                arrays.append(array)
        if has_unknown and not self._has_unknown:
            self._here[1][:, : here.start] = 0
        self._has_unknown |= has_unknown
        self._here[0][:, here] = part.present[:, part.first : part.last]
        if self._has_unknown:
            self._here[1][:, here] = (
                part.unknown[:, part.first : part.last] if part.unknown is not None else 0
            )
        self._valid[here] = part.valid
        self._groups[2 * here.start : 2 * here.stop] = part.group
        self.slices.append(part)
        self.n_words = here.stop

    def send(self) -> CardPlane:
        """Send what was put in, and turn it there so that a row is a word of records."""
        from noisyor.moments import card_kernels as kernels

        n_words, tile = 2 * self.n_words, kernels.TILE
        grid = -(-n_words // tile), -(-self._shape[0] // tile)
        self._valid_there.copy_to_device(self._valid.view(np.uint32), stream=self.stream)
        self._groups_there.copy_to_device(self._groups, stream=self.stream)
        for number in range(1 + self._has_unknown):
            there = self._there[number]
            there.copy_to_device(self._here[number].view(np.uint32), stream=self.stream)
            kernels.turn_columns[grid, (tile, 8 if not is_simulated() else 1), self.stream](
                there, self._valid_there, number == 1, n_words, self._turned[number]
            )
        known = self._turned[1] if self._has_unknown else None
        return CardPlane(self._turned[0], known, self._groups_there, n_words)


class CardCounts:
    """Counts of a plan by group that stay on the card until they are fetched."""

    def __init__(self, plan: MomentPlan, n_groups: int, *, with_margins: bool) -> None:
        self._plan, self._n_groups, self._with_margins = plan, n_groups, with_margins
        sets = [plan.sets(order).astype(np.int32) for order in (1, 2, 3)]
        self._orders = [order for order in (1, 2, 3) if len(sets[order - 1])]
        self._sets = {order: on_card(sets[order - 1]) for order in self._orders}
        self._counts = {
            order: zeros_on_card(self._shape(order), np.uint32) for order in self._orders
        }

    def _shape(self, order: int) -> tuple[int, ...]:
        shape = self._n_groups, len(self._plan.sets(order))
        return (*shape, 1 << order) if self._with_margins else shape

    def add(self, plane: CardPlane, stream: Any = 0) -> None:
        """Count the records of a plane."""
        for order in self._orders:
            count_plane(plane, order, self._sets[order], self._counts[order], stream)

    def fetch(self, into: Accumulator) -> None:
        """Add the counts to others, here, and start with none."""
        for order in self._orders:
            found = from_card(self._counts[order])
            here = into.present[order - 1]
            if self._with_margins:
                margins = into.margins[order - 1]
                margins += found[..., MARGINS[order - 1]].reshape(margins.shape)
                found = found[..., -1]
            here += found
            self._counts[order] = zeros_on_card(self._shape(order), np.uint32)


def count_plane(plane: CardPlane, order: int, sets: Any, counts: Any, stream: Any = 0) -> None:
    """Add the counts of sets of one order over the records of a plane."""
    from noisyor.moments import card_kernels as kernels

    n_symptoms, n_words = plane.present.shape[1], plane.n_words
    if plane.known is not None:
        grid, length = _grid(len(sets), n_words, THREADS)
        kernels.margin_kernel(order)[grid, THREADS, stream](
            plane.present, plane.known, plane.groups, sets, n_words, length, counts
        )
        return
    rows = kernels.NEAR_WORDS // n_symptoms
    grid, length = _grid(len(sets), n_words, THREADS * kernels.SETS_OF_THREAD)
    kernels.count_kernel(order, rows > 0)[grid, THREADS, stream](
        plane.present, plane.groups, sets, n_words, length, max(rows, 1), counts
    )


def _grid(n_sets: int, n_words: int, sets_of_block: int) -> tuple[tuple[int, int], int]:
    """Return how many blocks of threads there are, and how many words each takes.

    Where sets are few, the words are shared among more blocks, so that all of the card has work.
    """
    across = -(-n_sets // sets_of_block)
    wanted = -(-16 * n_multiprocessors() // across)
    length = max(-(-n_words // wanted), 16)
    return (across, -(-n_words // length)), length


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
            self._buffers = [Buffer(len(part.present), self._n_words) for _ in range(2)]
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
            has_margins = plane.known is not None
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
