"""Causes from quartets: a start for EM (after Jernite, Halpern and Sontag 2013).

Four symptoms that one cause couples alone have c_xy = v_x v_y for each two of them, with strengths
v = sqrt(p (1 - p)) t (`quartets`); so each strength follows from three pairs, v_x^2 = c_xy c_xz /
c_yz. Quartets are looked for around the two symptoms that are coupled most, and tested; the one
that passes, and is coupled most, is the anchor of a cause. Any other symptom j has v_j = c_xj / v_x
for each anchor x; another cause of both can only make that larger, so the least of the four is
taken. What the cause explains is taken off, and the next one is looked for.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from noisyor.discovery.pair_factors import PairRatios
from noisyor.discovery.quartets import check_quartets
from noisyor.findings import Findings
from noisyor.moments import MomentPlan, count_moments
from noisyor.names import Indices
from noisyor.parameters import Floats

N_NEAR = 10
"""Symptoms from which quartets around a pair are made."""
LEVEL = 0.01
"""Quartets with a smaller p-value are coupled by more than one cause."""
CLEAR = 4.0
"""Standard errors from which a pair is coupled."""
MOST_CHOSEN = 3
"""A start begins with one of so many pairs, so that starts differ."""


class QuartetStart(NamedTuple):
    """Looks for causes around quartets in some records."""

    findings: Findings
    ratios: PairRatios
    n_jobs: int | None

    def strengths(self, n_causes: int, rng: np.random.Generator) -> Floats:
        """Return strengths of up to so many causes, causes x symptoms."""
        left = self.ratios.values.copy()
        found: list[Floats] = []
        while len(found) < n_causes:
            pair = self._seed_pair(left, rng)
            if pair is None:
                break
            anchors = self._anchors(left, pair)
            strengths = _strengths(np.expm1(np.maximum(left, 0.0)), anchors)
            left -= np.log1p(np.outer(strengths, strengths))
            left[np.ix_(anchors, anchors)] = np.minimum(left[np.ix_(anchors, anchors)], 0.0)
            np.fill_diagonal(left, 0.0)
            found.append(strengths)
        return np.array(found).reshape(len(found), len(left))

    def _seed_pair(self, left: Floats, rng: np.random.Generator) -> tuple[int, int] | None:
        """Return two symptoms that are clearly coupled: one of the clearest pairs."""
        scores = np.triu(left * np.sqrt(self.ratios.weights), 1)
        best = np.argsort(-scores, axis=None)[:MOST_CHOSEN]
        best = best[scores.ravel()[best] > CLEAR]
        if not len(best):
            return None
        a, b = divmod(int(rng.choice(best)), len(left))
        return a, b

    def _anchors(self, left: Floats, pair: tuple[int, int]) -> Indices:
        """Return the quartet around a pair that is coupled most, of those that pass the test."""
        both = np.minimum(left[pair[0]], left[pair[1]])
        both[list(pair)] = -np.inf
        near = np.argsort(-both)[:N_NEAR].tolist()
        sets = np.sort([[*pair, *two] for two in combinations(near, 2)], axis=1)
        plan = MomentPlan(self.findings.structure, quartets=sets)
        tables = count_moments(self.findings, plan, n_jobs=self.n_jobs).quartet_tables()
        tests = check_quartets(tables)
        least = np.array(
            [left[np.ix_(four, four)][~np.eye(4, dtype=bool)].min() for four in plan.quartets]
        )
        passes = tests.is_coupled & (tests.p_values > LEVEL)
        # Without one that passes, the one that is nearest to it.
        order = np.lexsort((-least if passes.any() else -tests.p_values, ~passes))
        return np.asarray(plan.quartets[order[0]])


def _strengths(excesses: Floats, anchors: Indices) -> Floats:
    """Return strengths of a cause of all symptoms, from those of four that it couples."""
    c = np.maximum(excesses[np.ix_(anchors, anchors)], 1e-6)
    own = np.empty(4)
    for x in range(4):
        y, z = (np.array(each) for each in zip(*combinations(set(range(4)) - {x}, 2), strict=True))
        own[x] = np.sqrt(np.median(c[x, y] * c[x, z] / c[y, z]))
    found = np.asarray((excesses[anchors] / own[:, np.newaxis]).min(axis=0))
    found[anchors] = own
    return found
