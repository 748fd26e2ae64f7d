"""find_schedule: Algorithm 1 on the structure alone.

In each round every edge is learned that some triplet or pair teaches with what earlier rounds
have learned; so each edge has the smallest depth it can have (Section 3.4).
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from noisyor.beliefs import Beliefs, as_beliefs
from noisyor.errors import ParameterError, quoted
from noisyor.names import Indices
from noisyor.schedule.schedule import FixedMasks, Schedule, StepArrays
from noisyor.structure import Structure

Choice = Literal["first", "rarest"]
Words = NDArray[np.uint64]


def find_schedule(
    structure: Structure, *, pairs: bool = True, choice: Choice = "first",
    fixed: Beliefs | None = None,
) -> Schedule:  # fmt: skip
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
        Parameters whose values are fixed: they need not be learned, and an edge that is fixed
        with its disease's prior helps from the first round on.

    Examples
    --------
    >>> from noisyor import datasets
    >>> schedule = find_schedule(datasets.figure1(rng=0).structure)
    >>> schedule.edges_per_round
    [4, 3]
    >>> print(schedule.step("A", "a"))
    round 1: triplet ('a', 'b', 'c') of 'A' without 'B' teaches 'a', 'b', 'c'
    """
    from noisyor.schedule.search_kernels import FoundSteps, SearchState, find_steps

    if not isinstance(structure, Structure):
        raise ParameterError(f"expected a Structure, not {type(structure).__name__}.")
    if choice not in get_args(Choice):
        raise ParameterError(f"choice must be 'first' or 'rarest', not {quoted(choice)}.")
    n_edges = structure.n_edges
    masks = FixedMasks.of(as_beliefs(fixed, structure))
    parents = parent_bits(structure)
    search = SearchState(
        structure.child_offsets,
        _search_order(structure, choice),
        structure.edge_symptoms,
        parents,
        parents.copy(),
        np.where(masks.edges, 0, -1),
    )
    _clear_bits(search.unknown, structure.edges[masks.edges])
    step_rounds, diseases, *symptoms = np.full((5, n_edges), -1, dtype=np.int64)
    # An edge that is fixed has a step later than all: none has to be looked for.
    edge_steps = np.where(masks.edges, np.iinfo(np.int64).max, -1)
    found = FoundSteps(diseases, np.column_stack(symptoms), edge_steps)
    n_steps = n_rounds = 0
    while (after := find_steps(search, found, n_steps, pairs)) > n_steps:
        learned = (found.edge_steps >= n_steps) & ~masks.edges
        search.depths[learned] = step_rounds[n_steps:after] = n_rounds
        _clear_bits(search.unknown, structure.edges[learned])
        n_steps, n_rounds = after, n_rounds + 1
    rounds, diseases, sets = (
        each[:n_steps].copy() for each in (step_rounds, found.diseases, found.symptoms)
    )
    edge_steps = np.where(masks.edges, -1, found.edge_steps)
    removed = couplings_of(parents, diseases, sets)
    steps = StepArrays(rounds, diseases, sets, edge_steps, removed)
    return Schedule(structure, steps, pairs=pairs, choice=choice, fixed=masks)


def parent_bits(structure: Structure) -> Words:
    """Return for each symptom the set of its parents, as bits."""
    bits = np.zeros((structure.n_symptoms, (structure.n_diseases + 63) // 64), dtype=np.uint64)
    words, masks = _bits_of(structure.edges)
    np.bitwise_or.at(bits, words, masks)
    return bits


def _clear_bits(bits: Words, edges: Indices) -> None:
    words, masks = _bits_of(edges)
    np.bitwise_and.at(bits, words, ~masks)


def _bits_of(edges: Indices) -> tuple[tuple[Indices, Indices], Words]:
    diseases, symptoms = edges.T
    return (symptoms, diseases >> 6), np.uint64(1) << (diseases & 63).astype(np.uint64)


def _search_order(structure: Structure, choice: Choice) -> Indices:
    """Return all edges, disease after disease, each disease's in the order of the search."""
    if choice == "first":
        return np.arange(structure.n_edges)
    diseases, symptoms = structure.edges.T
    n_parents = np.diff(structure.parent_offsets)
    return np.lexsort((symptoms, n_parents[symptoms], diseases))


def couplings_of(parents: Words, step_diseases: Indices, step_symptoms: Indices) -> Indices:
    """Return rows (step, disease): which other diseases couple two symptoms of a step."""
    from noisyor.schedule.search_kernels import couplings

    n_found = couplings(parents, step_diseases, step_symptoms, np.empty((0, 2), dtype=np.int64))
    found = np.empty((n_found, 2), dtype=np.int64)
    couplings(parents, step_diseases, step_symptoms, found)
    return found
