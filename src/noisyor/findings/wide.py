"""Wide records: a row a record, a column a symptom, copied bit by bit from Arrow's columns."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisyor.errors import FindingsError, ParameterError, nearest_name, some_of
from noisyor.findings.blocks import Block, BlockBuilder, Origin, words_for
from noisyor.findings.reading import RecordFormat
from noisyor.io.columns import ColumnKind, Table
from noisyor.structure import Structure


def wide_blocks(table: Table, structure: Structure, form: RecordFormat) -> Iterator[Block]:
    """Stream the records of a table that has a column per symptom.

    Of a part of a table the first block is short, so that the others start where those of the
    whole table do: at multiples of 64 rows.
    """
    if form.n_records is not None or form.all_records is not None:
        raise ParameterError("n_records and all_records are for long records; these are wide.")
    if form.unmentioned != "absent":
        raise ParameterError(
            "unmentioned is for long records; in these, which are wide, leave a cell empty where a "
            "finding is unknown."
        )
    if not structure.n_symptoms:
        raise FindingsError("the structure has no symptoms to read.")
    match_columns(table.name, table.column_names, structure, form)
    columns = dict.fromkeys(structure.symptoms, ColumnKind.FLAG)
    id_column = None
    if form.record in table.column_names and form.record not in structure.symptoms:
        id_column = form.record
        columns = {id_column: ColumnKind.ID, **columns}
    builder = BlockBuilder(structure, -table.first_row % 64 or form.block_records)
    row = table.first_row
    for batch in table.batches(columns):
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, builder.room)
            _append_wide(builder, part, structure, id_column)
            start += part.num_rows
            if not builder.room:
                yield builder.take_block(Origin(table.file_name, row))
                row += builder.capacity
                if builder.capacity != form.block_records:
                    builder = BlockBuilder(structure, form.block_records)
    yield from builder.last_block(Origin(table.file_name, row))


def match_columns(
    name: str, column_names: Iterable[str], structure: Structure, form: RecordFormat
) -> None:
    """Raise an error that names the symptoms without a column and the columns without a symptom."""
    present = dict.fromkeys(column_names)
    missing = [symptom for symptom in structure.symptoms if symptom not in present]
    known = {*structure.symptoms, form.record}
    unknown = [column for column in present if column not in known]
    if missing:
        hint = nearest_name(missing[0], unknown)
        raise FindingsError(
            f"{name} has no column for the symptoms {some_of(missing)}"
            f"{hint or '.'} Every symptom of the structure needs a column; where one was never "
            "recorded, add it with empty values, or take it out with structure.subset."
        )
    if unknown and not form.ignore_unknown:
        raise FindingsError(
            f"{name} has columns that are not symptoms of the structure: {some_of(unknown)}. "
            "Remove them, or ignore them with ignore_unknown=True (--ignore-unknown)."
        )


def _append_wide(
    builder: BlockBuilder, batch: pa.RecordBatch, structure: Structure, record: str | None
) -> None:
    n_records = batch.num_rows
    present = np.zeros((structure.n_symptoms, words_for(n_records) * 8), dtype=np.uint8)
    unknown = None
    for number, symptom in enumerate(structure.symptoms):
        column = batch.column(symptom)
        bits, validity = column.buffers()[1], column.buffers()[0]
        _copy_bytes(present[number], bits, column.offset, n_records)
        if column.null_count:
            if unknown is None:
                unknown = np.zeros_like(present)
            _copy_bytes(unknown[number], validity, column.offset, n_records, invert=True)
            present[number] &= ~unknown[number]
    ids = None if record is None else batch.column(record)
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
