"""A network as three CSV files: edges, priors and leaks (docs/formats.md)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisyor.errors import FileError, quoted, some_of
from noisyor.io.columns import ColumnKind, Table
from noisyor.io.paths import PathLike
from noisyor.io.replacing import replaced_together
from noisyor.io.tables import open_table, write_csv
from noisyor.names import columns_named, name_key
from noisyor.parameters import Parameters
from noisyor.structure import Structure, read_edges

Floats = NDArray[np.float64]


def write_network(
    structure: Structure, parameters: Parameters, edges: PathLike, priors: PathLike, leaks: PathLike
) -> None:
    """Write the three files, all of them or none: they belong together."""
    diseases, symptoms = list(structure.diseases), list(structure.symptoms)
    with replaced_together():
        write_csv(edges, pa.table({**structure.edge_names(), "failure": parameters.failures}))
        write_csv(priors, pa.table({"disease": diseases, "prior": parameters.priors}))
        write_csv(leaks, pa.table({"symptom": symptoms, "leak": parameters.leaks}))


class NetworkTables(NamedTuple):
    """What the files of a network hold, or those of them that there are."""

    structure: Structure
    failures: Floats | None
    priors: Floats | None
    leaks: Floats | None


def read_tables(
    edges: PathLike, priors: PathLike | None, leaks: PathLike | None, *, failures: bool = True
) -> NetworkTables:
    """Read the files that there are; those of priors and leaks list all names, in their order."""
    table = open_table(edges)
    may_be_none = priors is not None and leaks is not None
    is_network = failures or priors is not None or leaks is not None
    diseases, symptoms, rows = read_edges(table, may_be_none=may_be_none, exact=is_network)
    prior_of = None if priors is None else read_values(priors, "disease", "prior")
    leak_of = None if leaks is None else read_values(leaks, "symptom", "leak")
    layers = (diseases, prior_of, priors), (symptoms, leak_of, leaks)
    rows = np.column_stack([_indices(*each)[rows[:, k]] for k, each in enumerate(layers)])
    structure = Structure(prior_of or diseases, leak_of or symptoms, rows)
    found = _failure_column(table)[np.lexsort((rows[:, 1], rows[:, 0]))] if failures else None
    numbers = (None if of is None else np.array(list(of.values())) for _, of, _ in layers)
    return NetworkTables(structure, found, *numbers)


def _indices(
    names: list[str], values: Mapping[str, float] | None, source: PathLike | None
) -> NDArray[np.int64]:
    """Return where the names of edges stand in a file with all names, if there is one."""
    if values is None:
        return np.arange(len(names))
    missing = sorted(set(names) - set(values))
    if missing:
        raise FileError(f"{source} has no row for {some_of(missing)}, which the edges name.")
    index = {name: number for number, name in enumerate(values)}
    return np.array([index[name] for name in names], dtype=np.int64)


def _failure_column(table: Table) -> Floats:
    keys = {name_key(name): name for name in table.column_names}
    if "failure" not in keys:
        (column,) = columns_named(table, ["probability"])
        return 1.0 - _number_column(table, column)
    failures = _number_column(table, keys["failure"])
    if "probability" in keys:
        others = 1.0 - _number_column(table, keys["probability"])
        wrong = np.flatnonzero(np.abs(others - failures) > 1e-6)
        if wrong.size:
            raise FileError(
                f"{table.location(int(wrong[0]))}: the failure is not 1 less the probability; keep "
                "one of the two columns."
            )
    return failures


def _number_column(table: Table, column: str) -> Floats:
    parts: list[Floats] = []
    row = 0
    for batch in table.batches({column: ColumnKind.NUMBER}):
        values: Any = batch.column(0).to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))  # so is NaN, which null becomes
        if wrong.size:
            location = table.location(row + int(wrong[0]))
            raise FileError(
                f"{location}, column {quoted(column)}: {values[wrong[0]]:g} is not between 0 and 1."
            )
        parts.append(values)
        row += batch.num_rows
    return np.concatenate(parts) if parts else np.empty(0)


def read_values(path: PathLike, key: str, value: str) -> dict[str, float]:
    """Read a file with a column of names and one of probabilities."""
    table = open_table(path)
    key, value = columns_named(table, [key, value])
    names = [
        name
        for batch in table.batches({key: ColumnKind.TEXT})
        for name in batch.column(0).to_pylist()
    ]
    seen: dict[str, int] = {}
    for row, name in enumerate(names):
        if not name:
            raise FileError(f"{table.location(row)}, column {quoted(key)}: the name is empty.")
        if seen.setdefault(name, row) != row:
            raise FileError(
                f"{table.location(row)}, column {quoted(key)}: {quoted(name)} was given before."
            )
    return dict(zip(names, _number_column(table, value).tolist(), strict=True))
