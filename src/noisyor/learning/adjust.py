"""Removing the influence of a learned disease from moments (Section 3.2).

Two ways that give the same: on a joint distribution, as the paper writes it, one tensor at a time;
and on ratios of negative moments, where a disease is one factor,

    1 + c_ab = (1 + c'_ab) (1 + g_ab)                     g_ab = q t_a t_b
    R(a,b,c) = R'(a,b,c) (1 + g_ab + g_ac + g_bc + g_k)   g_k  = -q (1 - 2 p) t_a t_b t_c

for thousands of triplets at once.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisyor.errors import ParameterError, StructureError
from noisyor.learning.decompose import Influences
from noisyor.learning.ratio_kernels import Couplings, find_edges, remove_influences
from noisyor.moments import Moments
from noisyor.names import Indices
from noisyor.parameters import Booleans, Floats
from noisyor.schedule import Schedule
from noisyor.structure import Structure


def remove_influence(tensor: ArrayLike, prior: float, failures: Sequence[float]) -> Floats:
    """Return the joint distribution of some symptoms as if a disease did not exist.

    Every negative moment, of each subset of the symptoms, is divided by the disease's influence
    (Eq. 3). `failures` has one per axis of the tensor, 1 where there is no edge.

    >>> from noisyor import NoisyOrNetwork, datasets
    >>> network = datasets.figure1(rng=0)
    >>> p, f = network.priors, network.failures
    >>> edges = [network.structure.edge_index("B", symptom) for symptom in "bc"]
    >>> without = remove_influence(network.joint(list("abc")), p[1], [1, *f[edges]])
    >>> gone = NoisyOrNetwork(network.structure, [p[0], 0], f, network.leaks)
    >>> bool(np.allclose(without, gone.joint(list("abc"))))
    True
    """
    moments = np.array(tensor, dtype=np.float64)
    if moments.shape != (2,) * len(failures):
        raise ParameterError(
            f"the tensor has the shape {moments.shape}; expected 2 for each of the "
            f"{len(failures)} failures."
        )
    if not 0.0 <= prior <= 1.0 or not all(0.0 <= failure <= 1.0 for failure in failures):
        raise ParameterError("the prior and the failures must lie between 0 and 1.")
    all_fail = np.ones(())
    for axis, failure in enumerate(failures):
        # Along each axis: 0, the symptom is in the set, so it must be absent; 1, it may be either.
        moments[_along(axis, 1)] += moments[_along(axis, 0)]
        all_fail = all_fail[..., np.newaxis] * np.array([failure, 1.0])
    influences = 1.0 - prior + prior * all_fail
    if not influences.all():
        raise ParameterError(
            "a disease that is always present and always causes a symptom cannot be removed: "
            "nothing is left of what the symptom does without it."
        )
    moments /= influences
    for axis in range(len(failures)):
        moments[_along(axis, 1)] -= moments[_along(axis, 0)]
    return moments


def _along(axis: int, value: int) -> tuple[Any, ...]:
    """Return the index of all entries with a value on an axis."""
    return (*(slice(None),) * axis, value, ...)


# --- ratios of many sets of symptoms ---


def check_moments(moments: Moments, schedule: Schedule) -> None:
    """Raise an error if nothing can be learned from moments by a schedule."""
    if not isinstance(moments, Moments) or not isinstance(schedule, Schedule):
        raise ParameterError(
            "learning takes moments (count_moments) and a schedule (find_schedule), not "
            f"{type(moments).__name__} and {type(schedule).__name__}."
        )
    if moments.plan.structure != schedule.structure:
        raise StructureError(
            "the moments and the schedule belong to different structures: "
            f"{moments.plan.structure!r} and {schedule.structure!r}."
        )
    if moments.n_records == 0 and not moments.is_exact:
        raise ParameterError("there is nothing to learn from: the moments have no records.")


def rows_of(moments: Moments, order: int, sets: Indices, advice: str) -> Indices:
    """Return the rows of sets of symptoms in the moments' plan; an error gives the advice."""
    rows = moments.plan.rows_of(order, sets)
    n_missing = int((rows < 0).sum())
    if n_missing:
        kind = ("symptoms", "pairs", "triplets")[order - 1]
        raise ParameterError(f"the moments lack {n_missing:,} of the {len(sets):,} {kind} {advice}")
    return rows


def excesses_of(
    moments: Moments, rows: Indices, is_pair: Booleans, without: int | None = None
) -> Floats:
    """Return c_ab, c_ac, c_bc and k of each set, given its row among the pairs or triplets.

    Of a pair only the first, the others are 0. `without` leaves a group of records out.
    """
    excesses = np.zeros((len(rows), 4))
    triplets, of_triplets = moments.values(3, without=without), rows[~is_pair]
    excesses[~is_pair, :3] = triplets.pair_excesses[of_triplets]
    excesses[~is_pair, 3] = triplets.triplet_excess[of_triplets]
    if is_pair.any():
        excesses[is_pair, 0] = moments.excesses(2, without=without)[rows[is_pair]]
    return excesses


def as_couplings(structure: Structure, sets: Indices, rows: Indices) -> Couplings:
    """Return couplings of sets of symptoms, given as rows (set, disease), in the sets' order."""
    owners, diseases = rows.T
    offsets = np.searchsorted(owners, np.arange(len(sets) + 1))
    edges = edge_numbers(structure, diseases, sets[owners])
    return Couplings(offsets, diseases.copy(), edges)


def edge_numbers(structure: Structure, diseases: Indices, symptoms: Indices) -> Indices:
    """Return for each row the edges from a disease to its symptoms; -1 where there is none."""
    edges = np.empty(symptoms.shape, dtype=np.int64)
    rows = np.ascontiguousarray(diseases), np.ascontiguousarray(symptoms)
    find_edges(structure.child_offsets, structure.edge_symptoms, *rows, edges)
    return edges


def adjusted_excesses(removed: Couplings, influences: Influences, excesses: Floats) -> Floats:
    """Return the excesses of sets of symptoms as if the diseases to remove did not exist.

    `excesses` has the columns c_ab, c_ac, c_bc and k, one row per set; of a pair only the first.
    """
    adjusted = np.array(excesses)
    if len(removed.diseases):
        remove_influences(removed, *influences, adjusted)
    return adjusted


def leaks_from(structure: Structure, absent: Floats, priors: Floats, failures: Floats) -> Floats:
    """Return what the diseases do not account for (Eq. 5); it may come out negative."""
    diseases, symptoms = structure.edges.T
    remaining = absent.copy()
    # From few records a prior may come out as 1 and many failures as 0: more than all is explained.
    with np.errstate(over="ignore", divide="ignore"):
        np.divide.at(remaining, symptoms, 1.0 - priors[diseases] * (1.0 - failures))
    return np.asarray(1.0 - remaining)
