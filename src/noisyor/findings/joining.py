"""Tables with a row per record, joined to the records by their ids, or by their order."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from noisyor.errors import FileError, FindingsError, count_of, give_notice, quoted, some_of
from noisyor.findings.findings import Findings
from noisyor.findings.reading import RecordFormat
from noisyor.io.columns import ColumnKind, Table
from noisyor.structure import Structure


def rows_of_records(
    table: Table,
    n_rows: int,
    findings: Findings,
    columns: Sequence[str],
    what: str,
    record: str = "record",
) -> NDArray[np.int64]:
    """Return the row of each record in a table of so many rows, of labels, covariates, ...

    Rows are joined to the records by their ids, where both have some; else they must be as many,
    and go by their order, which is told. `columns` hold what is wanted, and no ids.
    """
    ids = findings.record_ids
    wanted = record if record in table.column_names else "record"
    names = Structure([], [name for name in columns if name != wanted], [])
    id_column = RecordFormat(record=wanted).columns_of(table, names).record
    others = [name for name in table.column_names if name not in columns]
    if id_column is None and ids is not None:
        id_column = next((name for name in others if _holds_ids(table, name, ids)), None)
    if id_column is None or (ids is None and id_column == table.index_name):
        return _by_row(table, n_rows, findings)
    if ids is None:
        raise FindingsError(
            f"{table.name} has ids of records (column {quoted(id_column)}), but the records have "
            f"none: give them a column of ids, or remove it from the {what} if both are in one "
            "order."
        )
    known = pa.chunked_array(
        [batch.column(0) for batch in table.batches({id_column: ColumnKind.ID_TEXT})], pa.string()
    )
    return _joined(known, ids.cast(pa.string()), table.name, what)


def _holds_ids(table: Table, name: str, ids: Any) -> bool:
    """Return True if a column, whatever its name, holds the ids of the records."""
    try:
        parts = [batch.column(0) for batch in table.batches({name: ColumnKind.ID_TEXT})]
    except FileError:
        return False
    found = pa.chunked_array(parts, pa.string())
    return bool(pc.all(pc.is_in(ids.cast(pa.string()), value_set=found)).as_py())


def _by_row(table: Table, n_rows: int, findings: Findings) -> NDArray[np.int64]:
    if n_rows != findings.n_records:
        raise FindingsError(
            f"{table.name} has {count_of(n_rows, 'row')} for "
            f"{count_of(findings.n_records, 'record')}; give it a column of the records' ids, or a "
            "row for each record."
        )
    if findings.record_ids is not None or table.path is not None:
        give_notice(
            f"{table.name} has no column of ids: its rows are taken in the order of the records."
        )
    return np.arange(n_rows)


def _joined(known: Any, ids: Any, name: str, what: str) -> NDArray[np.int64]:
    """Return for each record its row; both must have the same ids."""
    if pc.count_distinct(known, mode="all").as_py() < len(known):
        counts = known.value_counts().to_pylist()
        twice = [each["values"] for each in counts if each["counts"] > 1]
        raise FindingsError(f"{name} has more than one row for the records {some_of(twice)}.")
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
        kinds = (without, f"records without {what}"), (unused, f"{what} without a record")
        problems = [
            f"{len(found):,} {text} ({some_of(found.to_pylist())})" for found, text in kinds
        ]
        raise FindingsError(f"{name} has other ids than the records: {', '.join(problems)}.")
    found: NDArray[np.int64] = rows.to_numpy(zero_copy_only=False).astype(np.int64)
    return found
