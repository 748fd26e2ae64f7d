"""`noisyor check`: what is understood of records, and what is not, before anything is learned."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import check_files, expand_files, read_structure
from noisyor.cli.output import say, show, show_json, text_table, working
from noisyor.errors import (
    FindingsError,
    NoisyOrError,
    collected_notices,
    count_of,
    quoted,
    some_of,
)

if TYPE_CHECKING:
    from noisyor.findings import Notes, ReadOptions
    from noisyor.findings.checking import RecordCheck
    from noisyor.findings.notes import FileNotes
    from noisyor.network.design import Design


@options.reads_records
def check(
    structure: options.StructureFile,
    records: Annotated[
        list[str], typer.Argument(help="Files of records, or patterns such as 'data/*.parquet'.")
    ],
    labels: options.Labels = None,
    covariates: options.Covariates = None,
    unknown_covariates: options.UnknownCovariates = "refuse",
    write_mapping: Annotated[
        Path | None,
        typer.Option(
            help="Write the names that are not understood, each with the nearest known one (.csv): "
            "correct it, and give it back with --names."
        ),
    ] = None,
    time_it: Annotated[
        bool,
        typer.Option("--time/--no-time", help="Try out on some records how long fit will take."),
    ] = True,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Say what is understood of records, what is not, and what fit would do with them.

    Example: noisyor check clinic.csv visits.csv --write-mapping names.csv

    Ends with the exit code 2 where fit would refuse the records.
    """
    from noisyor.findings.checking import check_records

    files = expand_files(records)
    inputs = [structure, *files, labels]
    check_files([write_mapping], inputs, tables=[write_mapping], endings={write_mapping: (".csv",)})
    graph = read_structure(structure)
    people = _People(options.covariates_of(covariates), unknown_covariates)
    with working("reading records", quiet or as_json):
        found = check_records(files, graph, labels=labels, covariates=people.columns, **reading)
        people.read(files, found, reading)
    seconds = None
    if time_it and not found.problems and found.notes.n_records > _ENOUGH_TO_TRY:
        with working("trying out how long fit takes", quiet or as_json):
            seconds = seconds_to_fit(found)
    if write_mapping is not None:
        found.write_mapping(write_mapping)
    if as_json:
        show_json(_facts(found, seconds) | {"covariates": people.facts()})
    elif not quiet:
        _show(found, seconds)
        show(*people.sentences())
        if write_mapping is not None:
            n_names = count_of(len(found.not_understood), "name")
            say(f"Written: {write_mapping} ({n_names} to correct; give it to --names)")
    if found.problems:
        raise FindingsError(f"fit would refuse these records: {found.problems[0]}")


class _People:
    """What is known of the people of the records, if anything."""

    def __init__(self, covariates: "list[str] | Path | None", unknown: str) -> None:
        from noisyor.learning.together import Together

        self._together = Together(covariates=covariates, unknown_covariates=unknown)
        self._design: Design | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the records' file that hold covariates."""
        return self._together.bare_columns

    def read(self, files: list[Path], found: "RecordCheck", reading: "ReadOptions") -> None:
        """Read them as fit would; what it would refuse is a problem of the records."""
        if self._together.covariates is None:
            return
        from noisyor.findings.findings import read_findings
        from noisyor.findings.reading import record_format

        form = record_format(reading)
        form = replace(form, passed_over=self.columns, ignore_unknown=True)
        try:
            with collected_notices() as notices:
                self._together.check_records(files)
                findings = read_findings(files, found.structure, form)
                self._design = self._together.design(findings, files, form)
        except NoisyOrError as error:
            found.problems.insert(0, str(error))
        found.told += [each for each in notices if each not in found.told]

    def facts(self) -> list[dict[str, Any]] | None:
        """Return what each covariate is."""
        import numpy as np

        if self._design is None:
            return None
        found, at = [], 0
        for each in self._design.covariates:
            column = self._design.rows[:, at]
            at += each.width
            known: dict[str, Any] = {"name": each.name, "unknown": int(np.isnan(column).sum())}
            if each.levels:
                found.append(known | {"levels": list(each.levels)})
            else:
                found.append(known | {"mean": each.centre, "standard deviation": each.scale})
        return found

    def sentences(self) -> list[str]:
        """Return the same in words."""
        found = []
        for each in self.facts() or []:
            what = f"a number, {each['mean']:.4g} on average" if "mean" in each else "a category: "
            what += some_of(each.get("levels", []))
            unknown = f"; unknown in {each['unknown']:,} records" if each["unknown"] else ""
            found.append(f"Covariate {quoted(each['name'])}: {what}{unknown}.")
        return found


_ENOUGH_TO_TRY = 5000
"""Fewer records are learned from as fast as it could be tried out."""


def seconds_to_fit(found: "RecordCheck") -> float:
    """Return about how long `fit` takes, from its time on a few records and on a few more."""
    sample = found.sample
    assert sample is not None
    sizes = [size for size in (250, 2000) if size < sample.n_records] + [sample.n_records]
    array, times = sample.to_numpy(), []
    with collected_notices():
        for size in [sizes[0], *sizes[:2]]:  # the first time it is compiled
            start = time.perf_counter()
            noisyor.NoisyOrLearner(found.structure).fit(array[:size])
            times.append(time.perf_counter() - start)
    _, least, *more = times
    a_record = max(0.0, more[0] - least) / (sizes[1] - sizes[0])
    return max(more[0], least + a_record * (found.notes.n_records - sizes[0]))


def _facts(found: "RecordCheck", seconds: float | None) -> dict[str, Any]:
    notes, structure = found.notes, found.structure
    return {
        "files": [
            {
                "name": each.name,
                "layout": each.layout,
                "columns": dict(each.columns),
                "delimiter": each.delimiter,
                "sheet": each.sheet,
            }
            for each in notes.files
        ],
        "records": notes.n_records,
        "records without a finding": notes.n_empty,
        "records of which nothing is known": notes.n_unknown,
        "findings a record": found.mean_findings,
        "records by findings": found.by_findings.tolist(),
        "guessed columns": notes.guessed,
        "other names": notes.other_names,
        "not understood": [
            {"name": name, "nearest": near or None, "rows": n} for name, near, n in found.mapping()
        ],
        "records with a label": found.n_labels,
        "symptoms": {
            name: {"present": int(n), "known": int(known)}
            for name, n, known in zip(
                structure.symptoms, found.n_present, found.n_known, strict=True
            )
        },
        "notices": found.sentences(),
        "problems": found.problems,
        "seconds to fit": seconds,
    }


def _show(found: "RecordCheck", seconds: float | None) -> None:
    notes, structure = found.notes, found.structure
    show(*understood(found.notes))
    if found.n_labels is not None:
        show(f"{count_of(found.n_labels, 'record')} with a label.")
    for sentence in found.sentences():
        show(f"- {sentence}")
    if not notes.n_records:
        return
    order = sorted(range(structure.n_symptoms), key=lambda j: -found.n_present[j])
    chosen = order if len(order) <= 12 else [*order[:6], *order[-6:]]
    rows = [
        [
            structure.symptoms[j],
            f"{found.n_present[j]:,}",
            f"{found.n_present[j] / max(1, found.n_known[j]):.1%}",
            f"{notes.n_records - found.n_known[j]:,}",
            str(structure.parent_offsets[j + 1] - structure.parent_offsets[j]),
        ]
        for j in chosen
    ]
    title = "The most and the least frequent symptoms" if len(order) > 12 else "Symptoms"
    titles = "symptom", "present", "share", "unknown", "diseases"
    show(text_table(titles, rows, left=["symptom"], title=title, has_lines=False))
    show(_plan_in_words(structure))
    if seconds is not None:
        show(f"fit with the method refined takes about {_duration(seconds)} on this machine.")


def understood(notes: "Notes | None") -> list[str]:
    """Return in two lines how files were read, and what they hold; none where none were read."""
    if notes is None or not notes.files:
        return []
    kinds = {_how_read(each) for each in notes.files}
    per_record = f"{notes.n_empty:,} without a finding that is present"
    nothing = f", of {notes.n_unknown:,} nothing is known" if notes.n_unknown else ""
    n_passed_over = notes.passed_over.total() or len(set(notes.columns_passed_over))
    n_files = count_of(len(notes.files), "file")
    return [
        f"Read {n_files}: {'; '.join(sorted(kinds))}.",
        f"{count_of(notes.n_records, 'record')}, {per_record}{nothing}; "
        f"{count_of(len(notes.other_names), 'name')} in other letters, "
        f"{count_of(n_passed_over, _unit(notes))} passed over.",
    ]


def _how_read(file: "FileNotes") -> str:
    parts = [file.layout, *(f"{role} in {quoted(column)}" for role, column in file.columns.items())]
    if file.delimiter:
        parts.append(f"delimited by {_DELIMITERS.get(file.delimiter, repr(file.delimiter))}")
    if file.sheet:
        parts.append(f"sheet {quoted(file.sheet)}")
    return ", ".join(parts)


def _unit(notes: "Notes") -> str:
    return "column" if any(each.layout == "wide" for each in notes.files) else "row"


_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def _plan_in_words(structure: "noisyor.Structure") -> str:
    """Say what can be learned with this structure, whatever the records."""
    schedule = noisyor.find_schedule(structure)
    n_learned = int((schedule.depths >= 0).sum())
    return (
        f"{n_learned:,} of {structure.n_edges:,} edges can be learned from pairs and triplets of "
        "symptoms; the others from whole records, if at all (noisyor identify says which)."
    )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
