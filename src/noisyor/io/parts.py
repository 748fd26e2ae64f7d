"""Parts of files: row groups of Parquet, bytes of CSV; each can be read on another machine."""

from typing import Any, NamedTuple

from noisyor.io.csv_files import CsvFile, Span
from noisyor.io.locations import Location
from noisyor.io.tables import ParquetFile, Table, open_table

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
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    table = part.open()
    wanted = [name for name in columns if name in table.column_names]
    if isinstance(table, ParquetFile):
        return table.read_groups(wanted)
    assert isinstance(table, CsvFile)
    return pa_csv.read_csv(
        table.open_bytes(),
        parse_options=pa_csv.ParseOptions(delimiter=table.delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            include_columns=wanted, column_types=dict.fromkeys(wanted, pa.string())
        ),
    )


class SplitFile(NamedTuple):
    """A file and its parts; the rows of spans are not counted yet."""

    source: str
    file_name: str
    column_names: tuple[str, ...]
    id_type: str
    """The type of the column of ids; empty where there is none."""
    parts: list[Part]


def split_file(source: str, most_rows: int, id_column: str) -> SplitFile:
    """Split a file into parts that can be read apart from each other."""
    table = open_table(source)
    has_ids = id_column in table.column_names
    if isinstance(table, ParquetFile):
        parts = _split_groups(source, table.group_rows, most_rows)
        id_type = str(table.column_type(id_column)) if has_ids else ""
    else:
        assert isinstance(table, CsvFile)
        parts = _split_bytes(source, len(table.column_names))
        id_type = "string" if has_ids else ""
    return SplitFile(source, table.file_name, table.column_names, id_type, parts)


def _split_groups(source: str, group_rows: list[int], most_rows: int) -> list[Part]:
    """Join row groups until they have enough rows."""
    parts, first, row, n_rows = [], 0, 0, 0
    for number, more in enumerate(group_rows, start=1):
        n_rows += more
        is_last = number == len(group_rows)
        if is_last or n_rows + group_rows[number] > most_rows:
            parts.append(Part(source, n_rows, row, (first, number)))
            first, row, n_rows = number, row + n_rows, 0
    return parts


def _split_bytes(source: str, n_columns: int) -> list[Part]:
    """Cut a CSV file into spans, unless it is gzipped, small, or has one column.

    In a file with one column an empty line is a row.
    """
    location = Location(source)
    size = location.size
    if location.file_name.lower().endswith(".gz") or size <= LARGEST_SPAN or n_columns == 1:
        return [Part(source)]
    with location.open() as file:
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
        if line.strip():
            return end + 1 if line.count(b'"') % 2 == 0 else None
        at = end + 1
    return None


class Scanned(NamedTuple):
    """What a look at the bytes of a span tells."""

    n_rows: int
    is_safe: bool
    """Whether no value holds an end of line: then each line is a row."""


def scan_span(part: Part) -> Scanned:
    """Count the rows of a span."""
    assert part.span is not None
    lines = part.span.read(Location(part.source)).split(b"\n")
    n_rows = sum(1 for line in lines if line.strip(b"\r"))
    is_safe = all(line.count(b'"') % 2 == 0 for line in lines)
    return Scanned(n_rows, is_safe)


def with_rows(file: SplitFile, scanned: list[Scanned]) -> SplitFile:
    """Return a file whose spans know their rows; as one part where its lines are not its rows."""
    if not all(each.is_safe for each in scanned):
        return file._replace(parts=[Part(file.source)])
    parts, row = [], 0
    for part, found in zip(file.parts, scanned, strict=True):
        parts.append(part._replace(n_rows=found.n_rows, first_row=row))
        row += found.n_rows
    return file._replace(parts=parts)


def has_spans(file: SplitFile) -> bool:
    """Say whether the rows of a file must be counted first."""
    return any(part.span is not None for part in file.parts)


def sources_of(given: Any) -> list[str]:
    """Return files as absolute texts: another machine has another working directory."""
    listed = given if isinstance(given, list | tuple) else [given]
    locations = [Location(each if isinstance(each, str) else str(each)) for each in listed]
    return [each.name if each.path is None else str(each.path.resolve()) for each in locations]
