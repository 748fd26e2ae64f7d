"""Names of diseases and symptoms, and their indices."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import (
    ParameterError,
    StructureError,
    UnknownNameError,
    count_of,
    give_notice,
    nearest_name,
    quoted,
    some_of,
)

if TYPE_CHECKING:
    from noisyor.io.columns import Table

Indices = NDArray[np.int64]
Name = str | int | np.integer[Any]
"""Wherever a disease or symptom is given: its name or its index."""


def index_names(names: tuple[str, ...], kind: str) -> dict[str, int]:
    """Return the index of each name; names are unique texts that are not empty."""
    index: dict[str, int] = {}
    for number, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise StructureError(
                f"{kind} {number} has the name {quoted(name)}; a name is a text that is not empty."
            )
        if index.setdefault(name, number) != number:
            raise StructureError(
                f"{kind} name {quoted(name)} is given twice, at {index[name]} and {number}."
            )
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        raise StructureError(f"a {kind} name holds a character that UTF-8 cannot write.") from None
    return index


def encode(
    given: list[Name], names: Iterable[str] | None, kind: str
) -> tuple[tuple[str, ...], Indices]:
    """Return all names and the index of each given one."""
    if names is None:
        index: dict[str, int] = {}
        for number, name in enumerate(given):
            if not isinstance(name, str):
                raise StructureError(
                    f"edge {number} has the {kind} {quoted(name)}; without {kind}s= it must be a "
                    "name."
                )
            index.setdefault(name, len(index))
        return tuple(index), np.array([index[str(name)] for name in given], dtype=np.int64)
    listed = tuple(names)
    known = index_names(listed, kind)
    codes = [resolve(name, known, listed, kind) for name in given]
    return listed, np.array(codes, dtype=np.int64)


def names_or_numbers(
    names: Iterable[str] | None, letter: str, count: int, kind: str, lines: str
) -> tuple[str, ...]:
    """Return the names, or numbered ones where none are given."""
    if names is None:
        return tuple(f"{letter}{number}" for number in range(count))
    listed = tuple(names)
    if len(listed) != count:
        raise StructureError(f"{len(listed)} {kind} names for a matrix with {count} {lines}.")
    return listed


def resolve(name: Name, index: Mapping[str, int], names: Sequence[str], kind: str) -> int:
    """Return the index of what is given by name or index, or raise an error with a near name."""
    if isinstance(name, str):
        if name in index:
            return index[name]
        raise UnknownNameError(
            f"there is no {kind} named {quoted(name)}{nearest_name(name, names) or '.'}"
        )
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        if 0 <= name < len(names):
            return int(name)
        raise UnknownNameError(
            f"there is no {kind} number {name}: there are {len(names)}, counted from 0."
        )
    raise UnknownNameError(f"a {kind} is given by its name or its index, not by {quoted(name)}.")


def sorted_sets(sets: Indices, n_symptoms: int) -> Indices:
    """Return rows of symptoms' indices, each sorted; none may name a symptom twice."""
    if sets.size and (sets.min() < 0 or sets.max() >= n_symptoms):
        raise ParameterError(f"a symptom's index lies outside 0 to {n_symptoms - 1}.")
    if (sets[:, 1:] > sets[:, :-1]).all():
        return sets
    ordered = np.sort(sets, axis=1)
    repeats = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if repeats.size:
        row = int(repeats[0])
        raise ParameterError(f"the set {sets[row].tolist()} names a symptom twice (row {row}).")
    return ordered


def match_name(
    given: str, names: Sequence[str], kind: str, synonyms: Iterable[tuple[str, str]] = ()
) -> str:
    """Return the name that is meant: as it stands, in other letters, or by a unique beginning.

    Where there are synonyms (a name, another for it) these count as names do.

    >>> match_name("Fev", ["fever", "cough"], "symptom")
    'fever'
    """
    if given in names:
        return given
    folded = given.casefold().strip()
    known = set(names) if synonyms else set()
    texts = [*zip(names, names, strict=True), *(pair for pair in synonyms if pair[0] in known)]
    for is_meant in (str.__eq__, str.startswith):
        meant = [name for name, text in texts if folded and is_meant(text.casefold(), folded)]
        found = list(dict.fromkeys(meant))
        if len(found) == 1:
            return found[0]
        if found:
            raise UnknownNameError(
                f"{quoted(given)} can be more than one {kind}: {some_of(found)}. Write more of it."
            )
    raise UnknownNameError(
        f"there is no {kind} named {quoted(given)}{nearest_name(given, names) or '.'}"
    )


def name_key(name: str) -> str:
    """Return what names share that differ only in case, blanks or the form of their letters.

    >>> name_key(" Runny_Nose") == name_key("runny nose")
    True
    """
    plain = unicodedata.normalize("NFKC", name).casefold().replace("\ufeff", "")
    words = " ".join(re.sub(r"(?<=\w)[_.]+(?=\w)", " ", plain).split())
    return unicodedata.normalize("NFKC", words)


def columns_named(table: "Table", wanted: Sequence[str]) -> list[str]:
    """Return the columns of these names, in whatever case and with blanks, or name the missing."""
    from noisyor.io.tables import need_columns

    alike = {name_key(name): name for name in table.column_names}
    found = [name if name in table.column_names else alike.get(name_key(name)) for name in wanted]
    missing = [name for name, at in zip(wanted, found, strict=True) if at is None]
    need_columns(table, missing)
    return [name for name in found if name is not None]


class NameList:
    """Names in the order in which a table shows them.

    Those that differ only in case, blanks or the form of their letters are one and the same, in
    the first spelling, unless names are exact.
    """

    def __init__(self, kind: str, exact: bool = False) -> None:
        self.kind = kind
        self.names: list[str] = []
        self._exact = exact
        self._index: dict[str, int] = {}
        self._by_key: dict[str, int] = {}
        self._merged: dict[str, str] = {}

    def indices_of(self, column: Any) -> tuple[Indices, int | None]:
        """Return the indices of an Arrow column's names, and the first row whose name is empty."""
        encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
        entries = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        words = encoded.dictionary.to_pylist()
        _, first_seen = np.unique(entries, return_index=True)
        indices: Indices = np.full(len(words), -1, dtype=np.int64)
        for row in np.sort(first_seen).tolist():
            word = words[entries[row]] if entries[row] >= 0 else None
            if not word or not word.strip():
                return indices[:0], row
            indices[entries[row]] = self._index_of(word)
        return np.asarray(indices[entries]), None

    def _index_of(self, word: str) -> int:
        if word not in self._index:
            name = word if self._exact else word.strip()
            found = self._by_key.setdefault(
                name if self._exact else name_key(name), len(self.names)
            )
            if found == len(self.names):
                self.names.append(name)
            if word != self.names[found]:
                self._merged[word] = self.names[found]
            self._index[word] = found
        return self._index[word]

    def tell(self, where: str) -> None:
        """Warn of names that were taken for others."""
        if self._merged:
            listed = [f"{quoted(name)} is {quoted(first)}" for name, first in self._merged.items()]
            more = f" and {len(listed) - 10:,} more" if len(listed) > 10 else ""
            give_notice(
                f"{where}: {count_of(len(listed), self.kind)} under a second spelling: "
                f"{', '.join(listed[:10])}{more}.",
                stacklevel=3,
            )


_MOST_REMEMBERED = 100_000
"""Names that are no symptoms of which it is remembered what they mean."""


class NameMatcher:
    """Finds which known name is meant: as it stands, else in other letters where that is clear.

    >>> matcher = NameMatcher(["fever", "cough", "Cough"])
    >>> matcher.find("FEVER "), matcher.find("cough"), matcher.find("COUGH")
    (0, 1, -1)

    Parameters
    ----------
    names
        The known names.
    meanings
        What other names mean: a known name, or None for what is to be passed over.
    """

    PASSED_OVER = -2

    def __init__(
        self, names: Sequence[str], meanings: Mapping[str, str | None] | None = None
    ) -> None:
        self.names = names
        self._index = {name: number for number, name in enumerate(names)}
        self._by_key: dict[str, int] = {}
        for number, name in enumerate(names):
            key = name_key(name)
            self._by_key[key] = -1 if key in self._by_key else number
        # All at once: what one name means must not change what another one does.
        known = {
            name: self._known(name, meaning) if meaning else self.PASSED_OVER
            for name, meaning in (meanings or {}).items()
        }
        self._index |= known
        self._by_key |= {name_key(name): at for name, at in known.items()}
        self.has_numbers = any(name.strip().isdecimal() for name in self._index)
        """Whether some names are whole numbers."""
        self._found: dict[str, int] = {}

    def _known(self, name: str, meaning: str) -> int:
        found = self._index.get(meaning, self._by_key.get(name_key(meaning), -1))
        if found < 0:
            hint = nearest_name(meaning, self.names) or "."
            raise UnknownNameError(
                f"names: {quoted(name)} is to mean {quoted(meaning)}, which is unknown{hint}"
            )
        return found

    def find(self, name: str) -> int:
        """Return the index of the name that is meant, -1 for none, or `PASSED_OVER`."""
        if name in self._index:
            return self._index[name]
        if name not in self._found:  # remembered: a file has the same names in every batch
            if len(self._found) > _MOST_REMEMBERED:
                self._found.clear()
            self._found[name] = self._by_key.get(name_key(name), -1)
        return self._found[name]

    def hint(self, name: str) -> str:
        """Return a question that names what may be meant, or nothing."""
        alike = [known for known in self.names if name_key(known) == name_key(name)]
        return f"; it can be {some_of(alike)}." if alike else nearest_name(name, self.names)


def renumbering(
    kept: Iterable[Name] | None, index_of: Callable[[Name], int], count: int, kind: str
) -> Indices:
    """Return for each old index the new one, -1 where it is left out."""
    if kept is None:
        return np.arange(count)
    if isinstance(kept, str):
        raise StructureError(f"subset takes a list of {kind}s, not the single text {quoted(kept)}.")
    chosen = [index_of(name) for name in kept]
    if len(set(chosen)) < len(chosen):
        raise StructureError(f"a {kind} is named twice in the subset.")
    new = np.full(count, -1, dtype=np.int64)
    new[chosen] = np.arange(len(chosen))
    return new


def renumbered(names: tuple[str, ...], new: Indices) -> list[str]:
    """Return the names that are kept, in their new order."""
    kept = np.flatnonzero(new >= 0)
    return [names[old] for old in kept[np.argsort(new[kept])]]
