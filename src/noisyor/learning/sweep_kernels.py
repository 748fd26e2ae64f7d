"""Compiled loops that fit strengths to pairs: disease by disease, or all together.

With R(a,b) = prod_k (1 + v_ka v_kb), a disease is fitted to what the others leave of its pairs:
c_ab = R(a,b) / (the parts of the others) - 1 is v_a v_b but for noise. `ratios` are R over the
parts of all diseases: 1 but for noise.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.kernels import kernel
from noisyor.kernels.array_kernels import copy, new_floats, new_table, new_zeros
from noisyor.learning.ratio_kernels import PairRows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

FLOOR = 1e-4
"""The smallest strength: 0 would take the edge out of the fit for good."""


class PairState(NamedTuple):
    """Where the fit of the pairs is."""

    weights: Floats
    """Of each pair."""
    ratios: Floats
    is_fixed: Booleans
    """Which strengths stay."""
    strengths: Floats


@kernel
def sweep(
    diseases: Integers, is_joint: bool, keeps_ratios: bool, pairs: PairRows, round_: int,
    state: PairState,
) -> None:  # fmt: skip
    """Fit some diseases, one after the other, to what the others leave of their pairs.

    Each by one coordinate after the other, or by a step of all. The ratios are kept up to date if
    asked; otherwise all see those of the beginning.
    """
    weights, ratios, is_fixed, strengths = state
    for disease in diseases:
        first, last = pairs.child_offsets[disease], pairs.child_offsets[disease + 1]
        v, fixed = strengths[first:last], is_fixed[first:last]
        before = new_floats(last - first)
        copy(v, before)
        start = pairs.offsets[disease]
        rows, ready = pairs.rows[start:], pairs.ready[start:]
        if is_joint:
            fit_jointly(rows, ready, round_, weights, ratios, fixed, v)
        else:
            fit_by_coordinates(rows, ready, round_, weights, ratios, fixed, v)
        if keeps_ratios:
            replace_part(rows, before, v, ratios)


@kernel
def divide_by_parts(pairs: PairRows, strengths: Floats, ratios: Floats) -> None:
    """Divide the ratios of all diseases' pairs by their parts."""
    for disease in range(len(pairs.child_offsets) - 1):
        first, last = pairs.child_offsets[disease], pairs.child_offsets[disease + 1]
        at = pairs.offsets[disease] - 1
        for a in range(first, last):
            for b in range(a + 1, last):
                at += 1
                if pairs.rows[at] >= 0:
                    ratios[pairs.rows[at]] /= 1.0 + strengths[a] * strengths[b]


@kernel
def replace_part(rows: Integers, before: Floats, v: Floats, ratios: Floats) -> None:
    """Multiply the ratios of a disease's pairs by its part as it was, and divide by what it is."""
    at = -1
    for a in range(len(v)):
        for b in range(a + 1, len(v)):
            at += 1
            if rows[at] >= 0:
                ratios[rows[at]] *= (1.0 + before[a] * before[b]) / (1.0 + v[a] * v[b])


@kernel
def fit_by_coordinates(
    rows: Integers, ready: NDArray[np.int32], round_: int, weights: Floats, ratios: Floats,
    is_fixed: Booleans, v: Floats,
) -> None:  # fmt: skip
    """Minimise sum w (c_ab - v_a v_b)^2 by one v after the other, each bounded from below."""
    m, at = len(v), -1
    weighted, w = new_table(m, m), new_table(m, m)
    for a in range(m):
        w[a, a] = weighted[a, a] = 0.0
        for b in range(a + 1, m):
            at += 1
            row, weight, excess = rows[at], 0.0, 0.0
            if row >= 0 and ready[at] <= round_:
                weight, excess = weights[row], ratios[row] * (1.0 + v[a] * v[b]) - 1.0
            w[a, b] = w[b, a] = weight
            weighted[a, b] = weighted[b, a] = weight * excess
    for _ in range(3):
        for a in range(m):
            above, below = dot_products(weighted[a], w[a], v)
            if below > 0.0 and not is_fixed[a]:
                v[a] = max(above / below, FLOOR)


@kernel(fastmath=True)
def dot_products(weighted: Floats, w: Floats, v: Floats) -> tuple[float, float]:
    """Return sum w c v and sum w v v."""
    above = below = 0.0
    for b in range(len(v)):
        above += weighted[b] * v[b]
        below += w[b] * v[b] * v[b]
    return above, below


@kernel
def fit_jointly(
    rows: Integers, ready: NDArray[np.int32], round_: int, weights: Floats, ratios: Floats,
    is_fixed: Booleans, v: Floats,
) -> None:  # fmt: skip
    """Move all strengths of a disease together, by a Gauss-Newton step if that is better.

    Where one symptom is in nearly all of a disease's pairs, coordinates alone are slow to find out
    how much is its strength and how much the others'.
    """
    m, at = len(v), -1
    matrix, gradient, before = new_table(m, m), new_zeros(m), 0.0
    for a in range(m):
        matrix[a, a] = 0.0
    for a in range(m):
        for b in range(a + 1, m):
            at += 1
            matrix[b, a] = 0.0
            if rows[at] >= 0 and ready[at] <= round_:
                w, residual = weights[rows[at]], (ratios[rows[at]] - 1.0) * (1.0 + v[a] * v[b])
                matrix[a, a] += w * v[b] * v[b]
                matrix[b, b] += w * v[a] * v[a]
                matrix[b, a] = w * v[a] * v[b]
                gradient[a] += w * v[b] * residual
                gradient[b] += w * v[a] * residual
                before += w * residual * residual
    fix(is_fixed, matrix, gradient)
    if not solve_normal_equations(matrix, gradient):
        return
    moved = new_floats(m)
    for share in (1.0, 0.3, 0.1):
        for a in range(m):
            moved[a] = max(v[a] + share * gradient[a], FLOOR)
        at, after = -1, 0.0
        for a in range(m):
            for b in range(a + 1, m):
                at += 1
                if rows[at] >= 0 and ready[at] <= round_:
                    left = ratios[rows[at]] * (1.0 + v[a] * v[b]) - 1.0
                    residual = left - moved[a] * moved[b]
                    after += weights[rows[at]] * residual * residual
        if after < before:
            copy(moved, v)
            return


@kernel
def fix(is_fixed: Booleans, matrix: Floats, right: Floats) -> None:
    """Take fixed strengths out of the normal equations: their change is 0."""
    for a in range(len(right)):
        if is_fixed[a]:
            for b in range(len(right)):
                matrix[a, b] = matrix[b, a] = 0.0
            right[a] = 0.0


@kernel
def solve_normal_equations(matrix: Floats, right: Floats) -> bool:
    """Solve by Cholesky's method, in place, from the lower triangle; False if it is singular."""
    if not factorise(matrix):
        return False
    solve_factorised(matrix, right)
    return True


@kernel(fastmath=True)
def factorise(matrix: Floats) -> bool:
    """Write Cholesky's factor over the lower triangle; return False if the matrix is singular."""
    for a in range(len(matrix)):
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
    return True


@kernel(fastmath=True)
def solve_factorised(factor: Floats, right: Floats) -> None:
    """Solve L L' x = right, in place."""
    for a in range(len(right)):
        total = right[a]
        for k in range(a):
            total -= factor[a, k] * right[k]
        right[a] = total / factor[a, a]
    for a in range(len(right) - 1, -1, -1):
        right[a] /= factor[a, a]
        for k in range(a):
            right[k] -= factor[a, k] * right[a]
