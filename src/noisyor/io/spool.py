"""Arrow batches parked on disk: streams that come only once, rows that must be regrouped."""

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from noisyor.errors import FileError
from noisyor.io.unfinished import forget, keep_in_mind


class Spool:
    """A temporary file of batches with one schema; it vanishes with the object.

    >>> spool = Spool(pa.schema({"x": pa.int64()}))
    >>> spool.append(pa.record_batch({"x": [1, 2, 3]}))
    >>> [batch.num_rows for batch in spool], spool.n_rows
    ([3], 3)
    """

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.n_rows = 0
        with _disk_errors():
            folder = Path(tempfile.mkdtemp(prefix="noisyor-"))
            keep_in_mind(folder)
            weakref.finalize(self, _remove, folder)
            self._path = str(folder / "rows.arrow")
            self._sink = pa.OSFile(self._path, "wb")
            self._writer: Any = pa.ipc.new_stream(self._sink, schema)

    def append(self, batch: Any) -> None:
        """Add a batch at the end."""
        with _disk_errors():
            self._writer.write_batch(batch)
        self.n_rows += batch.num_rows

    def __iter__(self) -> Iterator[Any]:
        with _disk_errors():
            self._finish()
            with pa.OSFile(self._path, "rb") as source:
                yield from pa.ipc.open_stream(source)

    def _finish(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._sink.close()
            self._writer = None


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Say where the temporary files are and how to move them, when the disk refuses."""
    try:
        yield
    except OSError as error:
        raise FileError(
            f"temporary files in {tempfile.gettempdir()} failed: {error.strerror or error}. "
            "Set the environment variable TMPDIR to a directory with more room."
        ) from None


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    forget(folder)
