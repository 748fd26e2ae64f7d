"""Verdict: whether a network fits its records, as files keep it; Lineage: how it was made.

`Misfits` need the counts of the records. A verdict is what they have found, which goes into files.
"""

from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

from noisyor._version import __version__
from noisyor.learning.misfits import Misfits

MOST_PAIRS, MOST_EDGES = 200, 20
"""The misfits that are kept; of the others only the number."""

Rows = tuple[dict[str, Any], ...]


class Verdict(NamedTuple):
    """Whether a network explains its records; the pairs that deviate, and what would explain it."""

    n_found: int
    """Pairs of symptoms that deviate."""
    pairs: Rows
    """The first of them, with the columns of `Misfits.table`."""
    fits: bool | None = None
    """None where it is not known."""
    sentences: tuple[str, ...] = ()
    """The verdict in words; empty where it is not known."""
    tests: tuple[tuple[str, float], ...] = ()
    """The p-value of each test."""
    causes: Rows = ()
    """What would explain the deviation, with the columns of `Misfits.cause_table`."""
    edges: Rows = ()
    """Edges that seem to be missing, the clearest first."""
    p_value: float | None = None
    """Of all tests together."""
    n_tested: int = 0
    """Pairs that were tested."""
    remedy: str = ""
    """What to do where dependence of diseases explains most of what is wrong."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What must be known of it in any case, in words: nothing where the network fits."""
        if self.fits is not False:
            return ()
        return tuple(filter(None, (*self.sentences[:1], self.remedy)))

    @classmethod
    def of(cls, misfits: Misfits) -> Self:
        """Return what misfits have found."""
        return cls(
            misfits.n_found,
            tuple(misfits.table()[:MOST_PAIRS]),
            misfits.fits,
            misfits.sentences,
            tuple(misfits.tests.items()),
            tuple(misfits.cause_table()),
            tuple(misfits.edge_table()[:MOST_EDGES]),
            misfits.p_value,
            misfits.n_tested,
            misfits.remedy,
        )

    def to_document(self) -> dict[str, Any]:
        """Return it for JSON."""
        return self._asdict()

    @classmethod
    def from_document(cls, listed: dict[str, Any]) -> Self:
        """Return what `to_document` gave; keys that are not known are passed over."""
        fits, p_value = listed.get("fits"), listed.get("p_value")
        if not (fits is None or isinstance(fits, bool)):
            raise ValueError(f"'fits' is {fits!r}")
        return cls(
            int(listed["n_found"]),
            _rows(listed, "pairs"),
            fits,
            tuple(map(str, listed.get("sentences", ()))),
            tuple((str(name), float(p)) for name, p in listed.get("tests", ())),
            _rows(listed, "causes"),
            _rows(listed, "edges"),
            None if p_value is None else float(p_value),
            int(listed.get("n_tested", 0)),
            str(listed.get("remedy", "")),
        )


def _rows(listed: dict[str, Any], key: str) -> Rows:
    rows = listed.get(key, ())
    if not all(isinstance(row, dict) for row in rows):
        raise TypeError(f"{key!r} must be a list of objects")
    return tuple(rows)


class Lineage(NamedTuple):
    """How something was learned: with which settings, when, by which version."""

    settings: dict[str, Any]
    """Of the method, of how diseases occur together, and the names of covariates."""
    seed: int | None = None
    version: str = __version__
    date: str = ""
    """In UTC, such as "2026-03-01T12:00:00+00:00"."""

    @classmethod
    def now(cls, settings: dict[str, Any], seed: int | None) -> Self:
        """Return that of something that was learned just now."""
        date = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(settings, seed, __version__, date)

    @classmethod
    def from_document(cls, listed: dict[str, Any]) -> Self:
        """Return what `_asdict` gave; keys that are not known are passed over."""
        settings, seed = listed.get("settings", {}), listed.get("seed")
        if not isinstance(settings, dict) or not (seed is None or type(seed) is int):
            raise TypeError("'lineage' must have an object 'settings' and a whole number 'seed'")
        return cls(settings, seed, str(listed.get("version", "")), str(listed.get("date", "")))
