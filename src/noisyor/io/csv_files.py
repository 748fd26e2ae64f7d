"""CSV files: Arrow's fast parser, and a slow second look that finds the line at fault.

Arrow reads gigabytes a second but names no line when it fails. So when it fails, the file is read
again with Python's `csv` module up to the first thing wrong.
"""

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pa_csv

from noisyor.errors import FileError
from noisyor.io.columns import FALSE_TEXTS, NULL_TEXTS, TRUE_TEXTS, ColumnKind, Table, convert_batch
from noisyor.io.paths import FileSource, PathLike, unreadable

_WORDS = pa.dictionary(pa.int32(), pa.string())
_ARROW_TYPES = {
    ColumnKind.TEXT: _WORDS,
    ColumnKind.NAME: _WORDS,
    ColumnKind.STATE: _WORDS,
    ColumnKind.ID: pa.string(),
    ColumnKind.FLAG: pa.bool_(),
    ColumnKind.NUMBER: pa.float64(),
}


class CsvFile(Table):
    """A CSV (or tab-separated) file with a header, plain or gzipped, in UTF-8."""

    def __init__(self, source: PathLike, span: "Span | None" = None) -> None:
        self._file = FileSource(source)
        self.path, self.name = self._file.path, self._file.name
        self.file_name = self._file.file_name
        self._span = span
        self.first_row = span.first_row if span is not None else 0
        self.delimiter = "\t" if ".tsv" in self._file.file_name.lower() else ","
        self.column_names = ("",)
        self.column_names = self._header()
        self._check_no_duplicates()

    def _header(self) -> tuple[str, ...]:
        with closing(self._rows()) as rows:
            first = next(rows, None)
        if first is None:
            raise FileError(f"{self.name} is empty: it has no header.")
        return tuple(first[1])

    def batches(self, columns: Mapping[str, ColumnKind]) -> Iterator[pa.RecordBatch]:
        """Give some columns, converted to their kinds, in batches of rows."""
        convert = pa_csv.ConvertOptions(
            include_columns=list(columns),
            column_types={name: _ARROW_TYPES[kind] for name, kind in columns.items()},
            true_values=list(TRUE_TEXTS),
            false_values=list(FALSE_TEXTS),
            null_values=list(NULL_TEXTS),
            strings_can_be_null=False,
        )
        parse = pa_csv.ParseOptions(
            delimiter=self.delimiter,
            newlines_in_values=True,
            ignore_empty_lines=not self._has_one_column,
        )
        read = pa_csv.ReadOptions(block_size=8 << 20)  # bytes; a row must fit into one block
        with self._arrow_errors(columns), self.open_bytes() as bytes_:
            reader = pa_csv.open_csv(
                bytes_, read_options=read, parse_options=parse, convert_options=convert
            )
            row = 0
            for batch in reader:
                yield convert_batch(batch, columns, row, self)
                row += batch.num_rows

    def open_bytes(self) -> Any:
        """Open the file, or the part of it with the header before it."""
        if self._span is not None:
            return pa.BufferReader(self._span.header + self._span.read(self._file))
        packed = "gzip" if self._file.is_gzipped else None
        return pa.input_stream(self._file.open(), compression=packed)

    @property
    def _has_one_column(self) -> bool:
        """Whether an empty line is a row with an empty value."""
        return len(self.column_names) == 1

    def location(self, row: int) -> str:
        """Say where a row stands."""
        with closing(self._rows()) as rows:
            for number, (line, _) in enumerate(rows, start=-1):
                if number == self.first_row + row:
                    return f"{self.name}, line {line}"
        return super().location(row)

    @contextmanager
    def _arrow_errors(self, columns: Mapping[str, ColumnKind]) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, EOFError, UnicodeError, MemoryError) as error:
            self._find_fault(columns)
            raise unreadable(self.name, error) from None

    def _find_fault(self, columns: Mapping[str, ColumnKind]) -> None:
        """Raise an error for the first line that Arrow cannot have liked."""
        wanted = [(self.column_names.index(name), name, kind) for name, kind in columns.items()]
        with closing(self._rows()) as rows:
            next(rows)  # the header
            for line, cells in rows:
                if len(cells) != len(self.column_names):
                    raise FileError(
                        f"{self.name}, line {line}: {len(cells)} values where the header has "
                        f"{len(self.column_names)} columns."
                    )
                for position, name, kind in wanted:
                    if not _fits(cells[position], kind):
                        raise FileError(
                            f"{self.name}, line {line}, column {name!r}: "
                            f"{cells[position]!r} is not {kind.value}."
                        )

    def _rows(self) -> Generator[tuple[int, list[str]]]:
        """Give line number and cells of each row, the header first, blank lines left out."""
        csv.field_size_limit(sys.maxsize)
        with (
            _open_bytes(self._file) as bytes_,
            io.TextIOWrapper(bytes_, encoding="utf-8-sig", newline="") as lines,
        ):
            reader = csv.reader(lines, delimiter=self.delimiter)
            try:
                is_header = True
                for cells in reader:
                    if cells:
                        yield reader.line_num, cells
                    elif self._has_one_column and not is_header:
                        yield reader.line_num, [""]
                    is_header = is_header and not cells
            except csv.Error as error:
                raise FileError(f"{self.name}, line {reader.line_num}: {error}.") from None
            except UnicodeDecodeError:
                line = _first_line_not_utf8(self._file)
                raise FileError(
                    f"{self.name}, line {line}: the text is not UTF-8; save the file as UTF-8."
                ) from None
            except (OSError, EOFError, zlib.error) as error:
                raise unreadable(self.name, error) from None


def _fits(cell: str, kind: ColumnKind) -> bool:
    if kind is ColumnKind.FLAG:
        return cell in TRUE_TEXTS or cell in FALSE_TEXTS or cell in NULL_TEXTS
    if kind is ColumnKind.NUMBER:
        return cell in NULL_TEXTS or _is_number(cell)
    return True


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _open_bytes(file: FileSource) -> Any:
    opened = file.open()
    return gzip.open(opened, "rb") if file.is_gzipped else io.BufferedReader(opened)


class Span(NamedTuple):
    """The lines of a CSV file that begin within some of its bytes."""

    start: int
    stop: int
    header: bytes
    """The line of the names, with which each span is read."""
    first_row: int = 0

    def read(self, source: FileSource) -> bytes:
        """Return the lines; the last one in full, where it ends behind the span."""
        with source.open() as file:
            file.seek(self.start - 1)
            found = bytes(file.read(self.stop - self.start + 1))
            # A line belongs to the span in which it begins.
            begin = found.find(b"\n") + 1
            if begin == 0:
                return b""
            ending = b"" if found.endswith(b"\n") else _rest_of_line(file)
        return found[begin:] + ending


def _rest_of_line(file: Any) -> bytes:
    line = b""
    while b"\n" not in line:
        more = bytes(file.read(1 << 16))
        if not more:
            return line
        line += more
    return line[: line.index(b"\n") + 1]


def _first_line_not_utf8(file: FileSource) -> int:
    with _open_bytes(file) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1
