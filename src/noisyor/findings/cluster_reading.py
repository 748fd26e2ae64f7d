"""Records on a cluster: files split into parts, checked to be alike, and dealt out as jobs.

They are split once. All passes over them read the same parts, of files that nobody has changed.
"""

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from noisyor.cluster import Cluster, Job, Skipped, is_of_file, repeated
from noisyor.errors import (
    ChangedFileError,
    FileError,
    FindingsError,
    ParameterError,
    count_of,
    give_notice,
)
from noisyor.findings.blocks import Block
from noisyor.findings.findings import Findings
from noisyor.findings.long import can_vanish, long_tables
from noisyor.findings.notes import Notes
from noisyor.findings.reading import Columns, Header, RecordFormat, id_kind
from noisyor.findings.wide import blocks_of, check_options, match_columns
from noisyor.io.columns import ColumnKind
from noisyor.io.manifest import Manifest
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
from noisyor.io.paths import check_differ, is_uri
from noisyor.io.tables import ArrowTable
from noisyor.memory import announce
from noisyor.structure import Structure

FEWEST_ROWS, MOST_ROWS = 1 << 16, 1 << 22
"""Rows of a job: fewer are not worth a message, more would have other workers wait."""
JOBS_PER_THREAD = 4
GUESSED_ROWS = 1 << 18
"""Rows of a file that is one part and was not counted."""


class Reading(NamedTuple):
    """How workers read records, all in the same way."""

    structure: Structure
    form: RecordFormat
    id_kind: ColumnKind
    """What ids are in all files."""
    sources: tuple[str, ...]
    """The files, by their numbers."""


@dataclass
class ClusterRecords:
    """Files, or a Dask frame, as jobs for a cluster; the same ones in every pass."""

    cluster: Cluster
    reading: Reading
    jobs: list[Job]
    """The arguments of each are those of `job_blocks`."""
    is_long: bool
    skip_broken: bool = False
    skipped: list[Skipped] = field(default_factory=list)
    """Files that are left out, of all passes."""
    notes: Notes = field(default_factory=Notes)

    def __post_init__(self) -> None:
        self.shared = self.cluster.share(self.reading)
        self._manifest = Manifest(())  # parts know the states of their files

    @property
    def n_records(self) -> int | None:
        """How many there are; known after the first pass."""
        return self._manifest.n_records

    @property
    def may_skip(self) -> bool:
        """Whether files that cannot be read are left out: in the first pass, if at all."""
        return self.skip_broken and self.n_records is None

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Say of a file that cannot be read any more why it is not left out."""
        try:
            yield
        except FileError as error:
            if self.n_records is None or not self.skip_broken or not is_of_file(error):
                raise
            raise ChangedFileError(
                f"{error} In an earlier pass it could be read: the result would mix different "
                "records. Start again."
            ) from None

    def end_pass(self, n_records: int, broken: Iterable[Skipped] = (), notes: Any = None) -> None:
        """Leave out broken files from now on; raise an error if the records are not as many."""
        is_first = self.n_records is None
        self.leave_out(broken)
        self._manifest.end_pass(n_records)
        if is_first:
            self.notes.add(notes or Notes())
            self.notes.tell(self.reading.form.matcher(self.reading.structure))

    def leave_out(self, broken: Iterable[Skipped]) -> None:
        """Read some files no more."""
        broken = list(broken)
        sources = {each.source for each in broken}
        self.jobs = [job for job in self.jobs if job.source not in sources]
        self.skipped += broken
        if self.n_records is None and self.skipped:
            _warn_of(self.skipped)


def _warn_of(skipped: list[Skipped]) -> None:
    listed = ", ".join(f"{each.source} ({each.reason.rstrip('.')})" for each in skipped[:10])
    listed += f" and {len(skipped) - 10:,} more" if len(skipped) > 10 else ""
    give_notice(
        f"{count_of(len(skipped), 'file')} that could not be read, left out as a whole: {listed}.",
        stacklevel=3,
    )


# --- splitting ---


class ExaminedFile(NamedTuple):
    """A file, split, and what its beginning says of its records."""

    file: SplitFile
    header: Header
    columns: Columns
    has_text_ids: bool


def split_records(
    cluster: Cluster,
    source: Any,
    structure: Structure,
    form: RecordFormat,
    skip_broken: bool = False,
    *,
    must_be_wide: str = "",
) -> ClusterRecords:
    """Split records into jobs, on the cluster: that is where they can be read.

    With `skip_broken`, a job reads one file only, and files that cannot be read are left out.
    Where records must have a column per symptom, and ids all or none of them, `must_be_wide` says
    why, before all rows are read.
    """
    sent = replace(form, notes=None)
    if hasattr(source, "to_delayed") and hasattr(source, "npartitions"):  # a Dask frame
        if form.is_long(Header("the Dask frame", tuple(map(str, source.columns))), structure):
            raise ParameterError(
                "a Dask frame with a row per finding is not taken; write it to Parquet files."
            )
        reading = Reading(structure, sent, ColumnKind.ID, ())
        return ClusterRecords(cluster, reading, _frame_jobs(cluster, source), is_long=False)
    sources = sources_of(source)
    check_differ([each for each in sources if is_uri(each) or Path(each).exists()])
    files, skipped = _examined(cluster, sources, structure, sent, skip_broken)
    if not files:
        reasons = "; ".join(each.reason for each in skipped)
        raise FindingsError(f"no file can be read: {reasons}" if skipped else "there are no files.")
    notes = form.notes or Notes()
    notes.restart()
    is_long = _check_alike(files, structure, form, notes)
    if is_long and must_be_wide:
        raise ParameterError(must_be_wide)
    if must_be_wide:
        _check_all_or_none(files)
    counted = [_with_rows(cluster, each.file) for each in files]
    has_texts = any(each.has_text_ids for each in files)
    kind = ColumnKind.ID_TEXT if has_texts else ColumnKind.ID
    jobs = list(_jobs(counted, _most_rows(cluster, counted), skip_broken))
    reading = Reading(structure, sent, kind, tuple(sources))
    return ClusterRecords(cluster, reading, jobs, is_long, skip_broken, skipped, notes)


def _examined(
    cluster: Cluster,
    sources: list[str],
    structure: Structure,
    form: RecordFormat,
    skip_broken: bool,
) -> tuple[list[ExaminedFile], list[Skipped]]:
    files, skipped = [], []
    shared = cluster.share(structure), cluster.share(form)
    arguments = [(*shared, source, number) for number, source in enumerate(sources)]
    for source, found in zip(sources, cluster.map(_try_to_examine, arguments), strict=True):
        if isinstance(found, ExaminedFile):
            files.append(found)
        elif skip_broken:
            skipped.append(Skipped(source, str(found)))
        else:
            raise found
    return files, skipped


def _with_rows(cluster: Cluster, file: SplitFile) -> SplitFile:
    """Count the rows of spans, without which nobody knows the numbers of their records."""
    if not has_spans(file):
        return file
    return with_rows(file, cluster.map(scan_span, [(part,) for part in file.parts]))


def _check_alike(
    files: list[ExaminedFile], structure: Structure, form: RecordFormat, notes: Notes
) -> bool:
    """Raise an error where files do not go together; return whether they have a row per finding.

    What of them was not taken as it stands is noted.
    """
    is_long = form.are_long([each.header for each in files], structure)
    if is_long and (form.n_records is not None or form.all_records is not None):
        raise ParameterError(
            "n_records and all_records are not used on a cluster: count those files on one "
            "machine, and merge the moments."
        )
    if is_long:
        notes.vanished = can_vanish(form)
    else:
        check_options(structure, form)
    for each in files:
        columns = each.columns.found()
        if is_long:
            notes.guessed |= each.columns.guessed
        else:
            matched = match_columns(each.header, structure, form, notes)
            columns = {} if matched.record is None else {"record": matched.record}
        layout = "long" if is_long else "wide"
        notes.file(each.header, layout, columns, is_inverted=form.invert)
    return is_long


def _check_all_or_none(files: list[ExaminedFile]) -> None:
    """Raise an error where some files have ids and others have none."""
    names = {each.columns.record is not None: each.header.name for each in files}
    if len(names) > 1:
        raise FindingsError(
            f"{names[True]} has a column of record ids and {names[False]} has none; give both "
            "one, or neither."
        )


def _most_rows(cluster: Cluster, files: list[SplitFile]) -> int:
    rows = sum(_rows_of(part) for file in files for part in file.parts)
    wanted = rows // (JOBS_PER_THREAD * cluster.n_threads)
    return min(max(wanted, FEWEST_ROWS), MOST_ROWS)


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
    return part.n_rows if part.n_rows is not None else GUESSED_ROWS


def _job(parts: list[Part], size: int) -> Job:
    return Job((joined(parts),), size, parts[0].source)


def _frame_jobs(cluster: Cluster, frame: Any) -> list[Job]:
    """Return a job for each partition: the frame, the number of its first row, and its rows."""
    partitions = frame.to_delayed()
    # A partition is read twice, but never are all of them in memory.
    lengths = cluster.in_order(len, (Job((each,), 0, "") for each in partitions))
    jobs, row = [], 0
    for number, (partition, (_, size)) in enumerate(zip(partitions, lengths, strict=True)):
        jobs.append(Job((partition, row, size), size, f"partition {number}"))
        row += size
    return jobs


def with_counted_rows(cluster: Cluster, jobs: list[Job]) -> list[Job]:
    """Return jobs whose parts and sizes have numbers of rows, counted where not known."""
    parts = [part for job in jobs for part in job.arguments[0]]
    counted = iter(cluster.map(count_rows, [(part,) for part in parts]))
    found = []
    for job in jobs:
        known = [part._replace(n_rows=next(counted)) for part in job.arguments[0]]
        found.append(job._replace(arguments=(known,), size=sum(part.n_rows for part in known)))
    return found


# --- gathering ---


def gather_findings(records: ClusterRecords, structure: Structure, remedy: str) -> Findings:
    """Bring the records here, bit-packed, in their order: the symptoms of a structure of theirs.

    One without symptoms brings the ids alone. `remedy` says what to do where there is too little
    memory.
    """
    cluster, n_rows = records.cluster, sum(job.size for job in records.jobs)
    announce(
        n_rows * structure.n_symptoms / 8.0,
        f"to bring {n_rows:,} records of {structure.n_symptoms:,} symptoms from the cluster to "
        "this machine",
        remedy,
    )
    shared, broken = (records.shared, cluster.share(structure)), list[Skipped]()
    with records.passing():
        kept = [cluster.keep(_read_job, *shared, *job.arguments) for job in records.jobs]
        if records.may_skip:
            kept, broken = cluster.without_broken(kept, records.jobs)
        parts = cluster.fetch(kept)
    if not parts and broken:
        records.leave_out(broken)
        raise FileError(f"no file can be read: {records.skipped[0].reason}")
    notes = Notes()
    for _, noted in parts:
        notes.add(noted)
    found = Findings(structure, [block for part, _ in parts for block in part.blocks])
    records.end_pass(found.n_records, broken, notes)
    return found


# --- what workers do ---


def _read_job(reading: Reading, structure: Structure, *arguments: Any) -> tuple[Findings, Notes]:
    notes = Notes()
    findings = Findings(reading.structure, job_blocks(reading, notes, *arguments))
    return findings.with_structure(structure), notes


def _try_to_examine(
    structure: Structure, form: RecordFormat, source: str, number: int
) -> ExaminedFile | FileError:
    """Split a file and look at its beginning; where it cannot be read, return why."""
    try:
        return repeated(_examine, structure, form, source, number)  # type: ignore[no-any-return]
    except FileError as error:
        return error


def _examine(structure: Structure, form: RecordFormat, source: str, number: int) -> ExaminedFile:
    file, table = split_file(source, number)
    columns = form.columns_of(table, structure)
    if form.is_long(table, structure):
        long_tables([table], structure, replace(form, all_records=None), Notes())
    # What it tells of a file, other workers need not read once more.
    delimiter, sheet = getattr(table, "delimiter", None), getattr(table, "sheet", None)
    header = Header(table.name, table.column_names, table.index_name, delimiter, sheet)
    has_texts = id_kind([(table, columns.record)]) is ColumnKind.ID_TEXT
    return ExaminedFile(file, header, columns, has_texts)


def job_blocks(
    reading: Reading, notes: Notes, parts: Any, first_row: int = 0, n_rows: int | None = None
) -> Iterator[Block]:
    """Read the records of a job that have a column per symptom.

    They are parts of files, or a partition of a frame, which begins at some row of it.
    """
    notes.are_ids_watched = True
    if isinstance(parts, list):
        return itertools.chain.from_iterable(_part_blocks(reading, notes, part) for part in parts)
    structure, form, *_ = reading
    table = ArrowTable(parts, first_row)
    matched = match_columns(table, structure, form, notes)
    kind = id_kind([(table, matched.record)])
    blocks = blocks_of(table, structure, form, matched, kind, notes)
    return notes.watched(as_many(blocks, n_rows, "a partition of the Dask frame", notes), 0)


def _part_blocks(reading: Reading, notes: Notes, part: Part) -> Iterator[Block]:
    structure, form, kind, _ = reading
    table = part.open()
    matched = match_columns(table, structure, form, Notes())
    blocks = blocks_of(table, structure, form, matched, kind, notes)
    yield from notes.watched(as_many(blocks, part.n_rows, part.source, notes), part.file_number)
    part.check()


def as_many(blocks: Iterable[Any], n_rows: int | None, source: str, notes: Notes) -> Iterator[Any]:
    """Give what was read of a part; raise an error unless it has as many rows as at first."""
    n_found = -notes.n_rows_empty
    for block in blocks:
        n_found += block.n_records
        yield block
    check_as_many(n_found + notes.n_rows_empty, n_rows, source)


def check_as_many(n_found: int, n_rows: int | None, source: str) -> None:
    """Raise an error unless there are as many rows as at first."""
    if n_rows is not None and n_found != n_rows:
        raise ChangedFileError(
            f"{source} has {n_found:,} rows where {n_rows:,} were counted at first: the result "
            "would mix different records. Start again when nobody writes to it."
        )
