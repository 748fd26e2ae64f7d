"""Labels: which diseases records were seen to have, joined to the records by their ids."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from noisyor.errors import (
    FileError,
    FindingsError,
    count_of,
    give_notice,
    nearest_name,
    quoted,
    some_of,
)
from noisyor.findings.findings import Findings
from noisyor.findings.reading import RecordFormat
from noisyor.io.columns import DEFAULT_WORDS, ColumnKind, Table, Words
from noisyor.io.tables import open_table
from noisyor.names import NameMatcher
from noisyor.structure import Structure


def read_labels(
    source: Any,
    findings: Findings,
    structure: Structure,
    words: Words = DEFAULT_WORDS,
    record: str = "record",
) -> NDArray[np.bool_]:
    """Return the diseases of each record, records x diseases, from a table with a column for each.

    Rows are joined to the records by their ids, where both have some; else they must be as many,
    and go by their order, which is told. All diseases must be known.

    >>> structure = Structure.from_edges([("flu", "fever")])
    >>> findings = Findings.from_numpy([[1], [0]], structure, record_ids=["a", "b"])
    >>> labels = pa.table({"record": ["b", "a"], "flu": [0, 1]})
    >>> read_labels(labels, findings, structure).tolist()
    [[True], [False]]
    """
    table = open_table(source)
    names = Structure([], structure.diseases, [])
    ids = findings.record_ids
    columns = _disease_columns(table, structure)
    wanted = record if record in table.column_names else "record"
    id_column = RecordFormat(record=wanted).columns_of(table, names).record
    others = [name for name in table.column_names if name not in columns]
    if id_column is None and ids is not None:
        id_column = next((name for name in others if _holds_ids(table, name, ids)), None)
    values = _read_flags(table, columns, words)
    is_index = id_column == table.index_name
    if id_column is None or (ids is None and is_index):
        return _by_row(values, findings, table)
    if ids is None:
        raise FindingsError(
            f"{table.name} has ids of records (column {quoted(id_column)}), but the records have "
            "none: give them a column of ids, or remove it from the labels if both are in one "
            "order."
        )
    labelled = pa.chunked_array(
        [batch.column(0) for batch in table.batches({id_column: ColumnKind.ID_TEXT})], pa.string()
    )
    return values[_joined(labelled, ids.cast(pa.string()), table.name)]


def _holds_ids(table: Table, name: str, ids: Any) -> bool:
    """Return True if a column, whatever its name, holds the ids of the records."""
    try:
        parts = [batch.column(0) for batch in table.batches({name: ColumnKind.ID_TEXT})]
    except FileError:
        return False
    found = pa.chunked_array(parts, pa.string())
    return bool(pc.all(pc.is_in(ids.cast(pa.string()), value_set=found)).as_py())


def _disease_columns(table: Table, structure: Structure) -> list[str]:
    """Return the column of each disease; a disease without one is an error."""
    matcher = NameMatcher(structure.diseases)
    column_of: dict[int, str] = {}
    for name in table.column_names:
        disease = matcher.find(name)
        before = column_of.setdefault(disease, name)
        if before != name and disease >= 0:
            raise FindingsError(
                f"{table.name}: {quoted(before)} and {quoted(name)} are the same disease."
            )
    missing = [name for i, name in enumerate(structure.diseases) if i not in column_of]
    if missing:
        others = [name for name in table.column_names if matcher.find(name) < 0]
        hint = nearest_name(missing[0], others)
        raise FindingsError(f"{table.name} has no column for {some_of(missing)}{hint or '.'}")
    return [column_of[i] for i in range(structure.n_diseases)]


def _read_flags(table: Table, columns: Sequence[str], words: Words) -> NDArray[np.bool_]:
    parts = [np.empty((0, len(columns)), dtype=np.bool_)]
    row = 0
    for batch in table.batches(dict.fromkeys(columns, ColumnKind.FLAG), words):
        for name, column in zip(columns, batch.columns, strict=True):
            if column.null_count:
                location = table.location(row + column.is_null().index(True).as_py())
                raise FindingsError(f"{location}, column {quoted(name)}: the cell is empty.")
        parts.append(np.column_stack([np.asarray(column) for column in batch.columns]))
        row += batch.num_rows
    return np.concatenate(parts)


def _by_row(values: NDArray[np.bool_], findings: Findings, table: Table) -> NDArray[np.bool_]:
    if len(values) != findings.n_records:
        raise FindingsError(
            f"{table.name} has {count_of(len(values), 'row')} for "
            f"{count_of(findings.n_records, 'record')}; give it a column of the records' ids, or a "
            "row for each record."
        )
    if findings.record_ids is not None or table.path is not None:
        give_notice(
            f"{table.name} has no column of ids: its rows are taken in the order of the records."
        )
    return values


def _joined(labelled: Any, ids: Any, name: str) -> NDArray[np.int64]:
    """Return for each record the row of its labels; both must have the same ids."""
    if pc.count_distinct(labelled, mode="all").as_py() < len(labelled):
        counts = labelled.value_counts().to_pylist()
        twice = [each["values"] for each in counts if each["counts"] > 1]
        raise FindingsError(f"{name} has more than one row for the records {some_of(twice)}.")
    if ids.null_count:
        raise FindingsError(
            f"{count_of(ids.null_count, 'record')} without an id cannot be joined to {name}: "
            "n_records (--n-records) says how many records there are, not which; give a table "
            "with the ids of all of them as all_records (--all-records)."
        )
    rows = pc.index_in(ids, value_set=labelled)
    without = ids.filter(rows.is_null())
    unused = labelled.filter(pc.invert(pc.is_in(labelled, value_set=ids)))
    if len(without) or len(unused):
        kinds = (without, "records without labels"), (unused, "labels without a record")
        problems = [
            f"{len(found):,} {what} ({some_of(found.to_pylist())})" for found, what in kinds
        ]
        raise FindingsError(f"{name} has other ids than the records: {', '.join(problems)}.")
    found: NDArray[np.int64] = rows.to_numpy(zero_copy_only=False).astype(np.int64)
    return found
