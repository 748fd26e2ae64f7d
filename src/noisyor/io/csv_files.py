"""CSV files: Arrow's fast parser, and a slow second look that finds the line at fault.

Arrow reads gigabytes a second but names no line when it fails. So when it fails, the file is read
again with Python's `csv` module up to the first thing wrong.
"""

import csv
import io
import itertools
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pa_csv

from noisyor.errors import FileError
from noisyor.io.columns import (
    ABSENT,
    PRESENT,
    UNKNOWN,
    ColumnKind,
    Table,
    Words,
    unnamed,
)
from noisyor.io.paths import FileSource, PathLike, unreadable

_WORDS = pa.dictionary(pa.int32(), pa.string())
_ARROW_TYPES = {
    ColumnKind.TEXT: _WORDS,
    ColumnKind.NAME: _WORDS,
    ColumnKind.STATE: _WORDS,
    ColumnKind.ID: pa.string(),
    ColumnKind.ID_TEXT: pa.string(),
    ColumnKind.FLAG: pa.bool_(),
    ColumnKind.NUMBER: pa.float64(),
}
_TEXT_TYPES = _ARROW_TYPES | {ColumnKind.FLAG: _WORDS, ColumnKind.NUMBER: pa.string()}
"""What is read where Arrow's parser does not know how people write flags and numbers."""

LONGEST_LINE = 1 << 24
"""Characters of a line, or of a value of several lines, at most."""
DELIMITERS = (",", ";", "\t", "|")
_LINES_LOOKED_AT = 20
"""Rows that must have as many cells as the header for a delimiter to be the right one."""


class CsvFile(Table):
    """A text file with a header, its cells delimited by commas, semicolons, tabs or bars; UTF-8.

    Plain or compressed. The delimiter is found out from the first rows; a first line `sep=;`, as
    spreadsheets write it, says it.
    """

    has_final_flags = True

    def __init__(self, source: PathLike, span: "Span | None" = None) -> None:
        self._file = FileSource(source)
        self.path, self.name = self._file.path, self._file.name
        self.file_name = self._file.file_name
        self._span = span
        self.first_row = span.first_row if span is not None else 0
        self.delimiter, self._n_skipped = self._find_delimiter()
        self.column_names = ("",)
        self.column_names, self.header_line = self._header()
        self._check_columns()

    def _find_delimiter(self) -> tuple[str, int]:
        """Return the delimiter, and how many lines that only say it stand above the header."""
        usual = "\t" if any(end in self.file_name.lower() for end in (".tsv", ".tab")) else ","
        with self._text_errors(lambda: 1), self._text() as lines:
            beginning = _beginning(lines)
        said = re.fullmatch(r'"?sep=(.)"?\s*', beginning[0]) if beginning else None
        if said:
            return said[1], 1
        widths = {each: _widths(beginning, each) for each in (usual, *DELIMITERS)}
        fitting = [each for each, found in widths.items() if found[0] > 1 and len(set(found)) == 1]
        if usual in fitting:
            return usual, 0
        # Nothing fits a file with ragged rows: then the header decides, and an error names the row.
        return max(fitting or widths, key=lambda each: widths[each][0]), 0

    def _header(self) -> tuple[tuple[str, ...], int]:
        """Return the names of the columns, and the line on which they end."""
        with closing(self._rows()) as rows:
            first = next(rows, None)
        if first is None:
            raise FileError(f"{self.name} is empty: it has no header.")
        line, cells = first
        # The first column without a name holds row names; others are the debris of spreadsheets.
        return tuple(cell if cell.strip() else unnamed(at) for at, cell in enumerate(cells)), line

    def whole(self) -> "CsvFile | None":
        """Return the file of which this is a part."""
        return None if self._span is None else CsvFile(self.path or self.name)

    def has_text_ids(self, column: str) -> bool:
        """Return True: a text file holds texts."""
        return True

    def _raw_batches(self, columns: Mapping[str, ColumnKind], words: Words) -> Iterator[Any]:
        """Give some columns, flags and numbers converted where Arrow's parser can do it."""
        row = 0
        with self._arrow_errors():
            try:
                for batch in self._parsed(columns, words, _ARROW_TYPES):
                    yield batch
                    row += batch.num_rows
                return
            except pa.ArrowInvalid:
                if not any(_TEXT_TYPES[kind] != _ARROW_TYPES[kind] for kind in columns.values()):
                    raise
            # Blanks around values, signs, decimal commas: as texts, which are converted afterwards.
            for batch in self._parsed(columns, words, _TEXT_TYPES):
                n_done = min(row, batch.num_rows)
                row -= n_done
                if n_done < batch.num_rows:
                    yield batch.slice(n_done)

    def _parsed(
        self, columns: Mapping[str, ColumnKind], words: Words, types: Mapping[ColumnKind, Any]
    ) -> Iterator[Any]:
        convert = pa_csv.ConvertOptions(
            include_columns=list(columns),
            column_types={name: types[kind] for name, kind in columns.items()},
            true_values=words.spellings_of(PRESENT),
            false_values=words.spellings_of(ABSENT),
            null_values=words.spellings_of(UNKNOWN),
            strings_can_be_null=False,
        )
        parse = pa_csv.ParseOptions(
            delimiter=self.delimiter,
            newlines_in_values=True,
            ignore_empty_lines=not self._has_one_column,
        )
        read = pa_csv.ReadOptions(
            block_size=8 << 20,  # bytes; a row must fit into one block
            column_names=list(self.column_names),
            skip_rows=self.header_line,
        )
        with self.open_bytes() as bytes_:
            try:
                yield from pa_csv.open_csv(
                    bytes_, read_options=read, parse_options=parse, convert_options=convert
                )
            except pa.ArrowInvalid as error:
                if "Empty CSV file" not in str(error):
                    raise

    def open_bytes(self) -> Any:
        """Open the file, or the part of it with the header before it."""
        if self._span is not None:
            return pa.BufferReader(self._span.header + self._span.read(self._file))
        return self._file.open_stream()

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
    def _arrow_errors(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, EOFError, UnicodeError, MemoryError) as error:
            self._find_fault()
            raise unreadable(self.name, error) from None

    def _find_fault(self) -> None:
        """Raise an error for the first line that is not a row of the table."""
        with closing(self._rows()) as rows:
            next(rows)  # the header
            for row, (line, cells) in enumerate(rows):
                self._check_width(line, cells, is_first=row == 0)

    def _check_width(self, line: int, cells: list[str], is_first: bool) -> None:
        n_columns = len(self.column_names)
        if len(cells) == n_columns:
            return
        hint = ""
        if is_first and len(cells) == n_columns + 1:
            hint = (
                " If R wrote it: write.table leaves out the name of the column of row names, "
                "write.csv does not."
            )
        raise FileError(
            f"{self.name}, line {line}: {len(cells)} values where the header has {n_columns} "
            f"columns.{hint}"
        )

    @contextmanager
    def _text(self) -> Iterator[Iterator[str]]:
        with (
            self._file.open_unpacked() as bytes_,
            io.TextIOWrapper(bytes_, encoding="utf-8-sig", newline="") as stream,
        ):
            yield self._lines(stream)

    def _lines(self, stream: io.TextIOWrapper) -> Iterator[str]:
        """Give the lines, each of which must fit into memory many times."""
        number = 0
        while line := stream.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE and line[-1] not in "\r\n":
                raise FileError(
                    f"{self.name}, line {number}: the line has more than {LONGEST_LINE:,} "
                    "characters; is it a table?"
                )
            yield line

    @contextmanager
    def _text_errors(self, line: Callable[[], int]) -> Iterator[None]:
        """Name the line at which a text cannot be read."""
        try:
            yield
        except csv.Error as error:
            raise FileError(f"{self.name}, line {line()}: {error}.") from None
        except UnicodeDecodeError:
            raise self._not_utf8() from None
        except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
            raise unreadable(self.name, error) from None

    def _not_utf8(self) -> FileError:
        with suppress(OSError, EOFError, zlib.error), self._file.open_unpacked() as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    return FileError(
                        f"{self.name}, line {number}: the text is not UTF-8; save the file as "
                        "UTF-8 (in a spreadsheet: CSV UTF-8)."
                    )
        return FileError(f"{self.name}: the text is not UTF-8; save the file as UTF-8.")

    def _rows(self) -> Generator[tuple[int, list[str]]]:
        """Give line number and cells of each row, the header first, blank lines left out."""
        csv.field_size_limit(LONGEST_LINE)
        with self._text() as lines:
            for _ in range(self._n_skipped):
                next(lines)
            reader = csv.reader(lines, delimiter=self.delimiter)
            with self._text_errors(lambda: self._n_skipped + reader.line_num):
                is_header = True
                for cells in reader:
                    if cells and not (is_header and not any(map(str.strip, cells))):
                        yield self._n_skipped + reader.line_num, cells
                    elif self._has_one_column and not is_header:
                        yield self._n_skipped + reader.line_num, [""]
                    is_header = is_header and not any(map(str.strip, cells))


def _beginning(lines: Iterator[str]) -> list[str]:
    """Return the first lines, as many as tell the delimiter, and not too much of long ones."""
    found, size = [], 0
    for line in itertools.islice(lines, 4 * _LINES_LOOKED_AT):
        found.append(line)
        size += len(line)
        if size > LONGEST_LINE:
            break
    return found


def _widths(lines: list[str], delimiter: str) -> list[int]:
    """Return how many cells each of the first rows has; a last one that may be cut off is not."""
    try:
        rows = [len(cells) for cells in csv.reader(lines, delimiter=delimiter) if cells]
    except csv.Error:
        return [0]
    return rows[:_LINES_LOOKED_AT] or [0]


class Span(NamedTuple):
    """The lines of a CSV file that begin within some of its bytes."""

    start: int
    stop: int
    header: bytes
    """The lines up to that of the names, with which each span is read."""
    delimiter: str
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
    pieces = []
    while piece := bytes(file.read(1 << 16)):
        end = piece.find(b"\n") + 1
        pieces.append(piece[:end] if end else piece)
        if end:
            break
    return b"".join(pieces)
