"""The columns that records bring: their names, and the structure they have where none is given."""

from pathlib import Path
from typing import Any

import numpy as np

from noisyor.errors import FindingsError, ParameterError, some_of
from noisyor.findings import Findings
from noisyor.findings.reading import ReadOptions, RecordFormat
from noisyor.io.tables import open_table
from noisyor.moments import Moments
from noisyor.structure import Structure

HIDDEN = "hidden"
"""The name of the one disease of records without a structure."""


def structure_of(records: Any, options: ReadOptions) -> Structure:
    """Return one hidden disease over all columns of records."""
    if isinstance(records, Moments):
        symptoms = list(records.plan.structure.symptoms)
    elif isinstance(records, Findings):
        symptoms = list(records.structure.symptoms)
    else:
        symptoms = _table_columns(records, options) or [f"x{j}" for j in range(_width(records))]
    if not symptoms:
        raise FindingsError(
            f"there are 0 feature(s) (shape={getattr(records, 'shape', ())}) while a minimum of 1 "
            "is required: records need a column for each symptom."
        )
    return Structure.from_matrix(np.ones((1, len(symptoms))), diseases=[HIDDEN], symptoms=symptoms)


def _table_columns(records: Any, options: ReadOptions) -> list[str]:
    """Return the symptoms of a table or file with a column per symptom; none of an array."""
    first = records[0] if isinstance(records, list | tuple) and records else records
    if not isinstance(first, str | Path) and not hasattr(first, "__arrow_c_stream__"):
        return []
    form, table = RecordFormat(**options), open_table(first)
    names = list(table.column_names)
    if form.layout == "long" or {form.record, form.symptom} <= set(names):
        raise ParameterError(
            f"{table.name} has a row per finding, which does not tell all symptoms: give a "
            "structure."
        )
    return [name for name in names if name != form.record]


def _width(records: Any) -> int:
    try:
        shape = records.shape if hasattr(records, "shape") else np.asarray(records).shape
    except ValueError as error:
        raise FindingsError(f"this is no array of records x symptoms: {error}.") from None
    if len(shape) != 2:
        raise FindingsError(
            f"the array has the shape {shape}; wanted are records x symptoms. Reshape your data: "
            "a single record is array.reshape(1, -1)."
        )
    return int(shape[1])


def names_brought(records: Any) -> list[str] | None:
    """Return the names of a frame's columns, where all are texts, as scikit-learn keeps them."""
    names = getattr(records, "column_names", getattr(records, "columns", None))
    if names is None or isinstance(names, property):
        return None
    listed = list(names)
    return listed if listed and all(isinstance(name, str) for name in listed) else None


def check_width(records: Any, n_features: int) -> None:
    """Refuse an array with another number of columns than was learned from, in known words."""
    shape: tuple[int, ...] = getattr(records, "shape", ())
    if len(shape) == 2 and names_brought(records) is None and shape[1] != n_features:
        raise FindingsError(
            f"X has {shape[1]} features, but NoisyOrLearner is expecting {n_features} features as "
            "input: a column for each symptom."
        )


def in_order(diseases: Any, structure: Structure) -> Any:
    """Return a table of diseases as an array, its columns matched by name."""
    names = names_brought(diseases)
    if names is None:
        return diseases
    missing = [name for name in structure.diseases if name not in names]
    if missing:
        raise ParameterError(f"the table of diseases has no column for {some_of(missing)}.")
    return np.column_stack([np.asarray(diseases[name]) for name in structure.diseases])
