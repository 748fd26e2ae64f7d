"""CardTally: counts of a plan on a graphics card, the same integers as `Tally` has.

Slices of planes are put side by side in one of two buffers, which is sent and counted while the
other is being filled. What does not fit the card's memory is tried with smaller buffers, and then
left to the processor.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import CardError, give_notice
from noisyor.gpu import Work, is_full
from noisyor.moments.moments import Moments, sum_moments
from noisyor.moments.plan import MomentPlan
from noisyor.moments.sets_on_card import CardCounts, CardMargins, CardPlane, WordRun, cut_runs
from noisyor.moments.tally import PlaneSlice, Tally
from noisyor.parallel import in_threads

WORDS_OF_BUFFER = 512
"""So many times 64 records are sent at a time: with 4,075 symptoms 17 MB, which stay in the cache
of a large card while their sets are counted."""
FEWEST_WORDS = 16
MOST_COUNTED = 1 << 32
"""Counts on the card have 32 bits: before so many records they are brought here."""
CORE_RATE, CARD_RATE = 1e11, 4e13
"""Sets x records a second, of one core and of an H200 (`noisyor reproduce gpu`)..."""
SENDING_SECONDS, FETCHING_SECONDS = 5e-11, 1.3e-7
"""... for which a finding is sent, and a set is arranged and its counts are brought back."""


def counting_work(plan: MomentPlan, n_records: int | None) -> Work:
    """Return what counting takes, as far as that is known beforehand."""
    n = 10_000_000 if n_records is None else n_records
    n_sets = sum(plan.sizes)
    on_the_way = SENDING_SECONDS * plan.structure.n_symptoms * n + FETCHING_SECONDS * n_sets
    sets = float(n_sets) * n
    return Work(f"counting {n_sets:,} sets", sets / CORE_RATE, sets / CARD_RATE + on_the_way)


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
        self._runs = cuda.pinned_array((n_words, 3), np.int32)
        self._runs_there = cuda.device_array((n_words, 3), np.int32)
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
        cut = cut_runs(runs)
        self._runs[: len(cut)] = cut
        self._runs_there.copy_to_device(self._runs, stream=self.stream)
        self._valid_there.copy_to_device(self._valid, stream=self.stream)
        for number in range(1 + self._has_unknown):
            self._there[number].copy_to_device(self._here[number], stream=self.stream)
        unknown = self._there[1] if self._has_unknown else None
        return CardPlane(self._there[0], unknown, self._valid_there, self._runs_there[: len(cut)])

    def _copy(self, item: tuple[WordRun, PlaneSlice]) -> None:
        """Copy a slice to where it is sent from."""
        run, part = item
        here, there = slice(run.first, run.last), slice(part.first, part.last)
        self._here[0][:, here] = part.present[:, there]
        if self._has_unknown:
            self._here[1][:, here] = 0 if part.unknown is None else part.unknown[:, there]
        self._valid[here] = part.valid


class CardTally:
    """Counts of a plan per group, added to slice by slice; as `Tally`, but on the card."""

    def __init__(
        self, plan: MomentPlan, n_groups: int, n_jobs: int, n_words: int | None = None
    ) -> None:
        self._plan, self._n_groups, self._n_jobs = plan, n_groups, n_jobs
        self._n_words = n_words or WORDS_OF_BUFFER
        self._buffers: list[Buffer] = []
        self._counts: dict[bool, CardCounts | CardMargins] = {}
        self._processor: Tally | None = None
        self._start()

    def _start(self) -> None:
        self._here: list[Moments] = []
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
                kind = CardMargins if has_margins else CardCounts
                self._counts[has_margins] = kind(self._plan, self._n_groups)
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
            if self._records[has_margins].any():
                self._here.append(Moments(self._plan, self._records[has_margins], *counts.fetch()))
                self._records[has_margins] = self._no_records()
        self._n_there = 0

    def take(self) -> Moments:
        """Return the counts, and start with none."""
        while self._buffers and self._buffers[0].n_words:
            self._attempt(self._count_buffer, [])
        self._fetch()
        parts = self._here
        if self._processor is not None:
            parts.append(self._processor.take())
        if not parts:
            parts.append(Tally(self._plan, self._n_groups, 1).take())
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
