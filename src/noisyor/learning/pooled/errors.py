"""How much the strengths vary: the linearised fit, answered for each group of records left out.

At the fitted strengths a small change d of log R(a,b) moves a disease's strengths by the solution
of its normal equations, with J_ab = v_b / (1 + v_a v_b):

    sum_b w J_ab (J_ab x_a + J_ba x_b) = sum_b w J_ab d_ab
"""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from noisyor.learning.pooled.pairs import NEVER, PairFit, PairTable
from noisyor.moments import Moments

Floats = NDArray[np.float64]


def strengths_without(
    fit: PairFit, table: PairTable, moments: Moments, groups: list[int]
) -> Floats:
    """Return, for each group, the strengths that the other groups' records give."""
    whole = np.log1p(np.maximum(moments.excesses(2), -0.99))
    changes = np.empty((len(whole), len(groups)), dtype=np.float32)

    def fill(column: int) -> None:
        without = moments.excesses(2, without=groups[column])
        change = np.log1p(np.maximum(without, -0.99)) - whole
        changes[:, column] = np.where(np.isfinite(change), change, 0.0)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(fill, range(len(groups))))
    strengths = np.repeat(fit.strengths[np.newaxis], len(groups), axis=0)
    structure = table.structure
    usable = np.append((table.latest < NEVER) & (fit.weights > 0), False)
    for disease in range(structure.n_diseases):
        edges = structure.edges_of(disease)
        rows = table.rows[table.offsets[disease] : table.offsets[disease + 1]]
        if usable[rows].any():
            strengths[:, edges] += _response(
                fit.strengths[edges], np.where(usable[rows], fit.weights[rows], 0.0),
                fit.is_held[edges], changes[rows],
            )  # fmt: skip
    return strengths


def _response(
    v: Floats, weights: Floats, is_held: NDArray[np.bool_], changes: NDArray[np.float32]
) -> Floats:
    """Return how one disease's strengths answer to changes (pairs x groups), groups x edges."""
    from noisyor.learning.pooled.kernels import add_right_sides

    m = len(v)
    a, b = np.triu_indices(m, 1)
    shared = 1.0 + v[a] * v[b]
    by_a, by_b = v[b] / shared, v[a] / shared
    matrix = np.zeros((m, m))
    matrix[a, b] = matrix[b, a] = weights * by_a * by_b
    diagonal = np.bincount(a, weights * by_a**2, minlength=m)
    diagonal += np.bincount(b, weights * by_b**2, minlength=m)
    matrix[np.arange(m), np.arange(m)] = np.where(diagonal > 0, diagonal, 1.0)
    right = np.zeros((m, changes.shape[1]))
    add_right_sides(v, weights, changes, right)
    matrix[is_held] = matrix[:, is_held] = right[is_held] = 0.0
    matrix[is_held, is_held] = 1.0
    matrix[np.arange(m), np.arange(m)] *= 1.0 + 1e-6  # two symptoms alone leave it singular
    return np.asarray(np.linalg.solve(matrix, right).T)
