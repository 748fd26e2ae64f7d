"""Standard errors that hold where the network is not how the records came about.

At the maximum, of records that the network does not describe, the products of the records' scores S
and the curvature H of the log likelihood differ, and neither inverse is the covariance. That is the
sandwich H^-1 S H^-1 (Huber 1967; White 1982), of the parameters that describe the records best.
"""

from typing import NamedTuple

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import BetaPriors
from noisyor.em.information import (
    MOST_FACTORED,
    errors_of,
    information_errors,
    inverse_with_priors,
)
from noisyor.errors import ParameterError
from noisyor.inference.flat import Floats
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Parameters, from_log_odds, log_odds

STEP = 1e-4
"""By so much log odds are moved to see how the derivatives change."""
CURVED_RECORDS = 20_000
"""The curvature, a mean over records, is that of so many of them, chosen at random."""


class RobustCovariance(NamedTuple):
    """Covariances of the log odds."""

    bread: Floats
    """The inverse of the curvature: what it would be if the network was right."""
    sandwich: Floats


def check_robust(n_parameters: int, *, is_exact: bool) -> None:
    """Refuse what would take too long, or cannot be done."""
    advice = "leave out robust=True (--robust)"
    if not is_exact:
        raise ParameterError(
            f"robust errors need records that can be summed up exactly, and these cannot: {advice}."
        )
    if n_parameters > MOST_FACTORED:
        raise ParameterError(
            f"robust errors of {n_parameters:,} parameters would take as many passes over the "
            f"records; {MOST_FACTORED:,} are the most: {advice}, or fix what is known."
        )


def robust_covariance(
    expectation: ExactExpectation, network: NoisyOrNetwork, fixed: Beliefs, priors: BetaPriors
) -> RobustCovariance:
    """Return the sandwich, weak priors counting in the curvature."""
    curvature = curvature_of(expectation, network, fixed)
    bread = inverse_with_priors(network, curvature, fixed, priors)
    information = fixed.rates.information(network.parameters, expectation.information(network))
    return RobustCovariance(bread, bread @ information @ bread)


def robust_errors(
    expectation: ExactExpectation, network: NoisyOrNetwork, fixed: Beliefs, found: RobustCovariance,
    priors: BetaPriors,
) -> Parameters:  # fmt: skip
    """Return the sandwich's errors, none smaller than those of the information.

    Near a bound, where weak priors and not the records stop a value, the sandwich is too small.
    """
    information = expectation.information(network)
    usual = information_errors(network, information, fixed, priors)
    return errors_of(network, found.sandwich, fixed.rates).map(np.fmax, usual)


def curvature_of(expectation: ExactExpectation, network: NoisyOrNetwork, fixed: Beliefs) -> Floats:
    """Return the negative second derivatives of the log likelihood by the log odds.

    By differences of the derivatives; what is fixed has none. Miss rates that are known of stand in
    place of failures.
    """
    part = expectation.thinned(CURVED_RECORDS, seed=0)
    factor = expectation.totals.n_records / max(part.totals.n_records, 1.0)
    rates = fixed.rates
    position = log_odds(rates.put_in(network.parameters).vector, 1e-12)

    def derivatives(position: Floats) -> Floats:
        values = Parameters.split(network.structure, from_log_odds(position, 30.0))
        there = network.with_parameters(rates.taken_out(values))
        found = part.expect(there).trials.derivatives(there)
        return rates.derivatives(there.parameters, found)

    matrix = np.zeros((len(position), len(position)))
    for j in np.flatnonzero(~fixed.mask.vector):
        moved = np.zeros(len(position))
        moved[j] = STEP
        change = derivatives(position - moved) - derivatives(position + moved)
        matrix[j] = factor * change / (2.0 * STEP)
    return np.asarray((matrix + matrix.T) / 2.0)
