"""People sampled on a cluster: each worker keeps its records, their diseases and whose they are.

What travels beside networks and sums is, once, the covariates of each record's person, as a number.
"""

from typing import Any, NamedTuple

from noisyor.em.cause_models import LogisticModel
from noisyor.em.cells import Cells
from noisyor.em.people import CauseScores, PeopleSampler, SamplerOfPeople
from noisyor.em.sampled_on_cluster import ClusterSampler
from noisyor.findings import Findings
from noisyor.findings.cluster_reading import ClusterRecords
from noisyor.findings.label_tables import LabelTable
from noisyor.inference.flat import Integers
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

    def score_causes(
        self, network: NoisyOrNetwork, n_sweeps: int, seed: int, every: int = 1
    ) -> CauseScores:
        """Return the derivatives by the parameters of the causes, and the information on them."""
        options = {"n_sweeps": n_sweeps, "seed": seed, "every": every}
        return CauseScores(*self._stepped("score_causes", network, options))


# --- what workers do ---


def _start_people(
    structure: Structure, model: LogisticModel, cells: Cells, least_odds: float,
    findings: Findings, first_record: int, kinds: Integers,
) -> PeopleSampler:  # fmt: skip
    return PeopleSampler(
        structure, findings.blocks, model, cells._replace(kinds=kinds), least_odds=least_odds,
        labels=findings.labels, first_record=first_record, n_jobs=1,
    )  # fmt: skip
