"""Record files and tables, wide or long, as a stream of blocks in bounded memory.

=====  ==================================================================================
wide   a row a record, a column a symptom: 0, 1, true, false; null or NaN is unknown
long   a row a finding: columns record, symptom, and if wanted state (present, absent,
       unknown); a finding that no row mentions is absent, or unknown if one says so
=====  ==================================================================================
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisyor.errors import FindingsError, ParameterError, nearest_name, some_of
from noisyor.findings.blocks import BLOCK_RECORDS, Block, BlockBuilder, Words, words_for
from noisyor.io.columns import ColumnKind, Table
from noisyor.io.tables import open_table
from noisyor.structure import Structure

Layout = Literal["auto", "wide", "long"]


class ReadOptions(TypedDict, total=False):
    """How records stand in their files; see `RecordFormat`, which holds the meanings."""

    layout: Layout
    record: str
    symptom: str
    state: str
    ignore_unknown: bool
    n_records: int | None
    all_records: Any
    ids_per_file: bool
    unmentioned: Literal["absent", "unknown"]
    block_records: int


@dataclass(frozen=True)
class RecordFormat:
    """How records stand in their files.

    Parameters
    ----------
    layout
        "wide", "long", or "auto": long where the columns `record` and `symptom` exist.
    record, symptom, state
        The names of the columns that hold the record's id, the symptom and the finding's state.
    ignore_unknown
        Pass over columns (wide) or rows (long) of symptoms that the structure does not have.
    n_records
        Long: how many records there are; those without any row have no finding.
    all_records
        Long: the ids of all records (a sequence, an Arrow array, or a table with the column
        `record`); those without any row have no finding.
    ids_per_file
        Long: the same id in two files means two records. By default it means one.
    unmentioned
        Long: what a finding is that no row mentions, "absent" or "unknown".
    block_records
        Records a block at most, a multiple of 64.
    """

    layout: Layout = "auto"
    record: str = "record"
    symptom: str = "symptom"
    state: str = "state"
    ignore_unknown: bool = False
    n_records: int | None = None
    all_records: Any = None
    ids_per_file: bool = False
    unmentioned: Literal["absent", "unknown"] = "absent"
    block_records: int = BLOCK_RECORDS

    def __post_init__(self) -> None:
        if self.layout not in ("auto", "wide", "long"):
            raise ParameterError(f"layout is 'auto', 'wide' or 'long', not {self.layout!r}.")
        if self.unmentioned not in ("absent", "unknown"):
            raise ParameterError(f"unmentioned is 'absent' or 'unknown', not {self.unmentioned!r}.")
        if self.block_records < 64 or self.block_records % 64:
            raise ParameterError(
                f"block_records must be a multiple of 64, not {self.block_records}."
            )
        if self.n_records is not None and (
            isinstance(self.n_records, bool) or not isinstance(self.n_records, int | np.integer)
        ):
            raise ParameterError(f"n_records must be a whole number, not {self.n_records!r}.")
        if self.n_records is not None and self.all_records is not None:
            raise ParameterError("give n_records or all_records, not both.")

    def is_long(self, table: Table, structure: Structure) -> bool:
        """Say whether a table has a row per finding."""
        if self.layout != "auto":
            return self.layout == "long"
        columns = {self.record, self.symptom}
        return columns <= set(table.column_names) and not columns & set(structure.symptoms)


class RecordStream(NamedTuple):
    """The records of a file, or of several files that share records."""

    tables: tuple[Table, ...]
    n_records: int | None
    """How many records there are, where that is known beforehand."""
    blocks: Iterator[Block]

    @property
    def files(self) -> tuple[Path, ...]:
        """The paths of the tables that are files."""
        paths = (getattr(table, "path", None) for table in self.tables)
        return tuple(path for path in paths if path is not None)

    @property
    def file_name(self) -> str:
        """The name of the first file, without its directories; empty for a table in memory."""
        return str(getattr(self.tables[0], "file_name", ""))


def read_blocks(source: Any, structure: Structure, form: RecordFormat) -> Iterator[Block]:
    """Stream the records of a path, a table, or a list of them, in blocks that span files."""
    from noisyor.findings.long import long_blocks

    tables, is_long = open_records(source, structure, form)
    read = long_blocks if is_long else wide_blocks
    yield from read(tables, structure, form)


def record_streams(source: Any, structure: Structure, form: RecordFormat) -> list[RecordStream]:
    """Return the records file by file; files that share records come as one stream."""
    from noisyor.findings.long import long_streams

    tables, is_long = open_records(source, structure, form)
    if is_long:
        return long_streams(tables, structure, form)
    return [
        RecordStream(
            (table,),
            getattr(table, "n_rows", None),
            wide_blocks([table], structure, form),
        )
        for table in tables
    ]


def open_records(source: Any, structure: Structure, form: RecordFormat) -> tuple[list[Table], bool]:
    """Open tables of records, and say whether they have a row per finding."""
    sources = source if isinstance(source, list | tuple) else [source]
    if not sources:
        raise FindingsError("no files to read records from.")
    tables = [open_table(each) for each in sources]
    long = [form.is_long(table, structure) for table in tables]
    if any(long) and not all(long):
        raise FindingsError(
            f"{tables[long.index(True)].name} is long (a row per finding) and "
            f"{tables[long.index(False)].name} is wide (a column per symptom); read them apart."
        )
    return tables, long[0]


def wide_blocks(
    tables: Sequence[Table], structure: Structure, form: RecordFormat, lead: int = 0
) -> Iterator[Block]:
    """Stream the records of tables that have a column per symptom.

    With a `lead`, the first block has that many records.
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
    builder = BlockBuilder(structure, lead or form.block_records)
    columns = dict.fromkeys(structure.symptoms, ColumnKind.FLAG)
    has_ids = _all_have_ids(tables, structure, form)
    wanted = {form.record: ColumnKind.ID, **columns} if has_ids else columns
    id_type = None
    for table in tables:
        match_columns(table, structure, form)
        for batch in table.batches(wanted):
            if has_ids and batch.num_rows:
                check_same_type(id_type, batch.column(0).type)
                id_type = batch.column(0).type
            start = 0
            while start < batch.num_rows:
                part = batch.slice(start, builder.room)
                _append_wide(builder, part, structure, form.record if has_ids else None)
                start += part.num_rows
                if not builder.room:
                    yield builder.take_block()
                    if lead:
                        builder, lead = BlockBuilder(structure, form.block_records), 0
    yield from builder.last_block()


def _all_have_ids(tables: Sequence[Table], structure: Structure, form: RecordFormat) -> bool:
    """Say whether the tables have a column of ids: all of them, or none."""
    if form.record in structure.symptoms:
        return False
    with_ids = [form.record in table.column_names for table in tables]
    if any(with_ids) and not all(with_ids):
        raise FindingsError(
            f"{tables[with_ids.index(True)].name} has a column {form.record!r} of ids and "
            f"{tables[with_ids.index(False)].name} has not; give all files one, or none."
        )
    return all(with_ids)


def check_same_type(one: Any, other: Any) -> None:
    """Raise an error if the ids of one file are numbers and those of another are texts."""
    if one not in (None, other):
        raise FindingsError(
            f"the record ids are {one} in one file and {other} in another; write them alike."
        )


def match_columns(table: Table, structure: Structure, form: RecordFormat) -> None:
    """Raise an error that names the symptoms without a column and the columns without a symptom."""
    present = set(table.column_names)
    missing = [symptom for symptom in structure.symptoms if symptom not in present]
    known = {*structure.symptoms, form.record}
    unknown = [name for name in table.column_names if name not in known]
    if missing:
        hint = nearest_name(missing[0], unknown)
        raise FindingsError(
            f"{table.name} has no column for the symptoms {some_of(missing)}"
            f"{hint or '.'} Every symptom of the structure needs a column; where one was never "
            "recorded, add it with empty values, or take it out with structure.subset."
        )
    if unknown and not form.ignore_unknown:
        raise FindingsError(
            f"{table.name} has columns that are no symptoms of the structure: {some_of(unknown)}. "
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
    builder.append(n_records, _words(present), None if unknown is None else _words(unknown), ids)


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


def _words(packed: NDArray[np.uint8]) -> Words:
    return packed.view("<u8")
