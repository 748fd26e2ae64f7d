"""The information that records bring on the parameters, and standard errors from it."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotri

from noisyor.beliefs import Beliefs
from noisyor.em.expected import BetaPriors, RecordTotals
from noisyor.em.sampling_kernels import DiseaseInformation
from noisyor.miss_rates import MissRates
from noisyor.network import NoisyOrNetwork
from noisyor.parallel import in_threads, one_blas_thread
from noisyor.parameters import Parameters

Floats = NDArray[np.float64]

MOST_TOGETHER = 10_000
"""Parameters whose information is inverted together: the matrix takes 800 MB."""
MOST_FACTORED = 1500
"""Parameters whose information is factored in every step to the maximum; of more, a step is found
by conjugate gradients."""
SOLVED, MOST_SOLVING = 0.03, 150
"""Conjugate gradients end at this part of where they began, or after so many steps: a step to the
maximum need not be exact, for the next one mends it."""


def blas_threads_for(n_parameters: int) -> AbstractContextManager[Any]:
    """Let BLAS have threads where matrices of all parameters together are large, and only there.

    Beyond what is inverted together there are small ones of each disease.
    """
    is_large = MOST_FACTORED < n_parameters <= MOST_TOGETHER
    return nullcontext() if is_large else one_blas_thread()


class Information(Protocol):
    """What records say of some parameters together, on the scale of log odds."""

    def times(self, vector: Floats) -> Floats:
        """Return the matrix times a vector."""
        ...

    def solve(self, diagonal: Floats, vector: Floats) -> Floats:
        """Return the x for which (matrix + diagonal) x = vector."""
        ...


class MatrixInformation(Information):
    """The matrix."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix

    def times(self, vector: Floats) -> Floats:
        """Return the matrix times a vector."""
        return np.asarray(self.matrix @ vector)

    def solve(self, diagonal: Floats, vector: Floats) -> Floats:
        """Return the x for which (matrix + diagonal) x = vector."""
        matrix = self.matrix.copy()
        matrix.flat[:: len(matrix) + 1] += diagonal
        return np.asarray(cho_solve(cho_factor(matrix, overwrite_a=True), vector))


class ScoreInformation(Information):
    """The scores, a row each, whose products add up to the matrix: where there are fewer rows."""

    def __init__(self, rows: NDArray[np.float32], factor: float) -> None:
        self.rows = rows
        self.factor = factor
        """Of how many times more records these are a sample."""

    def times(self, vector: Floats) -> Floats:
        """Return the matrix times a vector."""
        return np.asarray(self.factor * (self.rows.T @ (self.rows @ vector.astype(np.float32))))

    def solve(self, diagonal: Floats, vector: Floats) -> Floats:
        """Return nearly the x for which (matrix + diagonal) x = vector (conjugate gradients)."""
        own = diagonal + self.factor * np.einsum("ij,ij->j", self.rows, self.rows)
        x, residual = np.zeros_like(vector), vector.copy()
        scaled = residual / own
        direction, size = scaled, float(residual @ scaled)
        least = SOLVED**2 * size
        for _ in range(MOST_SOLVING):
            if size <= least:
                break
            image = self.times(direction) + diagonal * direction
            length = size / float(direction @ image)
            x += length * direction
            residual -= length * image
            scaled = residual / own
            before, size = size, float(residual @ scaled)
            direction = scaled + size / before * direction
        return x


def scale_of(network: NoisyOrNetwork, rates: MissRates | None = None) -> Floats:
    """Return the derivatives of all parameters by their log odds: x (1 - x); of miss rates, too."""
    values = (network.parameters if rates is None else rates.put_in(network.parameters)).vector
    return np.asarray(values * (1.0 - values))


def mirrored(lower: Floats) -> Floats:
    """Return a matrix whose upper half is the lower one."""
    for k in range(len(lower)):
        lower[k, k + 1 :] = lower[k + 1 :, k]
    return lower


def without(is_fixed: NDArray[np.bool_], matrix: Floats) -> Floats:
    """Take parameters that are fixed out of the information."""
    matrix = np.array(matrix)
    matrix[is_fixed] = matrix[:, is_fixed] = 0.0
    matrix[is_fixed, is_fixed] = 1.0
    return matrix


def covariance_of(
    network: NoisyOrNetwork, information: Floats, fixed: Beliefs, priors: BetaPriors
) -> Floats:
    """Return the inverse of the information and the weak priors' together, by log odds.

    Rows of what is fixed are 0. Where sensitivities are known, those of miss rates stand in place
    of failures.
    """
    by_rates = fixed.rates.information(network.parameters, information)
    return inverse_with_priors(network, by_rates, fixed, priors)


def inverse_with_priors(
    network: NoisyOrNetwork, information: Floats, fixed: Beliefs, priors: BetaPriors
) -> Floats:
    """Return the same of an information that has miss rates in place of failures already."""
    is_fixed = fixed.mask.vector

    def whole() -> Floats:
        matrix = np.array(information, order="F")
        matrix[np.diag_indices_from(matrix)] += priors.derivatives(network)[1]
        matrix[is_fixed] = matrix[:, is_fixed] = 0.0
        matrix[is_fixed, is_fixed] = 1.0
        return matrix

    # A matrix of 10,000 parameters is large: it is factored and inverted where it stands.
    factor, is_indefinite = dpotrf(whole(), lower=1, overwrite_a=1)
    if is_indefinite:  # a sampled one can be
        covariance = np.asarray(np.linalg.inv(whole()), dtype=np.float64)
    else:
        covariance = mirrored(dpotri(factor, lower=1, overwrite_c=1)[0])
    covariance[is_fixed, is_fixed] = 0.0
    return covariance


def errors_of(network: NoisyOrNetwork, covariance: Floats, rates: MissRates) -> Parameters:
    """Return the standard errors of a covariance by log odds; NaN where it is not positive."""
    variances = rates.variances(network.parameters, covariance)
    errors = scale_of(network) * np.sqrt(np.where(variances >= 0.0, variances, np.nan))
    return Parameters.split(network.structure, errors)


def information_errors(
    network: NoisyOrNetwork, information: Floats, fixed: Beliefs, priors: BetaPriors
) -> Parameters:
    """Invert the information, by log odds, on all parameters; weak priors make errors smaller."""
    return errors_of(network, covariance_of(network, information, fixed, priors), fixed.rates)


class DiseaseErrors(NamedTuple):
    """Standard errors from the information on each disease, as if others had been seen."""

    errors: Parameters
    following: Floats
    """By how much each failure changes with its disease's prior, where the records allow that."""

    def together(self, shared: Floats, fixed: Beliefs, diseases: NDArray[np.int64]) -> Parameters:
        """Return errors that count what diseases share, given the information on all priors.

        None is smaller. `diseases` are those of the failures, which follow the priors.
        """
        is_fixed, (priors, failures, leaks) = fixed.mask.priors, self.errors
        variances = np.diag(_inverse(without(is_fixed, shared))).copy()
        # What is so uncertain that a sampled information says nothing of it is not known.
        variances[variances <= 0.0] = np.nan
        variances[is_fixed] = 0.0
        more = np.maximum(variances - priors**2, 0.0)
        return Parameters(
            np.sqrt(priors**2 + more),
            np.sqrt(failures**2 + self.following**2 * more[diseases]),
            leaks,
        )


def disease_errors(
    network: NoisyOrNetwork,
    information: DiseaseInformation,
    totals: RecordTotals,
    fixed: Beliefs,
    share: float = 1.0,
    n_jobs: int | None = 1,
) -> DiseaseErrors:
    """Invert the information on each disease; the weak priors of the M-step count as records."""
    structure = network.structure
    f, p, cases = network.failures, network.priors, fixed.cases
    weak = BetaPriors.weak(network, share).believing(fixed)
    mean, size = weak.means.failures, weak.sizes.failures
    of_prior = size * mean / f**2 + size * (1.0 - mean) / (1.0 - f) ** 2
    rates, silent = fixed.rates.edges, 1.0 - network.leaks[fixed.rates.symptoms]
    of_present = (silent / (1.0 - f[rates] * silent)) ** 2  # of miss rates, which change by silent
    of_prior[rates] = size[rates] * (mean[rates] / f[rates] ** 2 + (1.0 - mean[rates]) * of_present)
    priors = np.empty(structure.n_diseases)
    failures, following = np.empty((2, structure.n_edges))
    sizes = (np.diff(structure.child_offsets) + 1) ** 2
    starts = np.cumsum(sizes) - sizes

    def invert(disease: int) -> None:
        edges = structure.edges_of(disease)
        m, first = edges.stop - edges.start + 1, starts[disease]
        matrix = information.matrices[first : first + m * m].reshape(m, m).copy()
        matrix += np.tril(matrix, -1).T
        matrix[np.arange(m - 1), np.arange(m - 1)] += of_prior[edges]
        n_known = totals.n_records + cases.priors[disease]
        matrix[-1, -1] += n_known / (p[disease] * (1.0 - p[disease]))
        is_fixed = np.append(fixed.mask.failures[edges], fixed.mask.priors[disease])
        covariance = _inverse(without(is_fixed, matrix))
        with np.errstate(invalid="ignore"):
            found = np.sqrt(np.where(np.diag(covariance) > 0, np.diag(covariance), np.nan))
            following[edges] = np.nan_to_num(covariance[:-1, -1] / covariance[-1, -1])
        failures[edges], priors[disease] = found[:-1], found[-1]

    with one_blas_thread():
        in_threads(invert, range(structure.n_diseases), n_jobs)
    leaks = information.leaks + totals.known / (1.0 - network.leaks) ** 2
    leaks = leaks + cases.leaks / (network.leaks * (1.0 - network.leaks))
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = Parameters(priors, failures, 1.0 / np.sqrt(np.where(leaks > 0, leaks, np.nan)))
    return DiseaseErrors(errors, following)


def _inverse(matrix: Floats) -> Floats:
    """Return the inverse; NaN if there is none."""
    try:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(matrix.shape, np.nan)


def at_least_if_seen(
    errors: Parameters,
    network: NoisyOrNetwork,
    totals: RecordTotals,
    believed: Parameters | None = None,
) -> Parameters:
    """Return errors that are not smaller than if all causes had been seen.

    What is believed counts for so many cases more. Where diseases are weakly identified, the
    information is so uncertain that errors can be too small.
    """
    cases = totals.n_records * network.priors[network.structure.edges[:, 0]]
    trials = Parameters(
        np.full(len(network.priors), totals.n_records),
        np.maximum(cases, 1.0),
        np.maximum(totals.known, 1.0),
    )
    if believed is not None:
        trials = trials.map(np.add, believed)
    with np.errstate(invalid="ignore"):
        return errors.map(
            lambda error, value, n: np.maximum(error, np.sqrt(value * (1.0 - value) / n)),
            network.parameters,
            trials,
        )
