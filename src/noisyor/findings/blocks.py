"""Blocks of records, and the builder that fills them from rows of any size.

A block holds some thousand records as one row of bits per symptom, so that a pass over all
columns of a block stays in the cache. A bit plane for unknown findings exists only in blocks that
have some; where a finding is unknown its `present` bit is 0, and so are all bits past the end.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.io.columns import ABSENT, PRESENT, STATE_NAMES, UNKNOWN
from noisyor.structure import Structure

Words = NDArray[np.uint64]

BLOCK_RECORDS = 8192
"""Records a block: 4,075 symptoms then take 4 MB, about what a level-2 or level-3 cache holds."""


class ConflictError(Exception):
    """A finding of a record that two rows put into different states."""

    def __init__(self, record: object, symptom: int, states: tuple[str, str]) -> None:
        super().__init__(record, symptom, states)
        self.record = record
        self.symptom = symptom
        self.states = states


class Origin(NamedTuple):
    """Where the first record of a block stands: the groups of records without ids go by it."""

    file_name: str
    """Without directories; empty for a table in memory."""
    first_row: int


@dataclass(frozen=True, eq=False)
class Block:
    """Some records: row j of `present` holds the bits of symptom j."""

    n_records: int
    present: Words
    unknown: Words | None = None
    record_ids: Any = None
    """An Arrow array with the ids of the records, where they have some."""
    origin: Origin | None = None
    """None: the records follow on those of the block before."""

    def __post_init__(self) -> None:
        self.present.flags.writeable = False
        if self.unknown is not None:
            self.unknown.flags.writeable = False

    def unpacked(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
        """Return present and unknown as boolean arrays, records x symptoms."""
        unknown = None if self.unknown is None else unpack(self.unknown, self.n_records)
        return unpack(self.present, self.n_records), unknown

    def split(self, n_records: int) -> Iterator["Block"]:
        """Give the records without their ids in blocks of so many, a multiple of 64."""
        for start in range(0, self.n_records, n_records):
            stop = min(start + n_records, self.n_records)
            words = slice(start // 64, words_for(stop))
            unknown = None if self.unknown is None else self.unknown[:, words]
            yield Block(stop - start, self.present[:, words], unknown)

    def listed(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_]]:
        """List the findings that are present or unknown, record after record.

        Returns the offsets of the records, the symptoms, and whether each is unknown.
        """
        from noisyor.findings.bit_kernels import list_bits

        if self.unknown is None:
            offsets, symptoms = list_bits(_together(self.present), self.n_records)
            return offsets, symptoms, np.zeros(len(symptoms), dtype=np.bool_)
        offsets, symptoms = list_bits(self.present | self.unknown, self.n_records)
        records = np.repeat(np.arange(self.n_records), np.diff(offsets))
        bits = self.unknown[symptoms, records >> 6] >> (records & 63).astype(np.uint64)
        return offsets, symptoms, (bits & np.uint64(1)).astype(np.bool_)


def _together(words: Words) -> Words:
    """Return words that lie one after the other, of a kind for which kernels are compiled."""
    words = np.ascontiguousarray(words)
    words.flags.writeable = False
    return words


def words_for(n_records: int) -> int:
    """Return the number of 64-bit words that hold so many bits."""
    return (n_records + 63) // 64


def first_bits(n_records: int, n_words: int) -> Words:
    """Return words in which the first so many bits are set."""
    bits = np.zeros(n_words, dtype=np.uint64)
    bits[: n_records // 64] = ~np.uint64(0)
    if n_records % 64:
        bits[n_records // 64] = np.uint64((1 << (n_records % 64)) - 1)
    return bits


def pack(flags: NDArray[np.bool_]) -> Words:
    """Pack a boolean array, records x symptoms, into rows of words, one per symptom.

    >>> pack(np.array([[True, False], [True, True]]))
    array([[3],
           [2]], dtype=uint64)
    """
    n_records, n_symptoms = flags.shape
    packed = np.zeros((n_symptoms, words_for(n_records) * 8), dtype=np.uint8)
    packed[:, : (n_records + 7) // 8] = np.packbits(flags, axis=0, bitorder="little").T
    return packed.view("<u8")


def unpack(words: Words, n_records: int) -> NDArray[np.bool_]:
    """Return what `pack` packed, as a boolean array of records x symptoms."""
    from noisyor.findings.bit_kernels import unpack_bits

    flags = np.zeros((n_records, len(words)), dtype=np.bool_)
    unpack_bits(words, flags)
    return flags


class BlockBuilder:
    """Fills blocks of a fixed size, in order, and hands out each when it is full.

    Records come as packed columns (`append`) or as coordinates of single findings (`mark`, then
    `close_records`). `filled` records of the open block are there, `room` are still free.
    """

    def __init__(
        self, structure: Structure, capacity: int = BLOCK_RECORDS, unmentioned_unknown: bool = False
    ) -> None:
        self._unmentioned_unknown = unmentioned_unknown
        self._structure = structure
        self.capacity = capacity
        self._start_block()

    def _start_block(self) -> None:
        self.filled = 0
        self._ids: list[Any] = []
        self._planes: dict[int, Words] = {}
        self._plane(PRESENT)

    def _plane(self, state: int) -> Words:
        """Return the bits of the findings in a state; absence is noted only if rows say it."""
        if state not in self._planes:
            shape = self._structure.n_symptoms, words_for(self.capacity)
            self._planes[state] = np.zeros(shape, dtype=np.uint64)
        return self._planes[state]

    @property
    def room(self) -> int:
        """How many records the open block can still take."""
        return self.capacity - self.filled

    def append(self, n_records: int, present: Words, unknown: Words | None, ids: Any) -> None:
        """Add records, at most `room` of them, as packed columns."""
        from noisyor.findings.bit_kernels import copy_bits

        copy_bits(present, n_records, self._plane(PRESENT), self.filled)
        if unknown is not None:
            copy_bits(unknown, n_records, self._plane(UNKNOWN), self.filled)
        self.close_records(n_records, ids)

    def mark(self, state: int, symptoms: NDArray[np.int32], records: NDArray[np.int64]) -> None:
        """Put findings into a state; records count from the start of the open block."""
        from noisyor.findings.bit_kernels import set_bits

        set_bits(self._plane(state), symptoms, records)

    def close_records(self, n_records: int, ids: Any) -> None:
        """Count the next so many records into the open block, with their ids if they have some."""
        self.filled += n_records
        if ids is not None:
            self._ids.append(ids)

    def take_block(self, origin: Origin | None = None) -> Block:
        """Hand out the open block, as far as it is filled, and start the next."""
        import pyarrow as pa

        ids = pa.concat_arrays(self._ids) if self._ids else None
        self._check_conflicts(ids)
        n_words = words_for(self.filled)
        present = self._plane(PRESENT)
        if self._unmentioned_unknown:
            all_records = first_bits(self.filled, words_for(self.capacity))
            self._plane(UNKNOWN)[:] = ~(present | self._plane(ABSENT)) & all_records
        unknown = self._planes.get(UNKNOWN)
        if self.filled < self.capacity:
            present = present[:, :n_words].copy()
        if unknown is not None:
            unknown = unknown[:, :n_words].copy() if unknown.any() else None
        block = Block(self.filled, present, unknown, ids, origin)
        self._start_block()
        return block

    def _check_conflicts(self, ids: Any) -> None:
        """Raise an error for a finding that two rows put into different states."""
        for one, other in itertools.combinations(self._planes, 2):
            both = self._planes[one] & self._planes[other]
            if both.any():
                symptom, word = (int(axis[0]) for axis in np.nonzero(both))
                record = word * 64 + int(both[symptom, word]).bit_length() - 1
                raise ConflictError(
                    ids[record].as_py(), symptom, (STATE_NAMES[one], STATE_NAMES[other])
                )

    def empty_records(self, n_records: int, ids: Any) -> Iterator[Block]:
        """Add records without a finding; give the blocks that they fill."""
        done = 0
        while done < n_records:
            if not self.room:
                yield self.take_block()
            part = min(self.room, n_records - done)
            self.close_records(part, None if ids is None else ids[done : done + part])
            done += part

    def last_block(self, origin: Origin | None = None) -> Iterator[Block]:
        """Give the open block if it holds any record."""
        if self.filled:
            yield self.take_block(origin)
