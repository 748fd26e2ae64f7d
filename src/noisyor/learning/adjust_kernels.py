"""Compiled adjustment of moments: removing learned diseases (Section 3.2)."""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def remove_influences(
    offsets: Integers,
    diseases: Integers,
    edges: Integers,
    lambdas: Floats,
    strengths: Floats,
    excesses: Floats,
) -> None:
    """Divide the ratios of each set of symptoms by those of the diseases to remove, in place.

    A disease has lambda = (1 - 2 p) / sqrt(q) and, for each edge, v = sqrt(q) t, so that g_ab =
    v_a v_b and g_k = -lambda v_a v_b v_c. A row of `excesses` has c_ab, c_ac, c_bc and k of a set.
    The diseases to remove from it are `offsets[row] : offsets[row + 1]`, each with its edges to a,
    b and c, or -1. With s_x = prod(1 + g_x) - 1 and S for the whole triplet, K = S - sum_x s_x:

        c' = (c - s) / (1 + s)
        k' = (k - K) / (1 + S) + sum_x (c_x - s_x) (s_x - S) / ((1 + S) (1 + s_x))

    K is built up without subtracting, so that nothing cancels but what must.
    """
    v = np.empty(3)
    g = np.empty(3)
    s = np.empty(3)
    for row in range(len(offsets) - 1):
        if offsets[row] == offsets[row + 1]:
            continue
        s[:] = 0.0
        third = 0.0
        for at in range(offsets[row], offsets[row + 1]):
            for x in range(3):
                edge = edges[at, x]
                v[x] = strengths[edge] if edge >= 0 else 0.0
            g[0] = v[0] * v[1]
            g[1] = v[0] * v[2]
            g[2] = v[1] * v[2]
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
