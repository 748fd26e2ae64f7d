"""Evidence as people write it: what a value says of a finding, one by one or as mappings.

    {"fever": 1, "cough": "absent", "rash": None}

says that fever is present, cough absent, and the rash unknown, as is all that it does not mention.
"""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import FindingsError, ParameterError, UnknownNameError, quoted
from noisyor.io.columns import ABSENT, DEFAULT_WORDS, PRESENT, UNKNOWN
from noisyor.names import Name, NameMatcher
from noisyor.structure import Structure


def split_states(states: Any, structure: Structure) -> tuple[list[Name], list[Name]]:
    """Return the symptoms that a mapping puts down as present, and as absent.

    >>> structure = Structure.from_edges([("flu", name) for name in ("fever", "cough", "rash")])
    >>> split_states({"fever": 1, "cough": 0, "rash": None}, structure)
    (['fever'], ['cough'])
    """
    if hasattr(states, "columns"):
        raise ParameterError(
            "this is a whole frame: give one row of it (frame.iloc[0]), or ask posteriors(network, "
            "frame) of all rows."
        )
    values = [value for _, value in states.items()]
    if values and all(isinstance(value, str) and value in structure.symptoms for value in values):
        raise ParameterError(
            "this maps numbers to names of symptoms: give a list of the names (of a pandas Series: "
            ".tolist())."
        )
    found: dict[bool | None, list[Name]] = {True: [], False: [], None: []}
    for name, value in states.items():
        if _is_unknown(value):  # need not be a symptom of the network
            continue
        symptom = _symptom(name, structure)  # before its state: an id has none
        found[state_of(name, value)].append(symptom)
    return found[True], found[False]


def _symptom(name: Name, structure: Structure) -> Name:
    """Return the symptom of an entry, in other letters where it is clear; else say what to do."""
    try:
        structure.symptom_index(name)
    except UnknownNameError as error:
        found = NameMatcher(structure.symptoms).find(name) if isinstance(name, str) else -1
        if found >= 0:
            return structure.symptoms[found]
        raise UnknownNameError(
            f"{error} If it is no finding but an id, a label or a covariate, leave it out of the "
            f"mapping (of a pandas row: row.drop({name!r})); covariates have an argument of their "
            "own."
        ) from None
    return name


def check_names(names: Any) -> None:
    """Raise an error where a list is a row of states, such as [0, 1, 1], and not one of names."""
    if isinstance(names, str) or not isinstance(names, Iterable) or hasattr(names, "n_records"):
        text = "the single text " if isinstance(names, str) else ""
        many = "; posteriors(network, findings) takes many records" * hasattr(names, "n_records")
        raise ParameterError(f"give a list of symptoms, not {text}{quoted(names)}{many}.")
    listed = list(names)
    rows = [each for each in listed if not isinstance(each, str) and isinstance(each, Iterable)]
    are_states = [isinstance(each, bool | np.bool_ | float | np.floating) for each in listed]
    numbers = [each for each in listed if isinstance(each, Real) and each in (0, 1)]
    is_row = len(listed) > len(set(numbers)) and len(numbers) == len(listed)
    if rows or any(are_states) or is_row:
        raise ParameterError(
            "findings are listed by their names or numbers, those that are present and those that "
            "are absent; this looks like a row of states, 0 or 1 for each symptom. Give "
            "dict(zip(network.structure.symptoms, row)), or posteriors(network, [row])."
        )


def _is_unknown(value: Any) -> bool:
    """Return True for None, NaN, and words for what is not known."""
    try:
        return state_of("", value) is None
    except ParameterError:
        return False


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
            for value, names in zip((1.0, 0.0), split_states(states, structure), strict=True):
                array[number, structure.symptom_indices(names)] = value
        except (ParameterError, UnknownNameError) as error:
            raise FindingsError(f"record {number}: {error}") from None
    return array
