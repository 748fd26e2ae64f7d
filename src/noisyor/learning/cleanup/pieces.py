"""The parts that a schedule leaves, and which pairs and triplets of symptoms tell of them."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.identifiability import Identifiability, check_identifiability
from noisyor.identifiability.check import pieces_left
from noisyor.identifiability.jacobian import subsets
from noisyor.moments import MomentPlan, Moments
from noisyor.names import Indices
from noisyor.parameters import Fixed
from noisyor.schedule import Schedule
from noisyor.structure import Structure

Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]

MOST_UNKNOWNS = 4000
"""Larger parts are left: their normal equations no longer fit."""
TRIPLETS_A_DISEASE = 2000
KINSHIP = 0.5
"""Diseases that share this part of the smaller one's symptoms are kin, and fitted together."""


class Piece(NamedTuple):
    """A part of what a schedule leaves of which something can be identified."""

    diseases: Indices
    kin: Indices
    """Learned diseases with much the same symptoms. Their errors would weigh heavily if they were
    removed as they are, so they are fitted along, near what was learned, and not kept."""
    edges: Indices
    """Numbers of the edges whose strengths are fitted."""
    priors: Indices
    """The diseases whose lambdas are fitted."""
    kept_edges: Booleans
    """Which of the edges are kept: those of the diseases above that can be identified."""
    kept_priors: Booleans
    tied: Indices
    """Edges whose failures are given, and their strengths therefore tied to a lambda..."""
    tied_failures: Floats
    """... and those failures."""
    pairs: Indices
    """Pairs of symptoms that the piece couples."""
    triplets: Indices

    @property
    def members(self) -> Indices:
        """The diseases and their kin."""
        return np.concatenate([self.diseases, self.kin])

    def without_kin(self, structure: Structure) -> "Piece":
        """Return the same with the diseases alone."""
        edges = np.isin(structure.edges[self.edges, 0], self.diseases)
        priors = np.isin(self.priors, self.diseases)
        tied = np.isin(structure.edges[self.tied, 0], self.diseases)
        return self._replace(
            kin=self.kin[:0],
            edges=self.edges[edges],
            priors=self.priors[priors],
            kept_edges=self.kept_edges[edges],
            kept_priors=self.kept_priors[priors],
            tied=self.tied[tied],
            tied_failures=self.tied_failures[tied],
        )

    @property
    def sets(self) -> Indices:
        """The pairs, with -1 for a third symptom, and then the triplets."""
        pairs = np.column_stack([self.pairs, np.full(len(self.pairs), -1)])
        return np.vstack([pairs, self.triplets])


class Fitted(NamedTuple):
    """The strengths and lambdas of a piece."""

    strengths: Floats
    """Of `piece.edges`."""
    lambdas: Floats
    """Of `piece.priors`."""
    misfit: float
    """The weighted sum of squares."""
    second: float = math.inf
    """That of the next best minimum that other starts have found; infinite if there is none."""
    vague: Indices = np.empty(0, dtype=np.int64)
    """Diseases of which the moments tell too little, whatever their number says."""


def find_pieces(schedule: Schedule, fixed: Fixed) -> tuple[list[Piece], Identifiability]:
    """Return the parts that a schedule leaves, where anything in them can be identified.

    The fit does not look at single symptoms, so known leaks do not help it.
    """
    structure = schedule.structure
    held = Fixed(structure, priors=fixed.values.priors, failures=fixed.values.failures)
    result = check_identifiability(structure, fixed=held, schedule=schedule)
    found = []
    rng = np.random.default_rng(0)
    for unknowns in pieces_left(schedule, held):
        diseases = unknowns.diseases
        owned = np.isin(structure.edges[:, 0], diseases)
        is_left = owned & (schedule.depths < 0)
        unknown_priors = diseases[unknowns.priors[diseases]]
        orders = result.orders.failures[is_left], result.orders.priors[unknown_priors]
        if not (np.concatenate(orders) >= 0).any():
            continue
        kin = _find_kin(structure, diseases)
        kin = kin[schedule.prior_depths[kin] >= 0]
        shared = np.zeros(structure.n_symptoms, dtype=np.bool_)
        shared[structure.edges[owned, 1]] = True
        is_along = np.isin(structure.edges[:, 0], kin) & shared[structure.edges[:, 1]]
        is_along &= schedule.depths >= 0
        edges = np.flatnonzero((is_left | is_along) & ~fixed.mask.failures)
        fitted = np.union1d(unknown_priors, kin)
        priors = fitted[~fixed.mask.priors[fitted]]
        if len(edges) + len(priors) > MOST_UNKNOWNS:
            continue
        sets = [_sets_of(structure, diseases, size, rng) for size in (2, 3)]
        kept_edges = is_left[edges] & (result.orders.failures[edges] >= 0)
        kept_priors = np.isin(priors, diseases) & (result.orders.priors[priors] >= 0)
        is_tied = (owned | is_along) & fixed.mask.failures
        tied = np.flatnonzero(is_tied & np.isin(structure.edges[:, 0], priors))
        found.append(
            Piece(
                diseases, kin, edges, priors, kept_edges, kept_priors, tied,
                fixed.values.failures[tied], *sets,
            )
        )  # fmt: skip
    return found, result


def _find_kin(structure: Structure, diseases: Indices) -> Indices:
    """Return other diseases that share most of their symptoms with one of these."""
    is_kin = _are_kin(structure, np.arange(structure.n_diseases), diseases).any(axis=1)
    return np.setdiff1d(np.flatnonzero(is_kin), diseases)


def _are_kin(structure: Structure, rows: Indices, columns: Indices) -> Booleans:
    """Say which diseases share most symptoms of the smaller of the two."""
    has = structure.sparse_matrix().tocsc()
    shared = (has[:, rows].T @ has[:, columns]).toarray()
    sizes = np.diff(structure.child_offsets)
    least = KINSHIP * np.minimum(sizes[rows][:, np.newaxis], sizes[columns])
    return np.asarray((shared >= least) & (shared > 0))


def _sets_of(
    structure: Structure, diseases: Indices, size: int, rng: np.random.Generator
) -> Indices:
    """Return all pairs, or many triplets, of symptoms that one of the diseases has."""
    most = TRIPLETS_A_DISEASE if size > 2 else structure.n_symptoms**2
    found = [subsets(structure.children(int(disease)), size, most, rng) for disease in diseases]
    return np.unique(np.concatenate(found), axis=0)


def cleanup_plan(structure: Structure, pieces: list[Piece]) -> MomentPlan:
    """Return what has to be counted to fit the pieces."""
    pairs, triplets = np.empty((0, 2), dtype=np.int64), np.empty((0, 3), dtype=np.int64)
    return MomentPlan(
        structure,
        pairs=np.concatenate([pairs, *(piece.pairs for piece in pieces)]),
        triplets=np.concatenate([triplets, *(piece.triplets for piece in pieces)]),
    )


def is_counted(piece: Piece, moments: Moments) -> bool:
    """Say whether all that a piece needs was counted."""
    rows = moments.plan.rows_of(2, piece.pairs), moments.plan.rows_of(3, piece.triplets)
    return all(bool((each >= 0).all()) for each in rows)


def find_clusters(structure: Structure, diseases: Indices) -> list[Indices]:
    """Return groups of diseases that share most of their symptoms, directly or through others."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    are_kin = _are_kin(structure, diseases, diseases)
    _, labels = connected_components(csr_array(are_kin.astype(np.int8)), directed=False)
    return [diseases[labels == label] for label in np.unique(labels)]
