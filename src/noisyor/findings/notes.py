"""What a reading of people's files understood, and what it passed over.

Readers write it down as they go. When all has been read, whatever was not taken as it stands is
told: guessed columns, names in other letters, rows and columns that were passed over, records that
a long table cannot show, ids that come twice.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import count_of, give_notice, quoted, some_of
from noisyor.findings.blocks import Block
from noisyor.io.columns import hash_ids
from noisyor.names import NameMatcher

MOST_NAMED = 10
"""Names in a sentence."""
_MOSTLY = 0.6
"""The share of present findings above which they are likely to be something good."""
_ENOUGH = 10
"""Records among which a finding should be absent."""
_MOST_HASHES = 1 << 22
"""Hashes of ids that are kept; of more ids, only those are looked at whose hash ends in zeros."""


ROLES = {
    "record": "the record's id",
    "symptom": "the symptom's name",
    "state": "the state of the finding",
}
"""What columns can hold besides findings."""


@dataclass(frozen=True)
class FileNotes:
    """How a file was read."""

    name: str
    layout: str
    columns: Mapping[str, str]
    """The columns that are no findings, by what they hold: record, symptom, state."""
    delimiter: str | None
    sheet: str | None
    is_inverted: bool
    """Whether what is written as present means absent."""


class IdWatch:
    """Watches the ids of wide records, in bounded memory, for those that come twice."""

    def __init__(self) -> None:
        self._hashes: dict[int, list[NDArray[np.uint64]]] = {}
        self._n_zeros = 0
        self._n_kept = 0

    def look(self, ids: Any, source: int) -> None:
        """Take note of the ids of some records of a file."""
        kept = self._thinned(hash_ids(ids.drop_null()))
        self._hashes.setdefault(source, []).append(kept)
        self._n_kept += len(kept)
        if self._n_kept > _MOST_HASHES:
            self._n_zeros += 1
            self._thin()

    def _thin(self) -> None:
        """Keep only those hashes that end in enough zeros, and few enough of them."""
        while True:
            for parts in self._hashes.values():
                parts[:] = [self._thinned(part) for part in parts]
            self._n_kept = sum(len(part) for parts in self._hashes.values() for part in parts)
            if self._n_kept <= _MOST_HASHES:
                return
            self._n_zeros += 1

    def _thinned(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        is_kept = hashes & np.uint64((1 << self._n_zeros) - 1) == 0
        return np.asarray(hashes[is_kept])

    def add(self, other: "IdWatch") -> None:
        """Take the ids that someone else has seen, of the same files or of others."""
        self._n_zeros = max(self._n_zeros, other._n_zeros)
        for source, parts in other._hashes.items():
            self._hashes.setdefault(source, []).extend(parts)
        self._thin()

    def n_repeated(self) -> tuple[int, int]:
        """Return about how many ids come twice in one file, and how many in two files."""
        files = [np.concatenate(parts) for parts in self._hashes.values()]
        if not files:
            return 0, 0
        distinct = [np.unique(each) for each in files]
        within = sum(map(len, files)) - sum(map(len, distinct))
        _, n_files = np.unique(np.concatenate(distinct), return_counts=True)
        return within << self._n_zeros, int((n_files > 1).sum()) << self._n_zeros

    def sentences(self) -> list[str]:
        """Return what must be told."""
        within, between = self.n_repeated()
        about = "about " if self._n_zeros else ""
        found = []
        if between:
            found.append(
                f"{about}{count_of(between, 'id')} in more than one file: are records counted "
                "twice? Each row is taken as a record of its own."
            )
        if within:
            found.append(
                f"{about}{count_of(within, 'row')} with an id that another row of the file has: "
                "each is taken as a record of its own."
            )
        return found


@dataclass
class Notes:
    """What was understood of the records' files, and what was passed over.

    >>> notes = Notes()
    >>> notes.passed_over["Coughing"] += 12
    >>> notes.n_rows = 100
    >>> print(*notes.sentences(NameMatcher(["fever", "cough"])), sep="\\n")
    passed over 12 of 100 rows, whose names the structure does not have: 'Coughing' (12 rows; did \
you mean 'cough'?).
    """

    files: list[FileNotes] = field(default_factory=list)
    guessed: dict[str, str] = field(default_factory=dict)
    """Columns that were taken for something by what they are called: column to its role."""
    other_names: dict[str, str] = field(default_factory=dict)
    """Names that differ from the structure's in case, blanks or form only, and what they mean."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """Names of symptoms that the structure does not have, and how many rows (long) have them."""
    columns_passed_over: list[str] = field(default_factory=list)
    columns_of_indices: list[str] = field(default_factory=list)
    """Columns of long tables that hold indices of symptoms in place of names."""
    n_rows: int = 0
    n_records: int = 0
    n_empty: int = 0
    """Records in which no finding is present."""
    n_unknown: int = 0
    """Records in which nothing is known."""
    n_rows_empty: int = 0
    """Rows of wide tables without an id or a value, which are no records."""
    n_nameless: int = 0
    """Rows of long tables that name no symptom."""
    n_said_absent: int = 0
    """Rows of long tables that say that a finding is absent."""
    columns_not_read: dict[str, str] = field(default_factory=dict)
    """Further columns of long tables, and some of their values."""
    n_present: NDArray[np.int64] | None = None
    """For each symptom, in how many records it is present."""
    n_known: NDArray[np.int64] | None = None
    """For each symptom, in how many records it is present or absent."""
    digests: dict[int, int] = field(default_factory=dict)
    """A number for each wide file, which two files with the same records share."""
    is_partial: bool = False
    """Whether some of the records were read before, so that these do not tell of all."""
    vanished: bool = False
    """Whether records without findings, if there were any, do not show in the files."""
    are_ids_watched: bool = False
    """Whether an id that comes twice may be a record that is counted twice."""
    ids: IdWatch = field(default_factory=IdWatch)
    _lock: Any = field(default_factory=threading.Lock, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def restart(self) -> None:
        """Forget what an earlier pass over the same files understood."""
        lock = self._lock
        self.__init__()  # type: ignore[misc]  # every field as it was at first
        self._lock = lock

    def add(self, other: "Notes") -> None:
        """Take what was noted elsewhere, of other parts of the same files."""
        with self._lock:
            self.files += other.files
            self.guessed |= other.guessed
            self.other_names |= other.other_names
            self.passed_over.update(other.passed_over)
            self.columns_passed_over += other.columns_passed_over
            self.columns_of_indices += other.columns_of_indices
            self.n_rows += other.n_rows
            self.n_records += other.n_records
            self.n_empty += other.n_empty
            self.n_unknown += other.n_unknown
            self.n_rows_empty += other.n_rows_empty
            self.n_nameless += other.n_nameless
            self.n_said_absent += other.n_said_absent
            self.columns_not_read |= other.columns_not_read
            self.is_partial |= other.is_partial
            self._add_counts(other.n_present, other.n_known)
            self.vanished |= other.vanished
            self.ids.add(other.ids)

    def file(
        self, table: Any, layout: str, columns: Mapping[str, str], *, is_inverted: bool
    ) -> None:
        """Note how a file is read."""
        delimiter, sheet = getattr(table, "delimiter", None), getattr(table, "sheet", None)
        self.files.append(FileNotes(table.name, layout, columns, delimiter, sheet, is_inverted))

    @property
    def is_text(self) -> bool:
        """Whether a file is a text or a sheet, which may have rows that are empty by mistake."""
        return any(each.delimiter or each.sheet for each in self.files)

    def _add_counts(
        self, n_present: NDArray[np.int64] | None, n_known: NDArray[np.int64] | None
    ) -> None:
        if n_present is not None and n_known is not None:
            self.n_present = n_present if self.n_present is None else self.n_present + n_present
            self.n_known = n_known if self.n_known is None else self.n_known + n_known

    def symptoms_that_are(self, what: str) -> NDArray[np.bool_]:
        """Return which symptoms are never known, never present, or always present if known."""
        if self.n_present is None or self.n_known is None:
            return np.zeros(0, dtype=np.bool_)
        known = self.n_known > 0
        if what == "never known":
            return ~known
        chosen = self.n_present == (0 if what == "never present" else self.n_known)
        return np.asarray(known & chosen)

    def rows(
        self,
        n_rows: int,
        passed_over: Mapping[str, int],
        other: Mapping[str, str],
        n_nameless: int = 0,
        n_absent: int = 0,
    ) -> None:
        """Note some rows of a long table."""
        with self._lock:
            self.n_rows += n_rows
            self.n_nameless += n_nameless
            self.n_said_absent += n_absent
            self.passed_over.update(passed_over)
            self.other_names.update(other)

    def indices(self, column: str) -> None:
        """Note that a column of a long table holds indices of symptoms."""
        with self._lock:
            if column not in self.columns_of_indices:
                self.columns_of_indices.append(column)

    def watched(self, blocks: Iterable[Block], source: int) -> Iterator[Block]:
        """Give blocks on, and note their records."""
        for block in blocks:
            known = block.present if block.unknown is None else block.present | ~block.unknown
            present, unknown = _counts(block)
            with self._lock:
                self._add_counts(present, block.n_records - unknown)
                self.digests[source] = _digest(block, self.digests.get(source, 0))
                self.n_records += block.n_records
                self.n_empty += block.n_records - _n_records_with(block.present, block.n_records)
                if block.unknown is not None:
                    self.n_unknown += block.n_records - _n_records_with(known, block.n_records)
                if block.record_ids is not None and self.are_ids_watched:
                    self.ids.look(block.record_ids, source)
            yield block

    def sentences(self, matcher: NameMatcher) -> list[str]:
        """Return what must be told: whatever was not taken as it stands, or may be wrong."""
        found = []
        if self.guessed:
            listed = [f"{quoted(column)} as {ROLES[role]}" for column, role in self.guessed.items()]
            options = ", ".join(f"--{role}" for role in dict.fromkeys(self.guessed.values()))
            found.append(
                f"columns recognised by their names: {_some(listed)} ({options} if others are "
                "meant)."
            )
        if self.other_names:
            listed = [
                f"{quoted(given)} as {quoted(name)}" for given, name in self.other_names.items()
            ]
            found.append(
                f"{count_of(len(listed), 'name')} not written as in the structure: {_some(listed)}."
            )
        if self.columns_of_indices:
            first = ", ".join(f"{j} is {quoted(name)}" for j, name in enumerate(matcher.names[:3]))
            found.append(
                f"whole numbers of column {some_of(dict.fromkeys(self.columns_of_indices))} are "
                f"positions in the structure: {first}. If they are not, write names of symptoms, "
                "or say what the numbers mean: names= (--names)."
            )
        found += self._passed_over(matcher)
        found += [] if self.is_partial else self._about_records()
        found += [] if self.is_partial else self._about_symptoms(matcher)
        return found

    def _passed_over(self, matcher: NameMatcher) -> list[str]:
        found = []
        if self.passed_over:
            listed = [
                f"{quoted(name)} ({count_of(n, 'row')}{matcher.hint(name).rstrip('.')})"
                for name, n in self.passed_over.most_common(MOST_NAMED)
            ]
            listed += [""] * (len(self.passed_over) - len(listed))
            found.append(
                f"passed over {self.passed_over.total():,} of {count_of(self.n_rows, 'row')}, "
                f"whose names the structure does not have: {_some(listed)}."
            )
        if self.columns_passed_over:
            columns = list(dict.fromkeys(self.columns_passed_over))
            listed = [
                f"{quoted(name)}{matcher.hint(name).rstrip('.')}"
                if name
                else "the one without a name"
                for name in columns[:MOST_NAMED]
            ]
            listed += [""] * (len(columns) - len(listed))
            found.append(f"passed over {count_of(len(listed), 'column')}: {_some(listed)}.")
        if self.columns_not_read:
            listed = [f"{quoted(name)}{values}" for name, values in self.columns_not_read.items()]
            found.append(
                f"further columns are not read: {_some(listed)}. If one says whether a finding "
                "is there, say state= (--state)."
            )
        return found

    def _about_records(self) -> list[str]:
        found = []
        if self.files and not self.n_records:
            found.append(f"there are no records: no row below the header of {self.files[0].name}.")
        if self.n_rows_empty:
            found.append(f"passed over {count_of(self.n_rows_empty, 'empty row')}.")
        if self.n_unknown and self.is_text:
            found.append(f"{count_of(self.n_unknown, 'record')} of which nothing is known.")
        if self.n_nameless > self.n_empty and self.vanished:
            found.append(
                f"{count_of(self.n_nameless, 'row')} without a symptom, of which "
                f"{self.n_nameless - self.n_empty:,} are of records with findings: are names "
                "missing?"
            )
        n_cells = self.n_records * (0 if self.n_known is None else len(self.n_known))
        if self.n_said_absent and self.vanished and self.n_rows < 0.98 * n_cells:
            found.append(
                f"besides {count_of(self.n_said_absent, 'row')} with absent findings there are "
                f"{n_cells - self.n_rows:,} findings that no row mentions, which are taken as "
                "absent, too. If they were not looked at: unmentioned='unknown' (--unmentioned "
                "unknown)."
            )
        if self.n_records >= _ENOUGH and self._is_nothing_absent:
            is_long = any(each.layout == "long" for each in self.files)
            found.append(
                f"no finding of any record is absent: what is empty{' or not listed' * is_long} is "
                "unknown. If it means absent, say so: values={'': 'absent'} (--values \"=absent\")"
                + (", or unmentioned='absent' (--unmentioned absent)." if is_long else ".")
            )
        if self.vanished and self.n_records and not self.n_empty:
            found.append(
                f"of {count_of(self.n_records, 'record')} none is without a finding: such records "
                "do not show in a long table, and without them diseases seem more frequent than "
                "they are. If there were any, say how many records there are (n_records, "
                "--n-records) or list their ids (all_records, --all-records)."
            )
        return found + self.ids.sentences()

    @property
    def _is_nothing_absent(self) -> bool:
        return bool(self.symptoms_that_are("always present").any()) and bool(
            (self.symptoms_that_are("always present") | self.symptoms_that_are("never known")).all()
        )

    def _about_symptoms(self, matcher: NameMatcher) -> list[str]:
        if self.n_records < _ENOUGH or self.n_present is None or self.n_known is None:
            return []
        found = []
        unknown = np.flatnonzero(self.symptoms_that_are("never known"))
        if len(unknown):
            names = some_of(matcher.names[int(j)] for j in unknown)
            found.append(f"{count_of(len(unknown), 'symptom')} never known: {names}.")
        always = np.flatnonzero(self.symptoms_that_are("always present"))
        if len(always) and not self._is_nothing_absent:
            names = some_of(matcher.names[int(j)] for j in always)
            found.append(
                f"{count_of(len(always), 'symptom')} never absent: {names}. If an empty cell means "
                "absent there, write 0 into it, or say values={'': 'absent'}."
            )
        share = self.n_present.sum() / max(1, self.n_known.sum())
        if share > _MOSTLY and not self._is_nothing_absent:
            found.append(
                f"{share:.0%} of all findings are present"
                + (
                    " when inverted. If 1 stands for what is wrong, leave out invert=True "
                    "(--invert)."
                    if any(each.is_inverted for each in self.files)
                    else ". If 1 stands for what is right, say invert=True (--invert)."
                )
            )
        if len(self.digests) > len(set(self.digests.values())):
            found.append("two files hold the same records: are they counted twice?")
        return found

    def tell(self, matcher: NameMatcher) -> None:
        """Warn of what must be told."""
        for sentence in self.sentences(matcher):
            give_notice(sentence)


def _counts(block: Block) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each symptom, in how many records it is present, and in how many unknown."""
    planes = block.present, block.unknown
    present, unknown = (
        np.zeros(len(block.present), dtype=np.int64)
        if plane is None
        else np.bitwise_count(plane).sum(axis=1, dtype=np.int64)
        for plane in planes
    )
    return present, unknown


def _digest(block: Block, before: int) -> int:
    """Return a number that depends on all bits of a block and on what came before."""
    return hash((before, block.n_records, np.bitwise_xor.reduce(block.present, axis=0).tobytes()))


def _some(listed: list[str]) -> str:
    more = len(listed) - MOST_NAMED
    return ", ".join(listed[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _n_records_with(planes: NDArray[np.uint64], n_records: int) -> int:
    """Return in how many records any of the symptoms' bits is set."""
    if not len(planes):
        return 0
    words = np.bitwise_or.reduce(planes, axis=0)
    if n_records % 64:
        words = words.copy()
        words[n_records // 64] &= np.uint64((1 << (n_records % 64)) - 1)
    return int(np.bitwise_count(words[: -(-n_records // 64)]).sum())
