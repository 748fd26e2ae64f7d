"""Fitting all coupled pairs: one strength v for each edge, in rounds and then jointly.

In a round of the schedule the pairs that are admissible for a disease are used, with the learned
diseases taken off. After the last round all pairs are used whose parents are all learned; a few
more sweeps over the diseases then minimise the weighted misfit of all of them together.

How much the strengths vary is found from the linearised fit, answered for each group of records
left out. At the fitted strengths a small change d of log R(a,b) moves a disease's strengths by the
solution of its normal equations, with J_ab = v_b / (1 + v_a v_b):

    sum_b w J_ab (J_ab x_a + J_ba x_b) = sum_b w J_ab d_ab
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.beliefs import Beliefs
from noisyor.learning.adjust import check_moments, rows_of
from noisyor.learning.decompose import edge_strengths
from noisyor.learning.ratio_kernels import (
    NEVER,
    NO_PARENT,
    PairRows,
    add_right_sides,
    find_readiness,
    find_rows,
    weigh_pairs,
)
from noisyor.learning.strengths import ManyPairs
from noisyor.learning.sweep_kernels import PairState, divide_by_parts, sweep
from noisyor.moments import MomentPlan, Moments
from noisyor.names import Indices
from noisyor.parallel import in_threads, one_blas_thread
from noisyor.parameters import MARGIN, Booleans, Floats
from noisyor.schedule import Schedule
from noisyor.structure import Structure

MANY_PAIRS = 100_000
"""Of more pairs all strengths are fitted together, in threads."""
WEIGHED_AT_ONCE = 1 << 15
MANY_RECORDS = 1e12
"""Stands for infinitely many, of exact moments."""


class PairTable(NamedTuple):
    """Which pairs each disease couples, and in which round their other parents are learned."""

    plan: MomentPlan
    of_diseases: PairRows
    depths: Indices
    """The round of each edge; -1 where it is fixed, NEVER where it is not learned."""
    latest: Indices
    """For each pair, the largest depth of an edge to it from a parent of both; or NO_PARENT."""

    @property
    def structure(self) -> Structure:
        """The structure whose pairs these are."""
        return self.plan.structure

    @property
    def is_ready(self) -> Booleans:
        """True where all parents of a pair are learned; a last False for pairs not counted, -1."""
        return np.append(self.latest < NEVER, False)

    def rows_of(self, disease: int) -> Indices:
        """Return the rows of a disease's pairs in the plan; -1 where one was not counted."""
        offsets = self.of_diseases.offsets
        return self.of_diseases.rows[offsets[disease] : offsets[disease + 1]]


def pair_table(plan: MomentPlan, schedule: Schedule, n_jobs: int | None = None) -> PairTable:
    """Return the pairs of each disease among those that were counted."""
    structure = plan.structure
    # What is fixed is known before the first round, what is not learned in none.
    depths = np.where(schedule.depths < 0, NEVER, schedule.depths)
    depths[schedule.fixed.edges] = -1
    n_children = np.diff(structure.child_offsets)
    offsets = np.concatenate([[0], np.cumsum(n_children * (n_children - 1) // 2)])
    rows, ready = np.empty(offsets[-1], dtype=np.int64), np.empty(offsets[-1], dtype=np.int32)
    pairs = PairRows(structure.child_offsets, offsets, rows, ready)
    starts = np.searchsorted(plan.pairs[:, 0], np.arange(structure.n_symptoms + 1))
    known = structure.edge_symptoms, starts, plan.pairs[:, 1].copy(), pairs
    diseases = np.array_split(np.arange(structure.n_diseases), 1 + offsets[-1] // 100_000)
    in_threads(lambda some: find_rows(some, *known), diseases, n_jobs)
    latest = np.empty(len(plan.pairs), dtype=np.int64)
    find_readiness(depths, latest, pairs)
    return PairTable(plan, pairs, depths, latest)


class PairFit:
    """The strengths of all edges, fitted to the pairs."""

    def __init__(
        self, moments: Moments, table: PairTable, fixed: Beliefs, n_jobs: int | None = None
    ) -> None:
        values = moments.values(2)
        self.is_fixed, self.table, self._n_jobs = fixed.edges, table, n_jobs
        self._n_records = np.minimum(values.n_records, MANY_RECORDS)
        self._odds, c = values.odds, values.pair_excesses[:, 0]
        self._counted = 1.0 + c
        self.strengths: Floats
        self.ratios: Floats
        self._many: ManyPairs | None = None
        if len(c) > MANY_PAIRS:
            self._many = ManyPairs(table.of_diseases, self._counted, n_jobs)
        self.set_strengths(np.where(self.is_fixed, _fixed_strengths(fixed), 0.0))
        self.weights = self._weights()

    def _weights(self) -> Floats:
        """Return one over the sampling variance of R - 1 as the fit has it (moments.values)."""
        n, weights = len(self.ratios), np.empty(len(self.ratios))
        known = self._counted, self.ratios, self._odds, self._n_records

        def weigh(first: int) -> None:
            weigh_pairs(first, min(first + WEIGHED_AT_ONCE, n), *known, weights)

        in_threads(weigh, range(0, n, WEIGHED_AT_ONCE), self._n_jobs)
        return weights

    def misfit(self) -> float:
        """Return the mean of the squared standardised residuals."""
        latest = self.table.latest
        used = (self.weights > 0) & (latest < NEVER) & (latest > NO_PARENT)
        squares = self.weights[used] * (self.ratios[used] - 1.0) ** 2
        return float(squares.mean()) if len(squares) else 0.0

    def run(self) -> None:
        """Fit round by round, then jointly until the misfit hardly falls any more."""
        depths = self.table.depths
        for round_ in range(int(depths[depths < NEVER].max(initial=-1)) + 1):
            self._start(round_)
            if self._many is None:
                self._sweep(round_)
            else:
                self._learn_round(self._many, round_)
            self.weights = self._weights()
        if self._many is None:
            self._run_jointly()
        else:
            with one_blas_thread():
                self._step_jointly(self._many)

    def _run_jointly(self) -> None:
        """Sweep until nothing changes: with few pairs time does not matter."""
        before = self.misfit()
        for _ in range(600):
            self._sweep(NEVER)
            self.weights = self._weights()
            after = self.misfit()
            if before - after < 5e-7 * after:
                break
            before = after

    def _learn_round(self, many: ManyPairs, round_: int) -> None:
        """Fit the edges of a round to the pairs that are admissible for them.

        Other parents of these were learned before: diseases do not wait for each other.
        """
        stays = self.is_fixed | (self.table.depths != round_)
        for is_joint in (False, False, True):
            state = PairState(self.weights, self.ratios, stays, self.strengths)
            many.sweep(is_joint, round_, state)
            self.set_strengths(self.strengths)

    def _step_jointly(self, many: ManyPairs) -> None:
        """Move all strengths together until the misfit hardly falls any more."""
        latest = self.table.latest
        is_used = (latest < NEVER) & (latest > NO_PARENT)
        stays = self.is_fixed | (self.table.depths == NEVER)
        damping, n_small = 0.1, 0
        for _ in range(30):
            weights = np.where(is_used, self.weights, 0.0)
            step = many.step(self.strengths, self.ratios, weights, stays, damping)
            self.strengths, self.ratios, damping = step.strengths, step.ratios, step.damping
            self.weights = self._weights()
            n_small = n_small + 1 if step.gain < 1e-3 else 0
            if n_small == 2:  # one small gain can be that of a damped step
                break

    def _start(self, round_: int) -> None:
        """Let the edges of a round start at one strength for each disease, from its pairs."""
        new = (self.table.depths == round_) & ~self.is_fixed
        diseases = self.table.structure.edges[:, 0]
        n, is_learned = self.table.structure.n_diseases, self.strengths > 0
        sums = np.bincount(diseases, np.where(is_learned, self.strengths, 0.0), minlength=n)
        counts = np.bincount(diseases, is_learned, minlength=n)
        usual = np.where(counts > 0, sums / np.maximum(counts, 1), 0.1)
        self.set_strengths(np.where(new, usual[diseases], self.strengths))

    def set_strengths(self, strengths: Floats) -> None:
        """Take over strengths, and divide the ratios by them anew: to 1, but for noise."""
        self.strengths = np.array(strengths)
        if self._many is None:
            self.ratios = np.where(np.isfinite(self._counted), self._counted, 1.0)
            divide_by_parts(self.table.of_diseases, self.strengths, self.ratios)
        else:
            self.ratios, _ = self._many.ratios(self.strengths, np.zeros(len(self._counted)))

    def _sweep(self, round_: int) -> None:
        """Sweep some times over all diseases, one coordinate after the other, then once jointly."""
        diseases = np.arange(self.table.structure.n_diseases)
        state = PairState(self.weights, self.ratios, self.is_fixed, self.strengths)
        for is_joint in (False, False, False, False, True):
            sweep(diseases, is_joint, True, self.table.of_diseases, round_, state)


def _fixed_strengths(fixed: Beliefs) -> Floats:
    """Return v = sqrt(q) t of the edges that are fixed with their priors, else NaN."""
    p = np.clip(fixed.values.priors, MARGIN, 1.0 - MARGIN)[fixed.structure.edges[:, 0]]
    return edge_strengths(p, fixed.values.failures)


def check_coupled(moments: Moments, schedule: Schedule) -> None:
    """Raise an error if moments do not fit a schedule, or lack pairs that share a parent."""
    check_moments(moments, schedule)
    advice = (
        "that share a disease; count them all (MomentPlan.coupled, or `noisyor count` without "
        "--plan)."
    )
    rows_of(moments, 2, MomentPlan.coupled(schedule.structure).pairs, advice)


def strengths_without(
    fit: PairFit, moments: Moments, groups: list[int], n_jobs: int | None = None
) -> Floats:
    """Return, for each group, the strengths that the other groups' records give."""
    whole = np.log1p(np.maximum(moments.excesses(2), -0.99))
    # By group first: threads that write columns side by side would wait for each other's lines.
    by_group = np.empty((len(groups), len(whole)), dtype=np.float32)
    changes = np.empty((len(whole), len(groups)), dtype=np.float32)

    def fill(row: int) -> None:
        without = moments.excesses(2, without=groups[row])
        change = np.log1p(np.maximum(without, -0.99)) - whole
        by_group[row] = np.where(np.isfinite(change), change, 0.0)

    def turn(first: int) -> None:
        some = slice(first, first + WEIGHED_AT_ONCE)
        changes[some] = by_group[:, some].T

    in_threads(fill, range(len(groups)), n_jobs)
    in_threads(turn, range(0, len(whole), WEIGHED_AT_ONCE), n_jobs)
    strengths = np.repeat(fit.strengths[np.newaxis], len(groups), axis=0)
    structure = fit.table.structure
    usable = fit.table.is_ready & np.append(fit.weights > 0, False)

    def respond(disease: int) -> None:
        edges, rows = structure.edges_of(disease), fit.table.rows_of(disease)
        if usable[rows].any():
            v, weights = fit.strengths[edges], np.where(usable[rows], fit.weights[rows], 0.0)
            strengths[:, edges] += _response(v, weights, fit.is_fixed[edges], changes[rows])

    with one_blas_thread():
        in_threads(respond, range(structure.n_diseases), n_jobs)
    return strengths


def _response(
    v: Floats, weights: Floats, is_fixed: Booleans, changes: NDArray[np.float32]
) -> Floats:
    """Return how one disease's strengths answer to changes (pairs x groups), groups x edges."""
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
    matrix[is_fixed] = matrix[:, is_fixed] = right[is_fixed] = 0.0
    matrix[is_fixed, is_fixed] = 1.0
    matrix[np.arange(m), np.arange(m)] *= 1.0 + 1e-6  # two symptoms alone leave it singular
    return np.asarray(np.linalg.solve(matrix, right).T)
