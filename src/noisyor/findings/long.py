"""Long records: a row per finding, streamed where the rows of a record stand together.

Where they do not, the rows are grouped first: split on disk into ranges of ids small enough for
memory, then sorted by id range after range. A record is never split, whatever the files, row
groups and blocks it lies across.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from noisyor.errors import FindingsError, give_notice, quoted, some_of
from noisyor.findings.blocks import Block, BlockBuilder, ConflictError
from noisyor.findings.notes import Notes
from noisyor.findings.reading import RecordFormat, RecordStream, id_kind
from noisyor.io.columns import (
    ABSENT,
    PRESENT,
    UNKNOWN,
    BadCellError,
    ColumnKind,
    Table,
    converted,
    hash_ids,
    ids_array,
)
from noisyor.io.tables import Spool, need_columns, open_table
from noisyor.names import NameMatcher
from noisyor.structure import Structure

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


def long_streams(
    tables: Sequence[Table], structure: Structure, form: RecordFormat, notes: Notes
) -> list[RecordStream]:
    """Return the records file by file where no record has rows in two of them, else as one."""
    found = long_tables(tables, structure, form, notes)
    notes.vanished = can_vanish(form)
    return streams_of(found, structure, form, notes)


def can_vanish(form: RecordFormat) -> bool:
    """Return True if records without findings do not show in a long table."""
    return form.n_records is None and form.all_records is None and form.unmentioned == "absent"


def long_tables(
    tables: Sequence[Table], structure: Structure, form: RecordFormat, notes: Notes
) -> list[LongTable]:
    """Return the tables with their columns; whatever is not clear is an error, or noted."""
    found = [form.columns_of(table, structure) for table in tables]
    for table, columns in zip(tables, found, strict=True):
        columns.check("record", "symptom", "state")
        wanted = {"record": form.record, "symptom": form.symptom}
        need_columns(table, [columns.found().get(role, name) for role, name in wanted.items()])
        if columns.state is None and form.invert:
            raise FindingsError(
                f"{table.name} has no column of states that invert (--invert) could invert."
            )
        notes.guessed |= columns.guessed
        notes.file(table, "long", columns.found())
    kind = id_kind([(table, each.record) for table, each in zip(tables, found, strict=True)])
    if form.all_records is not None and pa.types.is_string(_all_ids(form).type):
        kind = ColumnKind.ID_TEXT
    opened = [
        LongTable(table, each.record or "", each.symptom or "", each.state, kind)
        for table, each in zip(tables, found, strict=True)
    ]
    for long in opened:
        _look_at_others(long, form, notes)
    return opened


def _look_at_others(long: LongTable, form: RecordFormat, notes: Notes) -> None:
    """Note further columns; raise an error where one, by its first rows, seems to hold states."""
    taken = {long.record, long.symptom, long.state, long.table.index_name}
    others = [name for name in long.table.column_names if name and name not in taken]
    if not others or form.state is None:
        return
    first = next(long.table.first_rows(others), None)
    if first is None:
        return
    for name in others:
        column = first.column(name)
        notes.columns_not_read[name] = _some_values(column)
        if long.state is not None:
            continue
        try:
            states = converted(column, ColumnKind.STATE, form.words)
        except (BadCellError, TypeError):
            continue
        if ABSENT in states.to_numpy():
            raise FindingsError(
                f"{long.table.name}: the column {quoted(name)} holds words for present and absent. "
                f"If it says whether the finding is there, say state={quoted(name)} (--state "
                f"{quoted(name)}); if not, state=None (--state none)."
            )


def _some_values(column: Any) -> str:
    """Return the values of a column in brackets, where they are few: they may say something."""
    values = pc.unique(column).drop_null().to_pylist()
    if not 0 < len(values) <= _FEW_VALUES:
        return ""
    return f" ({', '.join(quoted(value, most=20) for value in values)})"


_FEW_VALUES = 4


def streams_of(
    tables: Sequence[LongTable], structure: Structure, form: RecordFormat, notes: Notes
) -> list[RecordStream]:
    """Return the records of tables whose columns are known."""
    is_one_list = form.n_records is not None or form.all_records is not None
    if form.ids_per_file:
        groupings = [examine_grouping([table]) for table in tables]
    else:
        whole = examine_grouping(tables)
        groupings = [whole]
        if whole.repeated is None and whole.shared is None and not is_one_list:
            groupings = [
                whole._replace(tables=[table], n_runs=[n_runs])
                for table, n_runs in zip(tables, whole.n_runs, strict=True)
            ]
    if is_one_list:
        blocks = _blocks(groupings, structure, form, notes)
        return [RecordStream(tuple(each.table for each in tables), form.n_records, blocks)]
    return [
        RecordStream(
            tuple(long.table for long in each.tables),
            each.n_records,
            _blocks([each], structure, form, notes),
        )
        for each in groupings
    ]


def _blocks(
    groupings: Sequence["Grouping"], structure: Structure, form: RecordFormat, notes: Notes
) -> Iterator[Block]:
    assembler = Assembler(structure, form)
    tables = [table for grouping in groupings for table in grouping.tables]
    with _conflicts_placed(tables, structure, form):
        for grouping in groupings:
            _give_notice(grouping)
            rows = indexed_rows(grouping.tables, structure, form, notes)
            yield from assembler.add(
                rows if grouping.repeated is None else regrouped(rows, grouping)
            )
        yield from assembler.finish()


@contextmanager
def _conflicts_placed(
    tables: Sequence[LongTable], structure: Structure, form: RecordFormat
) -> Iterator[None]:
    """Find the rows that contradict each other, by reading the files once more."""
    try:
        yield
    except ConflictError as error:
        locations = [
            long.table.location(row)
            for long in tables
            for row in _rows_of(error.record, error.symptom, long, structure, form)
        ]
        raise contradiction(error, locations, structure) from None


def contradiction(
    error: ConflictError, locations: list[str], structure: Structure
) -> FindingsError:
    """Return what to say of rows that contradict each other."""
    return FindingsError(
        f"{', '.join(locations)}: record {quoted(error.record)} has the finding "
        f"{quoted(structure.symptoms[error.symptom])} as {' and as '.join(error.states)}."
    )


def _rows_of(
    record: object, symptom: int, table: LongTable, structure: Structure, form: RecordFormat
) -> Iterator[int]:
    start = 0
    for rows in indexed_rows([table], structure, form, Notes()):
        same = pc.equal(rows.ids, pa.scalar(record, rows.ids.type)).to_numpy(zero_copy_only=False)
        yield from (start + np.flatnonzero(same & (rows.symptoms == symptom))).tolist()
        start += len(rows.symptoms)


# --- whether the rows of a record stand together ---


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
        starts = _run_starts(ids, previous)
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


def _run_starts(ids: Any, previous: Any) -> Any:
    """Return, for each row, whether its id differs from the one before."""
    is_new = pa.array([previous is None or ids[0] != previous])
    return pa.concat_arrays([is_new, pc.not_equal(ids[1:], ids[:-1])])


def _find_repeated(tables: Sequence[LongTable]) -> object:
    """Return an id that comes back after another one, or None."""
    runs: list[NDArray[np.uint64]] = []
    previous = None
    for ids, _, _ in _id_batches(tables):
        runs.append(hash_ids(ids.filter(_run_starts(ids, previous))))
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


def _give_notice(grouping: Grouping) -> None:
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


# --- rows brought to indices ---


def indexed_rows(
    tables: Sequence[LongTable], structure: Structure, form: RecordFormat, notes: Notes
) -> Iterator[Rows]:
    """Give all rows with symptoms and states as numbers; errors name the row."""
    matcher = form.matcher(structure)
    for long in tables:
        columns = {long.record: long.id_kind, long.symptom: ColumnKind.NAME}
        if long.state is not None:
            columns[long.state] = ColumnKind.STATE
        row = 0
        for batch in long.table.batches(columns, form.words):
            names = _names_of(batch.column(1), matcher)
            symptoms, is_unknown = _symptom_indices(names, matcher)
            if is_unknown.any() and not form.ignore_unknown:
                at = int(np.flatnonzero(is_unknown)[0])
                _unknown_symptom(names[at].as_py(), row + at, long, matcher)
            states = np.full(batch.num_rows, PRESENT, dtype=np.int8)
            if long.state is not None:
                states = batch.column(2).to_numpy(zero_copy_only=False)
            noted = _names_noted(names, symptoms, matcher)
            n_nameless = int((symptoms < 0).sum()) - sum(noted[0].values())
            notes.rows(batch.num_rows, *noted, n_nameless, int((states == ABSENT).sum()))
            if batch.num_rows:
                yield Rows(batch.column(0), symptoms, states)
            row += batch.num_rows


def _unknown_symptom(name: object, row: int, long: LongTable, matcher: NameMatcher) -> NoReturn:
    hint = matcher.hint(name) if isinstance(name, str) else ""
    raise FindingsError(
        f"{long.table.location(row)}, column {quoted(long.symptom)}: the structure has no symptom "
        f"{quoted(name)}{hint or '.'} Correct it, say what such names mean with names= (--names "
        "names.csv), or pass over such rows with ignore_unknown=True (--ignore-unknown)."
    )


def _names_of(column: Any, matcher: NameMatcher) -> Any:
    """Return numbers as texts where symptoms are named by numbers: then they are no indices."""
    if pa.types.is_integer(column.type) and matcher.has_numbers:
        return column.cast(pa.string()).dictionary_encode()
    return column


def _symptom_indices(
    column: Any, matcher: NameMatcher
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the index of each symptom, given by name or index, below 0 where there is none.

    Also returns which rows have a symptom that is not among the names.
    """
    if pa.types.is_integer(column.type):
        numbers = column.fill_null(-1).to_numpy(zero_copy_only=False)
        is_outside = (numbers < 0) | (numbers >= len(matcher.names))
        is_unknown = is_outside & column.is_valid().to_numpy(zero_copy_only=False)
        return np.where(is_outside, -1, numbers).astype(np.int32), is_unknown
    words = column.dictionary.to_pylist()
    found = [matcher.find(word) if word and word.strip() else _NO_NAME for word in words]
    index_of = np.array([*found, _NO_NAME], dtype=np.int32)
    indices = index_of[column.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)]
    return np.where(indices < 0, -1, indices).astype(np.int32), indices == -1


_NO_NAME = -9
"""A row without a symptom: it says that there is a record."""


def _names_noted(
    column: Any, symptoms: NDArray[np.int32], matcher: NameMatcher
) -> tuple[dict[str, int], dict[str, str]]:
    """Return how many rows have which name that is passed over, and names in other letters."""
    if pa.types.is_integer(column.type):
        outside = column.filter(pa.array(symptoms < 0)).drop_null()
        values = outside.value_counts().to_pylist()
        return {str(each["values"]): each["counts"] for each in values}, {}
    words = column.dictionary.to_pylist()
    found = {word: matcher.find(word) for word in words if word and word.strip()}
    passed_over = {word for word, at in found.items() if at < 0}
    other = {word: matcher.names[at] for word, at in found.items() if at >= 0}
    other = {word: name for word, name in other.items() if word != name}
    if not passed_over:
        return {}, other
    counts = column.filter(pa.array(symptoms < 0)).cast(pa.string()).value_counts().to_pylist()
    counted = {each["values"]: each["counts"] for each in counts}
    return {word: n for word, n in counted.items() if word in passed_over}, other


# --- rows that do not stand together ---


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


# --- rows become records ---


class Assembler:
    """Turns rows, grouped by record, into blocks."""

    def __init__(self, structure: Structure, form: RecordFormat) -> None:
        self._form = form
        self._builder = BlockBuilder(
            structure, form.block_records, unmentioned_unknown=form.unmentioned == "unknown"
        )
        self._n_seen = 0
        self._seen: list[Any] = []
        self._id_type: Any = None

    def add(self, batches: Iterable[Rows]) -> Iterator[Block]:
        """Add a sequence of files in which an id means one record; give the full blocks."""
        previous = None
        for rows in batches:
            self._id_type = rows.ids.type
            starts = _run_starts(rows.ids, previous).to_numpy(zero_copy_only=False)
            previous = rows.ids[-1]
            yield from self._add_rows(rows, starts)

    def _add_rows(self, rows: Rows, starts: NDArray[np.bool_]) -> Iterator[Block]:
        """Put rows into the open block, and those of records that do not fit into the next.

        A full block is handed out only when a further record starts: until then the next rows
        may belong to its last record.
        """
        builder = self._builder
        start_rows = np.flatnonzero(starts)
        begin, done = 0, 0
        while begin < len(starts):
            if starts[begin] and not builder.room:
                yield builder.take_block()
            fitting = start_rows[done : done + builder.room]
            done += len(fitting)
            end = int(start_rows[done]) if done < len(start_rows) else len(starts)
            records = builder.filled - 1 + np.cumsum(starts[begin:end])
            for state in PRESENT, ABSENT, UNKNOWN:
                is_it = rows.states[begin:end] == state
                if is_it.any():
                    # Most files have only present findings: these need no copies.
                    chosen = slice(None) if is_it.all() else is_it
                    builder.mark(state, rows.symptoms[begin:end][chosen], records[chosen])
            ids = rows.ids.take(pa.array(fitting))
            builder.close_records(len(ids), ids)
            self._n_seen += len(ids)
            if self._form.all_records is not None:
                self._seen.append(ids)
            begin = end

    def finish(self) -> Iterator[Block]:
        """Add the records that have no row; give the remaining blocks."""
        if self._form.all_records is not None:
            ids = _without_rows(self._form, self._seen)
            yield from self._builder.empty_records(len(ids), ids)
        elif self._form.n_records is not None:
            n_empty = self._form.n_records - self._n_seen
            if n_empty < 0:
                raise FindingsError(
                    f"n_records is {self._form.n_records:,}, but the rows name "
                    f"{self._n_seen:,} records."
                )
            ids = None if self._id_type is None else pa.nulls(n_empty, self._id_type)
            yield from self._builder.empty_records(n_empty, ids)
        yield from self._builder.last_block()


def _without_rows(form: RecordFormat, seen: list[Any]) -> Any:
    """Return the ids of `all_records` that no row names; it must list every id that one names."""
    every = _all_ids(form)
    named = pa.chunked_array(seen, type=seen[0].type if seen else every.type)
    if named.type != every.type:  # then the rows' are texts
        every = every.cast(named.type)
    unlisted = named.filter(pc.invert(pc.is_in(named, value_set=every)))
    if len(unlisted):
        raise FindingsError(
            f"all_records does not list the records {some_of(unlisted[:6].to_pylist())}, "
            "which have rows."
        )
    return every.filter(pc.invert(pc.is_in(every, value_set=named))).combine_chunks()


def _all_ids(form: RecordFormat) -> Any:
    source = form.all_records
    is_table = hasattr(source, "columns") or hasattr(source, "column_names")
    if isinstance(source, str) or hasattr(source, "__fspath__") or is_table:
        table = open_table(source)
        column = _id_column(table, form)
        parts = [batch.column(0) for batch in table.batches({column: ColumnKind.ID})]
        if not parts:
            raise FindingsError(f"{table.name} lists no records.")
        every = pa.chunked_array(parts)
    else:
        every = pa.chunked_array([ids_array(source, "all_records")])
    if every.null_count:
        raise FindingsError("all_records has an empty id.")
    if pc.count_distinct(every).as_py() < len(every):
        raise FindingsError("all_records lists a record twice.")
    return every


def _id_column(table: Table, form: RecordFormat) -> str:
    """Return the column of ids of a table that lists records."""
    found = replace(form, names=None).columns_of(table, Structure([], [], [])).record
    if found is None and len(table.column_names) == 1:
        return table.column_names[0]
    if found is None:
        need_columns(table, [form.record])
    return str(found)
