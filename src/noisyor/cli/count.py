"""`noisyor count`: the moments of records, file after file, resumable."""

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisyor.cli.sample import Layout

if TYPE_CHECKING:
    from noisyor.findings.reading import RecordStream
    from noisyor.moments import MomentPlan, Moments

CHECKPOINT_FORMAT, CHECKPOINT_VERSION = "noisyor.partial", 1
SHORTEST_PAUSE = 2.0
"""Seconds between two checkpoints at least; and at least ten times what writing one takes."""


def count(
    structure: Annotated[
        str, typer.Argument(help="A structure or network: .json, .csv, .parquet, a folder.")
    ],
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
    layout: Annotated[
        Layout | None, typer.Option(help="wide or long; found out from the columns by default.")
    ] = None,
    ignore_unknown: Annotated[
        bool, typer.Option("--ignore-unknown", help="Pass over columns or rows of other symptoms.")
    ] = False,
    ids_per_file: Annotated[
        bool, typer.Option("--ids-per-file", help="The same id in two files means two records.")
    ] = False,
    groups: Annotated[
        int, typer.Option(min=1, help="Groups of records, for standard errors.")
    ] = 50,
    threads: Annotated[int, typer.Option(min=0, help="0: as many as there are cores.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Count symptoms and all pairs that share a disease, or what a plan lists, over records.

    Example: noisyor count clinic.json 'records/*.parquet' -o site.moments
    """
    from noisyor.cli.inputs import expand_files, read_structure
    from noisyor.findings.reading import RecordFormat
    from noisyor.io.paths import check_writable
    from noisyor.moments import MomentPlan
    from noisyor.moments.counting import MomentCounter

    check_writable([output])
    known = read_structure(structure)
    wanted = MomentPlan.load(plan) if plan is not None else MomentPlan.coupled(known)
    _check_structure(wanted, known, plan)
    form = RecordFormat(
        layout=layout.value if layout else "auto",
        ignore_unknown=ignore_unknown,
        ids_per_file=ids_per_file,
    )
    job = CountJob(
        MomentCounter(wanted, groups, threads or None), wanted, form, output, quiet, groups
    )
    moments = job.run(expand_files(records), resume)
    _save(moments if min_count == 1 else moments.suppressed(min_count), output)
    job.checkpoint.unlink(missing_ok=True)
    if not quiet:
        typer.echo(f"Counted into {output}: {moments}")


def _check_structure(plan: "MomentPlan", structure: Any, path: Path | None) -> None:
    from noisyor.errors import StructureError

    if plan.structure != structure:
        raise StructureError(f"the plan {path} was made for another structure than the one given.")


def _save(moments: "Moments", output: Path) -> None:
    """Write the result; if its disk is full, write it elsewhere rather than lose it."""
    from noisyor.errors import FileError

    try:
        moments.save(output)
    except FileError as error:
        refuge = Path(tempfile.gettempdir()) / output.name
        moments.save(refuge)
        raise FileError(f"{error} The counts were saved as {refuge} instead.") from None


class CountJob:
    """Counts files one after the other and keeps what is finished in a checkpoint.

    Finished files are committed to the total, often but not so often that it costs more than a
    tenth of the time. What is committed is written down from time to time, and when the work is
    interrupted or a file turns out to be broken.
    """

    def __init__(
        self, counter: Any, plan: "MomentPlan", form: Any, output: Path, quiet: bool, groups: int
    ) -> None:
        self.checkpoint = output.with_name(output.name + ".partial")
        self._counter = counter
        self._plan = plan
        self._form = form
        self._quiet = quiet
        self._groups = groups
        self._total: Moments | None = None
        self._finished: list[str] = []
        self._n_written = 0
        self._uncommitted: list[RecordStream] = []
        self._next_commit = time.monotonic()
        self._next_writing = time.monotonic() + SHORTEST_PAUSE

    def run(self, files: list[Path], resume: bool) -> "Moments":
        """Count the files that are not in the checkpoint yet."""
        from noisyor.cli.progress import progress_bar
        from noisyor.findings.reading import record_streams

        if resume:
            self._restore()
        done = set(self._finished)
        files = [file for file in files if _identity(file) not in done]
        streams = record_streams(files, self._plan.structure, self._form) if files else []
        known = [stream.n_records for stream in streams]
        total = None if None in known else sum(n for n in known if n is not None)
        try:
            with progress_bar("counting", total, self._quiet) as advance:
                for stream in streams:
                    self._count(stream, advance)
        except KeyboardInterrupt:
            self._write_checkpoint()
            raise
        self._commit()
        assert self._total is not None
        return self._total

    def _count(self, stream: "RecordStream", advance: Any) -> None:
        from noisyor.errors import NoisyOrError

        try:
            self._counter.add_blocks(stream.file_name, stream.blocks, advance)
        except NoisyOrError as error:
            n_kept = self._rescue()
            if not n_kept:
                raise
            raise type(error)(
                f"{error} The {n_kept} files before it are counted and kept in {self.checkpoint}: "
                "repair or remove the file, then go on with --resume."
            ) from None
        self._uncommitted.append(stream)
        if time.monotonic() >= self._next_commit:
            self._commit()
        if time.monotonic() >= self._next_writing:
            self._write_checkpoint()

    def _commit(self) -> None:
        """Add the files that were counted to the total."""
        start = time.monotonic()
        counted = self._counter.take()
        self._total = counted if self._total is None else self._total + counted
        for stream in self._uncommitted:
            self._finished += [_identity(file) for file in stream.files]
        self._uncommitted = []
        end = time.monotonic()
        self._next_commit = end + 10 * (end - start)

    def _rescue(self) -> int:
        """Count once more the files that a broken one would take down; write all down."""
        from noisyor.findings.reading import record_streams

        self._counter.discard()
        finished, self._uncommitted = self._uncommitted, []
        for stream in finished:
            for again in record_streams(list(stream.files), self._plan.structure, self._form):
                self._counter.add_blocks(again.file_name, again.blocks)
                self._uncommitted.append(again)
        self._commit()
        self._write_checkpoint()
        return len(self._finished)

    def _write_checkpoint(self) -> None:
        from noisyor.io.arrow_documents import write_arrow_document

        start = time.monotonic()
        if self._total is not None and len(self._finished) > self._n_written:
            columns = self._total.to_columns() | {"finished": self._finished}
            write_arrow_document(self.checkpoint, CHECKPOINT_FORMAT, CHECKPOINT_VERSION, columns)
            self._n_written = len(self._finished)
        end = time.monotonic()
        self._next_writing = end + max(SHORTEST_PAUSE, 10 * (end - start))

    def _restore(self) -> None:
        from noisyor.errors import FileError
        from noisyor.io.arrow_documents import read_arrow_document
        from noisyor.moments import Moments

        if not self.checkpoint.exists():
            return
        kinds = {CHECKPOINT_FORMAT: CHECKPOINT_VERSION}
        columns = read_arrow_document(self.checkpoint, kinds)
        total = Moments.from_columns(columns, self.checkpoint)
        if total.plan != self._plan or total.n_groups != self._groups:
            raise FileError(
                f"{self.checkpoint} was counted for another structure, plan or number of groups; "
                "remove it, or start again without --resume."
            )
        self._total = total
        self._finished = columns["finished"].tolist()
        self._n_written = len(self._finished)


def _identity(file: Path) -> str:
    """Return what tells a file from others, and from itself after a change."""
    status = file.stat()
    return f"{file.resolve()} {status.st_size} {status.st_mtime_ns}"
