"""Which group a record belongs to, for standard errors: the same however the work is split.

A record with an id goes by the hash of its id. Other records go by the name of their file and
their row: runs of consecutive rows are dealt out to the groups, round after round, in an order that
the file's name shuffles. The first two rounds deal runs of 64 rows, so that small files reach all
groups; then the runs double from round to round up to 8,192, so that large files are counted in
long strides, and start at multiples of their length.
"""

import functools
import hashlib
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.io.columns import hash_ids

N_GROUPS = 50
SHORTEST_RUN, LONGEST_RUN = 64, 8192


class Segment(NamedTuple):
    """Consecutive rows of one group; rows count from the first row asked for."""

    start: int
    stop: int
    group: int


def row_segments(file_name: str, first_row: int, n_rows: int, n_groups: int) -> Iterator[Segment]:
    """Cut rows into runs that belong to one group; a run starts at a multiple of 64 of its file.

    >>> list(row_segments("a.csv", 0, 100, n_groups=1))
    [Segment(start=0, stop=64, group=0), Segment(start=64, stop=100, group=0)]
    """
    row, stop = first_row, first_row + n_rows
    while row < stop:
        number, start_of_round, run = _round_of(row, n_groups)
        position = (row - start_of_round) // run
        end = min(stop, start_of_round + (position + 1) * run)
        group = _dealt(file_name, number, position, n_groups)
        yield Segment(row - first_row, end - first_row, group)
        row = end


def _round_of(row: int, n_groups: int) -> tuple[int, int, int]:
    """Return the number of a row's round, the round's first row, and the length of its runs."""
    number, start, run = 0, 0, SHORTEST_RUN
    while row >= start + run * n_groups and run < LONGEST_RUN:
        start += run * n_groups
        run = min(start // n_groups, LONGEST_RUN)
        number += 1
    further = (row - start) // (run * n_groups)
    return number + further, start + further * run * n_groups, run


def _dealt(file_name: str, round_number: int, position: int, n_groups: int) -> int:
    """Return the group at a position of a round: the groups in an order of the round's own."""
    start, step = _order_of_round(file_name, round_number, n_groups)
    return (start + step * position) % n_groups


@functools.lru_cache(maxsize=64)
def _order_of_round(file_name: str, round_number: int, n_groups: int) -> tuple[int, int]:
    digest = hashlib.blake2b(f"{round_number}:{file_name}".encode(), digest_size=16).digest()
    steps = [step for step in range(1, n_groups + 1) if math.gcd(step, n_groups) == 1]
    step = steps[int.from_bytes(digest[:8], "little") % len(steps)]
    return int.from_bytes(digest[8:], "little"), step


def id_groups(ids: Any, first_row: int, n_groups: int) -> NDArray[np.int64]:
    """Return the group of each record by its id; a record without one goes by its row."""
    import pyarrow as pa

    hashes = hash_ids(ids)
    if ids.null_count:
        missing = ids.is_null().to_numpy(zero_copy_only=False)
        rows = np.arange(first_row, first_row + len(ids), dtype=np.int64)
        hashes[missing] = hash_ids(pa.array(rows[missing]))
    return (hashes % np.uint64(n_groups)).astype(np.int64)
