"""Counting many files so that an interrupted run can be resumed: finished files are not read again.

counting = ResumableCount(CountRequest(plan, form, n_groups), Path("site.moments.partial"))
left = counting.open(files, resume=True)
moments = counting.run(left)
"""

import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import FileError, NoisyOrError, ParameterError, give_notice
from noisyor.findings.findings import open_records
from noisyor.findings.label_tables import LabelTable
from noisyor.findings.labels import Labels
from noisyor.findings.reading import RecordStream
from noisyor.io import documents
from noisyor.moments.counter import Progress
from noisyor.moments.counting import CountRequest
from noisyor.moments.moments import Moments

Integers = NDArray[np.int64]

FORMAT, VERSION = "noisyor.partial", 1
SHORTEST_PAUSE = 2.0
"""Seconds between two checkpoints at least; and at least ten times what writing one takes."""


class Committed(NamedTuple):
    """Counts, and the files that are in them with their identities; they change together."""

    total: Moments | None
    files: dict[str, str]
    label_uses: Integers
    """To how many records each label belongs."""


class ResumableCount:
    """Counts files one after the other and keeps what is finished in a checkpoint.

    Finished files are committed to the total, often but not so often that it costs more than a
    tenth of the time. What is committed is written down from time to time, and when the work is
    interrupted or a file turns out to be broken. Whatever is not committed is counted again.
    """

    def __init__(self, request: CountRequest, checkpoint: Path, n_jobs: int | None = None) -> None:
        self.checkpoint = checkpoint
        self._counter = request.counter(n_jobs)
        self._request = request
        self._committed = Committed(None, {}, self._counter.take_label_uses())
        self._n_written = 0
        self._uncommitted: dict[str, str] = {}
        self._next_commit = time.monotonic()
        self._next_writing = time.monotonic() + SHORTEST_PAUSE

    def open(self, files: list[Path], *, resume: bool) -> list[RecordStream]:
        """Return the records of the files that are not in the checkpoint yet, for `run`."""
        if resume:
            self._restore(files)
        elif self.checkpoint.exists():
            give_notice(f"{self.checkpoint} of an earlier run is not used without --resume.")
        streams = self._open_records(files)
        left = []
        for stream in streams:
            if self._is_finished(stream):
                stream.pass_over()
            else:
                left.append(stream)
        return left

    def run(self, streams: Iterable[RecordStream], progress: Progress | None = None) -> Moments:
        """Count, and return the moments of these records and of those counted before."""
        try:
            for stream in streams:
                self._count(stream, progress)
            self._commit()
        except KeyboardInterrupt:
            self._write_checkpoint()
            raise
        assert self._committed.total is not None
        self._counter.check_labels()
        if isinstance(self._request.labels, LabelTable):
            self._request.labels.check_uses(self._committed.label_uses)
        return self._committed.total

    def _open_records(self, files: list[Path]) -> list[RecordStream]:
        return open_records(files, self._request.plan.structure, self._request.form)

    def _is_finished(self, stream: RecordStream) -> bool:
        finished = [str(file.resolve()) in self._committed.files for file in stream.files]
        if any(finished) and not all(finished):
            raise FileError(
                f"{stream.files[finished.index(True)]} was counted, but shares records with "
                f"{stream.files[finished.index(False)]}; start again without --resume."
            )
        return all(finished)

    def _count(self, stream: RecordStream, progress: Progress | None) -> None:
        try:
            before = _identities(stream.files)
            self._counter.add_blocks(stream.blocks, progress)
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
        uses = self._committed.label_uses + self._counter.take_label_uses()
        self._committed = Committed(counted if total is None else total + counted, files, uses)
        self._uncommitted = {}
        end = time.monotonic()
        self._next_commit = end + 10 * (end - start)

    def _rescue(self) -> int:
        """Count once more the files that a broken one would take down; write all down."""
        self._counter.discard()
        again = [Path(file) for file in self._uncommitted]
        if again:
            for stream in self._open_records(again):
                self._counter.add_blocks(stream.blocks)
        self._commit()
        self._write_checkpoint()
        return len(self._committed.files)

    def _write_checkpoint(self) -> None:
        start = time.monotonic()
        total, files, uses = self._committed
        if total is not None and len(files) > self._n_written:
            columns = total.to_columns() | {
                "finished": list(files),
                "identities": list(files.values()),
                "options": self._options,
                "label_uses": uses,
            }
            try:
                documents.write_arrow_document(self.checkpoint, FORMAT, VERSION, columns)
                self._n_written = len(files)
            except FileError as error:
                give_notice(f"{error} The counting goes on, but could not be resumed.")
        end = time.monotonic()
        self._next_writing = end + max(SHORTEST_PAUSE, 10 * (end - start))

    @property
    def _options(self) -> list[str]:
        form, labels = self._request.form, self._request.labels
        return [repr(form), *([labels.fingerprint] if isinstance(labels, LabelTable) else [])]

    def _restore(self, files: list[Path]) -> None:
        """Take up what an earlier run finished, if it still holds."""
        if not self.checkpoint.exists():
            return
        if isinstance(self._request.labels, Labels):
            raise ParameterError(
                "labels without ids go by the order of all records, of which some are not read "
                "again: give them a column of ids, or start again without --resume."
            )
        columns = documents.read_arrow_document(self.checkpoint, {FORMAT: VERSION})
        total = Moments.from_columns(columns, self.checkpoint)
        same_work = (total.plan, total.n_groups) == (self._request.plan, self._request.n_groups)
        if not same_work or columns["options"].tolist() != self._options:
            raise FileError(
                f"{self.checkpoint} was counted for another structure, plan, number of groups, "
                "with other labels or with other options; start again without --resume."
            )
        finished = dict(
            zip(columns["finished"].tolist(), columns["identities"].tolist(), strict=True)
        )
        now = _identities(files)
        for file, identity in finished.items():
            if now.get(file) != identity:
                problem = "has changed since" if file in now else "is not among the files, but"
                raise FileError(f"{file} {problem} it was counted; start again without --resume.")
        uses = self._committed.label_uses
        if len(uses):  # files of older versions have no labels, and no column of their uses
            uses = columns["label_uses"].astype(np.int64).reshape(len(uses))
        self._committed = Committed(total, finished, uses)
        self._n_written = len(finished)


def save_somewhere(moments: Moments, path: Path) -> None:
    """Write moments; if the disk is full, write them elsewhere rather than lose them."""
    try:
        moments.save(path)
    except FileError as error:
        try:
            refuge = Path(tempfile.mkdtemp(prefix="noisyor-")) / path.name
            moments.save(refuge)
        except (FileError, OSError) as second:
            raise FileError(f"{error} Nor elsewhere: {second}") from None
        raise FileError(f"{error} The counts were saved as {refuge} instead.") from None


def _identities(files: Iterable[Path]) -> dict[str, str]:
    """Return for each file what differs after a change."""
    status = {str(file.resolve()): file.stat() for file in files}
    return {file: f"{each.st_size} {each.st_mtime_ns}" for file, each in status.items()}
