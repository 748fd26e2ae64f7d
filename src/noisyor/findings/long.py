"""Long records: a row per finding, streamed where the rows of a record stand together.

Where they do not, the rows are grouped first (`grouping.py`). A record is never split, whatever the
files, row groups and blocks it lies across.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from noisyor.errors import FindingsError, quoted, some_of
from noisyor.findings.blocks import Block, BlockBuilder, ConflictError
from noisyor.findings.grouping import (
    Grouping,
    LongTable,
    Rows,
    examine_grouping,
    regrouped,
    run_starts,
    tell_grouping,
)
from noisyor.findings.notes import Notes
from noisyor.findings.reading import RecordFormat, RecordStream, id_kind
from noisyor.io.columns import (
    ABSENT,
    PRESENT,
    UNKNOWN,
    ColumnKind,
    Table,
    holds_absent,
    ids_array,
)
from noisyor.io.tables import need_columns, open_table
from noisyor.names import NameMatcher
from noisyor.parallel import n_threads, one_by_one
from noisyor.structure import Structure

MOST_BUILT = 8
"""Blocks whose bits are set at a time, each by a thread."""


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
        notes.file(table, "long", columns.found(), is_inverted=form.invert)
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
    for name, column in long.table.first_rows(others).items():
        notes.columns_not_read[name] = _some_values(column)
        if long.state is None and holds_absent(column, form.words):
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
    groupings: Sequence[Grouping], structure: Structure, form: RecordFormat, notes: Notes
) -> Iterator[Block]:
    assembler = Assembler(structure, form)
    tables = [table for grouping in groupings for table in grouping.tables]
    with _conflicts_placed(tables, structure, form):
        for grouping in groupings:
            tell_grouping(grouping)
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
        row, words = 0, None
        for batch in long.table.batches(columns, form.words):
            names = _names_of(batch.column(1), matcher)
            words = _looked_up(names, matcher, words)
            if words is None and names.null_count < len(names):
                notes.indices(long.symptom)
            symptoms, is_unknown = _symptom_indices(names, matcher, words)
            if is_unknown is not None and is_unknown.any() and not form.ignore_unknown:
                at = int(np.flatnonzero(is_unknown)[0])
                _unknown_symptom(names[at].as_py(), row + at, long, matcher)
            states, n_absent = np.full(batch.num_rows, PRESENT, dtype=np.int8), 0
            if long.state is not None:
                states = batch.column(2).to_numpy(zero_copy_only=False)
                n_absent = int((states == ABSENT).sum())
            noted = _names_noted(names, symptoms, words)
            n_nameless = 0
            if is_unknown is not None:
                n_nameless = int((symptoms < 0).sum()) - sum(noted[0].values())
            notes.rows(batch.num_rows, *noted, n_nameless, n_absent)
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


class _Words(NamedTuple):
    """The different texts of a column, looked up."""

    dictionary: Any
    index_of: NDArray[np.int32]
    """Of each text, below 0 where it is no symptom; one more for rows without any."""
    passed_over: set[str]
    other_letters: dict[str, str]
    """Symptoms that are written in other letters than the structure has."""

    @property
    def are_all_symptoms(self) -> bool:
        """Whether each of the texts is a symptom."""
        return bool((self.index_of[:-1] >= 0).all())


def _looked_up(column: Any, matcher: NameMatcher, before: _Words | None) -> _Words | None:
    """Return the texts of a column, if it has some: those of the batch before are mostly equal."""
    if pa.types.is_integer(column.type):
        return None
    if before is not None and before.dictionary.equals(column.dictionary):
        return before
    words = column.dictionary.to_pylist()
    found = [matcher.find(word) if word and word.strip() else _NO_NAME for word in words]
    known = {word: matcher.names[at] for word, at in zip(words, found, strict=True) if at >= 0}
    return _Words(
        column.dictionary,
        np.array([*found, _NO_NAME], dtype=np.int32),
        {word for word, at in zip(words, found, strict=True) if _NO_NAME < at < 0},
        {word: name for word, name in known.items() if word != name},
    )


def _symptom_indices(
    column: Any, matcher: NameMatcher, words: _Words | None
) -> tuple[NDArray[np.int32], NDArray[np.bool_] | None]:
    """Return the index of each symptom, given by name or index, below 0 where there is none.

    Also returns which rows have a symptom that is not among the names; None: all rows have a
    symptom that is, as in most files.
    """
    if words is None:
        numbers = column.fill_null(-1).to_numpy(zero_copy_only=False)
        is_outside = (numbers < 0) | (numbers >= len(matcher.names))
        is_unknown = is_outside & column.is_valid().to_numpy(zero_copy_only=False)
        return np.where(is_outside, -1, numbers).astype(np.int32), is_unknown
    if not column.null_count and words.are_all_symptoms:
        return words.index_of[column.indices.to_numpy(zero_copy_only=False)], None
    of_rows = column.indices.fill_null(len(words.index_of) - 1).to_numpy(zero_copy_only=False)
    indices = words.index_of[of_rows]
    return np.where(indices < 0, -1, indices).astype(np.int32), indices == -1


_NO_NAME = -9
"""A row without a symptom: it says that there is a record."""


def _names_noted(
    column: Any, symptoms: NDArray[np.int32], words: _Words | None
) -> tuple[dict[str, int], dict[str, str]]:
    """Return how many rows have which name that is passed over, and names in other letters."""
    if words is None:
        outside = column.filter(pa.array(symptoms < 0)).drop_null()
        values = outside.value_counts().to_pylist()
        return {str(each["values"]): each["counts"] for each in values}, {}
    if not words.passed_over:
        return {}, words.other_letters
    counts = column.filter(pa.array(symptoms < 0)).cast(pa.string()).value_counts().to_pylist()
    counted = {each["values"]: each["counts"] for each in counts}
    noted = {word: n for word, n in counted.items() if word in words.passed_over}
    return noted, words.other_letters


# --- rows become records ---


class _RowRun(NamedTuple):
    """Consecutive rows of one block."""

    symptoms: NDArray[np.int32]
    states: NDArray[np.int8]
    starts: NDArray[np.bool_]
    """Whether a row begins a record..."""
    first_record: int
    """... of which this is the number, in the block, of the first that begins here."""


class _OpenBlock:
    """The rows of a block: as many records as it can take."""

    def __init__(self, structure: Structure, form: RecordFormat) -> None:
        self._structure, self._form = structure, form
        self._runs: list[_RowRun] = []
        self._ids: list[Any] = []
        self._n_records = 0

    @property
    def room(self) -> int:
        """How many more records it can take."""
        return self._form.block_records - self._n_records

    def add(
        self,
        symptoms: NDArray[np.int32],
        states: NDArray[np.int8],
        starts: NDArray[np.bool_],
        ids: Any,
    ) -> None:
        """Add rows, in which so many records begin as there are ids."""
        self._runs.append(_RowRun(symptoms, states, starts, self._n_records))
        self._ids.append(ids)
        self._n_records += len(ids)

    def builder(self) -> BlockBuilder:
        """Return the records as bits, and room for more."""
        is_unknown = self._form.unmentioned == "unknown"
        found = BlockBuilder(self._structure, self._form.block_records, is_unknown)
        for run in self._runs:
            records = run.first_record - 1 + np.cumsum(run.starts)
            for state in PRESENT, ABSENT, UNKNOWN:
                is_it = run.states == state
                if is_it.any():
                    # Most files have only present findings: these need no copies.
                    chosen = slice(None) if is_it.all() else is_it
                    found.mark(state, run.symptoms[chosen], records[chosen])
        for ids in self._ids:
            found.close_records(len(ids), ids)
        return found

    def block(self) -> Block:
        """Return the block."""
        return self.builder().take_block()


class Assembler:
    """Turns rows, grouped by record, into blocks; threads set the bits of several at a time."""

    def __init__(self, structure: Structure, form: RecordFormat) -> None:
        self._structure, self._form = structure, form
        self._open = _OpenBlock(structure, form)
        self._n_seen = 0
        self._seen: list[Any] = []
        self._id_type: Any = None

    def add(self, batches: Iterable[Rows]) -> Iterator[Block]:
        """Add a sequence of files in which an id means one record; give the full blocks."""
        n_jobs = min(n_threads(None), MOST_BUILT)
        return one_by_one(_OpenBlock.block, self._full_blocks(batches), n_jobs, n_waiting=0)

    def _full_blocks(self, batches: Iterable[Rows]) -> Iterator[_OpenBlock]:
        previous = None
        for rows in batches:
            self._id_type = rows.ids.type
            starts = run_starts(rows.ids, previous).to_numpy(zero_copy_only=False)
            previous = rows.ids[-1]
            yield from self._add_rows(rows, starts)

    def _add_rows(self, rows: Rows, starts: NDArray[np.bool_]) -> Iterator[_OpenBlock]:
        """Put rows into the open block, and those of records that do not fit into the next.

        A full block is handed out only when a further record starts: until then the next rows
        may belong to its last record.
        """
        start_rows = np.flatnonzero(starts)
        begin, done = 0, 0
        while begin < len(starts):
            if starts[begin] and not self._open.room:
                yield self._open
                self._open = _OpenBlock(self._structure, self._form)
            fitting = start_rows[done : done + self._open.room]
            done += len(fitting)
            end = int(start_rows[done]) if done < len(start_rows) else len(starts)
            ids = rows.ids.take(pa.array(fitting))
            part = slice(begin, end)
            self._open.add(rows.symptoms[part], rows.states[part], starts[part], ids)
            self._n_seen += len(ids)
            if self._form.all_records is not None:
                self._seen.append(ids)
            begin = end

    def finish(self) -> Iterator[Block]:
        """Add the records that have no row; give the remaining blocks."""
        builder = self._open.builder()
        if self._form.all_records is not None:
            ids = _without_rows(self._form, self._seen)
            yield from builder.empty_records(len(ids), ids)
        elif self._form.n_records is not None:
            n_empty = self._form.n_records - self._n_seen
            if n_empty < 0:
                raise FindingsError(
                    f"n_records is {self._form.n_records:,}, but the rows name "
                    f"{self._n_seen:,} records."
                )
            ids = None if self._id_type is None else pa.nulls(n_empty, self._id_type)
            yield from builder.empty_records(n_empty, ids)
        yield from builder.last_block()


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
