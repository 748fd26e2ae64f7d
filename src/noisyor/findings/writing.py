"""Blocks of records as Arrow batches, wide or long, and as files of them."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from noisyor.errors import FindingsError, ParameterError, quoted, some_of
from noisyor.findings.blocks import Block, Words
from noisyor.io.columns import PRESENT, STATE_NAMES, UNKNOWN
from noisyor.io.paths import PathLike
from noisyor.io.tables import write_batches

ROW_GROUP_BLOCKS = 16
"""Blocks joined into one batch, which becomes a row group: short ones cost space and time."""


class RecordWriter:
    """Turns blocks into Arrow batches of one schema.

    In the long layout, a record without any finding gets one row with an empty symptom, so that it
    is not lost; the column `state` is there only where some finding is unknown.

    Parameters
    ----------
    names
        The names of the symptoms, one per row of a block's bits.
    layout
        "wide" or "long".
    record
        The name of the column of ids.
    id_type
        The Arrow type of the records' ids, or None: then long records are numbered from 0.
    has_unknown
        Whether some finding may be unknown.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        layout: str = "wide",
        record: str = "record",
        id_type: Any = None,
        has_unknown: bool = False,
    ) -> None:
        if layout not in ("wide", "long"):
            raise ParameterError(f"layout is 'wide' or 'long', not {quoted(layout)}.")
        taken = ("symptom", "state") if layout == "long" else names
        if record in taken and (layout == "long" or id_type is not None):
            raise FindingsError(
                f"another column or symptom is named {quoted(record)}, like the column of ids; "
                "give that another name with record=."
            )
        self._names = tuple(names)
        self._layout = layout
        self._has_ids = id_type is not None
        self._has_unknown = has_unknown
        if layout == "wide":
            fields = {record: id_type} if self._has_ids else {}
            self.schema = pa.schema(fields | dict.fromkeys(self._names, pa.bool_()))
        else:
            words = pa.dictionary(pa.int32(), pa.string())
            states = {"state": words} if has_unknown else {}
            self.schema = pa.schema({record: id_type or pa.int64(), "symptom": words} | states)

    def write(self, path: PathLike, kind: str, blocks: Iterable[Block]) -> None:
        """Write a "csv" or "parquet" file, whole or not at all."""
        schema, batches = self.schema, self.batches(blocks)
        if kind == "csv":
            schema = _plain_schema(self.schema)
            batches = (_cast(batch, schema) for batch in batches)
        write_batches(path, schema, batches, kind)

    def batches(self, blocks: Iterable[Block]) -> Iterator[Any]:
        """Give the records of blocks as batches of the schema."""
        to_batch = self._wide_batch if self._layout == "wide" else self._long_batch
        gathered: list[Any] = []
        n_records = 0
        for block in blocks:
            gathered.append(to_batch(block, n_records))
            n_records += block.n_records
            if len(gathered) == ROW_GROUP_BLOCKS:
                yield pa.concat_batches(gathered)
                gathered = []
        if gathered:
            yield pa.concat_batches(gathered)

    def _wide_batch(self, block: Block, first_record: int) -> Any:
        ids = [block.record_ids] if self._has_ids else []
        unknown = itertools.repeat(None) if block.unknown is None else block.unknown
        columns = [
            _boolean_column(present, nulls, block.n_records)
            for present, nulls in zip(block.present, unknown, strict=False)
        ]
        return pa.RecordBatch.from_arrays([*ids, *columns], schema=self.schema)

    def _long_batch(self, block: Block, first_record: int) -> Any:
        records, symptoms, states = _long_rows(block)
        ids = block.record_ids
        if not self._has_ids:
            ids = pa.array(np.arange(first_record, first_record + block.n_records))
        columns = [ids.take(pa.array(records)), _words(symptoms, self._names)]
        if self._has_unknown:
            columns.append(_words(states, STATE_NAMES))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def check_distinct_ids(ids: Any) -> None:
    """Raise an error if two records have one id, or one has none: long rows would mix them up."""
    if ids.null_count:
        raise FindingsError(
            "some records have no id (they came from n_records); the long layout needs one for "
            "each: write them wide."
        )
    counts = pc.value_counts(ids)
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        raise FindingsError(
            f"more than one record has the id {some_of(repeated[:6].to_pylist())}; long rows would "
            "make one record of them: write them wide."
        )


def _boolean_column(present: Words, unknown: Words | None, n_records: int) -> Any:
    """Make an Arrow column of the words themselves: Arrow's bits have the same order."""
    validity = None if unknown is None else pa.py_buffer(~unknown)
    buffers = [validity, pa.py_buffer(np.ascontiguousarray(present))]
    return pa.Array.from_buffers(pa.bool_(), n_records, buffers)


def _long_rows(block: Block) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return record, symptom (-1: none) and state of each row, in the order of the records."""
    offsets, symptoms, unknown = block.listed()
    states = np.where(unknown, UNKNOWN, PRESENT).astype(np.int32)
    n_rows = np.diff(offsets)
    bare = np.flatnonzero(n_rows == 0)
    records = np.repeat(np.arange(block.n_records), np.maximum(n_rows, 1))
    symptoms = np.insert(symptoms, offsets[bare], -1)
    return records, symptoms, np.insert(states, offsets[bare], PRESENT)


def _words(codes: NDArray[np.int32], words: tuple[str, ...]) -> Any:
    indices = pa.array(codes, mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string()))


def _plain_schema(schema: Any) -> Any:
    """Return the schema as CSV should show it: 0 and 1 for booleans, plain words."""
    plain = {pa.bool_(): pa.int8(), pa.dictionary(pa.int32(), pa.string()): pa.string()}
    return pa.schema({field.name: plain.get(field.type, field.type) for field in schema})


def _cast(batch: Any, schema: Any) -> Any:
    columns = [column.cast(field.type) for column, field in zip(batch, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
