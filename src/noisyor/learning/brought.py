"""What an array or a frame brings to a learner besides its records: columns, names, an index."""

from pathlib import Path
from typing import Any

import numpy as np

from noisyor.errors import FindingsError, ParameterError
from noisyor.findings import Findings
from noisyor.findings.reading import RecordFormat
from noisyor.io.tables import open_table
from noisyor.moments import Moments
from noisyor.names import NameMatcher
from noisyor.structure import Structure

HIDDEN = "hidden"
"""The name of the one disease of records without a structure."""


def structure_of(records: Any, form: RecordFormat) -> Structure:
    """Return one hidden disease over all columns of records."""
    if isinstance(records, Moments):
        symptoms = list(records.plan.structure.symptoms)
    elif isinstance(records, Findings):
        symptoms = list(records.structure.symptoms)
    else:
        symptoms = _table_columns(records, form) or [f"x{j}" for j in range(_width(records))]
    if not symptoms:
        raise FindingsError(
            f"there are 0 feature(s) (shape={getattr(records, 'shape', ())}) while a minimum of 1 "
            "is required: records need a column for each symptom."
        )
    return Structure.from_matrix(np.ones((1, len(symptoms))), diseases=[HIDDEN], symptoms=symptoms)


def check_same_index(records: Any, labels: Any, structure: Structure, form: RecordFormat) -> None:
    """Raise an error where two pandas frames have other indices: their rows may not belong.

    Unless columns of ids join them: records have one, and labels a column of no disease.
    """
    one: Any = getattr(records, "index", None)
    other: Any = getattr(labels, "index", None)
    if not hasattr(one, "equals") or not hasattr(other, "equals"):
        return
    are_named = any(name is not None for name in (*one.names, *other.names))
    if hasattr(labels, "columns") and hasattr(records, "columns"):
        find = NameMatcher(structure.diseases).find
        has_others = any(find(str(name)) < 0 for name in labels.columns)
        if has_others and form.columns_of(open_table(records), structure).record is not None:
            return
    if not are_named and not one.equals(other):
        raise ParameterError(
            "X and y are frames with different indices, and their rows go by their order: take "
            "y.loc[X.index], name the indices, so that they are joined, or reset both."
        )


def _table_columns(records: Any, form: RecordFormat) -> list[str]:
    """Return the symptoms of a table or file with a column per symptom; none of an array."""
    first = records[0] if isinstance(records, list | tuple) and records else records
    if not isinstance(first, str | Path) and not hasattr(first, "__arrow_c_stream__"):
        return []
    table = open_table(first)
    unknown = Structure([], [], [])
    columns = form.columns_of(table, unknown)
    names = list(table.column_names)
    if form.is_long(table, unknown):
        raise ParameterError(
            f"{table.name} has a row per finding, which does not name all symptoms: give a "
            "structure."
        )
    return [name for name in names if name != columns.record]


def _width(records: Any) -> int:
    try:
        shape = records.shape if hasattr(records, "shape") else np.asarray(records).shape
    except ValueError as error:
        raise FindingsError(f"this is not an array of records x symptoms: {error}.") from None
    if len(shape) != 2:
        raise FindingsError(
            f"the array has the shape {shape}; expected records x symptoms. Reshape your data: "
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
