"""What a schedule leaves: connected subnetworks of unlearned edges, and why they are left."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from noisyor.names import Indices
from noisyor.structure import Structure

if TYPE_CHECKING:
    from noisyor.schedule.schedule import Schedule

MOST_REASONS = 5
"""Reasons of a subnetwork that are given in full; of the others only the number."""
MOST_RIVALS = 3


class Subnetwork(NamedTuple):
    """A connected part of what was not learned."""

    diseases: tuple[str, ...]
    symptoms: tuple[str, ...]
    edges: Indices
    """Numbers of the unlearned edges, in canonical order."""
    reason: str
    """Why they are not learned, in words."""


def unlearned_subnetworks(schedule: "Schedule") -> list[Subnetwork]:
    """Return the connected parts of what is left, the largest first."""
    structure = schedule.structure
    left = np.flatnonzero(schedule.depths < 0)
    parts = [_subnetwork(schedule, edges) for edges in _connected(structure, left)]
    childless = np.flatnonzero(np.diff(structure.child_offsets) == 0)
    for disease in childless:
        name = structure.diseases[disease]
        nothing = np.empty(0, dtype=np.int64)
        parts.append(
            Subnetwork((name,), (), nothing, f"{name!r} has no symptoms, so nothing shows it.")
        )
    return sorted(parts, key=lambda part: -len(part.edges))


def _connected(structure: Structure, edges: Indices) -> Iterator[Indices]:
    """Split edges into the connected parts that they form."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    diseases, symptoms = structure.edges[edges].T
    n_nodes = structure.n_diseases + structure.n_symptoms
    ends = (diseases, symptoms + structure.n_diseases)
    graph = coo_array((np.ones(len(edges)), ends), (n_nodes, n_nodes))
    part_of = connected_components(graph, directed=False)[1][diseases]
    for part in np.unique(part_of):
        yield edges[part_of == part]


def _subnetwork(schedule: "Schedule", edges: Indices) -> Subnetwork:
    structure = schedule.structure
    diseases, symptoms = (np.unique(column) for column in structure.edges[edges].T)
    reasons = [_reason(schedule, int(i), diseases) for i in diseases[:MOST_REASONS]]
    more = len(diseases) - MOST_REASONS
    if more > 0:
        reasons.append(f"The same holds for {more} more that share symptoms with these.")
    return Subnetwork(
        tuple(structure.diseases[i] for i in diseases),
        tuple(structure.symptoms[j] for j in symptoms),
        edges,
        " ".join(reasons),
    )


def _reason(schedule: "Schedule", disease: int, connected: Indices) -> str:
    """Return why the remaining edges of a disease are not learned, in words."""
    structure = schedule.structure
    name, children = repr(structure.diseases[disease]), structure.children(disease)
    edges = structure.edges_of(disease)
    n_left = int((schedule.depths[edges] < 0).sum())
    if len(children) < 3:
        have = f"{len(children)} symptom{'s' if len(children) > 1 else ''}"
        return f"{name} has only {have}; a prior is learned from three that it alone couples."
    rivals = _rivals(schedule, disease, connected)
    in_the_way = f"; in the way: {rivals}." if rivals else "."
    if schedule.prior_depths[disease] < 0:
        return (
            f"No three of the {len(children)} symptoms of {name} are coupled by it alone"
            f"{in_the_way}"
        )
    what = "no two others" if not schedule.pairs else "no two others, nor with a learned one,"
    return (
        f"{n_left} of the {len(children)} symptoms of {name} are left: with {what} are they "
        f"coupled by it alone{in_the_way}"
    )


def _rivals(schedule: "Schedule", disease: int, connected: Indices) -> str:
    """Name the diseases that share most symptoms with this one by edges not all learned."""
    structure = schedule.structure
    children = structure.children(disease)
    shared = {}
    for other in map(int, connected[connected != disease]):
        is_shared = np.isin(structure.children(other), children)
        if (schedule.depths[structure.edges_of(other)][is_shared] < 0).any():
            shared[other] = int(is_shared.sum())
    most = sorted((k for k in shared if shared[k] > 1), key=lambda k: -shared[k])
    named = [f"{structure.diseases[k]!r} (shares {shared[k]} of {len(children)})" for k in most]
    more = f" and {len(named) - MOST_RIVALS} more" if len(named) > MOST_RIVALS else ""
    return ", ".join(named[:MOST_RIVALS]) + more
