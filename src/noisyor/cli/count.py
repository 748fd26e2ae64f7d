"""`noisyor count`: the moments of records, file after file, resumable."""

import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from noisyor.cli.options import (
    AsJson,
    Groups,
    IdsPerFile,
    IgnoreUnknown,
    OnCluster,
    Quiet,
    ReadLayout,
    SkipBroken,
    StructureFile,
    Threads,
    read_options,
)

if TYPE_CHECKING:
    from noisyor.cli.inputs import Source
    from noisyor.cli.progress import Advance
    from noisyor.findings.reading import RecordFormat, RecordStream
    from noisyor.moments import MomentPlan, Moments

CHECKPOINT_FORMAT, CHECKPOINT_VERSION = "noisyor.partial", 1
SHORTEST_PAUSE = 2.0
"""Seconds between two checkpoints at least; and at least ten times what writing one takes."""


def count(
    structure: StructureFile,
    records: Annotated[
        list[str], typer.Argument(help="Files of records, or patterns such as 'data/*.parquet'.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the moments.")],
    plan: Annotated[
        Path | None, typer.Option(help="Count what this plan lists, not all coupled pairs.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after the files an interrupted run finished.")
    ] = False,
    min_count: Annotated[
        int, typer.Option(min=1, help="Hide cells that describe fewer records than this.")
    ] = 1,
    layout: ReadLayout = None,
    ignore_unknown: IgnoreUnknown = False,
    ids_per_file: IdsPerFile = False,
    groups: Groups = 50,
    threads: Threads = 0,
    cluster: OnCluster = None,
    skip_broken: SkipBroken = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Count symptoms and all pairs that share a disease, or what a plan lists, over records.

    Example: noisyor count clinic.json 'records/*.parquet' -o site.moments

    On a cluster: noisyor count clinic.json 's3://...' -o all.moments --cluster tcp://10.0.0.1:8786
    """
    from noisyor.cli.info import facts_of_moments
    from noisyor.cli.inputs import expand_sources, local_files, read_structure
    from noisyor.cli.output import tell
    from noisyor.cli.progress import progress_bar
    from noisyor.cluster import connected
    from noisyor.errors import StructureError
    from noisyor.findings.reading import RecordFormat
    from noisyor.io.paths import check_writable
    from noisyor.moments import MomentPlan
    from noisyor.moments.cluster import count_on_cluster

    files = expand_sources(records)
    check_writable([output], inputs=[structure, *local_files(files), *([plan] if plan else [])])
    known = read_structure(structure)
    wanted = MomentPlan.load(plan) if plan is not None else MomentPlan.coupled(known)
    if wanted.structure != known:
        raise StructureError(f"the plan {plan} was made for another structure than the one given.")
    form = RecordFormat(**read_options(layout, ignore_unknown, ids_per_file))
    silent = quiet or as_json
    skipped: list[str] = []
    if cluster is None:
        _check_local(files, skip_broken)
        job = CountJob(wanted, form, output, groups=groups, threads=threads or None, quiet=silent)
        moments = job.run(local_files(files), resume)
    else:
        _check_no_resume(resume)
        with connected(cluster) as client, progress_bar("counting", None, silent) as advance:
            moments, left_out = count_on_cluster(
                client, files, wanted, form, n_groups=groups, progress=advance,
                skip_broken=skip_broken,
            )  # fmt: skip
        skipped = [each.source for each in left_out]
    if min_count > 1:
        moments = moments.suppressed(min_count)
    _save(moments, output)
    _checkpoint_of(output).unlink(missing_ok=True)
    n_hidden = sum(int(hidden.sum()) for hidden in moments.hidden or ())
    hidden = f", {n_hidden:,} sets hidden" if n_hidden else ""
    counted = {"files": len(files) - len(skipped), "skipped": skipped, "output": str(output)}
    facts = {**counted, **facts_of_moments(moments)}
    tell(f"Counted into {output}: {moments}{hidden}", facts, quiet=quiet, as_json=as_json)


def _check_local(files: "list[Source]", skip_broken: bool) -> None:
    from noisyor.errors import ParameterError

    if skip_broken:
        raise ParameterError("--skip-broken is for work on a cluster: give --cluster.")
    elsewhere = [source for source in files if isinstance(source, str)]
    if elsewhere:
        raise ParameterError(f"{elsewhere[0]} is not on this machine: give --cluster.")


def _check_no_resume(resume: bool) -> None:
    from noisyor.errors import ParameterError

    if resume:
        raise ParameterError("--resume is for one machine; a cluster repeats what is lost itself.")


def _checkpoint_of(output: Path) -> Path:
    return output.with_name(output.name + ".partial")


def _save(moments: "Moments", output: Path) -> None:
    """Write the result; if its disk is full, write it elsewhere rather than lose it."""
    from noisyor.errors import FileError

    try:
        moments.save(output)
    except FileError as error:
        refuge = Path(tempfile.mkdtemp(prefix="noisyor-")) / output.name
        try:
            moments.save(refuge)
        except FileError as second:
            raise FileError(f"{error} Nor elsewhere: {second}") from None
        raise FileError(f"{error} The counts were saved as {refuge} instead.") from None


class CountJob:
    """Counts files one after the other and keeps what is finished in a checkpoint.

    Finished files are committed to the total, often but not so often that it costs more than a
    tenth of the time. What is committed is written down from time to time, and when the work is
    interrupted or a file turns out to be broken. Whatever is not committed is counted again.
    """

    def __init__(
        self,
        plan: "MomentPlan",
        form: "RecordFormat",
        output: Path,
        *,
        groups: int,
        threads: int | None,
        quiet: bool,
    ) -> None:
        from noisyor.moments.counting import MomentCounter

        self.checkpoint = _checkpoint_of(output)
        self._counter = MomentCounter(plan, groups, threads)
        self._plan = plan
        self._form = form
        self._groups = groups
        self._quiet = quiet
        self._committed = Committed(None, {})
        self._n_written = 0
        self._uncommitted: dict[str, str] = {}
        self._next_commit = time.monotonic()
        self._next_writing = time.monotonic() + SHORTEST_PAUSE

    def run(self, files: list[Path], resume: bool) -> "Moments":
        """Count the files that are not in the checkpoint yet."""
        from noisyor.cli.output import note
        from noisyor.cli.progress import progress_bar
        from noisyor.findings.reading import record_streams

        if resume:
            self._restore(files)
        elif self.checkpoint.exists():
            note(f"{self.checkpoint} of an earlier run is not used without --resume.")
        streams = record_streams(files, self._plan.structure, self._form)
        left = [stream for stream in streams if not self._is_finished(stream)]
        try:
            with progress_bar("counting", total_records(left), self._quiet) as advance:
                for stream in left:
                    self._count(stream, advance)
            self._commit()
        except KeyboardInterrupt:
            self._write_checkpoint()
            raise
        assert self._committed.total is not None
        return self._committed.total

    def _is_finished(self, stream: "RecordStream") -> bool:
        from noisyor.errors import FileError

        finished = [str(file.resolve()) in self._committed.files for file in stream.files]
        if any(finished) and not all(finished):
            raise FileError(
                f"{stream.files[finished.index(True)]} was counted, but shares records with "
                f"{stream.files[finished.index(False)]}; start again without --resume."
            )
        return all(finished)

    def _count(self, stream: "RecordStream", advance: "Advance") -> None:
        from noisyor.errors import FileError, NoisyOrError

        try:
            before = _identities(stream.files)
            self._counter.add_blocks(stream.file_name, stream.blocks, advance)
            changed = sorted(set(before.items()) ^ set(_identities(stream.files).items()))
            if changed:
                raise FileError(f"{changed[0][0]} was changed while it was counted.")
        except (NoisyOrError, OSError, MemoryError) as error:
            n_kept = self._rescue()
            if not n_kept:
                raise
            raise FileError(
                f"{error} Files counted before it: {n_kept}, kept in {self.checkpoint}. Repair or "
                "remove what is wrong, then go on with --resume."
            ) from None
        self._uncommitted |= before
        if time.monotonic() >= self._next_commit:
            self._commit()
        if time.monotonic() >= self._next_writing:
            self._write_checkpoint()

    def _commit(self) -> None:
        """Add the files that were counted to the total: both at once, or neither."""
        start = time.monotonic()
        total, counted = self._committed.total, self._counter.take()
        files = self._committed.files | self._uncommitted
        self._committed = Committed(counted if total is None else total + counted, files)
        self._uncommitted = {}
        end = time.monotonic()
        self._next_commit = end + 10 * (end - start)

    def _rescue(self) -> int:
        """Count once more the files that a broken one would take down; write all down."""
        from noisyor.findings.reading import record_streams

        self._counter.discard()
        again = [Path(file) for file in self._uncommitted]
        if again:
            for stream in record_streams(again, self._plan.structure, self._form):
                self._counter.add_blocks(stream.file_name, stream.blocks)
        self._commit()
        self._write_checkpoint()
        return len(self._committed.files)

    def _write_checkpoint(self) -> None:
        from noisyor.cli.output import note
        from noisyor.errors import FileError
        from noisyor.io.documents import write_arrow_document

        start = time.monotonic()
        total, files = self._committed
        if total is not None and len(files) > self._n_written:
            columns = total.to_columns() | {
                "finished": list(files),
                "identities": list(files.values()),
                "options": self._options,
            }
            try:
                write_arrow_document(
                    self.checkpoint, CHECKPOINT_FORMAT, CHECKPOINT_VERSION, columns
                )
                self._n_written = len(files)
            except FileError as error:
                note(f"{error} The counting goes on, but could not be resumed.")
        end = time.monotonic()
        self._next_writing = end + max(SHORTEST_PAUSE, 10 * (end - start))

    @property
    def _options(self) -> list[str]:
        form = self._form
        return [f"{form.layout} {form.ignore_unknown} {form.ids_per_file}"]

    def _restore(self, files: list[Path]) -> None:
        """Take up what an earlier run finished, if it still holds."""
        from noisyor.errors import FileError
        from noisyor.io.documents import read_arrow_document
        from noisyor.moments import Moments

        if not self.checkpoint.exists():
            return
        columns = read_arrow_document(self.checkpoint, {CHECKPOINT_FORMAT: CHECKPOINT_VERSION})
        total = Moments.from_columns(columns, self.checkpoint)
        same_work = total.plan == self._plan and total.n_groups == self._groups
        if not same_work or columns["options"].tolist() != self._options:
            raise FileError(
                f"{self.checkpoint} was counted for another structure, plan, number of groups or "
                "with other options; start again without --resume."
            )
        finished = dict(
            zip(columns["finished"].tolist(), columns["identities"].tolist(), strict=True)
        )
        now = _identities(files)
        for file, identity in finished.items():
            if now.get(file) != identity:
                problem = "has changed since" if file in now else "is not among the files, but"
                raise FileError(f"{file} {problem} it was counted; start again without --resume.")
        self._committed = Committed(total, finished)
        self._n_written = len(finished)


def total_records(streams: "Iterable[RecordStream]") -> int | None:
    """Return how many records there are, where that is known beforehand."""
    known = [stream.n_records for stream in streams]
    return None if None in known else sum(n for n in known if n is not None)


class Committed(NamedTuple):
    """Counts, and the files that are in them with their identities; they change together."""

    total: "Moments | None"
    files: dict[str, str]


def _identities(files: Iterable[Path]) -> dict[str, str]:
    """Return for each file what tells it from itself after a change."""
    status = {str(file.resolve()): file.stat() for file in files}
    return {file: f"{each.st_size} {each.st_mtime_ns}" for file, each in status.items()}
