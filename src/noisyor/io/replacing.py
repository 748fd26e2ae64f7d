"""Writing files beside their targets, which they replace when all is done; nothing half-written.

with replaced_together():
    network.save("learned.json")
    estimate.save_summary("learned.csv")
"""

import hashlib
import os
import platform
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from noisyor.errors import FileError
from noisyor.io.paths import PathLike, as_path, real_path, unwritable


@contextmanager
def replaced_when_done(path: PathLike) -> Iterator[Path]:
    """Give a path beside the target to write to; rename it to the target only on success.

    Whatever interrupts the writing (an error, a full disk, Ctrl-C) leaves the target as it was
    and removes the part that was written. Within `replaced_together` the renaming waits for the
    other files.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replaced_when_done(Path(folder) / "greeting.txt") as part:
    ...         _ = part.write_text("hello")
    ...     [file.name for file in Path(folder).iterdir()]
    ['greeting.txt']
    """
    with replaced_together() as group, group.written(path) as part:
        yield part


@contextmanager
def replaced_together() -> Iterator["FileGroup"]:
    """Let all files that are written inside be replaced at the end, together or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replaced_together():
    ...         for name in "a.txt", "b.txt":
    ...             with replaced_when_done(Path(folder) / name) as part:
    ...                 _ = part.write_text(name)
    ...         print([file for file in Path(folder).iterdir() if file.suffix == ".txt"])
    ...     sorted(file.name for file in Path(folder).iterdir())
    []
    ['a.txt', 'b.txt']
    """
    outer = _group.get()
    if outer is not None:  # part of a larger group
        yield outer
        return
    group = FileGroup()
    token = _group.set(group)
    try:
        yield group
        group.swap()
    finally:
        _group.reset(token)
        for part in group.parts.values():
            _discard(part)


class FileGroup:
    """Files that are written beside their targets and replace them at once."""

    def __init__(self) -> None:
        self.parts: dict[Path, Path] = {}
        """Of each target, what will replace it."""

    @contextmanager
    def written(self, path: PathLike) -> Iterator[Path]:
        """Give a path beside the target to write to."""
        target = real_path(_checked(path))  # a link stays a link to the file that is replaced
        if target in self.parts:
            raise FileError(f"{target} is given for two different outputs.")
        part = _beside(target, ".part")
        keep_in_mind(part)
        try:
            remove_stale(target, ".part")
            part.touch(exist_ok=False)
            if target.exists():
                shutil.copymode(target, part)
            yield part
            _sync(part)
        except OSError as error:
            _discard(part)
            raise unwritable(target, error) from None
        except BaseException:
            _discard(part)
            raise
        self.parts[target] = part

    def swap(self) -> None:
        """Rename all, or leave all targets as they were."""
        target, old_files = Path(), dict[Path, Path | None]()
        try:
            if len(self.parts) > 1:  # one rename needs nothing to go back to
                for target in self.parts:
                    old_files[target] = _keep_old(target)
            for target, part in self.parts.items():
                part.replace(target)
        except BaseException as error:
            _put_back(old_files, self.parts)
            if isinstance(error, OSError):
                raise unwritable(target, error) from None
            raise
        finally:
            for old in filter(None, old_files.values()):
                _discard(old)
        for target in self.parts:
            remove_stale(target, ".old")


_group: ContextVar[FileGroup | None] = ContextVar("_group", default=None)


def _keep_old(target: Path) -> Path | None:
    """Return a second name of a file, or a copy of it, to go back to; None where it is new."""
    if not target.exists():
        return None
    old = _beside(target, ".old")
    try:
        os.link(target, old)
    except OSError:  # not every file system has links
        try:
            shutil.copy2(target, old)
        except BaseException:
            _discard(old)
            raise
    return old


def _put_back(old_files: dict[Path, Path | None], parts: dict[Path, Path]) -> None:
    """Undo the renamings there were; where even that fails, say where the old file is."""
    lost = {}
    for target, old in list(old_files.items()):
        if parts[target].exists():  # it was not renamed
            continue
        try:
            if old is None:
                target.unlink(missing_ok=True)
            else:
                _move(old, target)
        except OSError:
            lost[target] = old_files.pop(target)
    for target, old in lost.items():
        where = f"what it held before is in {old}" if old else "there was none before"
        raise FileError(
            f"{target} was replaced, what belongs to it could not be, and it cannot be put back; "
            f"{where}."
        )


def _move(old: Path, target: Path) -> None:
    try:
        old.replace(target)
    except OSError:  # renaming may be what fails
        shutil.copyfile(old, target)


def _sync(part: Path) -> None:
    """Have the disk hold a file before its name does, should the power fail in between."""
    descriptor = os.open(part, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def replaced_folder(path: PathLike) -> Iterator[Path]:
    """Give a new folder beside the target to write to; rename it to the target only on success.

    The target must not exist, or be an empty folder.
    """
    target = real_path(path)
    part = _beside(target, ".part")
    keep_in_mind(part)
    try:
        part.mkdir(parents=True)
        remove_stale(target, ".part")
        yield part
        if os.name != "posix" and target.is_dir():  # elsewhere a rename replaces an empty folder
            target.rmdir()
        part.replace(target)
    except OSError as error:
        raise unwritable(target, error) from None
    finally:
        _discard(part)


def check_writable(paths: Iterable[PathLike], inputs: Iterable[PathLike] = ()) -> None:
    """Raise an error where a file cannot be written, or would overwrite an input or another.

    That it can be is tried: many reasons against it (a file system that is read-only or full,
    rights) are known only then.
    """
    read: set[Path] = set()
    for source in map(Path, inputs):
        # A folder is read through the files in it.
        read |= set(map(real_path, source.iterdir() if source.is_dir() else [source]))
    outputs, seen = list(paths), set[Path]()
    for path in outputs:
        target = _checked(path)
        real = real_path(target)
        if real in read:
            raise FileError(f"{target} is read and cannot be the output, too.")
        if real in seen:
            raise FileError(f"{target} is given for two different outputs.")
        seen.add(real)
    for path in outputs:
        _try_writing(as_path(path))


def _checked(path: PathLike) -> Path:
    """Return the path of a file that could be written, as far as its name says."""
    target = as_path(path)
    if target.is_dir():
        raise FileError(f"{target} is a directory; give a file to write.")
    if real_path(target).is_symlink():
        raise FileError(f"{target} is a link that leads to itself; give another file.")
    if target.exists() and not target.is_file():
        raise FileError(f"{target} is not a file that could be replaced.")
    if not target.parent.is_dir():
        raise FileError(
            f"{target} cannot be written: the directory {target.parent} does not exist."
        )
    return target


def _try_writing(path: Path) -> None:
    """Write a few bytes beside a target, and remove them."""
    target = real_path(path)
    part = _beside(target, ".part")
    keep_in_mind(part)
    try:
        part.write_bytes(b"noisyor")
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        _discard(part)


# --- what must not be left behind, should the program end in the middle ---

_paths: set[Path] = set()
MOST_ABANDONED = 7 * 24 * 3600.0
"""Seconds after which a part that nobody writes to is abandoned, whatever machine it is of."""


def keep_in_mind(path: Path) -> None:
    """Remember something that is removed when the work on it is done."""
    _paths.add(path)


def forget(path: Path) -> None:
    """The work on it is done."""
    _paths.discard(path)


def remove_unfinished() -> None:
    """Remove what is there of all that was not finished."""
    for path in list(_paths):
        _discard(path)


def _discard(path: Path) -> None:
    """Remove a file or folder, if it is there; never fail, since there may be more to rescue."""
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    forget(path)


def _beside(target: Path, ending: str) -> Path:
    """Return a new name beside a target, which says whose it is (see `remove_stale`)."""
    owner = f"{_machine()}-{os.getpid()}-{secrets.token_hex(4)}"
    return target.parent / f".{_label(target)}.{owner}{ending}"


def _label(target: Path) -> str:
    """Return the name of a target, cut so that what is added to it is not too long for a disk."""
    return target.name.encode()[:200].decode(errors="ignore")


@cache
def _machine() -> str:
    """Return a text that differs where the same number may be that of another process."""
    namespace = 0  # of process numbers: containers have their own
    with suppress(OSError):
        namespace = Path("/proc/self/ns/pid").stat().st_ino
    return hashlib.blake2s(f"{platform.node()} {namespace}".encode(), digest_size=4).hexdigest()


def remove_stale(target: Path, ending: str) -> None:
    """Remove what processes that were killed have left beside a target; never that of living ones.

    The names say of which process they are. Those of other machines, whose processes are not
    seen from here, are stale when nobody has written to them for a week.
    """
    name = re.escape(f".{_label(target)}.")
    form = re.compile(rf"{name}([0-9a-f]{{8}})-(\d+)-[0-9a-f]{{8}}{re.escape(ending)}")
    with suppress(OSError):
        for path in target.parent.iterdir():
            found = form.fullmatch(path.name)
            if found and _is_stale(path, found[1], int(found[2])):
                _discard(path)


def _is_stale(path: Path, machine: str, process: int) -> bool:
    if machine == _machine() and os.name == "posix":
        try:
            os.kill(process, 0)  # only asks
        except ProcessLookupError:
            return True
        except (OSError, OverflowError):
            return False
        return False
    return time.time() - path.stat().st_mtime > MOST_ABANDONED
