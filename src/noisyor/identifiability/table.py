"""Table 1 of the paper: fully connected networks."""

import numpy as np

from noisyor.errors import ParameterError
from noisyor.identifiability.jacobian import Unknowns, null_space
from noisyor.names import Indices
from noisyor.structure import Structure


def identifiability_table(
    n_diseases: int, n_symptoms: int, max_order: int | None = None
) -> Indices:
    """Return the orders of moments that identify fully connected networks.

    Entry (i, j) is for i + 1 diseases and j + 1 symptoms; -1: not even the highest order does, or
    `max_order`.

    >>> identifiability_table(2, 4).tolist()
    [[-1, -1, 3, 3], [-1, -1, -1, 3]]
    """
    if n_diseases < 1 or n_symptoms < 1 or (max_order is not None and max_order < 1):
        raise ParameterError("diseases, symptoms and max_order must be at least 1.")
    table = np.full((n_diseases, n_symptoms), -1)
    for i in range(n_diseases):
        for j in range(n_symptoms):
            table[i, j] = smallest_order(i + 1, j + 1, min(max_order or j + 1, j + 1))
    return table


def smallest_order(n_diseases: int, n_symptoms: int, max_order: int) -> int:
    """Return the smallest order that identifies one fully connected network; -1: none does."""
    structure = Structure.from_matrix(np.ones((n_diseases, n_symptoms)))
    everything = Unknowns(
        structure,
        np.arange(n_diseases),
        np.ones(n_diseases, dtype=np.bool_),
        np.ones(structure.n_edges, dtype=np.bool_),
        np.ones(n_symptoms, dtype=np.bool_),
    )
    for order in range(2, max_order + 1):
        if not len(null_space(everything, order).basis):
            return order
    return -1
