"""Whether chains of draws agree: the rank-normalised split R-hat, and effective sample sizes.

Each chain is cut into halves, which must agree as chains must. R-hat compares the variance between
them with that within; the effective sample size is the number of independent draws that would tell
the mean as well. Both are taken of the draws' ranks, so that long tails do not matter (Vehtari,
Gelman, Simpson, Carpenter & Bürkner 2021).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from noisyor.inference.flat import Floats

AT_ONCE = 512
"""Parameters that are looked at together: the memory of more is not needed."""


class Convergence(NamedTuple):
    """How well chains agree, an entry per parameter."""

    r_hats: Floats
    """1 where they agree."""
    effective_sizes: Floats


def convergence_of(draws: Floats) -> Convergence:
    """Look at draws, chains x draws x parameters; what does not vary at all has converged.

    >>> rng = np.random.default_rng(0)
    >>> found = convergence_of(rng.random((4, 500, 1)))
    >>> bool(found.r_hats[0] < 1.01 and 1500 < found.effective_sizes[0] < 2600)
    True
    """
    n_parameters = draws.shape[2]
    parts = [
        _convergence_of(_halves(draws[:, :, first : first + AT_ONCE]))
        for first in range(0, n_parameters, AT_ONCE)
    ]
    if not parts:
        return Convergence(np.empty(0), np.empty(0))
    return Convergence(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _halves(draws: Floats) -> Floats:
    """Return the halves of each chain as chains."""
    n = draws.shape[1] // 2
    return np.concatenate([draws[:, :n], draws[:, draws.shape[1] - n :]])


def _convergence_of(chains: Floats) -> Convergence:
    from scipy.stats import rankdata  # takes longer to load than all that is imported above

    n_chains, n, n_parameters = chains.shape
    ranks = rankdata(chains.reshape(n_chains * n, n_parameters), axis=0)
    normal = ndtri((ranks - 0.375) / (n_chains * n + 0.25)).reshape(chains.shape)
    within = normal.var(axis=1, ddof=1).mean(axis=0)
    between = normal.mean(axis=1).var(axis=0, ddof=1)
    varies = np.ptp(chains, axis=(0, 1)) > 0.0
    total = np.where(varies, within * (n - 1) / n + between, 1.0)
    with np.errstate(divide="ignore"):
        r_hats = np.sqrt(total / np.where(varies, within, 1.0))
    covariances = _autocovariances(normal).mean(axis=0)
    correlations = 1.0 - (within - covariances * n / (n - 1)) / total
    sizes = n_chains * n / _correlated_draws(correlations)
    most = n_chains * n * np.log10(n_chains * n)
    return Convergence(r_hats, np.where(varies, np.minimum(sizes, most), float(n_chains * n)))


def _autocovariances(chains: Floats) -> Floats:
    """Return the covariances of each chain with itself at all lags, by a Fourier transform."""
    n = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    transformed = np.fft.rfft(centred, 2 * n, axis=1)
    products = np.fft.irfft(transformed * transformed.conj(), 2 * n, axis=1)
    return np.asarray(products[:, :n] / n)


def _correlated_draws(correlations: Floats) -> Floats:
    """Return how many draws tell as much as one independent one.

    One and twice the sum of the correlations, in pairs of lags: these sums are positive and fall in
    truth, so the first that is not positive ends them (Geyer 1992).
    """
    n_pairs = len(correlations) // 2
    pairs = correlations[0 : 2 * n_pairs : 2] + correlations[1 : 2 * n_pairs : 2]
    is_counted = np.cumprod(pairs > 0.0, axis=0)
    falling = np.minimum.accumulate(np.maximum(pairs, 0.0), axis=0)
    return np.asarray(np.maximum(2.0 * (falling * is_counted).sum(axis=0) - 1.0, 1e-3))
