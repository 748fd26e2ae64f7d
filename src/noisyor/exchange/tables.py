"""A noisy-or as a table, and back: P(symptom | every combination of its diseases).

A table has an axis of two entries for each parent (absent, present) and one more, the last, for
the symptom itself. Eq. 2 gives the row of the present diseases D: P(absent) = (1 - leak) times
the product of the failures of D. So the row without any disease tells the leak, and the row of one
disease divided by it that disease's failure; all other rows have to follow from these.

>>> table = noisy_or_table([0.5, 0.2], leak=0.1)
>>> table[1, 1].round(3)
array([0.09, 0.91])
>>> table_parameters(table, "the example", "cough")
(0.1, (0.5, 0.2))
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ExchangeError, quoted
from noisyor.exchange.divorced import two_layers
from noisyor.exchange.nodes import Node, check_parents, network_from_nodes
from noisyor.network import NoisyOrNetwork

Floats = NDArray[np.float64]

MOST_PARENTS = 12
"""Of a symptom that is written as a table: 4,096 rows."""
MOST_PARENTS_READ = 24
"""Of a symptom that is read as a table: 16 million rows."""
TOLERANCE = 1e-6
"""By how much a row may deviate from a noisy-or, relative to its P(absent)."""
SIX_DIGITS = 1e-5
"""The same for each parent where all numbers have at most six digits, as many programs write."""
SMALLEST = 1e-9
"""A deviation that is smaller than this one does not count."""


def noisy_or_table(failures: Sequence[float], leak: float) -> Floats:
    """Return the table of a noisy-or; P(present) of rare symptoms keeps all its digits."""
    absent, present = np.array(1.0 - leak), np.array(leak)
    for failure in failures:
        # 1 - a f = (1 - f) + (1 - a) f, from positive terms only.
        present = np.stack([present, (1.0 - failure) + present * failure], axis=-1)
        absent = np.stack([absent, absent * failure], axis=-1)
    return np.stack([absent, present], axis=-1)


def parent_failures(network: NoisyOrNetwork, symptom: int) -> tuple[list[int], list[float]]:
    """Return the diseases of a symptom, and the failure of each."""
    structure = network.structure
    edges = slice(structure.parent_offsets[symptom], structure.parent_offsets[symptom + 1])
    failures = network.failures[structure.parent_edges[edges]]
    return structure.parents(symptom).tolist(), failures.tolist()


def symptom_table(
    network: NoisyOrNetwork, symptom: int, target: str, most_parents: int = MOST_PARENTS
) -> Floats:
    """Return the table of a network's symptom, refuse one with too many parents."""
    _, failures = parent_failures(network, symptom)
    count = len(failures)
    if count > most_parents:
        raise ExchangeError(
            f"symptom {quoted(network.structure.symptoms[symptom])} has {count} parents: {target} "
            f"holds a table of 2^{count} rows for it, and noisyor writes tables for up to "
            f"{most_parents} parents. Formats that know noisy-or keep any number: .xdsl, .json, a "
            "folder."
        )
    return noisy_or_table(failures, float(network.leaks[symptom]))


class NodeTable(NamedTuple):
    """A disease or symptom as other software writes it."""

    name: str
    parents: list[int]
    """Diseases, which have the first numbers."""
    table: Floats


def node_tables(
    network: NoisyOrNetwork, target: str, most_parents: int = MOST_PARENTS
) -> Iterator[NodeTable]:
    """Yield the tables of all diseases, and then of all symptoms."""
    structure = network.structure
    for name, prior in zip(structure.diseases, network.priors.tolist(), strict=True):
        yield NodeTable(name, [], noisy_or_table([], prior))
    for symptom, name in enumerate(structure.symptoms):
        table = symptom_table(network, symptom, target, most_parents)
        yield NodeTable(name, structure.parents(symptom).tolist(), table)


def present_last(table: Floats, present: Iterable[int]) -> Floats:
    """Return a table with absent, present on each axis, given which state means present there."""
    return np.flip(table, tuple(axis for axis, state in enumerate(present) if state == 0))


def network_from_tables(
    nodes: Sequence[Node], table_of: Callable[[str], Floats], source: str
) -> NoisyOrNetwork:
    """Make a network of nodes, given by their keys, whose parameters stand in tables."""
    check_parents(nodes)
    found = []
    for node in nodes:
        probability, failures = table_parameters(table_of(node.key), node.location, node.name)
        found.append(replace(node, probability=probability, failures=failures))
    return network_from_nodes(two_layers(found, source), source)


def table_parameters(table: Floats, location: str, name: str) -> tuple[float, tuple[float, ...]]:
    """Return the leak and the failures of a table, or an error where it is not a noisy-or.

    Where the leak is 1 a table does not tell failures; they are read as 1 (without effect).
    """
    _check_probabilities(table, location, name)
    n_parents = table.ndim - 1
    none = (0,) * n_parents
    absent, leak = table[none]
    alone = [(*none[:k], 1, *none[k + 1 :]) for k in range(n_parents)]
    failures = tuple(float(table[row][0] / absent) if absent > 0 else 1.0 for row in alone)
    _check_fit(table, failures, float(absent), location, name)
    return min(float(leak), 1.0), tuple(min(failure, 1.0) for failure in failures)


def _check_probabilities(table: Floats, location: str, name: str) -> None:
    if not ((table >= 0) & (table <= 1 + TOLERANCE)).all():
        raise ExchangeError(
            f"{location}: node {quoted(name)} has a number that is not between 0 and 1."
        )
    sums = table.sum(axis=-1)
    wrong = np.argwhere(np.abs(sums - 1) > SIX_DIGITS)
    if len(wrong):
        total = sums[tuple(wrong[0])]
        raise ExchangeError(
            f"{location}: the probabilities of node {quoted(name)} add up to {total:.7g}, not to 1"
            f"{_in_row(wrong[0])}."
        )


def _check_fit(
    table: Floats, failures: tuple[float, ...], absent: float, location: str, name: str
) -> None:
    expected = noisy_or_table(failures, 0.0)[..., 0] * absent
    given = table[..., 0]
    tolerance = SIX_DIGITS * given.ndim if _has_six_digits(given) else TOLERANCE
    allowed = tolerance * np.maximum(given, expected) + SMALLEST
    wrong = np.argwhere(np.abs(given - expected) > allowed)
    if len(wrong):
        row = tuple(wrong[0])
        raise ExchangeError(
            f"{location}: the table of node {quoted(name)} is not a noisy-or: P(absent) is "
            f"{given[row]:.7g}{_in_row(wrong[0])}, where a noisy-or would have {expected[row]:.7g}."
        )
    above = [number for number, failure in enumerate(failures) if failure > 1 + tolerance]
    if above:
        raise ExchangeError(
            f"{location}: the table of node {quoted(name)} is not a noisy-or: parent "
            f"{above[0] + 1} makes it less probable, and a disease can only cause a symptom."
        )


def _has_six_digits(numbers: Floats) -> bool:
    return all(float(f"{number:.6g}") == number for number in numbers.ravel().tolist())


def _in_row(states: NDArray[np.int64]) -> str:
    if not len(states):
        return ""
    shown = ", ".join("present" if state else "absent" for state in states)
    return f" where its parents are ({shown})"
