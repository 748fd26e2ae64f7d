"""Labels: which diseases records were seen to have, joined to the records by their ids.

A label is 1, 0 or missing: the disease was seen, was seen to be absent, or nobody looked. Not all
diseases need a column, and not all records a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.beliefs import FEWEST_CASES
from noisyor.errors import (
    FileError,
    FindingsError,
    ParameterError,
    count_of,
    give_notice,
    nearest_name,
    quoted,
    some_of,
)
from noisyor.findings.blocks import Words as Bits
from noisyor.findings.joining import id_column_of, rows_of_records
from noisyor.io.columns import DEFAULT_WORDS, ColumnKind, Table, Words
from noisyor.io.tables import open_table
from noisyor.names import Name, NameMatcher, name_key
from noisyor.structure import Structure

if TYPE_CHECKING:
    from noisyor.findings.findings import Findings

Booleans = NDArray[np.bool_]


class SeenCounts(NamedTuple):
    """In how many records each disease was seen, and was seen to be absent."""

    diseases: tuple[Name, ...]
    seen: NDArray[np.int64]
    absent: NDArray[np.int64]

    @property
    def is_labelled(self) -> Booleans:
        """Which diseases have labels."""
        return np.asarray(self.seen + self.absent > 0)

    def __add__(self, other: "SeenCounts") -> "SeenCounts":  # type: ignore[override]
        """Add up those of two sets of records."""
        return SeenCounts(self.diseases, self.seen + other.seen, self.absent + other.absent)


@dataclass(frozen=True, eq=False)
class Labels:
    """Which diseases each record was seen to have, and which not to have; a row of bits each."""

    diseases: tuple[Name, ...]
    known: Bits
    on: Bits

    @classmethod
    def of(cls, diseases: Sequence[Name], is_known: Booleans, is_on: Booleans) -> "Labels":
        """Pack arrays of records x diseases."""
        return cls(tuple(diseases), _packed(is_known), _packed(is_on & is_known))

    def __len__(self) -> int:
        return len(self.known)

    def unpacked(self) -> tuple[Booleans, Booleans]:
        """Return which labels are known, and which of them say that a disease was seen."""
        n = len(self.diseases)
        return _unpacked(self.known, n), _unpacked(self.on, n)

    @property
    def is_known(self) -> Booleans:
        """Which labels are known, records x diseases."""
        return self.unpacked()[0]

    @property
    def is_present(self) -> Booleans:
        """Which of them say that a disease was seen."""
        return self.unpacked()[1]

    @property
    def is_labelled(self) -> Booleans:
        """Which records have a label."""
        return np.asarray(self.known.any(axis=1))

    def counts(self) -> SeenCounts:
        """Return in how many records each disease was seen, and seen to be absent."""
        is_known, is_on = self.unpacked()
        return SeenCounts(self.diseases, is_on.sum(axis=0), (is_known & ~is_on).sum(axis=0))

    def of_diseases(self, diseases: Sequence[Name]) -> "Labels":
        """Return the labels of some diseases, in their order; others are not known."""
        if tuple(diseases) == self.diseases:
            return self
        index = {name: i for i, name in enumerate(self.diseases)}
        columns = [index.get(name, -1) for name in diseases]
        is_known, is_on = (np.pad(each, ((0, 0), (0, 1)))[:, columns] for each in self.unpacked())
        return Labels.of(diseases, is_known, is_on)

    def taken(self, rows: Any) -> "Labels":
        """Return the labels of some records."""
        return Labels(self.diseases, self.known[rows], self.on[rows])

    def taken_or_unknown(self, rows: NDArray[np.int64]) -> "Labels":
        """Return the labels of some records; those with -1 have none."""
        padded = (np.pad(each, ((0, 1), (0, 0))) for each in (self.known, self.on))
        return Labels(self.diseases, *(each[rows] for each in padded))

    @staticmethod
    def concatenate(parts: Sequence["Labels"], like: "Labels") -> "Labels":
        """Return labels of the same diseases, those of one after those of the other."""
        none = like.taken(slice(0))
        known, on = (
            np.concatenate([getattr(each, name) for each in (none, *parts)])
            for name in ("known", "on")
        )
        return Labels(like.diseases, known, on)

    def complete(self) -> Booleans:
        """Return records x diseases, True where one was seen; all labels must be known."""
        is_known, is_on = self.unpacked()
        missing = np.argwhere(~is_known)
        if len(missing):
            record, disease = missing[0].tolist()
            raise ParameterError(
                f"this method needs a label of every disease in every record, and {len(missing):,} "
                f"are missing, the first of {quoted(self.diseases[disease])} in record "
                f"{record + 1}; methods such as 'refined' learn from partly labelled records."
            )
        return is_on


def _packed(flags: Booleans) -> Bits:
    """Return rows of bits, 64 to a word."""
    n_records, n = flags.shape
    packed = np.zeros((n_records, (n + 63) // 64 * 8), dtype=np.uint8)
    packed[:, : (n + 7) // 8] = np.packbits(flags, axis=1, bitorder="little")
    return packed.view("<u8")


def _unpacked(words: Bits, n: int) -> Booleans:
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")
    return bits[:, :n].astype(np.bool_)


def tell_one_sided(seen: SeenCounts | None) -> None:
    """Tell where all labels of a disease say that it is there: they were taken because of it."""
    if seen is None:
        return
    here = np.flatnonzero((seen.seen >= FEWEST_CASES) & (seen.absent == 0))
    if len(here):
        names = some_of([str(seen.diseases[i]) for i in here])
        give_notice(
            f"all labels of {count_of(len(here), 'disease')} ({names}) say that it is there. If "
            "records were labelled because of a disease, its prior comes out far too large: label "
            "records without it as well (0), chosen as those with it are, or leave them out."
        )


# --- from what users have ---


def as_labels(
    labels: Any,
    findings: "Findings",
    words: Words = DEFAULT_WORDS,
    record: str = "record",
    *,
    complete: bool = False,
) -> Labels:
    """Return labels of findings: from an array of records x diseases, a file or a table.

    In an array 1 is seen, 0 seen to be absent, NaN or None not known. The columns of a file or
    table are matched by name, and not all diseases need one; its rows are joined to the records by
    their ids, where both have some, and not all records need one. Otherwise they must be as many,
    and go by their order, which is told. Where they must be `complete`, nothing may miss.

    >>> import pyarrow as pa
    >>> from noisyor import Findings
    >>> structure = Structure.from_edges([("flu", "fever"), ("cold", "fever")])
    >>> findings = Findings.from_numpy([[1], [0], [1]], structure, record_ids=["a", "b", "c"])
    >>> labels = as_labels(pa.table({"record": ["b", "a"], "flu": [0, 1]}), findings)
    >>> labels.counts()
    SeenCounts(diseases=('flu', 'cold'), seen=array([1, 0]), absent=array([1, 0]))
    """
    structure = findings.structure
    if hasattr(labels, "to_frame") and not hasattr(labels, "columns"):
        labels = labels.to_frame()  # a pandas series, named after a disease
    if isinstance(labels, Labels):
        found = labels.of_diseases(structure.diseases)
    elif is_table(labels) and complete:
        found = _read_complete(labels, findings, words, record)
    elif is_table(labels):
        found = _read(labels, findings, words, record)
    else:
        found = _of_array(labels, structure)
    if len(found) != findings.n_records:
        raise ParameterError(
            f"there are labels of {count_of(len(found), 'record')}, but findings of "
            f"{findings.n_records:,}."
        )
    return found


def _read_complete(source: Any, findings: "Findings", words: Words, record: str) -> Labels:
    """Read a table with a column for each disease and a row for each record, all known."""
    table, structure = open_table(source), findings.structure
    columns = _disease_columns(table, structure)
    missing = [name for name in structure.diseases if name not in columns]
    if missing:
        matcher = NameMatcher(structure.diseases)
        others = [name for name in table.column_names if matcher.find(name) < 0]
        hint = nearest_name(str(missing[0]), others)
        raise FindingsError(f"{table.name} has no column for {some_of(missing)}{hint or '.'}")
    is_known, is_on = _read_flags(table, list(columns.values()), words)
    if not is_known.all():
        row, column = np.argwhere(~is_known)[0].tolist()
        name = list(columns.values())[column]
        raise FindingsError(f"{table.location(row)}, column {quoted(name)}: the cell is empty.")
    in_order = is_on[:, [list(columns).index(name) for name in structure.diseases]]
    names = list(columns.values())
    seen = in_order[rows_of_records(table, len(is_on), findings, names, "labels", record)]
    return Labels.of(structure.diseases, np.ones_like(seen), seen)


def is_table(labels: Any) -> bool:
    """Return True for a path, or a table with names for its columns."""
    is_path = isinstance(labels, str) or hasattr(labels, "__fspath__")
    return is_path or hasattr(labels, "__arrow_c_stream__")


def _of_array(labels: Any, structure: Structure) -> Labels:
    try:
        values = np.ma.filled(np.ma.asarray(labels, dtype=np.float64), np.nan)
    except (TypeError, ValueError):
        raise ParameterError(_EXPECTED) from None
    if values.ndim == 1 and structure.n_diseases == 1:
        values = values[:, np.newaxis]
    if values.ndim != 2 or values.shape[1] != structure.n_diseases:
        raise ParameterError(
            f"labels must be of the shape records x {structure.n_diseases} diseases, not "
            f"{values.shape}; a table with names for its columns need not have them all."
        )
    is_known = ~np.isnan(values)
    if not np.isin(values[is_known], (0.0, 1.0)).all():
        raise ParameterError(_EXPECTED)
    return Labels.of(structure.diseases, is_known, values == 1.0)


_EXPECTED = (
    "labels must be 1 (the disease was seen), 0 (seen to be absent) or NaN or None (nobody looked)."
)


def _read(source: Any, findings: "Findings", words: Words, record: str) -> Labels:
    """Read a table with a column for each of some diseases, and join it to the records."""
    table, structure = open_table(source), findings.structure
    columns = list(_disease_columns(table, structure).values())
    id_column = id_column_of(table, findings, columns, record, may_miss=True)
    found = read_table(table, structure, id_column, words)
    rows = rows_of_records(table, len(found), findings, columns, "labels", record, may_miss=True)
    return found.taken_or_unknown(rows)


def read_table(
    table: Table, structure: Structure, id_column: str | None, words: Words = DEFAULT_WORDS
) -> Labels:
    """Return the labels of a table with a column for each of some diseases, row by row."""
    columns = _disease_columns(table, structure)
    _check_others(table, structure, columns, id_column, words)
    is_known, is_on = _read_flags(table, list(columns.values()), words)
    _check_some(table, list(columns.values()), is_known)
    known, on = np.zeros((2, len(is_known), structure.n_diseases), dtype=np.bool_)
    indices = [structure.disease_index(name) for name in columns]
    known[:, indices], on[:, indices] = is_known, is_on
    return Labels.of(structure.diseases, known, on)


def _check_some(table: Table, columns: Sequence[str], is_known: Booleans) -> None:
    """Refuse a table without any label; tell which columns have none."""
    if not len(is_known):
        raise FindingsError(f"{table.name} has no row: there are no labels.")
    if not is_known.any():
        raise FindingsError(
            f"{table.name} holds no label: all of its cells are empty. Leave it out, or say what "
            "was seen: 1, 0, or nothing where nobody looked."
        )
    has_labels = np.asarray(is_known.any(axis=0)).tolist()
    empty = [name for name, here in zip(columns, has_labels, strict=True) if not here]
    if empty:
        give_notice(
            f"{table.name} has {count_of(len(empty), 'column')} without a label: {some_of(empty)}."
        )


def _disease_columns(table: Table, structure: Structure) -> dict[Name, str]:
    """Return the column of each disease that has one."""
    matcher = NameMatcher(structure.diseases)
    column_of: dict[Name, str] = {}
    for name in table.column_names:
        index = matcher.find(name)
        if index < 0:
            continue
        before = column_of.setdefault(structure.diseases[index], name)
        if before != name:
            raise FindingsError(
                f"{table.name}: {quoted(before)} and {quoted(name)} are the same disease."
            )
    return column_of


def _check_others(
    table: Table,
    structure: Structure,
    columns: dict[Name, str],
    id_column: str | None,
    words: Words,
) -> None:
    """Refuse columns of diseases that there are none of; tell what else is passed over."""
    long = next((name for name in table.column_names if name_key(name) == "disease"), None)
    if long is not None and not columns:
        raise FindingsError(
            f"{table.name} has a row for each label: give it a column for each disease, named "
            f"after it, and a row for each record (in pandas: pivot(columns={quoted(long)}))."
        )
    taken = {*columns.values(), id_column, table.index_name, ""}
    others = [name for name in table.column_names if name not in taken]
    free = [str(name) for name in structure.diseases if name not in columns]
    for name in others:
        if _holds_flags(table, name, words):
            hint = nearest_name(name, free) or ": correct its name, or remove the column."
            raise FindingsError(
                f"{table.name}: {quoted(name)} holds labels, but the structure has no such disease"
                f"{hint}"
            )
    if not columns:
        raise FindingsError(f"{table.name} has no column that is named after a disease.")
    if others:
        give_notice(
            f"{table.name}: {count_of(len(others), 'column')} named after no disease "
            f"({some_of(others)}) {'is' if len(others) == 1 else 'are'} passed over."
        )


def _holds_flags(table: Table, name: str, words: Words) -> bool:
    """Return True if all cells of a column are labels, and not all are empty."""
    try:
        return bool(_read_flags(table, [name], words)[0].any())
    except FileError:
        return False


def _read_flags(table: Table, columns: Sequence[str], words: Words) -> tuple[Booleans, Booleans]:
    """Return which cells say something, and which of them say yes."""
    parts = [(np.empty((0, len(columns)), dtype=np.bool_),) * 2]
    for batch in table.batches(dict.fromkeys(columns, ColumnKind.FLAG), words):
        known = [np.asarray(column.is_valid()) for column in batch.columns]
        on = [np.asarray(column.fill_null(False)) for column in batch.columns]
        parts.append((np.column_stack(known), np.column_stack(on)))
    is_known, is_on = (np.concatenate(each) for each in zip(*parts, strict=True))
    return is_known, is_on
