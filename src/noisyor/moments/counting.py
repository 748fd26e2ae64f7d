"""Counting moments: one pass over records of any amount, here or on a cluster.

On a cluster the same integers are counted, wherever the records are.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa

from noisyor.cluster import Cluster, Job, Skipped
from noisyor.errors import FileError, FindingsError, ParameterError
from noisyor.findings import Findings
from noisyor.findings.blocks import Block
from noisyor.findings.cluster_reading import job_blocks, split_records, warn_of_skipped
from noisyor.findings.findings import as_source, open_records
from noisyor.findings.reading import ReadOptions, RecordFormat, record_format
from noisyor.io.columns import hash_ids, ids_array
from noisyor.io.parts import Part, read_columns
from noisyor.moments.counter import MomentCounter, Progress
from noisyor.moments.groups import N_GROUPS
from noisyor.moments.moments import Margins, Moments, sum_moments
from noisyor.moments.plan import MomentPlan

MOST_GROUPS = 1000
"""Each group has counts of its own; more would take memory and say no more about errors."""
ROWS_OF_BUCKET = 1 << 22
"""Rows with a finding each that are brought together at a time, so that records are whole."""


class CountRequest(NamedTuple):
    """What to count, over records in which form, and in how many groups."""

    plan: MomentPlan
    form: RecordFormat
    n_groups: int


def count_moments(
    source: Any,
    plan: MomentPlan,
    *,
    n_groups: int = N_GROUPS,
    progress: Progress | None = None,
    n_jobs: int | None = None,
    client: Any = None,
    skip_broken: bool = False,
    **options: Unpack[ReadOptions],
) -> Moments:
    """Count a plan's sets over records: findings, an array, a table, a path, or a list of these.

    Where some findings are unknown, each set is counted over the records in which all of its
    symptoms are known, with margins of its own. The options are those of
    `noisyor.findings.reading.RecordFormat`. Records without ids are put into groups by the name of
    their file and their row, also where they were read into memory before; those that never were
    in a file count as one file with an empty name.

    `n_jobs` threads count at a time; None: as many as there are cores. With a `client` (a
    `distributed.Client` of Dask) files, or a Dask DataFrame, are counted on its cluster: the same
    integers. With `skip_broken`, files that cannot be read there are left out, each as a whole,
    and a warning names them.

    >>> from noisyor import datasets
    >>> network = datasets.figure1(rng=0)
    >>> moments = count_moments(network.sample(1000, rng=1), MomentPlan.coupled(network.structure))
    >>> moments
    Moments(1,000 records in 50 groups, MomentPlan(5 symptoms, 8 pairs, 0 triplets))
    """
    request = CountRequest(plan, record_format(options), n_groups)
    return count_records(
        source, request, n_jobs=n_jobs, progress=progress, client=client, skip_broken=skip_broken
    )


def count_records(
    source: Any, request: CountRequest, *, n_jobs: int | None, progress: Progress | None,
    client: Any, skip_broken: bool,
) -> Moments:  # fmt: skip
    """Do as `count_moments`, with the options of reading as one value."""
    plan, form, n_groups = request
    if not isinstance(plan, MomentPlan):
        raise ParameterError(
            f"expected a MomentPlan, such as MomentPlan.coupled(structure), not "
            f"{type(plan).__name__}."
        )
    if not isinstance(n_groups, int | np.integer) or not 1 <= n_groups <= MOST_GROUPS:
        raise ParameterError(f"n_groups must be at least 1 and at most {MOST_GROUPS}.")
    source = as_source(source, plan.structure)
    is_here = isinstance(source, Findings) or hasattr(source, "__arrow_c_stream__")
    if client is not None and not is_here:
        moments, _ = count_on_cluster(
            client, source, request, progress=progress, skip_broken=skip_broken
        )
        return moments
    if skip_broken:
        raise ParameterError("skip_broken is for files on a cluster: give paths and a client.")
    counter = MomentCounter(plan, n_groups, n_jobs)
    for stream in open_records(source, plan.structure, form):
        counter.add_blocks(stream.blocks, progress)
    return counter.take()


# --- on a cluster ---


class PartialCounts(NamedTuple):
    """Moments without their plan, which all workers have."""

    group_records: Any
    present: tuple[Any, ...]
    margins: Margins | None

    @classmethod
    def of(cls, moments: Moments) -> "PartialCounts":
        """Leave out the plan."""
        return cls(moments.group_records, moments.present, moments.margins)


def count_on_cluster(
    client: Any,
    source: Any,
    request: CountRequest,
    *,
    progress: Progress | None = None,
    skip_broken: bool = False,
) -> tuple[Moments, list[Skipped]]:
    """Count a plan's sets over files that the workers of a cluster can read.

    Also returns the files that were left out.
    """
    cluster = Cluster(client)
    plan, form, n_groups = request
    split = split_records(cluster, source, plan.structure, form, skip_broken)
    work: Callable[..., PartialCounts] = _count_job
    jobs, skipped = split.jobs, split.skipped
    if split.is_long:
        work, jobs, broken = _long_jobs(cluster, jobs, form, skip_broken)
        skipped = skipped + broken
    total, broken = cluster.merged(
        work, jobs, merge_counts, shared=[cluster.share(request)], progress=progress,
        skip_broken=skip_broken,
    )  # fmt: skip
    skipped = skipped + broken
    warn_of_skipped(skipped)
    if total is None and skipped:
        raise FileError(f"no file can be read: {skipped[0].reason}")
    if total is None:
        return MomentCounter(plan, n_groups, 1).take(), skipped
    return Moments(plan, *total), skipped


def _long_jobs(
    cluster: Cluster, split: list[Job], form: RecordFormat, skip_broken: bool
) -> tuple[Callable[..., PartialCounts], list[Job], list[Skipped]]:
    """Have the rows of each record come together; whole files where ids are of one file each."""
    if form.ids_per_file:
        sizes: Counter[str] = Counter()
        for job in split:
            for part in job.arguments[0]:
                sizes[part.source] += part.n_rows or 0
        return _count_source, [Job((source,), size, source) for source, size in sizes.items()], []
    n_rows = max(sum(job.size for job in split), 1)
    n_buckets = -(-n_rows // ROWS_OF_BUCKET)
    columns = [form.record, form.symptom, form.state]
    dealing = [job._replace(arguments=(*job.arguments, columns, n_buckets)) for job in split]
    buckets, skipped = cluster.dealt(deal_rows, dealing, n_buckets, skip_broken=skip_broken)
    jobs = [
        Job((pieces,), n_rows // n_buckets, f"records {number + 1} of {n_buckets}")
        for number, pieces in enumerate(buckets)
        if pieces
    ]
    return _count_bucket, jobs, skipped


def deal_rows(parts: list[Part], columns: list[str], n_buckets: int) -> list[Any]:
    """Deal rows with a finding each to buckets, by their records' ids."""
    tables = [read_columns(part, columns) for part in parts]
    table = pa.concat_tables(tables).combine_chunks()
    ids = ids_array(table.column(columns[0]).combine_chunks(), columns[0])
    hashes = hash_ids(ids) // np.uint64(1 << 20)  # other bits than those of the groups
    bucket = (hashes % np.uint64(n_buckets)).astype(np.int64)
    return [table.take(pa.array(np.flatnonzero(bucket == each))) for each in range(n_buckets)]


def _count_bucket(request: CountRequest, pieces: list[Any]) -> PartialCounts:
    """Count the records of a bucket, whose rows come from many files."""
    if len({piece.schema for piece in pieces}) > 1:
        raise FindingsError(
            "the columns of record, symptom and state hold different kinds of values in different "
            "files (numbers, texts, true and false); write them alike."
        )
    return _count_source(request, pa.concat_tables(pieces).sort_by(request.form.record))


def _count_source(request: CountRequest, source: Any) -> PartialCounts:
    """Count the records of a table, or of a file whose ids mean nothing in other files."""
    streams = open_records(source, request.plan.structure, request.form)
    return _count_blocks(request, (block for each in streams for block in each.blocks))


def _count_job(request: CountRequest, *arguments: Any) -> PartialCounts:
    """Count the records of some parts of files, or of a part of a frame."""
    return _count_blocks(request, job_blocks(request.plan.structure, request.form, *arguments))


def _count_blocks(request: CountRequest, blocks: Iterable[Block]) -> PartialCounts:
    counter = MomentCounter(request.plan, request.n_groups, n_jobs=1)
    counter.add_blocks(blocks)
    return PartialCounts.of(counter.take())


def merge_counts(request: CountRequest, parts: list[PartialCounts]) -> PartialCounts:
    """Add up the counts of some jobs."""
    return PartialCounts.of(sum_moments([Moments(request.plan, *part) for part in parts]))
