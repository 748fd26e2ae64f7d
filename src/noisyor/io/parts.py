"""Parts of files: row groups of Parquet, bytes of CSV; each can be read on another machine."""

import itertools
import re
from pathlib import Path
from typing import Any, NamedTuple

from noisyor.io.columns import ColumnKind, Table
from noisyor.io.csv_files import CsvFile, Span
from noisyor.io.manifest import FileState, check_unchanged, state_of
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
    state: FileState | None = None
    """The file as it was when it was split; None: not known."""
    file_number: int = 0
    """The number of the file, among those that are read together."""

    def open(self) -> Table:
        """Return a table of these rows; the file must be as it was."""
        self.check()
        if self.groups is not None:
            return ParquetFile(self.source, self.groups)
        if self.span is not None:
            return CsvFile(self.source, self.span._replace(first_row=self.first_row))
        return open_table(self.source)

    def check(self) -> None:
        """Raise an error if the file is not as it was when it was split."""
        if self.state is not None:
            check_unchanged(self.source, self.state)


class SplitFile(NamedTuple):
    """A file and its parts; the rows of spans are not counted yet."""

    source: str
    parts: list[Part]


def split_file(source: str, file_number: int = 0) -> tuple[SplitFile, Table]:
    """Split a file into parts that can be read apart from each other; also return it opened."""
    state = state_of(source)
    table = open_table(source)
    if isinstance(table, ParquetFile):
        parts = _split_groups(source, table.group_rows)
    elif isinstance(table, CsvFile):
        parts = _split_bytes(source, table)
    else:
        parts = [Part(source, table.n_rows)]
    parts = [part._replace(state=state, file_number=file_number) for part in parts]
    return SplitFile(source, parts), table


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


def _split_bytes(source: str, table: CsvFile) -> list[Part]:
    """Cut a CSV file into spans, unless it is compressed, small, or has one column.

    In a file with one column an empty line is a row.
    """
    whole = FileSource(source)
    size = whole.size
    if whole.packing or size <= LARGEST_SPAN or len(table.column_names) == 1:
        return [Part(source)]
    with whole.open() as file:
        beginning = bytes(file.read(1 << 22))
    header = _lines_of_header(beginning, table)
    if header is None:
        return [Part(source)]
    starts = range(len(header), size, LARGEST_SPAN)
    ends = (min(at + LARGEST_SPAN, size) for at in starts)
    return [
        Part(source, span=Span(start, end, header, table.delimiter))
        for start, end in zip(starts, ends, strict=True)
    ]


def _lines_of_header(beginning: bytes, table: CsvFile) -> bytes | None:
    """Return all up to the end of the names; None where its lines are not those of the table."""
    lines = beginning.split(b"\n", table.header_line)
    header = b"\n".join([*lines[:-1], b""])
    is_whole = len(lines) == table.header_line + 1
    return header if is_whole and are_lines_rows(header, table.delimiter) else None


def are_lines_rows(content: bytes, delimiter: str) -> bool:
    """Return True if no value contains an end of line, and each line ends in a line feed.

    A carriage return alone ends a row, too. A quote that is not one of a pair around a value may
    begin a value that goes on in the next line, or none: nobody can tell without all lines above.

    >>> are_lines_rows(b'1,"a, b"\\r\\n2,c\\n', ","), are_lines_rows(b'1,"a\\nb"\\n', ",")
    (True, False)
    """
    if re.search(rb"\r(?!\n)", content):
        return False
    if b'"' not in content:
        return True
    ends = re.escape(delimiter.encode())
    if not delimiter.isascii():  # of several bytes
        return False
    pairs = rb'(?<=[\n%b])"(?:[^"\r\n]|"")*"(?=[\r\n%b])' % (ends, ends)
    return b'"' not in re.sub(pairs, b"", b"\n" + content + b"\n")


def scan_span(part: Part) -> int | None:
    """Count the rows of a span; None where its lines are not its rows."""
    assert part.span is not None
    part.check()
    content = part.span.read(FileSource(part.source))
    if not are_lines_rows(content, part.span.delimiter):
        return None
    return sum(1 for line in content.split(b"\n") if line.strip(b"\r"))


def with_rows(file: SplitFile, n_rows: list[int | None]) -> SplitFile:
    """Return a file whose spans know their rows; as one part where its lines are not its rows."""
    parts, row = [], 0
    for part, n in zip(file.parts, n_rows, strict=True):
        if n is None:
            first = file.parts[0]
            whole = Part(file.source, state=first.state, file_number=first.file_number)
            return file._replace(parts=[whole])
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
