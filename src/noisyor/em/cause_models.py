"""The parameters of causes as one vector: what is learned of how diseases occur together.

`LogisticModel` has those of traits and covariates, `JointModel` (joint_model.py) shares.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from noisyor.cause_beliefs import CauseBelief
from noisyor.em.known_entries import KnownEntries, known_numbers
from noisyor.em.maximum import MOST_LOG_ODDS
from noisyor.em.mixed_kernels import FlatCauses, MixedScores
from noisyor.em.states import StateShares, all_states
from noisyor.inference.flat import Booleans, Floats
from noisyor.network import Effects, Independent, Trait
from noisyor.network.causes import Causes, trait_grid
from noisyor.network.design import Design
from noisyor.parameters import from_log_odds, log_odds
from noisyor.structure import Structure

LOADING_SPREAD, NUMBER_SPREAD = 5.0, 5.0
"""Weak normal priors: standard deviations of loadings, and of the effects of numbers."""
FIRST_SPREAD = 1.0
"""Of the effects of categories, until they say how much they differ."""
MOST_TURNS = 200
"""Until P(disease) is what it is to be."""


class CauseModel:
    """Parameters of causes as one vector, without bounds."""

    known: KnownEntries
    """What is known of its entries beforehand."""

    def knowing(self, structure: Structure, beliefs: Sequence[CauseBelief]) -> Self:
        """Return the model of which something is known beforehand."""
        raise NotImplementedError

    def with_fixed(self, position: Floats) -> Floats:
        """Return the vector with the entries that are fixed."""
        raise NotImplementedError

    def as_given(self, causes: Causes) -> Causes:
        """Return causes in which fixed entries are what was given, to the last digit."""
        return causes

    def position_of(self, causes: Causes) -> Floats:
        """Return the vector."""
        raise NotImplementedError

    def causes_at(self, position: Floats) -> Causes:
        """Return the causes that have it."""
        raise NotImplementedError

    def flat(self, causes: Causes, design: Floats) -> FlatCauses:
        """Return causes as arrays, of people in these cells."""
        raise NotImplementedError

    def scores(self, causes: Causes, scored: MixedScores) -> Floats:
        """Return derivatives by the vector, a row for each record."""
        raise NotImplementedError

    def states(self, causes: Causes, design: Floats) -> StateShares:
        """Return the probabilities of all states of the diseases, of people in these cells."""
        raise NotImplementedError

    def penalty(self, position: Floats, share: float) -> tuple[float, Floats, Floats]:
        """Return the log density of the weak priors, and its first and negative second derivatives.

        The latter as a diagonal.
        """
        raise NotImplementedError

    def if_seen(self, causes: Causes, flat: FlatCauses, weights: Floats) -> Floats:
        """Return the diagonal of the information if all diseases and traits were seen.

        `weights` are the numbers of records in each cell.
        """
        raise NotImplementedError

    @property
    def is_free(self) -> Booleans:
        """Which entries are learned."""
        raise NotImplementedError

    def reported(self, causes: Causes) -> tuple[Floats, Floats]:
        """Return the values that are told of the entries, and their derivatives by the vector."""
        position = self.position_of(causes)
        return position, np.eye(len(position))

    def gauges(self) -> Floats:
        """Return directions in which nothing changes, a column each."""
        return np.zeros((len(self.is_free), 0))

    def free_gauges(self, is_free: Booleans) -> Floats:
        """Return the gauges, by the free parameters; those of the causes come first of all."""
        some = self.gauges()
        gauges = np.zeros((len(is_free), some.shape[1]))
        gauges[: len(some)] = some
        return gauges[is_free][:, ~gauges[~is_free].any(axis=0)]

    def is_gauge(self, directions: Floats, is_free: Booleans) -> Booleans:
        """Return True for directions of free parameters, a column each, that are gauges.

        The parameters of the causes come first among those that `is_free` tells of.
        """
        basis, _ = np.linalg.qr(self.free_gauges(is_free))
        lengths = np.linalg.norm(directions, axis=0)
        return np.asarray(np.linalg.norm(basis.T @ directions, axis=0) > 0.99 * lengths)

    def marginals(self, causes: Causes) -> tuple[Floats, Floats]:
        """Return P(disease) of each over all people, and its derivatives by the vector, as rows."""
        raise NotImplementedError

    def with_marginals(self, position: Floats, marginals: Floats) -> Floats:
        """Return the vector near this one for which P(disease) is given, but where it is NaN."""
        raise NotImplementedError

    def names(self, structure: Structure) -> list[tuple[str, str | None, str]]:
        """Return kind, disease and name of each entry."""
        raise NotImplementedError


@dataclass
class LogisticModel(CauseModel):
    """Log odds a + B x + b z: `Independent` with covariates, and `Trait`."""

    n_diseases: int
    n_traits: int
    effects: Effects | None
    spreads: Floats
    """The standard deviations of the weak priors of the columns of the design."""
    known: KnownEntries = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.known = KnownEntries.nothing(self.n_diseases * self._width)

    def knowing(self, structure: Structure, beliefs: Sequence[CauseBelief]) -> "LogisticModel":
        """Return the model of which something is known beforehand."""
        is_zero = ~self.is_free
        return self._with(known_numbers(self.names(structure), self.effects, beliefs, is_zero))

    def _with(self, known: KnownEntries) -> "LogisticModel":
        found = replace(self)
        found.known = known
        return found

    def with_fixed(self, position: Floats) -> Floats:
        """Return the vector with the entries that are fixed."""
        return np.where(self.known.is_fixed, self.known.fixed, position)

    def start_at(self, position: Floats, must_agree: bool = True) -> Floats:
        """Return a vector to start from: what is known is so, and the traits' signs agree with it.

        Nothing tells a trait from its opposite but what is known of loadings.
        """
        rows, means, _ = self.known.linear
        found, is_known = self.with_fixed(position), self.known.is_fixed.copy()
        for row, mean in zip(rows, means, strict=True):
            at = int(np.argmax(np.abs(row)))
            if self.known.has_own_prior[at]:
                found[at], is_known[at] = mean / row[at], True
        shape = self.n_diseases, self._width
        table, before, known = (
            found.reshape(shape),
            position.reshape(shape),
            is_known.reshape(shape),
        )
        for trait in range(1, 1 + self.n_traits):
            here = known[:, trait]
            if must_agree and table[here, trait] @ before[here, trait] < 0.0:
                table[~here, trait] *= -1.0
        return table.ravel()

    @classmethod
    def of(cls, n_diseases: int, n_traits: int, design: Design | None) -> "LogisticModel":
        """Return the model of some covariates."""
        if design is None:
            return cls(n_diseases, n_traits, None, np.empty(0))
        width = design.rows.shape[1]
        effects = Effects(design.covariates, np.zeros((n_diseases, width)), *design.population())
        spreads = [
            FIRST_SPREAD if each.levels else NUMBER_SPREAD
            for each in design.covariates
            for _ in range(each.width)
        ]
        return cls(n_diseases, n_traits, effects, np.array(spreads))

    @property
    def has_categories(self) -> bool:
        """True if some covariates are categories, whose effects have a spread in common."""
        return self.effects is not None and any(each.levels for each in self.effects.covariates)

    @property
    def _width(self) -> int:
        return 1 + self.n_traits + len(self.spreads)

    @property
    def is_free(self) -> Booleans:
        """Which entries are learned: of several traits some are 0, so that they do not rotate."""
        free = np.ones((self.n_diseases, self._width), dtype=np.bool_)
        for trait in range(1, self.n_traits):
            free[:trait, 1 + trait] = False
        return free.ravel() & ~self.known.is_fixed

    def position_of(self, causes: Causes) -> Floats:
        """Return intercept, loadings and coefficients of each disease, one after the other."""
        assert isinstance(causes, Independent | Trait)
        parts = [np.clip(causes.intercepts, -MOST_LOG_ODDS, MOST_LOG_ODDS)[:, np.newaxis]]
        loadings = np.zeros((self.n_diseases, self.n_traits))
        if isinstance(causes, Trait):
            loadings[:, : causes.n_traits] = causes.loadings[:, : self.n_traits]
        coefficients = np.zeros((self.n_diseases, len(self.spreads)))
        if causes.effects is not None:
            coefficients = causes.effects.coefficients
        return np.concatenate([*parts, loadings, coefficients], axis=1).ravel()

    def causes_at(self, position: Floats) -> Causes:
        """Return the causes with these intercepts, loadings and coefficients."""
        table = position.reshape(self.n_diseases, self._width)
        effects = None
        if self.effects is not None:
            effects = self.effects.with_coefficients(table[:, 1 + self.n_traits :])
        if not self.n_traits:
            return Independent(from_log_odds(table[:, 0]), effects)
        return Trait(table[:, 0], table[:, 1 : 1 + self.n_traits], effects)

    def flat(self, causes: Causes, design: Floats) -> FlatCauses:
        """Return causes as arrays, of people in these cells."""
        assert isinstance(causes, Independent | Trait)
        nodes, weights = trait_grid(self.n_traits)
        offsets = np.tile(causes.intercepts, (len(design), 1))
        if causes.effects is not None:
            offsets += design @ causes.effects.coefficients.T
        return FlatCauses(offsets, nodes @ causes.loadings.T, weights, nodes, design)

    def scores(self, causes: Causes, scored: MixedScores) -> Floats:
        """Return derivatives by the vector, a row for each record."""
        return scored.diseases.reshape(len(scored.diseases), -1)

    def states(self, causes: Causes, design: Floats) -> StateShares:
        """Return the probabilities of all states of the diseases, of people in these cells."""
        flat, bits = self.flat(causes, design), all_states(self.n_diseases).astype(np.float64)
        logs, by_log = [], []
        for offsets, cell in zip(flat.offsets, flat.design, strict=True):
            p = from_log_odds(offsets + flat.shifts)
            parts = np.log(flat.weights) + bits @ np.log(p).T + (1.0 - bits) @ np.log1p(-p).T
            top = parts.max(axis=1, keepdims=True)
            given = np.exp(parts - top)
            total = given.sum(axis=1, keepdims=True)
            given /= total
            x = np.concatenate(
                [np.ones((len(p), 1)), flat.traits, np.tile(cell, (len(p), 1))], axis=1
            )
            moves = bits[:, :, np.newaxis] * (given @ x)[:, np.newaxis]
            moves -= np.einsum("ck,ki,kw->ciw", given, p, x, optimize=True)
            logs.append((top + np.log(total))[:, 0])
            by_log.append(moves.reshape(len(bits), -1))
        return StateShares(np.array(logs), np.array(by_log))

    def penalty(self, position: Floats, share: float) -> tuple[float, Floats, Floats]:
        """Return the log density of the weak priors, with derivatives."""
        table = position.reshape(self.n_diseases, self._width)
        p = from_log_odds(table[:, 0])
        value = share * 0.5 * float((np.log(p) + np.log1p(-p)).sum())
        first, second = np.empty_like(table), np.empty_like(table)
        first[:, 0], second[:, 0] = share * (0.5 - p), share * p * (1.0 - p)
        spreads = np.concatenate([np.full(self.n_traits, LOADING_SPREAD), self.spreads])
        is_believed = self.known.has_own_prior.reshape(table.shape)[:, 1:]
        spreads, rest = np.where(is_believed, np.inf, spreads), table[:, 1:]
        value -= 0.5 * float((rest**2 / spreads**2).sum())
        first[:, 1:], second[:, 1:] = -rest / spreads**2, 1.0 / spreads**2
        return value, first.ravel(), second.ravel()

    def if_seen(self, causes: Causes, flat: FlatCauses, weights: Floats) -> Floats:
        """Return the diagonal of the information if all diseases and traits were seen."""
        total = np.zeros((self.n_diseases, self._width))
        for k, weight in enumerate(flat.weights):
            p = from_log_odds(flat.offsets + flat.shifts[k])
            spread = p * (1.0 - p) * (weights * weight)[:, np.newaxis]
            total[:, 0] += spread.sum(axis=0)
            total[:, 1 : 1 + self.n_traits] += np.outer(spread.sum(axis=0), flat.traits[k] ** 2)
            total[:, 1 + self.n_traits :] += spread.T @ flat.design**2
        return total.ravel()

    def marginals(self, causes: Causes) -> tuple[Floats, Floats]:
        """Return P(disease) of each over all people, and its derivatives by the vector, as rows."""
        found, gradients = marginals_of(causes, *self.people)
        rows = np.zeros((self.n_diseases, self.n_diseases, self._width))
        each = np.arange(self.n_diseases)
        rows[each, each] = gradients
        return found, rows.reshape(self.n_diseases, -1)

    @property
    def people(self) -> tuple[Floats, Floats]:
        """Rows of the design that stand for all people, and their shares."""
        if self.effects is None:
            return np.zeros((1, 0)), np.ones(1)
        return self.effects.cells, self.effects.weights

    def with_marginals(self, position: Floats, marginals: Floats) -> Floats:
        """Return the vector with other intercepts, for which P(disease) is given where it is."""
        table, is_given = position.reshape(self.n_diseases, -1).copy(), ~np.isnan(marginals)
        target = log_odds(np.where(is_given, marginals, 0.5), 1e-9)
        for _ in range(MOST_TURNS):  # of Newton, on a function that rises evenly
            p, gradients = marginals_of(self.causes_at(table.ravel()), *self.people)
            rise = gradients[:, 0] / np.maximum(p * (1.0 - p), 1e-12)
            move = np.where(is_given, (target - log_odds(p, 1e-12)) / np.maximum(rise, 1e-3), 0.0)
            table[:, 0] += np.clip(move, -2.0, 2.0)
            if np.abs(move).max(initial=0.0) < 1e-12:
                break
        return table.ravel()

    def with_learned_spreads(self, position: Floats, variances: Floats) -> "LogisticModel":
        """Return the model in which the effects of categories differ as much as they seem to.

        Partial pooling: what the levels of a category have in common, their spread over all
        diseases, is estimated from their values and the variances of these.
        """
        if self.effects is None:
            return self
        start = 1 + self.n_traits
        learned = np.where(self.known.is_fixed, np.nan, position)
        table = learned.reshape(self.n_diseases, -1)[:, start:]
        errors = variances.reshape(self.n_diseases, -1)[:, start:]
        spreads, at = self.spreads.copy(), 0
        for each in self.effects.covariates:
            here = slice(at, at + each.width)
            if each.levels and not np.isnan(table[:, here]).all():
                found = np.nanmean(table[:, here] ** 2 + errors[:, here])
                spreads[here] = np.sqrt(np.clip(found, 0.01, 25.0))
            at += each.width
        return replace(self, spreads=spreads)._with(self.known)

    def gauges(self) -> Floats:
        """Return directions that priors alone decide: all levels of a category, the intercept."""
        found, at = [], 1 + self.n_traits
        for each in () if self.effects is None else self.effects.covariates:
            if each.levels:
                row = np.zeros(self._width)
                row[0], row[at : at + each.width] = -1.0, 1.0
                found.append(row)
            at += each.width
        if not found:
            return super().gauges()
        return np.asarray(np.kron(np.eye(self.n_diseases), np.array(found).T), np.float64)

    def names(self, structure: Structure) -> list[tuple[str, str | None, str]]:
        """Return kind, disease and name of each entry."""
        traits = [f"trait {t + 1}" if self.n_traits > 1 else "trait" for t in range(self.n_traits)]
        columns = [] if self.effects is None else self.effects.names
        kinds = [("intercept", "")] + [("loading", name) for name in traits]
        kinds += [("effect", name) for name in columns]
        return [(kind, disease, name) for disease in structure.diseases for kind, name in kinds]


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
