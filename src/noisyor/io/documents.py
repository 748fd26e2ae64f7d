"""Documents that carry the name and version of their format: JSON, and Arrow for large arrays.

A JSON document is an object whose `format` says what it is and whose `version` counts up when its
keys change. A reader takes every version up to its own, and refuses newer ones by name.

An Arrow document is an IPC file with one row; each column is a list with the elements of one array.
The schema's metadata has `format` and `version`. Compressed with zstd, written whole or not at all.
"""

import json
import math
import zlib
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from noisyor.errors import FileError, quoted
from noisyor.io.paths import PathLike, damage_named, existing_file, unreadable, unwritable
from noisyor.io.replacing import replaced_when_done

ENDINGS_OF_OTHERS = (".xdsl", ".bif", ".uai", ".csv", ".tsv", ".parquet", ".pq", ".xlsx", ".html")
"""What a reader would take for something else than JSON."""
LARGEST_TEXT = 1 << 30
"""Bytes of a file that is read whole: a network of ten million edges has fewer."""


def read_whole(path: PathLike) -> bytes:
    """Return all bytes of a file that is not too large for that."""
    file = existing_file(path)
    try:
        size = file.stat().st_size
        if size > LARGEST_TEXT:
            raise FileError(
                f"{file} has {size:,} bytes; a network, structure or schedule is read from files "
                f"of up to {LARGEST_TEXT:,}."
            )
        return file.read_bytes()
    except OSError as error:
        raise unreadable(file, error) from None


def read_text(path: PathLike) -> str:
    """Return the text of a file, which must be UTF-8."""
    try:
        text = read_whole(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8 text: byte {error.start} is invalid.") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def write_document(path: PathLike, kind: str, version: int, content: Mapping[str, Any]) -> None:
    """Write a document of the given kind, whole or not at all; never under another's ending."""
    name = str(path).lower()
    if name.endswith(ENDINGS_OF_OTHERS):
        raise FileError(
            f"{path}: a {kind} document is JSON, and this is the ending of another format. End it "
            "in .json; write_model and `noisyor convert` write networks in other formats."
        )
    document = {"format": kind, "version": version, **content}
    with replaced_when_done(path) as part, part.open("w", encoding="utf-8") as stream:
        # One line per key: a person can read the head of a file of thousands of edges.
        lines = (f"{json.dumps(key)}: {_compact(value)}" for key, value in document.items())
        stream.write("{\n" + ",\n".join(lines) + "\n}\n")


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read_document(path: PathLike, kinds: Mapping[str, int]) -> dict[str, Any]:
    """Read a document whose format is one of `kinds` (each with its newest known version)."""
    text, file = read_text(path), str(path)
    try:
        document = json.loads(text, object_pairs_hook=partial(_object, file))
    except json.JSONDecodeError as error:
        raise FileError(
            f"{file}, line {error.lineno}, column {error.colno}: not valid JSON ({error.msg}); "
            "the file may be truncated or damaged."
        ) from None
    except RecursionError:
        raise FileError(f"{file} is nested too deeply for a document.") from None
    except ValueError as error:
        if isinstance(error, FileError):
            raise
        raise unreadable(file, error) from None
    check_format(file, document, kinds)
    return dict(document)


def _object(file: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; a key that it has twice is refused: nobody knows which one counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise FileError(
            f"{file}: the key {quoted(twice)} is given more than once; leave one of them."
        )
    return found


def check_format(file: str, document: Any, kinds: Mapping[str, int]) -> None:
    """Raise an error if a document is of another kind, or of a version that is not known yet."""
    wanted = " or ".join(kinds)
    if not isinstance(document, dict):
        raise FileError(f"{file} is JSON but not a {wanted} document: it is not an object.")
    kind, version = document.get("format"), document.get("version")
    if not isinstance(kind, str) or kind not in kinds:
        raise FileError(f"{file} is not a {wanted} document: its 'format' is {quoted(kind)}.")
    if type(version) is not int or version < 1:
        raise FileError(f"{file}: 'version' must be a whole number from 1, not {quoted(version)}.")
    if version > kinds[kind]:
        raise FileError(
            f"{file} has version {quoted(version)} of {kind}; this noisyor reads up to version "
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
        if not is_finite_number(value):
            raise FileError(f"{file}: '{key}' entry {position} is {quoted(value)}, not a number.")
    return values


def is_finite_number(value: Any) -> bool:
    """Return True for a number of JSON that floating point can hold."""
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
            raise FileError(f"{file}: '{key}' entry {position} is {quoted(value)}, not a name.")
    return values


# --- Arrow ---


def write_arrow_document(
    path: PathLike, kind: str, version: int, columns: Mapping[str, Any]
) -> None:
    """Write arrays (or lists of texts) under their names."""
    import pyarrow as pa

    flat = [pa.array(values) for values in columns.values()]
    lists = [pa.LargeListArray.from_arrays(pa.array([0, len(each)]), each) for each in flat]
    batch = pa.RecordBatch.from_arrays(lists, names=list(columns))
    checksum = _checksum({name: _plain(each) for name, each in zip(columns, flat, strict=True)})
    metadata = {"format": kind, "version": str(version), "checksum": checksum}
    batch = batch.replace_schema_metadata(metadata)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with replaced_when_done(path) as part:
        try:
            with (
                pa.OSFile(str(part), "wb") as sink,
                pa.ipc.new_file(sink, batch.schema, options=options) as writer,
            ):
                writer.write_batch(batch)
        except pa.ArrowException as error:
            raise unwritable(str(path), error) from None


def read_arrow_document(path: PathLike, kinds: Mapping[str, int]) -> dict[str, Any]:
    """Read the arrays of a file whose format is one of `kinds` (with its newest known version).

    The result also has the keys `format` and `version`.
    """
    import pyarrow as pa

    file = existing_file(path)
    with damage_named(file, " or ".join(kinds)):
        with pa.OSFile(str(file), "rb") as source:
            table = pa.ipc.open_file(source).read_all()
        table.validate(full=True)
        metadata = {
            key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()
        }
        version = metadata.get("version", "")
        document = {
            "format": metadata.get("format"),
            "version": int(version) if version.isdecimal() else version,
        }
        check_format(str(file), document, kinds)
        columns = {name: _values(table.column(name)) for name in table.column_names}
        # Files of older versions have none.
        if metadata.get("checksum", "") not in ("", _checksum(columns)):
            raise FileError(f"{file} is damaged: it does not hold what was written.")
        return ArrowDocument(file, document | columns)


class ArrowDocument(dict[str, Any]):
    """What an Arrow document holds; to ask for a column that it lacks is an error that says so."""

    def __init__(self, file: PathLike, content: Mapping[str, Any]) -> None:
        super().__init__(content)
        self._file = file

    def __missing__(self, name: str) -> Any:
        raise FileError(f"{self._file}: the column {quoted(name)} is missing.")


def _checksum(columns: Mapping[str, Any]) -> str:
    """Return a text that changes with any bit of the names and arrays."""
    found = 0
    for name, values in columns.items():
        is_text = values.dtype == object
        content = "\0".join(map(str, values)).encode() if is_text else values.view(np.uint8)
        found = zlib.crc32(content, zlib.crc32(name.encode(), found))
    return f"{found:08x}"


class ArrowSaved:
    """Something that is saved as an Arrow document (docs/formats.md)."""

    __slots__ = ()
    FORMAT: ClassVar[str]
    VERSION: ClassVar[int]

    def to_columns(self) -> dict[str, Any]:
        """Return the arrays of a file, under their names."""
        raise NotImplementedError

    @classmethod
    def from_columns(cls, columns: dict[str, Any], path: PathLike) -> Self:
        """Build from the arrays of a file."""
        raise NotImplementedError

    def save(self, path: PathLike) -> None:
        """Write an Arrow file."""
        write_arrow_document(path, self.FORMAT, self.VERSION, self.to_columns())

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote."""
        return cls.from_columns(read_arrow_document(path, {cls.FORMAT: cls.VERSION}), path)


def _values(column: Any) -> Any:
    import pyarrow as pa

    if len(column) != 1 or not pa.types.is_large_list(column.type):
        raise TypeError("a column is not one list")
    flat = column.combine_chunks().flatten()
    if isinstance(flat, pa.ChunkedArray):
        flat = flat.combine_chunks()
    if flat.null_count:
        raise TypeError("a column has empty entries")
    return _plain(flat)


def _plain(flat: Any) -> Any:
    """Return an Arrow array as numpy has it."""
    values = flat.to_numpy(zero_copy_only=False)
    return values if values.dtype == object else np.ascontiguousarray(values)
