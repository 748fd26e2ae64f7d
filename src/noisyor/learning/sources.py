"""RecordSource: records wherever they are, and what methods of learning ask of them.

Counts, all records in memory, a sampler of diseases, or what labels say: in memory, from files or
on a cluster, or of moments that were counted before.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from noisyor.beliefs import Beliefs
from noisyor.cluster import Cluster, Skipped
from noisyor.em.people_on_cluster import RecordsOnCluster
from noisyor.em.sampled import Sampler
from noisyor.em.sampled_on_cluster import ClusterSampler
from noisyor.errors import ParameterError, collected_notices, give_notice
from noisyor.findings import Findings
from noisyor.findings.cluster_reading import ClusterRecords, gather_findings, split_records
from noisyor.findings.findings import as_source, read_findings
from noisyor.findings.label_tables import LabelTable
from noisyor.findings.labels import SeenCounts
from noisyor.findings.reading import RecordFormat
from noisyor.io.columns import Words
from noisyor.io.manifest import Manifest
from noisyor.learning.labelled import check_findings, check_labels, seen_in
from noisyor.learning.likelihood import Progress
from noisyor.moments import MomentPlan, Moments
from noisyor.moments.counting import CountRequest, count_on_cluster, count_records
from noisyor.moments.labelled import LabelledCounts
from noisyor.structure import Structure


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
    _manifest: Manifest | None = field(default=None, init=False, repr=False, compare=False)
    _split: ClusterRecords | None = field(default=None, init=False, repr=False, compare=False)
    _told: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    _labels: LabelTable | None = field(default=None, init=False, repr=False, compare=False)
    """Of records on a cluster; those in memory have their own."""
    _counted: LabelledCounts | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.records = as_source(self.records, self.structure)
        if isinstance(self.records, Findings) or hasattr(self.records, "__arrow_c_stream__"):
            self.client = None  # they are here already
        if self.skip_broken and self.client is None:
            raise ParameterError(
                "skip_broken is for files that are read on a cluster: give paths and a client."
            )

    @property
    def moments(self) -> Moments | None:
        """The moments, where they are all there is."""
        return self.records if isinstance(self.records, Moments) else None

    @property
    def skipped(self) -> list[Skipped]:
        """The files that were left out because they cannot be read, with the reasons."""
        return [] if self._split is None else self._split.skipped

    def count(
        self, plan: MomentPlan, n_groups: int, n_jobs: int | None, device: str = "cpu"
    ) -> Moments:
        """Count moments of all records; in each pass they must be the same ones."""
        request = CountRequest(plan, self.form, n_groups, self._labels, device)
        if self.client is not None:
            moments = count_on_cluster(self.on_cluster(), request, self.progress)
        else:
            with self._one_pass() as manifest:
                moments = count_records(
                    self.records, request, n_jobs=n_jobs, progress=self.progress, client=None,
                    skip_broken=False,
                )  # fmt: skip
                manifest.end_pass(moments.n_records)
        self._counted = moments.labelled
        return moments

    def findings(self) -> Findings:
        """Return all records, in memory from now on."""
        if self.client is not None:
            raise ParameterError(
                "this method learns from records on one machine: leave out the client, or learn "
                "with 'refined', 'pooled' or 'sequential'."
            )
        if not isinstance(self.records, Findings):
            with self._one_pass() as manifest:
                found = read_findings(self.records, self.structure, self.form)
                manifest.end_pass(found.n_records)
            self.records, self._manifest = found, None
            self.form = RecordFormat()  # what it says of files has been done
        return self.records

    def gather(self, remedy: str) -> None:
        """Have records that are on a cluster here, in memory, from now on.

        `remedy` says what to do where there is too little memory.
        """
        self.records = gather_findings(self.on_cluster(), self.structure, remedy)
        self.client, self.form = None, RecordFormat()

    def listed(self) -> Findings:
        """Return all records; of those on a cluster the ids, and no symptoms."""
        if self.client is None:
            return self.findings()
        no_symptoms = Structure([], [], [])
        found = gather_findings(self.on_cluster(), no_symptoms, "take some of the records")
        if self._labels is not None and found.record_ids is not None:
            self._labels.check_ids(found.record_ids)
        return found

    def to_sample(self) -> Findings | RecordsOnCluster:
        """Return the records, for what samples people, too; those on a cluster stay there."""
        if self.client is None:
            return self.findings()
        return RecordsOnCluster(self.on_cluster(), self._labels)

    @property
    def has_labels(self) -> bool:
        """True if diseases of some records were seen."""
        return self._labels is not None or getattr(self.records, "labels", None) is not None

    @property
    def n_labelled(self) -> int | None:
        """How many of the records have a label; None where they are on a cluster."""
        labels = getattr(self.records, "labels", None)
        return None if labels is None else int(labels.is_labelled.sum())

    def label(self, labels: Any, *, complete: bool) -> None:
        """Join labels to the records: by ids on a cluster, otherwise in memory from now on."""
        if self.moments is not None:
            raise ParameterError(
                "labels (y, --labels) belong to records, and these are moments: count them with "
                "the records (`noisyor count --labels`, count_moments(..., labels=...))."
            )
        form = self.form
        if self.client is not None:
            self._labels = LabelTable.read(labels, self.structure, form)
            return
        words = Words(form.values)  # of labels none are inverted
        found = self.findings()
        self.records = found.with_labels(labels, words, form.record, complete=complete)

    def check_labelled(self, fixed: Beliefs) -> None:
        """Refuse labels that contradict fixed values, where the records are in memory."""
        if self.in_memory is not None:
            check_labels(seen_in(self.in_memory), fixed)
            check_findings(self.in_memory, fixed)

    @property
    def in_memory(self) -> Findings | None:
        """The records, where they are in memory."""
        if not isinstance(self.records, Findings):
            return None
        return self.records.with_structure(self.structure)

    @property
    def labelled(self) -> LabelledCounts | None:
        """What was counted of labelled records."""
        return self._counted if self.moments is None else self.moments.labelled

    @property
    def seen(self) -> SeenCounts | None:
        """How often diseases were seen in records, wherever they are; None without labels."""
        if self.in_memory is not None:
            return seen_in(self.in_memory)
        if self.labelled is not None:
            looked, seen = self.labelled.totals()[0].T
            return SeenCounts(self.structure.diseases, seen, looked - seen)
        return None if self._labels is None else self._labels.labels.counts()

    @contextmanager
    def _one_pass(self) -> Iterator[Manifest]:
        """Give what holds the files to be as they were; tell what earlier passes have not told."""
        if self._manifest is None:
            sources = self.records if isinstance(self.records, list | tuple) else [self.records]
            self._manifest = Manifest(sources)
        self._manifest.check_files()
        notices: list[str] = []
        try:
            with collected_notices() as notices:
                yield self._manifest
        finally:
            new = [each for each in dict.fromkeys(notices) if each not in self._told]
            self._told.update(new)
            for notice in new:
                give_notice(notice)

    def on_cluster(self, must_be_wide: str = "") -> ClusterRecords:
        """Return the records as jobs of the cluster, split at the first call.

        Where they must have a column per symptom, `must_be_wide` says why.
        """
        if self._split is None:
            self._split = split_records(
                Cluster(self.client), self.records, self.structure, self.form, self.skip_broken,
                must_be_wide=must_be_wide,
            )  # fmt: skip
        return self._split

    def sampler(self) -> Findings | Sampler:
        """Return the records themselves, or a sampler of those that are on a cluster."""
        if self.client is None:
            return self.findings()
        return ClusterSampler(self.on_cluster(), self._labels)
