"""What is known of a record whose diseases occur together, from what is known of its components."""

import numpy as np

from noisyor.inference.bounds import Bounded
from noisyor.inference.flat import Floats
from noisyor.network.causes import Components


def combine_bounds(weights: Floats, found: list[Bounded]) -> Bounded:
    """Bound posteriors and evidence of a mixture by the bounds of its components.

    A posterior is the mean of those of the components, weighted by their evidence: it is lowest
    where those with low posteriors have the evidence of their upper bound, and the others that of
    their lower one.
    """
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    low = log_weights + [each.log_lower for each in found]
    high = log_weights + [each.log_upper for each in found]
    top = high.max()
    if top == -np.inf:
        nothing = np.zeros(len(found[0].lower))
        return Bounded(nothing, nothing, nothing, -np.inf, -np.inf)
    low, high = np.exp(low - top), np.exp(high - top)
    middle = (low + high) / 2.0
    rows = np.array([each.probabilities for each in found])
    probabilities = middle @ rows / middle.sum()
    lower = _least_mean(np.array([each.lower for each in found]), low, high)
    upper = 1.0 - _least_mean(1.0 - np.array([each.upper for each in found]), low, high)
    with np.errstate(divide="ignore"):
        log_lower, log_upper = top + np.log(low.sum()), top + np.log(high.sum())
    return Bounded(
        np.clip(probabilities, lower, upper), lower, upper, float(log_lower), float(log_upper)
    )


def _least_mean(values: Floats, low: Floats, high: Floats) -> Floats:
    """Return the least weighted mean of each column, with weights between low and high."""
    order = np.argsort(values, axis=0)
    values = np.take_along_axis(values, order, axis=0)
    few, many = low[order], high[order]
    # The first n have their high weight, the others their low one.
    zeros = np.zeros((1, values.shape[1]))
    upper_sums = np.concatenate([zeros, np.cumsum(many * values, axis=0)])
    upper_totals = np.concatenate([zeros, np.cumsum(many, axis=0)])
    lower_sums = np.concatenate([np.cumsum((few * values)[::-1], axis=0)[::-1], zeros])
    lower_totals = np.concatenate([np.cumsum(few[::-1], axis=0)[::-1], zeros])
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (upper_sums + lower_sums) / (upper_totals + lower_totals)
    return np.asarray(np.nanmin(means, axis=0))


def conditioned(components: Components, disease: int, state: bool) -> Components:
    """Return the components of people of whom it is known whether they have a disease."""
    weights, priors = components
    chance = priors[:, disease] if state else 1.0 - priors[:, disease]
    priors = priors.copy()
    priors[:, disease] = float(state)
    total = float(weights @ chance)
    return Components(weights * chance / total if total > 0.0 else weights, priors)
