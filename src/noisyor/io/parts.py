"""Parts of files: row groups of Parquet, bytes of CSV; each can be read on another machine."""

import itertools
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from noisyor.io.columns import ColumnKind, Table
from noisyor.io.csv_files import CsvFile, Span
from noisyor.io.paths import FileSource, is_uri
from noisyor.io.tables import ParquetFile, open_table

LARGEST_SPAN = 32 << 20
"""Bytes of a CSV file that are read at once."""


class Part(NamedTuple):
    """Some rows of a file, described in so few bytes that it can be sent anywhere."""

    source: str
    n_rows: int | None = None
    """None: not known."""
    first_row: int = 0
    groups: tuple[int, int] | None = None
    """The first row group and the one after the last, of a part of a Parquet file."""
    span: Span | None = None
    """The bytes of a part of a CSV file."""

    def open(self) -> Table:
        """Return a table of these rows."""
        if self.groups is not None:
            return ParquetFile(self.source, self.groups)
        if self.span is not None:
            return CsvFile(self.source, self.span._replace(first_row=self.first_row))
        return open_table(self.source)


def read_columns(part: Part, columns: list[str]) -> Any:
    """Return some columns of a part as they stand there, text as text."""
    table = part.open()
    wanted = [name for name in columns if name in table.column_names]
    if isinstance(table, ParquetFile):
        read = table.read_groups(wanted)
        return pa.table({name: _plain(read.column(name)) for name in wanted})
    assert isinstance(table, CsvFile)
    return table.read_texts(wanted)


def _plain(column: Any) -> Any:
    """Return texts and numbers in the one type that other files have for them, too."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    return column.cast(pa.int64()) if pa.types.is_integer(column.type) else column


class SplitFile(NamedTuple):
    """A file and its parts; the rows of spans are not counted yet."""

    source: str
    column_names: tuple[str, ...]
    id_type: str
    """What the column of ids holds, numbers or texts; empty where there is none."""
    parts: list[Part]


def split_file(source: str, id_column: str) -> SplitFile:
    """Split a file into parts that can be read apart from each other."""
    table = open_table(source)
    has_ids = id_column in table.column_names
    if isinstance(table, ParquetFile):
        parts = _split_groups(source, table.group_rows)
        is_number = has_ids and not table.has_text_ids(id_column)
        id_type = "numbers" if is_number else "texts"
    else:
        assert isinstance(table, CsvFile)
        parts = _split_bytes(source, len(table.column_names))
        id_type = "texts"
    ids = id_type if has_ids else ""
    return SplitFile(source, table.column_names, ids, parts)


def _split_groups(source: str, group_rows: list[int]) -> list[Part]:
    """Make each row group a part."""
    starts = itertools.accumulate(group_rows, initial=0)
    return [
        Part(source, n_rows, row, (number, number + 1))
        for number, (n_rows, row) in enumerate(zip(group_rows, starts, strict=False))
    ]


def joined(parts: list[Part]) -> list[Part]:
    """Join row groups that stand one after the other, so that their file is opened once."""
    found: list[Part] = []
    for part in parts:
        last = found[-1] if found else None
        if (
            last is not None
            and last.source == part.source
            and last.groups is not None
            and part.groups is not None
            and last.groups[1] == part.groups[0]
        ):
            n_rows = (last.n_rows or 0) + (part.n_rows or 0)
            found[-1] = last._replace(n_rows=n_rows, groups=(last.groups[0], part.groups[1]))
        else:
            found.append(part)
    return found


def _split_bytes(source: str, n_columns: int) -> list[Part]:
    """Cut a CSV file into spans, unless it is gzipped, small, or has one column.

    In a file with one column an empty line is a row.
    """
    whole = FileSource(source)
    size = whole.size
    if whole.packing or size <= LARGEST_SPAN or n_columns == 1:
        return [Part(source)]
    with whole.open() as file:
        beginning = bytes(file.read(1 << 22))
    header_end = _end_of_header(beginning)
    if header_end is None:
        return [Part(source)]
    header = beginning[:header_end]
    starts = range(header_end, size, LARGEST_SPAN)
    spans = [Span(at, min(at + LARGEST_SPAN, size), header) for at in starts]
    return [Part(source, span=span) for span in spans]


def _end_of_header(beginning: bytes) -> int | None:
    """Return where the line of the names ends; None where that is not in sight."""
    at = 0
    while (end := beginning.find(b"\n", at)) >= 0:
        line = beginning[at : end + 1]
        if line.strip(b"\xef\xbb\xbf \t\r\n"):
            return end + 1 if line.count(b'"') % 2 == 0 else None
        at = end + 1
    return None


def scan_span(part: Part) -> int | None:
    """Count the rows of a span; None where a value contains an end of line, so that lines say none.

    A carriage return alone ends a row, too.
    """
    assert part.span is not None
    lines = part.span.read(FileSource(part.source)).split(b"\n")
    is_safe = all(line.count(b'"') % 2 == 0 and b"\r" not in line[:-1] for line in lines)
    return sum(1 for line in lines if line.strip(b"\r")) if is_safe else None


def with_rows(file: SplitFile, n_rows: list[int | None]) -> SplitFile:
    """Return a file whose spans know their rows; as one part where its lines are not its rows."""
    parts, row = [], 0
    for part, n in zip(file.parts, n_rows, strict=True):
        if n is None:
            return file._replace(parts=[Part(file.source)])
        parts.append(part._replace(n_rows=n, first_row=row))
        row += n
    return file._replace(parts=parts)


def has_spans(file: SplitFile) -> bool:
    """Return True if the rows of a file must be counted first."""
    return any(part.span is not None for part in file.parts)


def sources_of(given: Any) -> list[str]:
    """Return files as absolute texts: another machine has another working directory."""
    listed = given if isinstance(given, list | tuple) else [given]
    # Whether they exist is for the workers to say, who read them.
    return [str(each) if is_uri(each) else str(Path(each).absolute()) for each in listed]


def count_rows(part: Part) -> int:
    """Return how many rows a part has."""
    if part.n_rows is not None:
        return part.n_rows
    table = part.open()
    first = {table.column_names[0]: ColumnKind.ID}
    return sum(batch.num_rows for batch in table.batches(first))
