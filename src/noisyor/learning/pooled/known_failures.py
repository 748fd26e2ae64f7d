"""Priors of diseases some of whose failures are fixed.

With f known, the strength of an edge tells the prior too, and better than the triplets do:

    v = sqrt(p (1 - p)) (1 - f) / (1 - p (1 - f))

Each such edge, and the disease's lambda, is one observation of p, weighted by its error.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.learning.decompose import lambdas_of, priors_of
from noisyor.learning.jackknife import jackknife_errors
from noisyor.parameters import MARGIN, Fixed

Floats = NDArray[np.float64]

STEPS = 25
LONGEST_STEP = 1.0
"""In log p."""


class Observed(NamedTuple):
    """Strengths of all edges and lambdas of all diseases."""

    strengths: Floats
    lambdas: Floats


def lambdas_with_known_failures(
    fixed: Fixed, whole: Observed, groups: Observed, sizes: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Return the lambdas, and those without each group, with what fixed failures tell of them."""
    owners = fixed.structure.edges[:, 0]
    free = ~fixed.mask.priors
    telling = np.flatnonzero(fixed.mask.failures & free[owners] & (whole.strengths > 0))
    if not len(telling):
        return whole.lambdas, groups.lambdas
    errors = Observed(
        *(_errors(each, parts, sizes) for each, parts in zip(whole, groups, strict=True))
    )
    lambdas = _fit(fixed, telling, whole, errors)
    found = [_fit(fixed, telling, Observed(v, x), errors) for v, x in zip(*groups, strict=True)]
    return lambdas, np.array(found).reshape(groups.lambdas.shape)


def _errors(whole: Floats, parts: Floats, sizes: NDArray[np.int64]) -> Floats:
    """Return standard errors; where there are no groups, a hundredth of each value."""
    least = 1e-9 + 1e-4 * np.abs(whole)
    if not len(sizes):
        return np.asarray(100.0 * least)
    return np.maximum(jackknife_errors(whole, parts, sizes), least)


def _fit(fixed: Fixed, telling: NDArray[np.int64], observed: Observed, errors: Observed) -> Floats:
    """Return lambda of each disease, changed where edges tell of its prior (Gauss-Newton)."""
    n = len(observed.lambdas)
    owners, f = (
        fixed.structure.edges[telling, 0],
        np.clip(fixed.values.failures[telling], MARGIN, 1.0 - MARGIN),
    )
    v, v_error = observed.strengths[telling], errors.strengths[telling]
    known = np.isfinite(observed.lambdas) & np.isfinite(errors.lambdas)
    log_p = np.log(np.clip(np.where(known, priors_of(observed.lambdas), 0.01), 1e-4, 0.5))
    for _ in range(STEPS):
        p = np.exp(log_p)
        q, p_edge = p * (1.0 - p), np.exp(log_p)[owners]
        share = (1.0 - f) / (1.0 - p_edge * (1.0 - f))
        expected = np.sqrt(p_edge * (1.0 - p_edge)) * share
        slope = expected * (0.5 * (1.0 - 2.0 * p_edge) / (1.0 - p_edge) + p_edge * share)
        above = np.bincount(owners, slope * (v - expected) / v_error**2, minlength=n)
        below = np.bincount(owners, slope**2 / v_error**2, minlength=n)
        slope = np.where(known, -0.5 * p * q**-1.5, 0.0)
        rest = np.where(known, observed.lambdas - lambdas_of(p), 0.0)
        lambda_error = np.where(known, errors.lambdas, 1.0)
        above += slope * rest / lambda_error**2
        below += slope**2 / lambda_error**2
        move = np.clip(above / np.where(below > 0, below, 1.0), -LONGEST_STEP, LONGEST_STEP)
        log_p = np.clip(log_p + move, np.log(MARGIN), np.log(1.0 - MARGIN))
    is_told = np.bincount(owners, minlength=n) > 0
    return np.where(is_told, lambdas_of(np.exp(log_p)), observed.lambdas)
