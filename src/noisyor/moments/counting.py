"""Counting moments: one pass over records of any amount, here or on a cluster.

On a cluster the same integers are counted, wherever the records are.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa

from noisyor.cluster import Cluster, Job, Skipped
from noisyor.errors import FileError, ParameterError
from noisyor.findings import Findings
from noisyor.findings.blocks import Block
from noisyor.findings.cluster_reading import ClusterRecords, Reading, job_blocks, split_records
from noisyor.findings.findings import as_source, open_records
from noisyor.findings.grouping import tell_shared
from noisyor.findings.label_tables import LabelTable, read_for_counting
from noisyor.findings.labels import Labels
from noisyor.findings.long_on_cluster import (
    bucket_blocks,
    deal_rows,
    file_blocks,
    shared_record,
)
from noisyor.findings.notes import Notes
from noisyor.findings.reading import ReadOptions, RecordFormat, record_format
from noisyor.gpu import prefers_card
from noisyor.io.columns import Words
from noisyor.io.parts import Part
from noisyor.moments.counter import MomentCounter, Progress
from noisyor.moments.groups import N_GROUPS
from noisyor.moments.labelled import LabelledCounts
from noisyor.moments.moments import Margins, Moments, sum_moments
from noisyor.moments.plan import MomentPlan
from noisyor.moments.tally_on_card import counting_work

MOST_GROUPS = 1000
"""Each group has counts of its own; more would take memory and say no more about errors."""
ROWS_OF_BUCKET = 1 << 22
"""Rows with a finding each that are brought together at a time, so that records are whole."""


class CountRequest(NamedTuple):
    """What to count, over records in which form, and in how many groups."""

    plan: MomentPlan
    form: RecordFormat
    n_groups: int
    labels: LabelTable | Labels | None = None
    """Counted, too: by the ids of records, or in the order of all of them."""
    device: str = "cpu"
    """Who counts: "cpu", "gpu" or "auto"."""

    def counter(
        self, n_jobs: int | None, n_records: int | None = None, labels: Labels | None = None
    ) -> MomentCounter:
        """Return what counts so many records; None: it is not known how many.

        Labels are those of all records, where there is no table of them.
        """
        on_card = self.device != "cpu" and prefers_card(
            self.device, counting_work(self.plan, n_records), n_jobs
        )
        known = labels if self.labels is None else self.labels
        return MomentCounter(self.plan, self.n_groups, n_jobs, known, on_card=on_card)


def count_moments(
    source: Any,
    plan: MomentPlan,
    *,
    n_groups: int = N_GROUPS,
    progress: Progress | None = None,
    n_jobs: int | None = None,
    device: str = "cpu",
    client: Any = None,
    skip_broken: bool = False,
    labels: Any = None,
    **options: Unpack[ReadOptions],
) -> Moments:
    """Count a plan's sets over records: findings, an array, a table, a path, or a list of these.

    Where some findings are unknown, each set is counted over the records in which all of its
    symptoms are known, with margins of its own. The options are those of
    `noisyor.findings.reading.RecordFormat`. Records without ids are put into groups by the name of
    their file and their row, also where they were read into memory before; those that never were
    in a file count as one file with an empty name.

    `n_jobs` threads count at a time; None: as many as there are cores. With `device` "gpu" the
    graphics card counts, with "auto" whichever is expected to be done first. With a `client` (a
    `distributed.Client` of Dask) files, or a Dask DataFrame, are counted on its cluster: the same
    integers. With `skip_broken`, files that cannot be read there are left out, each as a whole,
    and a warning names them.

    `labels`, a table or file with a column of ids and one for each of some diseases, are joined to
    the records by their ids (without, by their order, which is told), and what learning from counts
    needs of them is counted, too; those of findings in memory are as `Findings.with_labels` takes
    them.

    >>> from noisyor import datasets
    >>> network = datasets.figure1(rng=0)
    >>> moments = count_moments(network.sample(1000, rng=1), MomentPlan.coupled(network.structure))
    >>> moments
    Moments(1,000 records in 50 groups, MomentPlan(5 symptoms, 8 pairs, 0 triplets))
    """
    form = record_format(options)
    _check_plan(plan)
    source = as_source(source, plan.structure)
    table: LabelTable | Labels | None = None
    if labels is not None and isinstance(source, Findings):
        source = source.with_structure(plan.structure)
        source = source.with_labels(labels, Words(form.values), form.record)
    elif labels is not None:
        read = read_for_counting if client is None else LabelTable.read
        table = read(labels, plan.structure, form)
    request = CountRequest(plan, form, n_groups, table, device)
    return count_records(
        source, request, n_jobs=n_jobs, progress=progress, client=client, skip_broken=skip_broken
    )


def count_records(
    source: Any, request: CountRequest, *, n_jobs: int | None, progress: Progress | None,
    client: Any, skip_broken: bool,
) -> Moments:  # fmt: skip
    """Do as `count_moments`, with the options of reading as one value."""
    _check(request)
    plan, form, labels = request.plan, request.form, request.labels
    source = as_source(source, plan.structure)
    is_here = isinstance(source, Findings) or hasattr(source, "__arrow_c_stream__")
    if client is not None and not is_here:
        records = split_records(Cluster(client), source, plan.structure, form, skip_broken)
        return count_on_cluster(records, request, progress)
    if skip_broken:
        raise ParameterError("skip_broken is for files on a cluster: give paths and a client.")
    known, n_records = None, None
    if isinstance(source, Findings):
        n_records = source.n_records
        if source.labels is not None:
            known = source.labels.of_diseases(plan.structure.diseases)
    counter = request.counter(n_jobs, n_records, known)
    for stream in open_records(source, plan.structure, form):
        counter.add_blocks(stream.blocks, progress)
    counter.check_labels()
    if isinstance(labels, LabelTable):
        labels.check_uses(counter.take_label_uses())
    return counter.take()


def _check_plan(plan: Any) -> None:
    if not isinstance(plan, MomentPlan):
        raise ParameterError(
            f"expected a MomentPlan, such as MomentPlan.coupled(structure), not "
            f"{type(plan).__name__}."
        )


def _check(request: CountRequest) -> None:
    n_groups = request.n_groups
    _check_plan(request.plan)
    if not isinstance(n_groups, int | np.integer) or not 1 <= n_groups <= MOST_GROUPS:
        raise ParameterError(f"n_groups must be at least 1 and at most {MOST_GROUPS}.")


# --- on a cluster ---


class PartialCounts(NamedTuple):
    """Moments without their plan, which all workers have, and what was noted of the records."""

    group_records: Any
    present: tuple[Any, ...]
    margins: Margins | None
    notes: Notes
    shared: Any = None
    """A record with rows in two files, if there is one."""
    labelled: LabelledCounts | None = None
    label_uses: Any = None
    """To how many records each label belongs."""

    def moments(self, plan: MomentPlan) -> Moments:
        """Return the counts with their plan."""
        return Moments(plan, self.group_records, self.present, self.margins, labelled=self.labelled)


def count_on_cluster(
    records: ClusterRecords, request: CountRequest, progress: Progress | None = None
) -> Moments:
    """Count a plan's sets over files that the workers of a cluster can read."""
    _check(request)
    cluster = records.cluster
    with records.passing():
        jobs = (
            _long_jobs(records)
            if records.is_long
            else CountJobs(_count_job, records.jobs, [], Notes())
        )
        total, broken = cluster.merged(
            jobs.work, jobs.jobs, merge_counts, shared=[cluster.share(request), records.shared],
            progress=progress, skip_broken=records.may_skip,
        )  # fmt: skip
    broken = [*jobs.broken, *broken]
    if total is None and broken:
        records.leave_out(broken)
        raise FileError(f"no file can be read: {records.skipped[0].reason}")
    plan = request.plan
    moments = MomentCounter(plan, request.n_groups, 1).take()
    if total is not None:
        jobs.notes.add(total.notes)
        moments = total.moments(plan)
        if total.shared is not None and records.n_records is None:
            tell_shared(total.shared)
        if isinstance(request.labels, LabelTable) and records.n_records is None:
            request.labels.check_uses(total.label_uses)
    records.end_pass(moments.n_records, broken, jobs.notes)
    return moments


class CountJobs(NamedTuple):
    """Jobs that count, and what happened while they were made."""

    work: Callable[..., PartialCounts]
    jobs: list[Job]
    broken: list[Skipped]
    notes: Notes


def _long_jobs(records: ClusterRecords) -> CountJobs:
    """Have the rows of each record come together; whole files where ids are of one file each."""
    if records.reading.form.ids_per_file:
        return CountJobs(_count_file, _whole_files(records.jobs), [], Notes())
    cluster = records.cluster
    n_rows = max(sum(job.size for job in records.jobs), 1)
    n_buckets = -(-n_rows // ROWS_OF_BUCKET)
    dealing = [
        job._replace(arguments=(records.shared, *job.arguments, n_buckets)) for job in records.jobs
    ]
    dealt, broken = cluster.dealt(deal_rows, dealing, n_buckets + 1, skip_broken=records.may_skip)
    *buckets, noted = dealt
    notes = Notes()
    for each in cluster.fetch(noted):
        notes.add(each)
    jobs = [
        Job((pieces,), n_rows // n_buckets, f"records {number + 1} of {n_buckets}")
        for number, pieces in enumerate(buckets)
        if pieces
    ]
    return CountJobs(_count_bucket, jobs, broken, notes)


def _whole_files(jobs: list[Job]) -> list[Job]:
    """Return a job for each file, all of it."""
    files: dict[str, Job] = {}
    for part in (part for job in jobs for part in job.arguments[0]):
        whole = Part(part.source, state=part.state, file_number=part.file_number)
        size = files[part.source].size if part.source in files else 0
        files[part.source] = Job((whole,), size + (part.n_rows or 0), part.source)
    return list(files.values())


# --- what workers do ---


def _count_bucket(request: CountRequest, reading: Reading, pieces: list[Any]) -> PartialCounts:
    """Count the records of a bucket, whose rows come from many files."""
    notes = Notes()
    table = pa.concat_tables(pieces).sort_by("id")
    counts = _count_blocks(request, bucket_blocks(reading, notes, table), notes)
    return counts._replace(shared=shared_record(table))


def _count_file(request: CountRequest, reading: Reading, part: Part) -> PartialCounts:
    """Count the records of a file whose ids mean nothing in other files."""
    notes = Notes()
    return _count_blocks(request, file_blocks(reading, notes, part), notes)


def _count_job(request: CountRequest, reading: Reading, *arguments: Any) -> PartialCounts:
    """Count the records of some parts of files, or of a part of a frame."""
    notes = Notes()
    return _count_blocks(request, job_blocks(reading, notes, *arguments), notes)


def _count_blocks(request: CountRequest, blocks: Iterable[Block], notes: Notes) -> PartialCounts:
    counter = request.counter(n_jobs=1)
    counter.add_blocks(blocks)
    found, uses = counter.take(), counter.take_label_uses()
    return PartialCounts(
        found.group_records, found.present, found.margins, notes, None, found.labelled, uses
    )


def merge_counts(request: CountRequest, _: Reading, parts: list[PartialCounts]) -> PartialCounts:
    """Add up the counts of some jobs."""
    total = sum_moments([part.moments(request.plan) for part in parts])
    notes = Notes()
    for part in parts:
        notes.add(part.notes)
    shared = next((part.shared for part in parts if part.shared is not None), None)
    uses = np.sum([part.label_uses for part in parts], axis=0)
    return PartialCounts(
        total.group_records, total.present, total.margins, notes, shared, total.labelled, uses
    )
