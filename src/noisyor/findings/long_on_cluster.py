"""Long records on a cluster: rows are dealt to buckets by their ids, in which records are whole.

Each row is read once, by the code that one machine reads it with, and keeps in mind its file.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from noisyor.findings.blocks import Block, ConflictError
from noisyor.findings.cluster_reading import Reading, check_as_many
from noisyor.findings.grouping import LongTable, Rows, check_no_id_missing
from noisyor.findings.long import Assembler, contradiction, indexed_rows, streams_of
from noisyor.findings.notes import Notes
from noisyor.io.columns import hash_ids
from noisyor.io.parts import Part
from noisyor.io.tables import open_table


def deal_rows(reading: Reading, parts: list[Part], n_buckets: int) -> list[Any]:
    """Return the rows of some parts as a table for each bucket, and at last the notes of them."""
    notes = Notes()
    pieces = [piece for part in parts for piece in _pieces(reading, part, notes)]
    id_type = pieces[0].schema.field("id").type if pieces else pa.string()
    empty = pa.schema({"id": id_type} | _COLUMNS).empty_table()
    table = pa.concat_tables([empty, *pieces]).combine_chunks()
    hashes = hash_ids(table.column("id").combine_chunks()) // np.uint64(1 << 20)
    bucket = (hashes % np.uint64(n_buckets)).astype(np.int64)  # other bits than those of the groups
    chosen = (pa.array(np.flatnonzero(bucket == each)) for each in range(n_buckets))
    return [*(table.take(rows) for rows in chosen), notes]


_COLUMNS = {"symptom": pa.int32(), "state": pa.int8(), "file": pa.int32(), "row": pa.int64()}


def _pieces(reading: Reading, part: Part, notes: Notes) -> Iterator[Any]:
    structure, form, *_ = reading
    long = opened(reading, part)
    row = 0
    for ids, symptoms, states in indexed_rows([long], structure, form, notes):
        check_no_id_missing(ids, long, row)
        n = len(symptoms)
        rows = part.first_row + row + np.arange(n)
        file = np.full(n, part.file_number, dtype=np.int32)
        columns = symptoms.astype(np.int32), states, file, rows
        yield pa.table({"id": ids} | dict(zip(_COLUMNS, columns, strict=True)))
        row += n
    check_as_many(row, part.n_rows, part.source)
    part.check()


def opened(reading: Reading, part: Part) -> LongTable:
    """Return a part as a table of which is known which columns are read."""
    table = part.open()
    columns = reading.form.columns_of(table, reading.structure)
    return LongTable(
        table, columns.record or "", columns.symptom or "", columns.state, reading.id_kind
    )


def bucket_blocks(reading: Reading, notes: Notes, table: Any) -> Iterator[Block]:
    """Give the records of a bucket, whose rows are sorted by id and come from many files."""
    assembler = Assembler(reading.structure, reading.form)
    rows = (
        Rows(batch["id"], batch["symptom"].to_numpy(), batch["state"].to_numpy())
        for batch in table.combine_chunks().to_batches()
    )
    try:
        yield from notes.watched(assembler.add(rows), 0)
        yield from notes.watched(assembler.finish(), 0)
    except ConflictError as error:
        locations = _locations(reading, table, error)
        raise contradiction(error, locations, reading.structure) from None


def _locations(reading: Reading, table: Any, error: ConflictError) -> list[str]:
    """Return where the rows stand that contradict each other."""
    is_record = pc.equal(table["id"], pa.scalar(error.record, table["id"].type))
    found = table.filter(pc.and_(is_record, pc.equal(table["symptom"], error.symptom)))
    found = found.sort_by([("file", "ascending"), ("row", "ascending")])
    return [
        open_table(reading.sources[file]).location(row)
        for file, row in zip(found["file"].to_pylist(), found["row"].to_pylist(), strict=True)
    ]


def shared_record(table: Any) -> Any:
    """Return the id of a record with rows in two files, or None; rows are sorted by id."""
    ids, files = table["id"].combine_chunks(), table["file"].to_numpy()
    is_same = pc.equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    found = np.flatnonzero(is_same & (files[1:] != files[:-1]))
    return ids[int(found[0])].as_py() if found.size else None


def file_blocks(reading: Reading, notes: Notes, part: Part) -> Iterator[Block]:
    """Give the records of a file whose ids mean nothing in other files."""
    structure, form, *_ = reading
    for stream in streams_of([opened(reading, part)], structure, form, notes):
        yield from notes.watched(stream.blocks, 0)
    part.check()
