"""ObservedExpectation: what could be learned if the diseases were seen.

Either in closed form, f = P(absent | disease) / P(absent | no disease), or by noisy-or regression
of the findings on the diseases: maximum likelihood, found by EM from the closed form.
"""

import numpy as np
from numpy.typing import NDArray

from noisyor.beliefs import Beliefs
from noisyor.em.exact_kernels import expect_seen
from noisyor.em.expected import SMALLEST_LEAK, Expected, ExpectedCounts, RecordTotals, Trials
from noisyor.findings import Findings
from noisyor.inference.flat import flatten
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Parameters

Floats = NDArray[np.float64]


class ObservedExpectation:
    """Expected causes of findings in records whose diseases were seen."""

    def __init__(self, findings: Findings, diseases: NDArray[np.bool_]) -> None:
        self.structure = structure = findings.structure
        self.totals = RecordTotals.of(findings)
        self.cases = diseases.sum(axis=0).astype(np.float64)
        self.present = findings.count_present().astype(np.float64)
        self._edge_of = np.full((structure.n_diseases, structure.n_symptoms), -1, dtype=np.int32)
        self._edge_of[structure.edges[:, 0], structure.edges[:, 1]] = np.arange(structure.n_edges)
        self._findings = [block.listed() for block in findings.blocks]
        rows, listed = np.nonzero(diseases)
        self._diseases = listed.copy()  # in one piece
        self._offsets = np.searchsorted(rows, np.arange(len(diseases) + 1))
        # With failures and leaks of 0 all diseases that are seen have caused their findings.
        certain, _ = self._counts(NoisyOrNetwork(structure, *Parameters.full(structure, 0.0)))
        self.with_finding = certain.caused
        """Cases with the finding of each edge."""
        self.at_risk = self.cases[structure.edges[:, 0]] - certain.unknown
        """Cases in which the finding of each edge is known."""

    def _counts(self, network: NoisyOrNetwork) -> tuple[ExpectedCounts, float]:
        """Return the expected counts, and the log probability of the present findings."""
        counts, flat = ExpectedCounts.zeros(self.structure), flatten(network)
        first, log_present = 0, 0.0
        for findings in self._findings:
            last = first + len(findings[0]) - 1
            seen = self._offsets[first : last + 1], self._diseases
            log_present += expect_seen(flat, findings, seen, self._edge_of, counts)
            first = last
        return counts._replace(cases=self.cases), log_present

    def expect(self, network: NoisyOrNetwork) -> Expected:
        """Do an E-step; the likelihood is that of the findings given the diseases."""
        counts, log_likelihood = self._counts(network)
        survived = self.at_risk - self.with_finding
        absent = self.totals.known - self.present
        log_likelihood += survived @ np.log(network.failures) + absent @ np.log1p(-network.leaks)
        return Expected(Trials.of(self.structure, counts, self.totals), float(log_likelihood))

    def ratios(self, fixed: Beliefs) -> tuple[NoisyOrNetwork, Parameters]:
        """Return the network in closed form, and standard errors by the delta method."""
        structure, (n_records, known) = self.structure, self.totals
        j, cases, both = structure.edges[:, 1], self.at_risk, self.with_finding
        controls = known[j] - cases
        with np.errstate(divide="ignore", invalid="ignore"):
            within = 1.0 - both / cases
            without = 1.0 - (self.present[j] - both) / controls
            raw = within / without
            spread = (1.0 - within) / (within * cases) + (1.0 - without) / (without * controls)
            absent = 1.0 - self.present / known
            of_failures = np.minimum(raw, 1.0) * np.sqrt(spread)
        failures = np.where(np.isfinite(raw), np.minimum(raw, 1.0), 0.5)
        priors = self.cases / n_records
        errors = Parameters(
            np.sqrt(priors * (1.0 - priors) / n_records),
            np.where(np.isfinite(of_failures), of_failures, np.nan),
            np.full(structure.n_symptoms, np.nan),
        )
        # Of each symptom, what its parents leave: as frequent as they are where it is known.
        failures = fixed.apply("failures", failures)
        share = cases / np.maximum(known[j], 1.0)
        explained = np.ones(structure.n_symptoms)
        np.multiply.at(explained, j, 1.0 - share * (1.0 - failures))
        leaks = 1.0 - np.nan_to_num(absent, nan=1.0) / np.maximum(explained, 1e-12)
        network = NoisyOrNetwork(structure, priors, failures, np.clip(leaks, SMALLEST_LEAK, 1.0))
        return network.with_fixed(fixed), errors
