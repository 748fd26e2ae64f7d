"""Edges that records contradict: they are likely to be false, by all that was found.

That BIC does not want an edge is not enough for it to go: where records say nothing of an edge,
what is known otherwise stays. With the likelihood L(s) of each edge if it has the strength
s = 1 - f, and the shares w of all edges that have each strength (0 if they are false), its chance
to be right is

    sum_{s > 0} w_s L(s) / (w_0 L(0) + sum_{s > 0} w_s L(s))

The shares are those that make all that was found most likely (EM; Robbins 1956). Right edges are at
least as strong as the weakest that records confirm; of rare diseases no weak one is ever confirmed,
so weaker ones count if all that was found is much less likely without them. That some edges are
false must be much more likely than that none is, and one more right edge, as weak as any, is taken
for granted. Of edges that are not too likely to be right those go that are, on average, in at most
`CONTRADICTED` of all cases (Efron 2008). All edges of a disease stay if most of them seem to be
false, since it is fitted in another one's place.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc

from noisyor.discovery.scores import EdgeScores
from noisyor.inference.flat import Integers
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Floats

CONTRADICTED, LIKELY_RIGHT = 0.05, 0.3
"""The share of right edges among those that go, and the highest chance of any to be right."""
WEAK, WEAKEST = 0.2, 0.02
"""The weakest right edges are as strong as the first, or weaker: as this quantile of those that
records confirm, or so that this share of right ones is as weak."""
LEVELS = WEAK * 2.0 ** (-0.5 * np.arange(9)[::-1])
"""Strengths of weak edges, the weakest first."""
RIGHT = np.concatenate([LEVELS, np.linspace(WEAK, 0.99, 25)[1:]])
"""Strengths of right edges."""
NEEDED = 3.0
"""Log likelihood that weak edges, or false ones, must bring."""
SPOKEN_FOR = 2.0
"""By how much the log likelihood falls without an edge that records speak for: of 40 false edges
that is one. It stays, however weak it is, and whatever the others are."""
VAGUE = 1.0
"""A standard error from which on records say nothing."""
N_SHARING = 100
"""Steps of EM."""


class FoundEdges(NamedTuple):
    """What was found of edges that a structure has, one entry each."""

    diseases: Integers
    cases: Floats
    """Records with its disease."""
    strengths: Floats
    errors: Floats
    """Standard errors, with all that other parameters take up; infinite: records say nothing."""
    lost: Floats
    """By how much the log likelihood falls without the edge."""
    is_none: Booleans
    """True where none, or less than none, would be best; weak priors hold strengths above 0."""
    is_confirmed: Booleans
    is_unwanted: Booleans
    """True where records do not speak for it, and BIC does not want it."""

    @classmethod
    def of(
        cls, present: EdgeScores, errors: Floats, network: NoisyOrNetwork, n_records: int,
        lost: Floats | None = None,
    ) -> "FoundEdges":  # fmt: skip
        """Put together what is known; without `lost` that is what tests say."""
        diseases, is_known = present.edges[:, 0], np.nan_to_num(errors, nan=np.inf) < VAGUE
        errors, lost = np.where(is_known, errors, np.inf), present.gains if lost is None else lost
        is_none = (present.alone <= 0.0) & (present.strengths < errors)
        is_confirmed = bic_of_adding(present.gains, n_records, len(present.gains)) > 0.0
        return cls(
            diseases, np.maximum(n_records * network.priors[diseases], 1e-9), present.strengths,
            errors, lost, is_none, is_confirmed,
            lost < min(0.5 * np.log(n_records), SPOKEN_FOR),
        )  # fmt: skip


def bic_of_adding(gains: Floats, n_records: int, n_choices: int) -> Floats:
    """Return what BIC gains, halved, by a parameter that is chosen from many."""
    return np.asarray(gains - 0.5 * np.log(n_records) - np.log(max(n_choices, 1)))


def contradicted(found: FoundEdges) -> Floats:
    """Return at which false-discovery rate each edge is contradicted; 1 where it is not.

    That is where records speak for it or say nothing of it, it is too likely to be right or most
    edges of its disease seem to be false.
    """
    rates, chances = np.ones(len(found.errors)), chances_to_be_right(found)
    is_taken = most_are_false(found, chances)
    if is_taken.any():
        found = found._replace(errors=np.where(is_taken, np.inf, found.errors))
        chances = chances_to_be_right(found)
    is_open = found.is_unwanted & np.isfinite(found.errors) & (chances <= LIKELY_RIGHT)
    order = np.flatnonzero(is_open)
    order = order[np.argsort(chances[order], kind="stable")]
    rates[order] = np.cumsum(chances[order]) / np.arange(1, len(order) + 1)
    return rates


def chances_to_be_right(found: FoundEdges) -> Floats:
    """Return the chance of each edge to be right; 1 if there seem to be no false ones."""
    nothing, weakest = np.ones(len(found.errors)), weakest_right(found)
    if np.isnan(weakest):
        return nothing
    logs = log_likelihoods(np.append(weakest, RIGHT[weakest < RIGHT]), found)
    shares, value = shares_of(logs)
    if value - shares_of(logs[:, 1:])[1] <= NEEDED:
        return nothing
    shares[1] += 1.0 / len(nothing)  # one more edge, right and as weak as any
    parts = shares * np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(1.0 - parts[:, 0] / parts.sum(axis=1))


def most_are_false(found: FoundEdges, chances: Floats) -> Booleans:
    """Return True for the edges of diseases of which more than half seem to be false.

    Such a disease is fitted as another one, whose cases it has taken.
    """
    n_edges, n_right = np.bincount(found.diseases), np.bincount(found.diseases, chances)
    return np.asarray((n_right < n_edges / 2.0)[found.diseases])


def weakest_right(found: FoundEdges) -> float:
    """Return how strong nearly all right edges are at least, `WEAK` at most.

    NaN: records confirm none.
    """
    if not found.is_confirmed.any():
        return float("nan")
    confirmed = float(np.quantile(found.strengths[found.is_confirmed], WEAKEST))
    logs = log_likelihoods(RIGHT, found)
    # Of many false edges half would best be weaker than none. The others would look like weak ones
    # that are right, if it was not heeded that of the first only so much, or less, was counted.
    rows = found.is_none & np.isfinite(found.errors)
    b, n = found.cases[rows] * found.errors[rows] ** 2, found.cases[rows]
    logs[rows, 1:] = log_chances_of_less(b, n, RIGHT)
    return min(confirmed, weakest_shown(logs))


def weakest_shown(logs: Floats) -> float:
    """Return the weakest of `LEVELS` that right edges seem to have, by all that was found.

    The part `WEAKEST` of them must be so weak, or weaker, and without these what was found must be
    much less likely, even if others are false. `logs` are of strength 0 and of `RIGHT`.
    """
    shares, value = shares_of(logs)
    parts = np.cumsum(shares[1:]) / max(shares[1:].sum(), 1e-300)
    for number, level in enumerate(LEVELS[:-1]):
        if parts[number] >= WEAKEST:
            others = np.delete(logs, np.arange(1, number + 2), axis=1)
            if value - shares_of(others)[1] > NEEDED:
                return float(level)
    return WEAK


def log_likelihoods(strengths: Floats, found: FoundEdges) -> Floats:
    """Return the log likelihood of each edge if it is false, or has one of some strengths.

    Less that of what was found; edges x strengths. What an edge has caused is counted in the n
    cases of its disease, among other things that make up its standard error e, of which there are
    b = n e^2 - x a case where it is found to be of strength x (Poisson):

        log L(s) = n ((x + b) log((s + b) / (x + b)) - (s - x))

    So it falls no faster than if all cases were seen, which matters where hardly anything was
    caused.
    """
    n, x, s = found.cases[:, np.newaxis], found.strengths[:, np.newaxis], strengths
    is_known = np.isfinite(found.errors)[:, np.newaxis]
    squares = np.where(is_known, found.errors[:, np.newaxis], 1.0) ** 2
    b = np.maximum(n * squares - x, 1e-12)
    right = n * ((x + b) * np.log1p((s - x) / (x + b)) - (s - x))
    return np.where(is_known, np.column_stack([-found.lost, right]), 0.0)


def log_chances_of_less(b: Floats, n: Floats, strengths: Floats) -> Floats:
    """Return log P(at most n b are counted) with each strength, less that without any."""
    n, counted = n[:, np.newaxis], (n * b)[:, np.newaxis]
    at_most, if_none = (gammaincc(counted + 1.0, n * s + counted) for s in (strengths, 0.0))
    return np.asarray(np.log(np.maximum(at_most, 1e-300) / if_none))


def shares_of(logs: Floats) -> tuple[Floats, float]:
    """Return the shares of components that make points most likely, and the log likelihood.

    `logs` has the log likelihood of each point, a row each, in each component.
    """
    highest = logs.max(axis=1, keepdims=True)
    likelihoods, n_components = np.exp(logs - highest), logs.shape[1]
    shares = np.full(n_components, 1.0 / n_components)
    for _ in range(N_SHARING):
        parts = likelihoods * shares
        shares = (parts / parts.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares, float((np.log(likelihoods @ shares) + highest[:, 0]).sum())
