"""The joint fit: a component's strengths and lambdas, fitted to pairs and triplets at once.

Diseases that no singly coupled triplet distinguishes are fitted together, all learned ones removed
first. With v = sqrt(q) t and lambda = (1 - 2 p) / sqrt(q) of each disease,

    R(a,b)   = prod_i (1 + v_ia v_ib)
    R(a,b,c) = prod_i (1 + v_ia v_ib + v_ia v_ic + v_ib v_ic - lambda_i v_ia v_ib v_ic)

and c = R - 1 of pairs and k = R(a,b,c) - R(a,b) - R(a,c) - R(b,c) + 2 of triplets are matched by
weighted least squares (Levenberg and Marquardt) from several starts. Where two starts end in
different minima that fit alike, the records do not say which of two explanations is right.

Of a large component, each cluster of near-duplicate diseases is fitted first, to what no other
disease of the component couples; the fit of the whole starts from there.

Strengths may become negative on the way: bounds at 0 would stop many a descent far from the
minimum. A disease with all signs turned, lambda's too, predicts the same.
"""

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from noisyor.learning.cleanup.components import (
    Component,
    Observations,
    Observed,
    Solution,
    find_clusters,
)
from noisyor.learning.decompose import Influences, priors_of
from noisyor.learning.lambdas import USUAL_LAMBDA
from noisyor.learning.ratio_kernels import normal_equations, predict
from noisyor.moments import Moments
from noisyor.names import Indices
from noisyor.parallel import in_threads
from noisyor.parameters import Booleans, Floats
from noisyor.structure import Structure

SMALLEST_STRENGTH = 1e-5
FIRST_STEPS = 25
"""All starts take so many steps; only those that look best are followed to the end."""


class Minimum(NamedTuple):
    """Where a descent ends."""

    position: Floats
    misfit: float
    second: float = math.inf
    """The misfit of the next best minimum, where several starts were made."""


class Linearised(NamedTuple):
    """A problem close to its minimum."""

    position: Floats
    derivatives: Floats
    inverse: Floats
    """Of the normal equations: the covariances, as if the moments were independent."""
    is_informed: Booleans
    """True where some moment says something of an unknown."""


@dataclass(frozen=True)
class LeastSquares:
    """What is observed, and what strengths and lambdas predict.

    A position is the unknown strengths, and arcsinh(lambda / 2) of the unknown lambdas.
    """

    structure: Structure
    component: Component
    """Its edges and priors are the unknowns; those that were learned stay near what they were."""
    observed: Observed
    learned: Influences
    is_exact: bool
    """True if the moments are those of a network, not of records: then descents go on longer."""
    n_jobs: int | None = None
    is_bounded: bool = False
    """True if strengths stay positive on the way."""

    @property
    def edges(self) -> Indices:
        """The edges whose strengths are fitted."""
        return self.component.edges

    @property
    def priors(self) -> Indices:
        """The diseases whose lambdas are fitted."""
        return self.component.priors

    @cached_property
    def columns(self) -> Indices:
        """The unknowns that each coupling depends on, three strengths and a lambda; else -1."""
        couplings = self.observed.couplings
        of_edges = np.full(self.structure.n_edges + 1, -1)  # the last for edges that are not there
        of_edges[self.edges] = np.arange(len(self.edges))
        of_priors = np.full(self.structure.n_diseases, -1)
        of_priors[self.priors] = len(self.edges) + np.arange(len(self.priors))
        return np.column_stack([of_edges[couplings.edges], of_priors[couplings.diseases]])

    def restricted(self, diseases: Indices) -> tuple["LeastSquares", Indices]:
        """Return the sets that no other diseases couple, and the indices of their unknowns."""
        offsets = self.observed.couplings.offsets
        sets = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        is_foreign = ~np.isin(self.observed.couplings.diseases, diseases)
        kept = np.bincount(sets[is_foreign], minlength=len(offsets) - 1) == 0
        observed = self.observed.restricted(kept)
        edges = np.intersect1d(self.edges, observed.couplings.edges)
        priors = np.intersect1d(self.priors, observed.couplings.diseases)
        of_edges = np.searchsorted(self.edges, edges)
        of_priors = len(self.edges) + np.searchsorted(self.priors, priors)
        component = self.component.restricted(edges, priors)
        problem = replace(self, component=component, observed=observed)
        return problem, np.concatenate([of_edges, of_priors])

    # --- positions ---

    def position(self, strengths: Floats, lambdas: Floats) -> Floats:
        """Return strengths, and lambdas on a scale on which their steps are alike."""
        return np.concatenate([strengths, np.arcsinh(lambdas / 2.0)])

    def values(self, position: Floats) -> tuple[Floats, Floats]:
        """Return strengths and lambdas at a position."""
        n = len(self.edges)
        return position[:n], 2.0 * np.sinh(position[n:])

    def usual_position(self, rng: np.random.Generator | None = None) -> Floats:
        """Return strengths that explain the usual pair, or some around them."""
        observed = self.observed
        n_sets = max(len(observed.values), 1)
        n_couplers = max(len(observed.couplings.diseases) / n_sets, 1.0)
        pairs = observed.values[: observed.n_pairs]
        usual = math.sqrt(max(float(np.median(pairs)) if len(pairs) else 0.0, 1e-6) / n_couplers)
        strengths, lambdas = np.full(len(self.edges), usual), np.full(len(self.priors), 6.0)
        if rng is not None:
            strengths = usual * rng.lognormal(0.0, 0.7, len(self.edges))
            lambdas = rng.uniform(1.0, 12.0, len(self.priors))
        anchors, _ = self._anchors
        start = self.position(strengths, lambdas)
        return np.where(np.isfinite(anchors), anchors, start)

    @cached_property
    def _anchors(self) -> tuple[Floats, Floats]:
        """What was learned, as a position, else NaN; and the weights that keep it there."""
        strengths = self.learned.strengths[self.edges]
        lambdas = self.learned.lambdas[self.priors]
        # Relatively so far strengths that were learned may move, and their lambdas.
        slack = 0.2
        spreads = np.concatenate([slack * strengths, np.full(len(lambdas), slack)])
        position = self.position(np.where(strengths > 0.0, strengths, np.nan), lambdas)
        with np.errstate(divide="ignore"):
            return position, np.where(np.isfinite(position), 1.0 / spreads**2, 0.0)

    def _inside(self, position: Floats) -> Floats:
        n, most = len(self.edges), math.asinh(1000.0 / 2.0)
        strengths = np.clip(position[:n], SMALLEST_STRENGTH if self.is_bounded else -30.0, 30.0)
        return np.concatenate([strengths, np.clip(position[n:], -most, most)])

    def oriented(self, position: Floats) -> tuple[Floats, Floats]:
        """Return strengths, positive, and lambdas."""
        strengths, lambdas = self.values(position)
        owners = self.structure.edges[self.edges, 0]
        sums = np.bincount(owners, strengths, minlength=self.structure.n_diseases)
        can_turn = np.isin(np.arange(len(sums)), self.priors)
        can_turn[self.structure.edges[self.component.fixed_edges, 0]] = False
        signs = np.where((sums < 0.0) & can_turn, -1.0, 1.0)
        oriented = np.maximum(strengths * signs[owners], SMALLEST_STRENGTH)
        return oriented, lambdas * signs[self.priors]

    def _asked_for(self, position: Floats) -> Floats:
        """Return what is kept of a position, like diseases in the order of their strengths."""
        strengths, lambdas = self.oriented(position)
        oriented = self.position(strengths, lambdas)
        diseases, symptoms = self.structure.edges[self.edges].T
        owners, is_kept = np.concatenate([diseases, self.priors]), self.component.is_kept
        groups: dict[bytes, list[Floats]] = {}
        for disease in np.unique(owners).tolist():
            is_own = (owners == disease) & is_kept
            key = symptoms[is_own[: len(self.edges)]].tobytes()
            groups.setdefault(key, []).append(oriented[is_own])
        alike = [sorted(group, key=lambda own: float(own.sum())) for group in groups.values()]
        return np.concatenate([own for group in alike for own in group] or [np.empty(0)])

    def _are_one(self, one: Minimum, other: Minimum) -> bool:
        """Return True if two descents have ended in the same minimum."""
        a, b = self._asked_for(one.position), self._asked_for(other.position)
        return bool((np.abs(a - b) <= 0.05 * (np.abs(a) + np.abs(b)) + 1e-3).all())

    # --- the descent ---

    def best_end(self) -> Minimum:
        """Return the best of the minima that several random starts lead to."""
        rng = np.random.default_rng(0)
        # Of few unknowns all starts are followed, so that other explanations show.
        n_starts, n_followed = (24, 24) if len(self.component.is_kept) <= 60 else (8, 3)
        starts = [self.usual_position(rng) for _ in range(n_starts)]
        ends = self._ends(starts, FIRST_STEPS)[:n_followed]
        ends = self._ends([end.position for end in ends])
        ends += self._ends(self._swapped(ends[0].position))
        ends.sort(key=lambda end: end.misfit)
        floor = 1e-9 * float(self.observed.weights @ self.observed.values**2)
        least = (1.0 + 1e-3) * ends[0].misfit + floor
        # Of explanations that fit the same the one with the rarest diseases is taken.
        best = max((end for end in ends if end.misfit <= least), key=self._rarity)
        others = (end for end in ends if end.misfit > least or not self._are_one(best, end))
        second = min((end.misfit for end in others if end is not best), default=math.inf)
        return Minimum(best.position, best.misfit, second)

    def _ends(self, starts: list[Floats], steps: int | None = None) -> list[Minimum]:
        """Return where descents end, the best first."""
        ends = in_threads(partial(self.descend, steps=steps), starts, self.n_jobs)
        return sorted(ends, key=lambda end: end.misfit)

    def _swapped(self, position: Floats) -> list[Floats]:
        """Return a position with two diseases changed for each other that share most symptoms.

        Little distinguishes such diseases, and no descent crosses from one to the other.
        """
        owners, symptoms = self.structure.edges[self.edges].T
        own = {disease: np.flatnonzero(owners == disease) for disease in self.priors.tolist()}
        found = []
        for one, other in itertools.combinations(self.priors.tolist(), 2):
            a, b = own[one], own[other]
            _, of_a, of_b = np.intersect1d(symptoms[a], symptoms[b], return_indices=True)
            larger = max(len(a), len(b))
            if 0.8 * larger <= len(of_a) < larger:
                last = len(self.edges) + np.searchsorted(self.priors, [one, other])
                there, back = np.append(a[of_a], last[0]), np.append(b[of_b], last[1])
                swapped = position.copy()
                swapped[there], swapped[back] = position[back], position[there]
                found.append(swapped)
        return found

    def positive_end(self, end: Minimum) -> Minimum:
        """Return where a descent ends that goes on from another with strengths kept positive."""
        position = self.position(*self.oriented(end.position))
        if (position[: len(self.edges)] > SMALLEST_STRENGTH).all():
            return Minimum(position, end.misfit)
        return replace(self, is_bounded=True).descend(position, FIRST_STEPS)

    def _rarity(self, end: Minimum) -> float:
        _, lambdas = self.oriented(end.position)
        return float(np.arcsinh(lambdas).sum().round(6))

    def descend(self, position: Floats, steps: int | None = None) -> Minimum:
        """Return where Levenberg and Marquardt's steps end."""
        tolerance, most_steps = (1e-12, 400) if self.is_exact else (1e-5, 100)
        derivatives, damping = np.empty(self.columns.shape), 1e-2
        residuals = self._residuals(position, derivatives)
        misfit = self._misfit(position, residuals)
        for _ in range(most_steps if steps is None else steps):
            before = misfit
            matrix, gradient = self._equations(position, residuals, derivatives)
            if self.is_bounded:
                matrix, gradient = self._held(position, matrix, gradient)
            while damping <= 1e8:
                moved = self._inside(position + _damped_move(matrix, gradient, damping))
                new_residuals = self._residuals(moved, derivatives)
                new_misfit = self._misfit(moved, new_residuals)
                if new_misfit < misfit:
                    break
                damping *= 4.0
            if not new_misfit < misfit:
                break
            position, misfit, residuals = moved, new_misfit, new_residuals
            damping = max(damping / 5.0, 1e-12)
            if before - misfit < tolerance * before:
                break
        return Minimum(position, misfit)

    def _held(self, position: Floats, matrix: Floats, gradient: Floats) -> tuple[Floats, Floats]:
        """Return equations in which strengths stay that are at their bound and would go beyond it.

        Moved with the others and clipped, they would spoil nearly every step.
        """
        n = len(self.edges)
        is_held = np.zeros(len(position), dtype=np.bool_)
        is_held[:n] = (position[:n] <= SMALLEST_STRENGTH) & (gradient[:n] <= 0.0)
        matrix[is_held] = matrix[:, is_held] = 0.0
        matrix[is_held, is_held] = 1.0
        return matrix, np.where(is_held, 0.0, gradient)

    def linearised(self, position: Floats) -> Linearised:
        """Return what the problem looks like close to its minimum."""
        derivatives = np.empty(self.columns.shape)
        residuals = self._residuals(position, derivatives)
        matrix, _ = self._equations(position, residuals, derivatives)
        matrix += np.tril(matrix, -1).T
        diagonal = np.diag(matrix)
        # What the moments do not depend on must not make the inverse overflow.
        ridge = 1e-10
        scales = np.sqrt(np.maximum(diagonal, ridge * diagonal.max(initial=ridge)))
        scaled = matrix / scales / scales[:, np.newaxis]
        scaled.flat[:: len(scaled) + 1] += ridge
        inverse = np.linalg.inv(scaled) / scales / scales[:, np.newaxis]
        return Linearised(position, derivatives, inverse, diagonal > self._anchors[1])

    def step(self, at: Linearised) -> Minimum:
        """Return where one step leads from the minimum of a problem that is nearly the same."""
        residuals = self._residuals(at.position, np.empty(at.derivatives.shape))
        _, gradient = self._equations(at.position, residuals, at.derivatives)
        return Minimum(self._inside(at.position + at.inverse @ gradient), math.nan)

    def _equations(
        self, position: Floats, residuals: Floats, derivatives: Floats
    ) -> tuple[Floats, Floats]:
        """Return the lower triangle of the normal equations, and their right side."""
        n, anchored = len(position), self._anchors[1]
        offsets, weights = self.observed.couplings.offsets, self.observed.weights
        matrix, gradient = normal_equations(
            offsets, self.columns, derivatives, weights, residuals, n
        )
        matrix.flat[:: n + 1] += anchored
        return matrix, gradient - anchored * self._moved(position)

    def _moved(self, position: Floats) -> Floats:
        """Return how far a position is from what was learned."""
        return np.nan_to_num(position - self._anchors[0])

    def misfit(self, position: Floats) -> float:
        """Return the weighted sum of squares at a position."""
        return self._misfit(position, self._residuals(position, np.empty(self.columns.shape)))

    def _misfit(self, position: Floats, residuals: Floats) -> float:
        from_anchors = float(self._anchors[1] @ self._moved(position) ** 2)
        return float(self.observed.weights @ residuals**2) + from_anchors

    def _residuals(self, position: Floats, derivatives: Floats) -> Floats:
        """Return what is observed less what is predicted, and write the latter's derivatives."""
        couplings, fixed = self.observed.couplings, self.component.fixed_edges
        strengths = np.append(self.learned.strengths, 0.0)
        lambdas = np.nan_to_num(self.learned.lambdas, nan=USUAL_LAMBDA)
        strengths[self.edges], lambdas[self.priors] = self.values(position)
        strengths[fixed], of_fixed = self._strengths_of_fixed(lambdas)
        predicted = predict(couplings, self.observed.n_pairs, strengths, lambdas, derivatives)
        if len(fixed):
            by_lambda = np.zeros(len(strengths))
            by_lambda[fixed] = of_fixed
            derivatives[:, 3] += (derivatives[:, :3] * by_lambda[couplings.edges]).sum(axis=1)
        return self.observed.values - predicted

    def _strengths_of_fixed(self, lambdas: Floats) -> tuple[Floats, Floats]:
        """Return v = sqrt(q) t of fixed failures, and its derivative by arcsinh(lambda / 2)."""
        of_owners = lambdas[self.structure.edges[self.component.fixed_edges, 0]]
        p, effect = priors_of(of_owners), 1.0 - self.component.fixed_failures
        root, left = np.sqrt(p * (1.0 - p)), 1.0 - p * effect
        derivative = -(1.0 - 2.0 * p) * root / left - 2.0 * root * p * (1.0 - p) * effect / left**2
        return effect * root / left, effect * derivative


def _damped_move(matrix: Floats, gradient: Floats, damping: float) -> Floats:
    """Solve the damped normal equations, of which the lower triangle is given."""
    from scipy.linalg import cho_factor, cho_solve

    diagonal = np.diag(matrix)
    damped = matrix.copy()
    damped.flat[:: len(matrix) + 1] += damping * diagonal + 1e-12 * diagonal.max(initial=1e-300)
    try:
        factor = cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:  # rounding has made it indefinite
        return np.zeros(len(gradient))
    return np.asarray(cho_solve(factor, gradient, check_finite=False))


# --- the fit of a component ---


class JointFit:
    """Fits one component to moments, given what was learned of all other diseases."""

    def __init__(
        self, structure: Structure, component: Component, moments: Moments,
        n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.component, self._structure = component, structure
        self._is_exact, self._n_jobs = moments.is_exact, n_jobs
        self._observations = Observations(structure, component, moments)

    def run(self, learned: Influences) -> Solution:
        """Fit the component, from several starts."""
        problem = self._problem(learned)
        clusters = find_clusters(self._structure, self.component.members)
        if len(clusters) == 1:
            end = problem.best_end()
            second = end.second
        else:
            start, more = _fit_clusters(problem, clusters)
            end = problem.descend(start, None if self._is_exact else 10)
            second = end.misfit + more
        found = _solution(problem, problem.positive_end(end))
        return found._replace(second=max(second, found.misfit))

    def judged(self, found: Solution, learned: Influences) -> Solution:
        """Return a solution with its misfit and what is weakly identified.

        What no moment informs of is no longer kept.
        """
        problem = self._problem(learned)
        position = problem.position(found.strengths, found.lambdas)
        self._near = problem.linearised(position)
        is_informed = np.split(self._near.is_informed, [len(self.component.edges)])
        self.component = self.component._replace(
            kept_edges=self.component.kept_edges & is_informed[0],
            kept_priors=self.component.kept_priors & is_informed[1],
        )
        misfit = problem.misfit(position)
        return found._replace(misfit=misfit, weakly_identified=self._weakly_identified(found))

    def run_without(self, group: int, learned: Influences) -> Solution:
        """Fit the component without a group of records: a step from what was judged."""
        problem = self._problem(learned, group)
        return _solution(problem, problem.step(self._near))

    def _problem(self, learned: Influences, without: int | None = None) -> LeastSquares:
        observed = self._observations.observed(learned, without)
        return LeastSquares(
            self._structure, self.component, observed, learned, self._is_exact, self._n_jobs
        )

    def _weakly_identified(self, found: Solution) -> Indices:
        """Return the diseases of clusters in which the moments say too little of one.

        As if the moments were independent, which flatters.
        """
        component, n = self.component, len(found.strengths)
        errors = np.sqrt(np.maximum(np.diag(self._near.inverse), 0.0))
        of_strengths, of_lambdas = errors[:n] / found.strengths, errors[n:]
        owners = self._structure.edges[component.edges, 0]
        weak = [component.diseases[:0]]
        for cluster in find_clusters(self._structure, component.diseases):
            is_in = component.kept_edges & np.isin(owners, cluster)
            of_each = [of_strengths[is_in & (owners == i)] for i in np.unique(owners[is_in])]
            priors = of_lambdas[component.kept_priors & np.isin(component.priors, cluster)]
            # Too little: the usual relative error of strengths, the error of arcsinh(lambda / 2).
            if any(np.median(each) > 0.25 for each in of_each) or (priors > 0.5).any():
                weak.append(cluster)  # what one disease does not explain, another does
        return np.concatenate(weak)


def _solution(problem: LeastSquares, end: Minimum) -> Solution:
    return Solution(*problem.oriented(end.position), end.misfit)


def _fit_clusters(problem: LeastSquares, clusters: list[Indices]) -> tuple[Floats, float]:
    """Return the best fits of all clusters, and by how much the next best of any is worse."""
    position = problem.usual_position()
    more = math.inf
    for cluster in clusters:
        smaller, unknowns = problem.restricted(cluster)
        end = smaller.best_end()
        position[unknowns] = end.position
        more = min(more, end.second - end.misfit)
    return position, more
