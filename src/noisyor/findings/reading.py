"""How records stand in their files and tables, and how they come: as streams of blocks.

=====  ==================================================================================
wide   a row a record, a column a symptom: 0, 1, true, false; null or NaN is unknown
long   a row a finding: columns record, symptom, and perhaps state (present, absent,
       unknown); a finding that no row mentions is absent, or unknown if one says so
=====  ==================================================================================
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np

from noisyor.errors import FindingsError, ParameterError
from noisyor.findings.blocks import BLOCK_RECORDS, Block
from noisyor.io.columns import Table
from noisyor.structure import Structure

Layout = Literal["auto", "wide", "long"]


class ReadOptions(TypedDict, total=False):
    """Keyword arguments of Python functions, which make a `RecordFormat` of them at once."""

    layout: Layout
    record: str
    symptom: str
    state: str
    ignore_unknown: bool
    n_records: int | None
    all_records: Any
    ids_per_file: bool
    unmentioned: Literal["absent", "unknown"]
    block_records: int


@dataclass(frozen=True)
class RecordFormat:
    """How records stand in their files.

    Parameters
    ----------
    layout
        "wide", "long", or "auto": long where the columns `record` and `symptom` exist.
    record, symptom, state
        The names of the columns that hold the record's id, the symptom and the finding's state.
    ignore_unknown
        Pass over columns (wide) or rows (long) of symptoms that the structure does not have.
    n_records
        Long: how many records there are; those without any row have no finding.
    all_records
        Long: the ids of all records (a sequence, an Arrow array, or a table with the column
        `record`); those without any row have no finding.
    ids_per_file
        Long: the same id in two files means two records. By default it means one.
    unmentioned
        Long: what a finding is that no row mentions, "absent" or "unknown".
    block_records
        Records a block at most, a multiple of 64.
    """

    layout: Layout = "auto"
    record: str = "record"
    symptom: str = "symptom"
    state: str = "state"
    ignore_unknown: bool = False
    n_records: int | None = None
    all_records: Any = None
    ids_per_file: bool = False
    unmentioned: Literal["absent", "unknown"] = "absent"
    block_records: int = BLOCK_RECORDS

    def __post_init__(self) -> None:
        if self.layout not in ("auto", "wide", "long"):
            raise ParameterError(f"layout is 'auto', 'wide' or 'long', not {self.layout!r}.")
        if self.unmentioned not in ("absent", "unknown"):
            raise ParameterError(f"unmentioned is 'absent' or 'unknown', not {self.unmentioned!r}.")
        if self.block_records < 64 or self.block_records % 64:
            raise ParameterError(
                f"block_records must be a multiple of 64, not {self.block_records}."
            )
        if self.n_records is not None and (
            isinstance(self.n_records, bool) or not isinstance(self.n_records, int | np.integer)
        ):
            raise ParameterError(f"n_records must be a whole number, not {self.n_records!r}.")
        if self.n_records is not None and self.all_records is not None:
            raise ParameterError("give n_records or all_records, not both.")

    @property
    def changed_options(self) -> list[str]:
        """The names of the options that differ from the defaults."""
        simple = ReadOptions.__annotations__.keys() - {"all_records"}
        changed = [name for name in simple if getattr(self, name) != getattr(DEFAULT_FORMAT, name)]
        return sorted(changed) + ["all_records"] * (self.all_records is not None)

    def is_long(self, column_names: Iterable[str], structure: Structure) -> bool:
        """Return True if a table with these columns has a row per finding."""
        if self.layout != "auto":
            return self.layout == "long"
        columns = {self.record, self.symptom}
        return columns <= set(column_names) and not columns & set(structure.symptoms)

    def are_long(self, tables: Iterable[tuple[str, Iterable[str]]], structure: Structure) -> bool:
        """Return True if tables, given by name and columns, have a row per finding: all or none."""
        names = {self.is_long(columns, structure): name for name, columns in tables}
        if len(names) > 1:
            raise FindingsError(
                f"{names[True]} is long (a row per finding) and {names[False]} is wide (a column "
                "per symptom); read them apart."
            )
        return True in names


DEFAULT_FORMAT = RecordFormat()


class RecordStream(NamedTuple):
    """The records of a file, or of several files that share records."""

    tables: tuple[Table, ...]
    """Empty for records that are in memory already."""
    n_records: int | None
    """How many records there are, where that is known beforehand."""
    blocks: Iterator[Block]

    @property
    def files(self) -> tuple[Path, ...]:
        """The paths of the tables that are files."""
        return tuple(table.path for table in self.tables if table.path is not None)

    @property
    def name(self) -> str:
        """What the first table is called in messages."""
        return self.tables[0].name if self.tables else "the findings in memory"


def total_records(streams: Iterable[RecordStream]) -> int | None:
    """Return how many records there are, where that is known beforehand."""
    counts = [stream.n_records for stream in streams]
    return None if None in counts else sum(count or 0 for count in counts)


def blocks_with_like_ids(streams: Iterable[RecordStream]) -> Iterator[Block]:
    """Give all blocks; their records have ids of one type, or none has any."""
    first: tuple[Any, str] | None = None
    for stream in streams:
        for block in stream.blocks:
            id_type = None if block.record_ids is None else block.record_ids.type
            first = first or (id_type, stream.name)
            if id_type != first[0]:
                raise FindingsError(
                    f"the record ids of {stream.name} are of another kind than those of "
                    f"{first[1]} (numbers, texts, or none at all); write them alike, or read the "
                    "files apart."
                )
            yield block
