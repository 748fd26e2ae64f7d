"""Records in whatever form callers have them."""

from typing import Any

from noisyor.findings.findings import Findings
from noisyor.findings.reading import ReadOptions, RecordFormat, record_streams
from noisyor.structure import Structure


def as_source(records: Any, structure: Structure) -> Any:
    """Return arrays and sparse matrices as findings; what has names or is a path stays."""
    if hasattr(records, "tocsr"):
        return Findings.from_sparse(records, structure)
    is_rows = isinstance(records, list | tuple) and bool(records)
    is_rows = is_rows and isinstance(records[0], list | tuple)
    has_names = (
        hasattr(records, "__arrow_c_stream__")
        or isinstance(records, Findings)
        or hasattr(records, "to_delayed")  # a frame of Dask
    )
    if is_rows or (hasattr(records, "__array__") and not has_names):
        return Findings.from_numpy(records, structure)
    return records


def read_findings(source: Any, structure: Structure, options: ReadOptions) -> Findings:
    """Read tables or files into memory."""
    streams = record_streams(source, structure, RecordFormat(**options))
    return Findings(structure, [block for stream in streams for block in stream.blocks])
