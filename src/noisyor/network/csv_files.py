"""A network as three CSV files: edges, priors and leaks (docs/formats.md)."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisyor.errors import FileError, some_of
from noisyor.io.columns import ColumnKind
from noisyor.io.paths import PathLike
from noisyor.io.tables import Table, need_columns, open_table
from noisyor.io.writing import write_csv
from noisyor.network.sampling import Parameters
from noisyor.structure import Structure, read_edges

Floats = NDArray[np.float64]


def write_network(
    structure: Structure,
    parameters: Parameters,
    edges: PathLike,
    priors: PathLike,
    leaks: PathLike,
) -> None:
    """Write the three files, each whole or not at all."""
    probabilities = 1.0 - parameters.failures
    write_csv(edges, pa.table({**structure.edge_names(), "probability": probabilities}))
    write_csv(priors, pa.table({"disease": list(structure.diseases), "prior": parameters.priors}))
    write_csv(leaks, pa.table({"symptom": list(structure.symptoms), "leak": parameters.leaks}))


def read_network(
    edges: PathLike, priors: PathLike, leaks: PathLike
) -> tuple[Structure, Parameters]:
    """Read the three files; those of priors and leaks give the order of the names."""
    prior_of = read_values(priors, "disease", "prior")
    leak_of = read_values(leaks, "symptom", "leak")
    structure, failures = read_edge_failures(edges, list(prior_of), list(leak_of), priors, leaks)
    return structure, Parameters(
        np.array(list(prior_of.values())), failures, np.array(list(leak_of.values()))
    )


def read_edge_failures(
    path: PathLike,
    diseases: list[str] | None,
    symptoms: list[str] | None,
    diseases_from: PathLike = "",
    symptoms_from: PathLike = "",
) -> tuple[Structure, Floats]:
    """Read edges with their failures; the names keep the order given or that of the file."""
    table = open_table(path)
    edge_diseases, edge_symptoms, edges = read_edges(table)
    failures = _failure_column(table)
    for named, listed, source in (
        (edge_diseases, diseases, diseases_from),
        (edge_symptoms, symptoms, symptoms_from),
    ):
        missing = [] if listed is None else sorted(set(named) - set(listed))
        if missing:
            raise FileError(f"{source} has no row for {some_of(missing)}, which {path} names.")
    diseases, symptoms = diseases or edge_diseases, symptoms or edge_symptoms
    renumbered = np.column_stack(
        [
            _positions(edge_diseases, diseases)[edges[:, 0]],
            _positions(edge_symptoms, symptoms)[edges[:, 1]],
        ]
    )
    canonical = np.lexsort((renumbered[:, 1], renumbered[:, 0]))
    return Structure(diseases, symptoms, renumbered), failures[canonical]


def _positions(names: list[str], among: list[str]) -> NDArray[np.int64]:
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
            place = table.place(row + int(wrong[0]))
            raise FileError(
                f"{place}, column {column!r}: {values[wrong[0]]:g} is not between 0 and 1."
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
            raise FileError(f"{table.place(row)}, column {key!r}: the name is empty.")
        if seen.setdefault(name, row) != row:
            raise FileError(f"{table.place(row)}, column {key!r}: {name!r} was given before.")
    return dict(zip(names, _number_column(table, value).tolist(), strict=True))
