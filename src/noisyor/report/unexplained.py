"""What a network does not explain: the misfits of an estimate, or the table that `fit` wrote."""

from typing import Any, NamedTuple

from noisyor.errors import FileError, NoisyOrError, ParameterError
from noisyor.io.columns import ColumnKind
from noisyor.io.tables import Place, need_columns, open_table
from noisyor.learning import Estimate
from noisyor.learning.misfits import Misfits
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

MOST_ROWS, MOST_EDGES, MOST_SYMPTOMS = 200, 20, 10
"""What a page lists; of the others only the number."""
COLUMNS = {
    "first": ColumnKind.TEXT,
    "second": ColumnKind.TEXT,
    "observed": ColumnKind.NUMBER,
    "expected": ColumnKind.NUMBER,
    "residual": ColumnKind.NUMBER,
    "q_value": ColumnKind.NUMBER,
    "shared": ColumnKind.TEXT,
}


class Unexplained(NamedTuple):
    """Pairs of symptoms that deviate, the clearest first, and what would explain them."""

    n_found: int
    pairs: list[dict[str, Any]]
    """The first of them, with the columns of `Misfits.table`."""
    n_tested: int | None = None
    """How many pairs were tested; None where that is not known."""
    p_value: float | None = None
    edges: tuple[dict[str, Any], ...] = ()
    """Edges that seem to be missing, the clearest first."""
    n_symptoms: int = 0
    """How many single symptoms are more, or less, frequent than the network says."""
    symptoms: tuple[tuple[str, float], ...] = ()
    """The clearest of them: name, residual."""


def unexplained_by(source: Estimate | NoisyOrNetwork, misfits: Any) -> Unexplained | None:
    """Return the misfits that are given, as a value or a file; else those of the estimate."""
    if isinstance(misfits, Misfits):
        if misfits.network.structure != source.structure:
            raise ParameterError("the misfits belong to another structure than the report.")
        return _from_misfits(misfits)
    if misfits is not None:
        return _from_table(misfits, source.structure)
    has_counts = (
        isinstance(source, Estimate)
        and source.moments is not None
        and not source.moments.is_exact
        and source.moments.n_records > 0
    )
    return _from_misfits(source.misfits()) if has_counts else None  # type: ignore[union-attr]


def _from_misfits(misfits: Misfits) -> Unexplained:
    names = misfits.network.structure.symptoms
    deviating = misfits.symptoms.found(misfits.level)
    rows = deviating[:MOST_SYMPTOMS]
    symptoms = zip(misfits.symptoms.members[rows, 0], misfits.symptoms.residuals[rows], strict=True)
    return Unexplained(
        misfits.n_found,
        misfits.table().slice(0, MOST_ROWS).to_pylist(),
        len(misfits.pairs.p_values),
        misfits.p_value,
        # Edges are looked for only where a pair deviates: otherwise there is nothing to explain.
        tuple(misfits.edge_table().slice(0, MOST_EDGES).to_pylist()) if misfits.n_found else (),
        len(deviating),
        tuple((names[symptom], float(residual)) for symptom, residual in symptoms),
    )


def _from_table(path: Any, structure: Structure) -> Unexplained:
    table = open_table(path)
    need_columns(table, COLUMNS)
    pairs: list[dict[str, Any]] = []
    n_found = 0
    for batch in table.batches(COLUMNS):
        n_found += batch.num_rows
        if len(pairs) < MOST_ROWS:
            pairs += batch.slice(0, MOST_ROWS - len(pairs)).to_pylist()
    for row, pair in enumerate(pairs):
        try:
            structure.symptom_indices([pair["first"], pair["second"]])
        except NoisyOrError as error:
            raise FileError(f"{Place(table, row)}: {error}") from None
    return Unexplained(n_found, pairs)
