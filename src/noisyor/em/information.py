"""Standard errors from the information that records bring on the parameters."""

import numpy as np
from numpy.typing import NDArray

from noisyor.em.expected import BetaPriors, RecordTotals
from noisyor.em.sampling_kernels import DiseaseInformation
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Fixed, Parameters

Floats = NDArray[np.float64]

MOST_TOGETHER = 1500
"""Parameters on which the information is looked at, all together, in every step to the maximum."""


def scale_of(network: NoisyOrNetwork) -> Floats:
    """Return the derivatives of all parameters by their log odds: x (1 - x)."""
    values = network.parameters.vector
    return np.asarray(values * (1.0 - values))


def without(is_fixed: NDArray[np.bool_], matrix: Floats) -> Floats:
    """Take parameters that are fixed out of the information."""
    matrix = np.array(matrix)
    matrix[is_fixed] = matrix[:, is_fixed] = 0.0
    matrix[is_fixed, is_fixed] = 1.0
    return matrix


def information_errors(
    network: NoisyOrNetwork, information: Floats, fixed: Fixed, priors: BetaPriors
) -> Parameters:
    """Invert the information, by log odds, on all parameters; weak priors make errors smaller."""
    _, curvature = priors.derivatives(network)
    whole = information + np.diag(curvature)
    variances = np.diag(np.linalg.inv(without(fixed.mask.vector, whole)))
    errors = scale_of(network) * np.sqrt(np.where(variances > 0, variances, np.nan))
    return Parameters.split(network.structure, errors)


def disease_errors(
    network: NoisyOrNetwork,
    information: DiseaseInformation,
    totals: RecordTotals,
    fixed: Fixed,
    share: float = 1.0,
) -> Parameters:
    """Invert the information on each disease; the weak priors of the M-step count as records."""
    structure = network.structure
    f, p = network.failures, network.priors
    weak = BetaPriors.weak(network, share)
    mean, size = weak.means.failures, weak.sizes.failures
    of_prior = size * mean / f**2 + size * (1.0 - mean) / (1.0 - f) ** 2
    priors, failures, first = np.empty(structure.n_diseases), np.empty(structure.n_edges), 0
    for disease in range(structure.n_diseases):
        edges = structure.edges_of(disease)
        m = edges.stop - edges.start + 1
        matrix = information.matrices[first : first + m * m].reshape(m, m).copy()
        first += m * m
        matrix += np.tril(matrix, -1).T
        matrix[np.arange(m - 1), np.arange(m - 1)] += of_prior[edges]
        matrix[-1, -1] += totals.n_records / (p[disease] * (1.0 - p[disease]))
        is_fixed = np.append(fixed.mask.failures[edges], fixed.mask.priors[disease])
        found = _inverse_diagonal(without(is_fixed, matrix))
        failures[edges], priors[disease] = found[:-1], found[-1]
    leaks = information.leaks + totals.known / (1.0 - network.leaks) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return Parameters(priors, failures, 1.0 / np.sqrt(np.where(leaks > 0, leaks, np.nan)))


def _inverse_diagonal(matrix: Floats) -> Floats:
    """Return the square roots of the inverse's diagonal; NaN where it is not positive."""
    try:
        variances = np.diag(np.linalg.inv(matrix))
    except np.linalg.LinAlgError:
        return np.full(len(matrix), np.nan)
    return np.sqrt(np.where(variances > 0, variances, np.nan))


def at_least_if_seen(
    errors: Parameters, network: NoisyOrNetwork, totals: RecordTotals
) -> Parameters:
    """Return errors that are not smaller than if all causes had been seen.

    Where diseases are weakly identified, the information is so uncertain that they can be.
    """
    cases = totals.n_records * network.priors[network.structure.edges[:, 0]]
    trials = Parameters(
        np.full(len(network.priors), totals.n_records),
        np.maximum(cases, 1.0),
        np.maximum(totals.known, 1.0),
    )
    with np.errstate(invalid="ignore"):
        return errors.map(
            lambda error, value, n: np.maximum(error, np.sqrt(value * (1.0 - value) / n)),
            network.parameters,
            trials,
        )
