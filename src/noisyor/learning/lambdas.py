"""Lambdas, hence priors: which triplets to count for them, and what these say.

Pairs give the strengths v = sqrt(q) t of a disease's edges. Its prior shows only in the third
order, as one number for the whole disease, lambda = (1 - 2 p) / sqrt(q):

    -k_abc = lambda v_a v_b v_c

Triplets of strong and otherwise rare symptoms say most: the variance of k is about u_a u_b u_c
over the records, u the odds of a symptom, so v / sqrt(u) is what a symptom is worth.

Where the failure of an edge is fixed, its strength shows the prior too, and better:

    v = sqrt(p (1 - p)) (1 - f) / (1 - p (1 - f))

Each such edge, and the disease's lambda, is one observation of p, weighted by its error.
"""

import functools
import itertools
from typing import NamedTuple

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.learning.adjust import adjusted_excesses, as_couplings, edge_numbers, excesses_of
from noisyor.learning.decompose import Influences, lambdas_of, priors_of
from noisyor.learning.pairs import PairTable
from noisyor.learning.ratio_kernels import Couplings
from noisyor.learning.uncertainty import jackknife_errors
from noisyor.moments import MomentPlan, Moments
from noisyor.moments.values import SetValues
from noisyor.names import Indices
from noisyor.parallel import in_threads
from noisyor.parameters import MARGIN, Booleans, Floats
from noisyor.schedule.search import couplings_of, parent_bits
from noisyor.structure import Structure

USUAL_LAMBDA = 10.0
"""That of a prior of about 0.01, for a disease whose own is not known."""
TRIPLETS_AT_ONCE = 4000
"""So many are looked up at a time, in threads."""


class TripletTable(NamedTuple):
    """Triplets, the disease that each is for, and who else couples its symptoms."""

    diseases: Indices
    rows: Indices
    """In the plan."""
    edges: Indices
    """From the disease to a, b and c."""
    removed: Couplings


def choose_triplets(
    table: PairTable, strengths: Floats, odds: Floats, n_jobs: int | None = None
) -> Indices:
    """Return the triplets of symptoms that say most about the priors.

    Only triplets whose pairs have no unlearned parents are taken.
    """
    structure = table.structure
    worth = strengths / np.sqrt(np.maximum(odds[structure.edges[:, 1]], 1e-12))
    is_ready = table.is_ready

    def choose(diseases: Indices) -> Indices:
        triplets = [np.empty((0, 3), dtype=np.int64)]
        for disease in diseases.tolist():
            edges = structure.edges_of(disease)
            chosen = _best_triplets(worth[edges], is_ready[table.rows_of(disease)])
            triplets.append(structure.edges[edges, 1][chosen])
        return np.concatenate(triplets)

    diseases = np.array_split(np.arange(structure.n_diseases), 1 + structure.n_diseases // 20)
    return np.concatenate(in_threads(choose, diseases, n_jobs))


def _best_triplets(worth: Floats, ready: Booleans) -> Indices:
    """Return the best triplets of one disease's symptoms, given which pairs are ready."""
    m = len(worth)
    usable = np.zeros((m, m), dtype=np.bool_)
    usable[np.triu_indices(m, 1)] = ready
    usable |= usable.T
    ranked = np.argsort(-np.where(usable.sum(axis=1) > 1, worth, -1.0), kind="stable")
    members = _usable_triplets(np.sort(ranked[:20]), usable)
    if not len(members):  # the best symptoms may have unlearned parents in common
        members = _usable_triplets(np.sort(ranked[:120]), usable)
    order = np.argsort(-np.prod(worth[members], axis=1), kind="stable")
    return np.asarray(members[np.sort(order[:120])])


def _usable_triplets(symptoms: Indices, usable: Booleans) -> Indices:
    members = symptoms[_combinations(len(symptoms))]
    a, b, c = members.T
    return np.asarray(members[usable[a, b] & usable[a, c] & usable[b, c]])


@functools.cache
def _combinations(n: int) -> Indices:
    return np.array(list(itertools.combinations(range(n), 3)), dtype=np.int64).reshape(-1, 3)


def triplet_table(
    structure: Structure, plan: MomentPlan, pairs: PairTable, n_jobs: int | None = 1
) -> TripletTable:
    """Return a row for each triplet of a plan and each disease that couples all of it.

    Triplets with a pair that has an unlearned parent are left out.
    """
    matrix, parents = structure.sparse_matrix(), parent_bits(structure)
    is_ready = pairs.is_ready[pairs.plan.rows_of(2, plan.pairs)]

    def table_of(rows: Indices) -> TripletTable:
        a, b, c = (matrix[plan.triplets[rows, column]] for column in (0, 1, 2))
        of_rows, diseases = a.multiply(b).multiply(c).nonzero()
        ready = is_ready[plan.triplet_rows[rows[of_rows]]].all(axis=1)
        rows, diseases = rows[of_rows[ready]], diseases[ready].astype(np.int64)
        symptoms = plan.triplets[rows]
        couplings = as_couplings(structure, symptoms, couplings_of(parents, diseases, symptoms))
        return TripletTable(diseases, rows, edge_numbers(structure, diseases, symptoms), couplings)

    all_rows = np.arange(len(plan.triplets))
    parts = np.array_split(all_rows, len(all_rows) // TRIPLETS_AT_ONCE + 1)
    return _joined(in_threads(table_of, parts, n_jobs))


def _joined(parts: list[TripletTable]) -> TripletTable:
    """Return all rows of some tables."""
    diseases, rows, edges = (np.concatenate(each) for each in list(zip(*parts, strict=True))[:3])
    offsets, *removed = zip(*(part.removed for part in parts), strict=True)
    n_removed = np.cumsum([0, *(each[-1] for each in offsets)])
    ends = [each[1:] + start for each, start in zip(offsets, n_removed, strict=False)]
    couplings = Couplings(np.concatenate([[0], *ends]), *map(np.concatenate, removed))
    return TripletTable(diseases, rows, edges, couplings)


def triplet_spreads(values: SetValues, rows: Indices) -> Floats:
    """Return n times the sampling variance of k of some triplets, about."""
    u, c = values.odds[rows], values.pair_excesses[rows]
    with np.errstate(invalid="ignore"):
        return np.asarray(np.prod(u, axis=1) + (np.maximum(c, 0.0) * u[:, ::-1]).sum(axis=1))


class LambdaFit:
    """Finds lambda of every disease by weighted regression over its triplets."""

    def __init__(self, moments: Moments, table: TripletTable, fixed: Beliefs) -> None:
        self._moments, self._table = moments, table
        self._fixed = lambdas_of(np.clip(fixed.values.priors, MARGIN, 1.0 - MARGIN))
        self.n_triplets = np.bincount(table.diseases, minlength=moments.plan.structure.n_diseases)
        values = moments.values(3)
        spread = triplet_spreads(values, table.rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = values.n_records[table.rows] / spread
        weights[~np.isfinite(weights)] = 0.0
        if moments.is_exact:
            weights = np.where(spread > 0, 1.0 / spread, 0.0)
        self._weights = weights

    def run(
        self, strengths: Floats, start: Floats | None = None, *, without: int | None = None,
        rounds: int = 6,
    ) -> Floats:  # fmt: skip
        """Return lambda of each disease; NaN where it has no triplet.

        In each round all are found again, with those of the other diseases removed.
        """
        table = self._table
        no_pair = np.zeros(len(table.rows), dtype=np.bool_)
        excesses = excesses_of(self._moments, table.rows, no_pair, without)
        product = np.prod(strengths[table.edges], axis=1)
        below = self._sum(self._weights * product**2)
        lambdas = np.full(len(below), USUAL_LAMBDA) if start is None else start
        lambdas = np.where(np.isfinite(self._fixed), self._fixed, lambdas)
        for _ in range(rounds):
            usual = np.where(np.isfinite(lambdas), lambdas, USUAL_LAMBDA)
            adjusted = adjusted_excesses(table.removed, Influences(strengths, usual), excesses)
            found = np.where(self._weights > 0, -adjusted[:, 3], 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                lambdas = self._sum(self._weights * found * product) / below
            lambdas = np.where(np.isfinite(self._fixed), self._fixed, lambdas)
        return lambdas

    def _sum(self, values: Floats) -> Floats:
        return np.bincount(self._table.diseases, values, len(self.n_triplets)).astype(np.float64)


# --- what fixed failures say ---


def with_fixed_failures(
    fixed: Beliefs, whole: Influences, groups: Influences, sizes: Indices
) -> tuple[Influences, Influences]:
    """Return all, and what is found without each group, with what fixed failures say of lambdas."""
    is_free = ~fixed.mask.priors[fixed.structure.edges[:, 0]]
    informative = np.flatnonzero(fixed.mask.failures & is_free & (whole.strengths > 0))
    if not len(informative):
        return whole, groups
    errors = Influences(*(_errors(*each, sizes) for each in zip(whole, groups, strict=True)))
    lambdas, *replicates = (
        _fit(fixed, informative, Influences(*each), errors)
        for each in (whole, *zip(*groups, strict=True))
    )
    of_groups = np.array(replicates).reshape(groups.lambdas.shape)
    return whole._replace(lambdas=lambdas), groups._replace(lambdas=of_groups)


def _errors(whole: Floats, parts: Floats, sizes: Indices) -> Floats:
    """Return standard errors; where there are no groups, a hundredth of each value."""
    least = 1e-9 + 1e-4 * np.abs(whole)
    if not len(sizes):
        return np.asarray(100.0 * least)
    return np.maximum(jackknife_errors(whole, parts, sizes), least)


def _fit(fixed: Beliefs, informative: Indices, observed: Influences, errors: Influences) -> Floats:
    """Return lambda of each disease, changed where edges show its prior (Gauss-Newton)."""
    n = len(observed.lambdas)
    owners = fixed.structure.edges[informative, 0]
    f = np.clip(fixed.values.failures[informative], MARGIN, 1.0 - MARGIN)
    v, v_error = observed.strengths[informative], errors.strengths[informative]
    known = np.isfinite(observed.lambdas) & np.isfinite(errors.lambdas)
    log_p = np.log(np.clip(np.where(known, priors_of(observed.lambdas), 0.01), 1e-4, 0.5))
    for _ in range(25):
        p = np.exp(log_p)
        q, p_edge = p * (1.0 - p), p[owners]
        share = (1.0 - f) / (1.0 - p_edge * (1.0 - f))
        expected = np.sqrt(p_edge * (1.0 - p_edge)) * share
        derivative = expected * (0.5 * (1.0 - 2.0 * p_edge) / (1.0 - p_edge) + p_edge * share)
        above = np.bincount(owners, derivative * (v - expected) / v_error**2, minlength=n)
        below = np.bincount(owners, derivative**2 / v_error**2, minlength=n)
        derivative = np.where(known, -0.5 * p * q**-1.5, 0.0)
        residual = np.where(known, observed.lambdas - lambdas_of(p), 0.0)
        lambda_error = np.where(known, errors.lambdas, 1.0)
        above += derivative * residual / lambda_error**2
        below += derivative**2 / lambda_error**2
        move = np.clip(above / np.where(below > 0, below, 1.0), -1.0, 1.0)
        log_p = np.clip(log_p + move, np.log(MARGIN), np.log(1.0 - MARGIN))
    is_informed = np.bincount(owners, minlength=n) > 0
    return np.where(is_informed, lambdas_of(np.exp(log_p)), observed.lambdas)
