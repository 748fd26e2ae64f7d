"""What is unusual: p-values against residuals of records that the network itself has made.

The same is computed of the real residuals and of some simulated sets of them, nothing being fitted
again: the projection (`residuals`) takes off both what fitting would. So few sets cannot show how
small a small probability is. Therefore they give scales only, for distributions of known shape:

- a sum of squares, by its cube root, and a plain sum follow Student's distribution, once
  standardised;
- a single residual follows a Poisson distribution that is stretched to its variance, most pairs of
  symptoms being expected in less than ten records;
- the smallest of many p-values has about the distribution function 1 - (1 - p)^m, where m, which
  would be their number were they independent, is estimated.
"""

from typing import NamedTuple

import numpy as np

from noisyor.parameters import Floats

TRUST = 2000.0
"""Over the number of sets: how many more are added to them that show the variance one expects."""
N_TRUSTED = 20.0
"""So many sets more are taken to show that the smallest p-value is distributed as it should be."""
N_LIKELY = 50
"""Of so many of a set's residuals, by a rough measure, the smallest p-value is looked for."""


class TestedFamily(NamedTuple):
    """Many residuals of one kind, each with its p-value, and a p-value of the smallest of them."""

    residuals: Floats
    """Standardised."""
    spreads: Floats
    """By what they were divided; infinite where nothing can be tested."""
    p_values: Floats
    p_value: float
    simulated: Floats
    """Such p-values of the simulated sets."""


def family_of(
    residuals: Floats, simulated: Floats, usual: Floats, means: Floats, *, is_positive: bool = False
) -> TestedFamily:
    """Test many residuals, given simulated ones (a row for each set).

    Parameters
    ----------
    usual
        What their variances would be, were all pairs independent.
    means
        Of the Poisson distributions: the square of the inverse of the skewness.
    is_positive
        Only positive ones are of interest.
    """
    n = len(simulated)
    if not n or not len(residuals):
        ones = np.ones(len(residuals))
        return TestedFamily(residuals, ones, ones, 1.0, np.ones(n))
    squares = simulated**2
    sums = squares.sum(axis=0)
    weight = 1.0 / (1.0 + 0.5 / means)  # the sparser, the less a set tells of the variance
    usual = usual * sums.sum() / max(n * usual.sum(), 1e-300)
    trust = TRUST / n
    variances = (weight * sums + trust * usual) / (weight * n + trust)
    can_vary = variances > LEAST_LEFT
    spreads = np.sqrt(np.where(can_vary, variances, np.inf))
    standardised = residuals / spreads
    p_values = tails(standardised, means, is_positive=is_positive)
    least = np.empty(n)
    for number in range(n):  # without itself among those that give the variance
        others = weight * (sums - squares[number]) + trust * usual
        others = np.where(can_vary, others / (weight * (n - 1) + trust), np.inf)
        scores = simulated[number] / np.sqrt(others)
        least[number] = smallest(scores, means, is_positive=is_positive)
    found = of_smallest(np.array([p_values.min()]), least)
    return TestedFamily(standardised, spreads, p_values, float(found[0]), of_smallest(least, least))


LEAST_LEFT = 0.01
"""Where fitting takes off all but so much of a residual's variance, nothing can be tested."""


def tails(residuals: Floats, means: Floats, *, is_positive: bool = False) -> Floats:
    """Return p-values of standardised residuals by stretched Poisson distributions.

    >>> tails(np.array([0.0, 2.0, -2.0]), np.full(3, 1e6)).round(2).tolist()
    [1.0, 0.05, 0.05]
    """
    from scipy.special import gammainc, gammaincc

    counts = np.maximum(means + residuals * np.sqrt(means), 0.0)
    above = gammainc(np.maximum(counts, 1e-9), means)
    if is_positive:
        return np.asarray(above)
    below = gammaincc(counts + 1.0, means)
    return np.minimum(2.0 * np.where(residuals > 0, above, below), 1.0)


def smallest(residuals: Floats, means: Floats, *, is_positive: bool = False) -> float:
    """Return the smallest of the p-values, looking at those that are likely to be."""
    roots = np.sqrt(np.maximum(means + residuals * np.sqrt(means), 0.0))
    unusual = roots - np.sqrt(means)
    if not is_positive:
        unusual = np.abs(unusual)
    n = min(N_LIKELY, len(residuals))
    rows = np.argpartition(-unusual, n - 1)[:n]
    return float(tails(residuals[rows], means[rows], is_positive=is_positive).min())


def of_smallest(smallest_p: Floats, simulated: Floats) -> Floats:
    """Return the chance of a smallest p-value as small as each, given those of simulated sets.

    Of m independent ones the smallest, x = -log(1 - p), has the distribution function
    1 - exp(-m x). Here it is 1 - exp(-(m x)^k), for tails that are not quite as they should be,
    with m and k from the mean and variance of log x.
    """
    logs = _log_hazards(simulated)
    n, usual = len(logs), np.pi**2 / 6.0
    k = np.sqrt(usual / ((n * logs.var() + N_TRUSTED * usual) / (n + N_TRUSTED)))
    return np.asarray(
        -np.expm1(-np.exp(k * (_log_hazards(smallest_p) - logs.mean()) - np.euler_gamma))
    )


def _log_hazards(p_values: Floats) -> Floats:
    return np.asarray(np.log(-np.log1p(-np.clip(p_values, 1e-300, 1.0 - 1e-12))))


def of_sum(value: float, simulated: Floats, *, is_positive: bool = False) -> tuple[float, Floats]:
    """Return p-values of a sum and of the simulated ones, which are about normal."""
    from scipy.special import stdtr

    n = len(simulated)
    spread = simulated.std(ddof=1) * np.sqrt(1.0 + 1.0 / n)
    if not spread > 1e-9:
        return 1.0, np.ones(n)
    scores = (np.append(simulated, value) - simulated.mean()) / spread
    p_values = stdtr(n - 1, -scores) if is_positive else 2.0 * stdtr(n - 1, -np.abs(scores))
    return float(p_values[-1]), np.asarray(p_values[:-1])
