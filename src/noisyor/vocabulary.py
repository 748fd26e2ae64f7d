"""Vocabulary: what readers call diseases, symptoms and records, and other names of theirs.

Pages and pictures of a test speak of skills and items, those of a machine of faults and alarms.
Synonyms are found where people search for a name, and understood where they give one.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from noisyor.errors import ParameterError, StructureError, nearest_name, quoted
from noisyor.io.paths import PathLike

LONGEST_WORD = 40
WORDS = ("disease", "symptom", "record")


@dataclass(frozen=True)
class Vocabulary:
    """Words for the kinds of things that a network is about, and synonyms of names.

    >>> words = Vocabulary("fault", "alarm", synonyms=[("pump", "P-101"), ("pump", "feed pump")])
    >>> words.synonyms_of("pump")
    ('P-101', 'feed pump')
    >>> words.translator()("Diseases are independent; this disease has 3 symptoms.")
    'Faults are independent; this fault has 3 alarms.'
    """

    disease: str = "disease"
    symptom: str = "symptom"
    record: str = "record"
    synonyms: tuple[tuple[str, str], ...] = ()
    """Pairs: a name of the structure, and another for it."""

    def __post_init__(self) -> None:
        for kind in WORDS:
            _check_word(kind, getattr(self, kind))
        object.__setattr__(self, "synonyms", tuple((str(a), str(b)) for a, b in self.synonyms))

    @property
    def has_words(self) -> bool:
        """True if readers say something else than disease, symptom and record."""
        return any(getattr(self, kind) != kind for kind in WORDS)

    @property
    def words(self) -> dict[str, str]:
        """What is said for each of our words, and for several of them."""
        said = {kind: getattr(self, kind) for kind in WORDS}
        if self.symptom != "symptom":
            said["finding"] = self.symptom
        return said | {f"{kind}s": plural(word) for kind, word in said.items()}

    def synonyms_of(self, name: str) -> tuple[str, ...]:
        """Return the other names of a disease or symptom."""
        return tuple(other for known, other in self.synonyms if known == name)

    def about(self, names: Iterable[str]) -> Self:
        """Return the same words, with the synonyms of some names alone."""
        kept = set(names)
        return replace(self, synonyms=tuple(pair for pair in self.synonyms if pair[0] in kept))

    def translator(self, names: Iterable[str] = ()) -> Callable[[str], str]:
        """Return a function that puts the reader's words in place of ours.

        Names stay as they are, whatever words they have in them.
        """
        if not self.has_words:
            return str
        said = self.words
        own = re.compile(rf"\b(?:{'|'.join(said)})\b", re.IGNORECASE)
        # Not in paths and options: records.parquet, /tmp/records/, --disease.
        before, after = r"(?<![/\\.])(?<!--)", r"(?![/\\]|\.\w)"
        ours = rf"\b(?P<article>an? )?{before}(?P<noun>{'|'.join(said)})\b{after}"
        kept = sorted((name for name in set(names) if own.search(name)), key=len, reverse=True)
        found = re.compile("|".join([*map(re.escape, kept), ours]), re.IGNORECASE)

        def translated(match: re.Match[str]) -> str:
            noun, article = match["noun"], match["article"]
            if noun is None:  # a name
                return match[0]
            new = said[noun.lower()]
            if article:
                article = f"{article[0]}n " if new[0] in "aeiou" else f"{article[0]} "
            return (article or "") + (new[0].upper() + new[1:] if noun[0].isupper() else new)

        return lambda text: found.sub(translated, text)

    def check(self, diseases: Iterable[str], symptoms: Iterable[str]) -> None:
        """Refuse synonyms of names that a structure does not have, or that could mean two."""
        names = {*diseases, *symptoms}
        meant: dict[str, str] = {}
        for name, synonym in self.synonyms:
            if name not in names:
                hint = nearest_name(name, sorted(names)) or "."
                raise StructureError(
                    f"{quoted(synonym)} is to be a synonym of {quoted(name)}, which is neither a "
                    f"disease nor a symptom{hint}"
                )
            key = synonym.casefold().strip()
            if not key:
                raise StructureError(f"a synonym of {quoted(name)} is empty.")
            if synonym in names and synonym != name:
                raise StructureError(
                    f"{quoted(synonym)} cannot be a synonym of {quoted(name)}: it is a name itself."
                )
            if meant.setdefault(key, name) != name:
                raise StructureError(
                    f"{quoted(synonym)} is a synonym of both {quoted(meant[key])} and "
                    f"{quoted(name)}; leave one of them."
                )

    # --- files ---

    def to_document(self) -> dict[str, Any]:
        """Return it for JSON: what differs from the usual words, and synonyms by name."""
        found: dict[str, Any] = {
            kind: getattr(self, kind) for kind in WORDS if getattr(self, kind) != kind
        }
        if self.synonyms:
            names = dict.fromkeys(name for name, _ in self.synonyms)
            found["synonyms"] = {name: list(self.synonyms_of(name)) for name in names}
        return found

    @classmethod
    def from_document(cls, listed: Any) -> Self:
        """Return what `to_document` gave; refuse what is of another shape."""
        known = [each.name for each in fields(cls)]
        if not isinstance(listed, Mapping) or not set(listed) <= set(known):
            raise ParameterError(f"'vocabulary' must be an object with {', '.join(known)}.")
        synonyms = listed.get("synonyms", {})
        is_right = isinstance(synonyms, Mapping) and all(
            isinstance(others, list) and all(isinstance(each, str) for each in others)
            for others in synonyms.values()
        )
        if not is_right:
            raise ParameterError("'synonyms' must be an object: a list of texts for each name.")
        pairs = [(name, each) for name, others in synonyms.items() for each in others]
        words = {kind: listed[kind] for kind in WORDS if kind in listed}
        return cls(**words, synonyms=tuple(pairs))


def read_synonyms(path: PathLike) -> list[tuple[str, str]]:
    """Read a table with the columns name and synonym, a row for each synonym."""
    from noisyor.io.columns import ColumnKind
    from noisyor.io.tables import need_columns, open_table

    table = open_table(path)
    columns = dict.fromkeys(("name", "synonym"), ColumnKind.TEXT)
    need_columns(table, columns)
    rows = (row for batch in table.batches(columns) for row in batch.to_pylist())
    return [(row["name"] or "", row["synonym"] or "") for row in rows]


def words_of(text: str) -> dict[str, Any]:
    """Return the words of a text such as "fault,alarm" or "fault,alarm,log".

    >>> words_of("skill, item")
    {'disease': 'skill', 'symptom': 'item'}
    """
    words = [word.strip() for word in text.split(",")]
    if not 2 <= len(words) <= len(WORDS):
        raise ParameterError(
            f"{quoted(text)} must be two words, or three, for disease, symptom and record: "
            "fault,alarm."
        )
    return dict(zip(WORDS, words, strict=False))


def plural(word: str) -> str:
    """Return several of something.

    >>> [plural(word) for word in ("skill", "wrong answer", "ability", "switch")]
    ['skills', 'wrong answers', 'abilities', 'switches']
    """
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if re.search(r"(s|x|z|ch|sh)$", word) else f"{word}s"


def _check_word(kind: str, word: object) -> None:
    is_word = isinstance(word, str) and re.fullmatch(r"[^\W\d_](?:[\w' -]*\w)?", word)
    if not is_word or len(str(word)) > LONGEST_WORD:
        raise ParameterError(
            f"the word for {kind} must be a noun in the singular, of up to {LONGEST_WORD} letters "
            f"and blanks, not {quoted(word)}."
        )
