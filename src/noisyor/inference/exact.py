"""ExactInference: sums over all that the diseases of each record may be, without approximation."""

import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.inference.expectation_kernels import (
    Sums,
    cost_of_records,
    expect_records,
    score_records,
)
from noisyor.inference.records import CHUNK, distinct_records, flatten, in_threads
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

Floats = NDArray[np.float64]

MOST_OPERATIONS = 2.0**24
"""For one record: about a tenth of a second."""
SCORED_TOGETHER = 1024
"""Records whose scores are held at once."""


class Expected(NamedTuple):
    """What all records are expected to hold, and how probable they are."""

    sums: Sums
    evidences: Floats
    """The log probability of each distinct record."""
    log_likelihood: float


class ExactInference:
    """Exact inference on all records of some findings, the same ones done once."""

    def __init__(
        self,
        findings: Findings,
        *,
        most_operations: float = MOST_OPERATIONS,
        threads: int | None = None,
    ) -> None:
        if not most_operations >= 1.0:
            raise ParameterError(f"most_operations must be at least 1, not {most_operations}.")
        self.structure = findings.structure
        self._threads = threads or os.cpu_count() or 1
        self.records = distinct_records(findings)
        self._check_costs(most_operations)

    def _check_costs(self, most: float) -> None:
        """Refuse records that take too long, saying which and why."""
        costs = np.empty(len(self.records.weights))
        cost_of_records(flatten(_anything(self.structure)), self.records, costs)
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
        """Return what the records are expected to hold, under a network."""
        n = len(self.records.weights)
        flat = flatten(network)
        evidences = np.empty(n)

        # In chunks whose size does not depend on the threads, so that no sum does either.
        def expect_chunk(first: int) -> Sums:
            sums = _no_sums(self.structure)
            last = min(first + CHUNK, n)
            expect_records(flat, self.records, first, last, sums, evidences)
            return sums

        parts = in_threads(expect_chunk, range(0, max(n, 1), CHUNK), self._threads)
        if np.isnan(evidences).any():
            raise AssertionError("a record was neither solved nor refused")
        sums = Sums(*(np.sum(each, axis=0) for each in zip(*parts, strict=True)))
        return Expected(sums, evidences, float(self.records.weights @ evidences))

    def information(self, network: NoisyOrNetwork) -> Floats:
        """Return the sum of the products of the records' scores: failures, priors, leaks.

        What the records tell of all parameters, if the network is right.
        """
        flat, records = flatten(network), self.records
        size = self.structure.n_parameters
        information = np.zeros((size, size))
        n = len(records.weights)
        for first in range(0, n, SCORED_TOGETHER):
            last = min(first + SCORED_TOGETHER, n)
            scores = np.empty((last - first, size))
            score_records(flat, records, first, last, scores)
            information += (scores * records.weights[first:last, np.newaxis]).T @ scores
        return information


def _no_sums(structure: Structure) -> Sums:
    n_edges = structure.n_edges
    sizes = structure.n_diseases, n_edges, n_edges, structure.n_symptoms
    return Sums(*(np.zeros(size) for size in sizes))


def _anything(structure: Structure) -> NoisyOrNetwork:
    """Return a network in which everything is possible: costs do not depend on parameters."""
    sizes = structure.n_diseases, structure.n_edges, structure.n_symptoms
    priors, failures, leaks = (np.full(size, 0.999) for size in sizes)
    return NoisyOrNetwork(structure, priors, failures, leaks)
