"""The components that a schedule leaves, and what the moments say of them."""

import math
from typing import NamedTuple

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.identifiability import Identifiability, check_identifiability
from noisyor.identifiability.check import pieces_left
from noisyor.identifiability.jacobian import subsets
from noisyor.learning.adjust import adjusted_excesses, as_couplings, excesses_of
from noisyor.learning.decompose import Influences
from noisyor.learning.lambdas import USUAL_LAMBDA, triplet_spreads
from noisyor.learning.pairs import MANY_RECORDS
from noisyor.learning.ratio_kernels import Couplings
from noisyor.moments import MomentPlan, Moments
from noisyor.names import Indices
from noisyor.parameters import Booleans, Floats
from noisyor.schedule import Schedule
from noisyor.schedule.search import couplings_of, parent_bits
from noisyor.structure import Structure


class Component(NamedTuple):
    """Diseases that a schedule leaves, of which something can be identified."""

    diseases: Indices
    near_duplicates: Indices
    """Learned diseases with much the same symptoms. Their errors would weigh heavily if they were
    removed as they are, so they are fitted along, near what was learned, and not kept."""
    edges: Indices
    """Numbers of the edges whose strengths are fitted."""
    priors: Indices
    """The diseases whose lambdas are fitted."""
    kept_edges: Booleans
    """Which of the edges are kept: those of the diseases above that can be identified."""
    kept_priors: Booleans
    fixed_edges: Indices
    """Edges whose failures are fixed, so that their strengths follow from a lambda..."""
    fixed_failures: Floats
    """... and those failures."""
    pairs: Indices
    """Pairs of symptoms that the component couples."""
    triplets: Indices

    @property
    def members(self) -> Indices:
        """The diseases and their near-duplicates."""
        return np.concatenate([self.diseases, self.near_duplicates])

    @property
    def is_kept(self) -> Booleans:
        """Which of all unknowns, strengths and then lambdas, are kept."""
        return np.concatenate([self.kept_edges, self.kept_priors])

    def alone(self, structure: Structure) -> "Component":
        """Return the same without the near-duplicates."""
        edges = np.isin(structure.edges[self.edges, 0], self.diseases)
        fixed = np.isin(structure.edges[self.fixed_edges, 0], self.diseases)
        component = self.restricted(self.edges[edges], np.intersect1d(self.priors, self.diseases))
        return component._replace(
            near_duplicates=self.near_duplicates[:0],
            fixed_edges=self.fixed_edges[fixed],
            fixed_failures=self.fixed_failures[fixed],
        )

    def restricted(self, edges: Indices, priors: Indices) -> "Component":
        """Return the same with some of the unknowns only."""
        return self._replace(
            edges=edges,
            priors=priors,
            kept_edges=self.kept_edges[np.searchsorted(self.edges, edges)],
            kept_priors=self.kept_priors[np.searchsorted(self.priors, priors)],
        )

    def put(self, found: "Solution", learned: Influences) -> None:
        """Write what is to be kept of a solution to what was learned."""
        edges, priors = self.kept_edges, self.kept_priors
        learned.strengths[self.edges[edges]] = found.strengths[edges]
        learned.lambdas[self.priors[priors]] = found.lambdas[priors]

    def is_counted(self, moments: Moments) -> bool:
        """Return True if all that the component needs was counted."""
        rows = moments.plan.rows_of(2, self.pairs), moments.plan.rows_of(3, self.triplets)
        return all(bool((each >= 0).all()) for each in rows)


class Solution(NamedTuple):
    """The strengths and lambdas of a component, as they were fitted."""

    strengths: Floats
    """Of `component.edges`."""
    lambdas: Floats
    """Of `component.priors`."""
    misfit: float
    """The weighted sum of squares."""
    second: float = math.inf
    """That of the next best minimum that other starts have found; infinite if there is none."""
    weakly_identified: Indices = np.empty(0, dtype=np.int64)
    """Diseases of which the moments say too little, whatever their number says."""


def find_components(schedule: Schedule, fixed: Beliefs) -> tuple[list[Component], Identifiability]:
    """Return the components that a schedule leaves, where anything in them can be identified.

    The fit does not look at single symptoms, so fixed leaks do not help it.
    """
    structure = schedule.structure
    usable = Beliefs(structure, priors=fixed.values.priors, failures=fixed.values.failures)
    result = check_identifiability(structure, fixed=usable, schedule=schedule)
    found = []
    rng = np.random.default_rng(0)
    owners, symptoms = structure.edges.T
    for unknowns in pieces_left(schedule, usable):
        diseases = unknowns.diseases
        owned = np.isin(owners, diseases)
        is_left = owned & (schedule.depths < 0)
        unknown_priors = diseases[unknowns.priors[diseases]]
        orders = result.orders.failures[is_left], result.orders.priors[unknown_priors]
        if not (np.concatenate(orders) >= 0).any():
            continue
        learned = np.flatnonzero(schedule.prior_depths >= 0)
        is_near = _are_near_duplicates(structure, learned, diseases).any(axis=1)
        near = np.setdiff1d(learned[is_near], diseases)
        is_along = np.isin(owners, near) & np.isin(symptoms, symptoms[owned])
        is_along &= schedule.depths >= 0
        edges = np.flatnonzero((is_left | is_along) & ~fixed.mask.failures)
        priors = np.union1d(unknown_priors, near)
        priors = priors[~fixed.mask.priors[priors]]
        if len(edges) + len(priors) > 4000:  # their normal equations no longer fit in memory
            continue
        sets = [_sets_of(structure, diseases, size, rng) for size in (2, 3)]
        kept_edges = is_left[edges] & (result.orders.failures[edges] >= 0)
        kept_priors = np.isin(priors, diseases) & (result.orders.priors[priors] >= 0)
        is_fixed = (owned | is_along) & fixed.mask.failures
        fixed_edges = np.flatnonzero(is_fixed & np.isin(owners, priors))
        of_fixed = fixed_edges, fixed.values.failures[fixed_edges]
        kept = kept_edges, kept_priors
        found.append(Component(diseases, near, edges, priors, *kept, *of_fixed, *sets))
    return found, result


def _are_near_duplicates(structure: Structure, rows: Indices, columns: Indices) -> Booleans:
    """Return which diseases (rows) share half their symptoms, or more, with which (columns)."""
    has = structure.sparse_matrix().tocsc()
    shared = (has[:, rows].T @ has[:, columns]).toarray()
    sizes = np.diff(structure.child_offsets)
    least = 0.5 * np.minimum(sizes[rows][:, np.newaxis], sizes[columns])
    return np.asarray((shared >= least) & (shared > 0))


def _sets_of(
    structure: Structure, diseases: Indices, size: int, rng: np.random.Generator
) -> Indices:
    """Return all pairs, or many triplets, of symptoms that one of the diseases has."""
    most = 2000 if size > 2 else structure.n_symptoms**2
    found = [subsets(structure.children(int(disease)), size, most, rng) for disease in diseases]
    return np.unique(np.concatenate(found), axis=0)


def plan_for(schedule: Schedule, fixed: Beliefs) -> MomentPlan:
    """Return what the clean-up needs besides what a schedule does."""
    return plan_of(schedule.structure, find_components(schedule, fixed)[0])


def plan_of(structure: Structure, components: list[Component]) -> MomentPlan:
    """Return what has to be counted to fit components."""
    pairs, triplets = np.empty((0, 2), dtype=np.int64), np.empty((0, 3), dtype=np.int64)
    return MomentPlan(
        structure,
        pairs=np.concatenate([pairs, *(component.pairs for component in components)]),
        triplets=np.concatenate([triplets, *(component.triplets for component in components)]),
    )


def find_clusters(structure: Structure, diseases: Indices) -> list[Indices]:
    """Return groups of diseases that are near-duplicates, directly or through others."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    are_near = _are_near_duplicates(structure, diseases, diseases)
    _, labels = connected_components(csr_array(are_near.astype(np.int8)), directed=False)
    return [diseases[labels == label] for label in np.unique(labels)]


# --- what the moments say ---


class Observed(NamedTuple):
    """Moments of a component with all learned diseases removed."""

    couplings: Couplings
    """Which of the component's diseases and their near-duplicates couple each set of symptoms."""
    n_pairs: int
    """The first sets are pairs, the others triplets."""
    values: Floats
    """c of pairs, k of triplets."""
    weights: Floats
    """One over their sampling variances; 0 where one is not known."""

    def restricted(self, kept: Booleans) -> "Observed":
        """Return some of the sets."""
        sizes = np.diff(self.couplings.offsets)
        is_kept = np.repeat(kept, sizes)
        offsets = np.concatenate([[0], np.cumsum(sizes[kept])])
        couplings = Couplings(offsets, *(each[is_kept] for each in self.couplings[1:]))
        n_pairs = int(kept[: self.n_pairs].sum())
        return Observed(couplings, n_pairs, self.values[kept], self.weights[kept])


class Observations:
    """Finds the moments of a component, given what was learned before."""

    def __init__(self, structure: Structure, component: Component, moments: Moments) -> None:
        self._moments = moments
        self._pair_rows = moments.plan.rows_of(2, component.pairs)
        self._triplet_rows = moments.plan.rows_of(3, component.triplets)
        pairs = np.column_stack([component.pairs, np.full(len(component.pairs), -1)])
        sets = np.vstack([pairs, component.triplets])
        coupled = couplings_of(parent_bits(structure), np.full(len(sets), -1), sets)
        is_own = np.isin(coupled[:, 1], component.members)
        self._removed = as_couplings(structure, sets, coupled[~is_own])
        self._own = as_couplings(structure, sets, coupled[is_own])
        self._weights = self._find_weights()

    def _find_weights(self) -> Floats:
        """Return one over the sampling variances of c and k."""
        pairs, triplets = self._moments.values(2), self._moments.values(3)
        a, b = pairs.odds[self._pair_rows].T
        c = np.maximum(pairs.pair_excesses[self._pair_rows, 0], 0.0)
        n = np.minimum(pairs.n_records[self._pair_rows], MANY_RECORDS)
        of_pairs = n / np.maximum(a * b + c * (1.0 + a + b), 1e-12)
        spread = triplet_spreads(triplets, self._triplet_rows)
        n = np.minimum(triplets.n_records[self._triplet_rows], MANY_RECORDS)
        weights = np.concatenate([of_pairs, n / np.maximum(spread, 1e-12)])
        weights[~np.isfinite(weights)] = 0.0
        return np.asarray(weights)

    def observed(self, learned: Influences, without: int | None = None) -> Observed:
        """Return the moments with learned diseases removed; `without` leaves a group out."""
        n_pairs, rows = len(self._pair_rows), np.append(self._pair_rows, self._triplet_rows)
        excesses = excesses_of(self._moments, rows, np.arange(len(rows)) < n_pairs, without)
        lambdas = np.nan_to_num(learned.lambdas, nan=USUAL_LAMBDA)
        adjusted = adjusted_excesses(self._removed, learned._replace(lambdas=lambdas), excesses)
        found = np.concatenate([adjusted[:n_pairs, 0], adjusted[n_pairs:, 3]])
        weights = np.where(np.isfinite(found), self._weights, 0.0)
        return Observed(self._own, n_pairs, np.nan_to_num(found), weights)
