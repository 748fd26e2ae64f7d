"""The penalised likelihood where diseases occur together or depend on covariates.

It has the form that `climb_penalised` climbs: a position for every network, and at each of them the
value, derivatives and information. A position has the parameters of the causes (see `CauseModel`),
then the log odds of failures and leaks.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from noisyor.em.exact import SCORED_AT_ONCE, ExactExpectation
from noisyor.em.expected import BetaPriors
from noisyor.em.information import MatrixInformation
from noisyor.em.maximum import MOST_LOG_ODDS, Point
from noisyor.em.mixed_kernels import FlatCauses, MixedScores, PeopleOfRecords, score_mixed
from noisyor.findings import Findings
from noisyor.inference.flat import CHUNK, Booleans, Floats, Integers, Records, flatten
from noisyor.network import Effects, Independent, Joint, NoisyOrNetwork, Trait
from noisyor.network.causes import Causes, trait_grid
from noisyor.network.design import Design
from noisyor.parallel import in_threads
from noisyor.parameters import Fixed, from_log_odds, log_odds
from noisyor.structure import Structure

LOADING_SPREAD, NUMBER_SPREAD = 5.0, 5.0
"""Weak normal priors: standard deviations of loadings, and of the effects of numbers."""
FIRST_SPREAD = 1.0
"""Of the effects of categories, until they say how much they differ."""
SHARE_SIZE = 1.0
"""Cases that the weak prior of shares counts for, in each block."""


class CauseModel:
    """Parameters of causes as one vector, without bounds."""

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

    def is_gauge(self, directions: Floats, is_free: Booleans) -> Booleans:
        """Return True for directions of free parameters, a column each, that are gauges.

        The parameters of the causes come first among those that `is_free` tells of.
        """
        some = self.gauges()
        gauges = np.zeros((len(is_free), some.shape[1]))
        gauges[: len(some)] = some
        basis, _ = np.linalg.qr(gauges[is_free])
        lengths = np.linalg.norm(directions, axis=0)
        return np.asarray(np.linalg.norm(basis.T @ directions, axis=0) > 0.99 * lengths)

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
        return free.ravel()

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

    def penalty(self, position: Floats, share: float) -> tuple[float, Floats, Floats]:
        """Return the log density of the weak priors, with derivatives."""
        table = position.reshape(self.n_diseases, self._width)
        p = from_log_odds(table[:, 0])
        value = share * 0.5 * float((np.log(p) + np.log1p(-p)).sum())
        first, second = np.empty_like(table), np.empty_like(table)
        first[:, 0], second[:, 0] = share * (0.5 - p), share * p * (1.0 - p)
        spreads = np.concatenate([np.full(self.n_traits, LOADING_SPREAD), self.spreads])
        rest = table[:, 1:]
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

    def with_learned_spreads(self, position: Floats, variances: Floats) -> "LogisticModel":
        """Return the model in which the effects of categories differ as much as they seem to.

        Partial pooling: what the levels of a category have in common, their spread over all
        diseases, is estimated from their values and the variances of these.
        """
        if self.effects is None:
            return self
        start = 1 + self.n_traits
        table = position.reshape(self.n_diseases, -1)[:, start:]
        errors = variances.reshape(self.n_diseases, -1)[:, start:]
        spreads, at = self.spreads.copy(), 0
        for each in self.effects.covariates:
            here = slice(at, at + each.width)
            if each.levels:
                found = np.nanmean(table[:, here] ** 2 + errors[:, here])
                spreads[here] = np.sqrt(np.clip(found, 0.01, 25.0))
            at += each.width
        return LogisticModel(self.n_diseases, self.n_traits, self.effects, spreads)

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


@dataclass
class JointModel(CauseModel):
    """The shares of blocks, as logarithms, and the log odds of the other diseases."""

    blocks: tuple[tuple[int, ...], ...]
    n_diseases: int

    def __post_init__(self) -> None:
        self._rest = np.setdiff1d(np.arange(self.n_diseases), [i for b in self.blocks for i in b])
        self._sizes = [2 ** len(block) for block in self.blocks]

    @property
    def is_free(self) -> Booleans:
        """All; that logarithms of shares have no origin does not matter to the steps."""
        return np.ones(sum(self._sizes) + len(self._rest), dtype=np.bool_)

    def position_of(self, causes: Causes) -> Floats:
        """Return the logarithms of shares, block by block, then the log odds of the others."""
        if isinstance(causes, Joint) and causes.blocks == self.blocks:
            shares = list(causes.shares)
        else:
            shares = [causes.joint(block).ravel() for block in self.blocks]
        logs = [np.log(np.maximum(each, 1e-9)) for each in shares]
        rest = np.clip(causes.log_odds()[self._rest], -MOST_LOG_ODDS, MOST_LOG_ODDS)
        return np.concatenate([*logs, rest])

    def _split(self, position: Floats) -> tuple[list[Floats], Floats]:
        parts = np.split(position, np.cumsum(self._sizes))
        shares = [np.exp(part - part.max()) for part in parts[:-1]]
        return [share / share.sum() for share in shares], parts[-1]

    def causes_at(self, position: Floats) -> Causes:
        """Return the causes with these shares."""
        shares, rest = self._split(position)
        priors = np.zeros(self.n_diseases)
        priors[self._rest] = from_log_odds(rest)
        return Joint(shares, self.blocks, priors)

    def flat(self, causes: Causes, design: Floats) -> FlatCauses:
        """Return causes as arrays, of people in these cells."""
        weights, priors = causes.components
        shifts = np.where(priors > 0.5, np.inf, -np.inf)
        shifts[:, self._rest] = 0.0
        offsets = np.zeros((1, self.n_diseases))
        offsets[:, self._rest] = log_odds(priors[0, self._rest], 1e-12)
        return FlatCauses(
            offsets, shifts, np.maximum(weights, 1e-300), np.zeros((len(weights), 0)),
            np.zeros((len(design), 0)),
        )  # fmt: skip

    def scores(self, causes: Causes, scored: MixedScores) -> Floats:
        """Return derivatives by the vector, a row for each record."""
        assert isinstance(causes, Joint)
        parts = []
        for shares, states in zip(causes.shares, causes.states(), strict=True):
            is_state = (states[:, np.newaxis] == np.arange(len(shares))).astype(np.float64)
            parts.append(scored.components @ is_state - shares)
        return np.concatenate([*parts, scored.diseases[:, self._rest, 0]], axis=1)

    def penalty(self, position: Floats, share: float) -> tuple[float, Floats, Floats]:
        """Return the log density of the weak priors, with derivatives."""
        shares, rest = self._split(position)
        value, first, second = 0.0, [], []
        for each in shares:
            size = share * SHARE_SIZE
            value += size * float(np.log(np.maximum(each, 1e-300)).mean())
            first.append(size * (1.0 / len(each) - each))
            second.append(size * each * (1.0 - each))
        p = from_log_odds(rest)
        value += share * 0.5 * float((np.log(p) + np.log1p(-p)).sum())
        first.append(share * (0.5 - p))
        second.append(share * p * (1.0 - p))
        return value, np.concatenate(first), np.concatenate(second)

    def if_seen(self, causes: Causes, flat: FlatCauses, weights: Floats) -> Floats:
        """Return the diagonal of the information if all diseases were seen."""
        assert isinstance(causes, Joint)
        parts = [*causes.shares, causes.priors[self._rest]]
        return np.concatenate([weights.sum() * each * (1.0 - each) for each in parts])

    def reported(self, causes: Causes) -> tuple[Floats, Floats]:
        """Return shares and log odds, with their derivatives by the vector."""
        assert isinstance(causes, Joint)
        values, jacobian = self.position_of(causes), np.eye(len(self.is_free))
        at = 0
        for shares in causes.shares:
            here = slice(at, at + len(shares))
            values[here] = shares
            jacobian[here, here] = np.diag(shares) - np.outer(shares, shares)
            at += len(shares)
        return values, jacobian

    def gauges(self) -> Floats:
        """Return directions in which nothing changes: all logarithms of a block by as much."""
        found = np.zeros((len(self.is_free), len(self._sizes)))
        for number, size in enumerate(self._sizes):
            at = sum(self._sizes[:number])
            found[at : at + size, number] = 1.0
        return found

    def names(self, structure: Structure) -> list[tuple[str, str | None, str]]:
        """Return kind, disease and name of each entry."""
        found: list[tuple[str, str | None, str]] = []
        for block in self.blocks:
            names = [structure.diseases[i] for i in block]
            for state in range(2 ** len(block)):
                bits = f"{state:0{len(block)}b}"
                on = [name for name, bit in zip(names, bits, strict=True) if bit == "1"]
                found.append(("share", None, " + ".join(on) or "none"))
        return found + [("intercept", structure.diseases[i], "") for i in self._rest.tolist()]


class MixedScored(NamedTuple):
    """What records say of a position."""

    log_likelihood: float
    derivatives: Floats
    information: Floats


class MixedExpectation:
    """Records with the covariates of their people, equal ones looked at once."""

    def __init__(
        self, findings: Findings, design: Design | None = None, n_jobs: int | None = None
    ) -> None:
        self._n_jobs = n_jobs
        self._cells = None if design is None else Cells.of(design)
        kinds = None if self._cells is None else self._cells.kinds
        self.exact = ExactExpectation(findings, may_cut=True, kinds=kinds, n_jobs=n_jobs)
        self.structure = self.exact.structure
        self.design = np.zeros((1, 0)) if self._cells is None else self._cells.design
        self.people = self._people()

    def _people(self) -> PeopleOfRecords:
        """Return the cells that each record's people can be in."""
        if self._cells is not None:
            return self._cells.of_kinds(self.exact.kinds)
        n = len(self.records.weights)
        return PeopleOfRecords(np.arange(n + 1), np.zeros(n, dtype=np.int64), np.ones(n), _NO_CUTS)

    @property
    def records(self) -> Records:
        """The distinct records."""
        return self.exact.records

    @property
    def n_records(self) -> float:
        """How many records there are."""
        return float(self.records.weights.sum())

    def thinned(self, n_records: int, seed: int) -> Self:
        """Return about so many of the records, chosen at random."""
        part = self.exact.thinned(n_records, seed)
        if part is self.exact:
            return self
        other = copy.copy(self)
        other.exact = part
        other.people = other._people()
        return other

    def without_covariates(self) -> Self:
        """Return the same records of people of whom nothing else is known."""
        other = copy.copy(self)
        other._cells, other.design = None, np.zeros((1, 0))
        other.people = other._people()
        return other

    def cell_weights(self) -> Floats:
        """Return how many records are in each cell."""
        of_record = np.repeat(self.records.weights, np.diff(self.people.starts))
        return np.bincount(
            self.people.cells, of_record * self.people.weights, minlength=len(self.design)
        ).astype(np.float64)

    def score(self, network: NoisyOrNetwork, model: CauseModel, flat: FlatCauses) -> MixedScored:
        """Return the log likelihood with its derivatives and the information, in one pass."""
        records, n = self.records, len(self.records.weights)
        size = len(model.is_free) + self.structure.n_edges + self.structure.n_symptoms
        information, derivatives, evidences = np.zeros((size, size)), np.zeros(size), np.empty(n)
        net = flatten(network.as_independent())
        people = self.people._replace(cuts=self.exact.cuts)
        for start in range(0, n, SCORED_AT_ONCE * CHUNK):
            end = min(start + SCORED_AT_ONCE * CHUNK, n)
            rows = np.empty((end - start, size))

            def score_chunk(first: int, rows: Floats = rows, start: int = start) -> None:
                last = min(first + CHUNK, n)
                scored = self._empty(last - first, model, flat)
                own = net._replace(priors=np.empty_like(net.priors))
                score_mixed(own, flat, records, people, first, last, scored, evidences)
                rows[first - start : last - start] = np.concatenate(
                    [model.scores(network.causes, scored), scored.failures, scored.leaks], axis=1
                )

            in_threads(score_chunk, range(start, end, CHUNK), self._n_jobs)
            weights = records.weights[start:end]
            derivatives += weights @ rows
            rows *= np.sqrt(weights)[:, np.newaxis]
            information += rows.T @ rows
        return MixedScored(float(records.weights @ evidences), derivatives, information)

    def _empty(self, n: int, model: CauseModel, flat: FlatCauses) -> MixedScores:
        """Return room for the derivatives of some records."""
        structure, k = self.structure, len(flat.weights)
        width = 1 + flat.traits.shape[1] + flat.design.shape[1]
        return MixedScores(
            np.empty((n, structure.n_diseases, width)),
            np.empty((n if isinstance(model, JointModel) else 0, k)),
            np.empty((n, structure.n_edges)), np.empty((n, structure.n_symptoms)),
        )  # fmt: skip


_NO_CUTS = np.zeros((0, 0), dtype=np.uint64)


class Cells(NamedTuple):
    """The rows of a design that differ, and those that records of each kind can have."""

    kinds: Integers
    """Of each record: which row it has, as it was given."""
    design: Floats
    """The rows in which all is known..."""
    starts: Integers
    """... of which those of kind x are `starts[x] : starts[x + 1]` of the next two."""
    numbers: Integers
    weights: Floats

    @classmethod
    def nothing(cls, n_records: int) -> "Cells":
        """Return those of people of whom nothing is known."""
        one = np.zeros(1, dtype=np.int64)
        return cls(
            np.zeros(n_records, dtype=np.int64), np.zeros((1, 0)), np.array([0, 1]), one, np.ones(1)
        )

    @classmethod
    def of(cls, design: Design) -> "Cells":
        """Find the rows that differ; where something is unknown, people like all others fill in."""
        filled = np.nan_to_num(design.rows, nan=np.inf)
        rows, kinds = np.unique(filled, axis=0, return_inverse=True)
        population, shares = design.population()
        cells, weights = [], []
        for row in rows:
            is_unknown = np.isinf(row)
            everybody = np.where(is_unknown, population, row)
            cells.append(everybody if is_unknown.any() else row[np.newaxis])
            weights.append(shares if is_unknown.any() else np.ones(1))
        starts = np.concatenate([[0], np.cumsum([len(each) for each in cells])])
        all_cells, numbers = np.unique(np.concatenate(cells), axis=0, return_inverse=True)
        return cls(
            kinds.ravel().astype(np.int64), all_cells, starts.astype(np.int64),
            numbers.ravel().astype(np.int64), np.concatenate(weights),
        )  # fmt: skip

    def of_kinds(self, kinds: Integers) -> PeopleOfRecords:
        """Return the cells of records of these kinds."""
        sizes = np.diff(self.starts)[kinds]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
        listed = np.repeat(self.starts[kinds], sizes) + within
        return PeopleOfRecords(starts, self.numbers[listed], self.weights[listed], _NO_CUTS)


class MixedLikelihood:
    """The log likelihood of records and the log densities of weak priors, added up."""

    def __init__(
        self,
        expectation: MixedExpectation,
        model: CauseModel,
        priors: BetaPriors,
        fixed: Fixed,
        share: float = 1.0,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.expectation, self.model, self.priors = expectation, model, priors
        self.fixed, self.share = fixed, share
        self._progress = progress
        is_free = ~np.concatenate([fixed.mask.failures, fixed.mask.leaks])
        self.is_free = np.concatenate([model.is_free, is_free])

    def at(self, network: NoisyOrNetwork) -> Point:
        """Look at all records."""
        expectation, model, causes = self.expectation, self.model, network.causes
        flat = model.flat(causes, expectation.design)
        scored = expectation.score(network, model, flat)
        self._progress(int(expectation.n_records))
        value, slope, curvature = model.penalty(model.position_of(causes), self.share)
        n_causes, n_diseases = len(slope), self.expectation.structure.n_diseases
        rest = np.concatenate([np.zeros(n_diseases, dtype=np.bool_), self.is_free[n_causes:]])
        value += scored.log_likelihood + self.priors.log_density(network, rest)
        slopes, curvatures = (part[n_diseases:] for part in self.priors.derivatives(network))
        seen = model.if_seen(causes, flat, expectation.cell_weights())
        if_seen = np.concatenate([seen, self._items_if_seen(network)])
        derivatives = scored.derivatives + np.concatenate([slope, slopes])
        free = self.is_free
        information = MatrixInformation(scored.information[np.ix_(free, free)])
        weak = np.concatenate([curvature, curvatures])[free]
        return Point(network, value, derivatives[free], information, if_seen[free], weak)

    def _items_if_seen(self, network: NoisyOrNetwork) -> Floats:
        """Return trials x (1 - x) of failures and leaks, if all causes were seen."""
        owners, symptoms = network.structure.edges.T
        known, n_records = self.expectation.exact.totals.known, self.expectation.n_records
        share = known / max(self.expectation.exact.totals.n_records, 1.0)
        at_risk = network.priors[owners] * n_records * share[symptoms]
        trials = np.concatenate([at_risk, n_records * share])
        values = np.concatenate([network.failures, network.leaks])
        return np.asarray(trials * values * (1.0 - values))

    def moved(self, network: NoisyOrNetwork, position: Floats) -> NoisyOrNetwork:
        """Return a network whose free parameters are elsewhere."""
        whole = self.whole_position(network)
        whole[self.is_free] = position
        n_causes, n_edges = len(self.model.is_free), network.structure.n_edges
        items = from_log_odds(whole[n_causes:], MOST_LOG_ODDS)
        causes = self.model.causes_at(whole[:n_causes])
        return NoisyOrNetwork(
            network.structure, None, items[:n_edges], items[n_edges:], causes=causes
        )

    def position_of(self, network: NoisyOrNetwork) -> Floats:
        """Return where the free parameters are."""
        return np.asarray(self.whole_position(network)[self.is_free])

    def is_gauge(self, directions: Floats) -> Booleans:
        """Return True for directions of free parameters, a column each, that change nothing."""
        return self.model.is_gauge(directions, self.is_free)

    def whole_position(self, network: NoisyOrNetwork) -> Floats:
        """Return where all parameters are."""
        items = log_odds(np.concatenate([network.failures, network.leaks]), 1e-12)
        return np.concatenate([self.model.position_of(network.causes), items])

    def start_from(self, network: NoisyOrNetwork) -> NoisyOrNetwork:
        """Return a network of this model near one whose diseases are independent."""
        known = network.with_causes(None).with_fixed(self.fixed)
        causes = self.model.causes_at(self.model.position_of(known.causes))
        return NoisyOrNetwork(known.structure, None, known.failures, known.leaks, causes=causes)
