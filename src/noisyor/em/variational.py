"""VariationalExpectation: variational EM (Singliar and Hauskrecht 2006), the paper's baseline.

With theta = -log f, theta0 = -log(1 - leak), and shares q that sum to 1 over the parents of a
present finding, Jensen's inequality gives

    log P(present | D) >= sum_i q_i [ d_i log(1 - exp(-theta0 - theta_i / q_i))
                                      + (1 - d_i) log(1 - exp(-theta0)) ]

and absent findings are linear in d. The E-step raises the bound by turns in P(d_i = 1), in closed
form, and in q; the M-step solves one monotone equation for each edge and each leak. No step lowers
the bound. It converges, but not to the truth: it prunes edges (Section 4.1).
"""

from typing import Any

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.em import variational_kernels
from noisyor.em.expected import (
    SMALLEST,
    SMALLEST_LEAK,
    Expected,
    ExpectedCounts,
    RecordTotals,
    Trials,
    total_of,
)
from noisyor.em.seen import distinct_seen
from noisyor.em.variational_kernels import SharedFindings, Strengths
from noisyor.findings import Findings
from noisyor.inference.flat import CHUNK, FlatNetwork, flatten
from noisyor.network import NoisyOrNetwork
from noisyor.parallel import in_threads


class VariationalExpectation:
    """Bounds of some findings; shares and posteriors are kept from step to step."""

    def __init__(self, findings: Findings, n_jobs: int | None = None) -> None:
        self.structure = findings.structure
        self.totals = RecordTotals.of(findings)
        self._present = findings.count_present().astype(np.float64)
        self._records, _, self._seen = distinct_seen(findings)
        self._shared = self._lay_out()
        # With fewer findings and parents, starting threads takes longer than the work.
        self._n_jobs = n_jobs if len(self._shared.edges) >= 100_000 else 1

    def _lay_out(self) -> SharedFindings:
        """List each present finding with each of its parents."""
        structure, records = self.structure, self._records
        n_parents = np.diff(structure.parent_offsets)[records.symptoms]
        n_entries = np.where(records.is_present, n_parents, 0)
        finding_offsets = np.concatenate([[0], np.cumsum(n_entries)])
        of_finding = np.repeat(np.arange(len(n_entries)), n_entries)
        rank = np.arange(finding_offsets[-1]) - finding_offsets[of_finding]
        parents = structure.parent_offsets[records.symptoms[of_finding]] + rank
        weights = np.repeat(records.weights, np.diff(records.offsets))[of_finding]
        by_parent = np.argsort(parents, kind="stable")
        order = np.empty(len(parents), dtype=np.int64)
        order[by_parent] = np.arange(len(parents))
        return SharedFindings(
            structure.parent_edges[parents[by_parent]], weights[by_parent],
            np.searchsorted(parents[by_parent], np.arange(structure.n_edges + 1)),
            finding_offsets, order, np.empty(len(parents)), np.zeros(len(parents)),
        )  # fmt: skip

    def restart(self) -> None:
        """Share every finding out evenly."""
        n_entries = np.diff(self._shared.finding_offsets)
        even = np.repeat(1.0 / np.maximum(n_entries, 1), n_entries)
        self._shared.shares[self._shared.order] = even

    def expect(self, network: NoisyOrNetwork) -> Expected:
        """Do an E-step; the log likelihood is that of the bound.

        Of the trials only those of the priors count: `maximise` finds the strengths.
        """
        n, flat = len(self._records.weights), flatten(network)

        def raise_bounds(first: int) -> tuple[float, ExpectedCounts]:
            counts, last = ExpectedCounts.zeros(self.structure), min(first + CHUNK, n)
            work = flat, self._records, self._seen, self._shared, first, last
            return variational_kernels.bound_records(*work, 2, counts), counts

        found = in_threads(raise_bounds, range(0, n, CHUNK), self._n_jobs)
        bounds, parts = zip(*found, strict=True)
        trials = Trials.of(self.structure, total_of(parts), self.totals)
        return Expected(trials, float(sum(bounds)))

    def maximise(
        self, expected: Expected, network: NoisyOrNetwork, fixed: Beliefs
    ) -> NoisyOrNetwork:
        """Do an M-step."""
        structure, shared = self.structure, self._shared
        known, flat = self.totals.known, flatten(network)
        cases = shared.weights * shared.posteriors
        taken = np.bincount(shared.edges, cases, minlength=structure.n_edges)
        survived = np.maximum(expected.trials.trials.failures - taken, 0.0)
        found = Strengths(-flat.log_failures, -flat.log_silent)
        self._in_parts(variational_kernels.raise_edges, structure.n_edges, flat, survived, found)
        is_fixed = fixed.mask.failures
        found.theta[is_fixed] = -flat.log_failures[is_fixed]
        absent = known - self._present
        self._in_parts(variational_kernels.raise_leaks, structure.n_symptoms, flat, absent, found)
        leaks = -np.expm1(-found.theta0)
        alone = np.diff(structure.parent_offsets) == 0
        frequencies = self._present / np.maximum(known, 1.0)
        leaks[alone] = np.clip(frequencies, SMALLEST_LEAK, 1.0 - SMALLEST)[alone]
        shares = expected.trials.successes.priors / self.totals.n_records
        priors = np.clip(shares, SMALLEST, 1.0 - SMALLEST)
        return NoisyOrNetwork(structure, priors, np.exp(-found.theta), leaks).with_fixed(fixed)

    def _in_parts(self, kernel: Any, n: int, flat: FlatNetwork, *arguments: Any) -> None:
        """Let threads find n parameters, part by part."""
        work = flat, self._shared, *arguments
        bounds = np.linspace(0, n, 17).astype(int).tolist()
        in_threads(lambda k: kernel(*work, bounds[k], bounds[k + 1]), range(16), self._n_jobs)
