"""Networks as objects of pgmpy and of pyAgrum, and back.

In pgmpy every symptom is a table. pyAgrum has noisy-or tables of its own, in two kinds.
`addNoisyORNet` is the paper's: P(absent) is (1 - leak) times the product of (1 - weight) of the
present parents, so weight = 1 - failure. With `addNoisyORCompound` (`addNoisyOR` is the same) a
weight includes the leak. Both are read; the first is written, so up to 62 parents are possible. It
takes no weight of 0: a symptom with a failure of 1 is written as a table.
"""

import importlib
from typing import Any

import numpy as np

from noisyor.errors import ExchangeError, quoted, some_of
from noisyor.exchange.nodes import STATES, Node, present_state
from noisyor.exchange.tables import (
    Floats,
    network_from_tables,
    node_tables,
    parent_failures,
    present_last,
    symptom_table,
)
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

MOST_PARENTS_READ = 16
MOST_PARENTS_WRITTEN = 62
"""pyAgrum counts the entries of a table in 64 bits, also where it does not hold them."""
PGMPY, PYAGRUM = "the pgmpy network", "the pyAgrum network"


def to_pgmpy(network: NoisyOrNetwork) -> Any:
    """Return the network as a pgmpy `DiscreteBayesianNetwork` with the states absent and present.

    A symptom has at most 12 parents, because pgmpy holds tables.

    >>> from noisyor import datasets
    >>> to_pgmpy(datasets.clinic()).check_model()  # doctest: +SKIP
    True
    """
    _check_distinct(network.structure, "pgmpy")
    nodes = list(node_tables(network, "pgmpy"))
    model = _imported("pgmpy.models").DiscreteBayesianNetwork()
    new_table = _imported("pgmpy.factors.discrete").TabularCPD
    model.add_nodes_from(node.name for node in nodes)
    for name, numbers, table in nodes:
        parents = [nodes[number].name for number in numbers]
        model.add_edges_from((parent, name) for parent in parents)
        cpd = new_table(
            name,
            2,
            table.reshape(-1, 2).T,
            evidence=parents or None,
            evidence_card=[2] * len(parents) or None,
            state_names={key: list(STATES) for key in [name, *parents]},
        )
        model.add_cpds(cpd)
    return model


def from_pgmpy(model: Any) -> NoisyOrNetwork:
    """Return a pgmpy `DiscreteBayesianNetwork` as a network.

    Its nodes are binary and in two layers, and every table is a noisy-or. States are called
    present/absent, true/false, yes/no or 1/0 (pgmpy's own names are 0 and 1). A node without edges
    becomes a symptom.

    >>> from noisyor import datasets
    >>> from_pgmpy(to_pgmpy(datasets.clinic())).structure.n_edges  # doctest: +SKIP
    120
    """
    tables = {str(node): model.get_cpds(node) for node in model.nodes()}
    for name, cpd in tables.items():
        if cpd is None:
            raise ExchangeError(f"{PGMPY}: node {quoted(name)} has no table (add_cpds).")
    nodes = [
        Node(name, name, PGMPY, tuple(map(str, cpd.variables[1:]))) for name, cpd in tables.items()
    ]
    return network_from_tables(nodes, lambda name: _pgmpy_table(tables[name]), PGMPY)


def _pgmpy_table(cpd: Any) -> Floats:
    """Return the numbers with the child's axis last; a table has an order of states of its own."""
    table = np.array(cpd.values, dtype=np.float64)
    present = [
        present_state([str(state) for state in cpd.state_names[variable]], PGMPY, str(variable))
        for variable in cpd.variables
    ]
    return np.moveaxis(present_last(table, present), 0, -1)


def to_pyagrum(network: NoisyOrNetwork) -> Any:
    """Return the network as a `pyagrum.BayesNet`; every node has the states absent and present.

    >>> from noisyor import datasets
    >>> to_pyagrum(datasets.clinic()).size()  # doctest: +SKIP
    80
    """
    pyagrum = _imported("pyagrum")
    structure = network.structure
    network.check_plain("pyAgrum")
    _check_distinct(structure, "pyAgrum")
    model = pyagrum.BayesNet("noisyor")
    for name, prior in zip(structure.diseases, network.priors.tolist(), strict=True):
        node = model.add(pyagrum.LabelizedVariable(name, name, list(STATES)))
        model.cpt(node).fillWith([1.0 - prior, prior])
    for symptom in range(structure.n_symptoms):
        _add_symptom(pyagrum, model, network, symptom)
    return model


def _add_symptom(pyagrum: Any, model: Any, network: NoisyOrNetwork, symptom: int) -> None:
    name = network.structure.symptoms[symptom]
    variable = pyagrum.LabelizedVariable(name, name, list(STATES))
    # A disease has the same number in pyAgrum as here: diseases were added first.
    parents, failures = parent_failures(network, symptom)
    if len(parents) > MOST_PARENTS_WRITTEN:
        raise ExchangeError(
            f"symptom {quoted(name)} has {len(parents)} parents; pyAgrum takes up to "
            f"{MOST_PARENTS_WRITTEN}."
        )
    if parents and max(failures) < 1:
        node = model.addNoisyORNet(variable, float(network.leaks[symptom]))
        for parent, failure in zip(parents, failures, strict=True):
            model.addWeightedArc(parent, node, 1.0 - failure)
        return
    table = symptom_table(network, symptom, "pyAgrum (with a failure of 1)")
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
    nodes = [Node(name, name, PYAGRUM, _parents(model, node)) for name, node in names.items()]
    return network_from_tables(
        nodes, lambda name: _pyagrum_table(model, names[name], names), PYAGRUM
    )


def _parents(model: Any, node: int) -> tuple[str, ...]:
    """Return a node's parents, in the order of the axes of its table."""
    count = len(model.parents(node))
    if count > MOST_PARENTS_READ:
        raise ExchangeError(
            f"{PYAGRUM}: node {quoted(model.variable(node).name())} has {count} parents; its table "
            f"is read and checked row by row for up to {MOST_PARENTS_READ}."
        )
    return tuple(str(name) for name in model.cpt(node).names[1:][::-1])


def _pyagrum_table(model: Any, node: int, names: dict[str, int]) -> Floats:
    # Not `toarray`, which gives whatever the memory holds where a table is computed, as noisy-ors
    # are (pyAgrum 3.3.1). Axes come in the reverse order of the names.
    table = np.array(model.cpt(node).tolist(), dtype=np.float64)
    axes = (*_parents(model, node), str(model.variable(node).name()))
    present = [
        present_state(list(model.variable(names[name]).labels()), PYAGRUM, name) for name in axes
    ]
    return present_last(table, present)


def _check_distinct(structure: Structure, software: str) -> None:
    """Raise an error where a disease and a symptom have the same name."""
    both = sorted(set(structure.diseases) & set(structure.symptoms))
    if both:
        raise ExchangeError(
            f"{some_of(both)} is the name of a disease and of a symptom; nodes of {software} need "
            "different names."
        )


def _imported(package: str) -> Any:
    """Import a package that noisyor does not need, or raise an error that tells how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        top = package.partition(".")[0]
        raise ExchangeError(
            f"{top} cannot be imported ({error}); install it with: pip install {top}"
        ) from None
