"""Learned values against true ones: errors by depth, and whether the intervals hold the truth."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.report.content import Part


class ErrorRow(NamedTuple):
    """The errors of some parameters of one kind."""

    kind: str
    depth: int | None
    """None for all depths; -1 for what was not learned."""
    n: int
    mean: float
    largest: float
    covered: float
    """The share of 95% intervals that hold the true value; NaN where there is no interval."""


def error_rows(name: str, part: Part) -> list[ErrorRow]:
    """Return a row for all parameters of a kind and, where there are several, one per depth."""
    rows = [_row(name, None, part, np.ones(len(part.values), dtype=np.bool_))]
    depths = np.unique(part.depths)
    if len(depths) > 1:
        # What was not learned has depth -1, and comes last.
        for depth in sorted(depths.tolist(), key=lambda each: (each < 0, each)):
            rows.append(_row(name, depth, part, part.depths == depth))
    return rows if len(part.values) else []


def _row(name: str, depth: int | None, part: Part, chosen: NDArray[np.bool_]) -> ErrorRow:
    assert part.true_values is not None
    true = part.true_values[chosen]
    errors = np.abs(part.values[chosen] - true)
    if not errors.size:
        return ErrorRow(name, depth, 0, np.nan, np.nan, np.nan)
    lower, upper = (bound[chosen] for bound in part.intervals())
    known = np.isfinite(lower)
    held = (lower <= true) & (true <= upper)
    covered = float(held[known].mean()) if known.any() else np.nan
    return ErrorRow(
        name, depth, int(chosen.sum()), float(errors.mean()), float(errors.max()), covered
    )
