"""ExactExpectation: sums over all that the diseases of each record may be."""

import numpy as np

from noisyor.em.exact_kernels import cost_of_records, expect_records, score_records
from noisyor.em.expected import Expected, ExpectedCounts, RecordTotals, Trials, total_of
from noisyor.em.runs import MAX_OPERATIONS
from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.inference.flat import CHUNK, Floats, distinct_records, flatten
from noisyor.network import NoisyOrNetwork
from noisyor.parallel import in_threads
from noisyor.parameters import Parameters


class ExactExpectation:
    """Expected counts of all records of some findings, equal ones looked at once."""

    def __init__(
        self,
        findings: Findings,
        *,
        max_operations: float = MAX_OPERATIONS,
        n_jobs: int | None = None,
    ) -> None:
        self.structure = findings.structure
        self.totals = RecordTotals.of(findings)
        self.records = distinct_records(findings)
        self._n_jobs = n_jobs
        self._check_costs(max_operations)

    def _check_costs(self, most: float) -> None:
        """Refuse records that take too long, saying which and why."""
        costs = np.empty(len(self.records.weights))
        # In a network in which everything is possible: costs do not depend on parameters.
        possible = NoisyOrNetwork(self.structure, *Parameters.full(self.structure, 0.999))
        cost_of_records(flatten(possible), self.records, costs)
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
            expect_records(flat, self.records, first, last, counts, evidences)
            return counts

        parts = in_threads(expect_chunk, range(0, max(n, 1), CHUNK), self._n_jobs)
        if np.isnan(evidences).any():
            raise AssertionError("a record was neither solved nor refused")
        return total_of(parts), evidences

    def information(self, network: NoisyOrNetwork) -> Floats:
        """Return the sum of the products of the records' scores.

        What the records say of all parameters, if the network is right.
        """
        flat, records = flatten(network), self.records
        size = self.structure.n_parameters
        information = np.zeros((size, size))
        n = len(records.weights)
        for first in range(0, n, 1024):  # scores of so many records are in memory at once
            last = min(first + 1024, n)
            scores = np.empty((last - first, size))
            score_records(flat, records, first, last, scores)
            information += (scores * records.weights[first:last, np.newaxis]).T @ scores
        return information
