"""How well probabilities of a disease agree with labels: what they sort, tell and are worth.

The AUC is how often a case has a larger probability than a record without the disease. Its spread
follows from each record's share in it (DeLong, DeLong and Clarke-Pearson 1988), which also add up
over diseases of the same records. Where cases are few that is far too sure; Newcombe's method 5
(2006), which rests on the AUC and the counts alone, is not. An interval spans both.

References: Brier (1950); Good (1952), the log score; Vickers and Elkin (2006), net benefit; Zou and
Donner (2008), intervals of sums.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, stdtrit

from noisyor.drawing import axes_for, draw_calibration
from noisyor.immutable import equal_by_entries
from noisyor.parameters import REACH

Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

N_BINS = 10
"""Bins of a calibration curve, of equal width."""
THRESHOLDS = np.arange(1, 100) / 100.0
"""Of decision curves: from which probability on one would act."""
ROUNDING = 1e-12
"""Two probabilities are equal if one is not larger by more than this part of it."""
LEAST = float(np.finfo(np.float64).eps)
"""What the log score takes a probability of 0 for: it may be less, but no digit says so."""


def without_rounding_errors(probabilities: Floats) -> Floats:
    """Return probabilities of which those are equal that differ in their last digits only.

    Records with the same findings of a disease and others of its neighbours often have the same
    posterior but for rounding, by which nothing should be sorted.

    >>> without_rounding_errors(np.array([0.3, 0.1 + 0.2, 0.2])).tolist()
    [0.3, 0.3, 0.2]
    """
    flat = probabilities.ravel()
    order = np.argsort(flat)
    steps = flat[order]
    is_first = np.diff(steps, prepend=-1.0) > ROUNDING * steps
    found = np.empty_like(flat)
    found[order] = steps[is_first][np.cumsum(is_first) - 1]
    return found.reshape(probabilities.shape)


class Auc(NamedTuple):
    """The area under the ROC curve with its 95% interval; NaN where there is none."""

    value: float
    lower: float
    upper: float


NO_AUC = Auc(math.nan, math.nan, math.nan)


class AucShares(NamedTuple):
    """An AUC, and what each label adds to the error of it: the sum of squares is its variance."""

    value: float
    shares: Floats
    """As long as the labels."""
    freedom: float
    """The degrees of freedom of the variance, as Welch and Satterthwaite count them."""


def auc_shares(probabilities: Floats, is_present: Booleans) -> AucShares:
    """Return the AUC of labels of both kinds, and DeLong's parts of its variance.

    >>> auc_shares(np.array([0.1, 0.4, 0.3, 0.8]), np.array([False, False, True, True])).value
    0.75
    """
    from scipy.stats import rankdata  # takes longer to load than all that is imported above

    ranks, shares = rankdata(probabilities), np.zeros(len(probabilities))
    among = {state: rankdata(probabilities[is_present == state]) for state in (True, False)}
    m, n = len(among[True]), len(among[False])
    placed = np.where(is_present, ranks, -ranks)
    placed[is_present] -= among[True]
    placed[~is_present] += among[False] + m
    value = float(placed[is_present].mean() / n)
    variance = scale = 0.0
    for state, mine, others in (True, m, n), (False, n, m):
        if mine > 1:
            here = is_present == state
            shares[here] = (placed[here] / others - value) / math.sqrt(mine * (mine - 1))
            part = float((shares[here] ** 2).sum())
            variance, scale = variance + part, scale + part**2 / (mine - 1)
    return AucShares(value, shares, variance**2 / scale if scale > 0.0 else math.inf)


def auc_of(probabilities: Floats, is_present: Booleans) -> tuple[Auc, Floats]:
    """Return the AUC with its interval, and the shares of the labels; none without both kinds."""
    m = int(np.count_nonzero(is_present))
    n = len(is_present) - m
    if not m or not n:
        return NO_AUC, np.zeros(len(is_present))
    found = auc_shares(probabilities, is_present)
    error = float(np.sqrt((found.shares**2).sum())) if min(m, n) > 1 else 0.0
    return interval_of(found, error, m, n), found.shares


def interval_of(found: AucShares, error: float, n_cases: int, n_others: int) -> Auc:
    """Return the interval that spans DeLong's, of a standard error, and Newcombe's."""
    lower, upper = newcombe_interval(found.value, n_cases, n_others)
    if error > 0.0 and 0.0 < found.value < 1.0:
        ends = _by_log_odds(found.value, error, float(stdtrit(found.freedom, 0.975)))
        lower, upper = min(lower, ends[0]), max(upper, ends[1])
    return Auc(found.value, lower, upper)


def _by_log_odds(value: float, error: float, width: float) -> tuple[float, float]:
    """Return an interval of so many standard errors to both sides on the scale of log odds."""
    reach = width * error / (value * (1.0 - value))
    return float(expit(logit(value) - reach)), float(expit(logit(value) + reach))


def newcombe_interval(value: float, n_cases: int, n_others: int) -> tuple[float, float]:
    """Return the AUCs of which a value is not more than 1.96 standard errors away."""
    half = (n_cases + n_others) / 2.0 - 1.0

    def distance(true: float) -> float:
        spread = 1.0 + half * ((1.0 - true) / (2.0 - true) + true / (1.0 + true))
        variance = true * (1.0 - true) * spread / (n_cases * n_others)
        return (value - true) ** 2 - REACH**2 * variance

    # At 0 and 1 the distance is 0 for a value that is there itself: the other root is looked for.
    inside = min(max(value, 1e-12), 1.0 - 1e-12)
    lower = float(brentq(distance, 0.0, inside)) if value > 1e-12 else 0.0
    upper = float(brentq(distance, inside, 1.0)) if value < 1.0 - 1e-12 else 1.0
    return lower, upper


def pooled_auc(
    probabilities: Floats, is_present: Booleans, records: Integers, n_records: int
) -> Auc:
    """Return the AUC of the labels of all diseases together, whose records are the units."""
    m = int(np.count_nonzero(is_present))
    n = len(is_present) - m
    if not m or not n:
        return NO_AUC
    found = auc_shares(probabilities, is_present)
    of_records = np.bincount(records, found.shares, minlength=n_records)
    error = float(np.sqrt((of_records**2).sum())) if min(m, n) > 1 else 0.0
    return interval_of(found, error, m, n)


def mean_auc(
    aucs: Sequence[Auc], shares: Sequence[Floats], rows: Sequence[Integers], n_records: int
) -> Auc:
    """Return the mean of the AUCs that there are, whose errors go together within a record.

    The reach of the mean to a side adds up from the reaches of all, which are longer to one side
    than to the other, with the correlations of DeLong's shares (Zou and Donner 2008).
    """
    known = [index for index, auc in enumerate(aucs) if not math.isnan(auc.value)]
    if not known:
        return NO_AUC
    together, alone = np.zeros((2, n_records)), np.zeros(2)
    for index in known:
        auc, mine = aucs[index], shares[index]
        reaches = np.array([auc.value - auc.lower, auc.upper - auc.value])
        own = float(np.sqrt((mine**2).sum()))
        if own > 0.0:
            share = np.bincount(rows[index], mine / own, minlength=n_records)
            together += np.outer(reaches, share)
        else:
            alone += reaches**2
    value = float(np.mean([aucs[index].value for index in known]))
    below, above = np.sqrt((together**2).sum(axis=1) + alone) / len(known)
    return Auc(value, max(value - float(below), 0.0), min(value + float(above), 1.0))


# --- probabilities as such ---


def brier_score(probabilities: Floats, is_present: Booleans) -> float:
    """Return the mean squared distance of probabilities from what was seen, 1 or 0."""
    return float(np.mean((probabilities - is_present) ** 2)) if len(is_present) else math.nan


def log_scores(probabilities: Floats, is_present: Booleans) -> Floats:
    """Return the log of the probability that each label was given."""
    given = np.where(is_present, probabilities, 1.0 - probabilities)
    return np.asarray(np.log(np.maximum(given, LEAST)))


@equal_by_entries
class Calibration(NamedTuple):
    """The labels by bins of their probabilities, each of the same width."""

    n_labels: Integers
    n_present: Integers
    mean_probabilities: Floats
    """NaN where a bin is empty."""

    @property
    def shares(self) -> Floats:
        """Return how often the disease was seen; NaN where a bin is empty."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.n_present / self.n_labels)

    @property
    def error(self) -> float:
        """Return the expected calibration error: the mean distance of shares from probabilities."""
        n = int(self.n_labels.sum())
        distances = np.abs(self.mean_probabilities - self.shares)
        return float(np.nansum(self.n_labels * distances) / n) if n else math.nan

    def plot(self, ax: Any = None) -> Any:
        """Draw shares over probabilities, with 95% intervals; return the axes."""
        with axes_for(ax, 4.2, 4.2) as axes:
            draw_calibration(axes, self.mean_probabilities, self.shares, *self.intervals())
        return axes

    def intervals(self) -> tuple[Floats, Floats]:
        """Return the 95% intervals of the shares, by Wilson."""
        n, share = self.n_labels, self.shares
        with np.errstate(invalid="ignore", divide="ignore"):
            middle = (share + REACH**2 / (2.0 * n)) / (1.0 + REACH**2 / n)
            variance = share * (1.0 - share) / n + (REACH / (2.0 * n)) ** 2
            half = REACH / (1.0 + REACH**2 / n) * np.sqrt(variance)
        return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def calibration_of(probabilities: Floats, is_present: Booleans) -> Calibration:
    """Return the calibration curve."""
    bins = _bins(probabilities)
    counts = np.bincount(bins, minlength=N_BINS)
    with np.errstate(invalid="ignore"):
        means = np.bincount(bins, probabilities, minlength=N_BINS) / counts
    seen = np.bincount(bins[is_present], minlength=N_BINS)
    return Calibration(counts, seen, means)


def _bins(probabilities: Floats) -> Integers:
    return np.minimum((probabilities * N_BINS).astype(np.int64), N_BINS - 1)


def error_by_chance(probabilities: Floats) -> float:
    """Return the calibration error to expect if the probabilities are right.

    Labels are few, so that no share is just what it should be. Of a number of cases with mean m < 1
    the mean distance from m is 2 m P(none); of more, about that of a normal distribution.
    """
    if not len(probabilities):
        return math.nan
    bins = _bins(probabilities)
    distance = np.full(N_BINS, np.inf)
    for chance in probabilities, 1.0 - probabilities:
        mean = np.bincount(bins, chance, minlength=N_BINS)
        with np.errstate(divide="ignore"):
            none = np.exp(np.bincount(bins, np.log1p(-chance), minlength=N_BINS))
        distance = np.where(mean < 1.0, 2.0 * mean * none, distance)
    variance = np.bincount(bins, probabilities * (1.0 - probabilities), minlength=N_BINS)
    distance = np.where(np.isinf(distance), np.sqrt(2.0 * variance / np.pi), distance)
    return float(distance.sum() / len(probabilities))


def net_benefits(probabilities: Floats, is_present: Booleans) -> Floats:
    """Return, at each threshold, true positives a label less false ones, weighted by its odds."""
    n, odds = len(is_present), THRESHOLDS / (1.0 - THRESHOLDS)
    if not n:
        return np.full(len(THRESHOLDS), np.nan)
    right, wrong = (
        len(part) - np.searchsorted(np.sort(part), THRESHOLDS, side="left")
        for part in (probabilities[is_present], probabilities[~is_present])
    )
    return np.asarray((right - odds * wrong) / n)


def ranks_in_records(probabilities: Floats) -> Integers:
    """Return the rank of each disease in its record: 1 for the most probable, ties in order."""
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, order.shape[1] + 1)[np.newaxis], axis=1)
    return ranks
