"""LearnedCauses: how diseases occur together, and depend on covariates, as it was learned."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from noisyor.em.expected import RecordTotals
from noisyor.em.mixed import CauseModel
from noisyor.em.runs import Trace
from noisyor.errors import ParameterError
from noisyor.immutable import EqualByValue
from noisyor.inference.flat import Booleans, Floats
from noisyor.network import NoisyOrNetwork
from noisyor.network.causes import Causes, Independent, Joint, Trait, trait_grid
from noisyor.parameters import from_log_odds
from noisyor.structure import Structure


@dataclass(frozen=True, eq=False)
class LearnedCauses(EqualByValue):
    """How diseases occur together, as it was learned.

    `table()` has the parameters with their standard errors, `prevalence()` what covariates mean.
    """

    causes: Causes
    names: tuple[tuple[str, str | None, str], ...]
    """Kind, disease and name of each parameter."""
    values: Floats
    standard_errors: Floats
    """NaN where the records do not tell."""
    covariance: Floats = field(repr=False)
    """Of the values."""
    log_likelihood: float | None
    """Of the records; None where they were sampled."""

    @property
    def n_parameters(self) -> int:
        """How many numbers describe the causes."""
        return self.causes.n_parameters

    def drawn(self, draws: int, rng: np.random.Generator) -> list[Causes]:
        """Draw causes around what was learned, by its covariance."""
        lengths, directions = np.linalg.eigh(self.covariance)
        roots = directions * np.sqrt(np.maximum(lengths, 0.0))
        found = []
        for _ in range(draws):
            values = self.values + roots @ rng.standard_normal(len(roots))
            found.append(_causes_with(self.causes, values))
        return found

    def table(self) -> pa.Table:
        """Return a row per parameter: kind, disease, name, value, error and 95% interval."""
        kinds, diseases, names = zip(*self.names, strict=True)
        margin = 1.96 * self.standard_errors
        lower, upper = self.values - margin, self.values + margin
        if "share" in kinds:
            is_share = np.array(kinds) == "share"
            lower = np.where(is_share, np.maximum(lower, 0.0), lower)
            upper = np.where(is_share, np.minimum(upper, 1.0), upper)
        return pa.table(
            {
                "parameter": list(kinds),
                "disease": pa.array(diseases, pa.string()),
                "name": list(names),
                "value": self.values,
                "standard_error": pa.array(self.standard_errors, from_pandas=True),
                "lower": pa.array(lower, from_pandas=True),
                "upper": pa.array(upper, from_pandas=True),
            }
        )

    def prevalence(self, structure: Structure) -> pa.Table:
        """Return how frequent each disease is by covariate, with 95% intervals.

        A row per disease and level of a category, or quartile of a number; of the other covariates
        people have what all have who were learned from.
        """
        effects = self.causes.effects
        if effects is None:
            raise ParameterError("there are no covariates by which diseases could differ.")
        rows, at = [], 0
        for each in effects.covariates:
            here = slice(at, at + each.width)
            at += each.width
            values = np.eye(each.width)
            labels = list(each.levels)
            if not each.levels:
                order = np.argsort(effects.cells[:, here.start])
                shares = np.cumsum(effects.weights[order]) / effects.weights.sum()
                found = [order[np.searchsorted(shares, x)] for x in (0.25, 0.5, 0.75)]
                values = effects.cells[found, here]
                labels = [f"{each.centre + each.scale * x:.4g}" for x in values[:, 0]]
            for label, value in zip(labels, values, strict=True):
                cells = effects.cells.copy()
                cells[:, here] = value
                found = self._prevalences(cells, effects.weights)
                for disease, (p, low, high) in zip(structure.diseases, found, strict=True):
                    rows.append((disease, each.name, label, p, low, high))
        columns = ("disease", "covariate", "value", "prevalence", "lower", "upper")
        return pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))

    def _prevalences(self, cells: Floats, weights: Floats) -> list[tuple[float, float, float]]:
        """Return the mean prevalence of each disease over cells, with intervals by log odds."""
        marginals, gradients = marginals_of(self.causes, cells, weights)
        found = []
        for disease, (p, gradient) in enumerate(zip(marginals, gradients, strict=True)):
            at = slice(disease * len(gradient), (disease + 1) * len(gradient))
            error = np.sqrt(max(gradient @ self.covariance[at, at] @ gradient, 0.0))
            odds, margin = np.log(p / (1.0 - p)), 1.96 * error / (p * (1.0 - p))
            ends = from_log_odds(np.array([odds - margin, odds + margin]))
            found.append((float(p), float(ends[0]), float(ends[1])))
        return found


class LearnedTogether(NamedTuple):
    """What was learned of diseases that occur together, or depend on covariates."""

    network: NoisyOrNetwork
    trace: Trace
    model: CauseModel
    covariance: Floats
    """Of the parameters of the causes, by position."""
    item_errors: Floats
    """Standard errors of the failures, then of the leaks."""
    totals: RecordTotals
    log_likelihood: float | None
    """Of the records; None where they were sampled."""

    def causes(self) -> LearnedCauses:
        """Return the parameters of the causes with errors; of shares, not of their logarithms."""
        causes = self.network.causes
        values, jacobian = self.model.reported(causes)
        covariance = jacobian @ np.nan_to_num(self.covariance) @ jacobian.T
        is_known = self.model.is_free
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        errors = np.where(is_known & (errors > 0.0), errors, np.where(is_known, np.nan, 0.0))
        names = tuple(self.model.names(self.network.structure))
        return LearnedCauses(causes, names, values, errors, covariance, self.log_likelihood)


def covariance_of_causes(
    information: Floats,
    if_seen: Floats,
    curvature: Floats,
    flat: float,
    is_gauge: Callable[[Floats], Booleans] | None = None,
) -> Floats:
    """Return the inverse of the information and the weak priors; NaN of what is flat.

    Directions of which the records say less than a share `flat` of what they would say if all was
    seen have no variance that means anything: the parameters that carry them have none. But a
    gauge, a direction in which nothing changes, does not matter.
    """
    scale = 1.0 / np.sqrt(np.maximum(if_seen + curvature, 1e-12))
    scaled = (information + np.diag(curvature)) * np.outer(scale, scale)
    values, vectors = np.linalg.eigh(scaled)
    is_flat = values < flat
    if is_gauge is not None:
        is_flat &= ~is_gauge(vectors * scale[:, np.newaxis])
    kept = values > 1e-10
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T * np.outer(scale, scale)
    carries = (vectors[:, is_flat] ** 2).sum(axis=1) > 0.1
    inverse[carries] = inverse[:, carries] = np.nan
    return np.asarray(inverse)


def marginals_of(causes: Any, cells: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return P(disease) over cells and traits, with its derivatives by a, b and B."""
    nodes, shares = trait_grid(causes.loadings.shape[1])
    weights = weights / weights.sum()
    n, effects = causes.n_diseases, causes.effects
    offsets = np.tile(causes.intercepts, (len(cells), 1))
    if effects is not None:
        offsets = offsets + cells @ effects.coefficients.T
    width = 1 + nodes.shape[1] + cells.shape[1]
    marginals, gradients = np.zeros(n), np.zeros((n, width))
    for node, share in zip(nodes, shares, strict=True):
        p = from_log_odds(offsets + causes.loadings @ node)
        part = (share * weights)[:, np.newaxis] * p
        marginals += part.sum(axis=0)
        slopes = part * (1.0 - p)
        gradients[:, 0] += slopes.sum(axis=0)
        gradients[:, 1 : 1 + len(node)] += np.outer(slopes.sum(axis=0), node)
        gradients[:, 1 + len(node) :] += slopes.T @ cells
    return marginals, gradients


def _causes_with(causes: Any, values: Floats) -> Causes:
    """Return causes of the same kind with other values, shares kept between 0 and 1."""
    if isinstance(causes, Joint):
        shares, at = [], 0
        for each in causes.shares:
            part = np.maximum(values[at : at + len(each)], 0.0)
            shares.append(part / part.sum())
            at += len(each)
        priors = causes.priors.copy()
        priors[~causes.is_blocked] = from_log_odds(values[at:])
        return Joint(shares, causes.blocks, priors)
    table = values.reshape(causes.n_diseases, -1)
    n_traits, effects = causes.loadings.shape[1], causes.effects
    if effects is not None:
        effects = effects.with_coefficients(table[:, 1 + n_traits :])
    if n_traits:
        return Trait(table[:, 0], table[:, 1 : 1 + n_traits], effects)
    return Independent(from_log_odds(table[:, 0]), effects)
