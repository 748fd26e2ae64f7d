"""Records on a cluster: files split into parts, checked to be alike, and dealt out as jobs."""

import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from noisyor.cluster.jobs import Cluster, Job, Skipped
from noisyor.errors import FileError, FindingsError, NoisyOrWarning, ParameterError, some_of
from noisyor.findings.blocks import Block
from noisyor.findings.reading import RecordFormat, match_columns, wide_blocks
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
from noisyor.structure import Structure

FEWEST_ROWS, MOST_ROWS = 1 << 16, 1 << 22
"""Rows of a job: fewer are not worth a message, more would have other workers wait."""
JOBS_PER_THREAD = 4
UNKNOWN_ROWS = 1 << 18
"""What a part whose rows were not counted is taken for."""


class SplitRecords(NamedTuple):
    """Files of records as jobs for a cluster."""

    jobs: list[Job]
    """The arguments of each are its parts."""
    is_long: bool
    skipped: list[Skipped]

    @property
    def n_rows(self) -> int:
        """How many rows there are, about: those of some parts are guessed."""
        return sum(job.size for job in self.jobs)


class RowsOf(NamedTuple):
    """A part of a file, and the name that its rows go by."""

    part: Part
    file_name: str


def split_records(
    cluster: Cluster,
    source: Any,
    structure: Structure,
    form: RecordFormat,
    *,
    one_file_a_job: bool = False,
) -> SplitRecords:
    """Split files into jobs, on the cluster: that is where they can be read."""
    files, skipped = _split_files(cluster, sources_of(source), form, one_file_a_job)
    if not files:
        reasons = "; ".join(each.reason for each in skipped)
        raise FindingsError(f"no file can be read: {reasons}" if skipped else "there are no files.")
    is_long = _check_alike(files, structure, form)
    rows = sum(part.n_rows or UNKNOWN_ROWS for file in files for part in file.parts)
    wanted = rows // (JOBS_PER_THREAD * cluster.n_threads)
    most = min(max(wanted, FEWEST_ROWS), MOST_ROWS)
    return SplitRecords(list(_jobs(files, most, one_file_a_job)), is_long, skipped)


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
    return [_scanned(cluster, file) if has_spans(file) else file for file in files], skipped


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


def _scanned(cluster: Cluster, file: SplitFile) -> SplitFile:
    return with_rows(file, cluster.map(scan_span, [(part,) for part in file.parts]))


def _check_alike(files: list[SplitFile], structure: Structure, form: RecordFormat) -> bool:
    """Raise an error where files do not go together; say whether they have a row per finding."""
    if form.n_records is not None or form.all_records is not None:
        raise ParameterError(
            "n_records and all_records are not known on a cluster: count those files on one "
            "machine, and merge the moments."
        )
    tables = [_Columns(file.source, file.column_names) for file in files]
    long = [form.is_long(table, structure) for table in tables]  # type: ignore[arg-type]
    if any(long) and not all(long):
        raise FindingsError(
            f"{files[long.index(True)].source} is long (a row per finding) and "
            f"{files[long.index(False)].source} is wide (a column per symptom); read them apart."
        )
    kinds = {file.id_type: file.source for file in files}
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise FindingsError(
            f"the column {form.record!r} of ids is {one or 'missing'} in {first} and "
            f"{other or 'missing'} in {second}; write them alike."
        )
    if not long[0]:
        for table in tables:
            match_columns(table, structure, form)  # type: ignore[arg-type]
    return long[0]


class _Columns(NamedTuple):
    """A table of which only the names of the columns are known."""

    name: str
    column_names: tuple[str, ...]


def _jobs(files: list[SplitFile], most_rows: int, one_file_a_job: bool) -> Iterator[Job]:
    """Deal out parts, as many to a job as have enough rows; several small files if allowed."""
    taken: list[RowsOf] = []
    n_rows = 0
    for file in files:
        for part in file.parts:
            more = part.n_rows if part.n_rows is not None else UNKNOWN_ROWS
            is_other = bool(taken) and taken[-1].part.source != file.source
            if taken and (n_rows + more > most_rows or (is_other and one_file_a_job)):
                yield _job(taken, n_rows)
                taken, n_rows = [], 0
            taken.append(RowsOf(part, file.file_name))
            n_rows += more
    if taken:
        yield _job(taken, n_rows)


def _job(rows: list[RowsOf], size: int) -> Job:
    names = {each.part.source: each.file_name for each in rows}
    parts = joined([each.part for each in rows])
    whole = [RowsOf(part, names[part.source]) for part in parts]
    return Job((whole,), size, parts[0].source)


def with_counted_rows(cluster: Cluster, jobs: list[Job]) -> list[Job]:
    """Return jobs whose sizes are their numbers of rows, which are counted where not known."""
    parts = [rows.part for job in jobs for rows in job.arguments[0]]
    counted = iter(cluster.map(count_rows, [(part,) for part in parts]))
    return [job._replace(size=sum(next(counted) for _ in job.arguments[0])) for job in jobs]


def check_frame(frame: Any, structure: Structure, form: RecordFormat) -> None:
    """Refuse a frame of Dask with a row per finding."""
    columns = _Columns("the frame of Dask", tuple(map(str, frame.columns)))
    if form.is_long(columns, structure):  # type: ignore[arg-type]
        raise ParameterError(
            "a frame of Dask with a row per finding is not taken; write it to Parquet files."
        )


def blocks_of(rows: RowsOf, structure: Structure, form: RecordFormat) -> Iterator[Block]:
    """Read the records of a part, which has a column per symptom."""
    lead = -rows.part.first_row % 64  # then blocks stand as those of the whole file do
    return wide_blocks([rows.part.open()], structure, form, lead)


def tell_skipped(skipped: list[Skipped]) -> None:
    """Warn of files that were left out."""
    if skipped:
        told = some_of([f"{each.source} ({each.reason})" for each in skipped], most=10)
        warnings.warn(
            f"{len(skipped)} files could not be read and are left out as a whole: {told}.",
            NoisyOrWarning,
            stacklevel=3,
        )


# --- frames of Dask ---


def is_frame(source: Any) -> bool:
    """Say whether something is a DataFrame of Dask, without importing Dask."""
    return hasattr(source, "to_delayed") and hasattr(source, "npartitions")


def frame_jobs(cluster: Cluster, frame: Any) -> list[Job]:
    """Return a job for each partition: the frame, and the number of its first row."""
    partitions = frame.to_delayed()
    # A partition is read twice, but never are all of them in memory.
    lengths = cluster.in_order(len, (Job((each,), 0, "") for each in partitions))
    jobs, row = [], 0
    for number, (partition, (_, size)) in enumerate(zip(partitions, lengths, strict=True)):
        jobs.append(Job((partition, row), size, f"partition {number}"))
        row += size
    return jobs
