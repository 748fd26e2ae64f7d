"""Reading the XDSL files of GeNIe and SMILE; the opening of `xdsl_writing` says how they are built.

Roots are diseases (`cpt`) or symptoms without parents (`noisymax`). A symptom is a `noisymax`, or a
`cpt` whose table is an exact noisy-or.

Of a parent's two columns one must be that of the parent's weakest state, which has no effect: it
says "absent, with certainty". `strengths` lists a parent's states from the strongest to the
weakest, and GeNIe's columns follow it. A file whose columns follow the states' own order instead is
read alike: the column that has an effect belongs to the state that is not the weakest.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ExchangeError, FileError
from noisyor.exchange.names import names_or_identifiers
from noisyor.exchange.nodes import Node, check_layers, network_from_nodes
from noisyor.exchange.states import check_binary, present_by_name, present_state
from noisyor.exchange.tables import TOLERANCE, table_parameters
from noisyor.exchange.xml_files import Element, read_xml
from noisyor.io.paths import PathLike
from noisyor.network import NoisyOrNetwork

Floats = NDArray[np.float64]

NODE_KINDS = ("cpt", "noisymax")


@dataclass(frozen=True)
class XdslNode:
    """A node as it stands in the file."""

    element: Element
    key: str
    name: str
    place: str
    states: tuple[str, ...]
    parents: tuple[str, ...]
    strengths: tuple[str, ...]

    @property
    def is_noisy(self) -> bool:
        """Say whether it is a noisymax."""
        return self.element.tag == "noisymax"

    def weakest(self, parent: int) -> int:
        """Return the number of a parent's weakest state, the last of its strengths."""
        order = self.strengths[2 * parent : 2 * parent + 2] if self.strengths else ("0", "1")
        if order not in (("0", "1"), ("1", "0")):
            raise ExchangeError(
                f"{self.place}: node {self.name!r} has strengths that are no order of two states, "
                f"'0 1' or '1 0', for the parent {self.parents[parent]!r}."
            )
        return int(order[1])

    def numbers(self, tag: str, wanted: int) -> Floats:
        """Return the numbers of a child element, of which there must be as many as wanted."""
        text = self.element.text_of(tag).split()
        try:
            numbers = np.array([float(word) for word in text], dtype=np.float64)
        except ValueError:
            raise FileError(
                f"{self.place}: node {self.name!r} has <{tag}> that are not all numbers."
            ) from None
        if len(numbers) != wanted:
            raise FileError(
                f"{self.place}: node {self.name!r} has {len(numbers)} numbers in <{tag}>; "
                f"with {len(self.parents)} parents it needs {wanted}."
            )
        return numbers


def read_xdsl(path: PathLike) -> NoisyOrNetwork:
    """Read a network that GeNIe, SMILE or noisyor wrote."""
    root = read_xml(path)
    if root.tag != "smile" or root.child("nodes") is None:
        raise FileError(f"{path} is XML, but no XDSL: it has no <smile> with <nodes>.")
    nodes = _nodes(root, str(path))
    _refuse_pyagrum(root, nodes, str(path))
    check_layers([(node.key, node.name, node.place, node.parents) for node in nodes])
    present = _present_states(nodes)
    return network_from_nodes([_read_node(node, present) for node in nodes], str(path))


def _refuse_pyagrum(root: Element, nodes: list[XdslNode], path: str) -> None:
    """Refuse tables of pyAgrum: it lets the first parent change fastest, SMILE the last one."""
    by_pyagrum = any(
        each.attributes.get("app", "").startswith("aGrUM") for each in root.descendants("genie")
    )
    wide = [node.name for node in nodes if len(node.parents) > 1]
    if by_pyagrum and wide:
        raise ExchangeError(
            f"{path} was written by pyAgrum, whose tables of several parents (node {wide[0]!r}) "
            "stand in another order than GeNIe's; save the network as .bif there."
        )


def _nodes(root: Element, path: str) -> list[XdslNode]:
    holder = root.child("nodes")
    elements = holder.children if holder is not None else []
    keys = [element.attributes.get("id", "") for element in elements]
    for element, key in zip(elements, keys, strict=True):
        if not key:
            raise FileError(f"{path}, line {element.line}: a <{element.tag}> has no id.")
        if element.tag not in NODE_KINDS:
            raise ExchangeError(
                f"{path}, line {element.line}: node {key!r} is a <{element.tag}>; wanted are "
                "<cpt> for diseases and <noisymax> for symptoms."
            )
    if len(set(keys)) < len(keys):
        twice = next(key for number, key in enumerate(keys) if key in keys[:number])
        raise FileError(f"{path}: the id {twice!r} stands twice.")
    extensions = root.child("extensions")
    shown = extensions.descendants("node") if extensions is not None else []
    given = {node.attributes.get("id", ""): node.text_of("name") for node in shown}
    is_symptom = [each.tag == "noisymax" or bool(each.text_of("parents")) for each in elements]
    names = names_or_identifiers(keys, [given.get(key, "") for key in keys], is_symptom, path)
    return [
        XdslNode(
            element,
            key,
            name,
            f"{path}, line {element.line}",
            tuple(
                each.attributes.get("id", "") for each in element.children if each.tag == "state"
            ),
            tuple(element.text_of("parents").split()),
            tuple(element.text_of("strengths").split()),
        )
        for element, key, name in zip(elements, keys, names, strict=True)
    ]


def _present_states(nodes: list[XdslNode]) -> dict[str, int]:
    """Return for each node the state that means present: by its name, or by what it is to others.

    The last state of a noisymax is its absence. A parent's absence is its weakest state, if all
    its children agree.
    """
    weakest: dict[str, set[int]] = {}
    for node in nodes:
        check_binary(node.states, node.place, node.name)
        for number, parent in enumerate(node.parents):
            if node.is_noisy:
                weakest.setdefault(parent, set()).add(node.weakest(number))
    present = {}
    for node in nodes:
        by_name, by_use = present_by_name(node.states), weakest.get(node.key, set())
        if node.is_noisy:
            present[node.key] = _noisy_present(node, by_name)
        elif by_name is None and len(by_use) == 1:
            present[node.key] = 1 - min(by_use)
        else:
            present[node.key] = present_state(node.states, node.place, node.name)
    return present


def _noisy_present(node: XdslNode, by_name: int | None) -> int:
    if by_name == 1:
        raise ExchangeError(
            f"{node.place}: node {node.name!r} has {node.states[1]!r} as its last state, which is "
            "the one without effect in a noisymax; a symptom's last state is its absence."
        )
    return 0


def _read_node(node: XdslNode, present: dict[str, int]) -> Node:
    if node.is_noisy:
        leak, failures = _noisy_parameters(node, present)
    else:
        leak, failures = _table_parameters(node, present)
    return Node(
        node.key, node.name, node.place, leak, node.parents, failures, is_disease=not node.is_noisy
    )


def _table_parameters(node: XdslNode, present: dict[str, int]) -> tuple[float, tuple[float, ...]]:
    """Read a table, in which the node's own state changes fastest and its first parent slowest."""
    axes = len(node.parents) + 1
    table = node.numbers("probabilities", 2**axes).reshape((2,) * axes)
    for axis, key in enumerate((*node.parents, node.key)):
        if present[key] == 0:
            table = np.flip(table, axis)
    return table_parameters(table, node.place, node.name)


def _noisy_parameters(node: XdslNode, present: dict[str, int]) -> tuple[float, tuple[float, ...]]:
    """Read pairs (present, absent): two for each parent, then the leak."""
    numbers = node.numbers("parameters", 4 * len(node.parents) + 2)
    columns = numbers.reshape(-1, 2)
    valid = (columns >= 0).all(axis=1) & (np.abs(columns.sum(axis=1) - 1) <= TOLERANCE)
    if not valid.all():
        pair = columns[np.flatnonzero(~valid)[0]]
        raise ExchangeError(
            f"{node.place}: node {node.name!r} has the parameters {pair[0]:g} and {pair[1]:g}, "
            "which are no two probabilities that add up to 1."
        )
    failures = []
    for number, parent in enumerate(node.parents):
        if node.weakest(number) == present[parent]:
            raise ExchangeError(
                f"{node.place}: node {node.name!r} is caused by the absence of its parent "
                f"{parent!r} (see its strengths); in a noisy-or diseases cause by their presence."
            )
        failures.append(_failure(node, parent, columns[2 * number : 2 * number + 2, 1]))
    return min(float(columns[-1, 0]), 1.0), tuple(failures)


def _failure(node: XdslNode, parent: str, absent: Floats) -> float:
    """Return P(absent) of the column that has an effect; the other one has P(absent) = 1."""
    if absent.max() < 1 - TOLERANCE:
        raise ExchangeError(
            f"{node.place}: node {node.name!r} has no column '0 1' for the parent {parent!r}; its "
            "weakest state must have no effect."
        )
    return min(float(absent.min()), 1.0)
