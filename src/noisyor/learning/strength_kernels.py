"""Compiled loops that fit the strengths of all diseases together, for large networks.

R_fitted of a pair is the product of its diseases' parts, 1 + v_a v_b. Changes u of the logarithms
of all strengths change log R_fitted(a,b) by

    (J u)(a,b) = sum_k g_k (u_ka + u_kb),    g = v_a v_b / (1 + v_a v_b)

Here are R_counted / R_fitted, J u and J' y, and for each disease its part of J' P J, factorised.
Each works on some rows of pairs, or on some diseases, so that threads can share the work.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.kernels import kernel
from noisyor.kernels.array_kernels import fill, new_integers
from noisyor.learning.ratio_kernels import PairRows
from noisyor.learning.sweep_kernels import factorise, solve_factorised

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


class PairParents(NamedTuple):
    """The diseases that couple each pair, by their edges to it."""

    offsets: Integers
    """Those of row r are `offsets[r] : offsets[r + 1]` of what follows."""
    edges: NDArray[np.int32]
    """The edges to the two symptoms."""
    shares: NDArray[np.float32]
    """g of each."""


class Parts(NamedTuple):
    """What conjugate gradients need of each disease."""

    shares: Floats
    """g of each pair of children, in the order of `PairRows`."""
    starts: Integers
    """The factor of disease i begins at `starts[i]`."""
    factors: Floats


@kernel
def list_parents(first: int, last: int, pairs: PairRows, parents: PairParents) -> None:
    """Write down the edges to some rows of pairs."""
    filled = new_integers(last - first)
    for disease in range(len(pairs.child_offsets) - 1):
        at = pairs.offsets[disease] - 1
        for a in range(pairs.child_offsets[disease], pairs.child_offsets[disease + 1]):
            for b in range(a + 1, pairs.child_offsets[disease + 1]):
                at += 1
                row = pairs.rows[at]
                if first <= row < last:
                    entry = parents.offsets[row] + filled[row - first]
                    parents.edges[entry, 0], parents.edges[entry, 1] = a, b
                    filled[row - first] += 1


@kernel
def find_ratios(
    first: int, last: int, parents: PairParents, counted: Floats, weights: Floats,
    strengths: Floats, ratios: Floats,
) -> float:  # fmt: skip
    """Write R_counted / R_fitted of some rows, 1 where R is not known; and their parents' shares.

    Return sum w (R_counted - R_fitted)^2.
    """
    total = 0.0
    for row in range(first, last):
        fitted = 1.0
        for at in range(parents.offsets[row], parents.offsets[row + 1]):
            product = strengths[parents.edges[at, 0]] * strengths[parents.edges[at, 1]]
            fitted *= 1.0 + product
            parents.shares[at] = product / (1.0 + product)
        value = counted[row] if np.isfinite(counted[row]) else 1.0
        ratios[row] = value / fitted
        if weights[row] > 0.0:
            total += weights[row] * (value - fitted) ** 2
    return total


@kernel
def find_precisions(
    first: int, last: int, counted: Floats, ratios: Floats, weights: Floats, precisions: Floats,
    changes: Floats,
) -> float:  # fmt: skip
    """Write P = w R_fitted^2 of some rows, and P (R_counted / R_fitted - 1).

    Return sum w (R_counted - R_fitted)^2.
    """
    total = 0.0
    for row in range(first, last):
        precisions[row] = changes[row] = 0.0
        if weights[row] > 0.0:
            residual = ratios[row] - 1.0
            precisions[row] = weights[row] * (counted[row] / ratios[row]) ** 2
            changes[row] = precisions[row] * residual
            total += changes[row] * residual
    return total


@kernel
def find_changes(
    first: int, last: int, parents: PairParents, precisions: Floats, u: Floats, changes: Floats
) -> None:
    """Write P J u of some rows."""
    for row in range(first, last):
        change = 0.0
        for at in range(parents.offsets[row], parents.offsets[row + 1]):
            change += parents.shares[at] * (u[parents.edges[at, 0]] + u[parents.edges[at, 1]])
        changes[row] = precisions[row] * change


@kernel
def sum_by_edges(
    diseases: Integers, pairs: PairRows, parts: Parts, changes: Floats, sums: Floats
) -> None:
    """Write J' y of some diseases' edges, y given for all rows."""
    for disease in diseases:
        first, last = pairs.child_offsets[disease], pairs.child_offsets[disease + 1]
        fill(sums[first:last], 0.0)
        at = pairs.offsets[disease] - 1
        for a in range(first, last):
            total = 0.0
            for b in range(a + 1, last):
                at += 1
                if pairs.rows[at] >= 0:
                    change = parts.shares[at] * changes[pairs.rows[at]]
                    total += change
                    sums[b] += change
            sums[a] += total


@kernel
def find_shares(diseases: Integers, pairs: PairRows, strengths: Floats, shares: Floats) -> None:
    """Write g of all pairs of some diseases' children."""
    for disease in diseases:
        at = pairs.offsets[disease] - 1
        for a in range(pairs.child_offsets[disease], pairs.child_offsets[disease + 1]):
            for b in range(a + 1, pairs.child_offsets[disease + 1]):
                at += 1
                product = strengths[a] * strengths[b]
                shares[at] = product / (1.0 + product)


@kernel
def factorise_parts(
    diseases: Integers, pairs: PairRows, precisions: Floats, is_free: Booleans, damping: float,
    parts: Parts, added: Floats,
) -> None:  # fmt: skip
    """Write Cholesky's factor of J' P J of some diseases' free edges, with a diagonal `added`.

    That is the matrix's own diagonal, times `damping`.
    """
    for disease in diseases:
        first, last = pairs.child_offsets[disease], pairs.child_offsets[disease + 1]
        matrix = matrix_of(disease, pairs, parts)
        for a in range(len(matrix)):
            matrix[a, a] = 0.0
        at = pairs.offsets[disease] - 1
        for a in range(last - first):
            for b in range(a + 1, last - first):
                at += 1
                p = 0.0
                if pairs.rows[at] >= 0 and is_free[first + a] and is_free[first + b]:
                    p = precisions[pairs.rows[at]] * parts.shares[at] ** 2
                matrix[a, a] += p
                matrix[b, b] += p
                matrix[b, a] = p
        for a in range(len(matrix)):
            added[first + a] = damping * matrix[a, a]
            matrix[a, a] += added[first + a]
        if not factorise(matrix):
            for a in range(len(matrix)):  # no preconditioner is better than a wrong one
                for b in range(a + 1):
                    matrix[a, b] = 1.0 if a == b else 0.0


@kernel
def solve_parts(diseases: Integers, pairs: PairRows, parts: Parts, right: Floats) -> None:
    """Solve the equations of some diseases' edges, in place."""
    for disease in diseases:
        first, last = pairs.child_offsets[disease], pairs.child_offsets[disease + 1]
        solve_factorised(matrix_of(disease, pairs, parts), right[first:last])


@kernel
def matrix_of(disease: int, pairs: PairRows, parts: Parts) -> Floats:
    """Return where the factor of a disease is."""
    m = pairs.child_offsets[disease + 1] - pairs.child_offsets[disease]
    return parts.factors[parts.starts[disease] : parts.starts[disease + 1]].reshape(m, m)
