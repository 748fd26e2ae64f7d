"""Nodes of other software: their states and names, and the network that they make.

Other software knows no layers. Here a node with parents is a symptom, a node with children a
disease; a node that is neither is a symptom unless the file says that it is a disease (as in
`Structure.from_networkx`). With a node that is both, the network is not bipartite.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import numpy as np

from noisyor.errors import ExchangeError, FileError, NoisyOrError, give_notice, nearest_name, quoted
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

STATES = ("absent", "present")
"""What the two states are called where the format leaves it to us."""
PRESENT = ("present", "true", "yes", "1")
ABSENT = ("absent", "false", "no", "0")
RESERVED = frozenset(
    ["network", "variable", "probability", "property", "type", "discrete", "table", "default"]
)
"""Words of BIF's grammar."""


@dataclass(frozen=True)
class Node:
    """A binary node; parents are given by their keys, with a failure each."""

    key: str
    """What parents are referred to by: unique in its source."""
    name: str
    location: str
    """Where it was found, for errors: a file and line, or an object."""
    parents: tuple[str, ...] = ()
    is_disease: bool | None = None
    """For a node without parents and children; None: the source does not say."""
    probability: float = 0.0
    """P(present) when no parent is present: a disease's prior, a symptom's leak."""
    failures: tuple[float, ...] = ()


def network_from_nodes(nodes: Sequence[Node], source: str) -> NoisyOrNetwork:
    """Make a network: first the diseases, then the symptoms, each in the order of the nodes.

    The nodes stand in two layers: `divorced.collapsed` has taken out what can be taken out.
    """
    check_layers(nodes)
    has_children = {parent for node in nodes for parent in node.parents}
    diseases: list[Node] = []
    symptoms: list[Node] = []
    for node in nodes:
        is_disease = node.key in has_children or (node.is_disease and not node.parents)
        (diseases if is_disease else symptoms).append(node)
    index = {node.key: number for number, node in enumerate(diseases)}
    pairs = [(index[parent], j) for j, node in enumerate(symptoms) for parent in node.parents]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    failures = np.array([each for node in symptoms for each in node.failures], dtype=np.float64)
    try:
        structure = Structure(
            [each.name for each in diseases], [each.name for each in symptoms], edges
        )
        priors, leaks = ([each.probability for each in layer] for layer in (diseases, symptoms))
        in_order = failures[np.lexsort((edges[:, 1], edges[:, 0]))]
        return NoisyOrNetwork(structure, priors, in_order, leaks)
    except NoisyOrError as error:
        raise FileError(f"{source}: {error}") from None


def check_parents(nodes: Sequence[Node]) -> None:
    """Raise an error unless all parents exist and differ, and no node is above itself."""
    known = {node.key: node for node in nodes}
    for node in nodes:
        name, location = node.name, node.location
        for parent in node.parents:
            if parent not in known:
                need = "; every parent needs a node of its own."
                hint = nearest_name(parent, list(known)) or need
                raise ExchangeError(
                    f"{location}: node {quoted(name)} has the parent {quoted(parent)}, which is "
                    f"not a node{hint}"
                )
        if len(set(node.parents)) < len(node.parents):
            raise ExchangeError(f"{location}: node {quoted(name)} names a parent twice.")
    try:
        TopologicalSorter({node.key: node.parents for node in nodes}).prepare()
    except CycleError as error:
        above, below = error.args[1][:2]
        raise _third_layer(known[below], known[above]) from None


def check_layers(nodes: Sequence[Node]) -> None:
    """Raise an error where a parent has parents itself."""
    known = {node.key: node for node in nodes}
    for node in nodes:
        for parent in node.parents:
            if known[parent].parents:
                raise _third_layer(node, known[parent])


def _third_layer(node: Node, parent: Node) -> ExchangeError:
    return ExchangeError(
        f"{node.location}: node {quoted(node.name)} has the parent {quoted(parent.name)}, which "
        "has parents itself. A bipartite network has two layers, with edges only from diseases to "
        "symptoms. A node between them is taken out only where it has one child, whose failure "
        "is 0."
    )


def present_state(states: Sequence[str], location: str, name: str) -> int:
    """Return the index of the state that means present, by the names of the states.

    >>> present_state(["No", "Yes"], "the example", "fever")
    1
    """
    check_binary(states, location, name)
    found = present_by_name(states)
    if found is None:
        known = ", ".join(f"{yes}/{no}" for yes, no in zip(PRESENT, ABSENT, strict=True))
        raise ExchangeError(
            f"{location}: node {quoted(name)} has the states {quoted(states[0])} and "
            f"{quoted(states[1])}; which of them means present? Rename them to one of {known}."
        )
    return found


def present_by_name(states: Sequence[str]) -> int | None:
    """Return the index of the state whose name means present; None where no name does."""
    folded = [state.strip().casefold() for state in states]
    for number in range(2):
        if (folded[number], folded[1 - number]) in zip(PRESENT, ABSENT, strict=True):
            return number
    return None


def check_binary(states: Sequence[str], location: str, name: str) -> None:
    """Raise an error unless there are two states."""
    if len(states) != 2:
        raise ExchangeError(
            f"{location}: node {quoted(name)} has {len(states)} states; nodes of a noisy-or "
            "network have two, present and absent."
        )


def identifiers(names: Iterable[str]) -> list[str]:
    """Return a different identifier for each name, as like it as possible.

    >>> identifiers(["flu", "runny nose", "runny-nose", "3rd"])
    ['flu', 'runny_nose', 'runny_nose_2', 'n_3rd']
    """
    taken: set[str] = set()
    numbers: Counter[str] = Counter()
    found = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        is_fine = re.match(r"[A-Za-z]", plain) and plain.casefold() not in RESERVED
        start = plain if is_fine else f"n_{plain}"
        # Compared without case: some readers fold it.
        folded = start.casefold()
        identifier = start
        while identifier.casefold() in taken:
            # Thousands of names in other scripts may begin alike: none is numbered from 1 anew.
            numbers[folded] += 1
            identifier = f"{start}_{numbers[folded] + 1}"
        taken.add(identifier.casefold())
        found.append(identifier)
    return found


def names_or_identifiers(
    keys: Sequence[str], names: Sequence[str], kinds: Sequence[bool], source: str
) -> list[str]:
    """Return the names, and identifiers where there are none or where names do not differ.

    Names differ within a kind: a disease and a symptom may have the same one.
    """
    chosen = [name or key for key, name in zip(keys, names, strict=True)]
    count = Counter(zip(chosen, kinds, strict=True))
    repeated = {both for both, times in count.items() if times > 1}
    if repeated:
        name, kind = min(repeated)
        give_notice(
            f"{source}: {quoted(name)} is the name of {count[name, kind]} nodes; their identifiers "
            "are taken instead.",
            stacklevel=2,
        )
    return [
        key if (name, kind) in repeated else name
        for key, name, kind in zip(keys, chosen, kinds, strict=True)
    ]
