"""Fitting all coupled pairs: one strength v for each edge, in rounds and then jointly.

In a round of the schedule the pairs that are admissible for a disease are used, with the learned
diseases taken off. After the last round all pairs are used whose parents are all learned; a few
more sweeps over the diseases then minimise the weighted misfit of all of them together.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError, StructureError
from noisyor.learning.decompose import edge_strengths
from noisyor.moments import MomentPlan, Moments
from noisyor.names import Indices
from noisyor.parameters import MARGIN, Fixed
from noisyor.schedule import Schedule
from noisyor.structure import Structure

Floats = NDArray[np.float64]

NEVER = 1 << 30
"""The round in which an edge is learned that no round learns."""
NO_PARENT = -2
"""The round of a pair that no disease couples."""
FLOOR = 1e-4
"""The smallest strength: 0 would take the edge out of the fit for good."""
MANY_RECORDS = 1e12
"""Stands for infinitely many, of exact moments."""
SWEEPS_A_ROUND = 4
SWEEPS_A_CHECK = 4
MOST_CHECKS = 12
MANY_PAIRS = 100_000
"""With fewer pairs time does not matter, and sweeps go on until nothing changes."""
INNER = 3
ENOUGH = 1e-4
"""Sweeps end when the misfit falls by less than this between two checks, relatively."""


class PairTable(NamedTuple):
    """Which pairs each disease couples, and in which round their other parents are known."""

    plan: MomentPlan
    offsets: Indices
    """The pairs of disease i are `rows[offsets[i] : offsets[i + 1]]`, in order of (a, b)."""
    rows: Indices
    """Rows in the moments' plan; -1 where a pair was not counted."""
    ready: NDArray[np.int32]
    """The round from which on each of `rows` serves its disease; more than NEVER: in none."""
    depths: Indices
    """The round of each edge; -1 where it is given, NEVER where it is not learned."""
    latest: Indices
    """For each pair, the largest depth of an edge to it from a parent of both; or NO_PARENT."""

    @property
    def structure(self) -> Structure:
        """The structure whose pairs these are."""
        return self.plan.structure


def pair_table(plan: MomentPlan, schedule: Schedule) -> PairTable:
    """Return the pairs of each disease among those that were counted."""
    from noisyor.learning.pooled.kernels import find_incidences, find_readiness

    structure = plan.structure
    # What is given is known before the first round, what is not learned in none.
    depths = np.where(schedule.depths < 0, NEVER, schedule.depths)
    depths[schedule.fixed.edges] = -1
    n_children = np.diff(structure.child_offsets)
    offsets = np.concatenate([[0], np.cumsum(n_children * (n_children - 1) // 2)])
    rows = np.empty(offsets[-1], dtype=np.int64)
    starts = np.searchsorted(plan.pairs[:, 0], np.arange(structure.n_symptoms + 1))
    symptoms = np.ascontiguousarray(structure.edges[:, 1])
    seconds = np.ascontiguousarray(plan.pairs[:, 1])
    find_incidences(structure.child_offsets, symptoms, starts, seconds, offsets, rows)
    latest, ready = np.empty(len(plan.pairs), dtype=np.int64), np.empty(len(rows), dtype=np.int32)
    find_readiness(structure.child_offsets, offsets, rows, depths, NEVER, NO_PARENT, latest, ready)
    return PairTable(plan, offsets, rows, ready, depths, latest)


class PairFit:
    """The strengths of all edges, fitted to the pairs."""

    def __init__(self, moments: Moments, table: PairTable, fixed: Fixed) -> None:
        values = moments.values(2)
        self.is_held = fixed.edges
        """Edges whose strengths are known; the others' are fitted."""
        self._table = table
        self._n_records = np.minimum(values.n_records, MANY_RECORDS)
        self._odds = values.odds
        c = values.pair_excesses[:, 0]
        self._is_known = np.isfinite(c)
        self._ratios = np.where(self._is_known, 1.0 + c, 1.0)
        self.strengths = np.where(self.is_held, _given_strengths(fixed), 0.0)
        self.ratios = self._ratios.copy()
        """R over what the fit has of it: 1, but for noise."""
        self.set_strengths(self.strengths)
        self.weights = self._weights()

    def _weights(self) -> Floats:
        """Return one over the sampling variance of R - 1 as the fit has it (moments.values)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            c = np.nan_to_num(self._ratios / self.ratios - 1.0, posinf=0.0)
        # Half a record more on either side, so that a symptom never seen has a variance too.
        n = self._n_records
        with np.errstate(invalid="ignore"):
            present = np.where(np.isinf(self._odds), 1.0, self._odds / (1.0 + self._odds))
        a, b = ((present * n[:, np.newaxis] + 0.5) / ((1.0 - present) * n[:, np.newaxis] + 0.5)).T
        spread = a * b + c * (1.0 - a - b) + 2.0 * c * c
        variances = (1.0 + c) * np.maximum(spread, 0.25 * a * b) / n
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = 1.0 / variances
        weights[~self._is_known | ~np.isfinite(weights)] = 0.0
        return np.asarray(weights)

    def misfit(self) -> float:
        """Return the mean of the squared standardised residuals."""
        latest = self._table.latest
        used = (self.weights > 0) & (latest < NEVER) & (latest > NO_PARENT)
        if not used.any():
            return 0.0
        return float(np.mean(self.weights[used] * (self.ratios[used] - 1.0) ** 2))

    def run(self) -> None:
        """Fit round by round, then jointly until the misfit hardly falls any more."""
        depths = self._table.depths
        for round_ in range(int(depths[depths < NEVER].max(initial=-1)) + 1):
            self._start(round_)
            self._sweep(round_, SWEEPS_A_ROUND)
            self.weights = self._weights()
        self._run_jointly()

    def _run_jointly(self) -> None:
        before = self.misfit()
        is_large = len(self._table.plan.pairs) > MANY_PAIRS
        most, enough = (MOST_CHECKS, ENOUGH) if is_large else (50 * MOST_CHECKS, ENOUGH / 200)
        for _ in range(most):
            self._sweep(NEVER, SWEEPS_A_CHECK)
            self.weights = self._weights()
            after = self.misfit()
            if before - after < enough * after:
                break
            before = after

    def _start(self, round_: int) -> None:
        """Let the edges of a round start at one strength for each disease, from its pairs."""
        new = (self._table.depths == round_) & ~self.is_held
        diseases = self._table.structure.edges[:, 0]
        usual = np.full(self._table.structure.n_diseases, 0.1)
        known = self.strengths > 0
        sums = np.bincount(diseases[known], self.strengths[known], minlength=len(usual))
        counts = np.bincount(diseases[known], minlength=len(usual))
        usual[counts > 0] = sums[counts > 0] / counts[counts > 0]
        self.set_strengths(np.where(new, usual[diseases], self.strengths))

    def set_strengths(self, strengths: Floats) -> None:
        """Take over strengths, and divide the ratios by them anew."""
        from noisyor.learning.pooled.kernels import take_off

        table, offsets = self._table, self._table.structure.child_offsets
        self.strengths = np.array(strengths)
        self.ratios = self._ratios.copy()
        for disease in range(table.structure.n_diseases):
            take_off(
                offsets[disease], offsets[disease + 1], table.offsets[disease], table.rows,
                self.strengths, self.ratios,
            )  # fmt: skip

    def _sweep(self, round_: int, n_sweeps: int) -> None:
        """Sweep some times over all diseases, one coordinate after the other, then once jointly."""
        from noisyor.learning.pooled.kernels import newton_sweep, sweep

        table = self._table
        places = table.structure.child_offsets, table.offsets, table.rows, table.ready, round_
        weights = self.weights[table.rows]
        for _ in range(n_sweeps):
            sweep(*places, weights, self.is_held, INNER, FLOOR, self.ratios, self.strengths)
        newton_sweep(*places, weights, self.is_held, FLOOR, self.ratios, self.strengths)


def _given_strengths(fixed: Fixed) -> Floats:
    """Return v = sqrt(q) t of the edges that are given with their priors, else NaN."""
    p = np.clip(fixed.values.priors, MARGIN, 1.0 - MARGIN)[fixed.structure.edges[:, 0]]
    return edge_strengths(p, fixed.values.failures)


def check_coupled(moments: Moments, schedule: Schedule) -> None:
    """Raise an error if moments do not fit a schedule, or lack pairs that share a parent."""
    if moments.plan.structure != schedule.structure:
        raise StructureError("the moments and the schedule belong to different structures.")
    if moments.n_records == 0 and not moments.is_exact:
        raise ParameterError("there is nothing to learn from: the moments have no records.")
    wanted = MomentPlan.coupled(schedule.structure)
    n_missing = int((moments.plan.rows_of(2, wanted.pairs) < 0).sum())
    if n_missing:
        raise ParameterError(
            f"the moments lack {n_missing:,} of the {len(wanted.pairs):,} pairs that share a "
            "disease; count them all (MomentPlan.coupled, or `noisyor count` without --plan)."
        )
