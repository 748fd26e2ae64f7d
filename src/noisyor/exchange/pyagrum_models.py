"""Networks as objects of pyAgrum, and back.

pyAgrum has noisy-or tables of its own, in two kinds. `addNoisyORNet` is the paper's: P(absent) is
(1 - leak) times the product of (1 - weight) of the present parents, so weight = 1 - failure. With
`addNoisyORCompound` (`addNoisyOR` is the same) a weight includes the leak. Both are read; the first
is written, so up to 62 parents are possible. It takes no weight of 0: a symptom with a failure
of 1 is written as a table.
"""

from typing import Any

import numpy as np

from noisyor.errors import ExchangeError
from noisyor.exchange.nodes import STATES, Node, check_distinct, imported, present_state
from noisyor.exchange.tables import (
    MOST_PARENTS,
    Floats,
    network_from_tables,
    present_last,
    symptom_table,
)
from noisyor.network import NoisyOrNetwork

MOST_PARENTS_READ = 16
MOST_PARENTS_WRITTEN = 62
"""pyAgrum counts the entries of a table in 64 bits, also where it does not hold them."""
SOURCE = "the pyAgrum network"


def to_pyagrum(network: NoisyOrNetwork) -> Any:
    """Return the network as a `pyagrum.BayesNet`; every node has the states absent and present.

    >>> from noisyor import datasets
    >>> to_pyagrum(datasets.clinic()).size()  # doctest: +SKIP
    80
    """
    pyagrum = imported("pyagrum")
    structure = network.structure
    check_distinct(structure, "pyAgrum")
    model = pyagrum.BayesNet("noisyor")
    for name, prior in zip(structure.diseases, network.priors.tolist(), strict=True):
        node = model.add(pyagrum.LabelizedVariable(name, name, list(STATES)))
        model.cpt(node).fillWith([1.0 - prior, prior])
    for symptom in range(structure.n_symptoms):
        _add_symptom(pyagrum, model, network, symptom)
    return model


def _add_symptom(pyagrum: Any, model: Any, network: NoisyOrNetwork, symptom: int) -> None:
    structure = network.structure
    variable = pyagrum.LabelizedVariable(
        structure.symptoms[symptom], structure.symptoms[symptom], list(STATES)
    )
    parents = structure.parents(symptom).tolist()
    start = int(structure.parent_offsets[symptom])
    failures = network.failures[structure.parent_edges[start : start + len(parents)]].tolist()
    # A disease has the same number in pyAgrum as here: diseases were added first.
    if len(parents) > MOST_PARENTS_WRITTEN:
        raise ExchangeError(
            f"symptom {structure.symptoms[symptom]!r} has {len(parents)} parents; pyAgrum takes up "
            f"to {MOST_PARENTS_WRITTEN}."
        )
    if parents and max(failures) < 1:
        node = model.addNoisyORNet(variable, float(network.leaks[symptom]))
        for parent, failure in zip(parents, failures, strict=True):
            model.addWeightedArc(parent, node, 1.0 - failure)
        return
    table = symptom_table(network, symptom, MOST_PARENTS, "pyAgrum (with a failure of 1)")
    node = model.add(variable)
    for parent in parents:
        model.addArc(parent, node)
    # pyAgrum's first variable, the child, changes fastest, and then the first parent.
    order = (*range(len(parents) - 1, -1, -1), len(parents))
    model.cpt(node).fillWith(table.transpose(order).ravel().tolist())


def from_pyagrum(model: Any) -> NoisyOrNetwork:
    """Return a `pyagrum.BayesNet` as a network.

    Its nodes are binary and in two layers, and every table is a noisy-or. States are called
    present/absent, true/false, yes/no or 1/0. A node without arcs becomes a symptom.

    >>> import pyagrum  # doctest: +SKIP
    >>> from_pyagrum(pyagrum.loadBN("clinic.bif"))  # doctest: +SKIP
    NoisyOrNetwork(20 diseases, 60 symptoms, 120 edges; ...)
    """
    names = {str(model.variable(node).name()): node for node in sorted(model.nodes())}
    nodes = [Node(name, name, SOURCE, _parents(model, node)) for name, node in names.items()]
    return network_from_tables(nodes, lambda name: _table(model, names[name], names), SOURCE)


def _parents(model: Any, node: int) -> tuple[str, ...]:
    """Return a node's parents, in the order of the axes of its table."""
    count = len(model.parents(node))
    if count > MOST_PARENTS_READ:
        raise ExchangeError(
            f"{SOURCE}: node {model.variable(node).name()!r} has {count} parents; its table is "
            f"read and checked row by row for up to {MOST_PARENTS_READ}."
        )
    return tuple(str(name) for name in model.cpt(node).names[1:][::-1])


def _table(model: Any, node: int, names: dict[str, int]) -> Floats:
    # Not `toarray`, which gives whatever the memory holds where a table is computed, as noisy-ors
    # are (pyAgrum 3.3.1). Axes come in the reverse order of the names.
    table = np.array(model.cpt(node).tolist(), dtype=np.float64)
    axes = (*_parents(model, node), str(model.variable(node).name()))
    present = [
        present_state(list(model.variable(names[name]).labels()), SOURCE, name) for name in axes
    ]
    return present_last(table, present)
