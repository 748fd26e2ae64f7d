"""EM on a cluster: each worker keeps its records and their sampled diseases.

A step takes a sampler and gives a new one, so that it can be done again if its worker is lost;
what travels are networks and sums.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.cluster import Cluster
from noisyor.em.expected import ExpectedCounts
from noisyor.em.sampled import (
    RecordSampler,
    Scores,
    sum_information,
    sum_scores,
    with_all_absent,
)
from noisyor.em.sampling_kernels import DiseaseInformation
from noisyor.em.stochastic import StochasticSettings
from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.findings.cluster_reading import job_blocks, split_records
from noisyor.findings.reading import RecordFormat
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

Floats = NDArray[np.float64]


class ClusterSampler:
    """Samplers on workers, one for each job's records; they count as blocks."""

    def __init__(
        self,
        cluster: Cluster,
        source: Any,
        structure: Structure,
        form: RecordFormat,
        skip_broken: bool = False,
    ) -> None:
        self.structure = structure
        self._cluster = cluster
        found = _loaded(cluster, source, structure, form, skip_broken)
        sizes = cluster.fetch([cluster.keep(_size_of, each) for each in found])
        filled = [(each, *size) for each, size in zip(found, sizes, strict=True) if size[0]]
        if not filled:
            raise ParameterError("there is nothing to learn from: there are no records.")
        self.starts = np.concatenate([[0], np.cumsum([n for _, n, _ in filled])])
        self.known: Floats = np.sum([known for *_, known in filled], axis=0)
        self._samplers = [
            cluster.keep(_start, each, first)
            for (each, *_), first in zip(filled, self.starts[:-1].tolist(), strict=True)
        ]

    def expect(
        self, network: NoisyOrNetwork, n_blocks: int, *, must_screen: bool, n_sweeps: int, seed: int
    ) -> ExpectedCounts:
        """Sample the diseases of the first jobs' records; return the expectations."""
        step = _expect, network, must_screen, n_sweeps, seed
        return ExpectedCounts(*self._summed(self._stepped(n_blocks, *step), ExpectedCounts.total))

    def inform(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> DiseaseInformation:
        """Return the information that the records bring on each disease and each leak."""
        shared = self._cluster.share(network)
        informed = [
            self._cluster.keep(_inform, each, shared, n_sweeps, seed) for each in self._samplers
        ]
        return DiseaseInformation(*self._summed(informed, sum_information))

    def share_enumerated(self) -> float:
        """Return the share of the records whose candidates are few enough to be summed up."""
        shares = self._cluster.fetch([self._cluster.keep(_share, each) for each in self._samplers])
        return float(np.average(shares, weights=np.diff(self.starts)))

    def score(self, network: NoisyOrNetwork, n_sweeps: int, seed: int) -> Scores:
        """Return the derivatives of the log likelihood, and the information of the records."""
        scores = self._stepped(len(self._samplers), _score, network, n_sweeps, seed)
        found = Scores(*self._summed(scores, sum_scores))
        return with_all_absent(found, network, int(self.starts[-1]))

    def _stepped(
        self, n: int, work: Callable[..., Any], network: NoisyOrNetwork, *options: Any
    ) -> list[Any]:
        """Let the first samplers go a step further; return what each has found."""
        shared = self._cluster.share(network)
        steps = [self._cluster.keep(work, each, shared, *options) for each in self._samplers[:n]]
        self._samplers[:n] = [self._cluster.pick(step, 0) for step in steps]
        return [self._cluster.pick(step, 1) for step in steps]

    def _summed(self, parts: list[Any], add: Callable[[Sequence[Any]], Any]) -> Any:
        return self._cluster.fetch([self._cluster.tree(add, parts)])[0]


def _loaded(
    cluster: Cluster, source: Any, structure: Structure, form: RecordFormat, skip_broken: bool
) -> list[Any]:
    """Have workers read all records; without files that cannot be read, if that is wanted."""
    split = split_records(cluster, source, structure, form, skip_broken)
    if split.is_long:
        raise ParameterError(
            "records with a row per finding cannot stay on a cluster's workers yet: learn with "
            "method='pooled', or write them with a column per symptom."
        )
    shared = cluster.share(structure), cluster.share(form)
    found = [cluster.keep(_load, *shared, *job.arguments) for job in split.jobs]
    # What is left out was told when pairs were counted.
    return cluster.without_broken(found, split.jobs)[0] if skip_broken else found


# --- what workers do ---


def _load(structure: Structure, form: RecordFormat, *arguments: Any) -> Findings:
    return Findings(structure, job_blocks(structure, form, *arguments))


def _size_of(findings: Findings) -> tuple[int, Floats]:
    known = findings.n_records - findings.count_unknown().astype(np.float64)
    return findings.n_records, known


def _start(findings: Findings, first_record: int) -> RecordSampler:
    structure = findings.structure
    least_odds = StochasticSettings.of(structure).least_odds
    return RecordSampler(
        structure, findings.blocks, least_odds, first_record=first_record, n_jobs=1
    )


def _expect(
    sampler: RecordSampler, network: NoisyOrNetwork, must_screen: bool, n_sweeps: int, seed: int
) -> tuple[RecordSampler, ExpectedCounts]:
    after = sampler.copied()
    n_blocks = len(after.blocks)
    return after, after.expect(
        network, n_blocks, must_screen=must_screen, n_sweeps=n_sweeps, seed=seed
    )


def _inform(
    sampler: RecordSampler, network: NoisyOrNetwork, n_sweeps: int, seed: int
) -> DiseaseInformation:
    return sampler.copied().inform(network, n_sweeps, seed)


def _score(
    sampler: RecordSampler, network: NoisyOrNetwork, n_sweeps: int, seed: int
) -> tuple[RecordSampler, Scores]:
    after = sampler.copied()
    return after, after.score_findings(network, n_sweeps, seed)


def _share(sampler: RecordSampler) -> float:
    return sampler.share_enumerated()
