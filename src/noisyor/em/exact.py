"""ExactExpectation: sums over all that the diseases of each record may be."""

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from noisyor.em.candidate_kernels import SampledRecords, Seen
from noisyor.em.exact_kernels import (
    Decided,
    WantedSums,
    cut_records,
    sum_records,
)
from noisyor.em.expected import Expected, ExpectedCounts, RecordTotals, Trials, total_of
from noisyor.em.information import mirrored
from noisyor.em.runs import MAX_OPERATIONS
from noisyor.em.seen import distinct_seen
from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.findings.blocks import Words
from noisyor.inference.flat import (
    CHUNK,
    Booleans,
    FlatNetwork,
    Floats,
    Integers,
    Records,
    flatten,
)
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.parallel import in_threads
from noisyor.parameters import Parameters

CUT_ABOVE = 2.0**22
"""Operations of a record above which implausible diseases are cut, where that is asked for."""
MOST_CUT, MOST_IN_ALL = 0.02, 2.0**33
"""The share of records that may be cut, and the operations of a pass, where all is summed up."""
SCORED_AT_ONCE = 8
"""Chunks of records whose scores are in memory together."""


class ScoredRecords(NamedTuple):
    """What records say of parameters, by their log odds."""

    log_likelihood: float
    derivatives: Floats
    information: Floats
    """The sum of the products of the records' scores: the information, if the network is right."""


class ScoredRows(NamedTuple):
    """The same, with the scores themselves."""

    log_likelihood: float
    derivatives: Floats
    rows: NDArray[np.float32]
    """Of distinct records, times the roots of their weights: their products are those of all."""


NOTHING = WantedSums(
    ExpectedCounts(*(np.zeros(0) for _ in range(4))), np.zeros((0, 0)), np.zeros(0)
)
"""Nothing but log evidences is asked for."""


class ExactExpectation:
    """Expected counts of all records of some findings, equal ones looked at once."""

    def __init__(
        self,
        findings: Findings,
        *,
        max_operations: float = MAX_OPERATIONS,
        may_cut: bool = False,
        kinds: Integers | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.structure = findings.structure
        self.totals = RecordTotals.of(findings)
        self.records, self.kinds, self.seen = distinct_seen(findings, kinds)
        self._n_jobs = n_jobs
        self.costs = np.empty(len(self.records.weights))
        # In a network in which everything is possible: costs do not depend on parameters.
        possible = NoisyOrNetwork(self.structure, *Parameters.full(self.structure, 0.999))
        words = (self.structure.n_diseases + 63) // 64
        self._cuts = np.zeros((0, words), dtype=np.uint64)
        n = len(self.costs)
        self._sum_records(flatten(possible), 0, n, np.empty(n), costs=self.costs)
        if not may_cut:
            self._check_costs(max_operations)

    def _sum_records(
        self, flat: FlatNetwork, first: int, last: int, evidences: Floats, **wanted: Any
    ) -> None:
        """Call the kernel for what is asked."""
        sum_records(
            flat, self.records, self._decided, first, last, evidences, NOTHING._replace(**wanted)
        )

    def _check_costs(self, most: float) -> None:
        """Refuse records that take too long, saying which and why."""
        costs = self.costs
        if len(costs) and costs.max() > most:
            record = int(np.argmax(costs))
            first, last = self.records.offsets[record : record + 2]
            size = f"2^{np.log2(costs[record]):.0f}" if costs[record] < np.inf else "far more"
            n_present = int(self.records.is_present[first:last].sum())
            raise ParameterError(
                f"exact inference is out of reach: {int((costs > most).sum()):,} of "
                f"{len(costs):,} different records need more than 2^{np.log2(most):.0f} "
                f"operations, one with {n_present} present findings {size}."
                " Learn with method='refined', 'pooled' or 'variational_em', which need no exact "
                "inference."
            )

    @property
    def is_affordable(self) -> bool:
        """True if nearly all records can be summed up exactly, some dozen times."""
        share_cut = (
            self.records.weights @ (self.costs > CUT_ABOVE) / max(self.totals.n_records, 1.0)
        )
        n_operations = np.minimum(self.costs, CUT_ABOVE).sum()
        return bool(share_cut <= MOST_CUT and n_operations <= MOST_IN_ALL)

    def cut(self, network: NoisyOrNetwork) -> None:
        """Cut diseases that are implausible in a network, in records that are too much work."""
        numbers = np.flatnonzero(self.costs > CUT_ABOVE)
        if not len(numbers):
            return
        flat, records = flatten(network), self.records
        states = np.zeros((len(self.costs), self._cuts.shape[1]), dtype=np.uint64)
        cuts = np.zeros_like(states)
        is_unknown = ~records.is_present
        sampled = SampledRecords(
            records.offsets, records.symptoms, is_unknown, 0, states, cuts, self.seen
        )

        def cut_chunk(first: int) -> None:
            cut_records(flat, records, sampled, CUT_ABOVE, numbers[first : first + CHUNK])

        in_threads(cut_chunk, range(0, len(numbers), CHUNK), self._n_jobs)
        self._cuts = cuts

    @property
    def _decided(self) -> Decided:
        return Decided(self._cuts, self.seen)

    @property
    def cuts(self) -> Words:
        """The diseases that are cut, a row of bits for each record, or no rows."""
        return self._cuts

    def cut_diseases(self) -> Booleans:
        """Return which diseases are cut, records x diseases."""
        n_diseases = self.structure.n_diseases
        if not len(self._cuts):
            return np.zeros((len(self.costs), n_diseases), dtype=np.bool_)
        bits = np.unpackbits(self._cuts.view(np.uint8), axis=1, bitorder="little")
        return np.asarray(bits[:, :n_diseases].astype(np.bool_))

    def thinned(self, n_records: int, seed: int, *, keep_labelled: bool = False) -> Self:
        """Return the expectation of about so many of the records, chosen at random."""
        return self.parted(n_records, seed, keep_labelled=keep_labelled)[0]

    def parted(
        self, n_records: int, seed: int, *, keep_labelled: bool = False
    ) -> tuple[Self, Self | None]:
        """Return the expectations of about so many of the records, at random, and of the others.

        Each distinct record keeps its share of the weight, rounded at random; where labels are to
        be kept, those with one keep all of it. None: there are no others.
        """
        share, old = n_records / max(self.totals.n_records, 1.0), self.records.weights
        if share >= 1.0:
            return self, None
        rng = np.random.default_rng(seed)
        weights = rng.binomial(old.astype(np.int64), share).astype(np.float64)
        if keep_labelled and len(self.seen.known):
            weights = np.where(self.seen.known.any(axis=1), old, weights)
        left = old - weights
        return self._weighted(weights), self._weighted(left) if left.any() else None

    def _weighted(self, weights: Floats) -> Self:
        """Return the expectation of records that count for other numbers of them."""
        other = copy.copy(self)
        other._keep(np.flatnonzero(weights), weights)
        return other

    def _keep(self, chosen: Indices, weights: Floats) -> None:
        """Keep some of the records, with new weights."""
        old = self.records
        sizes = np.diff(old.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
        listed = np.repeat(old.offsets[chosen], sizes) + within
        symptoms, is_present = old.symptoms[listed], old.is_present[listed]
        new = Records(offsets, symptoms, is_present, old.others_unknown[chosen], weights[chosen])
        of_unknown = np.repeat(new.weights, sizes)[~is_present]
        n_symptoms = self.structure.n_symptoms
        n_unknown = np.bincount(symptoms[~is_present], of_unknown, n_symptoms).astype(np.float64)
        n_records = float(new.weights.sum())
        self.records, self.totals = new, RecordTotals(n_records, n_records - n_unknown)
        self.costs, self.kinds = self.costs[chosen], self.kinds[chosen]
        self.seen = self.seen if not len(self.seen.known) else Seen(*(w[chosen] for w in self.seen))
        self._cuts = self._cuts[chosen] if len(self._cuts) else self._cuts

    def count_present(self) -> Floats:
        """Return, for each symptom, in how many records it is present."""
        records = self.records
        weights = np.repeat(records.weights, np.diff(records.offsets)) * records.is_present
        n_symptoms = self.structure.n_symptoms
        return np.bincount(records.symptoms, weights, minlength=n_symptoms).astype(np.float64)

    def expect(self, network: NoisyOrNetwork) -> Expected:
        """Do an E-step."""
        counts, evidences = self.counts(network)
        trials = Trials.of(self.structure, counts, self.totals)
        return Expected(trials, float(self.records.weights @ evidences))

    def counts(self, network: NoisyOrNetwork) -> tuple[ExpectedCounts, Floats]:
        """Return the expected counts, and the log evidence of each distinct record."""
        n = len(self.records.weights)
        flat = flatten(network)
        evidences = np.empty(n)

        # In chunks whose size does not depend on the threads, so that no sum does either.
        def expect_chunk(first: int) -> ExpectedCounts:
            counts = ExpectedCounts.zeros(self.structure)
            last = min(first + CHUNK, n)
            self._sum_records(flat, first, last, evidences, counts=counts)
            return counts

        parts = in_threads(expect_chunk, range(0, max(n, 1), CHUNK), self._n_jobs)
        if np.isnan(evidences).any():
            raise AssertionError("a record was neither solved nor refused")
        return total_of(parts), evidences

    def score(self, network: NoisyOrNetwork) -> ScoredRecords:
        """Return the log likelihood with its derivatives and the information, in one pass."""
        size = self.structure.n_parameters
        products, derivatives, total = np.zeros((size, size), order="F"), np.zeros(size), 0.0
        for scores, weights, evidences in self._scores(network):
            total += float(weights @ evidences)
            derivatives += weights @ scores
            weighted = np.multiply(scores, np.sqrt(weights)[:, np.newaxis], out=scores)
            # The lower half of weighted.T @ weighted, added up where it stands.
            products = dsyrk(1.0, weighted.T, beta=1.0, c=products, lower=1, overwrite_c=1)
        return ScoredRecords(total, derivatives, mirrored(products))

    def score_rows(self, network: NoisyOrNetwork) -> ScoredRows:
        """Return the log likelihood with its derivatives, and the scores of each record."""
        n, size = len(self.records.weights), self.structure.n_parameters
        rows, derivatives, total = np.empty((n, size), dtype=np.float32), np.zeros(size), 0.0
        first = 0
        for scores, weights, evidences in self._scores(network):
            total += float(weights @ evidences)
            derivatives += weights @ scores
            roots, some = np.sqrt(weights)[:, np.newaxis], rows[first : first + len(weights)]
            np.multiply(scores, roots, out=some, casting="same_kind")
            first += len(weights)
        return ScoredRows(total, derivatives, rows)

    def _scores(self, network: NoisyOrNetwork) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Give the scores of some records after the other, with their weights and log evidences."""
        flat, records = flatten(network), self.records
        size, n = self.structure.n_parameters, len(records.weights)
        evidences = np.empty(n)
        for start in range(0, n, SCORED_AT_ONCE * CHUNK):
            end = min(start + SCORED_AT_ONCE * CHUNK, n)
            scores = np.empty((end - start, size))

            def score_chunk(first: int, scores: Floats = scores, start: int = start) -> None:
                last = min(first + CHUNK, n)
                rows = scores[first - start : last - start]
                self._sum_records(flat, first, last, evidences, scores=rows)

            in_threads(score_chunk, range(start, end, CHUNK), self._n_jobs)
            yield scores, records.weights[start:end], evidences[start:end]

    def information(self, network: NoisyOrNetwork) -> Floats:
        """Return the sum of the products of the records' scores, by the log odds.

        What the records say of all parameters, if the network is right.
        """
        return self.score(network).information
