"""EM where all states of few causes are summed up for all records at once, as matrix products.

With N states D of the causes, a_j(D) = P(symptom j absent | D), records X and the posteriors
E (records x states), the expected counts of section 7's EM are those of

    E = softmax(X log((1 - a) / a)' + sum_j log a_j + log P(D))        G = D' (X' E / (1 - a)')'

where G_ij is the sum of E[d_i / P(j present | D)] over the records in which j is present: an edge
has caused (1 - f_ij) G_ij of them. Where an edge is not allowed f is 1 and stays so.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.findings import Findings
from noisyor.inference.flat import distinct_records
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Floats
from noisyor.structure import Structure

Singles = NDArray[np.float32]

MOST_CAUSES = 12
"""Causes whose states are summed up: of more there are too many."""
AT_ONCE = 4096
"""States x records are held in memory for so many records at a time."""
WEAK = 1.0
"""Cases without a finding that are added to each edge, so that what nothing speaks for dies."""
NEVER = 1e-7


class CauseMatrix(NamedTuple):
    """Parameters of causes that may cause anything."""

    priors: Floats
    failures: Floats
    """Causes x symptoms; 1 where there is no edge."""
    leaks: Floats

    @property
    def strengths(self) -> Floats:
        """1 - f."""
        return np.asarray(1.0 - self.failures)

    def at(self, kept: NDArray[np.intp]) -> "CauseMatrix":
        """Return some of the causes."""
        return CauseMatrix(self.priors[kept], self.failures[kept], self.leaks)

    def network(self, names: list[str], symptoms: tuple[str, ...]) -> NoisyOrNetwork:
        """Return them as a network, with an edge wherever f is below 1."""
        is_edge = self.failures < 1.0
        structure = Structure(names, symptoms, np.argwhere(is_edge))
        return NoisyOrNetwork(structure, self.priors, self.failures[is_edge], self.leaks)

    @classmethod
    def of(cls, network: NoisyOrNetwork) -> "CauseMatrix":
        """Return the causes of a network."""
        structure = network.structure
        failures = np.ones((structure.n_diseases, structure.n_symptoms))
        failures[structure.edges[:, 0], structure.edges[:, 1]] = network.failures
        return cls(network.priors.copy(), failures, network.leaks.copy())


class Ascended(NamedTuple):
    """Where EM has led."""

    causes: CauseMatrix
    log_likelihood: float
    without: Floats
    """The log likelihood without each cause, all else as it is."""
    used: Floats
    """Cases of each cause in which it alone, of all causes, explains the record."""


class DenseRecords:
    """Records as matrices, equal ones once."""

    def __init__(self, findings: Findings) -> None:
        records = distinct_records(findings)
        shape = len(records.weights), findings.structure.n_symptoms
        rows = np.repeat(np.arange(shape[0]), np.diff(records.offsets))
        self.present, self.unknown = (np.zeros(shape, dtype=np.float32) for _ in range(2))
        self.present[rows[records.is_present], records.symptoms[records.is_present]] = 1.0
        self.unknown[rows[~records.is_present], records.symptoms[~records.is_present]] = 1.0
        self.weights = records.weights
        self.has_unknown = bool(self.unknown.any())

    @property
    def n_records(self) -> float:
        """How many records there are, equal ones counted."""
        return float(self.weights.sum())

    def thinned(self, n: int, rng: np.random.Generator) -> "DenseRecords":
        """Return about so many of them, chosen at random."""
        share = n / max(self.n_records, 1.0)
        if share >= 1.0:
            return self
        weights = rng.binomial(self.weights.astype(np.int64), share).astype(float)
        kept = np.flatnonzero(weights)
        other = object.__new__(DenseRecords)
        other.present, other.unknown = self.present[kept], self.unknown[kept]
        other.weights, other.has_unknown = weights[kept], self.has_unknown
        return other

    def frequencies(self) -> Floats:
        """Return how often each symptom is present, where it is known."""
        known = self.weights @ (1.0 - self.unknown)
        return np.asarray((self.weights @ self.present) / np.maximum(known, 1.0))


class _Sums(NamedTuple):
    """What an E-step finds."""

    log_likelihood: float
    without: Floats
    states: Floats
    """Records in each state."""
    given: Floats
    """Symptoms x states: records in each state in which the symptom is present, / P(present)."""
    at_risk: Floats
    """Causes x symptoms: cases in which the symptom is known."""


class DenseEM:
    """EM over some records."""

    def __init__(self, records: DenseRecords) -> None:
        self.records = records

    def climb(self, causes: CauseMatrix, max_iter: int, tol: float = 1e-6) -> Ascended:
        """Make steps until the log likelihood hardly rises."""
        last = -np.inf
        for number in range(max_iter + 1):
            sums = self._expect(causes)
            is_settled = sums.log_likelihood - last < tol * abs(sums.log_likelihood)
            if number == max_iter or is_settled:
                break
            last = sums.log_likelihood
            causes = self._maximised(causes, sums)
        on = _states(len(causes.priors))
        alone = on[on.sum(axis=1) == 1].T @ sums.states[on.sum(axis=1) == 1]
        return Ascended(causes, sums.log_likelihood, sums.without, np.asarray(alone))

    def _maximised(self, causes: CauseMatrix, sums: _Sums) -> CauseMatrix:
        n, on = self.records.n_records, _states(len(causes.priors))
        cases = sums.states @ on
        caused = causes.strengths * (sums.given @ on).T
        is_edge = causes.failures < 1.0
        failures = np.clip(1.0 - caused / (sums.at_risk + WEAK), 1e-3, 1.0 - NEVER)
        leaks = causes.leaks * sums.given.sum(axis=1) / np.maximum(self._known(), 1.0)
        return CauseMatrix(
            np.clip((cases + 0.1 * WEAK) / (n + WEAK), 1e-5, 0.95),
            np.where(is_edge, failures, 1.0),
            np.clip(leaks, 1e-5, 0.9),
        )

    def _known(self) -> Floats:
        return np.asarray(self.records.weights @ (1.0 - self.records.unknown))

    def _expect(self, causes: CauseMatrix) -> _Sums:
        """Sum over all states, for some records after the other."""
        on, records = _states(len(causes.priors)), self.records
        log_absent = on @ np.log(causes.failures) + np.log1p(-causes.leaks)
        present = np.maximum(-np.expm1(log_absent), 1e-12)
        log_odds = (np.log(present) - log_absent).T.astype(np.float32)
        log_prior = on @ np.log(causes.priors) + (1.0 - on) @ np.log1p(-causes.priors)
        base = (log_prior + log_absent.sum(axis=1)).astype(np.float32)
        k = len(causes.priors)
        total, without = 0.0, np.zeros(k)
        states, given = np.zeros(len(on)), np.zeros((log_odds.shape[0], len(on)))
        unknown_states = np.zeros_like(given) if records.has_unknown else None
        for first in range(0, len(records.weights), AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            here, weights = records.present[rows], records.weights[rows]
            scores = here @ log_odds + base
            if unknown_states is not None:
                scores -= records.unknown[rows] @ log_absent.T.astype(np.float32)
            highest = scores.max(axis=1, keepdims=True)
            chances = np.exp(scores - highest)
            sums = chances.sum(axis=1, dtype=np.float64)
            total += float(weights @ (np.log(sums) + highest[:, 0]))
            absent = chances @ (1.0 - on).astype(np.float32)
            with np.errstate(divide="ignore"):
                without += weights @ (np.log(np.maximum(absent, 1e-30)) + highest)
            chances *= (weights / sums).astype(np.float32)[:, np.newaxis]
            states += chances.sum(axis=0, dtype=np.float64)
            given += here.T @ chances
            if unknown_states is not None:
                unknown_states += records.unknown[rows].T @ chances
        without -= records.n_records * np.log1p(-causes.priors)
        at_risk = np.repeat((states @ on)[:, np.newaxis], log_odds.shape[0], axis=1)
        if unknown_states is not None:
            at_risk -= (unknown_states @ on).T
        return _Sums(total, without, states, given / present.T, at_risk)


def _states(n_causes: int) -> Floats:
    """Return all states of some causes, a row each."""
    return ((np.arange(1 << n_causes)[:, np.newaxis] >> np.arange(n_causes)) & 1).astype(float)
