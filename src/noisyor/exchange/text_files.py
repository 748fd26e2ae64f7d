"""Text files of other software: read whole, and written line by line."""

from collections.abc import Iterable

from noisyor.errors import FileError
from noisyor.io.paths import PathLike, existing_file, replaced_when_done, unreadable


def read_text(path: PathLike) -> str:
    """Return the text of a file, which must be UTF-8."""
    file = existing_file(path)
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{file} is not UTF-8 text: byte {error.start} is invalid.") from None
    except OSError as error:
        raise unreadable(file, error) from None


def write_lines(path: PathLike, lines: Iterable[str]) -> None:
    """Write lines as UTF-8; the file appears when all are written."""
    with (
        replaced_when_done(path) as part,
        part.open("w", encoding="utf-8", newline="\n") as stream,
    ):
        for line in lines:
            stream.write(line + "\n")
