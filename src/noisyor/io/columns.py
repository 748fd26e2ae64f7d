"""Columns of an Arrow batch, brought to the few kinds that the readers work with.

=========  ============================================================================
kind       becomes
=========  ============================================================================
text       a dictionary of strings (few different ones, as names are)
name       text, or int64 where the column holds whole numbers (a name or an index)
id         int64 or string (many different ones)
flag       boolean; 0, 1, true and false in any type; null and NaN stay null
state      int8: ABSENT, PRESENT or UNKNOWN, from these words or from flags
number     float64
=========  ============================================================================
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisyor.errors import FileError, FindingsError, some_of
from noisyor.io.paths import one_line


class ColumnKind(Enum):
    """What a reader wants a column to be."""

    TEXT = "a text"
    NAME = "a name or a whole number"
    ID = "a text or a whole number"
    FLAG = "0, 1, true or false"
    STATE = "present, absent or unknown"
    NUMBER = "a number"


TRUE_TEXTS = ("1", "1.0", "true", "True", "TRUE")
FALSE_TEXTS = ("0", "0.0", "false", "False", "FALSE")
NULL_TEXTS = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")

ABSENT, PRESENT, UNKNOWN = 0, 1, 2
STATE_NAMES = ("absent", "present", "unknown")
_STATE_TEXTS = {
    **dict.fromkeys(FALSE_TEXTS, ABSENT),
    **dict.fromkeys(TRUE_TEXTS, PRESENT),
    **dict.fromkeys(NULL_TEXTS, UNKNOWN),
    **{name: state for state, name in enumerate(STATE_NAMES)},
}
_FLAG_TEXTS = {text: _STATE_TEXTS[text] for text in (*FALSE_TEXTS, *TRUE_TEXTS, *NULL_TEXTS)}


class BadCellError(Exception):
    """A value that is not of the wanted kind, with its row in the batch."""

    def __init__(self, row: int, value: Any) -> None:
        super().__init__(row, value)
        self.row = row
        self.value = value


class Table:
    """Anything that gives its columns by name, batch after batch, as often as asked."""

    name: str
    column_names: tuple[str, ...]
    path: Path | None = None
    """The file on this machine, if it is one."""
    file_name = ""
    """The name of the file without its directories; empty for a table in memory."""
    first_row = 0
    """The number of the first row, where this is a part of a larger table."""
    n_rows: int | None = None
    """How many rows there are, where that is known beforehand."""

    def batches(self, columns: Mapping[str, ColumnKind]) -> Iterator[pa.RecordBatch]:
        """Give some columns, converted to their kinds, in batches of rows."""
        raise NotImplementedError

    def location(self, row: int) -> str:
        """Say where a row (0 is the first row of data) stands, for an error message."""
        return f"{self.name}, row {self.first_row + row + 1}"

    def _check_no_duplicates(self) -> None:
        """Raise an error that names the columns which stand there more than once."""
        twice = [name for name, count in Counter(self.column_names).items() if count > 1]
        if twice:
            raise FileError(f"{self.name} has more than one column named {some_of(twice)}.")


def convert_batch(
    batch: Any, columns: Mapping[str, ColumnKind], first_row: int, table: Table
) -> Any:
    """Bring the columns of a batch to their kinds; errors name row, column and value."""
    arrays = []
    for name, kind in columns.items():
        try:
            arrays.append(converted(batch.column(name), kind))
        except BadCellError as error:
            raise FileError(
                f"{table.location(first_row + error.row)}, column {name!r}: "
                f"{error.value!r} is not {kind.value}."
            ) from None
        except TypeError as error:
            raise FileError(f"{table.name}, column {name!r} {error}.") from None
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def converted(column: Any, kind: ColumnKind) -> Any:
    """Return an Arrow array of the wanted kind, or raise `BadCellError` or `TypeError`.

    >>> converted(pa.array([1.0, 0.0, float("nan")]), ColumnKind.FLAG).to_pylist()
    [True, False, None]
    """
    if pa.types.is_dictionary(column.type) and not is_text(column.type.value_type):
        column = column.dictionary_decode()
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if is_number and kind in (ColumnKind.NAME, ColumnKind.ID):
        return _whole_numbers(column, kind)
    try:
        return _CONVERSIONS[kind](column)
    except TypeError as error:
        raise TypeError(f"{error}; expected {kind.value}") from None


def _whole_numbers(column: Any, kind: ColumnKind) -> Any:
    """Return int64; pandas makes whole numbers floating where one is missing."""
    if pa.types.is_floating(column.type):
        values = column.to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(~np.isnan(values) & (values != np.floor(values)))
        if wrong.size or np.isinf(values).any():
            raise TypeError(f"has the type {column.type}; expected {kind.value}")
        column = pa.array(values, from_pandas=True)
    return _cast(column, pa.int64())


def ids_array(values: Any, what: str) -> Any:
    """Return ids given in Python, numpy, pandas or Arrow as an Arrow array of numbers or texts."""
    try:
        return converted(pa.array(values), ColumnKind.ID)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = one_line(error)
        raise FindingsError(f"{what} are not ids (whole numbers or texts): {reason}") from None


def _dictionary(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _texts(column.dictionary))
    return _texts(column).dictionary_encode()


def _texts(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text(column.type) or pa.types.is_null(column.type) or pa.types.is_integer(column.type):
        return _cast(column, pa.string())
    raise TypeError(f"has the type {column.type}")


def is_text(type_: Any) -> bool:
    """Return True if an Arrow type is one of the types of text."""
    kinds = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
    return any(check(type_) for check in kinds)


def _numbers(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text(column.type):
        raise TypeError("holds text, not numbers")
    return _cast(column, pa.float64())


def _flags(column: Any) -> Any:
    if pa.types.is_boolean(column.type):
        return column
    states = _states(column, _FLAG_TEXTS).to_numpy()
    return pa.array(states == PRESENT, mask=states == UNKNOWN)


def _states(column: Any, words: Mapping[str, int] = _STATE_TEXTS) -> Any:
    if pa.types.is_dictionary(column.type) or is_text(column.type):
        return _states_from_texts(_dictionary(column), words)
    values = _cast(column, pa.float64()).to_numpy(zero_copy_only=False)  # null becomes NaN
    wrong = np.flatnonzero((values != 0) & (values != 1) & ~np.isnan(values))
    if wrong.size:
        raise BadCellError(int(wrong[0]), column[int(wrong[0])].as_py())
    return pa.array(np.where(np.isnan(values), UNKNOWN, values == 1).astype(np.int8))


def _states_from_texts(column: Any, words: Mapping[str, int]) -> Any:
    codes = [words.get(text, -1) for text in column.dictionary.to_pylist()]
    indices = column.indices.fill_null(len(codes)).to_numpy(zero_copy_only=False)
    states = np.array([*codes, UNKNOWN], dtype=np.int8)[indices]
    wrong = np.flatnonzero(states < 0)
    if wrong.size:
        raise BadCellError(int(wrong[0]), column[int(wrong[0])].as_py())
    return pa.array(states)


def _cast(column: Any, type_: Any) -> Any:
    try:
        return column.cast(type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TypeError(f"has the type {column.type}: {str(error).splitlines()[0]}") from None


_CONVERSIONS = {
    ColumnKind.TEXT: _dictionary,
    ColumnKind.NAME: _dictionary,
    ColumnKind.ID: _texts,
    ColumnKind.FLAG: _flags,
    ColumnKind.STATE: _states,
    ColumnKind.NUMBER: _numbers,
}


def hash_ids(ids: Any) -> NDArray[np.uint64]:
    """Return a hash of each id of an Arrow array; a missing one counts as 0 or as empty.

    >>> numbers, texts = hash_ids(pa.array([1, 2, 1])), hash_ids(pa.array(["a", "b", "a"]))
    >>> bool(numbers[0] == numbers[2] != numbers[1]), bool(texts[0] == texts[2] != texts[1])
    (True, True)
    """
    from noisyor.io.hash_kernels import hash_numbers, hash_texts

    if pa.types.is_integer(ids.type):
        return hash_numbers(ids.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64))
    texts = ids.cast(pa.large_string()).fill_null("")
    _, offsets, characters = texts.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[texts.offset :][: len(texts) + 1]
    return hash_texts(bounds, np.frombuffer(characters or b"", dtype=np.uint8))
