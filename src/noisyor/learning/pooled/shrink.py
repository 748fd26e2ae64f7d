"""Shrinking uncertain estimates towards what the others show (empirical Bayes).

A raw estimate with its standard error is taken as a normal observation of the parameter, the other
parameters of its kind as a sample of where it may lie. The posterior mean lies inside of the bounds
by construction; its standard deviation is the standard error. Where the data say little, the
result is near the mean of all, and is flagged.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.learning.decompose import lambdas_of

Floats = NDArray[np.float64]

GRID = 200
CERTAIN = 0.5
"""Estimates whose standard error is smaller than this part of the spread make up the sample."""
WEAK = 0.8
"""An estimate is weak if its data leave more than this part of the prior's standard deviation."""


class Shrunk(NamedTuple):
    """Posterior means and standard deviations, and which rest mainly on the other parameters."""

    values: Floats
    standard_errors: Floats
    is_weak: NDArray[np.bool_]


def beta_prior(values: Floats, least_size: float) -> tuple[float, float]:
    """Return mean and size (a + b, at most 20) of the Beta distribution with the same moments."""
    mean = float(values.mean())
    variance = max(float(values.var()), 1e-12)
    return mean, float(np.clip(mean * (1.0 - mean) / variance - 1.0, least_size, 20.0))


def shrink_probabilities(raw: Floats, errors: Floats) -> Shrunk:
    """Shrink probabilities towards a Beta distribution fitted to the well-known ones."""
    usable = np.isfinite(raw) & np.isfinite(errors)
    sample = raw[usable & (errors < CERTAIN * _spread(raw[usable]))]
    mean, size = 0.5, 2.0
    if len(sample) >= 10:
        mean, size = beta_prior(np.clip(sample, 0.01, 0.99), least_size=1.0)
    grid = (np.arange(GRID) + 0.5) / GRID
    log_prior = (mean * size - 1.0) * np.log(grid) + ((1.0 - mean) * size - 1.0) * np.log1p(-grid)
    shrunk = _posterior(grid, grid, log_prior, raw, errors)
    # Where the grid is coarser than the observation, the observation is as good as it gets.
    sharp = usable & (errors < 1.5 / GRID) & (raw > grid[0]) & (raw < grid[-1])
    shrunk.values[sharp], shrunk.standard_errors[sharp] = raw[sharp], errors[sharp]
    shrunk.is_weak[sharp] = False
    return shrunk


def shrink_leaks(raw: Floats, errors: Floats) -> Shrunk:
    """Shrink leaks, which are positive and small, towards a log-normal distribution."""
    with np.errstate(invalid="ignore"):
        sample = raw[raw > 3.0 * errors]
    grid, log_prior = _log_normal(sample, -5.0, 2.0)
    return _posterior(grid, grid, log_prior, raw, errors)


def shrink_priors(raw: Floats, observed: Floats, errors: Floats) -> Shrunk:
    """Shrink priors, seen through lambda = (1 - 2 p) / sqrt(p (1 - p)), towards a log-normal."""
    with np.errstate(invalid="ignore"):
        sample = raw[observed > 4.0 * errors]
    grid, log_prior = _log_normal(sample, -4.0, 1.5)
    return _posterior(grid, lambdas_of(grid), log_prior, observed, errors)


def _log_normal(sample: Floats, center: float, spread: float) -> tuple[Floats, Floats]:
    """Return a grid and the logarithm of the density there; the defaults serve few values."""
    if len(sample) >= 10:
        logs = np.log(sample)
        center, spread = float(logs.mean()), max(float(logs.std()), 0.3)
    grid = np.linspace(center - 4.0 * spread, min(center + 4.0 * spread, np.log(0.995)), 4 * GRID)
    return np.exp(grid), -0.5 * ((grid - center) / spread) ** 2


def _spread(values: Floats) -> float:
    return float(np.subtract(*np.percentile(values, [84, 16])) / 2.0) if len(values) else 0.0


def _posterior(
    grid: Floats, predicted: Floats, log_prior: Floats, observed: Floats, errors: Floats
) -> Shrunk:
    """Return the posterior of each parameter on a grid, whose points predict the observation."""
    prior = np.exp(log_prior - log_prior.max())
    prior /= prior.sum()
    prior_mean = float(prior @ grid)
    prior_spread = float(np.sqrt(prior @ (grid - prior_mean) ** 2))
    values = np.full(len(observed), prior_mean)
    spreads = np.full(len(observed), prior_spread)
    usable = np.flatnonzero(np.isfinite(observed) & np.isfinite(errors))
    step = np.abs(np.gradient(predicted))
    for rows in np.array_split(usable, len(usable) // 2000 + 1):
        # At least as wide as the grid's steps, so that no observation falls between two points.
        width = np.sqrt(errors[rows, np.newaxis] ** 2 + (step / 2.0) ** 2)
        weights = log_prior - 0.5 * ((observed[rows, np.newaxis] - predicted) / width) ** 2
        weights = np.exp(weights - weights.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        values[rows] = weights @ grid
        around = (grid - values[rows, np.newaxis]) ** 2
        spreads[rows] = np.sqrt((weights * around).sum(axis=1))
    # An observation far beyond the grid has no width there: it contradicts the others.
    at_edge = spreads < np.interp(values, grid, np.gradient(grid)) / 2.0
    spreads[at_edge] = np.nan
    return Shrunk(values, spreads, at_edge | (spreads > WEAK * prior_spread))
