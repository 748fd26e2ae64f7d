"""Facts as JSON, which has no number for what is not a number or infinite: null stands for it."""

import json
import math
from typing import Any


def json_text(facts: Any) -> str:
    """Return facts as JSON in one line.

    >>> json_text({"error": float("nan"), "names": ["fever"]})
    '{"error": null, "names": ["fever"]}'
    """
    return json.dumps(_finite(facts), allow_nan=False)


def _finite(value: Any) -> Any:
    """Return facts with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
