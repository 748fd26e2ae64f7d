"""EM on a cluster: each worker keeps its records and their sampled diseases.

A step takes a sampler and gives a new one, so that it can be done again if its worker is lost;
what travels are networks and sums.
"""

import copy
import functools
import operator
import sys
from typing import Any

import numpy as np

from noisyor.cluster import Cluster
from noisyor.em.expected import RecordTotals, total_of
from noisyor.em.sampled import RecordSampler, Sampler, with_children
from noisyor.em.sampling_kernels import DiseaseInformation, Scores, SharedScores, SummedBounds
from noisyor.em.stochastic import StochasticSettings
from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.findings.cluster_reading import ClusterRecords, Reading, job_blocks
from noisyor.findings.label_tables import LabelTable
from noisyor.findings.labels import SeenCounts
from noisyor.findings.notes import Notes
from noisyor.inference.flat import Floats
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

SAMPLES_WIDE_ONLY = (
    "records with a row per finding cannot stay on a cluster's workers yet: learn with "
    "method='pooled', or write them with a column per symptom."
)


class ClusterSampler(Sampler):
    """Samplers on workers, one for each job's records; they count as blocks."""

    def __init__(self, records: ClusterRecords, labels: LabelTable | None = None) -> None:
        if records.is_long:
            raise ParameterError(SAMPLES_WIDE_ONLY)
        cluster = records.cluster
        shared = records.shared, cluster.share(labels)
        with records.passing():
            found = [cluster.keep(_load, *shared, *job.arguments) for job in records.jobs]
            totals = cluster.fetch([cluster.keep(RecordTotals.of, each) for each in found])
        records.end_pass(sum(int(each.n_records) for each in totals))
        if labels is not None:
            counts = cluster.fetch([cluster.keep(_counts_of, each) for each in found])
            self.seen = functools.reduce(operator.add, counts)
        self.structure = with_children(records.reading.structure, self.seen)
        self._found = found if labels is not None else []
        self._begin(cluster, found, totals)

    def _begin(self, cluster: Cluster, found: list[Any], totals: list[RecordTotals]) -> None:
        """Start a sampler for the records of each job that has some."""
        self._cluster = cluster
        filled = [each for each in zip(found, totals, strict=True) if each[1].n_records]
        if not filled:
            raise ParameterError("there is nothing to learn from: there are no records.")
        self.starts = np.concatenate([[0], np.cumsum([int(each.n_records) for _, each in filled])])
        self.known: Floats = np.sum([each.known for _, each in filled], axis=0)
        self._samplers = self._started([each for each, _ in filled])

    def _started(self, found: list[Any]) -> list[Any]:
        """Return a sampler for some records each, where they are."""
        cluster, structure = self._cluster, self._cluster.share(self.structure)
        firsts = self.starts[:-1].tolist()
        return [
            cluster.keep(_start, structure, each, first)
            for each, first in zip(found, firsts, strict=True)
        ]

    def labelled(self) -> "ClusterSampler":
        """Return a sampler of the labelled records alone, of which there must be some."""
        cluster, other = self._cluster, copy.copy(self)
        found = [cluster.keep(_labelled, each) for each in self._found]
        totals = cluster.fetch([cluster.keep(RecordTotals.of, each) for each in found])
        other._begin(cluster, found, totals)
        return other

    def expect(
        self, network: NoisyOrNetwork, n_blocks: int, *, must_screen: bool, n_sweeps: int, seed: int
    ) -> Any:
        """Sample the diseases of the first jobs' records; return the expected counts."""
        options = {"n_blocks": sys.maxsize, "must_screen": must_screen}  # all blocks of a job
        options |= {"n_sweeps": n_sweeps, "seed": seed}
        return self._stepped("expect", network, options, n_blocks)

    def inform(
        self, network: NoisyOrNetwork, n_sweeps: int, seed: int, every: int = 1
    ) -> DiseaseInformation:
        """Return the information that the records bring on each disease and each leak."""
        options = {"n_sweeps": n_sweeps, "seed": seed, "every": every}
        return DiseaseInformation(*self._stepped("inform", network, options, is_kept=False))

    def bound(self, network: NoisyOrNetwork, every: int) -> SummedBounds:
        """Return lower bounds of the log evidences of every so many records."""
        return SummedBounds(*self._stepped("bound", network, {"every": every}, is_kept=False))

    def share_enumerated(self) -> float:
        """Return the share of the records whose candidates are few enough to be summed up."""
        shares = [self._cluster.keep(RecordSampler.share_enumerated, s) for s in self._samplers]
        return float(np.average(self._cluster.fetch(shares), weights=np.diff(self.starts)))

    def score_findings(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> Scores:
        """Return what diseases and findings that are present add to the scores."""
        options = {"n_sweeps": n_sweeps, "seed": seed}
        return Scores(*self._stepped("score_findings", network, options))

    def share_findings(
        self, network: NoisyOrNetwork, following: Floats, n_sweeps: int, seed: int, every: int = 1
    ) -> SharedScores:
        """Return what diseases and findings that are present add to what diseases share."""
        options = {"following": following, "n_sweeps": n_sweeps, "seed": seed, "every": every}
        return SharedScores(*self._stepped("share_findings", network, options))

    def _stepped(
        self,
        method: str,
        network: NoisyOrNetwork,
        options: dict[str, Any],
        n: int | None = None,
        is_kept: bool = True,
    ) -> Any:
        """Return the sum of what the first samplers find in a step; they stay where it ends."""
        cluster, shared = self._cluster, self._cluster.share(network)
        steps = [cluster.keep(_step, s, method, shared, options) for s in self._samplers[:n]]
        if is_kept:
            self._samplers[:n] = [cluster.pick(step, 0) for step in steps]
        parts = [cluster.pick(step, 1) for step in steps]
        return cluster.fetch([cluster.tree(total_of, parts)])[0]


# --- what workers do ---


def _load(reading: Reading, labels: LabelTable | None, *arguments: Any) -> Findings:
    # What is to be noted of the records was noted when they were counted.
    findings = Findings(reading.structure, job_blocks(reading, Notes(), *arguments))
    return findings if labels is None else labels.put_to(findings)


def _counts_of(findings: Findings) -> SeenCounts:
    assert findings.labels is not None
    return findings.labels.counts()


def _labelled(findings: Findings) -> Findings:
    assert findings.labels is not None
    return findings.chosen(findings.labels.is_labelled)


def _start(structure: Structure, findings: Findings, first_record: int) -> RecordSampler:
    least_odds = StochasticSettings.of(structure).least_odds
    return RecordSampler(
        structure, findings.blocks, least_odds, labels=findings.labels,
        first_record=first_record, n_jobs=1,
    )  # fmt: skip


def _step(
    sampler: RecordSampler, method: str, network: NoisyOrNetwork, options: dict[str, Any]
) -> tuple[RecordSampler, Any]:
    after = sampler.copied()
    return after, getattr(after, method)(network, **options)
