"""Where a file is: on this machine, or behind a file system of pyarrow (s3://, gs://, hdfs://)."""

from pathlib import Path, PurePosixPath
from typing import Any

from noisyor.errors import FileError
from noisyor.io.paths import existing_file, unreadable


def is_uri(source: object) -> bool:
    """Say whether a text names a file by a scheme, as in s3://bucket/records.parquet."""
    return isinstance(source, str) and "://" in source


class Location:
    """A file that exists, with its name for messages; cheap to send to another machine.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"a,b")
    ...     file.flush()
    ...     Location(f"file://{file.name}").size
    3
    """

    def __init__(self, source: Any) -> None:
        self.is_remote = is_uri(source)
        if self.is_remote:
            self.name = str(source)
            self._path: Path | PurePosixPath = PurePosixPath(self.name)
        else:
            self._path = existing_file(source)
            self.name = str(self._path)

    @property
    def file_name(self) -> str:
        """The name without its directories."""
        return self._path.name

    @property
    def path(self) -> Path | None:
        """The path on this machine, if it is there."""
        return None if self.is_remote or not isinstance(self._path, Path) else self._path

    @property
    def size(self) -> int:
        """How many bytes it has."""
        if self.path is not None:
            return self.path.stat().st_size
        system, path = self._system()
        return int(system.get_file_info(path).size or 0)

    def open(self) -> Any:
        """Open for reading at any place, as a file of pyarrow."""
        import pyarrow as pa

        if self.path is not None:
            return pa.OSFile(str(self.path), "rb")
        system, path = self._system()
        try:
            return system.open_input_file(path)
        except (OSError, pa.ArrowException) as error:
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
