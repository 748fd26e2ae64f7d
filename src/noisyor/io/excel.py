"""Sheets of Excel, read as tables of texts."""

import datetime
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pyarrow as pa

from noisyor.errors import FileError, give_notice, quoted, some_of
from noisyor.io.columns import ColumnKind, Table, Words, unnamed
from noisyor.io.paths import PathLike, existing_file, unreadable

LARGEST_BOOK = 1 << 30
"""Bytes of all parts of a file, unpacked."""


class ExcelSheet(Table):
    """The first sheet of a file that is not empty; its first row that is not empty is the header.

    A sheet has at most a million rows: it is held in memory.
    """

    def __init__(self, source: PathLike) -> None:
        self.path = existing_file(source)
        self.name, self.file_name = str(self.path), self.path.name
        title, rows = _first_sheet(self.path)
        self._header_row, header = rows[0]
        self.sheet = title
        self.column_names = tuple(
            name if name.strip() else unnamed(at) for at, name in enumerate(header)
        )
        self._check_columns()
        self._rows = rows[1:]
        self.n_rows = len(self._rows)

    def has_text_ids(self, column: str) -> bool:
        """Return True: all cells are taken as texts."""
        return True

    def _raw_batches(self, columns: Mapping[str, ColumnKind], words: Words) -> Iterator[Any]:
        places = [self.column_names.index(name) for name in columns]
        arrays = [pa.array([cells[at] for _, cells in self._rows], pa.string()) for at in places]
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def location(self, row: int) -> str:
        """Say where a row stands, as Excel numbers it."""
        return f"{self.name}, sheet {quoted(self.sheet)}, row {self._rows[row][0]}"


def _first_sheet(path: Any) -> tuple[str, list[tuple[int, list[str]]]]:
    """Return the title and the rows, each with its number, of the first sheet with content."""
    try:
        import openpyxl
    except ImportError:
        raise FileError(
            f"{path}: reading .xlsx needs openpyxl (pip install 'noisyor[excel]'); or save the "
            "sheet as CSV UTF-8."
        ) from None
    _check_size(path)
    try:
        with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
            sheets = {sheet.title: _rows_of(sheet) for sheet in book.worksheets}
    except Exception as error:  # whatever the library says of damaged files
        raise unreadable(path, error) from None
    filled = {title: rows for title, rows in sheets.items() if rows}
    if not filled:
        raise FileError(f"{path} has no sheet with a header.")
    title = next(iter(filled))
    if len(filled) > 1:
        give_notice(
            f"{path}: the sheet {quoted(title)} is read; {some_of(list(filled)[1:])} is not. Save "
            "another one as a file of its own, if it is meant."
        )
    return title, filled[title]


def _check_size(path: Any) -> None:
    """Raise an error where the parts of a file, which are compressed, would not fit into memory."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise unreadable(path, error) from None
    if size > LARGEST_BOOK:
        raise FileError(
            f"{path} unpacks to {size:,} bytes; sheets are read up to {LARGEST_BOOK:,}. Save the "
            "sheet as CSV UTF-8."
        )


def _rows_of(sheet: Any) -> list[tuple[int, list[str]]]:
    """Return the rows that are not empty, as texts; columns to the right of the last are cut."""
    rows = [
        (number, [_text_of(cell) for cell in cells])
        for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1)
    ]
    rows = [(number, cells) for number, cells in rows if any(cells)]
    width = max((at + 1 for _, cells in rows for at, cell in enumerate(cells) if cell), default=0)
    return [(number, (cells + [""] * width)[:width]) for number, cells in rows]


def _text_of(cell: Any) -> str:
    """Return what a cell shows: whole numbers without a point, dates as ISO 8601 writes them."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell)
