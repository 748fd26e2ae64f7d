"""Columns of an Arrow batch, brought to the few kinds that the readers work with.

=========  ============================================================================
kind       becomes
=========  ============================================================================
text       a dictionary of strings (few different ones, as names are)
name       text, or int64 where the column holds whole numbers (a name or an index)
id         int64 or string (many different ones); id text: always a string
state      int8: ABSENT, PRESENT or UNKNOWN, from the words for them in any type
flag       the same as boolean, null where unknown
number     float64
=========  ============================================================================
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from noisyor.errors import FileError, FindingsError, ParameterError, ValueFileError, quoted, some_of
from noisyor.io.paths import one_line


class ColumnKind(Enum):
    """What a reader wants a column to be."""

    TEXT = "a text"
    NAME = "a name or a whole number"
    ID = "a text or a whole number"
    ID_TEXT = "an id"
    FLAG = "0 or 1, absent or present"
    STATE = "present, absent or unknown"
    NUMBER = "a number"


ABSENT, PRESENT, UNKNOWN = 0, 1, 2
STATE_NAMES = ("absent", "present", "unknown")
NULL_TEXTS = ("", "na", "n/a", "#n/a", "nan", "null", "none")
_STATE_TEXTS = {
    **dict.fromkeys(("0", "false", "no", "n", "-", "absent"), ABSENT),
    **dict.fromkeys(("1", "true", "yes", "y", "+", "present"), PRESENT),
    **dict.fromkeys((*NULL_TEXTS, "unknown"), UNKNOWN),
}


def spellings(texts: Iterable[str]) -> list[str]:
    """Return texts in small letters as people write them, for parsers that know no case."""
    special = {"nan": "NaN", "n/a": "N/A"}
    forms = (
        [text, text.upper(), text.capitalize(), special.get(text, text)]
        + [f"{text}.0"] * text.isdecimal()
        for text in texts
    )
    return list(dict.fromkeys(itertools.chain.from_iterable(forms)))


class Words:
    """Which texts and numbers stand for present, absent and unknown; case does not matter.

    >>> Words({"pos": "present", "neg": "absent"}).state_of(" POS ")
    1
    >>> Words(invert=True).state_of("1")
    0

    Parameters
    ----------
    values
        What is not understood by itself, or is meant otherwise: text to state.
    invert
        What is written as present means absent, and the other way round.
    """

    __slots__ = ("_codes", "_given")

    def __init__(self, values: Mapping[str, str] | None = None, invert: bool = False) -> None:
        self._given = {fold(str(text)): str(state) for text, state in (values or {}).items()}
        wrong = {state for state in self._given.values() if state not in STATE_NAMES}
        if wrong:
            raise ParameterError(
                f"values: {some_of(sorted(wrong))} is none of {', '.join(STATE_NAMES)}."
            )
        states = {text: STATE_NAMES.index(state) for text, state in self._given.items()}
        codes = _STATE_TEXTS | states
        swapped = {ABSENT: PRESENT, PRESENT: ABSENT, UNKNOWN: UNKNOWN}
        self._codes = {text: swapped[code] if invert else code for text, code in codes.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Words) and self._codes == other._codes

    def __hash__(self) -> int:
        return hash(frozenset(self._codes.items()))

    def state_of(self, text: str) -> int:
        """Return the state that a text stands for, or -1."""
        return self._codes.get(fold(text), -1)

    def spellings_of(self, state: int) -> list[str]:
        """Return texts of a state as a parser may meet them; signs, which are ambiguous, not."""
        texts = [text for text, code in self._codes.items() if code == state]
        return spellings(text for text in texts if text not in SIGNS)

    def numbers(self) -> dict[float, int]:
        """Return the states of numbers."""
        return {
            float(text): code
            for text, code in self._codes.items()
            if re.fullmatch(r"-?\d+(\.\d+)?", text)
        }

    @property
    def keep_booleans(self) -> bool:
        """Whether true means present, and false absent."""
        usual = "true", "false", ""
        return [self._codes[text] for text in usual] == [PRESENT, ABSENT, UNKNOWN]

    @property
    def knows_minus(self) -> bool:
        """Whether it was said what a minus means."""
        return "-" in self._given


SIGNS = ("+", "-")
DEFAULT_WORDS = Words()


def fold(text: str) -> str:
    """Return a text without blanks around it, in small letters, and a whole number without zeros.

    >>> fold(" Yes"), fold("1.0"), fold("0,00")
    ('yes', '1', '0')
    """
    whole = re.fullmatch(r"(-?\d+)[.,]0+", text.strip())
    return whole[1] if whole else text.strip().casefold()


class Signs:
    """Watches a table for minus signs without plus signs: they may mean absent, or unknown."""

    def __init__(self) -> None:
        self.has_plus = False
        self.minus: tuple[int, str] | None = None

    def look(self, texts: Any, row: int, column: str) -> None:
        """Take note of the texts of a column."""
        folded = [fold(text or "") for text in texts.dictionary.to_pylist()]
        self.has_plus = self.has_plus or "+" in folded
        if "-" in folded and self.minus is None:
            is_minus = pc.is_in(texts.indices, pa.array(np.flatnonzero(np.array(folded) == "-")))
            at = pc.index(is_minus, True).as_py()
            if at >= 0:  # a category may have no rows
                self.minus = row + at, column

    def check(self, table: "Table", columns: Mapping[str, "ColumnKind"], words: Words) -> None:
        """Raise an error where nobody can know what a minus means."""
        if self.minus is None or self.has_plus or words.knows_minus:
            return
        whole = table.whole()
        if whole is not None and _has_plus(whole, columns, words):
            return
        row, column = self.minus
        raise FileError(
            f"{table.location(row)}, column {quoted(column)}: '-' can mean absent or unknown, and "
            "there is no '+' that would tell; say which: values={'-': 'unknown'} "
            '(--values "-=unknown").'
        )


def _has_plus(table: "Table", columns: Mapping[str, "ColumnKind"], words: Words) -> bool:
    """Return True if there is a plus sign in a table, of which someone else reads a part."""
    signs = Signs()
    states = {name: kind for name, kind in columns.items() if kind in _STATES}
    for batch in table._raw_batches(states, words):
        for name in states:
            if is_text_like(batch.column(name).type):
                signs.look(_dictionary(batch.column(name)), 0, name)
        if signs.has_plus:
            return True
    return False


def unnamed(at: int) -> str:
    """Return what a column without a name is called: the first one holds row names."""
    return f"{UNNAMED}{at + 1}, which has no name)" if at else ""


UNNAMED = "(column "
"""How the names of columns begin that have none."""


class BadCellError(Exception):
    """A value that is not of the wanted kind, with its row in the batch."""

    def __init__(self, row: int, value: Any, others: Sequence[Any] = ()) -> None:
        super().__init__(row, value, others)
        self.row = row
        self.value = value
        self.others = others
        """More values that are not, further down."""


MOST_COLUMNS = 100_000
"""Of a table: each takes kilobytes while it is read, whatever is in it."""


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
    index_name: str | None = None
    """The column that was the named index of a frame."""
    has_final_flags = False
    """Whether booleans were made of texts by the parser, so that words have been applied."""

    def batches(
        self, columns: Mapping[str, ColumnKind], words: Words = DEFAULT_WORDS
    ) -> Iterator[pa.RecordBatch]:
        """Give some columns, converted to their kinds, in batches of rows."""
        row, signs = 0, Signs()
        for batch in self._raw_batches(columns, words):
            yield convert_batch(batch, columns, row, self, words, signs)
            row += batch.num_rows
        signs.check(self, columns, words)

    def _raw_batches(self, columns: Mapping[str, ColumnKind], words: Words) -> Iterator[Any]:
        """Give some columns as they stand, or as far converted as a parser can."""
        raise NotImplementedError

    def whole(self) -> "Table | None":
        """Return the table of which this is a part, if it is one."""
        return None

    def first_rows(self, columns: Iterable[str]) -> dict[str, Any]:
        """Return some columns as they stand in the first rows; none where there are no rows."""
        kinds = dict.fromkeys(columns, ColumnKind.STATE)
        first = next(self._raw_batches(kinds, DEFAULT_WORDS), None) if kinds else None
        return {} if first is None else {name: first.column(name) for name in kinds}

    def has_text_ids(self, column: str) -> bool:
        """Return True if ids in a column are texts, not whole numbers."""
        raise NotImplementedError

    def location(self, row: int) -> str:
        """Say where a row (0 is the first row of data) stands, for an error message."""
        return f"{self.name}, row {self.first_row + row + 1}"

    def _check_columns(self) -> None:
        """Raise an error where there are too many columns, or several of one name."""
        if len(self.column_names) > MOST_COLUMNS:
            raise FileError(
                f"{self.name} has {len(self.column_names):,} columns; tables are read with up to "
                f"{MOST_COLUMNS:,}. Write the records as a long table: a row for each finding."
            )
        twice = [name for name, count in Counter(self.column_names).items() if count > 1]
        if twice:
            raise FileError(f"{self.name} has more than one column named {some_of(twice)}.")


def convert_batch(
    batch: Any,
    columns: Mapping[str, ColumnKind],
    first_row: int,
    table: Table,
    words: Words = DEFAULT_WORDS,
    signs: Signs | None = None,
) -> Any:
    """Bring the columns of a batch to their kinds; errors name row, column and value."""
    arrays = []
    for name, kind in columns.items():
        column = batch.column(name)
        if kind is ColumnKind.FLAG and table.has_final_flags and column.type == pa.bool_():
            arrays.append(column)
            continue
        if signs is not None and kind in _STATES and is_text_like(column.type):
            column = _dictionary(column)
            signs.look(column, first_row, name)
        try:
            arrays.append(converted(column, kind, words))
        except BadCellError as error:
            remedy = _say_values(error) if kind in _STATES else ""
            raise ValueFileError(
                f"{table.location(first_row + error.row)}, column {quoted(name)}: "
                f"{quoted(error.value)} is not {kind.value}{remedy or '.'}"
            ) from None
        except TypeError as error:
            raise ValueFileError(f"{table.name}, column {quoted(name)} {error}.") from None
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


_STATES = ColumnKind.FLAG, ColumnKind.STATE


_LONGEST_WORD = 40
"""A longer text is no word for a state."""


def _say_values(error: BadCellError) -> str:
    """Return how to say what a word means; which state that is, only its writer knows."""
    text = str(error.value).strip()
    if len(text) > _LONGEST_WORD or not text.isprintable() or '"' in text:
        return ""
    also = f" (nor is {some_of(error.others)}, further down)" if error.others else ""
    return (
        f"{also}. Say what it means: values={{{quoted(text)}: STATE}} (--values "
        f"\"{text}=STATE\"), where STATE is 'present', 'absent' or 'unknown'."
    )


def converted(column: Any, kind: ColumnKind, words: Words = DEFAULT_WORDS) -> Any:
    """Return an Arrow array of the wanted kind, or raise `BadCellError` or `TypeError`.

    >>> converted(pa.array([1.0, 0.0, float("nan")]), ColumnKind.FLAG).to_pylist()
    [True, False, None]
    """
    if pa.types.is_dictionary(column.type) and not is_text(column.type.value_type):
        column = column.dictionary_decode()
    try:
        if kind is ColumnKind.FLAG and column.type == pa.bool_() and words.keep_booleans:
            return column
        if kind in _STATES:
            states = _states(column, words)
            return states if kind is ColumnKind.STATE else _flags(states)
        if kind in (ColumnKind.ID, ColumnKind.ID_TEXT, ColumnKind.NAME) and not has_text_ids(
            column.type
        ):
            numbers = _whole_numbers(column, kind)
            return numbers.cast(pa.string()) if kind is ColumnKind.ID_TEXT else numbers
        if kind in (ColumnKind.ID, ColumnKind.ID_TEXT):
            texts = pc.utf8_trim_whitespace(_texts(column))
            return pc.if_else(pc.equal(texts, ""), None, texts)
        return _CONVERSIONS[kind](column)
    except TypeError as error:
        raise TypeError(f"{error}; expected {kind.value}") from None


def holds_absent(column: Any, words: Words = DEFAULT_WORDS) -> bool:
    """Return True if a column holds nothing but words for states, and absent is among them.

    >>> holds_absent(pa.array(["yes", "no"])), holds_absent(pa.array(["yes", "maybe"]))
    (True, False)
    """
    try:
        return ABSENT in converted(column, ColumnKind.STATE, words).to_numpy()
    except (BadCellError, TypeError):
        return False


def has_text_ids(type_: Any) -> bool:
    """Return True if ids of an Arrow type are taken as texts; others are whole numbers."""
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    if pa.types.is_uint64(type_):  # they may lie outside of int64
        return True
    return not (pa.types.is_integer(type_) or pa.types.is_floating(type_))


def _whole_numbers(column: Any, kind: ColumnKind) -> Any:
    """Return int64; pandas makes whole numbers floating where one is missing."""
    if pa.types.is_floating(column.type):
        values = column.to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(~np.isnan(values) & (values != np.floor(values)))
        if wrong.size or np.isinf(values).any():
            raise TypeError(f"has the type {column.type} with numbers that are not whole")
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
    kinds = pa.types.is_null, pa.types.is_integer, pa.types.is_temporal, pa.types.is_boolean
    if is_text(column.type) or any(check(column.type) for check in kinds):
        return _cast(column, pa.string())
    raise TypeError(f"has the type {column.type}")


def is_text(type_: Any) -> bool:
    """Return True if an Arrow type is one of the types of text."""
    kinds = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
    return any(check(type_) for check in kinds)


def is_text_like(type_: Any) -> bool:
    """Return True if an Arrow type is text, or a dictionary of texts."""
    return is_text(type_.value_type if pa.types.is_dictionary(type_) else type_)


def _numbers(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text(column.type):
        return pa.array([_number(row, text) for row, text in enumerate(column.to_pylist())])
    return _cast(column, pa.float64())


def _number(row: int, text: str | None) -> float:
    """Return the number that a text is, with a decimal point or comma; NaN where it is empty."""
    if text is None or fold(text) in NULL_TEXTS:
        return float("nan")
    try:
        return float(text.replace(",", ".") if text.count(",") == 1 else text)
    except ValueError:
        raise BadCellError(row, text) from None


def _flags(states: Any) -> Any:
    codes = states.to_numpy()
    return pa.array(codes == PRESENT, mask=codes == UNKNOWN)


def _states(column: Any, words: Words) -> Any:
    if is_text_like(column.type):
        return _states_from_texts(_dictionary(column), words)
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
        return _states_from_texts(_dictionary(column), words)
    if pa.types.is_boolean(column.type):
        column = pa.DictionaryArray.from_arrays(column.cast(pa.int8()), pa.array(["false", "true"]))
        return _states_from_texts(column, words)
    if pa.types.is_temporal(column.type):
        raise TypeError(f"has the type {column.type}")
    values = _cast(column, pa.float64()).to_numpy(zero_copy_only=False)  # null becomes NaN
    states = np.full(len(values), -1, dtype=np.int8)
    for number, state in words.numbers().items():
        states[values == number] = state
    states[np.isnan(values)] = words.state_of("")
    wrong = np.flatnonzero(states < 0)
    if wrong.size:
        raise BadCellError(int(wrong[0]), column[int(wrong[0])].as_py())
    return pa.array(states)


def _states_from_texts(column: Any, words: Words) -> Any:
    codes = [-1 if text is None else words.state_of(text) for text in column.dictionary.to_pylist()]
    indices = column.indices.fill_null(len(codes)).to_numpy(zero_copy_only=False)
    states = np.array([*codes, words.state_of("")], dtype=np.int8)[indices]
    wrong = np.flatnonzero(states < 0)
    if wrong.size:
        first, *others = pc.unique(column.take(pa.array(wrong)).cast(pa.string())).to_pylist()
        raise BadCellError(int(wrong[0]), first, others)
    return pa.array(states)


def _cast(column: Any, type_: Any) -> Any:
    try:
        return column.cast(type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TypeError(f"has the type {column.type}: {str(error).splitlines()[0]}") from None


_CONVERSIONS = {
    ColumnKind.TEXT: _dictionary,
    ColumnKind.NAME: _dictionary,
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
