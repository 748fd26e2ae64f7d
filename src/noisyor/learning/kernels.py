"""Compiled loops over the steps of a round: adjustment (Section 3.2), and who learns from whom."""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def remove_influences(
    removed_offsets: Integers,
    removed_diseases: Integers,
    removed_edges: Integers,
    lambdas: Floats,
    strengths: Floats,
    excesses: Floats,
) -> None:
    """Divide each step's ratios by those of its removed diseases, in place.

    A disease has lambda = (1 - 2 p) / sqrt(q) and, for each edge, v = sqrt(q) t, so that g_ab =
    v_a v_b and g_k = -lambda v_a v_b v_c. A step's row of `excesses` has c_ab, c_ac, c_bc and k.
    The diseases removed before step s are `removed_offsets[s] : removed_offsets[s + 1]`, each with
    its edges to a, b and c, or -1. With s_x = prod(1 + g_x) - 1 and S for the whole triplet,
    K = S - sum_x s_x:

        c' = (c - s) / (1 + s)
        k' = (k - K) / (1 + S) + sum_x (c_x - s_x) (s_x - S) / ((1 + S) (1 + s_x))

    K is built up without subtracting, so that nothing cancels but what must.
    """
    v = np.empty(3)
    g = np.empty(3)
    s = np.empty(3)
    for step in range(len(removed_offsets) - 1):
        if removed_offsets[step] == removed_offsets[step + 1]:
            continue
        s[:] = 0.0
        third = 0.0
        for row in range(removed_offsets[step], removed_offsets[step + 1]):
            for x in range(3):
                edge = removed_edges[row, x]
                v[x] = strengths[edge] if edge >= 0 else 0.0
            g[0] = v[0] * v[1]
            g[1] = v[0] * v[2]
            g[2] = v[1] * v[2]
            g_third = -lambdas[removed_diseases[row]] * v[0] * v[1] * v[2]
            cross = (s.sum() + third) * (g.sum() + g_third) - (s * g).sum()
            third += g_third + cross
            s += g + s * g
        whole = s.sum() + third
        k = (excesses[step, 3] - third) / (1.0 + whole)
        for x in range(3):
            left = (excesses[step, x] - s[x]) / (1.0 + s[x])
            k += left * (s[x] - whole) / (1.0 + whole)
            excesses[step, x] = left
        excesses[step, 3] = k


@numba.njit(nogil=True, cache=True)
def take_first(
    targets: Integers,
    found: Floats,
    found_flags: NDArray[np.uint16],
    numbers: Integers,
    columns: int,
    not_scheduled: int,
    not_learned: int,
    values: Floats,
    flags: NDArray[np.uint16],
    steps: Integers,
) -> None:
    """Give each target the first value found for it by a step that did not fail.

    `columns` targets in a row belong to one step. A target that was learned before keeps its
    value; one that no step teaches keeps it too, with the flag of the first step that failed.
    """
    for row in range(len(targets)):
        step, target = row // columns, targets[row]
        if flags[target] & not_learned:
            if not found_flags[step] & not_learned:
                values[target] = found[row]
                flags[target] = found_flags[step]
                steps[target] = numbers[step]
            elif flags[target] == not_scheduled:
                flags[target] = found_flags[step]
