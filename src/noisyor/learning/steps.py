"""The steps of a schedule as arrays that learning can work on, round by round."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.names import Indices
from noisyor.schedule import Schedule
from noisyor.structure import Structure


class StepTable(NamedTuple):
    """Some steps of a schedule, in its order."""

    numbers: Indices
    """The steps' numbers in the schedule."""
    is_pair: NDArray[np.bool_]
    diseases: Indices
    edges: Indices
    """The edges from the step's disease to its symptoms a, b, c; -1 for the c of a pair."""
    removed_offsets: Indices
    """The diseases removed before row s are `removed_offsets[s] : removed_offsets[s + 1]`."""
    removed_diseases: Indices
    removed_edges: Indices
    """Their edges to a, b, c; -1 where there is none."""
    edge_diseases: Indices
    """The disease of each edge of the structure."""


def step_tables(schedule: Schedule) -> list[StepTable]:
    """Return the steps of each round."""
    structure = schedule.structure
    edges = edge_numbers(structure, schedule.step_diseases, schedule.step_symptoms)
    owners, removed = schedule.removed.T
    removed_edges = edge_numbers(structure, removed, schedule.step_symptoms[owners])
    tables = []
    for round_ in range(schedule.n_rounds):
        numbers = np.flatnonzero(schedule.step_rounds == round_)
        first, last = np.searchsorted(owners, [numbers[0], numbers[-1] + 1])
        tables.append(
            StepTable(
                numbers,
                schedule.is_pair[numbers],
                schedule.step_diseases[numbers],
                edges[numbers],
                np.searchsorted(owners[first:last], [*numbers, numbers[-1] + 1]),
                np.ascontiguousarray(removed[first:last]),
                np.ascontiguousarray(removed_edges[first:last]),
                structure.edges[:, 0],
            )
        )
    return tables


def edge_numbers(structure: Structure, diseases: Indices, symptoms: Indices) -> Indices:
    """Return for each row the edges from a disease to its symptoms; -1 where there is none."""
    n = structure.n_symptoms
    keys = structure.edges[:, 0] * n + structure.edges[:, 1]
    wanted = diseases[:, np.newaxis] * n + symptoms
    places = np.searchsorted(keys, wanted)
    found = np.append(keys, -1)[places] == wanted
    return np.where(found & (symptoms >= 0), places, -1)
