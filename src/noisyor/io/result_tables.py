"""ResultTable: a table that prints as one, in a terminal and in a notebook; a view on Arrow.

    found = posterior(network, present=["fever"])
    print(found.table()[:3])                 # a table in the terminal, HTML in a notebook
    found.table()["influenza"]               # a row by its name: a dictionary
    found.table().to_pandas()                # or to_polars(), to_arrow(), or by the Arrow stream

What has one table to show (`ShownAsTable`) prints it below its one line, and hands it on likewise.
"""

import html
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from noisyor.errors import UnknownNameError, count_of, nearest_name, printable, quoted
from noisyor.immutable import Immutable, are_equal
from noisyor.io.paths import PathLike
from noisyor.io.tables import write_table

MOST_ROWS = 20
"""Rows of a table that are printed; the others are counted."""
MOST_BELOW = 10
"""Rows that are printed below the line of a result."""
WIDTH_ELSEWHERE = 100
"""Letters in a line where there is no terminal."""
NARROWEST_TEXT = 12
"""Texts are cut to this before whole columns are left out."""
BETWEEN = "  "

Row = dict[str, Any]


def _arrow_of(columns: Mapping[str, Any]) -> pa.Table:
    """Return columns as a table; Arrow would load pandas, if only to see that it is not needed."""
    arrays = {name: _as_column(values) for name, values in columns.items()}
    if not all(isinstance(each, pa.Array | pa.ChunkedArray) for each in arrays.values()):
        return pa.table(arrays)
    return pa.Table.from_arrays(list(arrays.values()), names=list(arrays))


def _as_column(values: Any) -> Any:
    """Return numbers and texts of numpy as Arrow's; anything else as it is."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or not values.dtype.isnative:
        return values
    if values.dtype.kind in "fiu":
        buffers = [None, pa.py_buffer(np.ascontiguousarray(values))]
        return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)
    texts = values.tolist()
    if not texts or not all(type(each) is str for each in texts):
        return values
    coded = [each.encode() for each in texts]
    ends = np.cumsum([0, *map(len, coded)], dtype=np.int64)
    if ends[-1] >= 2**31:
        return values
    offsets = pa.py_buffer(ends.astype(np.int32))
    return pa.StringArray.from_buffers(len(texts), offsets, pa.py_buffer(b"".join(coded)))


class ResultTable(Immutable):
    """A small table of results: rows with names, columns with types.

    Parameters
    ----------
    table
        An Arrow table, or columns by name.
    key
        The columns whose entries name a row.

    Examples
    --------
    >>> table = ResultTable({"disease": ["flu", "cold"], "probability": [0.75, 1 / 3]}, "disease")
    >>> table
    disease  probability
    flu             0.75
    cold          0.3333
    >>> table["cold"]["probability"] == table[1]["probability"]
    True
    >>> [row["disease"] for row in table]
    ['flu', 'cold']
    """

    __slots__ = ("_arrow", "key")

    key: tuple[str, ...]
    """The columns whose entries name a row."""

    def __init__(self, table: Any, key: str | Sequence[str] = ()) -> None:
        if isinstance(table, Mapping):
            table = _arrow_of(table)
        self._arrow = table if isinstance(table, pa.Table) else pa.table(table)
        self.key = (key,) if isinstance(key, str) else tuple(key)
        self._seal()

    @classmethod
    def of_rows(
        cls, rows: Sequence[Mapping[str, Any]], key: str | Sequence[str] = (), schema: Any = None
    ) -> Self:
        """Make a table of rows; a schema says what columns there are where there are no rows."""
        return cls(pa.Table.from_pylist([dict(row) for row in rows], schema=schema), key)

    # --- rows and columns ---

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self._arrow.column_names)

    @property
    def num_rows(self) -> int:
        """How many rows there are, as `len` says too."""
        return int(self._arrow.num_rows)

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns, in Arrow's terms."""
        return self._arrow.schema

    def __len__(self) -> int:
        return self.num_rows

    def __iter__(self) -> Iterator[Row]:
        for batch in self._arrow.to_batches(max_chunksize=1024):
            yield from batch.to_pylist()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(pc.any(self._named(name)).as_py())

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Self: ...
    @overload
    def __getitem__(self, at: str) -> Any: ...
    def __getitem__(self, at: int | slice | str) -> Any:
        """Return a row by its index or its name, a column by its name, or some rows by a slice.

        Where several columns name the rows together, a name gives the table of all rows with it.
        """
        if isinstance(at, slice):
            rows = pa.array(range(*at.indices(len(self))), pa.int64())
            return self._with(self._arrow.take(rows))
        if not isinstance(at, str):
            return self._row(int(at))
        if at not in self._arrow.column_names:
            return self.row(at) if len(self.key) == 1 else self.rows(at)
        if at in self:
            raise UnknownNameError(
                f"{quoted(at)} names both a column and a row: take .column({at!r}) or .row({at!r})."
            )
        return self.column(at)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column, as an array of Arrow (`to_pylist`, `to_numpy`)."""
        if name not in self._arrow.column_names:
            raise UnknownNameError(
                f"there is no column {quoted(name)}{nearest_name(name, self.column_names)}. "
                f"There are: {', '.join(self.column_names)}."
            )
        return self._arrow.column(name)

    def row(self, *names: str) -> Row:
        """Return the only row with these names."""
        found = self.rows(*names)
        if len(found) > 1:
            raise UnknownNameError(
                f"{count_of(len(found), 'row')} are called {', '.join(map(quoted, names))}: "
                f"take .rows(...), or say more ({', '.join(self.key)})."
            )
        return found[0]

    def rows(self, *names: str) -> Self:
        """Return the rows with all of these names, in whatever columns of the key."""
        is_here = pa.array([True] * len(self), pa.bool_())
        for name in names:
            is_here = pc.and_(is_here, self._named(name))
        if not pc.any(is_here).as_py():
            known = sorted({str(each) for row in self.select(self.key) for each in row.values()})
            near = next(filter(None, (nearest_name(name, known) for name in names)), "")
            raise UnknownNameError(f"no row is called {', '.join(map(quoted, names))}{near}.")
        return self._with(self._arrow.filter(is_here))

    def select(self, columns: Sequence[str]) -> Self:
        """Return some of the columns."""
        for name in columns:
            self.column(name)
        return self._with(self._arrow.select(list(columns)))

    def slice(self, offset: int = 0, length: int | None = None) -> Self:
        """Return some rows that stand together, as Arrow does; `table[2:5]` says it too."""
        return self._with(self._arrow.slice(offset, length))

    def sort_by(self, column: str, *, descending: bool = False) -> Self:
        """Return the rows ordered by a column, those without a value last."""
        self.column(column)
        order = "descending" if descending else "ascending"
        return self._with(self._arrow.sort_by([(column, order)]))

    # --- what others take ---

    def to_arrow(self) -> pa.Table:
        """Return it as a table of pyarrow."""
        return self._arrow

    def to_pandas(self) -> Any:
        """Return it as a pandas frame."""
        return self._arrow.to_pandas()

    def to_polars(self) -> Any:
        """Return it as a polars frame."""
        import polars

        return polars.from_arrow(self._arrow)

    def to_pylist(self) -> list[Row]:
        """Return the rows as dictionaries."""
        rows: list[Row] = self._arrow.to_pylist()
        return rows

    def to_pydict(self) -> dict[str, list[Any]]:
        """Return the columns as lists."""
        columns: dict[str, list[Any]] = self._arrow.to_pydict()
        return columns

    def save(self, path: PathLike, *, spreadsheet_safe: bool = False) -> None:
        """Write it as CSV or Parquet, by the ending of the path.

        With `spreadsheet_safe`, texts in CSV that a spreadsheet would take for formulas begin with
        an apostrophe.
        """
        write_table(path, self._arrow, spreadsheet_safe=spreadsheet_safe)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._arrow.__arrow_c_stream__(requested_schema)

    def __dataframe__(self, *args: Any, **options: Any) -> Any:
        return self._arrow.__dataframe__(*args, **options)

    # --- what it is ---

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ResultTable):
            return NotImplemented
        return self.schema.equals(other.schema) and are_equal(self.to_pydict(), other.to_pydict())

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._arrow, self.key)

    def to_text(self, max_rows: int | None = MOST_ROWS, width: int | None = None) -> str:
        """Return it as text, in lines of at most so many letters; None: those of the terminal."""
        most = width or _line_width()
        shown = self._arrow.slice(0, max_rows)
        columns = [_Column(name, shown.column(name)) for name in shown.column_names]
        left_out = _fit(columns, self.key, most)
        lines = [BETWEEN.join(cells).rstrip() for cells in zip(*columns, strict=True)]
        hidden = len(self) - shown.num_rows
        if not len(self):
            lines.append("(no rows)")
        if hidden:
            lines.append(f"... and {count_of(hidden, 'more row')}")
        if left_out:
            lines.append(f"(not shown: {', '.join(map(printable, left_out))})")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        shown = self._arrow.slice(0, MOST_ROWS)
        columns = [_Column(name, shown.column(name)) for name in shown.column_names]
        head = "".join(f"<th>{html.escape(column.name)}</th>" for column in columns)
        rows = (
            "".join(
                f'<td style="text-align:{"right" if column.is_number else "left"}">'
                f"{html.escape(column.cells[row])}</td>"
                for column in columns
            )
            for row in range(shown.num_rows)
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        hidden = len(self) - shown.num_rows
        more = f"<caption>and {count_of(hidden, 'more row')}</caption>" if hidden else ""
        return f"<table>{more}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _with(self, table: pa.Table) -> Self:
        return type(self)(table, [name for name in self.key if name in table.column_names])

    def _row(self, index: int) -> Row:
        if not -len(self) <= index < len(self):
            raise IndexError(
                f"there is no row {index}: the table has {count_of(len(self), 'row')}."
            )
        row: Row = self._arrow.slice(index % len(self), 1).to_pylist()[0]
        return row

    def _named(self, name: str) -> Any:
        """Return where a row has a name in a column of the key."""
        is_here = pa.array([False] * len(self), pa.bool_())
        for column in self.key:
            if pa.types.is_string(self._arrow.schema.field(column).type):
                equal = pc.equal(self._arrow.column(column), name)
                is_here = pc.or_(is_here, pc.fill_null(equal, False))
        return is_here


class ShownAsTable:
    """A result with one table to show: what the table can do, it can do.

    A class gives `table()`; its `__repr__` is one line, `print` shows the table below it, and
    `remarks()` between both.
    """

    def table(self) -> ResultTable:
        """Return what there is to show."""
        raise NotImplementedError

    def remarks(self) -> tuple[str, ...]:
        """Return what must be known before the table is read, in sentences, if anything."""
        return ()

    def __getitem__(self, at: Any) -> Any:
        """Return a row, a column or some rows of the table."""
        return self.table()[at]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.table())

    def to_arrow(self) -> pa.Table:
        """Return the table as one of pyarrow."""
        return self.table().to_arrow()

    def to_pandas(self) -> Any:
        """Return the table as a pandas frame."""
        return self.table().to_pandas()

    def to_polars(self) -> Any:
        """Return the table as a polars frame."""
        return self.table().to_polars()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table().__arrow_c_stream__(requested_schema)

    def __str__(self) -> str:
        return "\n".join([repr(self), *self.remarks(), self.table().to_text(MOST_BELOW)])

    def _repr_html_(self) -> str:
        lines = (f"<p>{html.escape(line)}</p>" for line in (repr(self), *self.remarks()))
        return f"{''.join(lines)}{self.table()._repr_html_()}"


# --- how it is printed ---


class _Column:
    """A column as texts, of one width; iterating gives its lines, the header first."""

    def __init__(self, name: str, values: pa.ChunkedArray) -> None:
        self.name = name
        kind = values.type
        self.is_number = pa.types.is_floating(kind) or pa.types.is_integer(kind)
        self.cells = [cell_text(value) for value in values.to_pylist()]
        self.width = max(map(len, (printable(name), *self.cells)))

    def __iter__(self) -> Iterator[str]:
        for text in (printable(self.name), *self.cells):
            cut = text if len(text) <= self.width else f"{text[: self.width - 1]}…"
            yield cut.rjust(self.width) if self.is_number else cut.ljust(self.width)


def cell_text(value: Any) -> str:
    """Return a value as it stands in a printed table: four digits of a number.

    >>> [cell_text(value) for value in (0.123456, 12345, None, ["flu", "cold"], 0.5)]
    ['0.1235', '12,345', '', 'flu, cold', '0.5']
    """
    if value is None or value != value:  # noqa: PLR0124 - NaN says no more than null
        return ""
    if isinstance(value, float):
        return f"{value:,.1f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(map(cell_text, value))
    return " ".join(printable(str(value)).split())


def _line_width() -> int:
    """Return the letters in a line of the terminal; elsewhere, always the same number."""
    if sys.stdout is None or not sys.stdout.isatty():
        return WIDTH_ELSEWHERE
    return shutil.get_terminal_size((WIDTH_ELSEWHERE, 0)).columns


def _fit(columns: list[_Column], key: Sequence[str], most: int) -> list[str]:
    """Cut texts, the longest first, then leave out columns, the last first; return their names."""
    left_out: list[str] = []
    while _total(columns) > most:
        texts = [each for each in columns if not each.is_number and each.width > NARROWEST_TEXT]
        others = [each for each in columns if each.name not in key]
        if texts:
            widest = max(texts, key=lambda each: each.width)
            excess = _total(columns) - most
            widest.width = max(widest.width - excess, NARROWEST_TEXT)
        elif len(others) > 1:
            columns.remove(others[-1])
            left_out.insert(0, others[-1].name)
        else:
            break
    return left_out


def _total(columns: Sequence[_Column]) -> int:
    return sum(each.width for each in columns) + len(BETWEEN) * (len(columns) - 1)
