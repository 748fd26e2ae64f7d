"""How uncertain estimates are (the jackknife), and what becomes of them (empirical Bayes).

A raw estimate with its standard error is taken as a normal observation of the parameter, the other
parameters of its kind as a sample of where it may lie: a Beta distribution for failures, a
log-normal one for priors and leaks, fitted by EM to all observations, however uncertain. The
posterior mean lies inside of the bounds by construction; its standard deviation is the standard
error. Where the data say little, the result is near the mean of all, and is flagged.
"""

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from noisyor.learning.decompose import lambdas_of
from noisyor.moments import Moments
from noisyor.names import Indices
from noisyor.parallel import in_threads, one_blas_thread
from noisyor.parameters import MARGIN, Booleans, Floats

MOST_FITTED = 2000
"""The distribution is fitted to so many observations at most."""
FITTED_AT_ONCE = 300
"""So many of them at a time: what is known of these stays in the caches."""
OUTLIERS = 0.05
"""The share of the default distribution, wide, in the fitted one: a value far off is possible."""


def jackknife_groups(moments: Moments, is_asked: bool = True) -> list[int]:
    """Return the groups of records to leave out one at a time; none, if there are too few.

    From fewer than ten a standard error would itself be wrong by a quarter or more.
    """
    groups: list[int] = np.flatnonzero(moments.group_records > 0).tolist()
    return groups if is_asked and len(groups) >= 10 else []


def jackknife_errors(whole: Floats, replicates: Floats, sizes: Indices) -> Floats:
    """Return standard errors of estimates, from those without each of some groups of records.

    `whole` was learned from all records, row g of `replicates` without the `sizes[g]` records of
    group g. With h = n / n_g, the pseudovalues h x - (h - 1) x_g scatter around their mean
    sum_g (x - (1 - 1/h) x_g) with the variance (h - 1) G var(x). For equal groups this is the
    usual (G - 1) / G sum (x_g - mean)^2. (Busing, Meijer, van der Leeden 1999)

    >>> values = np.array([1.0, 4.0, 2.0, 7.0])
    >>> without = (values.sum() - values) / 3
    >>> error = jackknife_errors(values.mean(), without[:, np.newaxis], np.ones(4, dtype=int))
    >>> bool(np.isclose(error[0], values.std(ddof=1) / 2))
    True
    """
    n_groups = len(sizes)
    h = (sizes.sum() / sizes)[:, np.newaxis]
    center = n_groups * whole - ((1.0 - 1.0 / h) * replicates).sum(axis=0)
    pseudovalues = h * whole - (h - 1.0) * replicates
    variances = ((pseudovalues - center) ** 2 / (h - 1.0)).sum(axis=0) / n_groups
    return np.asarray(np.sqrt(variances))


# --- shrinking towards what the other estimates show ---


class Shrunk(NamedTuple):
    """Posterior means and standard deviations, and which rest mainly on the other parameters."""

    values: Floats
    standard_errors: Floats
    is_weak: Booleans


class Family(NamedTuple):
    """Distributions of one kind of parameter, on a grid of values."""

    grid: Floats
    scale: Floats
    """The grid on the scale on which mean and variance describe a distribution."""
    density: Callable[[float, float], Floats]
    """Of each grid point, given mean and variance."""
    mean: float
    variance: float


def _beta_family() -> Family:
    grid = (np.arange(200) + 0.5) / 200

    def density(mean: float, variance: float) -> Floats:
        size = np.clip(mean * (1.0 - mean) / max(variance, 1e-12) - 1.0, 1.0, 20.0)
        above, below = mean * size - 1.0, (1.0 - mean) * size - 1.0
        density = np.exp(above * np.log(grid) + below * np.log1p(-grid))
        return np.asarray(density / density.sum())

    return Family(grid, grid, density, 0.5, 1.0 / 12.0)


def _log_normal_family(center: float, spread: float) -> Family:
    logs = np.linspace(np.log(1e-6), np.log(0.995), 1000)

    def density(mean: float, variance: float) -> Floats:
        density = np.exp(-0.5 * (logs - mean) ** 2 / max(variance, 0.1))
        return np.asarray(density / density.sum())

    return Family(np.exp(logs), logs, density, center, spread**2)


def shrink_failures(raw: Floats, errors: Floats, n_jobs: int | None = 1) -> Shrunk:
    """Shrink failures towards a Beta distribution."""
    family = _beta_family()
    return _shrink(family, family.grid, raw, raw, errors, n_jobs)


def shrink_leaks(raw: Floats, errors: Floats, n_jobs: int | None = 1) -> Shrunk:
    """Shrink leaks, which are positive and small, towards a log-normal distribution."""
    family = _log_normal_family(-5.0, 2.0)
    return _shrink(family, family.grid, raw, raw, errors, n_jobs)


def shrink_priors(raw: Floats, observed: Floats, errors: Floats, n_jobs: int | None = 1) -> Shrunk:
    """Shrink priors, seen through lambda = (1 - 2 p) / sqrt(p (1 - p)), towards a log-normal."""
    family = _log_normal_family(-4.0, 1.5)
    return _shrink(family, lambdas_of(family.grid), raw, observed, errors, n_jobs)


def unshrunk(raw: Floats, errors: Floats) -> Shrunk:
    """Return the values as they are, but inside of their bounds; weak where they were not."""
    inside = np.clip(np.nan_to_num(raw, nan=0.5), MARGIN, 1.0 - MARGIN)
    is_weak = ~(inside == raw)
    return Shrunk(inside, np.where(is_weak, np.nan, errors), is_weak)


def _shrink(
    family: Family, predicted: Floats, raw: Floats, observed: Floats, errors: Floats,
    n_jobs: int | None,
) -> Shrunk:  # fmt: skip
    """Return the posterior of each parameter; its values predict what is observed of it."""
    usable = np.flatnonzero(np.isfinite(observed) & np.isfinite(errors))
    prior, common = _fit(family, predicted, observed[usable], errors[usable], n_jobs)
    mean, prior_spread = (float(each[0]) for each in _moments(prior[np.newaxis], family.grid))
    values, spreads = np.full(len(raw), mean), np.full(len(raw), prior_spread)
    is_common = np.full(len(raw), True)
    usual, usual_spread = (float(each[0]) for each in _moments(common[np.newaxis], family.scale))

    def shrink(rows: Indices) -> None:
        weights = prior * _likelihood(predicted, observed[rows], errors[rows])
        weights /= weights.sum(axis=1, keepdims=True)
        values[rows], spreads[rows] = _moments(weights, family.grid)
        centers, scaled = _moments(weights, family.scale)
        is_near = np.abs(centers - usual) < usual_spread
        is_common[rows] = is_near & (scaled > 0.8 * usual_spread)

    in_threads(shrink, np.array_split(usable, len(usable) // 500 + 1), n_jobs)
    steps = np.gradient(family.grid)
    # An observation far beyond the grid has no width there: it contradicts the others.
    at_edge = spreads < np.interp(values, family.grid, steps) / 2.0
    spreads[at_edge] = np.nan
    # Where the grid is coarser than the observation, the observation is as good as it gets.
    derivatives = np.abs(np.interp(raw, family.grid, steps / np.gradient(predicted)))
    inside = (raw > family.grid[0]) & (raw < family.grid[-1])
    sharp = inside & (errors * derivatives < 1.5 * np.interp(raw, family.grid, steps))
    values[sharp], spreads[sharp] = raw[sharp], (errors * derivatives)[sharp]
    # Weak are estimates whose data leave most of the prior's standard deviation; or most of that
    # without outliers, whose far tails any datum cuts off, and that stay near the usual value.
    is_weak = at_edge | is_common | ~(spreads <= 0.8 * prior_spread)
    return Shrunk(values, spreads, ~sharp & is_weak)


def _moments(weights: Floats, points: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the points under each row of weights."""
    means = weights @ points
    around = (points - means[:, np.newaxis]) ** 2
    return means, np.sqrt((weights * around).sum(axis=1))


def _fit(
    family: Family, predicted: Floats, observed: Floats, errors: Floats, n_jobs: int | None
) -> tuple[Floats, Floats]:
    """Return the distribution that the observations come from, with and without outliers."""
    rows = np.linspace(0, len(observed) - 1, min(len(observed), MOST_FITTED)).astype(np.int64)
    parts = np.array_split(rows, len(rows) // FITTED_AT_ONCE + 1)
    likelihoods = in_threads(
        lambda part: _likelihood(predicted, observed[part], errors[part]), parts, n_jobs
    )
    with one_blas_thread() if len(parts) > 1 else nullcontext():
        return _fit_to(likelihoods, family, n_jobs)


def _fit_to(likelihoods: list[Floats], family: Family, n_jobs: int | None) -> tuple[Floats, Floats]:
    mean, variance = family.mean, family.variance
    default = family.density(mean, variance)
    for _ in range(20):
        density = family.density(mean, variance)
        prior = (1.0 - OUTLIERS) * density + OUTLIERS * default
        shares = in_threads(functools.partial(_shares, prior), likelihoods, n_jobs)
        # Observations that are outliers do not move the others' mean and variance.
        usual = (1.0 - OUTLIERS) * density * sum(shares)
        # The default counts as ten parameters: few parameters do not make a distribution.
        total = usual + 10.0 * default
        total /= total.sum()
        mean = float(total @ family.scale)
        variance = float(total @ (family.scale - mean) ** 2)
    return prior, density


def _shares(prior: Floats, likelihood: Floats) -> Floats:
    """Return, for each grid point, the sum over observations of its likelihood over all points'."""
    return np.asarray((1.0 / (likelihood @ prior)) @ likelihood)


def _likelihood(predicted: Floats, observed: Floats, errors: Floats) -> Floats:
    """Return how well each grid point (column) agrees with each observation (row)."""
    # At least as wide as the grid's steps, so that no observation falls between two points.
    width = np.sqrt(errors[:, np.newaxis] ** 2 + (np.gradient(predicted) / 2.0) ** 2)
    exponents = -0.5 * ((observed[:, np.newaxis] - predicted) / width) ** 2
    exponents -= exponents.max(axis=1, keepdims=True)
    return np.asarray(np.exp(exponents) + 1e-300)
