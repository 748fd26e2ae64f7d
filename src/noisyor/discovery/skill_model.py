"""The likelihood of a whole test: skills in all of their states, which occur by any distribution.

With strengths s >= 0 of the slip and of each skill that an item needs, in state D (1: lacking)

    P(right | D) = exp(-s_0 - sum_i s_i D_i)        P(D) = any chances that add up to 1

The derivatives of the log likelihood by log P(right | D) are sums of P(D | answers) over who
answered rightly, less those over who did not, times the odds of a right answer. All parameters
climb together (L-BFGS), from where an earlier fit has left them.
"""

from typing import Any, NamedTuple

import numpy as np

from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Floats

LARGEST, SMALLEST = 8.0, 1e-6
"""-log f of a skill without which an item is never answered rightly; and of the rarest slip."""
NEW = 0.2
"""Strength with which a skill begins that an item did not need before."""
MAX_ITER = 200
SETTLED = 1e-8
"""Share of the log likelihood that a step gains at least."""


class SkillFit(NamedTuple):
    """Parameters of a test, and how well they describe the answers."""

    log_likelihood: float
    chances: Floats
    """Of each state of the skills."""
    strengths: Floats
    """Items x (the slip, skills): -log f; 0 where the item does not need the skill."""

    @property
    def effects(self) -> Floats:
        """1 - r* of each skill: items x skills."""
        return np.asarray(-np.expm1(-self.strengths[:, 1:]))

    @classmethod
    def of(cls, network: NoisyOrNetwork) -> "SkillFit":
        """Return what a network says, however its diseases occur together."""
        structure = network.structure
        on = states_of(structure.n_diseases)[:, np.newaxis] > 0.0
        weights, priors = network.components.weights, network.components.priors
        chances = np.prod(np.where(on, priors[np.newaxis], 1.0 - priors[np.newaxis]), axis=2)
        strengths = np.zeros((structure.n_symptoms, structure.n_diseases + 1))
        strengths[:, 0] = -np.log1p(-np.clip(network.leaks, 1e-9, 1.0 - 1e-9))
        diseases, symptoms = structure.edges.T
        strengths[symptoms, diseases + 1] = -np.log(np.maximum(network.failures, 1e-9))
        return cls(float("nan"), np.maximum(chances @ weights, 1e-12), strengths)


def states_of(n_skills: int) -> Floats:
    """Return all states of some skills, a row each: 1 where one is lacking."""
    return ((np.arange(1 << n_skills)[:, np.newaxis] >> np.arange(n_skills)) & 1).astype(float)


def log_present(log_absent: Floats) -> Floats:
    """Return log P(present) for log P(absent)."""
    return np.asarray(np.log(-np.expm1(np.minimum(log_absent, -1e-12))))


class SkillModel:
    """The likelihood of all answers to a test, equal ones once."""

    def __init__(self, answers: Any) -> None:
        values = np.asarray(answers, dtype=float)
        coded = np.where(np.isnan(values), 2, values).astype(np.int8)
        rows, counts = np.unique(coded, axis=0, return_counts=True)
        self._wrong, self._right = (rows == 1).astype(float), (rows == 0).astype(float)
        self._counts = counts.astype(float)

    def log_likelihood(self, fit: SkillFit) -> float:
        """Return the log likelihood of all answers."""
        log_absent = -fit.strengths[:, 0] - states_of(fit.strengths.shape[1] - 1) @ (
            fit.strengths[:, 1:].T
        )
        return self._expected(log_absent, fit.chances)[0]

    def fit(self, needed: Booleans, start: SkillFit) -> SkillFit:
        """Climb to the maximum with some skills that each item needs: items x skills."""
        from scipy.optimize import minimize

        columns = np.column_stack([np.ones(len(start.chances)), states_of(needed.shape[1])])
        is_free = np.column_stack([np.ones(len(needed), dtype=np.bool_), needed])
        begun = np.where(is_free & (start.strengths <= 0.0), NEW, start.strengths)
        first = np.clip(begun[is_free], SMALLEST, LARGEST)
        n_free, n = len(first), float(self._counts.sum())

        def parameters(vector: Floats) -> tuple[Floats, Floats]:
            strengths = np.zeros(is_free.shape)
            strengths[is_free] = vector[:n_free]
            chances = np.exp(vector[n_free:] - vector[n_free:].max())
            return strengths, chances / chances.sum()

        def loss(vector: Floats) -> tuple[float, Floats]:
            strengths, chances = parameters(vector)
            log_absent = -columns @ strengths.T
            value, states, wrong, right = self._expected(log_absent, chances)
            odds = np.exp(log_absent - log_present(log_absent))
            by_strength = (wrong * odds - right).T @ columns
            slopes = np.concatenate([by_strength[is_free], states - n * chances])
            return -value / n, -slopes / n

        bounds = [(0.0, LARGEST)] * n_free + [(-20.0, 20.0)] * len(start.chances)
        for k in np.flatnonzero(np.nonzero(is_free)[1] == 0):
            bounds[k] = (SMALLEST, LARGEST)
        logits = np.log(np.maximum(start.chances, 1e-7))
        found = minimize(
            loss, np.concatenate([first, logits - logits.mean()]), jac=True, method="L-BFGS-B",
            bounds=bounds, options={"maxiter": MAX_ITER, "ftol": SETTLED, "gtol": 1e-7},
        )  # fmt: skip
        strengths, chances = parameters(found.x)
        return SkillFit(-float(found.fun) * n, chances, strengths)

    def _expected(
        self, log_absent: Floats, chances: Floats
    ) -> tuple[float, Floats, Floats, Floats]:
        """Return the log likelihood, persons in each state, and wrong and right answers in each."""
        logs = self._wrong @ log_present(log_absent).T + self._right @ log_absent.T
        logs += np.log(np.maximum(chances, 1e-300))
        highest = logs.max(axis=1, keepdims=True)
        shares = np.exp(logs - highest)
        sums = shares.sum(axis=1, keepdims=True)
        value = float(self._counts @ (np.log(sums) + highest)[:, 0])
        shares *= self._counts[:, np.newaxis] / sums
        return value, shares.sum(axis=0), shares.T @ self._wrong, shares.T @ self._right
