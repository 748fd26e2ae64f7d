"""Tables of covariates, and the design that is made of them: a row of numbers for each record."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisyor.errors import FileError, FindingsError, ParameterError, give_notice, quoted, some_of
from noisyor.findings import Findings
from noisyor.findings.joining import rows_of_records
from noisyor.io.columns import ColumnKind, Table
from noisyor.io.tables import need_columns, open_table
from noisyor.network.covariates import Covariate, Effects, level_name

Floats = NDArray[np.float64]

MOST_LEVELS = 100
"""Of a category."""
CATEGORY = ":category"
"""Behind the name of a column of numbers that are none: `site:category`."""
MOST_VALUES = 64
"""Values of a number that are told apart in learning."""
FEWEST_ROWS = 5
"""Records for each column of a design, for covariates to be compared."""
MOST_CELLS = 256
"""Rows of the design that are kept to stand for the people who were learned from."""


class Design(NamedTuple):
    """Covariates of records as numbers."""

    covariates: tuple[Covariate, ...]
    rows: Floats
    """Records x columns; NaN where a covariate is unknown."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [name for each in self.covariates for name in each.column_names]

    def population(self) -> tuple[Floats, Floats]:
        """Return rows that stand for all records, and their shares."""
        known = self.rows[~np.isnan(self.rows).any(axis=1)]
        cells, counts = np.unique(known, axis=0, return_counts=True)
        if len(cells) > MOST_CELLS:  # every so many, in the order of the first columns
            cells = known[np.lexsort(known.T[::-1])]
            cells = cells[np.linspace(0, len(cells) - 1, MOST_CELLS).astype(np.int64)]
            counts = np.ones(MOST_CELLS, dtype=np.int64)
        return cells, counts / counts.sum()


def make_design(
    source: Any, findings: Findings, names: Sequence[str] | None = None, record: str = "record",
    unknown: str = "refuse",
) -> Design:  # fmt: skip
    """Read covariates of records and say what they are: numbers, or categories with levels.

    Parameters
    ----------
    source
        A table or file with a column for each covariate, joined to the records by ids where both
        have some.
    findings
        The records.
    names
        The columns to take; None: all but that of the ids. A column of numbers that stand for
        categories is named with `:category` behind it.
    record
        The column of the ids.
    unknown
        What to do where a covariate is not known: "refuse", or "keep", for what is told.
    """
    table = open_table(source)
    wanted = _wanted(table, names, record)
    described = [_described(table, name, is_category) for name, is_category in wanted.items()]
    covariates, columns = zip(*described, strict=True)
    rows = np.concatenate(columns, axis=1)
    order = rows_of_records(table, len(rows), findings, list(wanted), "covariates", record)
    rows = rows[order]
    n_unknown = int(np.isnan(rows).any(axis=1).sum())
    if n_unknown == len(rows):
        raise FindingsError(f"{table.name}: no record has all covariates.")
    if n_unknown and unknown == "refuse":
        first = int(np.argmax(np.isnan(rows).any(axis=1)))
        raise FindingsError(
            f"{table.name}: {n_unknown:,} of {len(rows):,} records have an unknown covariate, the "
            f"first at {table.location(int(order[first]))}. Fill it in, leave the column out, or "
            "have it taken as unknown (unknown_covariates='keep', --unknown-covariates keep)."
        )
    if n_unknown:
        give_notice(
            f"{table.name}: {n_unknown:,} of {len(rows):,} records have an unknown covariate; they "
            "are taken for people like the others."
        )
    _tell_repeated(table, covariates, rows)
    return Design(covariates, rows)


def _tell_repeated(table: Table, covariates: tuple[Covariate, ...], rows: Floats) -> None:
    """Tell which covariates follow from the others: what each does, nobody can know."""
    known = rows[~np.isnan(rows).any(axis=1)]
    if len(known) < FEWEST_ROWS * rows.shape[1]:
        return  # of few people any covariate follows from as many others
    known = known - known.mean(axis=0)
    owners = np.repeat(np.arange(len(covariates)), [each.width for each in covariates])
    products, found = known.T @ known, []
    for number, covariate in enumerate(covariates):
        own = owners == number
        across = products[np.ix_(~own, own)]
        explained = across.T @ np.linalg.pinv(products[np.ix_(~own, ~own)], 1e-9) @ across
        if np.trace(explained) >= (1.0 - 1e-6) * np.trace(products[np.ix_(own, own)]):
            found.append(covariate.name)
    if found:
        give_notice(
            f"{table.name}: the covariates {some_of(found, most=10)} follow from the others, so "
            "the records do not tell their effects apart: leave some of them out."
        )


def check_columns(source: Any, names: Sequence[str], record: str = "record") -> None:
    """Raise an error where a table or file has not all columns of covariates."""
    _wanted(open_table(source), names, record)


def covariates_in_order(
    source: Any, findings: Findings, names: Sequence[str] | None = None, record: str = "record"
) -> pa.Table:
    """Return the columns of covariates as they stand, in the order of the records; as `make_design`
    reads them.
    """
    table = open_table(source)
    wanted = _wanted(table, names, record)
    columns = {
        name: covariate_values(table, name, is_category) for name, is_category in wanted.items()
    }
    n_rows = len(next(iter(columns.values())))
    order = rows_of_records(table, n_rows, findings, list(wanted), "covariates", record)
    return pa.table(columns).take(order)


def has_columns(source: Any) -> bool:
    """Return True if records come as a table or a file, whose columns have names."""
    is_table = hasattr(source, "__arrow_c_stream__") or hasattr(source, "columns")
    return is_table or isinstance(source, str | Path)


def design_rows(
    source: Any, findings: Findings, effects: Effects, record: str = "record"
) -> Floats:
    """Return the rows of the design of records, by covariates that a network has."""
    table = open_table(source)
    names = [each.name for each in effects.covariates]
    need_columns(table, names)
    columns = []
    for covariate in effects.covariates:
        values = covariate_values(table, covariate.name, is_category=bool(covariate.levels))
        cells = [_columns_at(table, covariate, values, row) for row in range(len(values))]
        columns.append(np.array(cells).reshape(len(values), covariate.width))
    rows = np.concatenate(columns, axis=1)
    rows = rows[rows_of_records(table, len(rows), findings, names, "covariates", record)]
    effects.tell_outside(rows)
    return rows


def _columns_at(table: Table, covariate: Covariate, values: list[Any], row: int) -> Floats:
    try:
        return covariate.columns(values[row])
    except ParameterError as error:
        raise FindingsError(f"{table.location(int(row))}: {error}") from None


def _wanted(table: Table, names: Sequence[str] | None, record: str) -> dict[str, bool]:
    """Return the columns that are wanted, and whether each must be a category."""
    if names is None:
        names = [name for name in table.column_names if name not in (record, table.index_name)]
    if isinstance(names, str):
        raise ParameterError(f"give a list of covariates, not the single text {quoted(names)}.")
    found: dict[str, bool] = {}
    for name in names:
        is_category = name.endswith(CATEGORY) and name not in table.column_names
        bare = name.removesuffix(CATEGORY) if is_category else name
        if bare in found:
            raise ParameterError(f"the covariate {quoted(bare)} is named twice.")
        found[bare] = is_category
    if not found:
        raise ParameterError(f"{table.name} has no column with covariates.")
    need_columns(table, found)
    return found


def _described(table: Table, name: str, is_category: bool) -> tuple[Covariate, Floats]:
    """Return what a column is, and its columns of the design."""
    values = covariate_values(table, name, is_category)
    known = [value for value in values if value is not None]
    if len(set(known)) < 2:
        value = f"{quoted(known[0])} in all records" if known else "unknown in all records"
        raise FindingsError(
            f"{table.name}: the covariate {quoted(name)} is {value}, which says nothing: leave it "
            "out."
        )
    if isinstance(known[0], float):
        numbers = np.array([np.nan if value is None else value for value in values])
        centre, scale = float(np.nanmean(numbers)), float(np.nanstd(numbers))
        ends = float(np.nanmin(numbers)), float(np.nanmax(numbers))
        covariate = Covariate(name, (), centre, scale, *ends)
        return covariate, _rounded((numbers - centre) / scale)[:, np.newaxis]
    levels = tuple(sorted(set(known)))
    if len(levels) > MOST_LEVELS:
        raise FindingsError(
            f"{table.name}: the covariate {quoted(name)} has {len(levels):,} different texts "
            f"({some_of(levels)}); a category has up to {MOST_LEVELS}. Group them, or mend what "
            "is no number."
        )
    index = {level: number for number, level in enumerate(levels)}
    columns = np.full((len(values), len(levels)), np.nan)
    for row, value in enumerate(values):
        if value is not None:
            columns[row] = 0.0
            columns[row, index[value]] = 1.0
    return Covariate(name, levels), columns


def _rounded(numbers: Floats) -> Floats:
    """Return numbers of which at most some dozens differ: many records share a row of the design.

    Each is replaced by the mean of those in its part of the range, a quantile.
    """
    known = ~np.isnan(numbers)
    if len(np.unique(numbers[known])) <= 2 * MOST_VALUES:
        return numbers
    cuts = np.unique(np.quantile(numbers[known], np.linspace(0, 1, MOST_VALUES + 1)[1:-1]))
    part = np.searchsorted(cuts, numbers[known], side="right")
    totals = np.bincount(part, numbers[known], len(cuts) + 1)
    found = numbers.copy()
    found[known] = (totals / np.maximum(np.bincount(part, minlength=len(cuts) + 1), 1))[part]
    return found


def covariate_values(table: Table, name: str, is_category: bool) -> list[Any]:
    """Return a column as numbers, or as texts; None where it is unknown."""
    if not is_category:
        try:
            return _finite(table, name, _column(table, name, ColumnKind.NUMBER))
        except FileError as error:
            texts = _column(table, name, ColumnKind.ID_TEXT)
            n_numbers = sum(_is_number(text) for text in texts)
            if 2 * n_numbers > len(texts):  # a column of ages with a word in it
                raise FileError(
                    f"{error} A covariate is a number in all records, or a category "
                    f"({name}{CATEGORY})."
                ) from None
            return [None if text is None else level_name(text) for text in texts]
    return [None if text is None else text for text in _column(table, name, ColumnKind.ID_TEXT)]


def _column(table: Table, name: str, kind: ColumnKind) -> list[Any]:
    found: list[Any] = []
    for batch in table.batches({name: kind}):
        found += batch.column(0).to_pylist()
    if kind is ColumnKind.NUMBER:
        return [None if x is None or np.isnan(x) else float(x) for x in found]
    return [None if x is None or x.strip() == "" else x.strip() for x in found]


def _finite(table: Table, name: str, values: list[Any]) -> list[Any]:
    for row, value in enumerate(values):
        if value is not None and np.isinf(value):
            raise FindingsError(
                f"{table.location(row)}: the covariate {quoted(name)} is {value}, not a finite "
                "number: correct it, or leave the cell empty."
            )
    return values


def _is_number(text: str | None) -> bool:
    try:
        return text is not None and np.isfinite(float(text))
    except ValueError:
        return False
