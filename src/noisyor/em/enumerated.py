"""The observed information where diseases occur together, by enumerating their states.

Information that is the sum of squared scores (`MixedExpectation.score`) is about that of the second
derivatives if the network is right and records are many. Of small shares, and of records that the
network does not quite describe, it is off by a tenth. With few diseases the second derivatives
themselves follow from all their states c: with F = sum over c of P_c exp(l_c), where P_c is the
probability of the state and l_c the log probability of the findings given it,

    d2 log F = sum over c of v_c (d2 P_c / P_c + 2 (d log P_c) (d l_c) + (d l_c)^2 + d2 l_c)
               - (d log F)^2

with v_c the posterior probability of c. Positions as in `MixedLikelihood`: the parameters of the
causes (of `Joint`: logarithms of shares, log odds), then log odds of failures and leaks.
"""

from typing import Any, NamedTuple

import numpy as np

from noisyor.inference.flat import Booleans, Floats, Records
from noisyor.network import Joint, NoisyOrNetwork
from noisyor.network.causes import trait_grid

MOST_DISEASES = 8
MOST_OPERATIONS = 2.0**34
"""Distinct records x states x squared parameters."""
RECORDS_AT_ONCE = 1 << 12


def can_be_enumerated(network: NoisyOrNetwork, n_distinct: int) -> bool:
    """Return True if the second derivatives can be had of so many distinct records."""
    structure = network.structure
    size = structure.n_edges + structure.n_symptoms + network.causes.n_parameters
    n_states = 2.0 ** min(structure.n_diseases, 60)
    return (
        structure.n_diseases <= MOST_DISEASES
        and network.causes.effects is None
        and n_distinct * n_states * size**2 <= MOST_OPERATIONS
    )


def observed_information(network: NoisyOrNetwork, records: Records) -> Floats:
    """Return the negative second derivatives of the log likelihood of records, by position."""
    items = _Items.of(network)
    causes = _States.of(network.causes, items.states)
    n_causes, n_items = causes.by_log.shape[1], items.slopes.shape[1]
    size = n_causes + n_items
    found, counts = np.zeros((size, size)), np.zeros(len(items.states))
    for start in range(0, len(records.weights), RECORDS_AT_ONCE):
        wrong, right, weights = _dense(records, start, network.structure.n_symptoms)
        found -= _of_records(items, causes, wrong, right, weights, counts)
    found[:n_causes, :n_causes] -= causes.second(counts)
    return (found + found.T) / 2.0


class _Items(NamedTuple):
    """Failures and leaks, and what they mean for the findings in every state."""

    states: Booleans
    """Which diseases are present in each state; the last one changes fastest."""
    symptoms: Any
    """The symptom of each failure, then of each leak."""
    log_absent: Floats
    """Log P(symptom is absent), states x symptoms."""
    slopes: Floats
    """Its derivatives by the failure or leak of this column, states x columns..."""
    curves: Floats
    """... and second derivatives, which are by one of them at a time."""

    @classmethod
    def of(cls, network: NoisyOrNetwork) -> "_Items":
        structure, f, leaks = network.structure, network.failures, network.leaks
        n = structure.n_diseases
        states = (np.arange(2**n)[:, np.newaxis] >> np.arange(n)[::-1] & 1).astype(np.bool_)
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


class _States(NamedTuple):
    """The probabilities of all states, with derivatives by the parameters of the causes."""

    causes: Any
    states: Floats
    logs: Floats
    by_log: Floats
    """Derivatives of the logarithms, states x parameters."""

    @classmethod
    def of(cls, causes: Any, states: Booleans) -> "_States":
        bits = states.astype(np.float64)
        if isinstance(causes, Joint):
            logs = np.log(np.maximum(causes.joint(range(causes.n_diseases)).ravel(), 1e-300))
            return cls(causes, bits, logs, _joint_scores(causes, states))
        parts, scores = _trait_scores(causes, bits)
        chances = parts.sum(axis=1)
        by_log = np.einsum("ck,ckm->cm", parts, scores) / chances[:, np.newaxis]
        return cls(causes, bits, np.log(np.maximum(chances, 1e-300)), by_log)

    def second(self, counts: Floats) -> Floats:
        """Return the sum of second derivatives of P over P, times how many are in each state."""
        if isinstance(self.causes, Joint):
            spread = _joint_spread(self.causes) * counts.sum()
            return np.asarray((self.by_log * counts[:, np.newaxis]).T @ self.by_log - spread)
        parts, scores = _trait_scores(self.causes, self.states)
        shares = counts[:, np.newaxis] * parts / parts.sum(axis=1, keepdims=True)
        found = np.einsum("ck,ckm,ckn->mn", shares, scores, scores, optimize=True)
        nodes, rows, priors = _nodes(self.causes)
        width = rows.shape[1]
        for node in range(len(nodes)):
            square = np.outer(rows[node], rows[node]) * shares[:, node].sum()
            for i, p in enumerate(priors[node].tolist()):
                here = slice(i * width, (i + 1) * width)
                found[here, here] -= p * (1.0 - p) * square
        return np.asarray(found)


def _joint_scores(causes: Joint, states: Booleans) -> Floats:
    parts = []
    for block, shares in zip(causes.blocks, causes.shares, strict=True):
        numbers = states[:, list(block)] @ (1 << np.arange(len(block))[::-1])
        parts.append((numbers[:, np.newaxis] == np.arange(len(shares))) - shares)
    rest = np.flatnonzero(~causes.is_blocked)
    return np.concatenate([*parts, states[:, rest] - causes.priors[rest]], axis=1)


def _joint_spread(causes: Joint) -> Floats:
    """Return the negative second derivatives of log P, which are the same in all states."""
    from scipy.linalg import block_diag

    rest = causes.priors[~causes.is_blocked]
    blocks = [np.diag(shares) - np.outer(shares, shares) for shares in causes.shares]
    return np.asarray(block_diag(*blocks, *(p * (1.0 - p) for p in rest.tolist())))


def _nodes(causes: Any) -> tuple[Floats, Floats, Floats]:
    """Return the weights of the traits' values, 1 and these values, and P(disease) at each."""
    nodes, weights = trait_grid(causes.loadings.shape[1])
    rows = np.concatenate([np.ones((len(nodes), 1)), nodes], axis=1)
    return weights, rows, causes.components.priors


def _trait_scores(causes: Any, bits: Floats) -> tuple[Floats, Floats]:
    """Return P(state and value of the traits), and derivatives of its logarithm."""
    weights, rows, priors = _nodes(causes)
    chances = np.where(bits[:, np.newaxis] > 0.5, priors, 1.0 - priors).prod(axis=2) * weights
    moves = bits[:, np.newaxis] - priors
    scores = moves[:, :, :, np.newaxis] * rows[np.newaxis, :, np.newaxis]
    return chances, scores.reshape(*chances.shape, -1)


def _dense(records: Records, start: int, n_symptoms: int) -> tuple[Floats, Floats, Floats]:
    """Return which findings are present, and which absent, of some records; and their weights."""
    end = min(start + RECORDS_AT_ONCE, len(records.weights))
    at = slice(records.offsets[start], records.offsets[end])
    rows = np.repeat(np.arange(end - start), np.diff(records.offsets[start : end + 1]))
    symptoms, is_present = records.symptoms[at], records.is_present[at]
    others_unknown = records.others_unknown[start:end]
    present = np.zeros((end - start, n_symptoms))
    absent = np.tile(1.0 - others_unknown[:, np.newaxis], (1, n_symptoms))
    absent[rows, symptoms] = ~is_present & others_unknown[rows]
    present[rows[is_present], symptoms[is_present]] = 1.0
    return present, absent, records.weights[start:end]


def _of_records(
    items: _Items, causes: _States, present: Floats, absent: Floats, weights: Floats, counts: Floats
) -> Floats:
    """Return second derivatives of all but the causes' own; count who is in which state."""
    log_present = np.log(np.maximum(-np.expm1(items.log_absent), 1e-300))
    logs = causes.logs + absent @ items.log_absent.T + present @ log_present.T
    given = np.exp(logs - logs.max(axis=1, keepdims=True))
    given /= given.sum(axis=1, keepdims=True)
    n_causes, j = causes.by_log.shape[1], items.symptoms
    size = n_causes + items.slopes.shape[1]
    found, mean = np.zeros((size, size)), np.zeros((len(weights), size))
    mean[:, :n_causes] = given @ causes.by_log
    same = (j[:, np.newaxis] == j).astype(np.float64)
    for c, (log_absent, slopes, curves) in enumerate(
        zip(items.log_absent, items.slopes, items.curves, strict=True)
    ):
        odds = np.exp(log_absent) / np.maximum(-np.expm1(log_absent), 1e-300)
        firsts = absent - present * odds
        scores = firsts[:, j] * slopes
        share = weights * given[:, c]
        counts[c] += share.sum()
        mean[:, n_causes:] += given[:, c, np.newaxis] * scores
        of_items = (scores * share[:, np.newaxis]).T @ scores
        seconds = -(share @ present) * odds * (1.0 + odds)
        of_items += same * np.outer(slopes, slopes) * seconds[j]
        of_items += np.diag((share @ firsts)[j] * curves)
        found[n_causes:, n_causes:] += of_items
        cross = np.outer(causes.by_log[c], share @ scores)
        found[:n_causes, n_causes:] += cross
        found[n_causes:, :n_causes] += cross.T
    return found - (mean * weights[:, np.newaxis]).T @ mean
