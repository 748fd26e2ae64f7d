"""JSON documents that carry the name and version of their format.

A document is an object whose `format` says what it is and whose `version` counts up when its
keys change. A reader takes every version up to its own, and refuses newer ones by name.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from noisyor.errors import FileError
from noisyor.io.paths import PathLike, existing_file, replaced_when_done, unreadable


def write_document(path: PathLike, kind: str, version: int, content: Mapping[str, Any]) -> None:
    """Write a document of the given kind, whole or not at all."""
    document = {"format": kind, "version": version, **content}
    with replaced_when_done(path) as part, part.open("w", encoding="utf-8") as stream:
        # One line per key: a person can read the head of a file of thousands of edges.
        lines = (f"{json.dumps(key)}: {_compact(value)}" for key, value in document.items())
        stream.write("{\n" + ",\n".join(lines) + "\n}\n")


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read_document(path: PathLike, kinds: Mapping[str, int]) -> dict[str, Any]:
    """Read a document whose format is one of `kinds` (each with its newest known version)."""
    file = existing_file(path)
    try:
        document = json.loads(file.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FileError(f"{file} is not UTF-8 text: byte {error.start} is invalid.") from None
    except json.JSONDecodeError as error:
        raise FileError(
            f"{file}, line {error.lineno}, column {error.colno}: not valid JSON ({error.msg}); "
            "the file may be truncated or damaged."
        ) from None
    except (OSError, RecursionError, ValueError) as error:
        raise unreadable(file, error) from None
    check_format(str(file), document, kinds)
    return dict(document)


def check_format(file: str, document: Any, kinds: Mapping[str, int]) -> None:
    """Raise an error if a document is of another kind, or of a version that is not known yet."""
    wanted = " or ".join(kinds)
    if not isinstance(document, dict):
        raise FileError(f"{file} is JSON but not a {wanted} document: it holds no object.")
    kind, version = document.get("format"), document.get("version")
    if not isinstance(kind, str) or kind not in kinds:
        raise FileError(f"{file} is not a {wanted} document: its 'format' is {kind!r}.")
    if type(version) is not int or version < 1:
        raise FileError(f"{file}: 'version' must be a whole number from 1, not {version!r}.")
    if version > kinds[kind]:
        raise FileError(
            f"{file} has version {version} of {kind}; this noisyor reads up to version "
            f"{kinds[kind]}. Install a newer noisyor."
        )


def field_of(document: Mapping[str, Any], key: str, file: PathLike) -> list[Any]:
    """Return the list under a key, or say that it is missing or no list."""
    value = document.get(key)
    if not isinstance(value, list):
        problem = "is missing" if key not in document else "must be a list"
        raise FileError(f"{file}: '{key}' {problem}.")
    return value


def numbers_of(document: Mapping[str, Any], key: str, file: PathLike) -> list[float]:
    """Return the list of finite numbers under a key."""
    values = field_of(document, key, file)
    for position, value in enumerate(values):
        if not _is_finite_number(value):
            raise FileError(f"{file}: '{key}' entry {position} is {value!r}, not a number.")
    return values


def _is_finite_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the range of floating point
        return False


def names_of(document: Mapping[str, Any], key: str, file: PathLike) -> list[str]:
    """Return the list of texts under a key."""
    values = field_of(document, key, file)
    for position, value in enumerate(values):
        if not isinstance(value, str):
            raise FileError(f"{file}: '{key}' entry {position} is {value!r}, not a name.")
    return values
