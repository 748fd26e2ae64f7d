"""The section of a page on suggestions: edges and diseases that records ask for, or do not need."""

import os
from typing import Any

import numpy as np

from noisyor.discovery.changes import ADD, ADD_DISEASE, DROP, MERGE, SPLIT
from noisyor.discovery.suggestions import Suggestions
from noisyor.errors import FileError, NoisyOrError, ParameterError, some_of
from noisyor.io.columns import ColumnKind
from noisyor.io.paths import PathLike
from noisyor.io.tables import RowLocation, need_columns, open_table
from noisyor.report.markup import counted, paragraph, section, table
from noisyor.structure import Structure

MOST_ROWS = 100
KINDS = {
    ADD: ("edge to add", "edges to add"), DROP: ("edge to drop", "edges to drop"),
    ADD_DISEASE: ("disease to add", "diseases to add"),
    SPLIT: ("disease to split", "diseases to split"),
    MERGE: ("pair of diseases to merge", "pairs of diseases to merge"),
}  # fmt: skip
"""And what one and several are called."""
NUMBERS = "gain", "gain_bic", "q_value", "strength"
TEXTS = "kind", "disease", "symptoms", "sentence"
Rows = list[dict[str, Any]]


def suggestion_rows(
    suggestions: Suggestions | PathLike | None, structure: Structure
) -> Rows | None:
    """Return suggestions, as a value or a file, as rows; refuse those on another structure."""
    if suggestions is None:
        return None
    rows: Rows
    if isinstance(suggestions, Suggestions):
        rows = suggestions.table().to_pylist()
        where = [f"suggestion {number + 1}" for number in range(len(rows))]
    elif isinstance(suggestions, str | os.PathLike):
        source = open_table(suggestions)
        columns = dict.fromkeys(TEXTS, ColumnKind.TEXT) | dict.fromkeys(NUMBERS, ColumnKind.NUMBER)
        need_columns(source, columns)
        # Files of before know of no diseases to split or to merge.
        columns |= dict.fromkeys({"other", "shared"} & set(source.column_names), ColumnKind.TEXT)
        rows = [row for batch in source.batches(columns) for row in batch.to_pylist()]
        where = [str(RowLocation(source, number)) for number in range(len(rows))]
    else:
        raise ParameterError(
            "suggestions must be what discovery.suggest found, or its file, not "
            f"{type(suggestions).__name__}."
        )
    for location, row in zip(where, rows, strict=True):
        _check(row, structure, location)
    return rows


def _check(row: dict[str, Any], structure: Structure, location: str) -> None:
    """Refuse a row that is no suggestion on this structure."""
    if row["kind"] not in KINDS:
        raise FileError(f"{location}: the kind {row['kind']!r} is none of {some_of(KINDS)}.")
    if row["kind"] == ADD_DISEASE:
        return
    try:
        disease = structure.disease_index(row["disease"])
        if row["kind"] == MERGE:
            if not row.get("other"):
                raise FileError(f"{location}: the column other must name the disease that goes.")
            structure.disease_index(row["other"])
        if row["kind"] not in (ADD, DROP):
            return
        symptom = structure.symptom_index(row["symptoms"])
    except NoisyOrError as error:
        raise FileError(f"{location}: {error}") from None
    has_edge = symptom in structure.children(disease)
    if has_edge == (row["kind"] == ADD):
        has = "already has" if has_edge else "does not have"
        raise FileError(
            f"{location}: the network {has} the edge {row['disease']} - {row['symptoms']}; "
            "make suggestions on this network."
        )


def suggested(rows: Rows | None) -> str:
    """Return the section; nothing where nothing was asked for."""
    if rows is None:
        return ""
    if not rows:
        says = "Records ask for no change of the structure."
        return section("suggestions", "Suggestions", paragraph(says))
    numbers = {kind: sum(row["kind"] == kind for row in rows) for kind in KINDS}
    parts = [counted(n, *KINDS[kind]) for kind, n in numbers.items() if n]
    more = len(rows) - MOST_ROWS
    caption = "The largest gains first" + (f"; {more:,} more are not shown" if more > 0 else "")
    titles = "change", "disease", "symptoms", "log likelihood", "BIC / 2", "1 - f", "q"
    cells = [
        (row["kind"], _diseases(row), _symptoms(row), *(_number(row, name) for name in (
            "gain", "gain_bic", "strength", "q_value"))) for row in rows[:MOST_ROWS]
    ]  # fmt: skip
    return section(
        "suggestions", "Suggestions",
        paragraph(
            f"What records say of the structure: {', '.join(parts)}. In the picture of a disease "
            "edges to add are green and dashed, those to drop orange and dotted."
        ),
        table(titles, cells, caption=caption, texts=3),
    )  # fmt: skip


def _diseases(row: dict[str, Any]) -> str:
    return " + ".join(name for name in (row["disease"], row.get("other")) if name)


def _symptoms(row: dict[str, Any]) -> str:
    shared = row.get("shared")
    return f"{row['symptoms']} (both have {shared})" if shared else str(row["symptoms"])


def _number(row: dict[str, Any], name: str) -> str:
    value = row[name]
    if value is None or np.isnan(value):
        return ""
    return f"{value:,.1f}" if name.startswith("gain") else f"{value:.2g}"


def drawn_edges(rows: Rows | None, structure: Structure) -> dict[str, Any]:
    """Return the edges that the picture of a disease shows: to add with strengths, and to drop."""
    added, dropped = [], []
    for row in rows or ():
        if row["kind"] not in (ADD, DROP):
            continue
        i, j = structure.disease_index(row["disease"]), structure.symptom_index(row["symptoms"])
        if row["kind"] == ADD:
            added.append([i, j, float(f"{row['strength']:.3g}")])
        else:
            dropped.append(structure.edge_index(i, j))
    return {"added": added, "dropped": dropped}
