"""Opening and replacing files, with errors that name them."""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from noisyor.errors import FileError
from noisyor.io.unfinished import forget, keep_in_mind

PathLike = str | os.PathLike[str]


def existing_file(path: PathLike) -> Path:
    """Return the path of a readable, non-empty file, or say what is wrong with it."""
    file = Path(path)
    try:
        if file.is_dir():
            raise FileError(f"{file} is a directory; give a file.")
        if not file.exists():
            raise FileError(f"{file} does not exist.")
        if file.is_file() and file.stat().st_size == 0:
            raise FileError(f"{file} is empty; was it written to the end?")
        with file.open("rb"):
            return file
    except OSError as error:
        raise unreadable(file, error) from None
    except ValueError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{str(path)!r} is not a path: {error}.") from None


def unreadable(file: Path | str, error: BaseException) -> FileError:
    """Turn an operating system's or library's complaint about reading into one sentence."""
    return FileError(f"{file} cannot be read: {_one_line(error)}")


def unwritable(file: Path | str, error: BaseException) -> FileError:
    """Turn an operating system's or library's complaint about writing into one sentence."""
    return FileError(f"{file} cannot be written: {_one_line(error)}")


def _one_line(error: BaseException) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(reason.split()).rstrip(".") + "."


@contextmanager
def replaced_when_done(path: PathLike) -> Iterator[Path]:
    """Give a path beside the target to write to; rename it to the target only on success.

    Whatever interrupts the writing (an error, a full disk, Ctrl-C) leaves the target as it was
    and removes the part that was written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replaced_when_done(Path(folder) / "greeting.txt") as part:
    ...         _ = part.write_text("hello")
    ...     [file.name for file in Path(folder).iterdir()]
    ['greeting.txt']
    """
    check_writable([path])
    target = Path(path).resolve()  # a link stays a link to the file that is replaced
    part = target.parent / f".{target.name}.{secrets.token_hex(4)}.part"
    keep_in_mind(part)
    try:
        part.touch(exist_ok=False)
        if target.exists():
            shutil.copymode(target, part)
        yield part
        part.replace(target)
    except OSError as error:
        raise unwritable(target, error) from None
    finally:
        with suppress(FileNotFoundError):
            part.unlink()
        forget(part)


def check_writable(paths: Iterable[PathLike], inputs: Iterable[PathLike] = ()) -> None:
    """Raise an error where a file cannot be written, or would overwrite an input or another."""
    read: set[Path] = set()
    for source in map(Path, inputs):
        # A folder is read through the files in it.
        read |= {file.resolve() for file in (source.iterdir() if source.is_dir() else [source])}
    seen: set[Path] = set()
    for path in paths:
        target = Path(path)
        if target.is_dir():
            raise FileError(f"{target} is a directory; give a file to write.")
        if target.exists() and not target.is_file():
            raise FileError(f"{target} is not a file that could be replaced.")
        if target.resolve() in read:
            raise FileError(f"{target} is read and cannot be the output, too.")
        if not target.parent.is_dir():
            raise FileError(
                f"{target} cannot be written: the directory {target.parent} does not exist."
            )
        if target.resolve() in seen:
            raise FileError(f"{target} is given for two different outputs.")
        seen.add(target.resolve())
