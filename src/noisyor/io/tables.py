"""Tables read in batches, from CSV, Parquet or any object with the Arrow stream interface.

    table = open_table("edges.csv")
    table.column_names                                  # ('disease', 'symptom', 'probability')
    for batch in table.batches({"disease": ColumnKind.TEXT}): ...

Every table can be read again and again, and gives the location of a row for error messages. Tables
are written to CSV and Parquet whole or not at all; batches can be parked on disk (`Spool`).
"""

import re
import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from noisyor.errors import (
    FileError,
    NoisyOrError,
    count_of,
    give_notice,
    nearest_name,
    quoted,
    some_of,
)
from noisyor.io.columns import ColumnKind, Table, Words, has_text_ids, holds_absent, is_text
from noisyor.io.csv_files import CsvFile
from noisyor.io.excel import ExcelSheet
from noisyor.io.paths import (
    PACKINGS,
    FileSource,
    PathLike,
    damage_named,
    existing_file,
    is_uri,
    one_line,
    unwritable,
)
from noisyor.io.replacing import forget, keep_in_mind, replaced_when_done
from noisyor.parallel import n_threads, one_by_one

BATCH_ROWS = 1 << 17
"""Rows a batch at most: enough to amortise a call, little enough to stay small in memory."""

FEW_CELLS = 1 << 21
"""Cells a batch where columns are few: each batch takes a dozen calls, whatever its size."""
DECODED_CELLS = 1 << 24
"""Cells that threads decode ahead, all together: some hundred megabytes."""

TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".tab")

_REPETITIVE = ColumnKind.TEXT, ColumnKind.NAME, ColumnKind.STATE


class RowLocation:
    """A row of a table; as text it says where the row stands.

    Finding a line in a CSV file takes reading it from its beginning: only errors should ask for it.
    """

    __slots__ = ("_row", "_table")

    def __init__(self, table: Table, row: int) -> None:
        self._table, self._row = table, row

    def __str__(self) -> str:
        return self._table.location(self._row)


def open_table(source: Any) -> Table:
    """Open a CSV or Parquet file by its path, or wrap an object that streams Arrow.

    The ending decides: `.parquet` and `.pq` are Parquet; `.csv`, `.tsv`, `.txt` and `.tab` are
    text, also compressed; `.xlsx` is a sheet of Excel.
    """
    if hasattr(source, "__arrow_c_stream__"):
        return ArrowTable(source)
    if not isinstance(source, str) and not hasattr(source, "__fspath__"):
        raise FileError(
            f"cannot read a table from {type(source).__name__}: give a path to CSV or Parquet, or "
            "an object with the Arrow stream interface (pandas, polars, pyarrow, duckdb)."
        )
    file = source if is_uri(source) else existing_file(source)
    name = str(file).lower()
    if name.endswith((".parquet", ".pq")):
        return ParquetFile(file)
    packed = next((end for end in PACKINGS if name.endswith(end)), "")
    if name.removesuffix(packed).endswith(TEXT_ENDINGS) or packed == ".zip":
        return CsvFile(file)
    if name.endswith((".xlsx", ".xlsm")):
        return ExcelSheet(file)
    raise FileError(
        f"{file}: unknown kind of file; use .csv, .tsv, .txt or .tab (also as .gz, .bz2, .zst, .xz "
        "or .zip), .xlsx or .parquet."
    )


def check_unread(
    table: Table, optional: Iterable[str], needed: Iterable[str], others: Collection[str] = ()
) -> None:
    """Tell of columns that are not read; refuse one that is nearly named as a missing optional one.

    It would be passed over, and what it says with it. `others` need not be told of.
    """
    read = [*needed, *optional]
    missing = [name for name in optional if name not in table.column_names]
    unread = [name for name in table.column_names if name and name not in {*read, *others}]
    for name in unread:
        hint = nearest_name(name, missing)
        if hint:
            raise FileError(f"{table.name}: there is no column {quoted(name)} to be read{hint}")
    if unread:
        give_notice(
            f"{table.name}: passed over {count_of(len(unread), 'column')}: {some_of(unread)}. "
            f"What is read here: {', '.join(read)}."
        )


def need_columns(table: Table, wanted: Iterable[str]) -> None:
    """Raise an error that names the columns a table lacks."""
    missing = [name for name in wanted if name not in table.column_names]
    if missing:
        raise FileError(
            f"{table.name} has no column {some_of(missing)}; its columns are "
            f"{some_of(table.column_names, most=10)}."
        )


def check_no_zeros(table: Table, columns: Iterable[str]) -> None:
    """Raise an error where a column says, by its first rows, that some of the rows do not count."""
    for name, column in table.first_rows(columns).items():
        if len(column.unique()) > 1 and holds_absent(column):
            raise FileError(
                f"{table.name}: the column {quoted(name)} holds words for no (0, false, ...). A "
                "row is an edge, whatever stands beside it: remove the rows that are none, or the "
                "column."
            )


class ParquetFile(Table):
    """A Parquet file, or some of its row groups, read a row group at a time."""

    def __init__(self, source: PathLike, groups: tuple[int, int] | None = None) -> None:
        self._file = FileSource(source)
        self.path, self.name = self._file.path, self._file.name
        self.file_name = self._file.file_name
        with damage_named(self.name, "Parquet"), self._open() as file:
            self._schema = file.schema_arrow
            self.column_names = _without_pandas_index(self._schema.names)
            groups_of_file = map(file.metadata.row_group, range(file.metadata.num_row_groups))
            self.group_rows = [group.num_rows for group in groups_of_file]
        first, last = groups or (0, len(self.group_rows))
        self._groups = range(first, last)
        self.first_row = sum(self.group_rows[:first])
        self.n_rows = sum(self.group_rows[first:last])
        self._check_columns()

    def _open(self, **options: Any) -> Any:
        return pq.ParquetFile(self._file.open(), **options)

    def whole(self) -> "ParquetFile | None":
        """Return the file of which this is a part."""
        is_part = len(self._groups) < len(self.group_rows)
        return ParquetFile(self.path or self.name) if is_part else None

    def has_text_ids(self, column: str) -> bool:
        """Return True if ids in a column are texts, not whole numbers."""
        return has_text_ids(self._schema.field(column).type)

    def _raw_batches(self, columns: Mapping[str, ColumnKind], words: Words) -> Iterator[Any]:
        """Give some columns as they stand, in batches of rows."""
        # Text is repetitive: as a dictionary it is decoded once per row group, not once per row.
        texts = [
            name
            for name, kind in columns.items()
            if kind in _REPETITIVE and is_text(self._schema.field(name).type)
        ]
        # The Parquet library takes some 20 bytes a cell while it decodes.
        n_columns = max(1, len(columns))
        rows = max(1, min(max(BATCH_ROWS, FEW_CELLS // n_columns), (1 << 25) // n_columns))
        # Buffering ahead would keep the bytes of all row groups until the end of the file.
        options = {"read_dictionary": texts, "pre_buffer": False}

        def decoded(groups: range, metadata: Any) -> Iterator[Any]:
            with self._open(**options, metadata=metadata) as file:
                for batch in file.iter_batches(rows, groups, columns=list(columns)):
                    batch.validate(full=True)  # damaged bytes may give text that is not UTF-8
                    yield batch

        with damage_named(self.name, "Parquet"), self._open() as file:
            parts = list(self._parts(DECODED_CELLS // 16 // n_columns))
            most_rows = max(map(self._n_rows_of, parts), default=0)
            n_parts_ahead = DECODED_CELLS // max(1, most_rows * n_columns)
            if len(parts) < 2 or n_parts_ahead < 4:
                yield from decoded(self._groups, file.metadata)
                return
            n_jobs = min(n_threads(None), n_parts_ahead - 2)
            found = one_by_one(
                lambda groups: list(decoded(groups, file.metadata)), parts, n_jobs, n_waiting=0
            )
            for part in found:
                yield from part

    def _parts(self, most_rows: int) -> Iterator[range]:
        """Cut the row groups into what threads decode: small ones together."""
        first, n_rows = self._groups.start, 0
        for group in self._groups:
            n_rows += self.group_rows[group]
            if n_rows > most_rows and group > first:
                yield range(first, group)
                first, n_rows = group, self.group_rows[group]
        if first < self._groups.stop:
            yield range(first, self._groups.stop)

    def _n_rows_of(self, groups: range) -> int:
        return sum(self.group_rows[groups.start : groups.stop])


class ArrowTable(Table):
    """An object with the Arrow stream interface: pandas, polars, pyarrow or duckdb."""

    def __init__(self, source: Any, first_row: int = 0) -> None:
        self.name = f"the {type(source).__name__}"
        self.first_row = first_row
        with self._stream_errors():
            self._source = _rereadable(source)
            names = self._reader().schema.names
        self.column_names = _without_pandas_index(names)
        self.index_name = _index_name(source)
        self._check_columns()

    def _reader(self) -> Any:
        if isinstance(self._source, Spool):
            return pa.RecordBatchReader.from_batches(self._source.schema, self._source)
        return pa.RecordBatchReader.from_stream(self._source)

    def _raw_batches(self, columns: Mapping[str, ColumnKind], words: Words) -> Iterator[Any]:
        """Give some columns as they stand, in batches of rows."""
        with self._stream_errors():
            for batch in self._reader():
                wanted = batch.select(list(columns))
                for start in range(0, batch.num_rows, BATCH_ROWS):
                    yield wanted.slice(start, BATCH_ROWS)

    def has_text_ids(self, column: str) -> bool:
        """Return True if ids in a column are texts, not whole numbers."""
        return has_text_ids(self._reader().schema.field(column).type)

    @contextmanager
    def _stream_errors(self) -> Iterator[None]:
        try:
            yield
        except NoisyOrError:
            raise
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            reason = one_line(error)
            raise FileError(f"{self.name} cannot be read as an Arrow stream: {reason}") from None


def _without_pandas_index(names: Iterable[str]) -> tuple[str, ...]:
    """Leave out the column as which pandas writes an index that has no name."""
    return tuple(name for name in names if not re.fullmatch(r"__index_level_\d+__", name))


def _with_plain_texts(frame: Any) -> Any:
    """Return a pandas frame in which columns of numbers and texts are texts."""
    mixed = {}
    objects = [name for name, kind in frame.dtypes.items() if kind == np.dtype(object)]
    for name in objects:
        try:
            pa.array(frame[name], from_pandas=True)
        except (pa.ArrowException, TypeError):
            column = frame[name]
            mixed[name] = column.map(str).where(column.notna(), None)
    return frame.assign(**mixed) if mixed else frame


def _index_name(source: Any) -> str | None:
    """Return the name of a pandas frame's index, if it has one name."""
    index = getattr(source, "index", None)
    names = list(getattr(index, "names", []))
    return names[0] if len(names) == 1 and isinstance(names[0], str) else None


def _rereadable(source: Any) -> Any:
    """Return a table in memory, or a spool of a source that may stream only once or differently."""
    library = type(source).__module__.partition(".")[0]
    if library == "pandas":
        # pandas may drop an index, or stream it as a column, depending on its values.
        has_names = any(name is not None for name in source.index.names)
        return _with_plain_texts(source.reset_index() if has_names else source)
    if library == "polars" or isinstance(source, pa.Table | pa.RecordBatch):
        return source
    reader = pa.RecordBatchReader.from_stream(source)
    spool = Spool(reader.schema)
    for batch in reader:
        spool.append(batch)
    return spool


# --- writing ---


def write_csv(path: PathLike, table: Any) -> None:
    """Write an Arrow table as CSV with a header."""
    write_batches(path, table.schema, table.to_batches(), kind="csv")


def write_table(path: PathLike, table: Any, *, spreadsheet_safe: bool = False) -> None:
    """Write an Arrow table as CSV or Parquet, by the ending of the path."""
    kind, schema, batches = table_kind(path), table.schema, table.to_batches()
    if spreadsheet_safe and kind == "csv":
        schema, batches = harmless(schema, batches)
    write_batches(path, schema, batches, kind)


def write_batches(path: PathLike, schema: Any, batches: Iterable[Any], kind: str) -> None:
    """Write batches, as they come, to a CSV or Parquet file."""
    with replaced_when_done(path) as part:
        try:
            with _writer(str(part), schema, kind) as writer:
                for batch in batches:
                    writer.write_batch(batch)
        except pa.ArrowException as error:
            raise unwritable(str(path), error) from None


_FORMULAS = "=", "+", "-", "@", "\t", "\r"
"""With what a text begins that a spreadsheet would take for a formula, and compute."""


def harmless(schema: Any, batches: Iterable[Any]) -> tuple[Any, Iterator[Any]]:
    """Return a table whose texts no spreadsheet computes: those like formulas begin with '.

    Names of columns are texts, too. Different texts stay different.
    """
    fields = [field.with_name(_harmless(field.name)) for field in schema]
    safe = pa.schema(fields, schema.metadata)

    def columns(batch: Any) -> Iterator[Any]:
        for column in batch.columns:
            if is_text(column.type):
                texts = (text and _harmless(text) for text in column.to_pylist())
                yield pa.array(texts, column.type)
            else:
                yield column

    found = (pa.RecordBatch.from_arrays(list(columns(batch)), schema=safe) for batch in batches)
    return safe, found


def _harmless(text: str) -> str:
    return f"'{text}" if text.lstrip("'").startswith(_FORMULAS) else text


def _writer(part: str, schema: Any, kind: str) -> Any:
    if kind == "parquet":
        return pq.ParquetWriter(part, schema, compression="zstd")
    return pa_csv.CSVWriter(part, schema, write_options=pa_csv.WriteOptions(quoting_style="needed"))


def table_kind(path: PathLike) -> str:
    """Return "csv" or "parquet" by the ending of a file to be written."""
    name = str(path).lower()
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    if name.endswith(".csv"):
        return "csv"
    raise FileError(f"{path}: the ending must be .csv or .parquet.")


# --- batches parked on disk: streams that come only once, rows that must be regrouped ---


class Spool:
    """A temporary file of batches with one schema; it vanishes with the object.

    >>> spool = Spool(pa.schema({"x": pa.int64()}))
    >>> spool.append(pa.record_batch({"x": [1, 2, 3]}))
    >>> [batch.num_rows for batch in spool], spool.n_rows
    ([3], 3)
    """

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.n_rows = 0
        with _disk_errors():
            folder = Path(tempfile.mkdtemp(prefix="noisyor-"))
            keep_in_mind(folder)
            weakref.finalize(self, _remove, folder)
            self._path = str(folder / "rows.arrow")
            self._sink = pa.OSFile(self._path, "wb")
            self._writer: Any = pa.ipc.new_stream(self._sink, schema)

    def append(self, batch: Any) -> None:
        """Add a batch at the end."""
        with _disk_errors():
            self._writer.write_batch(batch)
        self.n_rows += batch.num_rows

    def __iter__(self) -> Iterator[Any]:
        with _disk_errors():
            if self._writer is not None:
                self._writer.close()
                self._sink.close()
                self._writer = None
            with pa.OSFile(self._path, "rb") as source:
                yield from pa.ipc.open_stream(source)


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Say where the temporary files are and how to move them, when the disk refuses."""
    try:
        yield
    except OSError as error:
        raise FileError(
            f"temporary files in {tempfile.gettempdir()} failed: {error.strerror or error}. "
            "Set the environment variable TMPDIR to a directory with more room."
        ) from None


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    forget(folder)
