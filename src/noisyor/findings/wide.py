"""Wide records: a row a record, a column a symptom, copied bit by bit from Arrow's columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisyor.errors import FindingsError, ParameterError, nearest_name, quoted, some_of
from noisyor.findings.blocks import Block, BlockBuilder, Origin, first_bits, words_for
from noisyor.findings.notes import Notes
from noisyor.findings.reading import RecordFormat, RecordStream, TableNames, id_kind
from noisyor.io.columns import UNNAMED, ColumnKind, Table
from noisyor.structure import Structure


def wide_streams(
    tables: Sequence[Table], structure: Structure, form: RecordFormat, notes: Notes
) -> list[RecordStream]:
    """Return the records of tables that have a column per symptom, each table a stream."""
    check_options(structure, form)
    matched = [match_columns(table, structure, form, notes) for table in tables]
    kind = id_kind((table, each.record) for table, each in zip(tables, matched, strict=True))
    notes.are_ids_watched = True
    for table, each in zip(tables, matched, strict=True):
        columns = {} if each.record is None else {"record": each.record}
        notes.file(table, "wide", columns, is_inverted=form.invert)
    return [
        RecordStream((table,), table.n_rows, blocks_of(table, structure, form, each, kind, notes))
        for table, each in zip(tables, matched, strict=True)
    ]


def check_options(structure: Structure, form: RecordFormat) -> None:
    """Raise an error where an option is for long records."""
    if form.n_records is not None or form.all_records is not None:
        raise ParameterError("n_records and all_records are for long records; these are wide.")
    if not structure.n_symptoms:
        raise FindingsError("the structure has no symptoms to read.")


class Matched(NamedTuple):
    """The columns of a table that are read."""

    record: str | None
    symptoms: list[str | None]
    """The column of each symptom; None: there is none, and it is unknown in all records."""

    @property
    def columns(self) -> list[str]:
        """The columns that there are."""
        return [name for name in self.symptoms if name is not None]


def blocks_of(
    table: Table,
    structure: Structure,
    form: RecordFormat,
    matched: Matched,
    kind: ColumnKind,
    notes: Notes,
) -> Iterator[Block]:
    """Stream the records of a table.

    Of a part of a table the first block is short, so that the others start where those of the
    whole table do: at multiples of 64 rows.
    """
    columns = dict.fromkeys(matched.columns, ColumnKind.FLAG)
    if matched.record is not None:
        columns = {matched.record: kind, **columns}
    builder = BlockBuilder(structure, -table.first_row % 64 or form.block_records)
    row = table.first_row
    for whole in table.batches(columns, form.words):
        batch = _without_empty_rows(whole, matched, notes)
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, builder.room)
            _append_wide(builder, part, matched)
            start += part.num_rows
            if not builder.room:
                yield builder.take_block(Origin(table.file_name, row))
                row += builder.capacity
                if builder.capacity != form.block_records:
                    builder = BlockBuilder(structure, form.block_records)
    yield from builder.last_block(Origin(table.file_name, row))


def _without_empty_rows(batch: Any, matched: Matched, notes: Notes) -> Any:
    """Leave out rows without an id and without a value, which spreadsheets write below others."""
    if matched.record is None:
        return batch
    ids = batch.column(matched.record)
    if not ids.null_count:
        return batch
    is_empty = np.array(ids.is_null())
    for name in matched.columns:
        is_empty &= np.asarray(batch.column(name).is_null())
    notes.n_rows_empty += int(is_empty.sum())
    return batch.filter(pa.array(~is_empty)) if is_empty.any() else batch


def match_columns(
    table: TableNames, structure: Structure, form: RecordFormat, notes: Notes
) -> Matched:
    """Return the columns that are read, or an error that names what has no match.

    Every symptom must have a column, and every column must be a symptom, unless others are to be
    passed over.
    """
    matcher, columns = form.matcher(structure), form.columns_of(table, structure)
    columns.check("record")
    given: dict[int, str] = {}
    others = []
    for name in table.column_names:
        symptom = matcher.find(name)
        if symptom in given:
            raise FindingsError(
                f"{table.name} has more than one column for the symptom "
                f"{quoted(structure.symptoms[symptom])}: {quoted(given[symptom])} and "
                f"{quoted(name)}; remove or rename one."
            )
        if symptom >= 0:
            given[symptom] = name
        elif name != columns.record:
            others.append((name, symptom))
    if form.unmentioned == "absent" or not given:
        _check_all_there(table, structure, given, others)
    others = [(name, symptom) for name, symptom in others if name != table.index_name]
    unknown = [name for name, symptom in others if symptom == -1]
    unknown = [name for name in unknown if name and not name.startswith(UNNAMED)]
    unknown = [name for name in unknown if name not in form.passed_over]
    if unknown and not form.ignore_unknown:
        raise FindingsError(
            f"{table.name} has columns that are not symptoms of the structure: "
            f"{some_of(unknown)}. Remove them, or pass over them with ignore_unknown=True "
            "(--ignore-unknown); if one holds the records' ids, say record= (--record); if some "
            "are symptoms that no edge names yet, add them to the structure "
            "(Structure.from_edges(..., symptoms=...), `noisyor convert --more-symptom NAME`); "
            "`fit` takes what tells of a person, as age does, as covariates= (--covariates), and "
            "codes of a disease as codes= (--codes)."
        )
    notes.columns_passed_over += [name for name, _ in others if name not in form.passed_over]
    if columns.record in columns.guessed:
        notes.guessed[str(columns.record)] = columns.guessed[str(columns.record)]
    names = [given.get(symptom) for symptom in range(structure.n_symptoms)]
    pairs = zip(names, structure.symptoms, strict=True)
    notes.other_names |= {name: symptom for name, symptom in pairs if name and name != symptom}
    return Matched(columns.record, names)


def _check_all_there(
    table: TableNames,
    structure: Structure,
    given: Mapping[int, str],
    others: Sequence[tuple[str, int]],
) -> None:
    missing = [name for at, name in enumerate(structure.symptoms) if at not in given]
    if not missing:
        return
    unknown = [name for name, _ in others]
    if not given and len(table.column_names) <= _MOST_LONG_COLUMNS:
        raise FindingsError(
            f"{table.name} has no column for any symptom of the structure; its columns are "
            f"{some_of(table.column_names, most=10)}. If it has a row per finding (long), "
            "call the columns of the record's id and the symptom's name 'record' and 'symptom', or "
            "say which they are: --layout long --record COLUMN --symptom COLUMN."
        )
    hint = nearest_name(missing[0], unknown)
    raise FindingsError(
        f"{table.name} has no column for the symptoms {some_of(missing)}{hint or '.'} Every "
        "symptom of the structure needs a column; where one was never recorded, say that it is "
        "unknown with unmentioned='unknown' (--unmentioned unknown), or take it out "
        "of the structure (structure.subset in Python)."
    )


_MOST_LONG_COLUMNS = 8
"""A table with more columns does not look like one with a row per finding."""


def _append_wide(builder: BlockBuilder, batch: pa.RecordBatch, matched: Matched) -> None:
    n_records = batch.num_rows
    present = np.zeros((len(matched.symptoms), words_for(n_records) * 8), dtype=np.uint8)
    unknown = None
    for number, name in enumerate(matched.symptoms):
        if name is None:
            unknown = np.zeros_like(present) if unknown is None else unknown
            unknown[number].view("<u8")[:] = first_bits(n_records, words_for(n_records))
            continue
        column = batch.column(name)
        bits, validity = column.buffers()[1], column.buffers()[0]
        _copy_bytes(present[number], bits, column.offset, n_records)
        if column.null_count:
            if unknown is None:
                unknown = np.zeros_like(present)
            _copy_bytes(unknown[number], validity, column.offset, n_records, invert=True)
            present[number] &= ~unknown[number]
    ids = None if matched.record is None else batch.column(matched.record)
    builder.append(
        n_records, present.view("<u8"), None if unknown is None else unknown.view("<u8"), ids
    )


def _copy_bytes(
    target: NDArray[np.uint8], buffer: Any, offset: int, n_bits: int, invert: bool = False
) -> None:
    """Copy the bits of an Arrow buffer, which have our order, and clear those past the end."""
    source = np.frombuffer(buffer, dtype=np.uint8)
    n_bytes = (n_bits + 7) // 8
    if offset % 8 == 0:
        target[:n_bytes] = source[offset // 8 : offset // 8 + n_bytes]
    else:
        bits = np.unpackbits(source, count=offset + n_bits, bitorder="little")[offset:]
        target[:n_bytes] = np.packbits(bits, bitorder="little")
    if invert:
        target[:n_bytes] ^= 0xFF
    if n_bits % 8:
        target[n_bytes - 1] &= (1 << (n_bits % 8)) - 1
