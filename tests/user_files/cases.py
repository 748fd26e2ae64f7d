"""A file of a user, and what must happen with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from user_files.truth import EDGES, edges, file

STRUCTURE = {"structure.csv": file(edges(EDGES))}


class Same(NamedTuple):
    """It is understood: the counts are those of the clean twin, and the notes are given."""

    twin: str = "complete"
    notes: tuple[str, ...] = ()
    """Patterns of what has to be told; small and capital letters are one."""
    is_silent: bool = False
    """Nothing is told: there is nothing to tell."""


class Refused(NamedTuple):
    """It is refused, in one sentence in which these patterns (of location and remedy) are found."""

    patterns: tuple[str, ...]


def same(twin: str = "complete", *notes: str) -> Same:
    """Return that a file is understood, with these notes."""
    return Same(twin, notes)


def refused(*patterns: str) -> Refused:
    """Return that a file is refused, with these patterns in its sentence."""
    return Refused(patterns)


class Link(NamedTuple):
    """A second name of a file."""

    target: str
    is_hard: bool


@dataclass(frozen=True)
class Case:
    """Files of a user, as options and arguments of a command, and what must happen with them."""

    name: str
    must: Same | Refused
    records: Mapping[str, bytes | Link]
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of reading, by their names in Python."""
    structure: Mapping[str, bytes] = field(default_factory=lambda: STRUCTURE)
    labels: Mapping[str, bytes] = field(default_factory=dict)
    """Which diseases each record had: the case is one of learning from them."""
    beside: Mapping[str, bytes] = field(default_factory=dict)
    """Files that options name."""
    in_python: Same | Refused | None = None
    """What must happen when they are read in Python, where it is not the same."""

    def write(self, folder: Path) -> Path:
        """Write the files into a folder of their own; return it."""
        place = folder / self.name
        place.mkdir(parents=True)
        for name, content in {
            **self.structure, **self.records, **self.labels, **self.beside
        }.items():  # fmt: skip
            path = place / name
            if not isinstance(content, Link):
                path.write_bytes(content)
            elif content.is_hard:
                path.hardlink_to(place / content.target)
            else:
                path.symlink_to(content.target)
        return place

    def options_in(self, folder: Path) -> dict[str, Any]:
        """Return the options, those that name files with the path."""
        return {
            name: folder / value if isinstance(value, str) and value in self.beside else value
            for name, value in self.options.items()
        }

    def arguments(self, folder: Path) -> list[str]:
        """Return structure, records and options as the command line takes them."""
        arguments = [str(folder / name) for name in (*self.structure, *self.records)]
        for name, value in self.options_in(folder).items():
            arguments.append(f"--{name.replace('_', '-')}")
            if isinstance(value, Mapping):
                arguments.append(",".join(f"{word}={state}" for word, state in value.items()))
            elif value is not True:
                arguments.append(str(value))
        return arguments

    @property
    def in_words(self) -> str:
        """What must happen, for the index."""
        if isinstance(self.must, Refused):
            return f"refused, with {', '.join(self.must.patterns)}"
        told = f", told with {', '.join(self.must.notes)}" if self.must.notes else ""
        return f"equal to {self.must.twin}{told}"
