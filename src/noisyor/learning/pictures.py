"""Pictures of what was learned: parameters with intervals, and pairs that deviate."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.drawing import axes_for, check_top, draw_heat_map, draw_intervals, height_of
from noisyor.errors import ParameterError, quoted
from noisyor.names import Indices
from noisyor.parameters import Floats
from noisyor.structure import Structure

KINDS_DRAWN = ("prior", "failure", "leak")


def plot_estimate(estimate: Any, ax: Any, kind: str, disease: str | None, top: int) -> Any:
    """Draw parameters with their intervals, the widest first; see `Estimate.plot`."""
    rows = drawn_rows(estimate, kind, disease)[: check_top(top)]
    names = [row[0] for row in rows]
    numbers: NDArray[Any] = np.array([row[1:4] for row in rows], dtype=np.float64).reshape(-1, 3)
    flags = np.array([row[4] for row in rows], dtype=np.bool_)
    label = f"{kind} and 95% interval" if disease is None else "value and 95% interval"
    values, lower, upper = numbers.T
    is_log = disease is None and kind != "failure"
    with axes_for(ax, 6.4, height_of(len(rows))) as axes:
        draw_intervals(axes, names, values, lower, upper, flags, label=label, log=is_log)
        if disease is not None:
            axes.set_title(disease)
    return axes


def drawn_rows(estimate: Any, kind: str, disease: str | None) -> list[tuple[Any, ...]]:
    """Return name, value, ends and whether it is flagged, of a kind or of one disease."""
    if kind not in KINDS_DRAWN:
        raise ParameterError(f"kind is 'prior', 'failure' or 'leak', not {quoted(kind)}.")
    if disease is not None:
        estimate.structure.disease_index(disease)
    rows = []
    for row in estimate.table():
        is_wanted = row["disease"] == disease if disease is not None else row["parameter"] == kind
        if row["parameter"] not in KINDS_DRAWN or not is_wanted:
            continue
        parts = [row["disease"] if disease is None else None, row["symptom"]]
        name = " → ".join(filter(None, parts)) or row["parameter"]
        rows.append((name, row["value"], row["lower"], row["upper"], bool(row["flags"])))
    return rows


def plot_residuals(
    members: Indices, residuals: Floats, structure: Structure, ax: Any, top: int
) -> Any:
    """Draw the residuals of the symptoms that deviate most, each two; see `Misfits.plot`."""
    order = np.argsort(-np.abs(residuals), kind="stable")
    chosen = list(dict.fromkeys(members[order].ravel().tolist()))[: check_top(top)]
    at = {symptom: number for number, symptom in enumerate(chosen)}
    matrix = np.full((len(chosen), len(chosen)), np.nan)
    for (a, b), residual in zip(members.tolist(), residuals.tolist(), strict=True):
        if a in at and b in at:
            matrix[at[a], at[b]] = matrix[at[b], at[a]] = residual
    size = 2.6 + 0.22 * len(chosen)
    with axes_for(ax, size + 1.0, size) as axes:
        names = [structure.symptoms[j] for j in chosen]
        draw_heat_map(axes, names, matrix, label="residual, in standard deviations")
    return axes
