"""LearnedCauses: how diseases occur together, and depend on covariates, as it was learned."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisyor.em.cause_models import CauseModel, marginals_of
from noisyor.em.expected import BetaPriors, RecordTotals
from noisyor.em.runs import Trace
from noisyor.errors import ParameterError, count_of
from noisyor.flags import REASONS, Flag
from noisyor.immutable import EqualByValue
from noisyor.inference.flat import Booleans, Floats
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.learning.trust import errors_off_bounds
from noisyor.names import Indices
from noisyor.network import Effects, NoisyOrNetwork
from noisyor.network.causes import MOST_JOINT, Causes, Independent, Joint, Trait, trait_grid
from noisyor.parameters import REACH, Parameters, from_log_odds
from noisyor.structure import Structure

NAMING = "parameter", "disease", "name"
"""The columns that name a row."""
DOUBTS = {
    Flag.FIXED: REASONS[Flag.FIXED],
    Flag.WEAK: "its trait cannot be told from none",
    Flag.WEAKLY_IDENTIFIED: "the records say too little of it for an interval",
}
"""What flags of these parameters mean."""
FLAT = 1e-6
"""What depends less than this on a value does not depend on it."""


@dataclass(frozen=True, eq=False)
class LearnedCauses(ShownAsTable, EqualByValue):
    """How diseases occur together, as it was learned.

    `table()` has the parameters with their standard errors, `prevalence()` what covariates mean.

    >>> from noisyor import NoisyOrLearner, datasets
    >>> network = datasets.figure1(rng=0)
    >>> learner = NoisyOrLearner(network.structure, causes="joint").fit(network.sample(1000, rng=0))
    >>> print(learner.estimate_.learned_causes.table().select(["parameter", "name"]))
    parameter  name
    share      none
    share      B
    share      A
    share      A + B
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
    flags: NDArray[np.uint16]
    """Of each value: fixed, or what is doubtful of it."""
    cautions: tuple[str, ...] = ()
    """What is doubtful of them all, in sentences."""

    def __repr__(self) -> str:
        n = count_of(self.n_parameters, "parameter")
        likelihood = self.log_likelihood
        known = "" if likelihood is None else f"; log likelihood {likelihood:,.1f}"
        return f"LearnedCauses({self.causes.kind}: {n}{known})"

    def remarks(self) -> tuple[str, ...]:
        """Return what is doubtful of them all, in sentences."""
        return self.cautions

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

    def table(self) -> ResultTable:
        """Return a row per parameter: kind, disease, name, value, error, 95% interval and flags.

        The effect of a number is that of one unit of it, a year of age, on the log odds; that of a
        category stands against the mean of all its levels. The intercept is that of a person with
        the mean of the numbers, and none of the levels in particular.
        """
        kinds, diseases, names = zip(*self.names, strict=True)
        values, errors = self._as_read()
        margin = REACH * errors
        lower, upper = values - margin, values + margin
        if "share" in kinds:
            is_share = np.array(kinds) == "share"
            lower = np.where(is_share, np.maximum(lower, 0.0), lower)
            upper = np.where(is_share, np.minimum(upper, 1.0), upper)
        return ResultTable(
            {
                "parameter": list(kinds),
                "disease": pa.array(diseases, pa.string()),
                "name": list(names),
                "value": values,
                "standard_error": pa.array(errors, from_pandas=True),
                "lower": pa.array(lower, from_pandas=True),
                "upper": pa.array(upper, from_pandas=True),
                "flags": [Flag(flag).codes for flag in self.flags.tolist()],
            },
            NAMING,
        )

    def _as_read(self) -> tuple[Floats, Floats]:
        """Return values and standard errors as people read them.

        What all levels of a category have in common is that of the intercept, too: one by one they
        would be as uncertain as that, however well they can be told apart.
        """
        if self.causes.effects is None:
            return self.values, self.standard_errors
        turn = _reading(self.causes.effects, len(self.values) // self.causes.n_diseases)
        width, errors = len(turn), np.empty_like(self.standard_errors)
        is_unknown = np.isnan(self.standard_errors).reshape(-1, width)
        for disease, unknown in enumerate(is_unknown):
            here = slice(disease * width, (disease + 1) * width)
            variances = np.einsum("ij,jk,ik->i", turn, self.covariance[here, here], turn)
            rests = (np.abs(turn[:, unknown]) > 0.0).any(axis=1)
            errors[here] = np.where(rests, np.nan, np.sqrt(np.maximum(variances, 0.0)))
        return (self.values.reshape(-1, width) @ turn.T).ravel(), errors

    def summary(self, structure: Structure) -> ResultTable:
        """Return the rows of `table`, and of `prevalence` where there are covariates, as one table.

        The name of a prevalence is a covariate with its value.
        """
        rows = self.table().to_pylist()
        for row, flag in zip(rows, self.flags.tolist(), strict=True):
            row["flag_codes"], row["flags"] = row["flags"], _reasons(flag)
        if self.causes.effects is not None:
            for row in self.prevalence(structure).to_pylist():
                name = f"{row['covariate']} = {row['value']}"
                known = {"parameter": "prevalence", "disease": row["disease"], "name": name}
                ends = {"lower": row["lower"], "upper": row["upper"]}
                empty = {"standard_error": None, "flags": "", "flag_codes": ""}
                rows.append({**known, "value": row["prevalence"], **ends, **empty})
        schema = self.table().schema.append(pa.field("flag_codes", pa.string()))
        return ResultTable.of_rows(rows, NAMING, schema)

    def states(self) -> tuple[Floats, Floats]:
        """Return P(states of all diseases), and its derivatives by the values, a row a state.

        There are 2^n states of n diseases, up to 12; the last disease changes fastest.
        """
        n = self.causes.n_diseases
        if n > MOST_JOINT:
            raise ParameterError(
                f"{n} diseases have 2^{n} states together; they are listed of up to {MOST_JOINT}."
            )
        bits = np.arange(2**n)[:, np.newaxis] >> np.arange(n)[::-1] & 1
        if isinstance(self.causes, Joint):
            return _joint_states(self.causes, bits)
        return _logistic_states(self.causes, bits)

    def state_shares(self) -> tuple[Floats, Floats]:
        """Return P(states of all diseases) with standard errors, NaN where the records do not tell.

        In the order of `states`.
        """
        shares, jacobian = self.states()
        variances = np.einsum("ij,jk,ik->i", jacobian, self.covariance, jacobian)
        is_unknown = (np.abs(jacobian[:, np.isnan(self.standard_errors)]) > FLAT).any(axis=1)
        errors = np.where(is_unknown, np.nan, np.sqrt(np.maximum(variances, 0.0)))
        return shares, errors

    def prevalence(self, structure: Structure) -> ResultTable:
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
        named = [dict(zip(columns, row, strict=True)) for row in rows]
        return ResultTable.of_rows(named, ("disease", "covariate", "value"))

    def _prevalences(self, cells: Floats, weights: Floats) -> list[tuple[float, float, float]]:
        """Return the mean prevalence of each disease over cells, with intervals by log odds."""
        marginals, gradients = marginals_of(self.causes, cells, weights)
        found = []
        for disease, (p, gradient) in enumerate(zip(marginals, gradients, strict=True)):
            at = slice(disease * len(gradient), (disease + 1) * len(gradient))
            error = np.sqrt(max(gradient @ self.covariance[at, at] @ gradient, 0.0))
            odds, margin = np.log(p / (1.0 - p)), REACH * error / (p * (1.0 - p))
            ends = from_log_odds(np.array([odds - margin, odds + margin]))
            found.append((float(p), float(ends[0]), float(ends[1])))
        return found


def _reasons(flags: int) -> str:
    """Return what is to be known of a parameter, in words."""
    return "; ".join(text for flag, text in DOUBTS.items() if flag & flags)


def _reading(effects: Effects, width: int) -> Floats:
    """Return what turns a disease's parameters into those that are read: a matrix."""
    turn = np.eye(width)
    at = width - sum(each.width for each in effects.covariates)
    for each in effects.covariates:
        here = slice(at, at + each.width)
        if each.levels:
            turn[here, here] -= 1.0 / each.width
            turn[0, here] = 1.0 / each.width
        else:
            turn[at, at] = 1.0 / each.scale
        at += each.width
    return turn


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
    is_weak: Parameters
    """Which P(disease), failures and leaks priors decide rather than records."""

    def causes(self) -> LearnedCauses:
        """Return the parameters of the causes with errors; of shares, not of their logarithms."""
        causes = self.model.as_given(self.network.causes)
        values, jacobian = self.model.reported(causes)
        covariance = jacobian @ np.nan_to_num(self.covariance) @ jacobian.T
        is_fixed = self.model.known.is_fixed
        covariance[is_fixed] = covariance[:, is_fixed] = 0.0
        is_known = self.model.is_free & ~is_fixed
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        errors = np.where(is_known & (errors > 0.0), errors, np.where(is_known, np.nan, 0.0))
        names = tuple(self.model.names(self.network.structure))
        is_share = np.array([kind == "share" for kind, *_ in names])
        wider = errors_off_bounds(values, errors, self.totals.n_records)
        errors = np.where(is_share & (errors > 0.0), wider, errors)
        flags = is_fixed * Flag.FIXED | np.isnan(errors) * Flag.WEAKLY_IDENTIFIED
        return LearnedCauses(
            causes, names, values, errors, covariance, self.log_likelihood, flags.astype(np.uint16)
        )


def item_errors(network: NoisyOrNetwork, variances: Floats, known: Floats) -> Floats:
    """Return standard errors of failures and leaks from the variances of their log odds.

    `known` is the number of records in which each symptom is known.
    """
    values = np.concatenate([network.failures, network.leaks])
    owners, symptoms = network.structure.edges.T
    trials = np.concatenate([network.priors[owners] * known[symptoms], known])
    errors = values * (1.0 - values) * np.sqrt(variances)
    return errors_off_bounds(values, errors, trials)


def weak_curvature(model: CauseModel, network: NoisyOrNetwork) -> Floats:
    """Return what weak priors of the usual size would add to the information, as a diagonal."""
    _, _, of_causes = model.penalty(model.position_of(network.causes), 1.0)
    plain = network.as_independent()
    _, curvature = BetaPriors.weak(plain).derivatives(plain)
    return np.concatenate([of_causes, curvature[network.structure.n_diseases :]])


def told_parameters(model: CauseModel, network: NoisyOrNetwork, n_items: int) -> Floats:
    """Return the derivatives of P(disease), failures and leaks by the position, as rows.

    Those of failures and leaks, of which there are `n_items`, by their log odds.
    """
    _, slopes = model.marginals(network.causes)
    return np.block(
        [
            [slopes, np.zeros((len(slopes), n_items))],
            [np.zeros((n_items, slopes.shape[1])), np.eye(n_items)],
        ]
    )


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


def _joint_states(causes: Joint, bits: Indices) -> tuple[Floats, Floats]:
    """Return P(states) of blocks and other diseases, with derivatives by shares and log odds."""
    rest = np.flatnonzero(~causes.is_blocked)
    factors, parts = [], []
    for block, shares in zip(causes.blocks, causes.shares, strict=True):
        numbers = bits[:, list(block)] @ (1 << np.arange(len(block))[::-1])
        factors.append(shares[numbers])
        parts.append((numbers[:, np.newaxis] == np.arange(len(shares))).astype(np.float64))
    for i in rest.tolist():
        p = causes.priors[i]
        factors.append(np.where(bits[:, i], p, 1.0 - p))
        parts.append(((2 * bits[:, i] - 1) * p * (1.0 - p))[:, np.newaxis])
    table = np.array(factors)
    others = [np.delete(table, each, axis=0).prod(axis=0) for each in range(len(table))]
    slopes = [other[:, np.newaxis] * part for other, part in zip(others, parts, strict=True)]
    return table.prod(axis=0), np.concatenate(slopes, axis=1)


def _logistic_states(causes: Any, bits: Indices) -> tuple[Floats, Floats]:
    """Return P(states) over cells and traits, with derivatives by a, b and B of each disease."""
    nodes, weights = trait_grid(causes.loadings.shape[1])
    effects, n = causes.effects, causes.n_diseases
    cells = np.zeros((1, 0)) if effects is None else effects.cells
    shares = np.ones(1) if effects is None else effects.weights / effects.weights.sum()
    found, slopes = np.zeros(len(bits)), np.zeros((len(bits), n, 1 + nodes.shape[1] + len(cells.T)))
    for cell, share in zip(cells, shares, strict=True):
        offsets = (
            causes.intercepts
            if effects is None
            else causes.intercepts + (effects.coefficients @ cell)
        )
        for node, weight in zip(nodes, weights, strict=True):
            p = from_log_odds(offsets + causes.loadings @ node)
            part = share * weight * np.where(bits, p, 1.0 - p).prod(axis=1)
            found += part
            moves = part[:, np.newaxis] * (bits - p)
            slopes += moves[:, :, np.newaxis] * np.concatenate([[1.0], node, cell])
    return found, slopes.reshape(len(bits), -1)


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
