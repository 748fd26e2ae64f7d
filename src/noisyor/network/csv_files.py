"""A network as three CSV files: edges, priors and leaks (docs/formats.md)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisyor.errors import FileError, some_of
from noisyor.io.columns import ColumnKind, Table
from noisyor.io.paths import PathLike
from noisyor.io.tables import need_columns, open_table, write_csv
from noisyor.parameters import Parameters
from noisyor.structure import Structure, read_edges

Floats = NDArray[np.float64]


def write_network(
    structure: Structure, parameters: Parameters, edges: PathLike, priors: PathLike, leaks: PathLike
) -> None:
    """Write the three files, each whole or not at all."""
    probabilities = 1.0 - parameters.failures
    write_csv(edges, pa.table({**structure.edge_names(), "probability": probabilities}))
    write_csv(priors, pa.table({"disease": list(structure.diseases), "prior": parameters.priors}))
    write_csv(leaks, pa.table({"symptom": list(structure.symptoms), "leak": parameters.leaks}))


def read_network(
    edges: PathLike, priors: PathLike, leaks: PathLike
) -> tuple[Structure, Parameters]:
    """Read the three files; those of priors and leaks list all names, in their order."""
    found, failures = read_edge_failures(edges, may_be_none=True)
    prior_of = read_values(priors, "disease", "prior")
    leak_of = read_values(leaks, "symptom", "leak")
    values_for(found.diseases, prior_of, priors)
    values_for(found.symptoms, leak_of, leaks)
    rows = np.column_stack(
        [
            _positions(found.diseases, prior_of)[found.edges[:, 0]],
            _positions(found.symptoms, leak_of)[found.edges[:, 1]],
        ]
    )
    structure = Structure(prior_of, leak_of, rows)
    canonical = np.lexsort((rows[:, 1], rows[:, 0]))
    numbers = (np.array(list(values.values())) for values in (prior_of, leak_of))
    return structure, Parameters(next(numbers), failures[canonical], next(numbers))


def read_edge_failures(path: PathLike, *, may_be_none: bool = False) -> tuple[Structure, Floats]:
    """Read the structure and the failures of a file of edges."""
    table = open_table(path)
    diseases, symptoms, edges = read_edges(table, may_be_none=may_be_none, exact=True)
    canonical = np.lexsort((edges[:, 1], edges[:, 0]))
    return Structure(diseases, symptoms, edges), _failure_column(table)[canonical]


def values_for(names: Iterable[str], values: Mapping[str, float], source: PathLike) -> Floats:
    """Return the values of the names, or an error that says which of them the file lacks."""
    missing = sorted(set(names) - set(values))
    if missing:
        raise FileError(f"{source} has no row for {some_of(missing)}, which the edges name.")
    return np.array([values[name] for name in names], dtype=np.float64)


def _positions(names: Sequence[str], among: Iterable[str]) -> NDArray[np.int64]:
    index = {name: number for number, name in enumerate(among)}
    return np.array([index[name] for name in names], dtype=np.int64)


def _failure_column(table: Table) -> Floats:
    if "failure" in table.column_names:
        return _number_column(table, "failure")
    need_columns(table, ["probability"])
    return 1.0 - _number_column(table, "probability")


def _number_column(table: Table, column: str) -> Floats:
    parts: list[Floats] = []
    row = 0
    for batch in table.batches({column: ColumnKind.NUMBER}):
        values: Any = batch.column(0).to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))  # so is NaN, which null becomes
        if wrong.size:
            location = table.location(row + int(wrong[0]))
            raise FileError(
                f"{location}, column {column!r}: {values[wrong[0]]:g} is not between 0 and 1."
            )
        parts.append(values)
        row += batch.num_rows
    return np.concatenate(parts) if parts else np.empty(0)


def read_values(path: PathLike, key: str, value: str) -> dict[str, float]:
    """Read a file with a column of names and one of probabilities."""
    table = open_table(path)
    need_columns(table, [key, value])
    names = [
        name
        for batch in table.batches({key: ColumnKind.TEXT})
        for name in batch.column(0).to_pylist()
    ]
    seen: dict[str, int] = {}
    for row, name in enumerate(names):
        if not name:
            raise FileError(f"{table.location(row)}, column {key!r}: the name is empty.")
        if seen.setdefault(name, row) != row:
            raise FileError(f"{table.location(row)}, column {key!r}: {name!r} was given before.")
    return dict(zip(names, _number_column(table, value).tolist(), strict=True))
