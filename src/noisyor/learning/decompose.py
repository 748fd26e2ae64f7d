"""A singly coupled triplet, taken apart into its disease's prior and failures.

Two ways that give the same: Algorithm 2 on the joint distribution, one tensor at a time, and a
closed form on ratios of negative moments, for thousands of triplets at once. With c = R - 1 of
the pairs and k the excess of the triplet (`noisyor.moments.values`), and t = (1 - f) / (1 - p
(1 - f)), q = p (1 - p), a triplet that is singly coupled has

    c_ab = q t_a t_b        k = -q (1 - 2 p) t_a t_b t_c

so that with D = k^2 + 4 c_ab c_ac c_bc, which is the tensor's hyperdeterminant up to a factor,

    sqrt(D) = q t_a t_b t_c        p = (1 + k / sqrt(D)) / 2        t_a = sqrt(D) / c_bc

No matrix is inverted and no root is taken but one. D < 0 means complex eigenvalues, D = 0 that
some symptom does not depend on the disease.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noisyor.errors import DecompositionError, ParameterError
from noisyor.names import Indices
from noisyor.parameters import Booleans, Floats

SINGULAR = 1e-13
"""Determinants and differences of eigenvalues below this, relative to their terms, are 0."""


class TripletParameters(NamedTuple):
    """What Algorithm 2 finds in a joint distribution of three symptoms."""

    prior: float
    """P(Z = 1), Z the disease that couples them."""
    absent_without: Floats
    """P(symptom absent | Z = 0) of each symptom."""
    absent_with: Floats
    """P(symptom absent | Z = 1) of each symptom."""

    @property
    def failures(self) -> Floats:
        """Return the failures (Eq. 4)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.absent_with / self.absent_without)


def decompose_triplet(tensor: ArrayLike) -> TripletParameters:
    """Take a joint distribution of three symptoms apart into two products (Algorithm 2).

    Corrected in two places: (1, lambda) lies on the first axis, that of the slices, and Z = 0 is
    the part with the larger conditional P(0, 0, 0 | Z), not the one with the smaller mass there.
    Raises a DecompositionError where the tensor is not a mixture of two products.

    >>> from noisyor import datasets
    >>> network = datasets.figure1(rng=0)
    >>> parameters = decompose_triplet(network.joint(["b", "d", "e"]))
    >>> bool(np.isclose(parameters.prior, network.priors[1]))
    True
    """
    slices = np.asarray(tensor, dtype=np.float64)
    if slices.shape != (2, 2, 2):
        raise ParameterError(f"the tensor must be 2 x 2 x 2, not of shape {slices.shape}.")
    if not np.isfinite(slices).all():
        raise ParameterError("the tensor has values that are not numbers.")
    values = _eigenvalues(slices[0], slices[1])
    parts = []
    for value, other, sign in (*values, 1.0), (*values[::-1], -1.0):
        # The part of an eigenvalue is the rank-1 matrix that is left without the other.
        matrix = sign * (slices[1] - other * slices[0]) / (values[0] - values[1])
        parts.append(_absences(matrix, value))
    parts.sort(key=lambda part: -np.prod(part[1]))
    (_, without), (mass, with_disease) = parts
    prior = float(mass / slices.sum())
    if not SINGULAR < abs(prior) < np.inf or abs(1.0 - prior) <= SINGULAR:
        raise DecompositionError("the tensor is not decomposable: one of its parts has no mass.")
    return TripletParameters(prior, without, with_disease)


def _eigenvalues(first: Floats, second: Floats) -> tuple[float, float]:
    """Return the eigenvalues of X_2 X_1^-1 by the quadratic formula."""
    straight, crossed = first[0, 0] * first[1, 1], first[0, 1] * first[1, 0]
    determinant = straight - crossed
    if abs(determinant) <= SINGULAR * (abs(straight) + abs(crossed)):
        raise DecompositionError(
            "the tensor is not decomposable: the slice in which the first symptom is absent has "
            "determinant 0."
        )
    adjugate = np.array([[first[1, 1], -first[0, 1]], [-first[1, 0], first[0, 0]]])
    matrix = second @ adjugate / determinant
    # ((x - w) / 2)^2 + y z is the discriminant of the trace and determinant, without cancelling.
    half_difference = (matrix[0, 0] - matrix[1, 1]) / 2
    discriminant = half_difference**2 + matrix[0, 1] * matrix[1, 0]
    rounding = (np.abs(second) @ np.abs(adjugate)).max() / abs(determinant)
    if abs(discriminant) <= (SINGULAR * rounding) ** 2:
        raise DecompositionError(
            "the tensor is not decomposable: its two eigenvalues are equal, so that some symptom "
            "does not depend on the disease."
        )
    if discriminant < 0:
        raise DecompositionError("the tensor is not decomposable: its eigenvalues are complex.")
    middle, root = (matrix[0, 0] + matrix[1, 1]) / 2, np.sqrt(discriminant)
    return float(middle + root), float(middle - root)


def _absences(matrix: Floats, value: float) -> tuple[float, Floats]:
    """Return the mass of the part (1, value) x matrix, and P(absent) of each symptom in it."""
    total, size = matrix.sum(), np.abs(matrix).sum()
    if abs(1.0 + value) <= SINGULAR or abs(total) <= SINGULAR * size:
        raise DecompositionError("the tensor is not decomposable: one of its parts has no mass.")
    absent = np.array([1.0 / (1.0 + value), matrix[0].sum() / total, matrix[:, 0].sum() / total])
    return float((1.0 + value) * total), absent


class TripletsParameters(NamedTuple):
    """What the closed form finds in many triplets; NaN where one is not decomposable."""

    priors: Floats
    strengths: Floats
    """t of each symptom, one column each."""
    is_complex: Booleans
    """D < 0: the eigenvalues are complex."""
    is_degenerate: Booleans
    """D = 0 or some c = 0: some symptom does not depend on the disease."""

    @property
    def failures(self) -> Floats:
        """Return f = 1 - t / (1 + p t) of each symptom."""
        return failures_of(self.priors[:, np.newaxis], self.strengths)


def decompose_excesses(pair_excesses: ArrayLike, triplet_excesses: ArrayLike) -> TripletsParameters:
    """Take many triplets apart, given c_ab, c_ac, c_bc (three columns) and k of each.

    >>> p, f = 0.2, np.array([0.1, 0.5, 0.3])
    >>> t = (1 - f) / (1 - p * (1 - f))
    >>> c = p * (1 - p) * np.array([[t[0] * t[1], t[0] * t[2], t[1] * t[2]]])
    >>> found = decompose_excesses(c, [-p * (1 - p) * (1 - 2 * p) * t.prod()])
    >>> found.priors.round(6), found.failures.round(6)
    (array([0.2]), array([[0.1, 0.5, 0.3]]))
    """
    c, k = np.asarray(pair_excesses, dtype=np.float64), np.asarray(triplet_excesses, np.float64)
    with np.errstate(all="ignore"):
        product = _products(c)
        size = k * k + 4.0 * product
        is_degenerate = np.abs(size) <= SINGULAR * (k * k + 4.0 * np.abs(product))
        is_degenerate |= (c == 0.0).any(axis=1)
        is_complex = (size < 0.0) & ~is_degenerate
        root = np.sqrt(np.where(is_complex | is_degenerate, np.nan, size))
        # The same as (1 + k / root) / 2, without cancelling where the prior is small.
        small = 2.0 * product / (root * (root + np.abs(k)))
        priors = np.where(k < 0.0, small, 1.0 - small)
        strengths = root[:, np.newaxis] / c[:, ::-1]
        # The other labelling of Z has 1 - p and -t; Z = 0 has the larger P(0, 0, 0 | Z).
        p = priors[:, np.newaxis]
        without, with_disease = 1.0 + p * strengths, 1.0 - (1.0 - p) * strengths
        swapped = _products(without) < _products(with_disease)
        priors = np.where(swapped, 1.0 - priors, priors)
        strengths[swapped] *= -1.0
    return TripletsParameters(priors, strengths, is_complex, is_degenerate)


def _products(columns: Floats) -> Floats:
    """Return the product of three columns, several times faster than numpy's along an axis."""
    return np.asarray(columns[:, 0] * columns[:, 1] * columns[:, 2])


def strengths_of(priors: Floats, failures: Floats) -> Floats:
    """Return t = (1 - f) / (1 - p (1 - f)), written so that nothing cancels near p = 1."""
    return np.asarray((1.0 - failures) / (1.0 - priors + priors * failures))


def edge_strengths(priors: Floats, failures: Floats) -> Floats:
    """Return v = sqrt(q) t of each edge, given the prior of its disease and its failure."""
    return np.asarray(np.sqrt(priors * (1.0 - priors)) * strengths_of(priors, failures))


def failures_of(priors: Floats, strengths: Floats) -> Floats:
    """Return f = 1 - t / (1 + p t), written so that a small failure keeps its digits."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((1.0 - (1.0 - priors) * strengths) / (1.0 + priors * strengths))


def edge_failures(priors: Floats, strengths: Floats) -> Floats:
    """Return f of each edge, given the prior of its disease and its strength v = sqrt(q) t."""
    return failures_of(priors, strengths / np.sqrt(priors * (1.0 - priors)))


def priors_of(lambdas: Floats) -> Floats:
    """Return p = (1 - lambda / sqrt(4 + lambda^2)) / 2, without cancelling for small priors."""
    root = np.sqrt(4.0 + lambdas * lambdas)
    small = 2.0 / (root * (root + np.abs(lambdas)))
    return np.asarray(np.where(lambdas > 0, small, 1.0 - small))


def lambdas_of(priors: Floats) -> Floats:
    """Return lambda = (1 - 2 p) / sqrt(p (1 - p))."""
    return np.asarray((1.0 - 2.0 * priors) / np.sqrt(priors * (1.0 - priors)))


class Influences(NamedTuple):
    """What diseases do to ratios of moments, in the numbers that moments show first."""

    strengths: Floats
    """v = sqrt(q) t of every edge; 0 where it is not learned."""
    lambdas: Floats
    """(1 - 2 p) / sqrt(q) of every disease; NaN where it is not learned."""

    @classmethod
    def of(cls, owners: Indices, priors: Floats, failures: Floats) -> "Influences":
        """Return the influences of diseases, given the disease that owns each edge."""
        return cls(edge_strengths(priors[owners], failures), lambdas_of(priors))
