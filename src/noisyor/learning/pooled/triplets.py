"""Triplets for the priors: which to count, and what they say.

Pairs give the strengths v = sqrt(q) t of a disease's edges. Its prior shows only in the third
order, as one number for the whole disease, lambda = (1 - 2 p) / sqrt(q):

    -k_abc = lambda v_a v_b v_c

Triplets of strong and otherwise rare symptoms tell most: the variance of k is about u_a u_b u_c
over the records, u the odds of a symptom, so v / sqrt(u) is what a symptom is worth.
"""

import functools
import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.learning.decompose import lambdas_of
from noisyor.learning.pooled.pairs import NEVER, PairTable
from noisyor.learning.steps import edge_numbers
from noisyor.moments import MomentPlan, Moments
from noisyor.moments.values import SetValues
from noisyor.names import Indices
from noisyor.parameters import MARGIN, Fixed
from noisyor.schedule.search import couplings_of, parent_bits
from noisyor.structure import Structure

Floats = NDArray[np.float64]

CANDIDATES = 20
"""Triplets are made of so many of a disease's best symptoms."""
MOST_CANDIDATES = 120
"""Of so many where those have no triplet without unlearned parents."""
TRIPLETS_A_DISEASE = 120
"""And the best of them are counted."""
ROUNDS = 6
"""How often all lambdas are found again, with those of the other diseases taken off."""


class TripletTable(NamedTuple):
    """Triplets, the disease that each is for, and who else couples its symptoms."""

    diseases: Indices
    rows: Indices
    """In the plan."""
    edges: Indices
    """From the disease to a, b and c."""
    removed_offsets: Indices
    removed_diseases: Indices
    removed_edges: Indices


def choose_triplets(
    table: PairTable, strengths: Floats, odds: Floats, most: int = TRIPLETS_A_DISEASE
) -> Indices:
    """Return the triplets of symptoms that tell most about the priors.

    Only triplets whose pairs have no unlearned parents are taken.
    """
    structure = table.structure
    worth = strengths / np.sqrt(np.maximum(odds[structure.edges[:, 1]], 1e-12))
    is_ready = np.append(table.latest < NEVER, False)  # the last for pairs not counted, -1
    triplets = [np.empty((0, 3), dtype=np.int64)]
    for disease in range(structure.n_diseases):
        edges = structure.edges_of(disease)
        ready = is_ready[table.rows[table.offsets[disease] : table.offsets[disease + 1]]]
        chosen = _best_triplets(worth[edges], ready, most)
        triplets.append(structure.edges[edges, 1][chosen])
    return np.concatenate(triplets)


def _best_triplets(worth: Floats, ready: NDArray[np.bool_], most: int) -> Indices:
    """Return the best triplets of one disease's symptoms, given which pairs are ready."""
    m = len(worth)
    usable = np.zeros((m, m), dtype=np.bool_)
    usable[np.triu_indices(m, 1)] = ready
    usable |= usable.T
    ranked = np.argsort(-np.where(usable.sum(axis=1) > 1, worth, -1.0), kind="stable")
    members = _usable_triplets(np.sort(ranked[:CANDIDATES]), usable)
    if not len(members):  # the best symptoms may have unlearned parents in common
        members = _usable_triplets(np.sort(ranked[:MOST_CANDIDATES]), usable)
    order = np.argsort(-np.prod(worth[members], axis=1), kind="stable")
    return np.asarray(members[np.sort(order[:most])])


def _usable_triplets(symptoms: Indices, usable: NDArray[np.bool_]) -> Indices:
    members = symptoms[_combinations(len(symptoms))]
    a, b, c = members.T
    return np.asarray(members[usable[a, b] & usable[a, c] & usable[b, c]])


@functools.cache
def _combinations(n: int) -> Indices:
    return np.array(list(itertools.combinations(range(n), 3)), dtype=np.int64).reshape(-1, 3)


def triplet_table(structure: Structure, plan: MomentPlan, pairs: PairTable) -> TripletTable:
    """Return a row for each triplet of a plan and each disease that couples all of it.

    Triplets with a pair that has an unlearned parent are left out.
    """
    matrix = structure.sparse_matrix()
    a, b, c = (matrix[plan.triplets[:, column]] for column in (0, 1, 2))
    places, diseases = a.multiply(b).multiply(c).nonzero()
    symptoms = plan.triplets[places]
    rows = pairs.plan.rows_of(2, symptoms[:, [0, 1, 0, 2, 1, 2]].reshape(-1, 2))
    ready = (np.append(pairs.latest, NEVER)[rows] < NEVER).reshape(-1, 3).all(axis=1)
    diseases, symptoms = diseases[ready].astype(np.int64), symptoms[ready]
    removed = couplings_of(parent_bits(structure), diseases, symptoms)
    owners, others = removed.T
    return TripletTable(
        diseases,
        plan.rows_of(3, symptoms),
        edge_numbers(structure, diseases, symptoms),
        np.searchsorted(owners, np.arange(len(diseases) + 1)),
        np.ascontiguousarray(others),
        edge_numbers(structure, others, symptoms[owners]),
    )


def triplet_spreads(values: SetValues, rows: Indices) -> Floats:
    """Return n times the sampling variance of k of some triplets, about."""
    u, c = values.odds[rows], values.pair_excesses[rows]
    with np.errstate(invalid="ignore"):
        return np.asarray(np.prod(u, axis=1) + (np.maximum(c, 0.0) * u[:, ::-1]).sum(axis=1))


class LambdaFit:
    """Finds lambda of every disease by weighted regression over its triplets."""

    def __init__(self, moments: Moments, table: TripletTable, fixed: Fixed) -> None:
        self._moments = moments
        self._given = lambdas_of(np.clip(fixed.values.priors, MARGIN, 1.0 - MARGIN))
        self._table = table
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
        rounds: int = ROUNDS,
    ) -> Floats:  # fmt: skip
        """Return lambda of each disease; NaN where it has no triplet."""
        from noisyor.learning.kernels import remove_influences

        table = self._table
        values = self._moments.values(3, without=without)
        excesses = np.column_stack(
            [values.pair_excesses[table.rows], values.triplet_excess[table.rows]]
        )
        product = np.prod(strengths[table.edges], axis=1)
        below = self._sum(self._weights * product**2)
        lambdas = np.full(len(below), START) if start is None else start
        lambdas = np.where(np.isfinite(self._given), self._given, lambdas)
        for _ in range(rounds):
            adjusted = excesses.copy()
            remove_influences(
                table.removed_offsets, table.removed_diseases, table.removed_edges,
                np.where(np.isfinite(lambdas), lambdas, START), strengths, adjusted,
            )  # fmt: skip
            found = np.where(self._weights > 0, -adjusted[:, 3], 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                lambdas = self._sum(self._weights * found * product) / below
            lambdas = np.where(np.isfinite(self._given), self._given, lambdas)
        return lambdas

    def _sum(self, values: Floats) -> Floats:
        size = len(self.n_triplets)
        return np.bincount(self._table.diseases, values, minlength=size).astype(np.float64)


START = 10.0
"""Lambda of a prior of about 0.01."""
