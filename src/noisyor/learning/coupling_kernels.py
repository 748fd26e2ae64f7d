"""Compiled loops over the diseases that couple sets of symptoms.

A disease has v = sqrt(q) t for each edge and lambda = (1 - 2 p) / sqrt(q), with q = p (1 - p).
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Couplings(NamedTuple):
    """Diseases that couple two symptoms or more of each of some sets of symptoms."""

    offsets: Integers
    """Those of set s are the rows `offsets[s] : offsets[s + 1]` of what follows."""
    diseases: Integers
    edges: Integers
    """From the disease to the set's symptoms a, b and c; -1 where there is none."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def remove_influences(
    removed: Couplings, strengths: Floats, lambdas: Floats, excesses: Floats
) -> None:
    """Divide the ratios of each set of symptoms by those of the diseases to remove, in place.

    A row of `excesses` has c_ab, c_ac, c_bc and k of a set. A disease has g_ab = v_a v_b and g_k =
    -lambda v_a v_b v_c. With s_x = prod(1 + g_x) - 1, S for the triplet, K = S - sum_x s_x:

        c' = (c - s) / (1 + s)
        k' = (k - K) / (1 + S) + sum_x (c_x - s_x) (s_x - S) / ((1 + S) (1 + s_x))

    K is built up without subtracting, so that nothing cancels but what must.
    """
    offsets, diseases, edges = removed
    v, g, s = np.empty(3), np.empty(3), np.empty(3)
    for row in range(len(offsets) - 1):
        if offsets[row] == offsets[row + 1]:
            continue
        s[:] = 0.0
        third = 0.0
        for at in range(offsets[row], offsets[row + 1]):
            for x in range(3):
                edge = edges[at, x]
                v[x] = strengths[edge] if edge >= 0 else 0.0
            g[0], g[1], g[2] = v[0] * v[1], v[0] * v[2], v[1] * v[2]
            g_third = -lambdas[diseases[at]] * v[0] * v[1] * v[2]
            cross = (s.sum() + third) * (g.sum() + g_third) - (s * g).sum()
            third += g_third + cross
            s += g + s * g
        whole = s.sum() + third
        k = (excesses[row, 3] - third) / (1.0 + whole)
        for x in range(3):
            left = (excesses[row, x] - s[x]) / (1.0 + s[x])
            k += left * (s[x] - whole) / (1.0 + whole)
            excesses[row, x] = left
        excesses[row, 3] = k


@numba.njit(nogil=True, cache=True)
def _terms(a: float, b: float, c: float, lam: float, terms: Floats) -> None:
    """Write one disease's factors of R(a,b), R(a,c), R(b,c) and R(a,b,c)."""
    terms[0] = 1.0 + a * b
    terms[1] = 1.0 + a * c
    terms[2] = 1.0 + b * c
    terms[3] = 1.0 + a * b + a * c + b * c - lam * a * b * c


@numba.njit(nogil=True, cache=True)
def predict(
    couplings: Couplings, n_pairs: int, strengths: Floats, lambdas: Floats, derivatives: Floats
) -> Floats:
    """Return c of pairs and k of triplets, and write derivatives by what each coupling depends on.

    The last strength is 0, for edges that are not there. The derivatives are by the three strengths
    and by arcsinh(lambda / 2).
    """
    offsets, diseases, edges = couplings
    predicted = np.empty(len(offsets) - 1)
    terms = np.empty((np.max(np.diff(offsets)) if len(predicted) else 0, 4))
    others = np.empty(4)
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1]
        products = np.ones(4)
        for e in range(first, last):
            a, b, c = strengths[edges[e, 0]], strengths[edges[e, 1]], strengths[edges[e, 2]]
            _terms(a, b, c, lambdas[diseases[e]], terms[e - first])
            products *= terms[e - first]
        is_pair = s < n_pairs
        if is_pair:
            predicted[s] = products[0] - 1.0
        else:
            predicted[s] = products[3] - products[0] - products[1] - products[2] + 2.0
        for e in range(first, last):
            others[:] = 1.0
            for other in range(first, last):
                if other != e:
                    others *= terms[other - first]
            a, b, c = strengths[edges[e, 0]], strengths[edges[e, 1]], strengths[edges[e, 2]]
            lam = lambdas[diseases[e]]
            if is_pair:
                derivatives[e, 0], derivatives[e, 1] = others[0] * b, others[0] * a
                derivatives[e, 2] = derivatives[e, 3] = 0.0
                continue
            ab, ac, bc, abc = others
            derivatives[e, 0] = abc * (b + c - lam * b * c) - ab * b - ac * c
            derivatives[e, 1] = abc * (a + c - lam * a * c) - ab * a - bc * c
            derivatives[e, 2] = abc * (a + b - lam * a * b) - ac * a - bc * b
            derivatives[e, 3] = -abc * a * b * c * np.sqrt(lam * lam + 4.0)
    return predicted


@numba.njit(nogil=True, cache=True)
def normal_equations(
    offsets: Integers, columns: Integers, derivatives: Floats, weights: Floats, residuals: Floats,
    n: int,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the lower triangle of J'WJ, and J'Wr, of n unknowns; a column of -1 is not fitted."""
    matrix, gradient = np.zeros((n, n)), np.zeros(n)
    for s in range(len(offsets) - 1):
        if weights[s] == 0.0:
            continue
        for e in range(offsets[s], offsets[s + 1]):
            for i in range(4):
                row = columns[e, i]
                if row < 0:
                    continue
                weighted = weights[s] * derivatives[e, i]
                gradient[row] += weighted * residuals[s]
                for other in range(offsets[s], offsets[s + 1]):
                    for j in range(4):
                        column = columns[other, j]
                        if 0 <= column <= row:
                            matrix[row, column] += weighted * derivatives[other, j]
    return matrix, gradient
