"""People sampled on a cluster: each worker keeps its records, their diseases and whose they are.

What travels beside networks and sums is, once, the covariates of each record's person, as a number.
"""

import copy
from typing import Any, NamedTuple, Self

import numpy as np

from noisyor.em.cause_models import LogisticModel
from noisyor.em.cells import Cells
from noisyor.em.people import CauseInformation, PeopleSampler, SamplerOfPeople
from noisyor.em.sampled_on_cluster import ClusterSampler
from noisyor.findings import Findings
from noisyor.findings.cluster_reading import ClusterRecords
from noisyor.findings.label_tables import LabelTable
from noisyor.inference.flat import Floats, Integers
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure


class RecordsOnCluster(NamedTuple):
    """Records that stay on a cluster, which have been counted, and their labels."""

    records: ClusterRecords
    labels: LabelTable | None


class ClusterPeopleSampler(ClusterSampler, SamplerOfPeople):
    """Samplers of people on workers, one for each job's records; they count as blocks."""

    def __init__(
        self, there: RecordsOnCluster, model: LogisticModel, cells: Cells, least_odds: float
    ) -> None:
        self._model, self._cells, self._least_odds = model, cells, least_odds
        self.design = cells.design
        super().__init__(*there)

    def _started(self, found: list[Any]) -> list[Any]:
        """Return a sampler for some records each, where they are."""
        cluster, kinds, starts = self._cluster, self._cells.kinds, self.starts.tolist()
        shared = [
            cluster.share(each)
            for each in (self.structure, self._model, self._cells._replace(kinds=kinds[:0]))
        ]
        return [
            cluster.keep(
                _start_people, *shared, self._least_odds, each, first, kinds[first:last].copy()
            )
            for each, first, last in zip(found, starts[:-1], starts[1:], strict=True)
        ]

    def inform_causes(
        self, network: NoisyOrNetwork, n_sweeps: int, seed: int, every: int = 1
    ) -> CauseInformation:
        """Return the information on the parameters of the causes."""
        options = {"n_sweeps": n_sweeps, "seed": seed, "every": every}
        return CauseInformation(*self._stepped("inform_causes", network, options))

    def thinned(self, every: int) -> Self:
        """Return a sampler of every so many blocks of each job, which leaves this as it is."""
        cluster, other = self._cluster, copy.copy(self)
        other._samplers = [cluster.keep(_thinned, each, every) for each in self._samplers]
        totals = cluster.fetch([cluster.keep(_totals, each) for each in other._samplers])
        other.starts = np.cumsum([0, *(n for n, _ in totals)])
        other.known = np.sum([known for _, known in totals], axis=0)
        return other


# --- what workers do ---


def _start_people(
    structure: Structure, model: LogisticModel, cells: Cells, least_odds: float,
    findings: Findings, first_record: int, kinds: Integers,
) -> PeopleSampler:  # fmt: skip
    return PeopleSampler(
        structure, findings.blocks, model, cells._replace(kinds=kinds), least_odds=least_odds,
        labels=findings.labels, first_record=first_record, n_jobs=1,
    )  # fmt: skip


def _thinned(sampler: PeopleSampler, every: int) -> PeopleSampler:
    return sampler.thinned(every)


def _totals(sampler: PeopleSampler) -> tuple[int, Floats]:
    return int(sampler.starts[-1]), sampler.known
