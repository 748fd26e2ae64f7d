"""Findings: the symptoms of records, present, absent or unknown, as bit-packed columns."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal, NoReturn, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisyor.errors import FindingsError, ParameterError, StructureError, quoted, some_of
from noisyor.findings.blocks import BLOCK_RECORDS, Block, BlockBuilder, pack, unpack
from noisyor.findings.evidence import array_of
from noisyor.findings.labels import Labels, as_labels
from noisyor.findings.long import long_streams
from noisyor.findings.notes import Notes
from noisyor.findings.reading import (
    ReadOptions,
    RecordFormat,
    RecordStream,
    Watch,
    blocks_with_like_ids,
    record_format,
)
from noisyor.findings.wide import wide_streams
from noisyor.findings.writing import RecordWriter, check_distinct_ids
from noisyor.immutable import Immutable
from noisyor.io.columns import DEFAULT_WORDS, PRESENT, UNKNOWN, Words, ids_array
from noisyor.io.paths import PathLike, check_differ
from noisyor.io.result_tables import ResultTable
from noisyor.io.tables import open_table
from noisyor.structure import Structure


class Findings(Immutable):
    """Records of a structure's symptoms; immutable.

    Made by `read` and the `from_...` methods, or by sampling a network. Columns are matched to the
    structure's symptoms by name where the source has names.

    Examples
    --------
    >>> from noisyor import Structure
    >>> structure = Structure.from_edges([("flu", "fever"), ("flu", "cough")])
    >>> findings = Findings.from_numpy([[1, 0], [1, 1], [0, float("nan")]], structure)
    >>> findings
    Findings(3 records, 2 symptoms, 3 present, 1 unknown)
    >>> findings.count_present()
    array([2, 1])
    """

    def __init__(
        self, structure: Structure, blocks: Iterable[Block], labels: Labels | None = None
    ) -> None:
        self.structure = structure
        self.blocks = tuple(block for block in blocks if block.n_records)
        self.n_records = sum(block.n_records for block in self.blocks)
        self.labels = None if labels is None else labels.of_diseases(structure.diseases)
        """Which diseases the records were seen to have, where some were (`with_labels`)."""
        self._seal()

    # --- built from what users have ---

    @classmethod
    def from_numpy(cls, array: ArrayLike, structure: Structure, *, record_ids: Any = None) -> Self:
        """Build from an array of records x symptoms, columns in the structure's order.

        Booleans or 0 and 1; NaN, None and masked values are unknown.
        """
        if hasattr(array, "__arrow_c_stream__"):
            raise FindingsError("this table has column names: use Findings.read.")
        try:
            values = np.asanyarray(array)
        except ValueError as error:
            raise FindingsError(f"this is not an array of records x symptoms: {error}.") from None
        if values.ndim != 2 or values.shape[1] != structure.n_symptoms:
            advice = " Reshape your data: a single record is array.reshape(1, -1)."
            raise FindingsError(
                f"the array has the shape {values.shape}; expected records x "
                f"{structure.n_symptoms} symptoms.{advice if values.ndim == 1 else ''}"
            )
        ids = _ids_array(record_ids, len(values))
        blocks = []
        for start in range(0, len(values), BLOCK_RECORDS):
            part = values[start : start + BLOCK_RECORDS]
            present, unknown = _states_of(part, structure, start)
            planes = pack(present), pack(unknown) if unknown.any() else None
            block_ids = None if ids is None else ids[start : start + len(part)]
            blocks.append(Block(len(part), *planes, block_ids))
        return cls(structure, blocks)

    @classmethod
    def from_sparse(cls, matrix: Any, structure: Structure, *, record_ids: Any = None) -> Self:
        """Build from a scipy.sparse matrix of records x symptoms; 1 is present, NaN unknown."""
        if not hasattr(matrix, "tocsr"):
            raise FindingsError(f"{type(matrix).__name__} is not a scipy.sparse matrix.")
        csr = matrix.tocsr()
        if csr.ndim != 2 or csr.shape[1] != structure.n_symptoms:
            raise FindingsError(
                f"the sparse matrix has the shape {csr.shape}; expected records x "
                f"{structure.n_symptoms} symptoms."
            )
        ids = _ids_array(record_ids, csr.shape[0])
        builder = BlockBuilder(structure)
        blocks = []
        for start in range(0, csr.shape[0], builder.capacity):
            rows = csr[start : start + builder.capacity].tocoo()
            records, symptoms = (axis.astype(np.int64) for axis in rows.coords)
            wrong = np.flatnonzero((rows.data != 0) & (rows.data != 1) & ~_is_nan(rows.data))
            if wrong.size:
                at = wrong[0]
                _bad_value(rows.data[at], start + int(records[at]), int(symptoms[at]), structure)
            for state, chosen in (PRESENT, rows.data == 1), (UNKNOWN, _is_nan(rows.data)):
                if chosen.any():
                    builder.mark(state, symptoms[chosen].astype(np.int32), records[chosen])
            n_records = rows.shape[0]
            builder.close_records(n_records, None if ids is None else ids[start:][:n_records])
            blocks.append(builder.take_block())
        return cls(structure, blocks)

    @classmethod
    def read(cls, source: Any, structure: Structure, **options: Unpack[ReadOptions]) -> Self:
        """Read files, tables or arrays; names of columns are matched to symptoms.

        The source is a path to CSV or Parquet, wide or long, a pandas, polars, pyarrow or duckdb
        table, a list of these, or an array or sparse matrix of records x symptoms. The options are
        those of `noisyor.findings.reading.RecordFormat`.
        """
        return cls(structure, read_findings(source, structure, record_format(options)).blocks)

    @classmethod
    def iter_blocks(
        cls, source: Any, structure: Structure, **options: Unpack[ReadOptions]
    ) -> Iterator[Self]:
        """Stream a source of any size, as for `read`, block after block, in bounded memory."""
        for stream in open_records(source, structure, record_format(options)):
            for block in stream.blocks:
                yield cls(structure, [block])

    # --- what it is ---

    @property
    def has_unknown(self) -> bool:
        """Whether any finding is unknown."""
        return any(block.unknown is not None for block in self.blocks)

    @property
    def record_ids(self) -> Any:
        """The ids of the records as an Arrow array, or None where they have none."""
        import pyarrow as pa

        ids = [block.record_ids for block in self.blocks]
        return None if not ids or None in ids else pa.concat_arrays(ids)

    def present(self, symptom: int) -> NDArray[np.bool_]:
        """Return in which records a symptom, by its index, is present."""
        parts = [unpack(block.present[[symptom]], block.n_records) for block in self.blocks]
        return np.concatenate([np.zeros((0, 1), np.bool_), *parts])[:, 0]

    def count_present(self) -> NDArray[np.int64]:
        """Return, for each symptom, in how many records it is present."""
        return self._count([block.present for block in self.blocks])

    def count_unknown(self) -> NDArray[np.int64]:
        """Return, for each symptom, in how many records it is unknown."""
        return self._count([b.unknown for b in self.blocks if b.unknown is not None])

    def _count(self, planes: list[NDArray[np.uint64]]) -> NDArray[np.int64]:
        counts = np.zeros(self.structure.n_symptoms, dtype=np.int64)
        for plane in planes:
            counts += np.bitwise_count(plane).sum(axis=1, dtype=np.int64)
        return counts

    def with_structure(self, structure: Structure) -> Self:
        """Return the same records for another structure, whose symptoms must be among these."""
        if structure.symptoms == self.structure.symptoms:
            return type(self)(structure, self.blocks, self.labels)
        missing = set(structure.symptoms) - set(self.structure.symptoms)
        if missing:
            raise FindingsError(f"these findings have no symptoms {some_of(sorted(missing))}.")
        chosen = self.structure.symptom_indices(structure.symptoms)
        blocks = [_chosen_columns(block, chosen) for block in self.blocks]
        return type(self)(structure, blocks, self.labels)

    def with_labels(
        self,
        labels: Any,
        words: Words = DEFAULT_WORDS,
        record: str = "record",
        *,
        complete: bool = False,
    ) -> Self:
        """Return the records with what is known of their diseases, which learning then uses.

        Labels are 1, 0 or missing: an array of records x diseases, or a file or table with a
        column for each of some diseases, joined by ids (`record` names their column).
        """
        found = as_labels(labels, self, words, record, complete=complete)
        return type(self)(self.structure, self.blocks, found)

    def chosen(self, is_chosen: NDArray[np.bool_]) -> Self:
        """Return some of the records, with their labels."""
        blocks, start = [], 0
        for block in self.blocks:
            here = is_chosen[start : start + block.n_records]
            present, unknown = block.unpacked()
            planes = pack(present[here]), None if unknown is None else pack(unknown[here])
            ids = None if block.record_ids is None else block.record_ids.filter(here)
            blocks.append(Block(int(here.sum()), *planes, ids))
            start += block.n_records
        labels = None if self.labels is None else self.labels.taken(is_chosen)
        return type(self)(self.structure, blocks, labels)

    # --- written and converted ---

    def to_numpy(self) -> NDArray[Any]:
        """Return records x symptoms: booleans, or float32 with NaN where some are unknown."""
        dtype = np.float32 if self.has_unknown else np.bool_
        array: NDArray[Any] = np.empty((self.n_records, self.structure.n_symptoms), dtype=dtype)
        start = 0
        for block in self.blocks:
            part = array[start : start + block.n_records]
            part[...], unknown = block.unpacked()
            if unknown is not None:
                part[unknown] = np.nan
            start += block.n_records
        return array

    def to_sparse(self) -> Any:
        """Return a scipy.sparse CSR array: booleans, or float32 with NaN where some are unknown."""
        import scipy.sparse

        dtype = np.float32 if self.has_unknown else np.bool_
        shape = 0, self.structure.n_symptoms
        parts = [scipy.sparse.csr_array(shape, dtype=dtype)]
        for block in self.blocks:
            offsets, symptoms, unknown = block.listed()
            values: NDArray[Any] = np.ones(len(symptoms), dtype=dtype)
            if self.has_unknown:
                values[unknown] = np.nan
            shape = block.n_records, self.structure.n_symptoms
            parts.append(scipy.sparse.csr_array((values, symptoms, offsets), shape))
        return scipy.sparse.vstack(parts, format="csr", dtype=dtype)

    def to_arrow(self, *, layout: Literal["wide", "long"] = "wide", record: str = "record") -> Any:
        """Return an Arrow table: a column per symptom (wide) or a row per finding (long).

        The column of ids is named by `record`; a wide table has it only where records have ids.
        """
        import pyarrow as pa

        writer = self._writer(layout, record)
        return pa.Table.from_batches(writer.batches(self.blocks), writer.schema)

    def to_parquet(
        self, path: PathLike, *, layout: Literal["wide", "long"] = "wide", record: str = "record"
    ) -> None:
        """Write a Parquet file, which `read` reads back."""
        self._writer(layout, record).write(path, "parquet", self.blocks)

    def to_csv(
        self, path: PathLike, *, layout: Literal["wide", "long"] = "wide", record: str = "record"
    ) -> None:
        """Write a CSV file with 0, 1 and nothing for unknown (wide), or a row per finding."""
        self._writer(layout, record).write(path, "csv", self.blocks)

    def _writer(self, layout: str, record: str) -> RecordWriter:
        ids = self.record_ids
        if ids is not None and layout == "long":
            check_distinct_ids(ids)
        return RecordWriter(
            self.structure.symptoms,
            layout=layout,
            record=record,
            id_type=None if ids is None else ids.type,
            has_unknown=self.has_unknown,
        )

    # --- some of the records ---

    @property
    def shape(self) -> tuple[int, int]:
        """Records x symptoms."""
        return self.n_records, self.structure.n_symptoms

    def __len__(self) -> int:
        return self.n_records

    def __getitem__(self, rows: Any) -> Self:
        """Return some records: one by its index, a slice, indices, or a mask of booleans.

        >>> from noisyor import datasets
        >>> findings = datasets.clinic().sample(1000, rng=0)
        >>> len(findings[:10]), len(findings[findings.to_numpy()[:, 0]]), len(findings[[3, 3, 1]])
        (10, 128, 3)
        """
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]  # as scikit-learn asks
        return self._taken(_row_indices(rows, self.n_records))

    def _taken(self, rows: NDArray[np.int64]) -> Self:
        ends = np.cumsum([block.n_records for block in self.blocks], dtype=np.int64)
        ids = self.record_ids
        blocks = []
        for start in range(0, len(rows), BLOCK_RECORDS):
            part = rows[start : start + BLOCK_RECORDS]
            present, unknown = np.zeros((2, len(part), self.structure.n_symptoms), dtype=np.bool_)
            of_block = np.searchsorted(ends, part, side="right")
            for number in np.unique(of_block).tolist():
                block, here = self.blocks[number], of_block == number
                local = part[here] - (ends[number] - block.n_records)
                present[here] = _bits_of(block.present, local)
                if block.unknown is not None:
                    unknown[here] = _bits_of(block.unknown, local)
            planes = pack(present), pack(unknown) if unknown.any() else None
            blocks.append(Block(len(part), *planes, None if ids is None else ids.take(part)))
        labels = None if self.labels is None else self.labels.taken(rows)
        return type(self)(self.structure, blocks, labels)

    @classmethod
    def concatenate(cls, parts: Iterable["Findings"]) -> Self:
        """Return the records of several, one after the other; they keep ids if all have some.

        And labels; those of records that have none are not known.

        >>> from noisyor import datasets
        >>> findings = datasets.clinic().sample(1000, rng=0)
        >>> Findings.concatenate([findings[:300], findings[300:]]) == findings
        True
        """
        listed = list(parts)
        if not listed or not all(isinstance(each, Findings) for each in listed):
            raise FindingsError("give a list of Findings, at least one.")
        structure = listed[0].structure
        if any(each.structure.symptoms != structure.symptoms for each in listed):
            raise FindingsError("findings of different symptoms cannot stand one after the other.")
        blocks = [block for each in listed for block in each.blocks]
        ids = [block.record_ids for block in blocks]
        if any(each is None for each in ids) or len({str(each.type) for each in ids}) > 1:
            blocks = [replace(block, record_ids=None) for block in blocks]
        blocks = [replace(block, origin=None) for block in blocks]
        if all(each.labels is None for each in listed):
            return cls(structure, blocks)
        nothing = Labels.of(structure.diseases, *np.zeros((2, 1, structure.n_diseases), np.bool_))
        labels = [
            nothing.taken(np.zeros(each.n_records, dtype=np.int64))
            if each.labels is None
            else each.labels.of_diseases(structure.diseases)
            for each in listed
        ]
        return cls(structure, blocks, Labels.concatenate(labels, nothing))

    def head(self, n: int = 10) -> ResultTable:
        """Return the first records as a table: what is present in each, and what is unknown."""
        some = self[:n]
        ids, array = some.record_ids, some.to_numpy()
        names = np.array(self.structure.symptoms, dtype=object)
        columns = {
            "record": np.arange(len(some)) if ids is None else ids,
            "present": [names[row == 1].tolist() for row in array],
        }
        if self.has_unknown:
            columns["unknown"] = [names[np.isnan(row)].tolist() for row in array.astype(float)]
        return ResultTable(columns, "record")

    def __str__(self) -> str:
        return f"{self!r}\n{self.head()}" if self.n_records else repr(self)

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.head()._repr_html_()}"

    def __eq__(self, other: object) -> bool:
        """Compare structure and findings; ids are labels and do not count."""
        if not isinstance(other, Findings):
            return NotImplemented
        if self.structure != other.structure or self.n_records != other.n_records:
            return False
        pairs = list(zip(self.blocks, other.blocks, strict=False))
        if all(mine.n_records == theirs.n_records for mine, theirs in pairs):
            return all(_equal_blocks(mine, theirs) for mine, theirs in pairs)
        return np.array_equal(self.to_numpy(), other.to_numpy(), equal_nan=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.structure, self.blocks, self.labels)

    __hash__ = None  # type: ignore[assignment]  # millions of records make no key

    def __repr__(self) -> str:
        n_unknown = f", {self.count_unknown().sum():,} unknown" if self.has_unknown else ""
        return (
            f"Findings({self.n_records:,} records, {self.structure.n_symptoms:,} symptoms, "
            f"{self.count_present().sum():,} present{n_unknown})"
        )


# --- the one way in ---


def open_records(source: Any, structure: Structure, form: RecordFormat) -> list[RecordStream]:
    """Return records, in whatever form callers have them, as streams of blocks.

    Findings and arrays are one stream; of files and tables each is one, and those that share
    records are one together.
    """
    source = as_source(source, structure)
    if isinstance(source, Findings):
        _check_no_options(form)
        if source.structure.symptoms != structure.symptoms:
            raise StructureError("these findings are of other symptoms than the structure has.")
        return [RecordStream((), source.n_records, iter(source.blocks))]
    sources = source if isinstance(source, list | tuple) else [source]
    if not sources:
        raise FindingsError("no files to read records from.")
    tables = [open_table(each) for each in sources]
    check_differ([table.path for table in tables if table.path is not None])
    notes = form.notes or Notes()
    notes.restart()
    streams = long_streams if form.are_long(tables, structure) else wide_streams
    watch = Watch(notes, form.matcher(structure))
    return watch.over(streams(tables, structure, form, notes))


def read_findings(source: Any, structure: Structure, form: RecordFormat) -> Findings:
    """Read records into memory."""
    return Findings(structure, blocks_with_like_ids(open_records(source, structure, form)))


def findings_of(
    records: Any, structure: Structure, form: RecordFormat, other_uses: Collection[str] = ()
) -> Findings:
    """Return records in memory; findings stay as they are, also those of more symptoms.

    Options that findings and arrays do not heed are refused, but for those with other uses, such as
    the name of the column of ids in a table of labels.
    """
    source = as_source(records, structure)
    if not isinstance(source, Findings):
        return read_findings(source, structure, form)
    _check_no_options(form, other_uses)
    return source


def _check_no_options(form: RecordFormat, other_uses: Collection[str] = ()) -> None:
    """Refuse options of reading for what is read already: they would change nothing."""
    changed = [name for name in form.changed_options if name not in other_uses]
    if changed:
        advice = " Where 1 means right, give 1 - X, or a table." if form.invert else ""
        raise ParameterError(
            f"findings in memory need no options to read: {some_of(changed)}. Arrays and findings "
            f"are taken as they stand: leave these out.{advice}"
        )


def as_source(records: Any, structure: Structure) -> Any:
    """Return arrays, sparse matrices and lists of mappings as findings; tables and paths stay."""
    if hasattr(records, "tocsr"):
        return Findings.from_sparse(records, structure)
    if hasattr(records, "items") and not hasattr(records, "columns"):
        raise FindingsError(
            "a mapping or a pandas Series is one record: give a list of them, [row], or a frame."
        )
    is_list = isinstance(records, list | tuple) and bool(records)
    if is_list and isinstance(records[0], int | float | np.number):
        raise FindingsError("a list of numbers is one record: give a list of such rows, [row].")
    is_mapping = is_list and hasattr(records[0], "items")
    if is_mapping and not hasattr(records[0], "columns"):  # as a frame has
        return Findings.from_numpy(array_of(records, structure), structure)
    is_rows = is_list and isinstance(records[0], list | tuple)
    has_names = (
        hasattr(records, "__arrow_c_stream__")
        or isinstance(records, Findings)
        or hasattr(records, "to_delayed")  # a Dask frame
    )
    if is_rows or (hasattr(records, "__array__") and not has_names):
        return Findings.from_numpy(records, structure)
    return records


def _row_indices(rows: Any, n_records: int) -> NDArray[np.int64]:
    """Return indices from 0 on, of an index, a slice, a mask, or indices that may be negative."""
    if isinstance(rows, slice):
        return np.arange(n_records)[rows]
    chosen = np.atleast_1d(np.asarray(rows))
    if chosen.ndim == 1 and chosen.dtype == np.bool_ and len(chosen) == n_records:
        return np.flatnonzero(chosen)
    is_empty = chosen.size == 0
    if chosen.ndim != 1 or not (np.issubdtype(chosen.dtype, np.integer) or is_empty):
        raise FindingsError(
            "records are chosen by an index, a slice, a list of indices, or a mask with an entry "
            f"for each of the {n_records:,} records."
        )
    wrong = (chosen < -n_records) | (chosen >= n_records)
    if wrong.any():
        raise IndexError(
            f"there is no record {int(chosen[wrong][0])}: there are {n_records:,} of them."
        )
    return np.where(chosen < 0, chosen + n_records, chosen).astype(np.int64)


def _bits_of(words: NDArray[np.uint64], records: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the bits of some records, records x symptoms."""
    bits = words[:, records >> 6] >> (records & 63).astype(np.uint64)
    return (bits & np.uint64(1)).astype(np.bool_).T


def _equal_blocks(one: Block, other: Block) -> bool:
    if one.unknown is None or other.unknown is None:
        same_unknown = one.unknown is other.unknown
    else:
        same_unknown = np.array_equal(one.unknown, other.unknown)
    return same_unknown and np.array_equal(one.present, other.present)


def _chosen_columns(block: Block, chosen: NDArray[np.int64]) -> Block:
    unknown = None if block.unknown is None else block.unknown[chosen]
    if unknown is not None and not unknown.any():
        unknown = None
    return Block(block.n_records, block.present[chosen], unknown, block.record_ids, block.origin)


def _ids_array(record_ids: Any, n_records: int) -> Any:
    if record_ids is None:
        return None
    ids = ids_array(record_ids, "record_ids")
    if len(ids) != n_records:
        raise FindingsError(f"{len(ids)} record ids for {n_records} records.")
    return ids


def _states_of(
    part: NDArray[Any], structure: Structure, first_record: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return present and unknown of an array of any type that holds 0, 1, NaN, None or a mask."""
    masked = np.ma.getmaskarray(part)
    values = np.ma.getdata(part)
    if values.dtype == object:
        values = _from_objects(values, structure, first_record)
    if np.iscomplexobj(values):
        raise FindingsError("Complex data not supported: findings are 0, 1 or NaN (unknown).")
    if values.dtype != np.bool_ and not np.issubdtype(values.dtype, np.number):
        raise FindingsError(f"an array of type {values.dtype} has no findings; give 0 and 1.")
    unknown = masked | _is_nan(values)
    present = (values == 1) & ~unknown
    wrong = np.argwhere(~(present | unknown | (values == 0)))
    if len(wrong):
        record, symptom = wrong[0]
        _bad_value(values[record, symptom], first_record + int(record), int(symptom), structure)
    return present, unknown


def _from_objects(values: NDArray[Any], structure: Structure, first_record: int) -> NDArray[Any]:
    floats = np.empty(values.shape, dtype=np.float64)
    for (record, symptom), value in np.ndenumerate(values):
        try:
            floats[record, symptom] = np.nan if value is None else float(value)
        except (TypeError, ValueError):
            _bad_value(value, first_record + record, symptom, structure)
    return floats


def _is_nan(values: NDArray[Any]) -> NDArray[np.bool_]:
    if np.issubdtype(values.dtype, np.inexact):
        return np.asarray(np.isnan(values))
    return np.zeros(values.shape, dtype=np.bool_)


def _bad_value(value: object, record: int, symptom: int, structure: Structure) -> NoReturn:
    shown = value.item() if isinstance(value, np.generic) else value
    raise FindingsError(
        f"record {record}, symptom {quoted(structure.symptoms[symptom])}: {quoted(shown)} is not "
        "0, 1, True, False or NaN (unknown)."
    )
