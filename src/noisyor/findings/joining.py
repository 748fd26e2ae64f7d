"""Tables with a row per record, joined to the records by their ids, or by their order."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from noisyor.errors import FileError, FindingsError, count_of, give_notice, quoted, some_of
from noisyor.findings.reading import RecordFormat
from noisyor.io.columns import ColumnKind, Table
from noisyor.structure import Structure

if TYPE_CHECKING:
    from noisyor.findings.findings import Findings


ROWS_IN_ORDER = "has no column of ids: its rows are taken in the order of the records"
"""What is told of a table without ids."""


def rows_of_records(
    table: Table,
    n_rows: int,
    findings: "Findings",
    columns: Sequence[str],
    what: str,
    record: str = "record",
    *,
    may_miss: bool = False,
) -> NDArray[np.int64]:
    """Return the row of each record in a table of so many rows, of labels, covariates, ...

    Rows are joined to the records by their ids, where both have some; else they must be as many,
    and go by their order, which is told. `columns` hold what is wanted, and no ids. Where that may
    be, a record without a row has -1, and rows without a record are told.
    """
    ids = findings.record_ids
    id_column = id_column_of(table, findings, columns, record, may_miss=may_miss)
    if id_column is None or (ids is None and id_column == table.index_name):
        return _by_row(table, n_rows, findings)
    if ids is None:
        raise FindingsError(
            f"{table.name} has ids of records (column {quoted(id_column)}), but the records have "
            f"none: give them a column of ids, or remove it from the {what} if both are in one "
            "order."
        )
    known = read_ids(table, id_column)
    if may_miss:
        return _joined_where_known(known, ids.cast(pa.string()), table.name, what)
    return _joined(known, ids.cast(pa.string()), table.name, what)


def id_column_of(
    table: Table,
    findings: "Findings",
    columns: Sequence[str],
    record: str = "record",
    *,
    may_miss: bool = False,
) -> str | None:
    """Return the column of ids: by its name, or because it holds those of all records.

    Or, where records may miss, because it holds nothing else.
    """
    ids = findings.record_ids
    found = named_id_column(table, columns, record)
    if found is None and ids is not None:
        others = [name for name in table.column_names if name not in columns]
        return next((name for name in others if _holds_ids(table, name, ids, may_miss)), None)
    return found


def named_id_column(table: Table, columns: Sequence[Any], record: str = "record") -> str | None:
    """Return the column that is named as those of ids are; `columns` hold something else."""
    wanted = record if record in table.column_names else "record"
    names = Structure([], [str(name) for name in columns if name != wanted], [])
    return RecordFormat(record=wanted).columns_of(table, names).record


def read_ids(table: Table, id_column: str) -> Any:
    """Return the ids of a table as texts."""
    parts = [batch.column(0) for batch in table.batches({id_column: ColumnKind.ID_TEXT})]
    return pa.chunked_array(parts, pa.string())


def _holds_ids(table: Table, name: str, ids: Any, may_miss: bool) -> bool:
    """Return True if a column, whatever its name, holds the ids of the records, or only such."""
    try:
        found, wanted = read_ids(table, name), ids.cast(pa.string())
    except FileError:
        return False
    n_distinct = pc.count_distinct(found).as_py()
    if n_distinct < min(len(found), 3):
        return False  # labels, 0 and 1 again and again, which might be ids as well
    if may_miss and len(found) and pc.all(pc.is_in(found, value_set=wanted)).as_py():
        return True
    return bool(pc.all(pc.is_in(wanted, value_set=found)).as_py())


def _by_row(table: Table, n_rows: int, findings: "Findings") -> NDArray[np.int64]:
    if n_rows != findings.n_records:
        raise FindingsError(
            f"{table.name} has {count_of(n_rows, 'row')} for "
            f"{count_of(findings.n_records, 'record')}; give it a column of the records' ids, or a "
            "row for each record."
        )
    if findings.record_ids is not None or table.path is not None:
        give_notice(f"{table.name} {ROWS_IN_ORDER}.")
    return np.arange(n_rows)


def _joined(known: Any, ids: Any, name: str, what: str) -> NDArray[np.int64]:
    """Return for each record its row; both must have the same ids."""
    check_distinct(known, name)
    if ids.null_count:
        unused = known.filter(pc.invert(pc.is_in(known, value_set=ids))).to_pylist()
        others = f" ({what} without a record: {some_of(unused)})" if unused else ""
        raise FindingsError(
            f"{count_of(ids.null_count, 'record')} without an id cannot be joined to {name}"
            f"{others}: n_records (--n-records) says how many records there are, not which; give a "
            "table with the ids of all of them as all_records (--all-records)."
        )
    rows = pc.index_in(ids, value_set=known)
    without = ids.filter(rows.is_null())
    unused = known.filter(pc.invert(pc.is_in(known, value_set=ids)))
    if len(without) or len(unused):
        problems = [
            f"{text} ({count_of(len(found), 'id')}: {some_of(found.to_pylist())})"
            for found, text in (
                (without, f"it has no {what} of some records"),
                (unused, f"it has {what} of records that are not there"),
            )
            if len(found)
        ]
        raise FindingsError(
            f"{name} has other ids than the records: {', and '.join(problems)}. Give it a row for "
            "each record, and no others."
        )
    found: NDArray[np.int64] = rows.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _joined_where_known(known: Any, ids: Any, name: str, what: str) -> NDArray[np.int64]:
    """Return for each record its row, or -1; tell which rows belong to no record."""
    check_distinct(known, name)
    rows = pc.index_in(ids, value_set=known, skip_nulls=True)
    found: NDArray[np.int64] = rows.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    uses = np.bincount(found[found >= 0], minlength=len(known))
    check_joined(known, uses, name, what, ids.drop_null())
    return found


def check_joined(
    known: Any, uses: NDArray[np.int64], name: str, what: str, ids: Any = None
) -> None:
    """Tell which rows belong to no record, by how many records each belongs to.

    Raise an error if no row belongs to one, or one to several: nobody knows to which.
    """
    unused = known.filter(pa.array(uses == 0)).fill_null("")
    if not uses.any():
        records = "one of the records" + (f" ({some_of(ids.to_pylist())})" if ids else "")
        raise FindingsError(
            f"{name} has other ids than the records: none of its {len(known):,} {what} "
            f"({some_of(unused.to_pylist())}) belongs to {records}.{_likely_reason(unused, ids)}"
        )
    if (uses > 1).any():
        twice = known.filter(pa.array(uses > 1)).to_pylist()
        raise FindingsError(
            f"{what} cannot be joined to records that share an id: {some_of(twice)}."
        )
    if len(unused):
        give_notice(
            f"{name}: {len(unused):,} of {len(known):,} {what} belong to no record "
            f"({some_of(unused.to_pylist())}) and are left out."
        )


def _likely_reason(known: Any, ids: Any) -> str:
    """Return what spreadsheets do to ids, where undoing it would have some match."""
    if ids is None:
        return ""
    for pattern, text in (r"^0+", "leading zeros"), (r"\.0$", "'.0' at their end"):
        mine, theirs = (pc.replace_substring_regex(each, pattern, "") for each in (known, ids))
        n_matching = pc.sum(pc.is_in(mine, value_set=theirs)).as_py()
        if n_matching:
            return f" Without {text} {n_matching:,} would: write the ids of both alike."
    return ""


def check_distinct(known: Any, name: str) -> None:
    """Refuse rows that share an id."""
    if pc.count_distinct(known, mode="all").as_py() < len(known):
        counts = known.value_counts().to_pylist()
        twice = [each["values"] for each in counts if each["counts"] > 1]
        raise FindingsError(
            f"{name} has more than one row for the records {some_of(twice)}: leave each one."
        )
