"""LabelledCounts: how often diseases were seen, with and without each of their symptoms.

That is what learning from counts needs of labelled records. In those in which disease i was looked
for, and symptom j is known,

    P(i) = seen / looked for        f_ij = P(j absent | i seen) / P(j absent | i not seen)

since what other diseases do to j, they do in both. Counts add up, as those of findings do.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError
from noisyor.findings.blocks import Block, Words, pack
from noisyor.findings.labels import Labels
from noisyor.structure import Structure

Counts = NDArray[Any]
LOOKED, SEEN = 0, 1
"""The last axis of `LabelledCounts.diseases`."""
CASES, CASES_PRESENT, OTHERS, OTHERS_PRESENT = range(4)
"""The last axis of `LabelledCounts.edges`: records with the disease, in which the symptom is known
and in which it is present; the same of records without the disease."""


class Hidden(NamedTuple):
    """Which counts were suppressed as too small."""

    diseases: NDArray[np.bool_]
    edges: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LabelledCounts:
    """Counts over records in which diseases were looked for, by groups of records."""

    records: Counts
    """Records with a label, groups."""
    diseases: Counts
    """Groups x diseases x 2: records in which a disease was looked for, and was seen."""
    edges: Counts
    """Groups x edges x 4: see `CASES`."""
    hidden: Hidden | None = None

    def __post_init__(self) -> None:
        self._check()
        for name in "records", "diseases", "edges":
            counts = np.asarray(getattr(self, name), dtype=np.int64).view()
            counts.flags.writeable = False
            object.__setattr__(self, name, counts)

    def _check(self) -> None:
        """Raise an error where counts are negative, or a part is larger than its whole."""
        looked, seen = np.moveaxis(self.diseases, -1, 0)
        cases, cases_present, others, others_present = np.moveaxis(self.edges, -1, 0)
        smaller = seen, cases_present, others_present
        whole = looked, cases, others
        is_wrong = any((part > all_).any() for part, all_ in zip(smaller, whole, strict=True))
        if is_wrong or any((each < 0).any() for each in (self.records, *smaller)):
            raise ParameterError("a count of labelled records is larger than their number.")

    @classmethod
    def zeros(cls, structure: Structure, n_groups: int) -> "LabelledCounts":
        """Return the counts of no records."""
        records, diseases, edges = (
            np.zeros(shape, dtype=np.int64) for shape in shapes_of(structure, n_groups)
        )
        return cls(records, diseases, edges)

    @property
    def n_records(self) -> int:
        """How many records have a label."""
        return int(self.records.sum())

    def totals(self, without: int | None = None) -> tuple[Counts, Counts]:
        """Return the counts of diseases and edges over all groups, or all but one."""
        diseases, edges = (each.sum(axis=0) for each in (self.diseases, self.edges))
        if without is None:
            return diseases, edges
        return diseases - self.diseases[without], edges - self.edges[without]

    def __add__(self, other: "LabelledCounts") -> "LabelledCounts":
        """Merge the counts of two sets of records; what is hidden in one is hidden in both."""
        total = LabelledCounts(
            self.records + other.records, self.diseases + other.diseases, self.edges + other.edges
        )
        found = [each.hidden for each in (self, other) if each.hidden is not None]
        if not found:
            return total
        return total.hiding(Hidden(*map(np.logical_or.reduce, zip(*found, strict=True))))

    def hiding(self, hidden: Hidden) -> "LabelledCounts":
        """Return the counts without the hidden ones, which become 0."""
        return LabelledCounts(
            self.records,
            np.where(hidden.diseases[:, np.newaxis], 0, self.diseases),
            np.where(hidden.edges[:, np.newaxis], 0, self.edges),
            hidden,
        )

    def in_groups(self, n_groups: int) -> "LabelledCounts":
        """Return the same counts in fewer groups: group g joins group g modulo `n_groups`."""

        def joined(counts: Counts) -> Counts:
            parts = np.zeros((n_groups, *counts.shape[1:]), dtype=np.int64)
            np.add.at(parts, np.arange(len(counts)) % n_groups, counts)
            return parts

        records, diseases, edges = map(joined, (self.records, self.diseases, self.edges))
        return LabelledCounts(records, diseases, edges, self.hidden)

    def suppressed(self, structure: Structure, min_count: int) -> "LabelledCounts":
        """Return the counts, in one group, without cells that describe too few records.

        Where one of a disease's is too small, those of its edges are hidden, too.
        """
        whole = self.in_groups(1)
        n_records, (diseases, edges) = whole.n_records, whole.totals()
        looked, seen = diseases.T
        cases, cases_present, others, others_present = edges.T
        owners = structure.edges[:, 0]
        of_diseases = n_records - looked, looked - seen, seen
        of_edges = (
            seen[owners] - cases, cases - cases_present, cases_present,
            (looked - seen)[owners] - others, others - others_present, others_present,
        )  # fmt: skip
        is_small, is_small_edge = (
            np.any([(cell > 0) & (cell < min_count) for cell in cells], axis=0)
            for cells in (of_diseases, of_edges)
        )
        if whole.hidden is not None:
            is_small, is_small_edge = is_small | whole.hidden[0], is_small_edge | whole.hidden[1]
        return whole.hiding(Hidden(is_small, is_small_edge | is_small[owners]))

    def to_columns(self) -> dict[str, Counts]:
        """Return the arrays of a file."""
        columns = {
            "labelled_records": self.records,
            "labelled_diseases": self.diseases.ravel(),
            "labelled_edges": self.edges.ravel(),
        }
        if self.hidden is not None:
            columns |= {
                "labelled_diseases_hidden": self.hidden.diseases,
                "labelled_edges_hidden": self.hidden.edges,
            }
        return columns

    @classmethod
    def from_columns(
        cls, columns: dict[str, Any], structure: Structure, n_groups: int
    ) -> "LabelledCounts | None":
        """Build from the arrays of a file, if it has some."""
        if "labelled_records" not in columns:
            return None
        names = "labelled_records", "labelled_diseases", "labelled_edges"
        shapes = shapes_of(structure, n_groups)
        records, diseases, edges = (
            columns[name].reshape(shape) for name, shape in zip(names, shapes, strict=True)
        )
        hidden = None
        if "labelled_diseases_hidden" in columns:
            sizes = structure.n_diseases, structure.n_edges
            marks = columns["labelled_diseases_hidden"], columns["labelled_edges_hidden"]
            pairs = zip(marks, sizes, strict=True)
            hidden = Hidden(*(each.astype(np.bool_).reshape(size) for each, size in pairs))
        return cls(records, diseases, edges, hidden)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelledCounts):
            return NotImplemented
        mine, theirs = self.to_columns(), other.to_columns()
        same = (np.array_equal(mine[name], theirs[name]) for name in mine if name in theirs)
        return mine.keys() == theirs.keys() and all(same)

    __hash__ = None  # type: ignore[assignment]  # many counts make no key


def shapes_of(structure: Structure, n_groups: int) -> list[tuple[int, ...]]:
    """Return the shapes of the counts of records, diseases and edges."""
    return [(n_groups,), (n_groups, structure.n_diseases, 2), (n_groups, structure.n_edges, 4)]


class LabelledTally:
    """Counts labelled records, block by block."""

    def __init__(self, structure: Structure, n_groups: int) -> None:
        self._structure, self._n_groups = structure, n_groups
        self._start()

    def _start(self) -> None:
        shapes = shapes_of(self._structure, self._n_groups)
        self._records, self._diseases, self._edges = (np.zeros(each, np.int64) for each in shapes)

    def add(self, block: Block, labels: Labels, groups: NDArray[np.int64]) -> None:
        """Count those records of a block that have labels; each belongs to a group."""
        rows = np.flatnonzero(labels.is_labelled)
        if not len(rows):
            return
        present, unknown = (None if each is None else each[rows] for each in block.unpacked())
        assert present is not None
        is_known, is_on = labels.taken(rows).unpacked()
        known = np.ones_like(present) if unknown is None else ~unknown
        for group in np.unique(groups[rows]).tolist():
            here = groups[rows] == group
            self._records[group] += np.count_nonzero(here)
            self._diseases[group, :, LOOKED] += is_known[here].sum(axis=0)
            self._diseases[group, :, SEEN] += is_on[here].sum(axis=0)
            planes = (pack(each[here]) for each in (is_known, is_on, known, present))
            self._edges[group] += self._edge_counts(*planes)

    def _edge_counts(self, looked: Words, seen: Words, known: Words, present: Words) -> Counts:
        """Count the records of each edge, in rows of bits of diseases and of symptoms."""
        i, j = self._structure.edges.T
        found = np.empty((len(i), 4), dtype=np.int64)
        for column, owners, of_symptoms in (
            (CASES, seen, known),
            (CASES_PRESENT, seen, present),
            (OTHERS, looked & ~seen, known),
            (OTHERS_PRESENT, looked & ~seen, present),
        ):
            found[:, column] = np.bitwise_count(owners[i] & of_symptoms[j]).sum(axis=1)
        return found

    def take(self) -> LabelledCounts:
        """Return all counts since the last call."""
        found = LabelledCounts(self._records, self._diseases, self._edges)
        self._start()
        return found
