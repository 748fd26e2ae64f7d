"""Records gathered by group: short runs of rows, or single records that go by their ids."""

import numpy as np
from numpy.typing import NDArray

from noisyor.findings.blocks import BLOCK_RECORDS, Block, Words, words_for
from noisyor.moments.groups import Segment, id_groups
from noisyor.moments.tally import Piece, Tally
from noisyor.structure import Structure

Listed = tuple[NDArray[np.int64], NDArray[np.int32]]
"""The findings of records, one after the other: offsets of the records, and symptoms."""


def valid_bits(n_records: int, n_words: int) -> Words:
    """Return words in which the first so many bits are set."""
    valid = np.zeros(n_words, dtype=np.uint64)
    valid[: n_records // 64] = ~np.uint64(0)
    if n_records % 64:
        valid[n_records // 64] = np.uint64((1 << (n_records % 64)) - 1)
    return valid


class GatheredPlanes:
    """A plane per group that is filled from short runs of rows or from single records."""

    def __init__(self, structure: Structure, n_groups: int, tally: Tally) -> None:
        self._shape = structure.n_symptoms, BLOCK_RECORDS // 64
        self._n_groups = n_groups
        self._tally = tally
        self._present: dict[int, Words] = {}
        self._unknown: dict[int, Words] = {}
        self._valid = np.zeros((n_groups, self._shape[1]), dtype=np.uint64)
        self._filled = np.zeros(n_groups, dtype=np.int64)

    def _plane(self, planes: dict[int, Words], group: int) -> Words:
        if group not in planes:
            planes[group] = np.zeros(self._shape, dtype=np.uint64)
        return planes[group]

    def add_words(self, block: Block, segment: Segment) -> None:
        """Add a run of rows, word by word."""
        group = segment.group
        words = slice(segment.start // 64, words_for(segment.stop))
        n_words = words.stop - words.start
        if words_for(int(self._filled[group])) + n_words > self._shape[1]:
            self.flush(group)
        start = words_for(int(self._filled[group]))
        target = slice(start, start + n_words)
        self._plane(self._present, group)[:, target] = block.present[:, words]
        if block.unknown is not None:
            self._plane(self._unknown, group)[:, target] = block.unknown[:, words]
        self._valid[group, target] = valid_bits(segment.stop - segment.start, n_words)
        self._filled[group] = 64 * target.stop

    def add_by_id(self, block: Block, first_row: int) -> None:
        """Add records to the groups of their ids, a bit each."""
        from noisyor.findings.kernels import list_bits

        groups = id_groups(block.record_ids, first_row, self._n_groups)
        present = list_bits(block.present, block.n_records)
        unknown = None if block.unknown is None else list_bits(block.unknown, block.n_records)
        for start in range(0, block.n_records, BLOCK_RECORDS):
            part = slice(start, min(start + BLOCK_RECORDS, block.n_records))
            order = part.start + np.argsort(groups[part], kind="stable")
            sizes = np.bincount(groups[part], minlength=self._n_groups)
            for group, records in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
                if len(records):
                    self._add_records(group, records, present, unknown)

    def _add_records(
        self, group: int, records: NDArray[np.int64], present: Listed, unknown: Listed | None
    ) -> None:
        """Give records the next free bits of their group's plane, and set their findings there."""
        from noisyor.moments.kernels import scatter_records

        if self._filled[group] + len(records) > BLOCK_RECORDS:
            self.flush(group)
        position = int(self._filled[group])
        scatter_records(*present, records, position, self._plane(self._present, group))
        if unknown is not None:
            scatter_records(*unknown, records, position, self._plane(self._unknown, group))
        positions = position + np.arange(len(records))
        bits = np.uint64(1) << (positions & 63).astype(np.uint64)
        np.bitwise_or.at(self._valid[group], positions >> 6, bits)
        self._filled[group] += len(records)

    def flush(self, group: int) -> None:
        """Hand a group's plane over to be counted; the next record starts a new one."""
        words = words_for(int(self._filled[group]))
        if words:
            valid = self._valid[group, :words].copy()
            present = self._plane(self._present, group)
            unknown = self._unknown.pop(group, None)
            self._tally.add(Piece(present, unknown, 0, words, valid, group))
        self._present.pop(group, None)
        self._valid[group] = 0
        self._filled[group] = 0

    def flush_all(self) -> None:
        """Count all planes."""
        for group in range(self._n_groups):
            self.flush(group)
