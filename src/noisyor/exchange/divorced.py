"""Divorced noisy-ors: chains of inner nodes, taken together into two layers where that is exact.

A noisy-or of many parents is often written as a chain of small tables, whose inner nodes have one
child each and cause it for certain (failure 0). Then the child is absent only if the inner node is,

    P(child absent) = (1 - leak) prod f_i  *  P(inner absent)
                    = (1 - leak) (1 - leak_inner)  prod f_i  prod f_inner,j

a noisy-or of all diseases above it. Inner nodes with other links, or with several children, do not
collapse exactly; they are left, and refused as a third layer (nodes.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter

from noisyor.errors import count_of, give_notice, some_of
from noisyor.exchange.nodes import Node


@dataclass
class _Absence:
    """P(node absent), a product: a factor of its own, and one for each disease that is present."""

    own: float = 1.0
    failures: dict[str, float] = field(default_factory=dict)

    def multiply(self, key: str, failure: float) -> None:
        """Take in a disease; one that comes by several ways has a chance on each."""
        self.failures[key] = self.failures.get(key, 1.0) * failure

    def take_in(self, inner: "_Absence") -> None:
        """Take in an inner node that is absent whenever this one is."""
        self.own *= inner.own
        for key, failure in inner.failures.items():
            self.multiply(key, failure)


def collapsed(nodes: Sequence[Node]) -> list[Node]:
    """Return nodes without the inner ones that collapse exactly; the order stays.

    >>> nodes = [Node("flu", "flu", "", (), True, 0.1), Node("cold", "cold", "", (), True, 0.2),
    ...          Node("or", "or", "", ("flu",), None, 0.0, (0.5,)),
    ...          Node("cough", "cough", "", ("or", "cold"), None, 0.1, (0.0, 0.3))]
    >>> [(node.name, node.parents, node.failures) for node in collapsed(nodes)][-1]
    ('cough', ('flu', 'cold'), (0.5, 0.3))
    """
    inner = collapsible(nodes)
    if not inner:
        return list(nodes)
    known = {node.key: node for node in nodes}
    absences: dict[str, _Absence] = {}
    for key in TopologicalSorter({node.key: node.parents for node in nodes}).static_order():
        node, found = known[key], _Absence(1.0 - known[key].probability)
        for parent, failure in zip(node.parents, node.failures, strict=True):
            if parent in inner:
                found.take_in(absences[parent])
            else:
                found.multiply(parent, failure)
        absences[key] = found
    kept = [node for node in nodes if node.key not in inner]
    return [_rewritten(node, absences[node.key]) if node.parents else node for node in kept]


def two_layers(nodes: Sequence[Node], source: str) -> list[Node]:
    """Return nodes without inner ones that collapse exactly; a notice names those."""
    found = collapsed(nodes)
    if len(found) < len(nodes):
        kept = {node.key for node in found}
        names = [node.name for node in nodes if node.key not in kept]
        give_notice(
            f"{source}: {count_of(len(names), 'node')} between diseases and symptoms, each with "
            f"one child that it causes for certain, are taken into it: {some_of(names, 3)}.",
            stacklevel=2,
        )
    return found


def _rewritten(node: Node, found: _Absence) -> Node:
    parents, failures = tuple(found.failures), tuple(found.failures.values())
    return replace(node, parents=parents, failures=failures, probability=1.0 - found.own)


def collapsible(nodes: Sequence[Node]) -> set[str]:
    """Return the keys of inner nodes that have one child, which they cause for certain."""
    children: dict[str, list[float]] = {}
    for node in nodes:
        for parent, failure in zip(node.parents, node.failures, strict=True):
            children.setdefault(parent, []).append(failure)
    return {node.key for node in nodes if node.parents and children.get(node.key) == [0.0]}
