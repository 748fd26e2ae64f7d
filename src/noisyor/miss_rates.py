"""Miss rates: what is known of P(code absent | disease), in place of a failure.

A sensitivity speaks of the failure f and the leak l of a code, a symptom of one disease, together:

    miss rate m = 1 - sensitivity = P(code absent | disease) = f (1 - l)

Where it is fixed or believed, m and l are learned in place of f and l: they are the two shares of
the table of disease and code, the one of the cases, the other of the other records. By log odds

    d f = ((1 - m) d m + l d l) / (1 - f)

which turns derivatives, information and covariances of the ones into those of the others.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.parameters import MARGIN, Booleans, Floats, Parameters
from noisyor.structure import Structure

Numbers = NDArray[np.int64]


class Slopes(NamedTuple):
    """By how much the log odds of failures change with those of miss rates and of leaks."""

    of_misses: Floats
    of_leaks: Floats


class MissRates(NamedTuple):
    """The edges whose miss rates take the place of failures; of most networks there are none."""

    edges: Numbers
    symptoms: Numbers
    """Of each such edge: the code, which has no other."""
    n_items: int
    """Of failures and leaks: they are the last ones of each vector of parameters."""

    @classmethod
    def of(cls, structure: Structure, is_rate: Booleans) -> "MissRates":
        """Return those of some edges."""
        edges = np.flatnonzero(is_rate)
        return cls(edges, structure.edges[edges, 1], structure.n_edges + structure.n_symptoms)

    @property
    def any(self) -> bool:
        """True if there are some."""
        return len(self.edges) > 0

    def put_in(self, values: Parameters) -> Parameters:
        """Return parameters with miss rates in place of failures."""
        if not self.any:
            return values
        failures = values.failures.copy()
        failures[self.edges] *= 1.0 - values.leaks[self.symptoms]
        return Parameters(values.priors, failures, values.leaks)

    def taken_out(self, values: Parameters) -> Parameters:
        """Return parameters with failures in place of miss rates, none above 1.

        >>> import numpy as np
        >>> from noisyor import Structure
        >>> rates = MissRates.of(Structure.from_edges([("flu", "J10")]), np.array([True]))
        >>> values = Parameters(np.array([0.1]), np.array([0.18]), np.array([0.1]))
        >>> rates.taken_out(values).failures.round(3)
        array([0.2])
        """
        if not self.any:
            return values
        failures = values.failures.copy()
        silent = np.maximum(1.0 - values.leaks[self.symptoms], MARGIN)
        failures[self.edges] = np.minimum(failures[self.edges] / silent, 1.0 - MARGIN)
        return Parameters(values.priors, failures, values.leaks)

    def derivatives(self, values: Parameters, by_failures: Floats) -> Floats:
        """Return derivatives by log odds, along the last axis, with miss rates for failures."""
        if not self.any:
            return by_failures
        found, slopes = np.array(by_failures), self._slopes(values)
        edges, leaks = self._positions(found.shape[-1], values)
        found[..., leaks] += slopes.of_leaks * found[..., edges]
        found[..., edges] *= slopes.of_misses
        return found

    def information(self, values: Parameters, by_failures: Floats) -> Floats:
        """Return an information by log odds, with miss rates for failures."""
        if not self.any:
            return by_failures
        half = self.derivatives(values, by_failures)
        return np.ascontiguousarray(self.derivatives(values, half.T).T)

    def variances(self, values: Parameters, covariance: Floats) -> Floats:
        """Return the variances of failures, and all else, of a covariance with miss rates."""
        variances = np.diag(covariance).copy()
        if self.any:
            slopes = self._slopes(values)
            edges, leaks = self._positions(len(variances), values)
            both = covariance[edges, leaks]
            variances[edges] = (
                slopes.of_misses**2 * variances[edges]
                + slopes.of_leaks**2 * variances[leaks]
                + 2.0 * slopes.of_misses * slopes.of_leaks * both
            )
        return variances

    def errors(self, structure: Structure, values: Parameters, covariance: Floats) -> Floats:
        """Return the standard errors of f (1 - l) of all edges; NaN where none is known.

        Of a covariance by log odds, in which some miss rates stand already; of the others
        d m = (1 - l) d f - f d l.
        """
        symptoms, own = structure.edges[:, 1], np.diag(covariance)
        f, leaks = values.failures, values.leaks[symptoms]
        edges = structure.n_diseases + np.arange(structure.n_edges)
        both = structure.n_diseases + structure.n_edges + symptoms
        by_f, by_leak = (1.0 - leaks) * f * (1.0 - f), -f * leaks * (1.0 - leaks)
        variances = by_f**2 * own[edges] + by_leak**2 * own[both]
        variances += 2.0 * by_f * by_leak * covariance[edges, both]
        misses = (f * (1.0 - leaks))[self.edges]
        variances[self.edges] = (misses * (1.0 - misses)) ** 2 * own[edges[self.edges]]
        return np.sqrt(np.where(variances >= 0.0, variances, np.nan))

    def factors(self, values: Parameters) -> Floats:
        """Return by what miss rates are multiplied to be failures; 1 of all that is none."""
        silent = values.map(lambda each: np.ones(len(each)))
        failures = silent.failures.copy()
        failures[self.edges] = 1.0 / np.maximum(1.0 - values.leaks[self.symptoms], MARGIN)
        return Parameters(silent.priors, failures, silent.leaks).vector

    def following(self, values: Parameters, errors: Parameters, is_fixed: Booleans) -> Parameters:
        """Return errors in which failures follow their leaks where the miss rate is fixed."""
        here = is_fixed[self.edges]
        edges, codes = self.edges[here], self.symptoms[here]
        failures = errors.failures.copy()
        failures[edges] = values.failures[edges] / (1.0 - values.leaks[codes]) * errors.leaks[codes]
        return Parameters(errors.priors, failures, errors.leaks)

    def _slopes(self, values: Parameters) -> Slopes:
        leaks, failures = values.leaks[self.symptoms], values.failures[self.edges]
        other = np.maximum(1.0 - failures, MARGIN)
        return Slopes((1.0 - failures * (1.0 - leaks)) / other, leaks / other)

    def _positions(self, size: int, values: Parameters) -> tuple[Numbers, Numbers]:
        """Return where failures and leaks stand in a vector of all parameters."""
        first = size - self.n_items
        return first + self.edges, first + len(values.failures) + self.symptoms


def errors_apart(structure: Structure, values: Parameters, errors: Parameters) -> Floats:
    """Return the standard errors of m = f (1 - l) of all edges, from those of f and of l alone.

    As if l was learned from records without the disease and m from those with it: independent then,
    while f = m / (1 - l) is independent of neither.

    >>> import numpy as np
    >>> structure = Structure.from_edges([("flu", "J10")])
    >>> values = Parameters(np.array([0.1]), np.array([0.25]), np.array([0.2]))
    >>> f_error = np.hypot(0.03, 0.25 * 0.02) / 0.8  # of errors 0.03 of m and 0.02 of l
    >>> errors = Parameters(np.array([0.1]), np.array([f_error]), np.array([0.02]))
    >>> errors_apart(structure, values, errors).round(6)
    array([0.03])
    """
    symptoms = structure.edges[:, 1]
    by_failure = (1.0 - values.leaks[symptoms]) * errors.failures
    by_leak = values.failures * errors.leaks[symptoms]
    return np.asarray(np.sqrt(np.maximum(by_failure**2 - by_leak**2, 0.0)))
