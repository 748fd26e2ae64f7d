"""Records on a cluster: files split into parts, checked to be alike, and dealt out as jobs."""

import itertools
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from noisyor.cluster import Cluster, Job, Skipped
from noisyor.errors import FileError, FindingsError, NoisyOrWarning, ParameterError, some_of
from noisyor.findings.blocks import Block
from noisyor.findings.notes import Notes
from noisyor.findings.reading import Header, RecordFormat
from noisyor.findings.wide import match_columns, wide_blocks
from noisyor.io.parts import (
    Part,
    SplitFile,
    count_rows,
    has_spans,
    joined,
    scan_span,
    sources_of,
    split_file,
    with_rows,
)
from noisyor.io.tables import ArrowTable
from noisyor.structure import Structure

FEWEST_ROWS, MOST_ROWS = 1 << 16, 1 << 22
"""Rows of a job: fewer are not worth a message, more would have other workers wait."""
JOBS_PER_THREAD = 4


class SplitRecords(NamedTuple):
    """Files, or a Dask frame, as jobs for a cluster."""

    jobs: list[Job]
    """The arguments of each are those of `job_blocks`."""
    is_long: bool
    skipped: list[Skipped]


def split_records(
    cluster: Cluster, source: Any, structure: Structure, form: RecordFormat, skip_broken: bool
) -> SplitRecords:
    """Split records into jobs, on the cluster: that is where they can be read.

    With `skip_broken`, a job reads one file only, and files that cannot be read are left out.
    """
    if hasattr(source, "to_delayed") and hasattr(source, "npartitions"):  # a Dask frame
        if form.is_long(Header("the Dask frame", tuple(map(str, source.columns))), structure):
            raise ParameterError(
                "a Dask frame with a row per finding is not taken; write it to Parquet files."
            )
        return SplitRecords(_frame_jobs(cluster, source), False, [])
    files, skipped = _split_files(cluster, sources_of(source), form, skip_broken)
    if not files:
        reasons = "; ".join(each.reason for each in skipped)
        raise FindingsError(f"no file can be read: {reasons}" if skipped else "there are no files.")
    is_long = _check_alike(files, structure, form)
    rows = sum(_rows_of(part) for file in files for part in file.parts)
    wanted = rows // (JOBS_PER_THREAD * cluster.n_threads)
    most = min(max(wanted, FEWEST_ROWS), MOST_ROWS)
    return SplitRecords(list(_jobs(files, most, skip_broken)), is_long, skipped)


def job_blocks(
    structure: Structure, form: RecordFormat, parts: Any, first_row: int = 0
) -> Iterator[Block]:
    """Read the records of a job that have a column per symptom.

    They are parts of files, or a partition of a frame, which begins at some row of it.
    """
    if not isinstance(parts, list):
        return wide_blocks(ArrowTable(parts, first_row), structure, form)
    return itertools.chain.from_iterable(
        wide_blocks(part.open(), structure, form) for part in parts
    )


def _split_files(
    cluster: Cluster, sources: list[str], form: RecordFormat, skip_broken: bool
) -> tuple[list[SplitFile], list[Skipped]]:
    files, skipped = [], []
    found = cluster.map(_try_to_split, [(source, form.record) for source in sources])
    for source, each in zip(sources, found, strict=True):
        if isinstance(each, SplitFile):
            files.append(each)
        elif skip_broken:
            skipped.append(Skipped(source, each))
        else:
            raise FileError(each)
    for number, file in enumerate(files):
        if has_spans(file):
            n_rows = cluster.map(scan_span, [(part,) for part in file.parts])
            files[number] = with_rows(file, n_rows)
    return files, skipped


def _try_to_split(source: str, id_column: str) -> SplitFile | str:
    """Split a file; where it cannot be read, also after a moment, return why."""
    for pause in (0.2, 1.0, None):
        try:
            return split_file(source, id_column)
        except FileError as error:
            if pause is None:
                return str(error)
            time.sleep(pause)
    raise AssertionError


def _check_alike(files: list[SplitFile], structure: Structure, form: RecordFormat) -> bool:
    """Raise an error where files do not go together; return whether they have a row per finding."""
    if form.n_records is not None or form.all_records is not None:
        raise ParameterError(
            "n_records and all_records are not used on a cluster: count those files on one "
            "machine, and merge the moments."
        )
    headers = [Header(file.source, file.column_names) for file in files]
    is_long = form.are_long(headers, structure)
    kinds = {file.id_type: file.source for file in files}
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise FindingsError(
            f"the column {form.record!r} of ids is {one or 'missing'} in {first} and "
            f"{other or 'missing'} in {second}; write them alike."
        )
    if not is_long:
        for header in headers:
            match_columns(header, structure, form, Notes())
    return is_long


def _jobs(files: list[SplitFile], most_rows: int, one_file_a_job: bool) -> Iterator[Job]:
    """Deal out parts, as many to a job as have enough rows; several small files if allowed."""
    taken: list[Part] = []
    n_rows = 0
    for file in files:
        for part in file.parts:
            more = _rows_of(part)
            is_other = bool(taken) and taken[-1].source != file.source
            if taken and (n_rows + more > most_rows or (is_other and one_file_a_job)):
                yield _job(taken, n_rows)
                taken, n_rows = [], 0
            taken.append(part)
            n_rows += more
    if taken:
        yield _job(taken, n_rows)


def _rows_of(part: Part) -> int:
    """Return how many rows a part has, or a guess where they were not counted."""
    return part.n_rows if part.n_rows is not None else 1 << 18


def _job(parts: list[Part], size: int) -> Job:
    return Job((joined(parts),), size, parts[0].source)


def with_counted_rows(cluster: Cluster, jobs: list[Job]) -> list[Job]:
    """Return jobs whose sizes are their numbers of rows, which are counted where not known."""
    parts = [part for job in jobs for part in job.arguments[0]]
    counted = iter(cluster.map(count_rows, [(part,) for part in parts]))
    return [job._replace(size=sum(next(counted) for _ in job.arguments[0])) for job in jobs]


def warn_of_skipped(skipped: list[Skipped]) -> None:
    """Warn of files that were left out."""
    if skipped:
        listed = some_of([f"{each.source} ({each.reason})" for each in skipped], most=10)
        warnings.warn(
            f"{len(skipped)} files could not be read and are left out as a whole: {listed}.",
            NoisyOrWarning,
            stacklevel=3,
        )


def _frame_jobs(cluster: Cluster, frame: Any) -> list[Job]:
    """Return a job for each partition: the frame, and the number of its first row."""
    partitions = frame.to_delayed()
    # A partition is read twice, but never are all of them in memory.
    lengths = cluster.in_order(len, (Job((each,), 0, "") for each in partitions))
    jobs, row = [], 0
    for number, (partition, (_, size)) in enumerate(zip(partitions, lengths, strict=True)):
        jobs.append(Job((partition, row), size, f"partition {number}"))
        row += size
    return jobs
