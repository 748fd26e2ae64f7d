"""Where files are, and opening them."""

import gzip
import io
import lzma
import os
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

from noisyor.errors import FileAccessError, FileError, NoisyOrError, quoted

PathLike = str | os.PathLike[str]


def as_path(path: PathLike) -> Path:
    """Return a path, or say what was given in place of one."""
    try:
        found = Path(path)
        str(found).encode()
    except TypeError:
        raise FileError(f"expected the path of a file, not {type(path).__name__}.") from None
    except UnicodeEncodeError:
        # Neither Arrow's files nor our own documents could hold such a name.
        raise FileError(f"{quoted(str(path))}: the name is not UTF-8; rename the file.") from None
    return found


def real_path(path: PathLike) -> Path:
    """Return where links lead; unlike `Path.resolve`, that of links in a circle, too."""
    return Path(os.path.realpath(path))


def existing_file(path: PathLike) -> Path:
    """Return the path of a readable, non-empty file, or say what is wrong with it."""
    file = as_path(path)
    try:
        if file.is_dir():
            raise FileError(f"{file} is a directory; give a file.")
        if not file.exists():
            raise FileAccessError(f"{file} does not exist.")
        if not file.is_file():  # opening a pipe would wait for ever, a device never ends
            raise FileError(
                f"{file} is not a regular file (but a pipe, socket or device); save what it gives "
                "to a file first."
            )
        if file.stat().st_size == 0:
            raise FileError(f"{file} is empty; was it written to the end?")
        with file.open("rb"):
            return file
    except OSError as error:
        raise unreadable(file, error) from None
    except ValueError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{quoted(str(path))} is not a path: {error}.") from None


def unreadable(file: Path | str, error: BaseException) -> FileError:
    """Turn an operating system's or library's complaint about reading into one sentence."""
    is_damaged = isinstance(error, gzip.BadGzipFile)  # though it is an OSError
    may_pass = isinstance(error, OSError) and not is_damaged
    kind = FileAccessError if may_pass else FileError
    return kind(f"{file} cannot be read: {one_line(error)}")


def unwritable(file: Path | str, error: BaseException) -> FileError:
    """Turn an operating system's or library's complaint about writing into one sentence."""
    return FileError(f"{file} cannot be written: {one_line(error)}")


def one_line(error: BaseException) -> str:
    """Return what an error says as one line with a full stop."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(reason.split()).rstrip(".") + "."


@contextmanager
def damage_named(file: Path | str, kind: str) -> Iterator[None]:
    """Name the file in whatever pyarrow says about damaged bytes."""
    import pyarrow as pa

    try:
        yield
    except NoisyOrError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError, OverflowError) as error:
        is_of_arrow = isinstance(error, pa.ArrowException)
        if isinstance(error, OSError) and error.strerror and not is_of_arrow:
            raise unreadable(file, error) from None
        reason = one_line(error)[:200].rstrip(".")
        raise FileError(
            f"{file} is not a readable {kind} file; it may be truncated or damaged ({reason})."
        ) from None


def check_differ(files: Iterable[PathLike]) -> None:
    """Raise an error where a file is given twice, also by a link."""
    seen: dict[object, PathLike] = {}
    for file in files:
        status = None if is_uri(file) else Path(file).stat()
        key = str(file) if status is None else (status.st_dev, status.st_ino)
        if key in seen:
            before = seen[key]
            also = "more than once" if str(before) == str(file) else f"also by the link {file}"
            raise FileError(f"{before} is named {also}; it would be counted twice.")
        seen[key] = file


# --- files on this machine or behind a pyarrow file system (s3://, gs://, hdfs://) ---


def is_uri(source: object) -> bool:
    """Return True if a text names a file by a scheme, as in s3://bucket/records.parquet."""
    return isinstance(source, str) and "://" in source


_ARROW_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
PACKINGS = (*_ARROW_CODECS, ".xz", ".zip")
"""Endings of compressed files."""


class FileSource:
    """A file that exists, with its name for messages; cheap to send to another machine.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"a,b")
    ...     file.flush()
    ...     FileSource(f"file://{file.name}").size
    3
    """

    def __init__(self, source: Any) -> None:
        self.path = None if is_uri(source) else existing_file(source)
        """The path on this machine, if it is there."""
        self.name = str(self.path or source)
        self.file_name = PurePath(self.name).name
        """The name without its directories."""
        self.packing = next((end for end in PACKINGS if self.file_name.lower().endswith(end)), "")
        """The ending that says how it is compressed, or nothing."""

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.state[0]

    @property
    def state(self) -> tuple[int, int]:
        """How many bytes it has, and when it was written to, in nanoseconds since 1970."""
        try:
            if self.path is not None:
                status = self.path.stat()
                return status.st_size, status.st_mtime_ns
            system, path = self._system()
            info = system.get_file_info(path)
        except OSError as error:
            raise unreadable(self.name, error) from None
        if info.size is None:
            raise FileAccessError(f"{self.name} does not exist, or is not a file.")
        return int(info.size), int(info.mtime_ns or 0)

    def open(self) -> Any:
        """Open for reading at any position, as a pyarrow file."""
        import pyarrow as pa

        if self.path is not None:
            return pa.OSFile(str(self.path), "rb")
        system, path = self._system()
        try:
            return system.open_input_file(path)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(self.name, error) from None

    def open_stream(self) -> Any:
        """Open for reading from the beginning, decompressed, as a pyarrow file."""
        import pyarrow as pa

        if self.packing in _ARROW_CODECS or not self.packing:
            return pa.input_stream(self.open(), compression=_ARROW_CODECS.get(self.packing))
        return pa.PythonFile(self.open_unpacked(), "r")

    def open_unpacked(self) -> Any:
        """Open for reading from the beginning, decompressed, as a Python file."""
        if self.packing == ".gz":  # unlike Arrow's, it notices a file that was cut off
            return gzip.open(self.open(), "rb")
        if self.packing == ".xz":
            return lzma.open(self.open(), "rb")
        if self.packing == ".zip":
            return self._open_zipped()
        return io.BufferedReader(self.open_stream())

    def _open_zipped(self) -> Any:
        try:
            archive = zipfile.ZipFile(io.BufferedReader(self.open()))
            members = [each for each in archive.namelist() if not each.endswith("/")]
            if len(members) != 1:
                raise FileError(
                    f"{self.name} holds {len(members)} files; give one that holds a single table."
                )
            return archive.open(members[0])
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError) as error:
            if isinstance(error, FileError):
                raise
            raise unreadable(self.name, error) from None

    def _system(self) -> tuple[Any, str]:
        import pyarrow as pa
        from pyarrow import fs

        try:
            found: tuple[Any, str] = fs.FileSystem.from_uri(self.name)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise FileError(
                f"{self.name} cannot be opened: {error}. Schemes are those of your pyarrow: "
                "file://, s3://, gs://, hdfs://, abfs://."
            ) from None
        return found
