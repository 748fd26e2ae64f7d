"""The numbers of a page as one compact JSON text, safe inside of a script element."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.flags import REASONS
from noisyor.report.content import Content, Part

SHORT = {text: (flag.name or "").lower().replace("_", " ") for flag, text in REASONS.items()}
"""A word or two for each reason, where there is no room for all of it."""


def as_json(content: Content) -> str:
    """Return the content in JSON; `<` is written as an escape, so that no name ends the script."""
    return json.dumps(data_of(content), ensure_ascii=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )


def data_of(content: Content) -> dict[str, Any]:
    """Return what the page's script needs; docs/report.md describes it."""
    structure = content.structure
    reasons = list(dict.fromkeys(reason for each in content.flag_sets for reason in each))
    return {
        "diseases": structure.diseases,
        "symptoms": structure.symptoms,
        "children": np.diff(structure.child_offsets).tolist(),
        "edges": structure.edges[:, 1].tolist(),
        "parameters": {name: _columns(part, content) for name, part in content.parts.items()},
        "reasons": [[SHORT.get(reason, "other"), reason] for reason in reasons],
        "flagSets": [[reasons.index(reason) for reason in each] for each in content.flag_sets],
        "knows": {
            "errors": content.knows_errors,
            "flags": content.knows_flags,
            "truth": content.has_truth,
        },
    }


def _columns(part: Part, content: Content) -> dict[str, list[float | None] | list[int] | None]:
    """Return the columns of one kind of parameter; None for a column of which nothing is known."""
    return {
        "values": _rounded(part.values, 4),
        "errors": _rounded(part.standard_errors, 3) if content.knows_errors else None,
        "depths": part.depths.tolist(),
        "flags": part.marks.tolist() if part.is_flagged.any() else None,
        "truth": None if part.true_values is None else _rounded(part.true_values, 4),
    }


def _rounded(values: NDArray[np.float64], digits: int) -> list[float | None]:
    """Return numbers with a few significant digits, None for NaN."""
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values.tolist()
    ]
