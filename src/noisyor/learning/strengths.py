"""The strengths of all diseases fitted to all pairs together, in threads: for large networks.

Disease after disease, each would have to wait for those before it. Here all move at once, by
Gauss-Newton steps towards the minimum of

    sum w (R_counted(a,b) - R_fitted(a,b))^2

Conjugate gradients solve the equations of a step, each disease's own part of them being inverted
before. Sums are made in parts that do not depend on the number of threads.
"""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from noisyor.learning.ratio_kernels import PairRows
from noisyor.learning.strength_kernels import (
    PairParents,
    Parts,
    factorise_parts,
    find_changes,
    find_precisions,
    find_ratios,
    find_shares,
    list_parents,
    solve_parts,
    sum_by_edges,
)
from noisyor.learning.sweep_kernels import FLOOR, PairState, sweep
from noisyor.names import Indices
from noisyor.parallel import in_threads
from noisyor.parameters import Booleans, Floats

N_PARTS = 32
"""Into so many parts the rows and the diseases are cut, for many threads to share evenly."""
MOST_ITERATIONS = 30
ENOUGH = 0.2
"""Conjugate gradients go on until the residual has fallen to this part of the first one."""
MOST_DAMPING = 1e3


class JointStep(NamedTuple):
    """Strengths after a step, and what they leave of the ratios."""

    strengths: Floats
    ratios: Floats
    gain: float
    """The part of the misfit that is gone."""
    damping: float
    """For the next step."""


class ManyPairs:
    """All pairs of a large network, as rows with their diseases and as diseases with their rows."""

    def __init__(self, pairs: PairRows, counted: Floats, n_jobs: int | None) -> None:
        self._pairs, self._counted, self._n_jobs = pairs, counted, n_jobs
        n = len(counted)
        ends = np.linspace(0, n, N_PARTS + 1).astype(np.int64).tolist()
        self._rows = list(itertools.pairwise(ends))
        sizes = np.diff(pairs.child_offsets)
        self._diseases = _of_equal_work(sizes.astype(np.float64) ** 2)
        n_parents = np.bincount(pairs.rows + 1, minlength=n + 1)
        n_parents[0] = 0  # pairs that were not counted
        offsets, n_known = np.cumsum(n_parents), int(n_parents.sum())
        edges = np.empty((n_known, 2), dtype=np.int32)
        self._parents = PairParents(offsets, edges, np.empty(n_known, dtype=np.float32))
        self._of_rows(list_parents, pairs, self._parents)
        starts = np.concatenate([[0], np.cumsum(sizes**2)])
        self._parts = Parts(np.empty(len(pairs.rows)), starts, np.empty(starts[-1]))

    def _of_rows(self, kernel: Callable[..., Any], *known: Any) -> list[Any]:
        """Call a kernel for all rows, in threads."""
        return in_threads(lambda rows: kernel(*rows, *known), self._rows, self._n_jobs)

    def _of_diseases(self, kernel: Callable[..., Any], *known: Any) -> None:
        """Call a kernel for all diseases, in threads."""
        in_threads(lambda diseases: kernel(diseases, *known), self._diseases, self._n_jobs)

    def ratios(self, strengths: Floats, weights: Floats) -> tuple[Floats, float]:
        """Return R_counted / R_fitted, and sum w (R_counted - R_fitted)^2."""
        ratios = np.empty(len(self._counted))
        known = self._parents, self._counted, weights, strengths, ratios
        return ratios, float(sum(self._of_rows(find_ratios, *known)))

    def sweep(self, is_joint: bool, round_: int, state: PairState) -> None:
        """Fit each disease to what the others leave, all at the same time."""
        self._of_diseases(sweep, is_joint, False, self._pairs, round_, state)

    def step(
        self, strengths: Floats, ratios: Floats, weights: Floats, is_fixed: Booleans, damping: float
    ) -> JointStep:
        """Take a damped Gauss-Newton step, damped more as long as it does not improve the fit.

        The ratios are those of `ratios()`. A strength that is as small as it may be, and would
        become smaller, stays. To be called with one thread for BLAS (`one_blas_thread`).
        """
        precisions, changes = np.empty((2, len(ratios)))
        known = self._counted, ratios, weights, precisions, changes
        before = float(sum(self._of_rows(find_precisions, *known)))
        self._of_diseases(find_shares, self._pairs, strengths, self._parts.shares)
        gradient = self._sum_by_edges(changes)
        is_free = ~is_fixed & ((strengths > FLOOR) | (gradient > 0))
        right = np.where(is_free, gradient, 0.0)
        while damping < MOST_DAMPING:
            relative = self._solve(precisions, is_free, damping, right)
            moved = np.maximum(strengths * (1.0 + relative), FLOOR)
            moved = np.where(is_free, moved, strengths)
            left, after = self.ratios(moved, weights)
            if after < before:
                return JointStep(moved, left, (before - after) / before, damping / 10.0)
            damping *= 10.0
            self.ratios(strengths, weights)  # shares, which the next try needs, are those of here
        return JointStep(strengths, ratios, 0.0, damping)

    def _sum_by_edges(self, changes: Floats) -> Floats:
        sums = np.empty(self._pairs.child_offsets[-1])
        self._of_diseases(sum_by_edges, self._pairs, self._parts, changes, sums)
        return sums

    def _solve(
        self, precisions: Floats, is_free: Booleans, damping: float, right: Floats
    ) -> Floats:
        """Return u with (J' P J + D) u = right, about, by preconditioned conjugate gradients."""
        added, changes = np.empty(len(right)), np.empty(len(precisions))
        known = self._pairs, precisions, is_free, damping, self._parts, added
        self._of_diseases(factorise_parts, *known)

        def product(u: Floats) -> Floats:
            self._of_rows(find_changes, self._parents, precisions, u, changes)
            return np.where(is_free, self._sum_by_edges(changes) + added * u, 0.0)

        def preconditioned(residual: Floats) -> Floats:
            solution = residual.copy()
            self._of_diseases(solve_parts, self._pairs, self._parts, solution)
            return np.where(is_free, solution, 0.0)

        u, residual = np.zeros(len(right)), right
        direction = preconditioned(residual)
        size = float(residual @ direction)
        enough = ENOUGH**2 * size
        for _ in range(MOST_ITERATIONS):
            if size <= enough:
                break
            image = product(direction)
            share = size / float(direction @ image)
            u, residual = u + share * direction, residual - share * image
            towards = preconditioned(residual)
            before, size = size, float(residual @ towards)
            direction = towards + size / before * direction
        return u


def _of_equal_work(work: Floats) -> list[Indices]:
    """Return the diseases in parts of about the same work."""
    middles = np.cumsum(work) - work / 2.0
    part = (N_PARTS * middles / max(work.sum(), 1.0)).astype(np.int64)
    return np.split(np.arange(len(work)), np.flatnonzero(np.diff(part)) + 1)
