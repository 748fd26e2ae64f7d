"""Rows of long records that do not stand together, found out and grouped.

They are split on disk into ranges of ids small enough for memory, then sorted by id range after
range.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from noisyor.errors import FindingsError, give_notice, quoted
from noisyor.io.columns import ColumnKind, Table, hash_ids
from noisyor.io.tables import Spool

SORT_ROWS = 1 << 23
"""Rows that are sorted in memory at a time when records must be grouped."""
SAMPLE_STRIDE = 1 << 10
"""One id in so many is looked at to split the ids into ranges of about equal size."""


class Rows(NamedTuple):
    """Some rows: ids, the symptom's index (below 0: none) and the state."""

    ids: Any
    symptoms: NDArray[np.int32]
    states: NDArray[np.int8]


class LongTable(NamedTuple):
    """A table with a row per finding, and which of its columns are read."""

    table: Table
    record: str
    symptom: str
    state: str | None
    id_kind: ColumnKind

    def id_batches(self) -> Iterator[Any]:
        """Give the ids of the rows, batch after batch."""
        for batch in self.table.batches({self.record: self.id_kind}):
            yield batch.column(0)


class Grouping(NamedTuple):
    """Tables in which an id means one record, and what their ids alone say of their rows."""

    tables: Sequence[LongTable]
    n_rows: int
    n_runs: list[int]
    """For each file the runs of rows with equal ids: its records, if none is repeated or shared."""
    repeated: object
    """An id whose rows do not stand together, or None."""
    shared: object
    """An id with rows at the end of one file and the start of the next, or None."""
    sample: list[Any]
    """Some of the ids, in order of the rows."""

    @property
    def n_records(self) -> int | None:
        """How many records have rows, where that is known."""
        return sum(self.n_runs) if self.repeated is None else None


def examine_grouping(tables: Sequence[LongTable]) -> Grouping:
    """Look at the ids alone: do the rows of each record stand together?

    Increasing ids (also texts that are increasing numbers) answer that without memory. Otherwise
    the ids are read once more, and 8 bytes are kept for every run of equal ones.
    """
    n_rows, shared, is_increasing = 0, None, True
    n_runs = [0] * len(tables)
    sample: list[Any] = []
    previous = None
    for ids, file, starts_file in _id_batches(tables):
        starts = run_starts(ids, previous)
        n_runs[file] += pc.sum(starts).as_py()
        if starts_file and previous is not None and not starts[0].as_py():
            shared = previous.as_py()
        is_increasing = is_increasing and _is_increasing(ids, previous)
        sample.append(ids[::SAMPLE_STRIDE])
        n_rows += len(ids)
        previous = ids[-1]
    repeated = None if is_increasing else _find_repeated(tables)
    return Grouping(tables, n_rows, n_runs, repeated, shared, sample)


def _is_increasing(ids: Any, previous: Any) -> bool:
    """Return True if ids only grow; of texts the longer one is larger, as with numbers."""
    if previous is not None:
        ids = pa.concat_arrays([pa.array([previous.as_py()], ids.type), ids])
    before, after = ids[:-1], ids[1:]
    grows = pc.less_equal(before, after)
    if pa.types.is_string(ids.type):
        lengths = pc.utf8_length(before), pc.utf8_length(after)
        grows = pc.or_(pc.less(*lengths), pc.and_(pc.equal(*lengths), grows))
    return bool(pc.all(grows).as_py())


def _id_batches(tables: Sequence[LongTable]) -> Iterator[tuple[Any, int, bool]]:
    """Give the ids of all rows, checked, the file's number, and whether a batch is its first."""
    for file, long in enumerate(tables):
        row = 0
        for ids in long.id_batches():
            if len(ids):
                check_no_id_missing(ids, long, row)
                yield ids, file, row == 0
            row += len(ids)


def check_no_id_missing(ids: Any, long: LongTable, row: int) -> None:
    """Raise an error that names the first row without an id."""
    missing = ids.is_null()
    if pc.any(missing).as_py():
        location = long.table.location(row + pc.index(missing, True).as_py())
        raise FindingsError(
            f"{location}, column {quoted(long.record)}: the record's id is missing."
        )


def run_starts(ids: Any, previous: Any) -> Any:
    """Return, for each row, whether its id differs from the one before."""
    is_new = pa.array([previous is None or ids[0] != previous])
    return pa.concat_arrays([is_new, pc.not_equal(ids[1:], ids[:-1])])


def _find_repeated(tables: Sequence[LongTable]) -> object:
    """Return an id that comes back after another one, or None."""
    runs: list[NDArray[np.uint64]] = []
    previous = None
    for ids, _, _ in _id_batches(tables):
        runs.append(hash_ids(ids.filter(run_starts(ids, previous))))
        previous = ids[-1]
    hashes = np.sort(np.concatenate(runs))
    twice = hashes[1:][hashes[1:] == hashes[:-1]]
    if not twice.size:
        return None
    # Different ids may share a hash, if hardly ever: then the grouping is in vain, but not wrong.
    for ids, _, _ in _id_batches(tables):
        found = np.flatnonzero(hash_ids(ids) == twice[0])
        if found.size:
            return ids[int(found[0])].as_py()
    return None


def tell_grouping(grouping: Grouping) -> None:
    """Tell of rows that must be grouped, or of a record in two files."""
    if grouping.repeated is not None:
        notice = (
            f"the rows of record {quoted(grouping.repeated)} do not stand together: all "
            f"{grouping.n_rows:,} rows are grouped by record first, on disk in "
            f"{tempfile.gettempdir()}, and the records come sorted by id."
        )
        give_notice(notice + (_ANEW if len(grouping.tables) > 1 else ""))
    elif grouping.shared is not None:
        tell_shared(grouping.shared)


def tell_shared(record: object) -> None:
    """Tell of a record with rows in two files."""
    give_notice(
        f"record {quoted(record)} has rows in two files, which were taken as one record.{_ANEW}"
    )


_ANEW = " If files number their records anew, say ids_per_file=True (--ids-per-file)."


def regrouped(rows: Iterable[Rows], grouping: Grouping) -> Iterator[Rows]:
    """Give the same rows sorted by id, holding about `SORT_ROWS` of them in memory at a time."""
    n_parts = -(-grouping.n_rows // SORT_ROWS)
    sample = pa.concat_arrays(grouping.sample)
    sample = sample.take(pc.sort_indices(sample))
    cuts = [sample[len(sample) * part // n_parts] for part in range(1, n_parts)]
    parts: list[Spool | None] = [None] * n_parts
    for some in rows:
        batch = pa.record_batch(dict(zip(("id", "symptom", "state"), some, strict=True)))
        part_of = np.zeros(batch.num_rows, dtype=np.int64)
        for cut in cuts:
            part_of += pc.greater_equal(some.ids, cut).to_numpy(zero_copy_only=False)
        batch = batch.take(pa.array(np.argsort(part_of, kind="stable")))
        ends = np.cumsum(np.bincount(part_of, minlength=n_parts))
        for part, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            if end > start:
                spool = parts[part] or Spool(batch.schema)
                spool.append(batch.slice(start, end - start))
                parts[part] = spool
    for part in range(n_parts):
        sorted_part, parts[part] = parts[part], None
        if sorted_part is not None:
            yield from _sorted_rows(sorted_part)


def _sorted_rows(spool: Spool) -> Iterator[Rows]:
    table = pa.Table.from_batches(list(spool), spool.schema)
    table = table.take(pc.sort_indices(table, [("id", "ascending")])).combine_chunks()
    for batch in table.to_batches():
        yield Rows(batch.column(0), batch.column(1).to_numpy(), batch.column(2).to_numpy())
