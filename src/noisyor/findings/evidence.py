"""Evidence as people write it: what a value says of a finding, one by one or as mappings.

    {"fever": 1, "cough": "absent", "rash": None}

says that fever is present, cough absent, and the rash unknown, as is all that it does not mention.
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import FindingsError, ParameterError, UnknownNameError, quoted
from noisyor.io.columns import ABSENT, DEFAULT_WORDS, PRESENT, UNKNOWN
from noisyor.names import Name
from noisyor.structure import Structure


def split_states(states: Any) -> tuple[list[Name], list[Name]]:
    """Return the symptoms that a mapping puts down as present, and as absent.

    >>> split_states({"fever": 1, "cough": 0, "rash": None, "thirst": "yes"})
    (['fever', 'thirst'], ['cough'])
    """
    found: dict[bool | None, list[Name]] = {True: [], False: [], None: []}
    for name, value in states.items():
        found[state_of(name, value)].append(name)
    return found[True], found[False]


def state_of(name: Name, value: Any) -> bool | None:
    """Return True for present, False for absent, None for unknown."""
    if isinstance(value, str):
        state = DEFAULT_WORDS.state_of(value)
        if state >= 0:
            return {ABSENT: False, PRESENT: True, UNKNOWN: None}[state]
    elif value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas' missing values
        return None
    elif isinstance(value, Real | np.bool_):
        number = float(value)
        if number in (0.0, 1.0) or np.isnan(number):
            return None if np.isnan(number) else bool(number)
    raise ParameterError(
        f"the finding {quoted(name)} is {quoted(value)}; expected 1 or True (present), 0 or False "
        "(absent), "
        'None or NaN (unknown), or "present", "absent", "unknown".'
    )


def array_of(mappings: Sequence[Any], structure: Structure) -> NDArray[np.float32]:
    """Return mappings as records x symptoms: 1, 0, and NaN for what is unknown or not mentioned."""
    array = np.full((len(mappings), structure.n_symptoms), np.nan, dtype=np.float32)
    for number, states in enumerate(mappings):
        if not hasattr(states, "items"):
            raise FindingsError(f"record {number} is {quoted(states)}, and others are mappings.")
        try:
            for value, names in zip((1.0, 0.0), split_states(states), strict=True):
                array[number, structure.symptom_indices(names)] = value
        except (ParameterError, UnknownNameError) as error:
            raise FindingsError(f"record {number}: {error}") from None
    return array
