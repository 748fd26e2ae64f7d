"""Edges that records contradict: they are found to be so weak as hardly any right edge would be.

That BIC does not want an edge is not enough for it to go: where records say nothing of an edge,
what is known otherwise stays. So an edge goes if it is likely to be false by all that was found:
with the likelihood L(s) of each edge if it has the strength s = 1 - f, and shares w of all edges
that have each strength, 0 if they are false, its chance to be right is

    sum_{s > 0} w_s L(s) / (w_0 L(0) + sum_{s > 0} w_s L(s))

The shares are those that make all that was found most likely (EM; Robbins 1956). Right edges are at
least as strong as the weakest that records confirm; of rare diseases no weak one is ever confirmed,
so weaker ones count if all that was found is much less likely without them. That some edges are
false must be much more likely than that none is. And one more right edge, as weak as any, is taken
for granted: so an edge stays of which records say little, whatever the others are. All edges of a
disease stay if most of them seem to be false: it is fitted in another one's place. Of the others,
those go that are on average right in at most `CONTRADICTED` of all cases (Efron 2008).
"""

import numpy as np

from noisyor.discovery.scores import EdgeScores
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Floats

CONTRADICTED = 0.05
WEAK, WEAKEST = 0.2, 0.02
"""The weakest right edges are as strong as the first, or weaker: as this quantile of those that
records confirm."""
LEVELS = WEAK * 2.0 ** (-0.5 * np.arange(9)[::-1])
"""Strengths of weak edges, the weakest first."""
STRENGTHS = np.concatenate([LEVELS, np.linspace(WEAK, 0.99, 25)[1:]])
"""Those of all right edges."""
NEEDED = 3.0
"""Log likelihood that weak edges, or false ones, must bring."""
N_SHARING = 100
"""Steps of EM."""


def bic_of_adding(gains: Floats, n_records: int, n_choices: int) -> Floats:
    """Return what BIC gains, halved, by a parameter that is chosen from many."""
    return np.asarray(gains - 0.5 * np.log(n_records) - np.log(max(n_choices, 1)))


def contradicted(
    present: EdgeScores, errors: Floats, network: NoisyOrNetwork, n_records: int, lost: Floats
) -> Floats:
    """Return at which false-discovery rate each edge is contradicted; 1 where BIC wants it.

    `errors` are the standard errors of the failures, with all that other parameters take up; where
    one is NaN records say nothing. `lost` is by how much the log likelihood falls without each.
    """
    rates = np.ones(len(errors))
    chances = chances_to_be_right(present, errors, network, n_records, lost)
    taken = most_are_false(present, chances)
    if taken.any():
        known = np.where(taken, np.nan, errors)
        chances = chances_to_be_right(present, known, network, n_records, lost)
    unwanted = np.flatnonzero((lost < 0.5 * np.log(n_records)) & ~taken)
    order = unwanted[np.argsort(chances[unwanted], kind="stable")]
    rates[order] = np.cumsum(chances[order]) / np.arange(1, len(order) + 1)
    return rates


def chances_to_be_right(
    present: EdgeScores, errors: Floats, network: NoisyOrNetwork, n_records: int, lost: Floats
) -> Floats:
    """Return the chance of each edge to be right; 1 if there seem to be no false ones."""
    weakest = weakest_right(present, errors, network, n_records, lost)
    if np.isnan(weakest):
        return np.ones(len(errors))
    strengths = np.concatenate([[0.0, weakest], STRENGTHS[weakest < STRENGTHS]])
    likelihoods = likelihoods_of(strengths, present, errors, network, n_records, lost)
    shares, value = shares_of(likelihoods)
    if value - shares_of(likelihoods[:, 1:])[1] <= NEEDED:
        return np.ones(len(errors))
    shares[1] += 1.0 / len(errors)  # one more edge, right and as weak as any
    return np.asarray(1.0 - likelihoods[:, 0] * shares[0] / (likelihoods @ shares))


def most_are_false(present: EdgeScores, chances: Floats) -> Booleans:
    """Return True for the edges of diseases of which more than half seem to be false.

    Such a disease is fitted as another one, whose cases it has taken.
    """
    diseases = present.edges[:, 0]
    n_edges, n_right = np.bincount(diseases), np.bincount(diseases, chances)
    return np.asarray((n_right < n_edges / 2.0)[diseases])


def weakest_right(
    present: EdgeScores, errors: Floats, network: NoisyOrNetwork, n_records: int, lost: Floats
) -> float:
    """Return how strong nearly all right edges are at least, `WEAK` at most.

    NaN: records confirm none.
    """
    is_confirmed = bic_of_adding(present.gains, n_records, len(present.gains)) > 0.0
    if not is_confirmed.any():
        return float("nan")
    confirmed = float(np.quantile(present.strengths[is_confirmed], WEAKEST))
    all_strengths = np.concatenate([[0.0], STRENGTHS])
    likelihoods = likelihoods_of(all_strengths, present, errors, network, n_records, lost)
    return min(confirmed, weakest_shown(likelihoods))


def weakest_shown(likelihoods: Floats) -> float:
    """Return the weakest of `LEVELS` that right edges seem to have, by all that was found.

    The part `WEAKEST` of them must be so weak, or weaker, and without these what was found must be
    much less likely, even if others are false. `likelihoods` are those of strength 0 and of
    `STRENGTHS`.
    """
    shares, value = shares_of(likelihoods)
    parts = np.cumsum(shares[1:]) / max(shares[1:].sum(), 1e-300)
    for number, level in enumerate(LEVELS):
        if parts[number] >= WEAKEST:
            others = np.delete(likelihoods, np.arange(1, number + 2), axis=1)
            if value - shares_of(others)[1] > NEEDED:
                return float(level)
    return WEAK


def likelihoods_of(
    strengths: Floats, present: EdgeScores, errors: Floats, network: NoisyOrNetwork,
    n_records: int, lost: Floats,
) -> Floats:  # fmt: skip
    """Return the likelihood of each edge if it has some strength, the first of which is 0.

    As a part of the highest of them; edges x strengths. As if the n cases of its disease had been
    seen, and what it caused counted among other things that make up the standard error e, of which
    there are b = n e^2 - x a case where it is found to be of strength x:

        log L(s) = n ((x + b) log((s + b) / (x + b)) - s + x)

    So it falls no faster than if all is seen, which matters where hardly anything was caused.
    """
    n = np.maximum(n_records * network.priors[present.edges[:, :1]], 1e-9)
    x, s = present.strengths[:, np.newaxis], strengths[1:]
    is_known = np.isfinite(errors)[:, np.newaxis]
    b = np.maximum(n * np.where(is_known, errors[:, np.newaxis], 0.0) ** 2 - x, 1e-12)
    right = n * ((x + b) * np.log((s + b) / (x + b)) - s + x)
    logs = np.where(is_known, np.column_stack([-lost, right]), 0.0)
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def shares_of(likelihoods: Floats) -> tuple[Floats, float]:
    """Return the shares of components that make points most likely, and the log likelihood.

    `likelihoods` has those of each point, a row each, in each component.
    """
    n_components = likelihoods.shape[1]
    shares = np.full(n_components, 1.0 / n_components)
    for _ in range(N_SHARING if len(likelihoods) else 0):
        parts = likelihoods * shares
        shares = (parts / parts.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares, float(np.log(likelihoods @ shares).sum())
