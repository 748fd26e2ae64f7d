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

from noisyor.em.candidate_kernels import Seen
from noisyor.em.cause_models import CauseModel
from noisyor.em.states import (
    FindingTables,
    Items,
    StateShares,
    is_possible,
    posterior_of_states,
)
from noisyor.inference.flat import Booleans, Floats, Records
from noisyor.network import Joint, NoisyOrNetwork
from noisyor.network.causes import trait_grid

MOST_DISEASES = 9
MOST_OPERATIONS = 2.0**36
"""Distinct records x states x squared numbers of failures and leaks."""
RECORDS_AT_ONCE = 1 << 12


def can_be_enumerated(network: NoisyOrNetwork, n_distinct: int) -> bool:
    """Return True if the second derivatives can be had of so many distinct records."""
    structure = network.structure
    size = structure.n_edges + structure.n_symptoms
    n_states = 2.0 ** min(structure.n_diseases, 60)
    return (
        structure.n_diseases <= MOST_DISEASES
        and network.causes.effects is None
        and n_distinct * n_states * size**2 <= MOST_OPERATIONS
    )


def observed_information(
    network: NoisyOrNetwork, model: CauseModel, records: Records, seen: Seen
) -> Floats:
    """Return the negative second derivatives of the log likelihood of records, by position.

    `seen` are the diseases that were seen of each record.
    """
    items = Items.of(network)
    shares = model.states(network.causes, np.zeros((1, 0)))
    states = _States(network.causes, items.states.astype(np.float64), shares)
    n_causes, n_items = shares.by_log.shape[2], items.slopes.shape[1]
    size, n = n_causes + n_items, len(records.weights)
    found, counts = np.zeros((size, size)), np.zeros(len(items.states))
    for start in range(0, n, RECORDS_AT_ONCE):
        end = min(start + RECORDS_AT_ONCE, n)
        dense = FindingTables.of(records, start, end, network.structure.n_symptoms)
        possible = is_possible(seen, start, end, items.states)
        found -= _of_records(items, shares, dense, possible, counts)
    found[:n_causes, :n_causes] -= states.second(counts)
    return (found + found.T) / 2.0


class _States(NamedTuple):
    """The probabilities of all states, with derivatives by the parameters of the causes."""

    causes: Any
    states: Floats
    shares: StateShares

    def second(self, counts: Floats) -> Floats:
        """Return the sum of second derivatives of P over P, times how many are in each state."""
        if isinstance(self.causes, Joint):
            by_log = self.shares.by_log[0]
            spread = _joint_spread(self.causes) * counts.sum()
            return np.asarray((by_log * counts[:, np.newaxis]).T @ by_log - spread)
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


def _of_records(
    items: Items, shares: StateShares, dense: FindingTables, possible: Booleans | None,
    counts: Floats,
) -> Floats:  # fmt: skip
    """Return second derivatives of all but the causes' own; count who is in which state."""
    present, absent, weights = dense
    kinds = np.zeros(len(weights), dtype=np.int64)
    given, _ = posterior_of_states(dense, kinds, items, shares, possible)
    by_log, j = shares.by_log[0], items.symptoms
    n_causes, all_odds = by_log.shape[1], items.odds
    size = n_causes + items.slopes.shape[1]
    found, mean = np.zeros((size, size)), np.zeros((len(weights), size))
    mean[:, :n_causes] = given @ by_log
    same = (j[:, np.newaxis] == j).astype(np.float64)
    for c, (odds, slopes, curves) in enumerate(
        zip(all_odds, items.slopes, items.curves, strict=True)
    ):
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
        cross = np.outer(by_log[c], share @ scores)
        found[:n_causes, n_causes:] += cross
        found[n_causes:, :n_causes] += cross.T
    return found - (mean * weights[:, np.newaxis]).T @ mean
