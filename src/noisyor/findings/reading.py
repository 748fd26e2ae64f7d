"""How records stand in their files and tables, and how they come: as streams of blocks.

=====  ==================================================================================
wide   a row a record, a column a symptom: 0 and 1, no and yes, ...; empty is unknown
long   a row a finding: columns record, symptom, and perhaps state (present, absent,
       unknown); a finding that no row mentions is absent, or unknown if one says so
=====  ==================================================================================

Columns and symptoms are found by their names: as they stand, else in other letters where that is
clear, else (the columns of ids, symptoms and states) by what people often call them. Whatever was
not taken as it stands is told (`Notes`).
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypedDict

import numpy as np

from noisyor.errors import FindingsError, ParameterError, nearest_name, quoted, some_of
from noisyor.findings.blocks import BLOCK_RECORDS, Block
from noisyor.findings.notes import ROLES, Notes
from noisyor.io.columns import ColumnKind, Table, Words
from noisyor.io.tables import open_table
from noisyor.names import NameMatcher, columns_named, name_key
from noisyor.structure import Structure

Layout = Literal["auto", "wide", "long"]


class ReadOptions(TypedDict, total=False):
    """Keyword arguments of Python functions, which make a `RecordFormat` of them at once."""

    layout: Layout
    record: str
    symptom: str
    state: str | None
    ignore_unknown: bool
    n_records: int | None
    all_records: Any
    ids_per_file: bool
    unmentioned: Literal["absent", "unknown"]
    values: Mapping[str, str] | None
    invert: bool
    names: Any
    passed_over: Sequence[str]
    notes: Notes | None
    block_records: int


def record_format(options: ReadOptions) -> "RecordFormat":
    """Return the format that keyword arguments ask for; an option that is unknown is named."""
    known = list(ReadOptions.__annotations__)
    for name in options:
        if name not in known:
            hint = nearest_name(name, known) or f"; known are {', '.join(known)}."
            raise ParameterError(f"there is no option {quoted(name)} for reading records{hint}")
    return RecordFormat(**options)


@dataclass(frozen=True)
class RecordFormat:
    """How records stand in their files.

    Parameters
    ----------
    layout
        "wide", "long", or "auto": long where the columns `record` and `symptom` exist.
    record, symptom, state
        The names of the columns that hold the record's id, the symptom and the finding's state;
        where there are none of these names, what people often call them. `state` None: no column
        says it, every row is a finding that is present.
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
        Long: what a finding is that no row mentions, "absent" or "unknown". Wide: with "unknown",
        symptoms without a column are unknown in all records; otherwise they are an error.
    values
        What other words for states mean, as in {"pos": "present", "neg": "absent"}.
    invert
        What is written as present means absent, and the other way round: answers, of which 1 is
        right, become symptoms, of which 1 is a mistake.
    names
        What other names of symptoms mean: a mapping, or a table with the columns name and
        meaning; an empty meaning, or None: pass over.
    passed_over
        Wide: columns that are no symptoms, such as covariates.
    notes
        Filled with what was understood and what was passed over.
    block_records
        Records a block at most, a multiple of 64.
    """

    layout: Layout = "auto"
    record: str = "record"
    symptom: str = "symptom"
    state: str | None = "state"
    ignore_unknown: bool = False
    n_records: int | None = None
    all_records: Any = None
    ids_per_file: bool = False
    unmentioned: Literal["absent", "unknown"] = "absent"
    values: Mapping[str, str] | None = None
    invert: bool = False
    names: Any = None
    passed_over: Sequence[str] = ()
    notes: Notes | None = field(default=None, compare=False, repr=False)
    block_records: int = BLOCK_RECORDS

    def __post_init__(self) -> None:
        if self.layout not in ("auto", "wide", "long"):
            raise ParameterError(f"layout is 'auto', 'wide' or 'long', not {quoted(self.layout)}.")
        if self.unmentioned not in ("absent", "unknown"):
            raise ParameterError(
                f"unmentioned is 'absent' or 'unknown', not {quoted(self.unmentioned)}."
            )
        is_number = isinstance(self.block_records, int | np.integer)
        if not is_number or self.block_records < 64 or self.block_records % 64:
            raise ParameterError(
                f"block_records must be a multiple of 64, not {self.block_records}."
            )
        if self.n_records is not None and (
            isinstance(self.n_records, bool) or not isinstance(self.n_records, int | np.integer)
        ):
            raise ParameterError(f"n_records must be a whole number, not {quoted(self.n_records)}.")
        if self.n_records is not None and self.all_records is not None:
            raise ParameterError("give n_records or all_records, not both.")
        if self.values is not None and not isinstance(self.values, Mapping):
            raise ParameterError(
                f"values must be a mapping such as {{'pos': 'present'}}, not {quoted(self.values)}."
            )
        if self.names is not None and not isinstance(self.names, Mapping):
            object.__setattr__(self, "names", _read_meanings(self.names))
        for name, meaning in (self.names or {}).items():
            if not isinstance(name, str) or not isinstance(meaning, str | None):
                raise ParameterError(f"names: {quoted(name)} and {quoted(meaning)} must be texts.")
        self.words  # noqa: B018  # raises an error where values mean nothing

    @functools.cached_property
    def words(self) -> Words:
        """The words for states."""
        return Words(self.values, self.invert)

    def matcher(self, structure: Structure) -> NameMatcher:
        """Return what finds the symptoms that names mean."""
        known: tuple[Structure, NameMatcher] | None = self.__dict__.get("_matcher")
        if known is None or known[0] is not structure:
            known = structure, NameMatcher(structure.symptoms, self.names)
            self.__dict__["_matcher"] = known  # thousands of files are matched with the same names
        return known[1]

    @property
    def changed_options(self) -> list[str]:
        """The names of the options that differ from the defaults."""
        simple = ReadOptions.__annotations__.keys() - {"all_records", "notes"}
        changed = [name for name in simple if getattr(self, name) != getattr(DEFAULT_FORMAT, name)]
        return sorted(changed) + ["all_records"] * (self.all_records is not None)

    def columns_of(self, table: "TableNames", structure: Structure) -> "Columns":
        """Return which columns of a table hold ids, symptoms and states."""
        matcher = self.matcher(structure)
        others = [name for name in table.column_names if matcher.find(name) == -1]
        found: dict[str, str | None] = {}
        guessed: dict[str, str] = {}
        ambiguous: dict[str, str] = {}
        for role in ROLES:
            wanted = getattr(self, role)
            free = [name for name in others if name not in found.values()]
            found[role] = None if wanted is None else _column_named(wanted, free, table, role)
            if found[role] is None and wanted == role:
                try:
                    found[role] = _column_called(role, free, table)
                except FindingsError as error:
                    ambiguous[role] = str(error)
                if found[role] not in (None, table.index_name):
                    guessed[str(found[role])] = role
        return Columns(**found, guessed=guessed, ambiguous=ambiguous)

    def is_long(self, table: "TableNames", structure: Structure) -> bool:
        """Return True if a table with these columns has a row per finding."""
        if self.layout != "auto":
            return self.layout == "long"
        columns = self.columns_of(table, structure)
        has = {*columns.found(), *columns.ambiguous}
        if not {"record", "symptom"} <= has:
            return False
        # A guess is not enough where a column is a symptom, and no name where all of them are.
        matcher = self.matcher(structure)
        symptoms = {matcher.find(name) for name in table.column_names} - {-1, matcher.PASSED_OVER}
        is_guess = columns.symptom in columns.guessed
        return not symptoms if is_guess else len(symptoms) < max(1, structure.n_symptoms)

    def are_long(self, tables: Iterable["TableNames"], structure: Structure) -> bool:
        """Return True if tables have a row per finding: all or none."""
        names = {self.is_long(table, structure): table.name for table in tables}
        if len(names) > 1:
            raise FindingsError(
                f"{names[True]} is long (a row per finding) and {names[False]} is wide (a column "
                "per symptom); read them apart."
            )
        return True in names


class TableNames(Protocol):
    """What the names of a table tell."""

    @property
    def name(self) -> str:
        """What it is called in messages."""

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of its columns."""

    @property
    def index_name(self) -> str | None:
        """The column that was the named index of a frame."""


class Header(NamedTuple):
    """The names of a table that is not here."""

    name: str
    column_names: tuple[str, ...]
    index_name: str | None = None
    delimiter: str | None = None
    sheet: str | None = None


class Columns(NamedTuple):
    """The columns of a table that are no findings."""

    record: str | None
    symptom: str | None
    state: str | None
    guessed: dict[str, str]
    """Those that were taken by what people often call them, and what for."""
    ambiguous: Mapping[str, str] = MappingProxyType({})
    """What to say where several columns can be meant."""

    def check(self, *roles: str) -> None:
        """Raise an error where it is not clear which column has one of these roles."""
        for role in roles:
            if role in self.ambiguous:
                raise FindingsError(self.ambiguous[role])

    def found(self) -> dict[str, str]:
        """Return the columns that there are, by what they hold."""
        columns = {"record": self.record, "symptom": self.symptom, "state": self.state}
        return {role: name for role, name in columns.items() if name is not None}


_OTHER_NAMES = {
    "record": (
        "id recordid patient patientid patid pid mrn subject subjectid person personid case caseid "
        "visit visitid encounter encounterid admission admissionid student studentid examinee "
        "examineeid respondent respondentid unit unitid device deviceid machine machineid shift "
        "shiftid rowid rowname rownames rownumber unnamed0"
    ),
    "symptom": (
        "symptoms symptomname finding findings findingname sign signs alarm alarms alarmcode item "
        "items question questions observation phenotype hpoterm code"
    ),
    "state": "status value result present presence response answer score",
}


def _column_named(wanted: str, columns: list[str], table: "TableNames", role: str) -> str | None:
    """Return the column that is asked for by name; that of a default may be missing."""
    if wanted in columns:
        return wanted
    alike = [name for name in columns if name_key(name) == name_key(wanted)]
    if len(alike) == 1:
        return alike[0]
    if wanted != role:
        hint = nearest_name(wanted, columns) or "."
        raise FindingsError(
            f"{table.name} has no column {quoted(wanted)} (--{role}){hint} Its columns are "
            f"{some_of(table.column_names, most=10)}."
        )
    return None


def _column_called(role: str, columns: list[str], table: TableNames) -> str | None:
    """Return the column that has one of the names which people give to its role."""
    if role == "record" and table.index_name in columns:
        return table.index_name
    known = _OTHER_NAMES[role].split()
    found = [name for name in columns if re.sub(r"[^0-9a-z]", "", name_key(name)) in known]
    if len(found) > 1:
        raise FindingsError(
            f"{table.name}: the columns {some_of(found)} can each be {ROLES[role]}; say which one "
            f"is: {role}={quoted(found[0])} (--{role} {quoted(found[0])})."
        )
    if not found and role == "record" and "" in columns:  # the row names that R and pandas write
        return ""
    return found[0] if found else None


def _read_meanings(source: Any) -> dict[str, str | None]:
    """Read what other names of symptoms mean."""
    table = open_table(source)
    name, meaning = columns_named(table, ["name", "meaning"])
    kinds = {name: ColumnKind.TEXT, meaning: ColumnKind.ID_TEXT}
    found: dict[str, str | None] = {}
    row = 0
    for batch in table.batches(kinds):
        for name, meaning in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if name in found:
                raise FindingsError(f"{table.location(row)}: {quoted(name)} was given before.")
            found[str(name)] = meaning or None
            row += 1
    return found


DEFAULT_FORMAT = RecordFormat()


class WatchedBlocks(Iterator[Block]):
    """Blocks on their way; those of the last stream tell what was noted of all."""

    def __init__(self, blocks: Iterator[Block], watch: "Watch", number: int) -> None:
        self.notes = watch.notes
        self._blocks = watch.notes.watched(blocks, number)
        self._watch = watch

    def __next__(self) -> Block:
        try:
            return next(self._blocks)
        except StopIteration:
            self.close()
            raise

    def close(self) -> None:
        """No more blocks are read."""
        self._watch.close(self)


class Watch:
    """Waits for the end of all streams, to tell what was noted of them."""

    def __init__(self, notes: Notes, matcher: NameMatcher) -> None:
        self.notes, self._matcher = notes, matcher
        self._open: set[int] = set()

    def over(self, streams: list["RecordStream"]) -> list["RecordStream"]:
        """Return the same streams, watched."""
        watched = [
            stream._replace(blocks=WatchedBlocks(stream.blocks, self, number))
            for number, stream in enumerate(streams)
        ]
        self._open = {id(stream.blocks) for stream in watched}
        return watched

    def close(self, blocks: WatchedBlocks) -> None:
        """Take note that a stream has ended."""
        is_open = id(blocks) in self._open
        self._open.discard(id(blocks))
        if is_open and not self._open:
            self.notes.tell(self._matcher)


class RecordStream(NamedTuple):
    """The records of a file, or of several files that share records."""

    tables: tuple[Table, ...]
    """Empty for records that are in memory already."""
    n_records: int | None
    """How many records there are, where that is known beforehand."""
    blocks: Iterator[Block]

    def pass_over(self) -> None:
        """Say that the records will not be read."""
        if isinstance(self.blocks, WatchedBlocks):
            self.blocks.notes.is_partial = True
            self.blocks.close()

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


def id_kind(tables: Iterable[tuple[Table, str | None]]) -> ColumnKind:
    """Return the kind of ids that all tables can have: texts, unless all are numbers."""
    has_texts = any(table.has_text_ids(column) for table, column in tables if column is not None)
    return ColumnKind.ID_TEXT if has_texts else ColumnKind.ID


def blocks_with_like_ids(streams: Iterable[RecordStream]) -> Iterator[Block]:
    """Give all blocks; their records have ids of one type, or none has any."""
    first: tuple[bool, str] | None = None
    for stream in streams:
        for block in stream.blocks:
            has_ids = block.record_ids is not None
            first = first or (has_ids, stream.name)
            if has_ids != first[0]:
                one, other = (stream.name, first[1]) if has_ids else (first[1], stream.name)
                raise FindingsError(
                    f"{one} has a column of record ids and {other} has none; give both one, or "
                    "neither."
                )
            yield block
