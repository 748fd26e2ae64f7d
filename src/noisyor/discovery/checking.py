"""What functions of this room refuse."""

from collections.abc import Iterable
from typing import Any

from noisyor.errors import ParameterError, quoted
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure


def check_level(level: Any) -> None:
    """Refuse what is not between 0 and 1."""
    if not is_number(level) or not 0.0 < level < 1.0:
        raise ParameterError(f"level must lie between 0 and 1, not {quoted(level)}.")


def check_network(network: Any) -> None:
    """Refuse what is not a network."""
    if not isinstance(network, NoisyOrNetwork):
        raise ParameterError(f"expected a NoisyOrNetwork, not {type(network).__name__}.")


def check_settings(settings: Any, kind: type) -> None:
    """Refuse settings of another kind."""
    if not isinstance(settings, kind):
        raise ParameterError(
            f"settings must be {kind.__name__}(...), not {type(settings).__name__}."
        )


def named_edges(edges: Any, structure: Structure) -> set[tuple[str, str]]:
    """Return edges by names; those must be known."""
    found = set()
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise ParameterError(f"give edges as a list of (disease, symptom), not {quoted(edges)}.")
    for edge in edges:
        is_pair = not isinstance(edge, str) and isinstance(edge, Iterable)
        pair = tuple(edge) if is_pair else ()
        if len(pair) != 2:
            raise ParameterError(f"{quoted(edge)} is not an edge: give (disease, symptom).")
        i, j = structure.disease_index(pair[0]), structure.symptom_index(pair[1])
        found.add((structure.diseases[i], structure.symptoms[j]))
    return found


def check_edges(
    structure: Structure, certain: set[tuple[str, str]], forbidden: set[tuple[str, str]]
) -> None:
    """Refuse edges that are certain and not there, and forbidden ones that are."""
    for disease, symptom in sorted(certain):
        if not structure.has_edge(disease, symptom):
            raise ParameterError(f"{disease} -> {symptom} is certain, but not in the structure.")
    for disease, symptom in sorted(certain & forbidden):
        raise ParameterError(f"{disease} -> {symptom} is certain and forbidden.")
    for disease, symptom in sorted(forbidden):
        if structure.has_edge(disease, symptom):
            raise ParameterError(
                f"{disease} -> {symptom} is forbidden, but in the structure: forbidden edges never "
                "come. Leave it out of the structure."
            )


def is_number(value: Any) -> bool:
    """Return True for numbers; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
