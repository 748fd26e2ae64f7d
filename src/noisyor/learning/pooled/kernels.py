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
Booleans = NDArray[np.bool_]


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
    no_parent: int, latest: Integers, ready: NDArray[np.int32],
) -> None:  # fmt: skip
    """Find for each pair in which round its parents are known, and from when it serves a disease.

    `latest` is the largest depth of an edge from a common parent to the pair: -1 where it is
    given, `never` where it is not learned, or `no_parent`. A pair serves disease i from
    the round on in which its own edges are learned and those of the other parents were learned
    before: `ready`, one for each disease and pair of its children.
    """
    latest[:] = no_parent
    owner = np.full(len(latest), -1, dtype=np.int32)
    second = np.full(len(latest), no_parent, dtype=np.int32)
    for is_second_pass in (False, True):
        for disease in range(len(child_offsets) - 1):
            at = offsets[disease] - 1
            for a in range(child_offsets[disease], child_offsets[disease + 1]):
                for b in range(a + 1, child_offsets[disease + 1]):
                    at += 1
                    row = rows[at]
                    own = max(depths[a], depths[b])
                    if is_second_pass:
                        others = never
                        if row >= 0:
                            others = second[row] if owner[row] == disease else latest[row]
                        ready[at] = max(own, others + 1) if own < never else never + 1
                    elif row >= 0 and own > latest[row]:
                        second[row] = latest[row]
                        latest[row] = own
                        owner[row] = disease
                    elif row >= 0 and own > second[row]:
                        second[row] = own


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
    child_offsets: Integers, offsets: Integers, rows: Integers, ready: NDArray[np.int32],
    round_: int, weights: Floats, is_held: Booleans, inner: int, floor: float, ratios: Floats,
    strengths: Floats,
) -> None:  # fmt: skip
    """Fit every disease once to what the others leave of its pairs.

    `ratios` hold R over the parts of all diseases; they are kept up to date. `weights` has one for
    each disease and pair of its children. Coordinate descent on sum w (c_ab - v_a v_b)^2, each v
    bounded from below.
    """
    for disease in range(len(child_offsets) - 1):
        first, last = child_offsets[disease], child_offsets[disease + 1]
        m = last - first
        v = strengths[first:last]
        weighted = np.zeros((m, m))
        w = np.zeros((m, m))
        at = offsets[disease] - 1
        for a in range(m):
            for b in range(a + 1, m):
                at += 1
                row = rows[at]
                if row >= 0:
                    ratios[row] *= 1.0 + v[a] * v[b]
                    if ready[at] <= round_:
                        w[a, b] = w[b, a] = weights[at]
                        weighted[a, b] = weighted[b, a] = weights[at] * (ratios[row] - 1.0)
        for _ in range(inner):
            for a in range(m):
                above, below = dot_products(weighted[a], w[a], v)
                if below > 0.0 and not is_held[first + a]:
                    v[a] = max(above / below, floor)
        take_off(first, last, offsets[disease], rows, strengths, ratios)


@numba.njit(nogil=True, cache=True, fastmath=True)
def dot_products(weighted: Floats, w: Floats, v: Floats) -> tuple[float, float]:
    """Return sum w c v and sum w v v."""
    above = below = 0.0
    for b in range(len(v)):
        above += weighted[b] * v[b]
        below += w[b] * v[b] * v[b]
    return above, below


@numba.njit(nogil=True, cache=True)
def newton_sweep(
    child_offsets: Integers, offsets: Integers, rows: Integers, ready: NDArray[np.int32],
    round_: int, weights: Floats, is_held: Booleans, floor: float, ratios: Floats,
    strengths: Floats,
) -> None:  # fmt: skip
    """Move all strengths of every disease together, by a Gauss-Newton step if that is better.

    Where one symptom is in nearly all of a disease's pairs, coordinates alone are slow to find out
    how much is its strength and how much the others'.
    """
    for disease in range(len(child_offsets) - 1):
        first, last = child_offsets[disease], child_offsets[disease + 1]
        m, start = last - first, offsets[disease]
        v = strengths[first:last]
        matrix, gradient, before = np.zeros((m, m)), np.zeros(m), 0.0
        at = start - 1
        for a in range(m):
            for b in range(a + 1, m):
                at += 1
                row = rows[at]
                if row >= 0:
                    part = 1.0 + v[a] * v[b]
                    ratios[row] *= part
                    if ready[at] <= round_:
                        w, rest = weights[at], ratios[row] - part
                        matrix[a, a] += w * v[b] * v[b]
                        matrix[b, b] += w * v[a] * v[a]
                        matrix[b, a] = w * v[a] * v[b]
                        gradient[a] += w * v[b] * rest
                        gradient[b] += w * v[a] * rest
                        before += w * rest * rest
        hold(is_held[first:last], matrix, gradient)
        if solve_normal_equations(matrix, gradient):
            for share in (1.0, 0.3, 0.1):
                moved = np.maximum(v + share * gradient, floor)
                at, after = start - 1, 0.0
                for a in range(m):
                    for b in range(a + 1, m):
                        at += 1
                        if rows[at] >= 0 and ready[at] <= round_:
                            rest = ratios[rows[at]] - 1.0 - moved[a] * moved[b]
                            after += weights[at] * rest * rest
                if after < before:
                    v[:] = moved
                    break
        take_off(first, last, start, rows, strengths, ratios)


@numba.njit(nogil=True, cache=True)
def hold(is_held: Booleans, matrix: Floats, right: Floats) -> None:
    """Take strengths that are held out of the normal equations: their change is 0."""
    for a in range(len(right)):
        if is_held[a]:
            matrix[a, :] = 0.0
            matrix[:, a] = 0.0
            right[a] = 0.0


@numba.njit(nogil=True, cache=True, fastmath=True)
def solve_normal_equations(matrix: Floats, right: Floats) -> bool:
    """Solve by Cholesky's method, in place, from the lower triangle; False if it is singular."""
    for a in range(len(right)):
        # A little more on the diagonal: two symptoms alone leave it singular.
        matrix[a, a] = matrix[a, a] * (1.0 + 1e-6) if matrix[a, a] > 0.0 else 1.0
        for b in range(a + 1):
            total = matrix[a, b]
            for k in range(b):
                total -= matrix[a, k] * matrix[b, k]
            if b < a:
                matrix[a, b] = total / matrix[b, b]
            elif total > 0.0:
                matrix[a, a] = np.sqrt(total)
            else:
                return False
        for k in range(a):
            right[a] -= matrix[a, k] * right[k]
        right[a] /= matrix[a, a]
    for a in range(len(right) - 1, -1, -1):
        right[a] /= matrix[a, a]
        for k in range(a):
            right[k] -= matrix[a, k] * right[a]
    return True


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
