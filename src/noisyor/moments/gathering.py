"""Records gathered by group: short runs of rows, or single records that go by their ids."""

import numpy as np
from numpy.typing import NDArray

from noisyor.findings.blocks import BLOCK_RECORDS, Block, Words, words_for
from noisyor.moments.groups import Segment, id_groups
from noisyor.moments.tally import Piece, Tally
from noisyor.structure import Structure


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
        self._valid[group, target] = valid_bits(segment.stop - segment.start, n_words)
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
        """Have a group's plane counted, and empty it."""
        words = words_for(int(self._filled[group]))
        if words:
            present = self._taken(self._planes()[group], words)
            unknown = None if self._unknown is None else self._taken(self._unknown[group], words)
            valid = self._valid[group, :words].copy()
            self._tally.add(Piece(present, unknown, 0, words, valid, group))
        self._valid[group] = 0
        self._filled[group] = 0

    @staticmethod
    def _taken(plane: Words, words: int) -> Words:
        """Return a copy of the first words, which are cleared."""
        copy = plane[:, :words].copy()
        plane[:, :words] = 0
        return copy

    def flush_all(self) -> None:
        """Count all planes."""
        for group in range(self._shape[0]):
            self.flush(group)
