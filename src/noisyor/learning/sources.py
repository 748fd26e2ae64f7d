"""Where a learner's records are: in memory, in files, on a cluster; or their counts alone.

A learner asks for counts of moments, for all records in memory, or for a sampler of their diseases;
each source gives what it can.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from noisyor.cluster import Cluster
from noisyor.em.sampled import Sampler
from noisyor.em.sampled_on_cluster import ClusterSampler
from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.findings.findings import as_source, read_findings
from noisyor.findings.reading import RecordFormat
from noisyor.moments import MomentPlan, Moments
from noisyor.moments.counting import CountRequest, count_records
from noisyor.structure import Structure

Progress = Callable[[int], None]


@dataclass
class RecordSource:
    """Records of a structure, wherever they are, or moments that were counted before."""

    records: Any
    """Findings, arrays, tables or files as `count_moments` takes them, or Moments."""
    structure: Structure
    form: RecordFormat = field(default_factory=RecordFormat)
    progress: Progress | None = None
    """Called with numbers of records, as often as they are looked at."""
    client: Any = None
    """Of a Dask cluster, if the records are to be looked at there."""
    skip_broken: bool = False
    """On a cluster: leave out files that cannot be read."""

    def __post_init__(self) -> None:
        self.records = as_source(self.records, self.structure)

    @property
    def moments(self) -> Moments | None:
        """The moments, where they are all there is."""
        return self.records if isinstance(self.records, Moments) else None

    def count(self, plan: MomentPlan, n_groups: int, n_jobs: int | None) -> Moments:
        """Count moments of all records."""
        request = CountRequest(plan, self.form, n_groups)
        return count_records(
            self.records, request, n_jobs=n_jobs, progress=self.progress, client=self.client,
            skip_broken=self.skip_broken,
        )  # fmt: skip

    def findings(self) -> Findings:
        """Return all records, in memory from now on."""
        if self.client is not None:
            raise ParameterError(
                "this method learns from records on one machine: leave out the client, or learn "
                "with 'refined', 'pooled' or 'sequential'."
            )
        if not isinstance(self.records, Findings):
            self.records = read_findings(self.records, self.structure, self.form)
            self.form = RecordFormat()  # what it says of files has been done
        return self.records

    def sampler(self) -> Findings | Sampler:
        """Return the records themselves, or a sampler of those that are on a cluster."""
        if self.client is None:
            return self.findings()
        return ClusterSampler(
            Cluster(self.client), self.records, self.structure, self.form, self.skip_broken
        )
