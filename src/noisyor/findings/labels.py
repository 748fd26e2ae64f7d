"""Labels: which diseases records were seen to have, joined to the records by their ids."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import FindingsError, nearest_name, quoted, some_of
from noisyor.findings.findings import Findings
from noisyor.findings.joining import rows_of_records
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

    >>> import pyarrow as pa
    >>> structure = Structure.from_edges([("flu", "fever")])
    >>> findings = Findings.from_numpy([[1], [0]], structure, record_ids=["a", "b"])
    >>> labels = pa.table({"record": ["b", "a"], "flu": [0, 1]})
    >>> read_labels(labels, findings, structure).tolist()
    [[True], [False]]
    """
    table = open_table(source)
    columns = _disease_columns(table, structure)
    values = _read_flags(table, columns, words)
    return values[rows_of_records(table, len(values), findings, columns, "labels", record)]


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
