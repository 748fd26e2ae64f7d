"""What a schedule leaves: connected subnetworks of unlearned edges, and why they are left."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from noisyor.errors import quoted
from noisyor.immutable import equal_by_entries
from noisyor.names import Indices
from noisyor.structure import Structure

if TYPE_CHECKING:
    from noisyor.schedule.schedule import Schedule


@equal_by_entries
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
    for disease in np.flatnonzero(np.diff(structure.child_offsets) == 0):
        name = structure.diseases[disease]
        reason = f"{quoted(name)} has no symptoms, so nothing shows it."
        parts.append(Subnetwork((name,), (), left[:0], reason))
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
    reasons = [_reason(schedule, int(i), diseases) for i in diseases[:5]]
    if len(diseases) > 5:
        reasons.append(
            f"The same holds for {len(diseases) - 5} more that share symptoms with these."
        )
    return Subnetwork(
        tuple(structure.diseases[i] for i in diseases),
        tuple(structure.symptoms[j] for j in symptoms),
        edges,
        " ".join(reasons),
    )


def _reason(schedule: "Schedule", disease: int, connected: Indices) -> str:
    """Return why the remaining edges of a disease are not learned, in words."""
    structure = schedule.structure
    name, n = repr(structure.diseases[disease]), len(structure.children(disease))
    n_left = int((schedule.depths[structure.edges_of(disease)] < 0).sum())
    if n < 3:
        have = f"{n} symptom{'s' if n > 1 else ''}"
        return f"{name} has only {have}; a prior is learned from three that it alone couples."
    rivals = _rivals(schedule, disease, connected)
    in_the_way = f"; in the way: {rivals}." if rivals else "."
    if schedule.prior_depths[disease] < 0:
        return f"No three of the {n} symptoms of {name} are coupled by it alone{in_the_way}"
    what = "no two others" if not schedule.pairs else "no two others, nor with a learned one,"
    left = f"{n_left} of the {n} symptoms of {name} are left"
    return f"{left}: with {what} are they coupled by it alone{in_the_way}"


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
    named = [
        f"{quoted(structure.diseases[k])} (shares {shared[k]} of {len(children)})" for k in most
    ]
    return ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
