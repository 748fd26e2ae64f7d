"""explain: what each finding says for or against a disease, and what has caused it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError
from noisyor.inference.answers import answer_all, make_request
from noisyor.inference.flat import indices_of, list_records
from noisyor.inference.intervals import Learned, network_of
from noisyor.inference.posterior import check_answered
from noisyor.names import Indices, Name
from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import Rng

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]


CERTAIN = 1e-12


@dataclass(frozen=True)
class Explanation:
    """Why a network holds some diseases for probable.

    Examples
    --------
    >>> from noisyor import datasets, explain
    >>> explain(datasets.clinic(), present=["fever"], top=1).causes.column_names
    ['finding', 'cause', 'probability']
    """

    contributions: "pa.Table"
    """A row per disease and finding: `log_odds` is by how much the finding raises the log odds of
    the disease, against not knowing it, the largest first; infinite where it makes it certain."""
    causes: "pa.Table"
    """A row per present finding and possible cause (null: none of the diseases, it came by itself):
    the probability that this caused it. Several causes can act at once."""


def explain(
    network: NoisyOrNetwork | Learned,
    present: Sequence[Name] = (),
    absent: Sequence[Name] = (),
    *,
    diseases: Sequence[Name] | None = None,
    top: int = 5,
    method: str = "auto",
    budget: float = 1.0,
    rng: Rng = 0,
) -> Explanation:
    """Return what each finding adds to the log odds of diseases, and what has caused it.

    Parameters
    ----------
    network, present, absent, method, budget, rng
        As in `posterior`.
    diseases
        The diseases that are explained; None: the `top` most probable ones.
    top
        How many these are.

    Examples
    --------
    >>> from noisyor import datasets, explain
    >>> told = explain(datasets.clinic(), present=["fever", "cough"], absent=["muscle pain"], top=1)
    >>> told.contributions.select(["disease", "finding", "state"]).to_pylist()[0]
    {'disease': 'pneumonia', 'finding': 'fever', 'state': 'present'}
    >>> told.causes.slice(0, 1).to_pylist()[0]["cause"]
    'pneumonia'
    """
    known = network_of(network)
    structure = known.structure
    parts = indices_of(structure, present, absent)
    request = make_request(method, budget, rng)
    if method not in ("auto", "exact", "gibbs"):
        raise ParameterError(f"causes are found by 'auto', 'exact' or 'gibbs', not {method!r}.")
    base = answer_all(known, list_records([parts]), request, with_causes=True).answers
    check_answered(known, parts, int(base.methods[0]), budget)
    chosen = _chosen(known, diseases, top, base.probabilities[0])
    left_out = _findings_to_leave_out(known, parts, chosen)
    others = [tuple(part[part != j] for part in parts) for j in left_out.tolist()]
    without = answer_all(known, list_records([(a, b) for a, b in others]), request).answers
    rows = base.probabilities[0, chosen], without.probabilities[:, chosen]
    return Explanation(
        _contributions(known, chosen, left_out, parts[0], *rows),
        _causes(known, parts[0], base.caused[0], base.leaked[0]),
    )


def _chosen(
    network: NoisyOrNetwork, diseases: Sequence[Name] | None, top: int, row: Floats
) -> Indices:
    if diseases is None:
        if isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 1:
            raise ParameterError(f"top must be a whole number from 1, not {top!r}.")
        return np.argsort(-row, kind="stable")[:top]
    if isinstance(diseases, str):
        raise ParameterError(f"give a list of diseases, not the single text {diseases!r}.")
    return np.array([network.structure.disease_index(name) for name in diseases], dtype=np.int64)


def _findings_to_leave_out(
    network: NoisyOrNetwork, parts: tuple[Indices, Indices], chosen: Indices
) -> Indices:
    """Return the present findings, and those absent ones that a chosen disease would cause."""
    children = [network.structure.children(int(disease)) for disease in chosen]
    relevant = np.concatenate([np.empty(0, dtype=np.int64), *children])
    return np.concatenate([parts[0], parts[1][np.isin(parts[1], relevant)]])


def _contributions(
    network: NoisyOrNetwork,
    chosen: Indices,
    left_out: Indices,
    present: Indices,
    row: Floats,
    without: Floats,
) -> "pa.Table":
    import pyarrow as pa

    structure = network.structure
    with np.errstate(invalid="ignore"):
        change = _log_odds(row) - _log_odds(without)
    # Certain with the finding, and without it: what is left of the digits means nothing.
    change[(row < CERTAIN) & (without < CERTAIN)] = 0.0
    change[(row > 1.0 - CERTAIN) & (without > 1.0 - CERTAIN)] = 0.0
    rows: list[dict[str, Any]] = []
    for index, disease in enumerate(chosen.tolist()):
        for x in np.argsort(-change[:, index], kind="stable").tolist():
            rows.append(
                {
                    "disease": structure.diseases[disease],
                    "finding": structure.symptoms[int(left_out[x])],
                    "state": "present" if left_out[x] in present else "absent",
                    "log_odds": float(change[x, index]),
                    "without": float(without[x, index]),
                }
            )
    schema = {"disease": pa.string(), "finding": pa.string(), "state": pa.string()}
    return pa.Table.from_pylist(
        rows, pa.schema(schema | {"log_odds": pa.float64(), "without": pa.float64()})
    )


def _log_odds(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-p))


def _causes(
    network: NoisyOrNetwork, present: Indices, caused: Floats, leaked: Floats
) -> "pa.Table":
    import pyarrow as pa

    structure = network.structure
    rows: list[dict[str, Any]] = []
    for j in present.tolist():
        here = slice(structure.parent_offsets[j], structure.parent_offsets[j + 1])
        names: list[str | None] = [structure.diseases[i] for i in structure.parent_diseases[here]]
        chances = [*caused[structure.parent_edges[here]].tolist(), float(leaked[j])]
        found = sorted(zip(chances, [*names, None], strict=True), key=lambda pair: -pair[0])
        rows += [
            {"finding": structure.symptoms[j], "cause": cause, "probability": chance}
            for chance, cause in found
        ]
    schema = {"finding": pa.string(), "cause": pa.string(), "probability": pa.float64()}
    return pa.Table.from_pylist(rows, pa.schema(schema))
