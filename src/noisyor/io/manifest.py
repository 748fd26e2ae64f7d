"""Which files are read, as they were at first: all passes over records must see the same ones."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from noisyor.errors import ChangedFileError, FileError
from noisyor.io.paths import FileSource, is_uri


class FileState(NamedTuple):
    """What differs after a file was written to."""

    size: int
    modified: int
    """Nanoseconds since 1970, as the file system says."""


def state_of(source: Any) -> FileState:
    """Return the state of a file, given by its path or address."""
    return FileState(*FileSource(source).state)


def check_unchanged(source: Any, state: FileState) -> None:
    """Raise an error that names a file if it is not as it was."""
    try:
        now = state_of(source)
    except FileError as error:
        raise ChangedFileError(
            f"{error} It was there when the work began: the result would mix different records. "
            "Start again."
        ) from None
    if now != state:
        changed = _change(state, now)
        raise ChangedFileError(
            f"{source} was changed while the work went on ({changed}): the result would mix "
            "different records. Start again when nobody writes to it."
        )


def _change(before: FileState, now: FileState) -> str:
    if before.size != now.size:
        return f"it had {before.size:,} bytes and has {now.size:,}"
    return "it has another time of modification"


class Manifest:
    """The files that are read in several passes, and how many records the first pass found.

    >>> manifest = Manifest([])
    >>> manifest.end_pass(1000)
    >>> manifest.end_pass(999)
    Traceback (most recent call last):
    ...
    noisyor.errors.ChangedFileError: there are 999 records in this pass over them, and there were \
1,000 in the first: the result would mix different records. Give files that nobody writes to, or a \
table that gives the same rows each time.
    """

    def __init__(self, sources: Iterable[Any]) -> None:
        self._states = {
            str(each): state_of(each) for each in sources if is_uri(each) or _is_path(each)
        }
        self.n_records: int | None = None

    def check_files(self) -> None:
        """Raise an error that names the first file that was changed."""
        for source, state in self._states.items():
            check_unchanged(source, state)

    def end_pass(self, n_records: int) -> None:
        """Raise an error unless a pass has seen the files and records of the first."""
        self.check_files()
        if self.n_records is None:
            self.n_records = n_records
        elif self.n_records != n_records:
            raise ChangedFileError(
                f"there are {n_records:,} records in this pass over them, and there were "
                f"{self.n_records:,} in the first: the result would mix different records. Give "
                "files that nobody writes to, or a table that gives the same rows each time."
            )


def _is_path(source: Any) -> bool:
    return isinstance(source, str) or hasattr(source, "__fspath__")
