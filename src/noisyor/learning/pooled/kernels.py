"""Compiled weighted fits of all pairs at once.

Every disease is written in two kinds of numbers: v = sqrt(q) t for each of its edges and one
lambda = (1 - 2 p) / sqrt(q), with q = p (1 - p) and t = (1 - f) / (1 - p (1 - f)). Then

    R(a,b) = prod_k (1 + v_ka v_kb)

needs no prior at all, and a disease is a rank-one part of the pairs that it couples.
"""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@numba.njit(nogil=True, cache=True)
def find_incidences(
    child_offsets: Integers,
    edge_symptoms: Integers,
    pair_starts: Integers,
    pair_seconds: Integers,
    offsets: Integers,
    rows: Integers,
) -> None:
    """Write down, disease after disease, the plan's rows of all pairs of its children, or -1.

    The pairs (a, b) of symptom a are `pair_starts[a] : pair_starts[a + 1]`, sorted by b.
    """
    for disease in range(len(child_offsets) - 1):
        at = offsets[disease]
        for a in range(child_offsets[disease], child_offsets[disease + 1]):
            low, high = pair_starts[edge_symptoms[a]], pair_starts[edge_symptoms[a] + 1]
            partners = pair_seconds[low:high]
            for b in range(a + 1, child_offsets[disease + 1]):
                place = np.searchsorted(partners, edge_symptoms[b])
                found = place < len(partners) and partners[place] == edge_symptoms[b]
                rows[at] = low + place if found else -1
                at += 1


@numba.njit(nogil=True, cache=True)
def find_readiness(
    child_offsets: Integers, offsets: Integers, rows: Integers, depths: Integers, never: int,
    latest: Integers, owner: Integers, second: Integers,
) -> None:  # fmt: skip
    """Find for each pair in which round its parents are known.

    `latest` is the largest depth of an edge from a common parent to the pair, `owner` the parent
    that has it, and `second` the largest depth among the other parents. -1 where there is none.
    """
    for disease in range(len(child_offsets) - 1):
        at = offsets[disease]
        for a in range(child_offsets[disease], child_offsets[disease + 1]):
            for b in range(a + 1, child_offsets[disease + 1]):
                row = rows[at]
                at += 1
                if row < 0:
                    continue
                known = max(depths[a], depths[b])
                if depths[a] < 0 or depths[b] < 0:
                    known = never
                if known > latest[row]:
                    second[row] = latest[row]
                    latest[row] = known
                    owner[row] = disease
                elif known > second[row]:
                    second[row] = known


@numba.njit(nogil=True, cache=True, error_model="numpy")
def take_off(
    first: int, last: int, start: int, rows: Integers, strengths: Floats, ratios: Floats
) -> None:
    """Divide the ratios of a disease's pairs by its part, 1 + v_a v_b."""
    at = start
    for a in range(first, last):
        for b in range(a + 1, last):
            if rows[at] >= 0:
                ratios[rows[at]] /= 1.0 + strengths[a] * strengths[b]
            at += 1


@numba.njit(nogil=True, cache=True)
def sweep(
    child_offsets: Integers, offsets: Integers, rows: Integers, depths: Integers,
    latest: Integers, owner: Integers, second: Integers, round_: int,
    never: int, weights: Floats, inner: int, floor: float, ratios: Floats, strengths: Floats,
) -> None:  # fmt: skip
    """Fit every disease once to what the others leave of its pairs.

    `ratios` hold R over the parts of all diseases; they are kept up to date. A pair serves
    disease i in a round if the other parents of both its symptoms were learned before it.
    Coordinate descent on sum w (c_ab - v_a v_b)^2, each v bounded from below.
    """
    for disease in range(len(child_offsets) - 1):
        first, last = child_offsets[disease], child_offsets[disease + 1]
        m = last - first
        c = np.zeros((m, m))
        w = np.zeros((m, m))
        at = offsets[disease]
        for a in range(m):
            for b in range(a + 1, m):
                row = rows[at]
                at += 1
                if row < 0:
                    continue
                ratios[row] *= 1.0 + strengths[first + a] * strengths[first + b]
                own = max(depths[first + a], depths[first + b])
                others = second[row] if owner[row] == disease else latest[row]
                is_known = depths[first + a] >= 0 and depths[first + b] >= 0
                if is_known and own <= round_ and others < min(round_, never):
                    c[a, b] = c[b, a] = ratios[row] - 1.0
                    w[a, b] = w[b, a] = weights[row]
        v = strengths[first:last]
        for _ in range(inner):
            for a in range(m):
                above = below = 0.0
                for b in range(m):
                    weighted = w[a, b] * v[b]
                    above += weighted * c[a, b]
                    below += weighted * v[b]
                if below > 0.0:
                    v[a] = max(above / below, floor)
        take_off(first, last, offsets[disease], rows, strengths, ratios)


@numba.njit(nogil=True, cache=True)
def add_right_sides(
    v: Floats, weights: Floats, changes: NDArray[np.float32], right: Floats
) -> None:
    """Add up sum_b w J_ab d_ab for each child a of a disease, one column for each group."""
    at = 0
    for a in range(len(v)):
        for b in range(a + 1, len(v)):
            if weights[at] > 0.0:
                shared = weights[at] / (1.0 + v[a] * v[b])
                for group in range(changes.shape[1]):
                    right[a, group] += shared * v[b] * changes[at, group]
                    right[b, group] += shared * v[a] * changes[at, group]
            at += 1
