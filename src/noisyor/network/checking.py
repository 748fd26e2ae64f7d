"""Checks of what a network is made of and asked about: errors that name what is wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisyor.errors import FileError, ParameterError, quoted
from noisyor.flags import Flag
from noisyor.io.documents import names_of
from noisyor.io.paths import PathLike
from noisyor.names import Indices, sorted_sets
from noisyor.network.causes import Causes, Independent
from noisyor.parameters import KINDS, Parameters, sizes_of
from noisyor.structure import Structure

Floats = NDArray[np.float64]


def edge_name(structure: Structure, edge: int) -> str:
    """Return an edge in words."""
    disease, symptom = structure.edges[edge]
    return (
        f"the edge {quoted(structure.diseases[disease])} to {quoted(structure.symptoms[symptom])}"
    )


def checked_causes(
    structure: Structure, priors: ArrayLike | None, causes: Causes | None
) -> tuple[Causes | None, ArrayLike]:
    """Return causes, None if they are independent without covariates, and priors that agree."""
    if causes is None:
        if priors is None:
            raise ParameterError("a network needs priors, or causes from which they follow.")
        return None, priors
    if not isinstance(causes, Causes):
        raise ParameterError(
            "causes must be Independent, Joint or Trait of noisyor.network, not "
            f"{type(causes).__name__}."
        )
    if causes.n_diseases != structure.n_diseases:
        raise ParameterError(
            f"the causes are of {causes.n_diseases} diseases; the structure has "
            f"{structure.n_diseases}."
        )
    marginals = causes.marginals()
    if priors is not None and not np.allclose(np.asarray(priors), marginals, rtol=1e-6, atol=1e-9):
        raise ParameterError(
            "the priors are not those of the causes: leave them out (None), they follow from these."
        )
    is_plain = isinstance(causes, Independent) and causes.effects is None
    return (None if is_plain else causes), marginals


def probabilities(
    kind: str, values: ArrayLike, count: int, name_of: Callable[[int], str]
) -> Floats:
    """Return a read-only copy, or an error that names the first entry that is not a probability."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{kind} must be numbers between 0 and 1.") from None
    if array.shape != (count,):
        raise ParameterError(
            f"{kind} has the shape {array.shape}, but the structure needs {count} values."
        )
    wrong = np.flatnonzero(~((array >= 0) & (array <= 1)))
    if wrong.size:
        at = int(wrong[0])
        raise ParameterError(
            f"{kind}: {array[at]:g} of {name_of(at)} (entry {at}) is not between 0 and 1."
        )
    array.flags.writeable = False
    return array


def checked_flags(structure: Structure, flags: Parameters) -> Parameters:
    """Return flags as small integers; raise an error unless there is one for each parameter."""
    lengths = tuple(len(part) for part in flags)
    if lengths != sizes_of(structure):
        raise ParameterError(
            f"the flags are {lengths} in number; the structure has {sizes_of(structure)} priors, "
            "failures and leaks."
        )
    return flags.map(lambda part: part.astype(np.uint16))


def flags_from_document(
    document: dict[str, Any], structure: Structure, order: Indices, path: PathLike
) -> Parameters | None:
    """Return the flags of a document, where it has them; its edges come in the given order."""
    if "flags" not in document:
        return None
    listed = document["flags"]
    if not isinstance(listed, dict):
        raise FileError(f"{path}: 'flags' must be an object with the keys {', '.join(KINDS)}.")
    found = []
    for kind, size in zip(KINDS, sizes_of(structure), strict=True):
        codes = names_of(listed, kind, f"{path}, 'flags'")
        if len(codes) != size:
            raise FileError(f"{path}, 'flags': '{kind}' has {len(codes)} entries, not {size}.")
        try:
            found.append(np.array([Flag.from_codes(text) for text in codes], dtype=np.uint16))
        except ParameterError as error:
            raise FileError(f"{path}, 'flags': '{kind}': {error}") from None
    priors, failures, leaks = found
    return Parameters(priors, failures[order], leaks)


def checked_sets(sets: ArrayLike, n_symptoms: int) -> Indices:
    """Return sets of symptoms as rows of numbers, each within the structure and once."""
    rows = np.asarray(sets)
    if rows.ndim != 2 or not (np.issubdtype(rows.dtype, np.integer) or not rows.size):
        raise ParameterError("give symptom indices as rows of whole numbers.")
    # A view that cannot be written to, whatever is given: kernels are compiled for each type.
    rows = np.ascontiguousarray(rows, dtype=np.int64).view()
    rows.flags.writeable = False
    sorted_sets(rows, n_symptoms)
    return rows


def sets_of_order(sets: ArrayLike, order: int) -> NDArray[Any]:
    """Return sets of so many symptoms each."""
    rows = np.asarray(sets)
    if rows.size == 0:
        return np.empty((0, order), dtype=np.int64)
    if rows.ndim != 2 or rows.shape[1] != order:
        raise ParameterError(f"expected rows of {order} symptom indices, not shape {rows.shape}.")
    return rows
