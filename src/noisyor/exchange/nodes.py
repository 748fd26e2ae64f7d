"""What all formats are read into: nodes, each a disease or a symptom, which make a network.

Other software knows no layers. Here a node with parents is a symptom, a node with children a
disease; whoever is neither is a symptom unless the file says that it is a disease (as in
`Structure.from_networkx`). A node that is both makes the network no bipartite one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisyor.errors import ExchangeError, FileError, NoisyOrError, nearest_name
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure


@dataclass(frozen=True)
class Node:
    """A binary node; parents are given by their keys, with a failure each."""

    key: str
    """What parents are referred to by: unique in its source."""
    name: str
    place: str
    """Where it stands, for errors: a file and line, or an object."""
    probability: float
    """P(present) when no parent is present: a disease's prior, a symptom's leak."""
    parents: tuple[str, ...] = ()
    failures: tuple[float, ...] = ()
    is_disease: bool | None = None
    """For a node without parents and children; None: the source does not tell."""


def network_from_nodes(nodes: Sequence[Node], source: str) -> NoisyOrNetwork:
    """Make a network: first the diseases, then the symptoms, each in the order of the nodes."""
    check_layers([(node.key, node.name, node.place, node.parents) for node in nodes])
    has_children = {parent for node in nodes for parent in node.parents}
    diseases = [node for node in nodes if node.key in has_children or _is_lone_disease(node)]
    taken = {node.key for node in diseases}
    symptoms = [node for node in nodes if node.key not in taken]
    index = {node.key: number for number, node in enumerate(diseases)}
    edges = np.array(
        [
            (index[parent], number)
            for number, node in enumerate(symptoms)
            for parent in node.parents
        ],
        dtype=np.int64,
    ).reshape(-1, 2)
    failures = np.array([each for node in symptoms for each in node.failures], dtype=np.float64)
    try:
        structure = Structure(
            [node.name for node in diseases], [node.name for node in symptoms], edges
        )
        return NoisyOrNetwork(
            structure,
            [node.probability for node in diseases],
            failures[np.lexsort((edges[:, 1], edges[:, 0]))],
            [node.probability for node in symptoms],
        )
    except NoisyOrError as error:
        raise FileError(f"{source}: {error}") from None


def check_layers(nodes: Sequence[tuple[str, str, str, tuple[str, ...]]]) -> None:
    """Raise an error unless all parents exist, differ, and have no parents themselves.

    Nodes are given as (key, name, place, parents).
    """
    known = {key: (name, parents) for key, name, _, parents in nodes}
    for _, name, place, parents in nodes:
        for parent in parents:
            if parent not in known:
                hint = (
                    nearest_name(parent, list(known)) or "; every parent needs a node of its own."
                )
                raise ExchangeError(
                    f"{place}: node {name!r} has the parent {parent!r}, which is no node{hint}"
                )
            if known[parent][1]:
                raise ExchangeError(
                    f"{place}: node {name!r} has the parent {known[parent][0]!r}, which has "
                    "parents itself. A bipartite network has two layers, with edges only from "
                    "diseases to symptoms."
                )
        if len(set(parents)) < len(parents):
            raise ExchangeError(f"{place}: node {name!r} names a parent twice.")


def _is_lone_disease(node: Node) -> bool:
    return not node.parents and node.is_disease is True
