"""Arrow files that hold some named arrays, and carry the name and version of their format.

An Arrow IPC file with one row; each column is a list with the elements of one array. The schema's
metadata has `format` and `version`. Compressed with zstd, written whole or not at all.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from noisyor.errors import FileError
from noisyor.io.documents import check_format
from noisyor.io.paths import PathLike, existing_file, replaced_when_done, unwritable


def write_arrow_document(
    path: PathLike, kind: str, version: int, columns: Mapping[str, Any]
) -> None:
    """Write arrays (or lists of texts) under their names."""
    arrays, fields = [], []
    for name, values in columns.items():
        flat = pa.array(values)
        offsets = pa.array([0, len(flat)], pa.int64())
        column = pa.LargeListArray.from_arrays(offsets, flat)
        arrays.append(column)
        fields.append(pa.field(name, column.type))
    schema = pa.schema(fields, metadata={"format": kind, "version": str(version)})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with replaced_when_done(path) as part:
        try:
            with (
                pa.OSFile(str(part), "wb") as sink,
                pa.ipc.new_file(sink, schema, options=options) as writer,
            ):
                writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
        except pa.ArrowException as error:
            raise unwritable(str(path), error) from None


def read_arrow_document(path: PathLike, kinds: Mapping[str, int]) -> dict[str, Any]:
    """Read the arrays of a file whose format is one of `kinds` (with its newest known version).

    The result also has the keys `format` and `version`.
    """
    file = existing_file(path)
    try:
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
        return document | {name: _values(table.column(name)) for name in table.column_names}
    except (
        pa.ArrowException,
        OSError,
        UnicodeError,
        TypeError,
        MemoryError,
        OverflowError,
    ) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        wanted = " or ".join(kinds)
        raise FileError(
            f"{file} is not a readable {wanted} file; it may be truncated or damaged ({reason})."
        ) from None


def _values(column: Any) -> Any:
    if len(column) != 1 or not pa.types.is_large_list(column.type):
        raise TypeError("a column is not one list")
    flat = column.combine_chunks().flatten()
    if isinstance(flat, pa.ChunkedArray):
        flat = flat.combine_chunks()
    if flat.null_count:
        raise TypeError("a column has empty entries")
    values = flat.to_numpy(zero_copy_only=False)
    return values if values.dtype == object else np.ascontiguousarray(values)
