"""Causes from counts of pairs: a start for EM.

Without a structure, log R(a, b) = sum_k log(1 + v_ka v_kb) for every two symptoms, with strengths
v_ka = sqrt(p (1 - p)) t_ka of at least 0 (method, Section 1): a symmetric factorisation with
factors that are not negative, whose diagonal is not seen. It is fitted by weighted least squares
from random starts; the cost does not depend on the number of records.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.discovery.dense_em import CauseMatrix
from noisyor.errors import ParameterError
from noisyor.moments import Moments
from noisyor.parameters import Booleans, Floats

FIRST_PRIOR = 0.15
"""Pairs do not tell how frequent a cause is: EM begins with this."""
MAX_ITER = 150
STRONGEST = 0.98


class PairRatios(NamedTuple):
    """log R of all pairs of symptoms, and how well each is known; 0 on the diagonals.

    And where no record knows both.
    """

    values: Floats
    weights: Floats

    @classmethod
    def of(cls, moments: Moments) -> "PairRatios":
        """Return those of counts of all pairs."""
        n_symptoms = len(moments.plan.symptoms)
        seen = moments.values(2)
        is_seen = seen.n_records > 0
        if not is_seen.any():
            raise ParameterError(
                "no record knows two symptoms: causes show in symptoms that are known together."
            )
        n, (a, b) = seen.n_records[is_seen], moments.plan.pairs[is_seen].T
        both = np.maximum(seen.absent[is_seen], 0.5 / n)
        single = 1.0 / (1.0 + seen.odds[is_seen])  # P(absent) of each, where both are known
        single = np.maximum(single, both[:, np.newaxis])
        ratios = np.log(both / (single[:, 0] * single[:, 1]))
        variances = (1.0 / both - 1.0 / single[:, 0] - 1.0 / single[:, 1] + 1.0) / n
        floor = 1e-3 * np.median(np.maximum(variances, 0.0)) + 1e-12
        values, weights = np.zeros((n_symptoms, n_symptoms)), np.zeros((n_symptoms, n_symptoms))
        values[a, b] = values[b, a] = ratios
        weights[a, b] = weights[b, a] = 1.0 / np.maximum(variances, floor)
        return cls(values, weights)


def factorise(
    ratios: PairRatios, is_allowed: Booleans, rng: np.random.Generator,
    start: Floats | None = None, max_iter: int = MAX_ITER,
) -> tuple[Floats, float]:  # fmt: skip
    """Return strengths of causes, causes x symptoms, and the weighted sum of squares they leave.

    Parameters
    ----------
    ratios
        Of all pairs.
    is_allowed
        Causes x symptoms: where a cause may have an edge.
    rng
        For the start, where none is given.
    start
        Strengths to begin with; NaN: random ones.
    max_iter
        Steps of L-BFGS at most; 0: the start is the result.
    """
    from scipy.optimize import minimize

    weights = ratios.weights / max(float(ratios.weights.mean()), 1e-300)
    shape, (n_causes, n_symptoms) = is_allowed.shape, is_allowed.shape
    scale = np.sqrt(max(float(np.maximum(ratios.values, 0.0).mean()), 1e-4) / max(n_causes, 1))
    first = rng.uniform(0.0, 2.0 * scale, shape)
    if start is not None:
        first = np.where(np.isnan(start), first, start)
    if not max_iter:
        return first * is_allowed, float("nan")
    bounds = [(0.0, None if each else 0.0) for each in is_allowed.ravel().tolist()]

    def loss(flat: Floats) -> tuple[float, Floats]:
        v = flat.reshape(shape)
        fitted, derivatives = -ratios.values, []
        for each in v:
            product = np.outer(each, each)
            fitted = fitted + np.log1p(product)
            derivatives.append(1.0 / (1.0 + product))
        weighted = weights * fitted
        slopes = [4.0 * (weighted * d) @ each for d, each in zip(derivatives, v, strict=True)]
        return float((weighted * fitted).sum()) * 1e3, np.ravel(slopes) * 1e3

    found = minimize(
        loss, (first * is_allowed).ravel(), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": max_iter},
    )  # fmt: skip
    return np.asarray(found.x).reshape(n_causes, n_symptoms), float(found.fun)


def causes_of(
    strengths: Floats, is_allowed: Booleans, frequencies: Floats, prior: float = FIRST_PRIOR
) -> CauseMatrix:
    """Return causes with these strengths, all as frequent."""
    t = strengths / np.sqrt(prior * (1.0 - prior))
    failures = np.clip(1.0 - t / (1.0 + prior * t), 1.0 - STRONGEST, STRONGEST)
    leaks = np.clip(0.2 * frequencies, 1e-3, 0.1)
    return CauseMatrix(np.full(len(t), prior), np.where(is_allowed, failures, 1.0), leaks)


def residuals(ratios: PairRatios, causes: CauseMatrix) -> PairRatios:
    """Return what causes leave of the ratios."""
    p = causes.priors[:, np.newaxis]
    strengths = causes.strengths
    v = np.sqrt(p * (1.0 - p)) * strengths / (1.0 - p * strengths)
    fitted: NDArray[np.float64] = np.zeros_like(ratios.values)
    for each in v:
        fitted = fitted + np.log1p(np.outer(each, each))
    np.fill_diagonal(fitted, 0.0)
    return PairRatios(ratios.values - fitted, ratios.weights)
