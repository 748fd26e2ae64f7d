"""The penalised likelihood where diseases occur together or depend on covariates.

It has the form that `climb_penalised` climbs: a position for every network, and at each of them the
value, derivatives and information. A position has the parameters of the causes (see `CauseModel`),
then the log odds of failures and leaks.
"""

import copy
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.em.cause_models import CauseModel
from noisyor.em.cells import NO_CUTS, NOTHING_SEEN, Cells
from noisyor.em.exact import SCORED_AT_ONCE, ExactExpectation
from noisyor.em.expected import BetaPriors
from noisyor.em.information import MatrixInformation
from noisyor.em.joint_model import JointModel
from noisyor.em.known_causes import KnownCauses
from noisyor.em.maximum import MOST_LOG_ODDS, Point
from noisyor.em.mixed_kernels import FlatCauses, MixedScores, PeopleOfRecords, score_mixed
from noisyor.em.states import (
    FindingTables,
    Items,
    StateShares,
    can_sum_states,
    is_possible,
    score_states,
)
from noisyor.findings import Findings
from noisyor.inference.flat import CHUNK, Booleans, Floats, Records, flatten
from noisyor.network import NoisyOrNetwork
from noisyor.network.causes import Causes
from noisyor.network.design import Design
from noisyor.parallel import in_threads
from noisyor.parameters import Parameters, from_log_odds, log_odds


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
        return PeopleOfRecords(
            np.arange(n + 1), np.zeros(n, dtype=np.int64), np.ones(n), NO_CUTS, NOTHING_SEEN
        )

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
        part = self.exact.thinned(n_records, seed, keep_labelled=True)
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

    def has_few_states(self, model: CauseModel) -> bool:
        """Return True if all states of the diseases can be summed up at once."""
        structure = self.structure
        n_kinds = 1 if self._cells is None else len(self._cells.design) + len(self._cells.starts)
        return can_sum_states(
            structure.n_diseases, structure.n_edges + structure.n_symptoms, len(model.is_free),
            len(self.records.weights), n_kinds,
        )  # fmt: skip

    def score(self, network: NoisyOrNetwork, model: CauseModel) -> MixedScored:
        """Return the log likelihood with its derivatives and the information, in one pass."""
        weights, n = self.records.weights, len(self.records.weights)
        size = len(model.is_free) + self.structure.n_edges + self.structure.n_symptoms
        information, derivatives, evidences = np.zeros((size, size)), np.zeros(size), np.empty(n)
        scorer = self._scorer(network, model, evidences)
        for start in range(0, n, SCORED_AT_ONCE * CHUNK):
            end = min(start + SCORED_AT_ONCE * CHUNK, n)
            rows = np.empty((end - start, size))

            def score_chunk(first: int, rows: Floats = rows, start: int = start) -> None:
                last = min(first + CHUNK, n)
                rows[first - start : last - start] = scorer(first, last)

            in_threads(score_chunk, range(start, end, CHUNK), self._n_jobs)
            derivatives += weights[start:end] @ rows
            rows *= np.sqrt(weights[start:end])[:, np.newaxis]
            information += rows.T @ rows
        return MixedScored(float(weights @ evidences), derivatives, information)

    def _scorer(
        self, network: NoisyOrNetwork, model: CauseModel, evidences: Floats
    ) -> Callable[[int, int], Floats]:
        """Return what gives the derivatives of some records, and writes their evidences."""
        if self.has_few_states(model):
            return self._state_scorer(network, model, evidences)
        net, flat = flatten(network.as_independent()), model.flat(network.causes, self.design)
        people = self.people._replace(cuts=self.exact.cuts, seen=self.exact.seen)

        def scored(first: int, last: int) -> Floats:
            found = self._empty(last - first, model, flat)
            own = net._replace(priors=np.empty_like(net.priors))
            score_mixed(own, flat, self.records, people, first, last, found, evidences)
            rows = [model.scores(network.causes, found), found.failures, found.leaks]
            return np.concatenate(rows, axis=1)

        return scored

    def _state_scorer(
        self, network: NoisyOrNetwork, model: CauseModel, evidences: Floats
    ) -> Callable[[int, int], Floats]:
        """Return the same where all states of the diseases are summed up at once."""
        items, kinds = Items.of(network), self.exact.kinds
        shares = self.state_shares(network, model)
        if self._cells is None:
            kinds = np.zeros(len(kinds), dtype=np.int64)

        def scored(first: int, last: int) -> Floats:
            dense = FindingTables.of(self.records, first, last, self.structure.n_symptoms)
            possible = is_possible(self.exact.seen, first, last, items.states)
            rows, evidences[first:last] = score_states(
                dense, kinds[first:last], items, shares, possible
            )
            return rows

        return scored

    def state_shares(self, network: NoisyOrNetwork, model: CauseModel) -> StateShares:
        """Return the probabilities of all states for each kind of people."""
        shares = model.states(network.causes, self.design)
        if self._cells is None:
            return shares
        return shares.mixed(self._cells.starts, self._cells.numbers, self._cells.weights)

    def _empty(self, n: int, model: CauseModel, flat: FlatCauses) -> MixedScores:
        """Return room for the derivatives of some records."""
        structure, k = self.structure, len(flat.weights)
        width = 1 + flat.traits.shape[1] + flat.design.shape[1]
        return MixedScores(
            np.empty((n, structure.n_diseases, width)),
            np.empty((n if isinstance(model, JointModel) else 0, k)),
            np.empty((n, structure.n_edges)), np.empty((n, structure.n_symptoms)),
        )  # fmt: skip


class MixedLikelihood:
    """The log likelihood of records and the log densities of weak priors, added up."""

    def __init__(
        self,
        expectation: MixedExpectation,
        model: CauseModel,
        priors: BetaPriors,
        fixed: Beliefs,
        share: float = 1.0,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.expectation, self.model, self.priors = expectation, model, priors
        self.fixed, self.share = fixed, share
        self.known = KnownCauses(model, fixed)
        self._progress = progress
        is_free = ~np.concatenate([fixed.mask.failures, fixed.mask.leaks])
        self.is_free = np.concatenate([model.is_free, is_free])

    def at(self, network: NoisyOrNetwork) -> Point:
        """Look at all records."""
        expectation, model, causes = self.expectation, self.model, network.causes
        flat = model.flat(causes, expectation.design)
        scored = expectation.score(network, model)
        self._progress(int(expectation.n_records))
        value, slope, curvature = model.penalty(model.position_of(causes), self.share)
        n_causes, n_diseases = len(slope), self.expectation.structure.n_diseases
        rest = np.concatenate([np.zeros(n_diseases, dtype=np.bool_), self.is_free[n_causes:]])
        value += scored.log_likelihood + self.priors.log_density(network, rest)
        slopes, curvatures = (part[n_diseases:] for part in self.priors.derivatives(network))
        by_rates = self.fixed.rates.derivatives(network.parameters, scored.derivatives)
        matrix = self.fixed.rates.information(network.parameters, scored.information)
        seen = model.if_seen(causes, flat, expectation.cell_weights())
        if_seen = np.concatenate([seen, self._items_if_seen(network)])
        derivatives = by_rates + np.concatenate([slope, slopes])
        value += self.believe(causes, derivatives, matrix)
        free = self.is_free
        information = MatrixInformation(matrix[np.ix_(free, free)])
        weak = np.concatenate([curvature, curvatures])[free]
        return Point(network, value, derivatives[free], information, if_seen[free], weak)

    def believe(self, causes: Causes, derivatives: Floats, information: Floats) -> float:
        """Put what is known of priors into derivatives and information; return what it adds."""
        value, slope, matrix = self.known.believed(causes)
        n = len(slope)
        derivatives[:n] += slope
        information[:n, :n] += matrix
        self.known.along(causes, derivatives, information)
        return value

    def _items_if_seen(self, network: NoisyOrNetwork) -> Floats:
        """Return trials x (1 - x) of failures and leaks, if all causes were seen."""
        owners, symptoms = network.structure.edges.T
        known, n_records = self.expectation.exact.totals.known, self.expectation.n_records
        share = known / max(self.expectation.exact.totals.n_records, 1.0)
        at_risk = network.priors[owners] * n_records * share[symptoms]
        trials = np.concatenate([at_risk, n_records * share])
        rates = self.fixed.rates.put_in(network.parameters)
        values = np.concatenate([rates.failures, rates.leaks])
        return np.asarray(trials * values * (1.0 - values))

    def moved(self, network: NoisyOrNetwork, position: Floats) -> NoisyOrNetwork:
        """Return a network whose free parameters are elsewhere."""
        whole = self.whole_position(network)
        whole[self.is_free] = position
        n_causes, n_edges = len(self.model.is_free), network.structure.n_edges
        items = from_log_odds(whole[n_causes:], MOST_LOG_ODDS)
        causes = self.model.causes_at(self.known.put_into(whole[:n_causes]))
        values = Parameters(items[:0], items[:n_edges], items[n_edges:])
        _, failures, leaks = self.fixed.rates.taken_out(values)
        return NoisyOrNetwork(network.structure, None, failures, leaks, causes=causes)

    def position_of(self, network: NoisyOrNetwork) -> Floats:
        """Return where the free parameters are."""
        return np.asarray(self.whole_position(network)[self.is_free])

    def is_gauge(self, directions: Floats) -> Booleans:
        """Return True for directions of free parameters, a column each, that change nothing."""
        return self.model.is_gauge(directions, self.is_free)

    def whole_position(self, network: NoisyOrNetwork) -> Floats:
        """Return where all parameters are."""
        values = self.fixed.rates.put_in(network.parameters)
        items = log_odds(np.concatenate([values.failures, values.leaks]), 1e-12)
        return np.concatenate([self.model.position_of(network.causes), items])

    def start_from(self, network: NoisyOrNetwork) -> NoisyOrNetwork:
        """Return a network of this model near one whose diseases are independent."""
        known = network.with_causes(None).with_fixed(self.fixed)
        position = self.known.put_into(self.model.position_of(known.causes))
        causes = self.model.causes_at(position)
        return NoisyOrNetwork(known.structure, None, known.failures, known.leaks, causes=causes)
