"""One weighted least-squares problem: what is observed, and what strengths and lambdas predict.

Strengths may become negative on the way: walls at 0 would hold many a descent far from the minimum.
A disease with all signs turned, lambda's too, predicts the same.
"""

import itertools
import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.learning.cleanup.kernels import normal_equations, predict
from noisyor.learning.decompose import priors_of
from noisyor.names import Indices

Floats = NDArray[np.float64]

STARTS, FOLLOWED = 8, 3
"""All starts take the first steps; only those that look best are followed to the end."""
SMALL, SMALL_STARTS = 60, (24, 24)
"""Up to so many unknowns: more starts, all followed, so that other explanations show."""
FIRST_STEPS = 25
SMALLEST_STRENGTH, LARGEST_STRENGTH, LARGEST_LAMBDA = 1e-5, 30.0, 1000.0
LARGEST_DAMPING = 1e8
USUAL_LAMBDA = 10.0
"""For a disease whose prior is not known."""
SLACK = 0.2
"""How far strengths, relatively, and lambdas that were learned may move when fitted along."""
RIDGE = 1e-10
"""Keeps the inverse finite where some directions cannot be known."""
NEAR_TWINS = 0.8
"""Diseases that share more than this part of their symptoms, but not all, are tried swapped."""
SAME_MINIMUM = 1e-3
"""Minima that differ by more than this part of them are two..."""
SAME_PLACE = 0.05
"""... and so are those in places that differ by more than this part."""


class Entries(NamedTuple):
    """Which diseases couple each set of symptoms."""

    offsets: Indices
    """The entries of set s are `offsets[s] : offsets[s + 1]`."""
    diseases: Indices
    edges: Indices
    """The edges from the disease to a, b and c; -1 where there is none."""


class End(NamedTuple):
    """Where a descent ends."""

    position: Floats
    misfit: float
    second: float = math.inf
    """The misfit of the next best minimum, where several starts were made."""


class Linearised(NamedTuple):
    """A problem close to its minimum."""

    position: Floats
    slopes: Floats
    inverse: Floats
    """Of the normal equations: the covariances, as if the moments were independent."""
    is_told: NDArray[np.bool_]
    """Whether any moment says anything of each unknown."""


@dataclass(frozen=True)
class Problem:
    """A position is the unknown strengths, and arcsinh(lambda / 2) of the unknown lambdas."""

    entries: Entries
    n_pairs: int
    """The first sets are pairs, the others triplets."""
    observed: Floats
    """c of pairs, k of triplets."""
    weights: Floats
    strengths: Floats
    """Of all edges as they were learned; 0 where they were not, and a last 0 for edges that are not
    there."""
    lambdas: Floats
    """Of all diseases as they were learned; NaN where they were not."""
    edges: Indices
    """The edges whose strengths are fitted; those that were learned stay near what they were."""
    priors: Indices
    """The diseases whose lambdas are fitted."""
    owners: Indices
    """The diseases of all edges."""
    symptoms: Indices
    """The symptoms of all edges."""
    is_kept: NDArray[np.bool_]
    """What of a position is asked for; the rest is fitted along."""
    tied: Indices
    """Edges whose failures are known, so that their strengths follow from fitted lambdas."""
    tied_failures: Floats
    enough: float
    """A descent ends when the misfit falls by less than this part of it."""
    most_steps: int
    """A descent ends after so many steps."""
    is_walled: bool = False
    """Whether strengths stay positive on the way."""

    @cached_property
    def columns(self) -> Indices:
        """The places of each entry's three strengths and its lambda; -1 where it is known."""
        of_edges = np.full(len(self.strengths), -1)
        of_edges[self.edges] = np.arange(len(self.edges))
        of_priors = np.full(len(self.lambdas), -1)
        of_priors[self.priors] = len(self.edges) + np.arange(len(self.priors))
        return np.column_stack([of_edges[self.entries.edges], of_priors[self.entries.diseases]])

    def restricted(self, diseases: Indices) -> tuple["Problem", Indices]:
        """Return the sets that no other diseases couple, and the places of their unknowns."""
        offsets = self.entries.offsets
        owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        is_foreign = ~np.isin(self.entries.diseases, diseases)
        kept = np.bincount(owners[is_foreign], minlength=len(offsets) - 1) == 0
        is_kept = kept[owners]
        sizes = np.diff(offsets)[kept]
        entries = Entries(
            np.concatenate([[0], np.cumsum(sizes)]),
            self.entries.diseases[is_kept],
            self.entries.edges[is_kept],
        )
        edges = np.intersect1d(self.edges, entries.edges)
        priors = np.intersect1d(self.priors, entries.diseases)
        places = np.concatenate(
            [
                np.searchsorted(self.edges, edges),
                len(self.edges) + np.searchsorted(self.priors, priors),
            ]
        )
        part = replace(
            self,
            entries=entries,
            n_pairs=int(kept[: self.n_pairs].sum()),
            observed=self.observed[kept],
            weights=self.weights[kept],
            edges=edges,
            priors=priors,
            is_kept=self.is_kept[places],
        )
        return part, places

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
        n_sets = max(len(self.entries.offsets) - 1, 1)
        n_couplers = max(len(self.entries.diseases) / n_sets, 1.0)
        pairs = self.observed[: self.n_pairs]
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
        """What was learned, as a position with NaN for the rest, and the weights that hold it."""
        strengths, lambdas = self.strengths[self.edges], self.lambdas[self.priors]
        spreads = np.concatenate([SLACK * strengths, np.full(len(lambdas), SLACK)])
        position = self.position(np.where(strengths > 0.0, strengths, np.nan), lambdas)
        with np.errstate(divide="ignore"):
            return position, np.where(np.isfinite(position), 1.0 / spreads**2, 0.0)

    def _inside(self, position: Floats) -> Floats:
        n, most = len(self.edges), math.asinh(LARGEST_LAMBDA / 2.0)
        least = SMALLEST_STRENGTH if self.is_walled else -LARGEST_STRENGTH
        strengths = np.clip(position[:n], least, LARGEST_STRENGTH)
        return np.concatenate([strengths, np.clip(position[n:], -most, most)])

    def oriented(self, position: Floats) -> tuple[Floats, Floats]:
        """Return strengths, positive, and lambdas."""
        strengths, lambdas = self.values(position)
        owners = self.owners[self.edges]
        sums = np.bincount(owners, strengths, minlength=len(self.lambdas))
        can_turn = np.isin(np.arange(len(sums)), self.priors)
        can_turn[self.owners[self.tied]] = False
        signs = np.where((sums < 0.0) & can_turn, -1.0, 1.0)
        oriented = np.maximum(strengths * signs[owners], SMALLEST_STRENGTH)
        return oriented, lambdas * signs[self.priors]

    def _asked_for(self, position: Floats) -> Floats:
        """Return what is kept of a position, twins in the order of their strengths."""
        strengths, lambdas = self.oriented(position)
        oriented = self.position(strengths, lambdas)
        owners = np.concatenate([self.owners[self.edges], self.priors])
        groups: dict[bytes, list[Floats]] = {}
        for disease in np.unique(owners).tolist():
            is_own = (owners == disease) & self.is_kept
            key = self.symptoms[self.edges[is_own[: len(self.edges)]]].tobytes()
            groups.setdefault(key, []).append(oriented[is_own])
        twins = [sorted(group, key=lambda own: float(own.sum())) for group in groups.values()]
        return np.concatenate([own for group in twins for own in group] or [np.empty(0)])

    def _are_one(self, one: End, other: End) -> bool:
        """Say whether two descents have ended in the same place."""
        a, b = self._asked_for(one.position), self._asked_for(other.position)
        return bool((np.abs(a - b) <= SAME_PLACE * (np.abs(a) + np.abs(b)) + 1e-3).all())

    # --- the descent ---

    def best_end(self) -> End:
        """Return the best of the minima that several random starts lead to."""
        rng = np.random.default_rng(0)
        n_starts, n_followed = SMALL_STARTS if len(self.is_kept) <= SMALL else (STARTS, FOLLOWED)
        starts = [self.usual_position(rng) for _ in range(n_starts)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            ends = list(pool.map(lambda start: self.descend(start, FIRST_STEPS), starts))
            ends.sort(key=lambda end: end.misfit)
            followed = pool.map(lambda end: self.descend(end.position), ends[:n_followed])
            ends = sorted(followed, key=lambda end: end.misfit)
            swapped = self._swapped(ends[0].position)
            ends += pool.map(self.descend, swapped)
        ends.sort(key=lambda end: end.misfit)
        floor = 1e-9 * float(self.weights @ self.observed**2)
        least = (1.0 + SAME_MINIMUM) * ends[0].misfit + floor
        # Of explanations that fit the same the one with the rarest diseases is taken.
        best = max((end for end in ends if end.misfit <= least), key=self._rarity)
        different = [
            end.misfit
            for end in ends
            if end is not best and (end.misfit > least or not self._are_one(best, end))
        ]
        return End(best.position, best.misfit, min(different, default=math.inf))

    def _swapped(self, position: Floats) -> list[Floats]:
        """Return a position with two diseases changed for each other that share most symptoms.

        Little tells such diseases apart, and no descent crosses from one to the other.
        """
        owners, symptoms = self.owners[self.edges], self.symptoms[self.edges]
        places = {disease: np.flatnonzero(owners == disease) for disease in self.priors.tolist()}
        found = []
        for one, other in itertools.combinations(self.priors.tolist(), 2):
            a, b = places[one], places[other]
            _, of_a, of_b = np.intersect1d(symptoms[a], symptoms[b], return_indices=True)
            n_shared = len(of_a)
            if NEAR_TWINS * max(len(a), len(b)) <= n_shared < max(len(a), len(b)):
                last = len(self.edges) + np.searchsorted(self.priors, [one, other])
                there, back = np.append(a[of_a], last[0]), np.append(b[of_b], last[1])
                swapped = position.copy()
                swapped[there], swapped[back] = position[back], position[there]
                found.append(swapped)
        return found

    def positive_end(self, end: End) -> End:
        """Return where a descent ends that goes on from another with strengths kept positive."""
        position = self.position(*self.oriented(end.position))
        if (position[: len(self.edges)] > SMALLEST_STRENGTH).all():
            return End(position, end.misfit)
        return replace(self, is_walled=True).descend(position, FIRST_STEPS)

    def _rarity(self, end: End) -> float:
        _, lambdas = self.oriented(end.position)
        return float(np.arcsinh(lambdas).sum().round(6))

    def descend(self, position: Floats, steps: int | None = None) -> End:
        """Return where Levenberg and Marquardt's steps end."""
        slopes = np.empty(self.columns.shape)
        damping = 1e-2
        rests = self._rests(position, slopes)
        misfit = self._misfit(position, rests)
        for _ in range(self.most_steps if steps is None else steps):
            before = misfit
            matrix, gradient = self._equations(position, rests, slopes)
            while damping <= LARGEST_DAMPING:
                moved = self._inside(position + _damped_move(matrix, gradient, damping))
                new_rests = self._rests(moved, slopes)
                new_misfit = self._misfit(moved, new_rests)
                if new_misfit < misfit:
                    break
                damping *= 4.0
            if not new_misfit < misfit:
                break
            position, misfit, rests = moved, new_misfit, new_rests
            damping = max(damping / 5.0, 1e-12)
            if before - misfit < self.enough * before:
                break
        return End(position, misfit)

    def linearised(self, position: Floats) -> "Linearised":
        """Return what the problem looks like close to its minimum."""
        slopes = np.empty(self.columns.shape)
        rests = self._rests(position, slopes)
        matrix, _ = self._equations(position, rests, slopes)
        matrix += np.tril(matrix, -1).T
        diagonal = np.diag(matrix)
        # What the moments do not feel at all must not make the inverse overflow.
        scales = np.sqrt(np.maximum(diagonal, RIDGE * diagonal.max(initial=RIDGE)))
        scaled = matrix / scales / scales[:, np.newaxis]
        scaled.flat[:: len(scaled) + 1] += RIDGE
        inverse = np.linalg.inv(scaled) / scales / scales[:, np.newaxis]
        return Linearised(position, slopes, inverse, diagonal > self._anchors[1])

    def step(self, at: "Linearised") -> End:
        """Return where one step leads from the minimum of a problem that is nearly the same."""
        rests = self._rests(at.position, np.empty(at.slopes.shape))
        _, gradient = self._equations(at.position, rests, at.slopes)
        return End(self._inside(at.position + at.inverse @ gradient), math.nan)

    def _equations(self, position: Floats, rests: Floats, slopes: Floats) -> tuple[Floats, Floats]:
        """Return the lower triangle of the normal equations, and their right side."""
        n, holds = len(position), self._anchors[1]
        matrix, gradient = np.zeros((n, n)), np.zeros(n)
        normal_equations(
            self.entries.offsets, self.columns, slopes, self.weights, rests, matrix, gradient
        )
        matrix.flat[:: n + 1] += holds
        return matrix, gradient - holds * self._moved(position)

    def _moved(self, position: Floats) -> Floats:
        """Return how far a position is from what was learned."""
        return np.nan_to_num(position - self._anchors[0])

    def misfit(self, position: Floats) -> float:
        """Return the weighted sum of squares at a position."""
        return self._misfit(position, self._rests(position, np.empty(self.columns.shape)))

    def _misfit(self, position: Floats, rests: Floats) -> float:
        held = float(self._anchors[1] @ self._moved(position) ** 2)
        return float(self.weights @ rests**2) + held

    def _rests(self, position: Floats, slopes: Floats) -> Floats:
        """Return what is observed less what is predicted, and write the slopes of the latter."""
        strengths, lambdas = self.strengths.copy(), np.nan_to_num(self.lambdas, nan=USUAL_LAMBDA)
        strengths[self.edges], lambdas[self.priors] = self.values(position)
        strengths[self.tied], slopes_of_tied = self._tied_strengths(lambdas)
        predicted = np.empty(len(self.observed))
        predict(
            self.entries.offsets, self.entries.edges, self.entries.diseases, self.n_pairs,
            strengths, lambdas, predicted, slopes,
        )  # fmt: skip
        if len(self.tied):
            by_lambda = np.zeros(len(strengths))
            by_lambda[self.tied] = slopes_of_tied
            slopes[:, 3] += (slopes[:, :3] * by_lambda[self.entries.edges]).sum(axis=1)
        return self.observed - predicted

    def _tied_strengths(self, lambdas: Floats) -> tuple[Floats, Floats]:
        """Return v = sqrt(q) t of known failures, and its slope by arcsinh(lambda / 2)."""
        of_owners = lambdas[self.owners[self.tied]]
        p, effect = priors_of(of_owners), 1.0 - self.tied_failures
        root, rest = np.sqrt(p * (1.0 - p)), 1.0 - p * effect
        slope = -(1.0 - 2.0 * p) * root / rest - 2.0 * root * p * (1.0 - p) * effect / rest**2
        return effect * root / rest, effect * slope


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
