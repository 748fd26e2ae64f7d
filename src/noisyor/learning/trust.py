"""How far estimates can be trusted: the rules of intervals and flags, for all methods.

Intervals from standard errors alone are those of `noisyor.parameters.intervals_of`.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from noisyor.beliefs import FEWEST_CASES
from noisyor.names import Indices
from noisyor.parameters import REACH, Booleans, Floats, Parameters, intervals_of
from noisyor.structure import Structure

MOSTLY = 0.64
"""What rests on priors has more than this part of its variance from them: 0.8 of the spread."""
LONGEST = 0.9
"""A 95% interval that is longer holds nearly everything that could be."""
MOST_WEAK = 0.75
"""With a larger share of weak parameters, all are."""
MOST_UNTOLD, MOST_UNTOLD_OF_ALL = 0.5, 0.67
"""With a larger share of edges that cannot be told from none, a prior or leak is weak; or all are,
where it is the share of all edges."""
TRADED = 0.5
"""The least correlation of two parameters that trade off."""
NEAR_BOUND = 5.0
"""Cases, or non-cases, below which a share is too near to 0 or 1 for errors by log odds."""
PSEUDO_CASES = 4.0
"""By which it is then moved off the bound, half of them cases (Agresti and Coull 1998)."""


def moment_intervals(
    values: Parameters, errors: Parameters, n_groups: int
) -> tuple[Parameters, Parameters]:
    """Return the ends of 95% intervals of what was learned from moments.

    Its errors come from leaving out each of some groups of records, so that quantiles are those of
    Student's t. Failures and leaks are quotients of uncertain numbers, skewed one way or the other:
    their intervals reach as far as those of equal length, and as those by log odds.
    """
    wider = float(stdtrit(max(n_groups - 1, 1), 0.975)) / REACH
    lower, upper = intervals_of(values.priors, wider * errors.priors, by_log_odds=True)
    failures = _outer_intervals(values.failures, wider * errors.failures)
    leaks = _outer_intervals(values.leaks, wider * errors.leaks)
    return Parameters(lower, failures[0], leaks[0]), Parameters(upper, failures[1], leaks[1])


def _outer_intervals(values: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Return the farther ends of intervals of equal length and by log odds.

    By log odds none is wider than if the error were as large as the value.

    >>> lower, upper = _outer_intervals(np.array([0.02]), np.array([0.02]))
    >>> lower, upper.round(3)
    (array([0.]), array([0.127]))
    """
    capped = np.minimum(errors, values * (1.0 - values))
    even, skewed = intervals_of(values, errors), intervals_of(values, capped, by_log_odds=True)
    return np.minimum(even[0], skewed[0]), np.maximum(even[1], skewed[1])


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


def is_untold(failures: Floats, errors: Floats) -> Booleans:
    """Return True for edges that cannot be told from none; what is fixed has no error."""
    with np.errstate(invalid="ignore"):
        return np.asarray(~(1.0 - failures >= REACH * errors) & (errors != 0.0))


def is_mostly_untold(failures: Floats, errors: Floats) -> bool:
    """Return True where most edges that are not fixed cannot be told from none.

    All else rests on them.

    >>> is_mostly_untold(np.array([0.9, 0.99, 0.2]), np.array([0.1, 0.1, 0.0]))
    True
    """
    untold = is_untold(failures, errors)[errors != 0.0]
    return bool(len(untold) and untold.mean() > MOST_UNTOLD_OF_ALL)


def hides_in_weak_edges(structure: Structure, failures: Floats, errors: Floats) -> Parameters:
    """Return True for priors and leaks that rest on edges which cannot be told from none.

    Of such edges chance makes some too strong and none weaker than nothing; priors, which are known
    by their products with the edges, become too small in turn, and leaks take what is left. The
    information, which is that of a smooth maximum, does not show it. Where most edges are such, all
    priors and leaks rest on them.
    """
    diseases, symptoms = structure.edges.T
    untold, is_all = is_untold(failures, errors), is_mostly_untold(failures, errors)

    def is_most(ends: Indices, n: int) -> Booleans:
        n_edges = np.bincount(ends, minlength=n)
        return np.asarray(is_all | (np.bincount(ends, untold, n) > MOST_UNTOLD * n_edges))

    return Parameters(
        is_most(diseases, structure.n_diseases), np.zeros(structure.n_edges, dtype=np.bool_),
        is_most(symptoms, structure.n_symptoms),
    )  # fmt: skip


def with_priors(structure: Structure, is_weak: Parameters, is_learned: Parameters) -> Parameters:
    """Return what is weak, with priors of diseases that have learned edges, all of them weak.

    Such a disease explains hardly anything: another may have taken over what is its own, with a
    small prior that the information calls certain.

    >>> structure = Structure.from_edges([("a", "x"), ("a", "y"), ("b", "y")])
    >>> weak = Parameters(np.zeros(2, bool), np.array([True, True, False]), np.zeros(2, bool))
    >>> with_priors(structure, weak, weak.map(np.ones_like)).priors
    array([ True, False])
    """
    diseases, n = structure.edges[:, 0], structure.n_diseases
    n_learned = np.bincount(diseases, is_learned.failures, n)
    n_weak = np.bincount(diseases, is_learned.failures & is_weak.failures, n)
    idle = is_learned.priors & (n_learned > 0) & (n_weak == n_learned)
    return Parameters(is_weak.priors | idle, is_weak.failures, is_weak.leaks)


def says_nothing(lower: Floats, upper: Floats) -> Booleans:
    """Return True for intervals that hold nearly everything that could be.

    >>> says_nothing(np.array([1e-7, 0.1, np.nan]), np.array([0.99, 0.8, np.nan]))
    array([ True, False, False])
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(upper - lower > LONGEST)


def all_if_most(is_weak: Parameters, is_learned: Parameters) -> Parameters:
    """Return True for all that was learned where most of it is weak: the others rest on that.

    What seems to be known is then what chance has moved farthest.

    >>> weak = Parameters(np.array([True]), np.array([True, True, True]), np.array([False]))
    >>> everything = weak.map(np.ones_like)
    >>> all_if_most(weak, everything).leaks
    array([ True])
    """
    learned = is_learned.vector
    is_all = bool(is_weak.vector[learned].mean() > MOST_WEAK) if learned.any() else False
    return is_weak.map(lambda weak, here: weak | (is_all & here), is_learned)


def errors_off_bounds(values: Floats, errors: Floats, most: Floats | float) -> Floats:
    """Return standard errors of shares, larger for those that are next to 0 or 1.

    By log odds these seem to be exact. Each is as well known as by so many cases as its error is
    worth, and by no more than there are.

    >>> errors_off_bounds(np.array([0.3, 1e-6]), np.array([0.02, 1e-6]), 100.0).round(3)
    array([0.02 , 0.013])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        cases = np.minimum(values * (1.0 - values) / np.maximum(errors**2, 1e-300), most)
        moved = (cases * values + PSEUDO_CASES / 2.0) / (cases + PSEUDO_CASES)
        wider = np.sqrt(moved * (1.0 - moved) / (cases + PSEUDO_CASES))
        is_near = cases * np.minimum(values, 1.0 - values) < NEAR_BOUND
    return np.where(is_near, np.maximum(errors, wider), errors)


def rests_on_weak(information: Floats, weak: Floats, gauges: Floats, functions: Floats) -> Booleans:
    """Return True for functions of the parameters of which weak priors say more than the records.

    The rule of `flat_directions`. A row of `functions` has the derivatives of one; `gauges` are
    directions in which nothing changes, a column each.
    """
    scale = max(float(np.diag(information).max(initial=0.0)), 1e-300)
    matrix = information + np.diag(weak + 1e-9 * scale)
    if gauges.shape[1]:
        basis, _ = np.linalg.qr(gauges)
        matrix = matrix + scale * basis @ basis.T
    images = np.linalg.solve(matrix, functions.T)
    by_priors = (images**2 * weak[:, np.newaxis]).sum(axis=0)
    variances = np.einsum("ij,ji->i", functions, images)
    return np.asarray(~(by_priors <= MOSTLY * variances) & (variances != 0.0))
