"""Compiled loops of the joint fit: what strengths and lambdas predict, and normal equations."""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@numba.njit(nogil=True, cache=True)
def _terms(a: float, b: float, c: float, lam: float, terms: Floats) -> None:
    """Write one disease's factors of R(a,b), R(a,c), R(b,c) and R(a,b,c)."""
    terms[0] = 1.0 + a * b
    terms[1] = 1.0 + a * c
    terms[2] = 1.0 + b * c
    terms[3] = 1.0 + a * b + a * c + b * c - lam * a * b * c


@numba.njit(nogil=True, cache=True)
def predict(
    offsets: Integers,
    diseases: Integers,
    edges: Integers,
    n_pairs: int,
    strengths: Floats,
    lambdas: Floats,
    predicted: Floats,
    derivatives: Floats,
) -> None:
    """Predict c of pairs and k of triplets, with derivatives by what each coupling depends on.

    A coupling is a disease that couples a set, with the numbers of its edges to a, b and c; the
    last strength is 0, for edges that are not there. The derivatives are by the three strengths
    and by arcsinh(lambda / 2).
    """
    widest = 0
    for s in range(len(offsets) - 1):
        widest = max(widest, offsets[s + 1] - offsets[s])
    terms = np.empty((widest, 4))
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


@numba.njit(nogil=True, cache=True)
def normal_equations(
    offsets: Integers,
    columns: Integers,
    derivatives: Floats,
    weights: Floats,
    residuals: Floats,
    matrix: Floats,
    gradient: Floats,
) -> None:
    """Add up the lower triangle of J'WJ, and J'Wr; a column of -1 is not fitted."""
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
