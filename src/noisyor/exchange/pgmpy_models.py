"""Networks as objects of pgmpy, and back; every symptom is a table."""

from typing import Any

import numpy as np

from noisyor.errors import ExchangeError
from noisyor.exchange.nodes import STATES, Node, check_distinct, imported, present_state
from noisyor.exchange.tables import (
    MOST_PARENTS,
    Floats,
    network_from_tables,
    present_last,
    symptom_tables,
)
from noisyor.network import NoisyOrNetwork

SOURCE = "the pgmpy network"


def to_pgmpy(network: NoisyOrNetwork) -> Any:
    """Return the network as a pgmpy `DiscreteBayesianNetwork` with the states absent and present.

    A symptom has at most 12 parents, because pgmpy holds tables.

    >>> from noisyor import datasets
    >>> to_pgmpy(datasets.clinic()).check_model()  # doctest: +SKIP
    True
    """
    structure = network.structure
    check_distinct(structure, "pgmpy")
    tables = symptom_tables(network, MOST_PARENTS, "pgmpy")
    model = imported("pgmpy.models").DiscreteBayesianNetwork()
    new_table = imported("pgmpy.factors.discrete").TabularCPD
    model.add_nodes_from([*structure.diseases, *structure.symptoms])
    for name, prior in zip(structure.diseases, network.priors.tolist(), strict=True):
        model.add_cpds(
            new_table(name, 2, [[1.0 - prior], [prior]], state_names={name: list(STATES)})
        )
    for symptom, (name, table) in enumerate(zip(structure.symptoms, tables, strict=True)):
        parents = [structure.diseases[parent] for parent in structure.parents(symptom)]
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
            raise ExchangeError(f"{SOURCE}: node {name!r} has no table (add_cpds).")
    nodes = [
        Node(name, name, SOURCE, tuple(map(str, cpd.variables[1:]))) for name, cpd in tables.items()
    ]
    return network_from_tables(nodes, lambda name: _table(tables[name]), SOURCE)


def _table(cpd: Any) -> Floats:
    """Return the numbers with the child's axis last; a table has an order of states of its own."""
    table = np.array(cpd.values, dtype=np.float64)
    present = [
        present_state([str(state) for state in cpd.state_names[variable]], SOURCE, str(variable))
        for variable in cpd.variables
    ]
    return np.moveaxis(present_last(table, present), 0, -1)
