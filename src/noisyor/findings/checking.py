"""check_records: what is understood of the files of records, what is not, and what they hold."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import (
    NoisyOrError,
    ParameterError,
    collected_notices,
    count_of,
    nearest,
    some_of,
)
from noisyor.findings.blocks import Block
from noisyor.findings.findings import Findings, open_records, read_findings
from noisyor.findings.labels import as_labels, tell_one_sided
from noisyor.findings.notes import Notes
from noisyor.findings.reading import ReadOptions, RecordFormat, record_format
from noisyor.io.columns import UNNAMED, Words
from noisyor.io.paths import PathLike
from noisyor.io.tables import open_table, write_table
from noisyor.names import NameMatcher
from noisyor.structure import Structure

Counts = NDArray[np.int64]
_MOST_COMPARISONS = 1_000_000
"""Of names, in looking for the nearest ones."""
_MOST_KEPT = 2000
"""Records that are kept, to try out how long learning takes."""


@dataclass
class RecordCheck:
    """What files of records hold, as far as it is understood."""

    structure: Structure
    notes: Notes
    by_findings: Counts
    """How many records have 0, 1, 2, ... findings present."""
    problems: list[str] = field(default_factory=list)
    """Why records would be refused."""
    not_understood: dict[str, int] = field(default_factory=dict)
    """Names that the structure does not have, and how many rows (long) or columns (wide: 1)."""
    sample: Findings | None = None
    """The first records."""
    told: list[str] = field(default_factory=list)
    """What was told while the records were read."""
    n_labels: int | None = None
    """How many records have labels, where some were given."""

    @property
    def n_present(self) -> Counts:
        """For each symptom, in how many records it is present."""
        return self._counts(self.notes.n_present)

    @property
    def n_known(self) -> Counts:
        """For each symptom, in how many records it is present or absent."""
        return self._counts(self.notes.n_known)

    def _counts(self, counted: Counts | None) -> Counts:
        return np.zeros(self.structure.n_symptoms, dtype=np.int64) if counted is None else counted

    @property
    def never_present(self) -> list[str]:
        """The symptoms that no record has, although some records would say so."""
        return self._names(self.notes.symptoms_that_are("never present"))

    @property
    def never_known(self) -> list[str]:
        """The symptoms of which no record tells."""
        return self._names(self.notes.symptoms_that_are("never known"))

    @property
    def without_cause(self) -> list[str]:
        """The symptoms that no disease of the structure can cause, although records have them."""
        has_parents = np.diff(self.structure.parent_offsets) > 0
        return self._names(~has_parents & (self.n_present > 0))

    def _names(self, chosen: NDArray[np.bool_]) -> list[str]:
        return [self.structure.symptoms[j] for j in np.flatnonzero(chosen)]

    @property
    def mean_findings(self) -> float:
        """How many findings a record has, on average."""
        total = max(1, int(self.by_findings.sum()))
        return float(self.by_findings @ np.arange(len(self.by_findings))) / total

    def sentences(self) -> list[str]:
        """Return what was not taken as it stands, or may be wrong."""
        found = self.notes.sentences(NameMatcher(self.structure.symptoms))
        found += [sentence for sentence in self.told if sentence not in found]
        is_told = any(" never known: " in sentence for sentence in found)
        for names, what in (
            ([] if is_told else self.never_known, "never known"),
            (self.never_present, "never present"),
            (self.without_cause, "without a disease in the structure that could cause them"),
        ):
            if names and self.notes.n_records:
                found.append(f"{count_of(len(names), 'symptom')} {what}: {some_of(names)}.")
        return found

    def mapping(self) -> list[tuple[str, str, int]]:
        """Return the names that were not understood: name, the nearest known one, how often.

        The nearest one is looked for as long as that takes a few seconds, from the most frequent
        name on.
        """
        symptoms = self.structure.symptoms
        n_compared = _MOST_COMPARISONS // max(1, len(symptoms))
        by_frequency = sorted(self.not_understood.items(), key=lambda item: -item[1])
        return [
            (name, (nearest(name, symptoms) or "") if rank < n_compared else "", n)
            for rank, (name, n) in enumerate(by_frequency)
        ]

    def write_mapping(self, path: PathLike) -> None:
        """Write the names that were not understood, to be corrected and given back as `names`."""
        import pyarrow as pa

        rows = self.mapping()
        names, meanings, counts = zip(*rows, strict=True) if rows else ((),) * 3
        columns = {
            "name": pa.array(names, pa.string()),
            "meaning": pa.array(meanings, pa.string()),
            "rows": pa.array(counts, pa.int64()),
        }
        write_table(path, pa.table(columns))


def check_records(
    source: Any,
    structure: Structure,
    *,
    labels: Any = None,
    covariates: Sequence[str] = (),
    **options: Unpack[ReadOptions],
) -> RecordCheck:
    """Read records as `fit` would, and return what is understood of them and what is not.

    Parameters
    ----------
    source, structure, options
        As for `Findings.read`.
    labels
        A table of the diseases that some records were seen to have, joined as `fit` joins it.
    covariates
        Columns that hold covariates, not findings: these are not looked at here.

    Examples
    --------
    >>> structure = Structure.from_edges([("flu", "fever"), ("flu", "cough")])
    >>> import pyarrow as pa
    >>> found = check_records(pa.table({"Fever": ["yes", "no"], "cough": ["no", "no"]}), structure)
    >>> found.notes.n_records, found.n_present.tolist(), found.problems
    (2, [1, 0], [])
    >>> print(*found.sentences(), sep="\\n")
    1 name not written as in the structure: 'Fever' as 'fever'.
    1 symptom never present: 'cough'.
    """
    notes = Notes()
    asked = replace(record_format(options), passed_over=tuple(covariates))
    lenient = replace(asked, ignore_unknown=True, notes=notes)
    n = structure.n_symptoms
    found = RecordCheck(structure, notes, np.zeros(n + 1, dtype=np.int64))
    if isinstance(source, Findings):
        raise ParameterError("findings in memory were understood when they were read.")
    with collected_notices() as notices:
        try:
            _tally(found, source, lenient)
            if labels is not None:
                every = read_findings(source, structure, lenient)
                words = Words(asked.values)
                joined = as_labels(labels, every, words, asked.record)
                found.n_labels = int(joined.is_labelled.sum())
                tell_one_sided(joined.counts())
        except NoisyOrError as error:
            notes.is_partial = True  # reading ended there: what was not read is not missing
            found.problems.append(str(error))
    if not found.problems and not notes.n_records:
        found.problems.append("there is nothing to learn from: there are no records.")
    found.told = list(dict.fromkeys(notices))
    matcher = asked.matcher(structure)
    found.not_understood |= {
        name: n for name, n in notes.passed_over.items() if matcher.find(name) == -1
    }
    found.not_understood |= _unknown_columns(source, structure, asked)
    if found.not_understood and not asked.ignore_unknown and not found.problems:
        found.problems.append(
            f"the structure has no symptoms {some_of(found.not_understood)}: correct them (names=, "
            "--names), or pass over them (ignore_unknown=True, --ignore-unknown)."
        )
    return found


def _tally(found: RecordCheck, source: Any, form: RecordFormat) -> None:
    kept: list[Block] = []
    for stream in open_records(source, found.structure, form):
        for block in stream.blocks:
            if sum(each.n_records for each in kept) < _MOST_KEPT:
                kept.append(block)
            offsets, _, is_unknown = block.listed()
            records = np.repeat(np.arange(block.n_records), np.diff(offsets))
            n_findings = np.bincount(records[~is_unknown], minlength=block.n_records)
            found.by_findings += np.bincount(n_findings, minlength=len(found.by_findings))
    found.sample = Findings(found.structure, kept)


def _unknown_columns(source: Any, structure: Structure, form: RecordFormat) -> dict[str, int]:
    """Return the columns of wide tables that are neither symptoms nor ids."""
    found: dict[str, int] = {}
    sources: Iterable[Any] = source if isinstance(source, list | tuple) else [source]
    for each in sources:
        try:
            table = open_table(each)
        except NoisyOrError:
            continue
        if not form.is_long(table, structure):
            columns, matcher = form.columns_of(table, structure), form.matcher(structure)
            known = "", columns.record, table.index_name, *form.passed_over
            names = [name for name in table.column_names if matcher.find(name) == -1]
            names = [name for name in names if name not in known and not name.startswith(UNNAMED)]
            found |= dict.fromkeys(names, 1)
    return found
