"""find_schedule: Algorithm 1 on the structure alone.

In each round every edge is learned that some triplet or pair teaches with what earlier rounds
have learned; so each edge has the smallest depth it can have (Section 3.4).
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError
from noisyor.names import Indices
from noisyor.parameters import Fixed, as_fixed
from noisyor.schedule.schedule import Schedule
from noisyor.schedule.steps import Given
from noisyor.structure import Structure

Choice = Literal["first", "rarest"]
Words = NDArray[np.uint64]

NO_STEP = np.iinfo(np.int64).max
"""The step of an edge that is given: none has to be looked for."""


def find_schedule(
    structure: Structure,
    *,
    pairs: bool = True,
    choice: Choice = "first",
    fixed: Fixed | None = None,
) -> Schedule:
    """Find which triplets and pairs teach which edges, round by round.

    Parameters
    ----------
    structure
        All that is needed: a schedule does not depend on data.
    pairs
        Also learn from pairs next to a learned edge (Section 3.3).
    choice
        Which of several suitable triplets is taken. "first": the first in the structure's order
        of symptoms, as in the paper. "rarest": symptoms with few parents first, which are the
        least disturbed by other diseases. Depths are the same.
    fixed
        Parameters whose values are given: they need not be learned, and an edge that is given
        with its disease's prior helps from the first round on.

    Examples
    --------
    >>> from noisyor import datasets
    >>> schedule = find_schedule(datasets.figure1(seed=0).structure)
    >>> schedule.edges_per_round
    [4, 3]
    >>> print(schedule.step("A", "a"))
    round 1: triplet ('a', 'b', 'c') of 'A' without 'B' teaches 'a', 'b', 'c'
    """
    from noisyor.schedule.kernels import find_steps

    if not isinstance(structure, Structure):
        raise ParameterError(f"a Structure is wanted, not {type(structure).__name__}.")
    if choice not in get_args(Choice):
        raise ParameterError(f"choice must be 'first' or 'rarest', not {choice!r}.")
    n_edges = structure.n_edges
    given = Given.of(as_fixed(fixed, structure))
    parents = parent_bits(structure)
    unknown = parents.copy()
    _clear_bits(unknown, structure.edges[given.edges])
    searched = _search_order(structure, choice)
    edge_symptoms = np.ascontiguousarray(structure.edges[:, 1])
    depths, edge_steps = np.full((2, n_edges), -1, dtype=np.int64)
    depths[given.edges] = 0
    edge_steps[given.edges] = NO_STEP
    step_diseases, step_rounds = np.full((2, n_edges), -1, dtype=np.int64)
    step_symptoms = np.full((n_edges, 3), -1, dtype=np.int64)
    n_steps = n_rounds = 0
    while True:
        before = n_steps
        n_steps = find_steps(
            structure.child_offsets, searched, edge_symptoms, depths, parents, unknown, pairs,
            edge_steps, step_diseases, step_symptoms, before,
        )  # fmt: skip
        if n_steps == before:
            break
        learned = (edge_steps >= before) & ~given.edges
        depths[learned] = step_rounds[before:n_steps] = n_rounds
        _clear_bits(unknown, structure.edges[learned])
        n_rounds += 1
    steps = step_diseases[:n_steps].copy(), step_symptoms[:n_steps].copy()
    return Schedule(
        structure,
        step_rounds[:n_steps].copy(),
        *steps,
        np.where(given.edges, -1, edge_steps),
        couplings_of(parents, *steps),
        pairs=pairs,
        choice=choice,
        given=given,
    )


def parent_bits(structure: Structure) -> Words:
    """Return for each symptom the set of its parents, as bits."""
    bits = np.zeros((structure.n_symptoms, (structure.n_diseases + 63) // 64), dtype=np.uint64)
    words, masks = _places(structure.edges)
    np.bitwise_or.at(bits, words, masks)
    return bits


def _clear_bits(bits: Words, edges: Indices) -> None:
    words, masks = _places(edges)
    np.bitwise_and.at(bits, words, ~masks)


def _places(edges: Indices) -> tuple[tuple[Indices, Indices], Words]:
    diseases, symptoms = edges.T
    return (symptoms, diseases >> 6), np.uint64(1) << (diseases & 63).astype(np.uint64)


def _search_order(structure: Structure, choice: Choice) -> Indices:
    """Return all edges, disease after disease, each disease's in the order of the search."""
    diseases, symptoms = structure.edges.T
    if choice == "first":
        return np.arange(structure.n_edges)
    n_parents = np.diff(structure.parent_offsets)
    return np.lexsort((symptoms, n_parents[symptoms], diseases))


def couplings_of(parents: Words, step_diseases: Indices, step_symptoms: Indices) -> Indices:
    """Return rows (step, disease): who else couples two symptoms of a step."""
    from noisyor.schedule.kernels import couplings

    found = np.empty((0, 2), dtype=np.int64)
    n_found = couplings(parents, step_diseases, step_symptoms, found)
    found = np.empty((n_found, 2), dtype=np.int64)
    couplings(parents, step_diseases, step_symptoms, found)
    return found
