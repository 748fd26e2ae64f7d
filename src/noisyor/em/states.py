"""Scores of records whose diseases are few: all their states, by products of matrices.

With P_c the probability of a state c of all diseases, for the person whose record it is, and l_c
the log probability of the findings given it,

    log F = log sum over c of P_c exp(l_c)

is the log evidence of the record, and each derivative of it the mean of that of log P_c + l_c over
the states, each with its probability v_c given the record (Fisher's identity). A record of 30
findings takes some thousand operations so, where pieces and components would take millions.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from noisyor.em.candidate_kernels import Seen
from noisyor.inference.flat import Booleans, Floats, Integers, Records
from noisyor.network import NoisyOrNetwork

MOST_DISEASES = 12
MOST_OPERATIONS = 2.0**37
"""Of a pass: distinct records x states x parameters."""
MOST_SLOPES = 2.0**24
"""Derivatives of the probabilities of states that are in memory."""


def all_states(n_diseases: int) -> Booleans:
    """Return which diseases are present in each state; the last one changes fastest.

    >>> all_states(2).astype(int).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    numbers = np.arange(2**n_diseases)[:, np.newaxis]
    return np.asarray((numbers >> np.arange(n_diseases)[::-1] & 1).astype(np.bool_))


def can_sum_states(
    n_diseases: int, n_items: int, n_causes: int, n_records: int, n_kinds: int
) -> bool:
    """Return True if all states of the diseases can be summed up, of so many distinct records.

    `n_items` is the number of failures and leaks, `n_causes` that of the parameters of the causes,
    `n_kinds` how many kinds of people there are.
    """
    if n_diseases > MOST_DISEASES:
        return False
    size, n_states = n_items + n_causes, 2.0**n_diseases
    return n_records * n_states * size <= MOST_OPERATIONS and (
        n_kinds * n_states * n_causes <= MOST_SLOPES
    )


class Items(NamedTuple):
    """Failures and leaks, and what they mean for the findings in every state."""

    states: Booleans
    symptoms: Any
    """The symptom of each failure, then of each leak."""
    log_absent: Floats
    """Log P(symptom is absent), states x symptoms."""
    slopes: Floats
    """Its derivatives by the failure or leak of this column, states x columns..."""
    curves: Floats
    """... and second derivatives, which are by one of them at a time."""

    @classmethod
    def of(cls, network: NoisyOrNetwork) -> "Items":
        """Return those of a network."""
        structure, f, leaks = network.structure, network.failures, network.leaks
        states = all_states(structure.n_diseases)
        owners, symptoms = structure.edges.T
        is_on = states[:, owners].astype(np.float64)
        log_absent = np.tile(np.log1p(-leaks), (len(states), 1))
        for edge, symptom in enumerate(symptoms.tolist()):
            log_absent[:, symptom] += is_on[:, edge] * np.log(max(f[edge], 1e-300))
        ones = np.ones((len(states), 1))
        slopes = np.concatenate([is_on * (1.0 - f), -ones * leaks], axis=1)
        curves = np.concatenate([-is_on * f * (1.0 - f), -ones * leaks * (1.0 - leaks)], axis=1)
        everything = np.concatenate([symptoms, np.arange(structure.n_symptoms)])
        return cls(states, everything, log_absent, slopes, curves)

    @property
    def log_present(self) -> Floats:
        """Log P(symptom is present), states x symptoms."""
        return np.log(np.maximum(-np.expm1(self.log_absent), 1e-300))

    @property
    def odds(self) -> Floats:
        """P(absent) / P(present), states x symptoms."""
        return np.exp(self.log_absent - self.log_present)


class StateShares(NamedTuple):
    """The probabilities of all states for each kind of people, with derivatives."""

    logs: Floats
    """Kinds x states."""
    by_log: Floats
    """Derivatives of the logarithms: kinds x states x parameters of the causes."""

    def mixed(self, starts: Integers, numbers: Integers, weights: Floats) -> "StateShares":
        """Return those of people who can be of several of these kinds, with some shares.

        Those of kind x can be `starts[x] : starts[x + 1]` of the others.
        """
        if len(numbers) == len(starts) - 1 and np.array_equal(numbers, np.arange(len(numbers))):
            return self
        logs, by_log = [], []
        for first, last in itertools.pairwise(starts.tolist()):
            here = numbers[first:last]
            parts = weights[first:last, np.newaxis] * np.exp(self.logs[here])
            total = np.maximum(parts.sum(axis=0), 1e-300)
            logs.append(np.log(total))
            by_log.append(np.einsum("xc,xcm->cm", parts / total, self.by_log[here]))
        return StateShares(np.array(logs), np.array(by_log))


class FindingTables(NamedTuple):
    """Some records with an entry for every symptom, 1 or 0."""

    present: Floats
    absent: Floats
    """Both are 0 where a finding is unknown."""
    weights: Floats

    @classmethod
    def of(cls, records: Records, start: int, end: int, n_symptoms: int) -> "FindingTables":
        """Return some of the records."""
        at = slice(records.offsets[start], records.offsets[end])
        rows = np.repeat(np.arange(end - start), np.diff(records.offsets[start : end + 1]))
        symptoms, is_present = records.symptoms[at], records.is_present[at]
        others_unknown = records.others_unknown[start:end]
        present = np.zeros((end - start, n_symptoms))
        absent = np.tile(1.0 - others_unknown[:, np.newaxis], (1, n_symptoms))
        absent[rows, symptoms] = ~is_present & others_unknown[rows]
        present[rows[is_present], symptoms[is_present]] = 1.0
        return cls(present, absent, records.weights[start:end])

    def logs(self, items: Items) -> Floats:
        """Return the log probability of each record's findings in each state."""
        return np.asarray(self.absent @ items.log_absent.T + self.present @ items.log_present.T)


def is_possible(seen: Seen, start: int, end: int, states: Booleans) -> Booleans | None:
    """Return which states agree with what was seen of each record; None where nothing was."""
    if not len(seen.known):
        return None
    places = np.uint64(1) << np.arange(states.shape[1], dtype=np.uint64)
    codes = (states * places).sum(axis=1, dtype=np.uint64)
    known, on = seen.known[start:end, :1], seen.on[start:end, :1]
    return np.asarray(((codes ^ on) & known) == 0)


class StateScores(NamedTuple):
    """What some records say of all parameters: causes, failures, leaks."""

    rows: Floats
    evidences: Floats


def score_states(
    dense: FindingTables, kinds: Integers, items: Items, shares: StateShares,
    possible: Booleans | None,
) -> StateScores:  # fmt: skip
    """Return the derivatives of the log evidences of some records, a row each, and these."""
    given, evidences = posterior_of_states(dense, kinds, items, shares, possible)
    n_causes, j = shares.by_log.shape[2], items.symptoms
    rows = np.empty((len(kinds), n_causes + len(j)))
    bounds = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), len(kinds)]
    for first, last in itertools.pairwise(bounds):
        if last > first:
            rows[first:last, :n_causes] = given[first:last] @ shares.by_log[kinds[first]]
    found = dense.absent[:, j] * (given @ items.slopes)
    found -= dense.present[:, j] * (given @ (items.odds[:, j] * items.slopes))
    rows[:, n_causes:] = found
    return StateScores(rows, evidences)


def posterior_of_states(
    dense: FindingTables, kinds: Integers, items: Items, shares: StateShares,
    possible: Booleans | None,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the probabilities of all states given each record, and the log evidences."""
    logs = dense.logs(items) + shares.logs[kinds]
    if possible is not None:
        logs[~possible] = -np.inf
    top = logs.max(axis=1, keepdims=True)
    given = np.exp(logs - top)
    total = given.sum(axis=1, keepdims=True)
    return given / total, (top + np.log(total))[:, 0]
