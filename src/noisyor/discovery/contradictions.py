"""Edges that records contradict: they are found to be so weak as hardly any right edge would be.

That BIC does not want an edge is not enough for it to go: where records say nothing of an edge,
what is known otherwise stays. With the strengths s of right edges and their shares w, an edge that
is found to be of strength x, with a standard error e, would be found to be as weak or weaker, were
it right, with a chance of

    p = sum_s w_s Phi((x - s) / e)

The strengths of right edges are those that records confirm. What share has which strength is what
makes all that was found most likely (EM; Robbins 1956): so edges that are too weak to be confirmed
count for the weakest of these, and make p larger. Edges of a false-discovery rate of at most
`CONTRADICTED` are contradicted (Benjamini and Hochberg 1995). In a right structure that is the
chance of any; the more are false, the less is needed to name each.
"""

import numpy as np
from scipy.special import ndtr

from noisyor.discovery.scores import EdgeScores
from noisyor.learning.misfits import q_values
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Floats

CONTRADICTED = 0.05
WEAK, WEAKEST = 0.2, 0.02
"""The weakest right edges are as strong as the first, or weaker: as this quantile of those that
records confirm."""
N_STRENGTHS = 25
"""Different strengths of right edges."""
N_SHARING = 100
"""Steps of EM."""


def bic_of_adding(gains: Floats, n_records: int, n_choices: int) -> Floats:
    """Return what BIC gains, halved, by a parameter that is chosen from many."""
    return np.asarray(gains - 0.5 * np.log(n_records) - np.log(max(n_choices, 1)))


def right_strengths(present: EdgeScores, n_records: int) -> Floats:
    """Return how strong edges are that records confirm, the weakest first; empty: there are none.

    Nearly all of them are stronger than the first, which is at most `WEAK`.
    """
    is_confirmed = bic_of_adding(present.gains, n_records, len(present.gains)) > 0.0
    if not is_confirmed.any():
        return np.zeros(0)
    levels = np.linspace(WEAKEST, 1.0 - WEAKEST, N_STRENGTHS)
    found = np.quantile(present.strengths[is_confirmed], levels)
    return np.asarray(np.concatenate([np.minimum(found[:1], WEAK), found[1:]]))


def chances_if_right(
    present: EdgeScores, errors: Floats, network: NoisyOrNetwork, n_records: int
) -> Floats:
    """Return the chance of each edge that a right one is found to be as weak, or weaker.

    `errors` are the standard errors of the failures, with all that other parameters take up; where
    one is NaN records say nothing. None is smaller than if all cases of the disease had been seen,
    which matters for an edge that has hardly caused anything.
    """
    strengths = right_strengths(present, n_records)
    if not len(strengths):
        return np.ones(len(present.edges))
    cases = np.maximum(n_records * network.priors[present.edges[:, 0]], 1e-9)[:, np.newaxis]
    variances = np.maximum(errors[:, np.newaxis] ** 2, strengths * (1.0 - strengths) / cases)
    is_known = np.isfinite(errors)
    variances = variances[is_known]
    distances = (strengths - present.strengths[is_known, np.newaxis]) / np.sqrt(variances)
    logs = -(distances**2 + np.log(variances)) / 2.0
    shares = shares_of(np.exp(logs - logs.max(axis=1, keepdims=True)))
    chances = np.ones(len(errors))
    chances[is_known] = ndtr(-distances) @ shares
    return chances


def shares_of(densities: Floats) -> Floats:
    """Return the shares of components that make points most likely.

    `densities` has the density of each point, a row each, in each component.
    """
    n_components = densities.shape[1]
    shares = np.full(n_components, 1.0 / n_components)
    for _ in range(N_SHARING if len(densities) else 0):
        parts = densities * shares
        shares = (parts / parts.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def contradicted(
    present: EdgeScores, errors: Floats, network: NoisyOrNetwork, n_records: int, lost: Floats
) -> Floats:
    """Return at which false-discovery rate each edge is contradicted; 1 where BIC wants it.

    `lost` is by how much the log likelihood falls without each.
    """
    chances = chances_if_right(present, errors, network, n_records)
    return q_values(np.where(lost < 0.5 * np.log(n_records), chances, 1.0))
