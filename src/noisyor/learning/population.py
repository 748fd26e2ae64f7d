"""of_population: priors of the population, where records were chosen by their diseases.

In a case-control study a share s1 of those with a disease becomes a record, and a share s0 of those
without it. Diseases are independent, so the records are those of the same network with another
prior: odds of s1 / s0 times those of the population. Failures and leaks are the same.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from noisyor.errors import ParameterError, quoted
from noisyor.learning.estimate import Estimate
from noisyor.names import Name
from noisyor.parameters import Floats, Parameters, from_log_odds, log_odds


def of_population(estimate: Estimate, fractions: Mapping[Name, tuple[float, float]]) -> Estimate:
    """Return an estimate with the priors that diseases have in the population.

    Parameters
    ----------
    estimate
        What was learned from records that were chosen by some diseases, and by nothing else.
    fractions
        From each of these diseases to two sampling fractions: of those with the disease, and of
        those without. Only their ratio counts.

    Examples
    --------
    >>> from noisyor import datasets
    >>> from noisyor.learning import fit, of_population
    >>> network = datasets.figure1(rng=0)
    >>> estimate = fit(network.sample(2000, rng=1), network.structure)
    >>> rare = of_population(estimate, {"A": (1.0, 0.01)})  # all with A, one in 100 of the others
    >>> bool(rare.network.priors[0] < 0.02)
    True
    """
    if estimate.learned_causes is not None:
        raise ParameterError(
            "sampling fractions correct the priors of independent diseases, and here these occur "
            "together or depend on covariates: learn with causes='independent' and without "
            "covariates, or leave the fractions out."
        )
    structure, shift = estimate.structure, np.zeros(estimate.structure.n_diseases)
    for name, pair in fractions.items():
        disease = structure.disease_index(name)
        shift[disease] = -np.log(_ratio(name, pair))
        known = estimate.beliefs
        if known is not None and known.weights.priors[disease] > 0.0:
            raise ParameterError(
                f"the prior of {quoted(name)} is fixed or believed, so sampling fractions have "
                "nothing to correct: leave out the one or the other."
            )
    before = estimate.values.priors

    def moved(values: Floats) -> Floats:
        after = from_log_odds(log_odds(values, 1e-12) + shift)
        return np.where(shift == 0.0, values, after)

    after = moved(before)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(shift == 0.0, 1.0, after * (1.0 - after) / (before * (1.0 - before)))
    _, failures, leaks = estimate.values
    errors = estimate.standard_errors
    ends = estimate.interval_ends
    if ends is not None:
        lower, upper = (Parameters(moved(each.priors), *list(each)[1:]) for each in ends)
        ends = lower, upper
    return replace(
        estimate,
        values=Parameters(after, failures, leaks),
        standard_errors=Parameters(errors.priors * scale, errors.failures, errors.leaks),
        interval_ends=ends,
        # The records are those of the sample, which this network does not describe.
        moments=None,
        verdict_of_file=estimate.verdict,
    )


def _ratio(name: Name, pair: Any) -> float:
    """Return how many times as often those with a disease were chosen."""
    is_pair = isinstance(pair, tuple | list) and len(pair) == 2
    if not is_pair or not all(
        isinstance(each, int | float | np.number) and 0.0 < each <= 1.0 for each in pair
    ):
        raise ParameterError(
            f"sampling fractions of {quoted(name)} must be two numbers above 0 and up to 1, of "
            f"those with the disease and of those without; they are given as {quoted(pair)}."
        )
    return float(pair[0]) / float(pair[1])
