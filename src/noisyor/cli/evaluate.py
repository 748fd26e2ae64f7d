"""`noisyor evaluate`: a network against the true one, or what it diagnoses against labels."""

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import (
    check_files,
    expand_sources,
    local_files,
    read_learned,
    read_network,
)
from noisyor.cli.output import say, show, show_json, text_table, working
from noisyor.errors import ParameterError
from noisyor.io.replacing import replaced_together

if TYPE_CHECKING:
    from noisyor.evaluation import Comparison, Coverage, DiagnosisEvaluation, PosteriorDifferences
    from noisyor.findings import ReadOptions

MOST_DISEASES = 30
"""Diseases that are shown, those with the most cases."""
OF_LABELS = {
    "labels", "covariates", "method", "output", "calibration", "decisions", "spreadsheet_safe",
    "jobs", *options.RECORD_OPTIONS,
}  # fmt: skip
"""Options that only diagnoses against labels have."""


@options.reads_records
def evaluate(
    context: typer.Context,
    network: options.NetworkFile,
    other: Annotated[
        list[str],
        typer.Argument(
            help="The true network, or any of the same names; with --labels: files of records."
        ),
    ],
    labels: options.Labels = None,
    covariates: Annotated[
        Path | None,
        typer.Option(
            help="With --labels: a table of covariates, joined by ids; none: columns of the record "
            "file."
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(help="With --labels: auto, exact, variational, mean_field or gibbs."),
    ] = "auto",
    output: Annotated[
        Path | None,
        options.output_option(
            "With --labels: where to write everything (.json, which report reads) or the scores "
            "of each disease (.csv, .parquet)."
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(help="With --labels: also write the calibration curves (.csv, .parquet)."),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(help="With --labels: also write the decision curves (.csv, .parquet)."),
    ] = None,
    spreadsheet_safe: options.SpreadsheetSafe = False,
    records: Annotated[
        int,
        typer.Option(
            "--records",
            "-n",
            min=0,
            max=options.MOST_RECORDS,
            help="Of two networks: new records whose posteriors are compared.",
        ),
    ] = 1000,
    jobs: options.Jobs = 0,
    seed: options.Seed = 0,
    budget: Annotated[
        float, typer.Option(min=0.0, help="Seconds of work for a record's posteriors.")
    ] = 0.1,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Compare a network with the true one, or its diagnoses with the diseases that were seen.

    Of two networks: their parameters, by depth, and what they say of new records. With --labels:
    AUC, calibration, top-k, log score, Brier score and net benefit, of each disease and of all.

    Example: noisyor evaluate learned.json truth.json

    Against labels: noisyor evaluate learned.json records.csv --labels labels.csv -o scores.json
    """
    if labels is None:
        options.refuse_given(context, OF_LABELS, "diagnoses against labels: give --labels")
        if len(other) > 1:
            raise ParameterError(
                f"a network is compared with one other, not with {len(other)}; of files of records "
                "also give --labels."
            )
        asked = Networks(network, other[0], records, seed, budget)
        asked.evaluate(as_json=as_json, quiet=quiet)
        return
    options.refuse_given(context, ["records"], "two networks, not for labels")
    inference = {"method": method, "budget": budget, "rng": seed, "n_jobs": jobs or None}
    outputs = EvaluationFiles(output, calibration, decisions, spreadsheet_safe)
    files = expand_sources(other)
    outputs.check([network, labels, covariates, *local_files(files)])
    with working("diagnosing", quiet or as_json):
        found = evaluate_files(
            read_network(network, seed), files, labels, covariates, inference, reading
        )
    outputs.write(found)
    if as_json:
        show_json(_facts(found))
    elif not quiet:
        _show(found)
        outputs.tell()


# --- two networks ---


@dataclass(frozen=True)
class Networks:
    """Two networks to compare."""

    learned: str
    truth: str
    records: int
    seed: int
    budget: float

    def evaluate(self, *, as_json: bool, quiet: bool) -> None:
        """Compare them, and show how far they are from each other."""
        networks = read_learned(self.learned), read_network(self.truth)
        with working("comparing posteriors", as_json or quiet):
            found = noisyor.evaluate(
                *networks, n_records=self.records, rng=self.seed, budget=self.budget
            )
        if as_json:
            show_json(asdict(found))
        elif not quiet:
            show(_differences(found))
            if found.intervals is not None:
                show(_of_intervals(found.intervals))
            if found.posteriors is not None:
                show(_of_posteriors(found.posteriors))
            elif self.records:
                impossible = "to one of the networks all records are impossible"
                why = impossible if found.priors.n else "there are no diseases"
                show(f"No posteriors could be compared: {why}.")


def _of_intervals(intervals: "dict[str, Coverage]") -> str:
    parts = (
        f"{each.n_holding:,} of {each.n:,} {kind} ({each.n_flagged:,} flagged)"
        for kind, each in intervals.items()
    )
    return f"95% intervals that hold the truth, of what is not flagged: {', '.join(parts)}."


def _differences(found: "Comparison") -> object:
    parts = {"priors": found.priors, "failures": found.failures, "leaks": found.leaks}
    for depth, errors in found.by_depth.items():
        parts[f"failures of depth {depth}" if depth >= 0 else "failures not scheduled"] = errors
    rows = []
    for name, errors in parts.items():
        numbers = errors.mean, errors.median, errors.largest
        rows.append([name, f"{errors.n:,}", *(_shown(each) for each in numbers), errors.where])
    titles = "parameters", "number", "mean", "median", "largest", "where"
    return text_table(titles, rows, left=("parameters", "where"), title="Absolute differences")


def _of_posteriors(differ: "PosteriorDifferences") -> str:
    return (
        f"Posteriors of {differ.n_records:,} new records ({differ.n_exact:,} of them exact) differ "
        f"by {differ.mean:.5f} on average and by {differ.largest:.4f} at most; the most probable "
        f"disease is the same in {differ.same_top:.1%}."
    )


# --- diagnoses against labels ---


def evaluate_files(
    network: "noisyor.NoisyOrNetwork",
    files: list[Any],
    labels: Path,
    covariates: Path | None,
    inference: dict[str, Any],
    reading: "ReadOptions",
) -> "DiagnosisEvaluation":
    """Evaluate files of records, with the covariates that the network was learned with."""
    from noisyor.findings.findings import read_findings
    from noisyor.findings.reading import RecordFormat

    form, effects = RecordFormat(**reading), network.causes.effects
    if effects is not None:
        if covariates is None and len(files) > 1:
            raise ParameterError("--covariates: give a table of those of all records in all files.")
        names = tuple(each.name for each in effects.covariates)
        form = replace(form, passed_over=names)
        inference = {**inference, "covariates": covariates or files[0]}
    elif covariates is not None:
        raise ParameterError("--covariates: the network was not learned with covariates.")
    findings = read_findings(files, network.structure, form)
    return noisyor.evaluate_diagnoses(
        network, findings, labels, **inference, record=reading["record"], values=reading["values"]
    )


@dataclass(frozen=True)
class EvaluationFiles:
    """The files that are asked for."""

    everything: Path | None
    calibration: Path | None
    decisions: Path | None
    is_safe: bool

    @property
    def _is_document(self) -> bool:
        return self.everything is not None and self.everything.suffix.lower() == ".json"

    @property
    def _tables(self) -> list[Path | None]:
        return [None if self._is_document else self.everything, self.calibration, self.decisions]

    def check(self, inputs: list[Any]) -> None:
        """Raise an error, before the work is done, for a file that could not be written."""
        options.check_spreadsheet_safe(self.is_safe, self._tables)
        check_files(
            [self.everything, self.calibration, self.decisions], inputs,
            tables=self._tables[1:], endings={self.everything: (".json", ".csv", ".parquet")},
        )  # fmt: skip

    def write(self, found: "DiagnosisEvaluation") -> None:
        """Write all of them, or none."""
        made = found.table, found.calibration_table, found.decision_table
        with replaced_together():
            if self._is_document and self.everything is not None:
                found.save(self.everything)
            for path, table in zip(self._tables, made, strict=True):
                if path is not None:
                    table().save(path, spreadsheet_safe=self.is_safe)

    def tell(self) -> None:
        """Say what was written."""
        paths = [str(each) for each in (self.everything, self.calibration, self.decisions) if each]
        if paths:
            say(f"Written: {', '.join(paths)}")


def _facts(found: "DiagnosisEvaluation") -> dict[str, Any]:
    overall, *diseases = found.table().to_pylist()
    return {
        "records": found.n_records,
        "unlabelled": found.n_unlabelled,
        "methods": found.methods,
        "mean_auc": found.mean_auc._asdict(),
        "overall": overall,
        "diseases": diseases,
    }


def _show(found: "DiagnosisEvaluation") -> None:
    for sentence in found.sentences():
        show(sentence)
    overall, *diseases = found.table().to_pylist()
    first = sorted(diseases, key=lambda row: -int(row["present"]))[:MOST_DISEASES]
    rows = [_row(row, row["disease"] or "all diseases") for row in (overall, *first)]
    titles = "disease", "labels", "present", "AUC", "from", "to", "Brier", "top 3"
    show("", text_table(titles, rows, left=("disease",), has_lines=False))
    if len(diseases) > len(first):
        show(f"... and {len(diseases) - len(first):,} more; --output writes all.")


def _row(row: dict[str, Any], name: str) -> list[str]:
    aucs = (_shown(row[key], 3) for key in ("auc", "auc_lower", "auc_upper"))
    top = "-" if row["top_3"] is None else f"{row['top_3']:.0%}"
    return [name, f"{row['labels']:,}", f"{row['present']:,}", *aucs, _shown(row["brier"]), top]


def _shown(value: float | None, digits: int = 4) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"
