"""The paper's own clean-up (Section 3.3): a grid search over one prior and one failure.

Two diseases A and B are left, and A has a symptom `a` that B does not have. If p_A and f_Aa were
fixed, pairs with `a` would teach the other edges of A (Eq. 6); without A, a triplet and pairs would
teach B. So all values of p_A and f_Aa are tried, and those are kept whose network comes closest to
the third-order moments. The grid is then drawn again, ever finer, around the best point.
"""

import itertools
from typing import NamedTuple

import numpy as np

from noisyor.learning.cleanup.components import Component, Observations, Solution
from noisyor.learning.decompose import Influences, decompose_excesses, lambdas_of, strengths_of
from noisyor.moments import Moments
from noisyor.names import Indices
from noisyor.parameters import Floats
from noisyor.structure import Structure


class TwoDiseases(NamedTuple):
    """Moments of two diseases' symptoms, by numbers of symptoms, all others removed."""

    first: Indices
    """The symptoms of A; the first of them is not one of B's."""
    second: Indices
    """The symptoms of B; the first three of them are decomposed."""
    pair_excesses: Floats
    """c, symptoms x symptoms, symmetric."""
    triplets: Indices
    """Three symptoms each; the first is that of the first three symptoms of B."""
    triplet_excesses: Floats
    """k of each."""


class Found(NamedTuple):
    """The strengths t and priors of both diseases; one row for each point of the grid."""

    priors: Floats
    """Points x 2."""
    strengths: Floats
    """t, points x symptoms x 2, 0 where there is no edge."""
    distances: Floats
    """Of the third-order ratios from those observed; infinite where a point is impossible."""


class GridFit:
    """Fits a component of two diseases in the paper's way, if it `is_possible`."""

    def __init__(self, structure: Structure, component: Component, moments: Moments) -> None:
        self._structure, self._part = structure, component.alone(structure)
        self._roles = _roles(structure, self._part)
        self._observations = Observations(structure, self._part, moments)

    @property
    def is_possible(self) -> bool:
        """True if the component is of the kind that the paper describes."""
        return self._roles is not None

    def run(self, learned: Influences, without: int | None = None) -> Solution | None:
        """Search the grid; None if no point is possible. `without` leaves records out."""
        structure, component, roles = self._structure, self._part, self._roles
        observed = self._observations.observed(learned, without).values
        assert roles is not None
        symptoms = np.unique(component.pairs)
        local = np.full(structure.n_symptoms, -1)
        local[symptoms] = np.arange(len(symptoms))
        found = search_grid(_two_diseases(structure, component, roles, local, observed))
        if not np.isfinite(found.distances[0]):
            return None
        owners, of_edges = structure.edges[component.edges].T
        is_second = (owners != roles[0]).astype(np.int64)
        p, t = found.priors[0, is_second], found.strengths[0, local[of_edges], is_second]
        lambdas = lambdas_of(found.priors[0, (component.priors != roles[0]).astype(np.int64)])
        return Solution(np.sqrt(p * (1.0 - p)) * t, lambdas, float(found.distances[0]))

    def run_without(self, group: int, learned: Influences) -> Solution | None:
        """Search the grid without a group of records."""
        return self.run(learned, group)


def _roles(structure: Structure, component: Component) -> tuple[int, int, int] | None:
    """Return A, B and the number of a triplet of B, if the two diseases allow it."""
    is_whole = bool(component.kept_edges.all() and component.kept_priors.all())
    is_free = not len(component.fixed_edges) and len(component.priors) == 2
    if not is_whole or not is_free or len(component.diseases) != 2:
        return None
    for first, second in itertools.permutations(component.diseases.tolist()):
        mine, other = (structure.children(disease) for disease in (first, second))
        base = np.flatnonzero(np.isin(component.triplets, other).all(axis=1))
        if len(np.setdiff1d(mine, other)) and len(base):
            return first, second, int(base[0])
    return None


def _two_diseases(
    structure: Structure, component: Component, roles: tuple[int, int, int], local: Indices,
    observed: Floats,
) -> TwoDiseases:  # fmt: skip
    """Return the moments of the two diseases' symptoms, which `local` numbers anew."""
    first, second, base = roles
    mine, other = (local[structure.children(disease)] for disease in (first, second))
    n_symptoms, n_pairs = int(local.max()) + 1, len(component.pairs)
    excesses = np.zeros((n_symptoms, n_symptoms))
    a, b = local[component.pairs].T
    excesses[a, b] = excesses[b, a] = observed[:n_pairs]
    triplets, third = local[component.triplets], observed[n_pairs:]
    ranked = np.argsort(np.arange(len(triplets)) != base, kind="stable")[:300]
    of_first, of_second = _ahead(mine, np.setdiff1d(mine, other)[:1]), _ahead(other, triplets[base])
    return TwoDiseases(of_first, of_second, excesses, triplets[ranked], third[ranked])


def _ahead(symptoms: Indices, leading: Indices) -> Indices:
    """Return symptoms with some of them in front."""
    return np.concatenate([leading, np.setdiff1d(symptoms, leading)])


def search_grid(moments: TwoDiseases) -> Found:
    """Return the best point, as a row."""
    margin = 1e-3  # from 0 and 1
    low, high = np.full(2, margin), np.full(2, 1.0 - margin)
    best = None
    for _ in range(14):
        axes = [np.linspace(low[k], high[k], 61) for k in (0, 1)]
        p, f = (each.ravel() for each in np.meshgrid(*axes))
        found = try_points(moments, p, f)
        row = int(np.argmin(found.distances))
        if best is None or found.distances[row] < best.distances[0]:
            best = Found(*(component[row : row + 1] for component in found))
            center = np.array([p[row], f[row]])
        half = 0.4 * (high - low) / 2.0
        low, high = np.maximum(center - half, margin), np.minimum(center + half, 1.0 - margin)
    assert best is not None
    return best


def try_points(moments: TwoDiseases, priors: Floats, failures: Floats) -> Found:
    """Learn both diseases from each pair of values of p_A and f_Aa."""
    n = len(moments.pair_excesses)
    a, others = moments.first[0], moments.first[1:]
    t = np.zeros((len(priors), n, 2))
    t[:, a, 0] = strengths_of(priors, failures)
    q = (priors * (1.0 - priors))[:, np.newaxis]
    t[:, others, 0] = moments.pair_excesses[a, others] / (q * t[:, a, :1])
    with np.errstate(all="ignore"):
        p_b = _learn_second(moments, priors, t)
        both = np.column_stack([priors, p_b])
        predicted = _ratios(both, t, moments.triplets)
    x, y, z = moments.triplets.T
    c = moments.pair_excesses
    observed = 1.0 + c[x, y] + c[x, z] + c[y, z] + moments.triplet_excesses
    distances = ((predicted - observed) ** 2).sum(axis=1)
    is_possible = ((both > 0.0) & (both < 1.0)).all(axis=1) & (t >= 0.0).all(axis=(1, 2))
    return Found(both, t, np.where(is_possible & np.isfinite(distances), distances, np.inf))


def _learn_second(moments: TwoDiseases, priors: Floats, t: Floats) -> Floats:
    """Remove A, learn B from its first triplet and from pairs (Eq. 4, Eq. 6); return its prior."""
    x, y, z = moments.second[:3]
    c = moments.pair_excesses
    q = priors * (1.0 - priors)

    def without_first(i: int, j: int | Indices) -> Floats:
        own = q[:, np.newaxis] * t[:, [i], 0] * t[:, np.atleast_1d(j), 0]
        return np.asarray((1.0 + c[i, np.atleast_1d(j)]) / (1.0 + own) - 1.0)

    pairs = np.column_stack([without_first(x, y), without_first(x, z), without_first(y, z)])
    own = _ratios(priors[:, np.newaxis], t[:, :, :1], moments.triplets[:1])[:, 0]
    whole = 1.0 + c[x, y] + c[x, z] + c[y, z] + moments.triplet_excesses[0]
    third = whole / own - 1.0 - pairs.sum(axis=1)
    found = decompose_excesses(pairs, third)
    p_b = np.where(found.is_complex | found.is_degenerate, np.nan, found.priors)
    t[:, [x, y, z], 1] = strengths_of(p_b[:, np.newaxis], found.failures)
    others = moments.second[3:]
    q_b = (p_b * (1.0 - p_b))[:, np.newaxis]
    t[:, others, 1] = without_first(x, others) / (q_b * t[:, [x], 1])
    return np.asarray(p_b)


def _ratios(priors: Floats, t: Floats, triplets: Indices) -> Floats:
    """Return R of each triplet (columns) at each point (rows), over some diseases."""
    a, b, c = (t[:, column] for column in triplets.T)  # points x triplets x diseases
    p = priors[:, np.newaxis]
    q = p * (1.0 - p)
    terms = 1.0 + q * (a * b + a * c + b * c) - q * (1.0 - 2.0 * p) * a * b * c
    return np.asarray(np.prod(terms, axis=2))
