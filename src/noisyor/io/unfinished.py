"""Files and folders that must not be left behind, should the program end in the middle."""

import shutil
from contextlib import suppress
from pathlib import Path

_paths: set[Path] = set()


def keep_in_mind(path: Path) -> None:
    """Remember something that is removed when the work on it is done."""
    _paths.add(path)


def forget(path: Path) -> None:
    """The work on it is done."""
    _paths.discard(path)


def remove_unfinished() -> None:
    """Remove what is there of all that was not finished."""
    for path in list(_paths):
        with suppress(OSError):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
