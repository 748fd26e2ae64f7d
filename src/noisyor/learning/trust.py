"""How far estimates can be trusted: the rules of intervals and flags, for all methods."""

from typing import NamedTuple

import numpy as np

from noisyor.names import Indices
from noisyor.parameters import Booleans, Floats, Parameters, from_log_odds, log_odds
from noisyor.structure import Structure

FEWEST_CASES = 5.0
"""Of fewer expected cases a disease's parameters are a guess."""
MOSTLY = 0.64
"""What rests on priors has more than this part of its variance from them: 0.8 of the spread."""
TRADED = 0.5
"""The least correlation of two parameters that trade off."""
WIDENED_BELOW = 30.0
"""With so many cases, variances of failures that were learned from moments are doubled: these are
far from normal, and leaving groups of records out does not show it. Measured on the clinic."""


def intervals_of(
    values: Floats, errors: Floats, *, by_log_odds: bool = False
) -> tuple[Floats, Floats]:
    """Return 95% intervals, of equal length on both sides and cut at 0 and 1, or by log odds.

    The likelihood of priors is skewed: small ones are known up to a factor.

    >>> intervals_of(np.array([0.1]), np.array([0.1]))[0]
    array([0.])
    >>> intervals_of(np.array([0.1]), np.array([0.1]), by_log_odds=True)[0].round(3)
    array([0.012])
    """
    margin = 1.96 * errors
    if not by_log_odds:
        return np.maximum(values - margin, 0.0), np.minimum(values + margin, 1.0)
    center, margin = log_odds(values, 1e-12), margin / np.maximum(values * (1.0 - values), 1e-12)
    ends = from_log_odds(center - margin, 700.0), from_log_odds(center + margin, 700.0)
    # What is certain stays as it is, to the last digit.
    lower, upper = (np.where(errors == 0.0, values, end) for end in ends)
    return lower, upper


class FlatDirections(NamedTuple):
    """Which parameters lie along directions that the records say little of."""

    is_flat: Booleans
    partners: Indices
    """The number of the parameter that each of them trades off with, -1 where it is none."""


def flat_directions(covariance: Floats, of_priors: Floats) -> FlatDirections:
    """Return what is known by weak priors rather than by records, from the whole information.

    With the information I of the records and that of the priors P, a diagonal, the covariance is
    C = (I + P)^-1 = C I C + C P C. The second part is what priors, and not records, decide: of a
    parameter that lies along a flat direction nearly all, however many share it. Some of it does no
    harm, for priors are those of parameters of the same kind.

    >>> flat = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 50.0]])
    >>> flat_directions(np.linalg.inv(1000 * flat + np.eye(3)), np.ones(3))
    FlatDirections(is_flat=array([ True,  True, False]), partners=array([ 1,  0, -1]))
    """
    variances = np.diag(covariance)
    by_priors = np.einsum("i,ij,ij->j", of_priors, covariance, covariance)
    with np.errstate(invalid="ignore"):
        is_flat = ~(by_priors <= MOSTLY * variances) & (variances != 0.0)
    partners = np.full(len(variances), -1)
    spreads = np.sqrt(np.where(variances > 0.0, variances, np.inf))
    for j in np.flatnonzero(is_flat):
        correlations = np.abs(covariance[j]) / spreads
        correlations[j] = 0.0
        best = int(np.argmax(correlations))
        if correlations[best] >= TRADED * spreads[j]:
            partners[j] = best
    return FlatDirections(is_flat, partners)


def rests_on_priors(values: Parameters, errors: Parameters, sizes: Parameters) -> Parameters:
    """Return True where a weak prior of so many cases makes up most of the precision.

    Or none is known. It is the rule of `flat_directions` for parameters looked at one by one.
    """

    def is_weak(value: Floats, error: Floats, size: Floats) -> Booleans:
        with np.errstate(invalid="ignore"):
            return np.asarray(~(error**2 * size <= MOSTLY * value * (1.0 - value)))

    return values.map(is_weak, errors, sizes)


def rests_on_few(
    structure: Structure, priors: Floats, known: Floats, n_records: float
) -> Parameters:
    """Return True where too few cases, or no known finding, tell of a parameter.

    `known` is the number of records in which each symptom is known.
    """
    diseases, symptoms = structure.edges.T
    cases = n_records * priors
    with np.errstate(invalid="ignore"):
        at_risk = cases[diseases] * known[symptoms] / max(n_records, 1.0)
        return Parameters(
            ~(cases >= FEWEST_CASES), ~(at_risk >= FEWEST_CASES), ~(known >= FEWEST_CASES)
        )


def widened(
    errors: Parameters, structure: Structure, priors: Floats, known: Floats, n_records: float
) -> Parameters:
    """Return errors of failures and leaks that were learned from moments, larger for few cases.

    By the factor sqrt(1 + 30 / cases); a leak, what the diseases of its symptom do not explain, has
    the largest of theirs.
    """
    diseases, symptoms = structure.edges.T
    at_risk = n_records * priors[diseases] * known[symptoms] / max(n_records, 1.0)
    factors = np.sqrt(1.0 + WIDENED_BELOW / np.maximum(at_risk, 1.0))
    of_leaks = np.ones(structure.n_symptoms)
    np.maximum.at(of_leaks, symptoms, factors)
    return Parameters(errors.priors, errors.failures * factors, errors.leaks * of_leaks)
