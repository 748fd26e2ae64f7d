"""`noisyor diagnose`: which diseases, given findings; one patient, or files of records."""

import itertools
import math
import sys
from collections.abc import Container, Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import Source, check_files, expand_sources, local_files, read_network
from noisyor.cli.output import note, progress_bar, show, show_json, tell, text_table, working
from noisyor.cluster import connected
from noisyor.errors import ParameterError, some_of
from noisyor.flags import Flag

if TYPE_CHECKING:
    from noisyor.findings import ReadOptions
    from noisyor.findings.reading import RecordFormat
    from noisyor.inference import Posterior
    from noisyor.inference.posterior_tables import MethodCounts


@options.reads_records
def diagnose(
    context: typer.Context,
    network: options.NetworkFile,
    records: Annotated[
        list[str] | None,
        typer.Argument(help="Files of records (.parquet, .csv); none: one patient, from options."),
    ] = None,
    present: Annotated[
        list[str] | None,
        typer.Option("--present", "-p", help="A finding that is present; once for each."),
    ] = None,
    absent: Annotated[
        list[str] | None,
        typer.Option("--absent", "-a", help="A finding that is absent. Others are unknown."),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(help="What else is known of the patient, such as age=71; once for each."),
    ] = None,
    covariates: Annotated[
        Path | None,
        typer.Option(
            help="Of records: a table of covariates, joined by their ids; none: columns of the "
            "record file."
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1_000_000,
            help="How many diseases to show (10); of records: to write of each.",
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show what each finding adds, and what has caused it."),
    ] = False,
    ask: Annotated[
        bool, typer.Option("--ask", help="Show which findings would tell most, if asked for next.")
    ] = False,
    about: Annotated[
        str | None, typer.Option(help="With --ask: the disease that is in question; all, if none.")
    ] = None,
    sets: Annotated[
        int,
        typer.Option(min=0, max=10_000, help="Show so many of the most probable sets of diseases."),
    ] = 0,
    method: Annotated[
        str, typer.Option(help="auto, exact, variational, mean_field or gibbs.")
    ] = "auto",
    budget: Annotated[
        float | None,
        typer.Option(help="Seconds a record may take, about: 1 for a patient, 0.1 for records."),
    ] = None,
    errors: Annotated[
        Path | None,
        typer.Option(
            help="The summary that fit wrote (.csv, .parquet): shows intervals that follow from "
            "its standard errors."
        ),
    ] = None,
    output: Annotated[
        Path | None, options.output_option("Of records: where to write (.parquet, .csv).")
    ] = None,
    spreadsheet_safe: options.SpreadsheetSafe = False,
    jobs: options.Jobs = 0,
    cluster: options.OnCluster = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Say which diseases are probable, given findings.

    Example: noisyor diagnose clinic --present fever --present cough --absent "runny nose" --explain

    Of many records: noisyor diagnose learned.json records.parquet -o posteriors.parquet
    """
    asked = dict(locals())
    kind = RecordFiles if records else Patient
    wanted = {field.name for field in fields(kind)}
    of_records = set() if records else {*options.RECORD_OPTIONS}
    for name in (asked.keys() | of_records) - wanted - {"context", "records", "reading"}:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            other = "one patient, not for files of records" if records else "files of records"
            raise ParameterError(f"--{name.replace('_', '-')} is for {other}.")
    if records and output is None:
        raise ParameterError("say where to write: --output posteriors.parquet.")
    kind(**{name: asked[name] for name in wanted}).diagnose()


@dataclass(frozen=True)
class DiagnosisOptions:
    """What both kinds of diagnosis are asked with; the names are those of the options."""

    network: str
    top: int | None
    method: str
    budget: float | None
    seed: int
    as_json: bool
    quiet: bool

    def inference(self, seconds: float) -> dict[str, Any]:
        """Return the arguments of inference; `seconds` is the budget where none is given."""
        budget = seconds if self.budget is None else self.budget
        return {"method": self.method, "budget": budget, "rng": self.seed}


# --- one patient ---


@dataclass(frozen=True)
class Patient(DiagnosisOptions):
    """Someone with findings, about whom a network is asked."""

    present: list[str] | None
    absent: list[str] | None
    given: list[str] | None
    explain: bool
    ask: bool
    about: str | None
    sets: int
    errors: Path | None

    def diagnose(self) -> None:
        """Print all answers, for people or as JSON."""
        from noisyor.names import match_name

        network = self._read_network()
        person = options.person_of(self.given)
        present, absent = (
            [match_name(name, network.structure.symptoms, "symptom") for name in names or []]
            for names in (self.present, self.absent)
        )
        findings = present, absent
        title = "asking the network (the first time it is compiled: half a minute)"
        with working(title, self.quiet):
            found = self._posterior(network, findings, person)
            facts = _facts(found, self.top or 10)
            if self.explain:
                facts |= self._explain(network, findings, person, facts["diseases"][:3])
            if self.sets:
                budget = self.inference(1.0)["budget"]
                best = noisyor.most_probable(
                    network, *findings, self.sets, covariates=person, budget=budget
                )
                facts["sets"] = {"is_proven": best.is_proven, "sets": best.table().to_pylist()}
            if self.ask or self.about:
                diseases, about = network.structure.diseases, self.about
                disease = None if about is None else match_name(about, diseases, "disease")
                asked = noisyor.best_questions(
                    network, *findings, covariates=person, about=disease, rng=self.seed
                )
                facts["questions"] = asked.table().slice(0, 10).to_pylist()
        if self.as_json:
            show_json(facts)
        elif not self.quiet:
            _show_answers(found, facts)

    def _read_network(self) -> "noisyor.NoisyOrNetwork":
        """Read the network, with the flags of its file and of its summary."""
        from noisyor.parameters import check_summary, read_parameter_flags

        network = read_network(self.network, self.seed)
        if self.errors is None:
            return network
        flags = read_parameter_flags(self.errors, network.structure)
        check_summary(self.errors, network.structure, network.parameters)
        return network.with_flags(flags)

    def _posterior(
        self,
        network: "noisyor.NoisyOrNetwork",
        findings: tuple[list[str], list[str]],
        person: dict[str, str] | None,
    ) -> "Posterior":
        from noisyor.inference.intervals import NetworkWithErrors
        from noisyor.parameters import read_standard_errors

        request = {"covariates": person, **self.inference(1.0)}
        if self.errors is None:
            return noisyor.posterior(network, *findings, **request)
        errors = read_standard_errors(self.errors, network.structure)
        source = NetworkWithErrors(network, errors)
        return noisyor.posterior(source, *findings, **request)

    def _explain(
        self,
        network: "noisyor.NoisyOrNetwork",
        findings: tuple[list[str], list[str]],
        person: dict[str, str] | None,
        rows: list[Any],
    ) -> dict[str, Any]:
        request = self.inference(1.0)
        if self.method in ("variational", "mean_field"):
            note(f"{self.method} gives no causes: they are explained by the method auto.")
            request["method"] = "auto"
        diseases = [row["disease"] for row in rows]
        found = noisyor.explain(network, *findings, covariates=person, diseases=diseases, **request)
        return {
            "contributions": found.contributions.to_pylist(),
            "causes": found.causes.to_pylist(),
        }


def _facts(found: "Posterior", top: int) -> dict[str, Any]:
    return {
        "present": list(found.present),
        "absent": list(found.absent),
        "method": found.method,
        "error": found.error,
        "effective_sample_size": found.effective_sample_size,
        "parameters_without_error": found.n_without_error,
        "log_evidence": found.log_evidence,
        "log_evidence_upper": found.log_evidence_upper,
        "diseases": found.table().slice(0, top).to_pylist(),
    }


def _show_answers(found: "Posterior", facts: dict[str, Any]) -> None:
    """Print all that was asked about one patient."""
    show(_heading(found), posterior_table(found, facts["diseases"]))
    _show_flags(facts["diseases"])
    if found.n_without_error:
        note(
            f"{found.n_without_error:,} parameters that matter here have no standard error: the "
            "intervals that there are, are too narrow."
        )
    if "causes" in facts:
        _show_explanations(facts)
    if "sets" in facts:
        best = facts["sets"]
        proven = "" if best["is_proven"] else " (the budget did not suffice to exclude better ones)"
        rows = [
            [", ".join(row["diseases"]) or "none", _percent(row["probability"])]
            for row in best["sets"]
        ]
        titles = "diseases", "probability"
        _show_plain(f"Most probable sets{proven}", titles, rows, left=["diseases"])
    if "questions" in facts:
        rows = [
            [row["symptom"], f"{row['gain']:.3f}", _percent(row["probability"])]
            for row in facts["questions"]
        ]
        _show_plain("What to ask for next", ("finding", "tells (bits)", "present"), rows)


def _bar(p: float) -> str:
    """Return a bar, which is 24 characters long where the probability is 1."""
    can_draw = "utf" in (sys.stdout.encoding or "").lower()
    return ("█" if can_draw else "#") * round(24 * p)


def _percent(p: float) -> str:
    if 0.0 < p < 0.0005 or 0.9995 < p < 1.0:
        return "< 0.1%" if p < 0.5 else "> 99.9%"
    return f"{100 * p:.1f}%"


def posterior_table(found: "Posterior", rows: list[dict[str, Any]]) -> Any:
    """Return the most probable diseases as a table with bars."""
    has_intervals = found.interval_lower is not None
    is_rough = found.method != "exact"
    more = ["95% interval"] * has_intervals + ["within"] * is_rough
    table = []
    for row in rows:
        name = f"{row['disease']} *" if row.get("flags") else row["disease"]
        cells = [name, _percent(row["probability"]), _percent(row["prior"])]
        if has_intervals:
            cells.append(_interval(row["interval_lower"], row["interval_upper"]))
        if is_rough:
            cells.append(f"{_percent(row['lower'])} to {_percent(row['upper'])}")
        table.append([*cells, _bar(row["probability"])])
    titles = "disease", "probability", "before", *more, ""
    return text_table(titles, table, left=["disease", ""], has_lines=False)


def _interval(lower: float, upper: float) -> str:
    if math.isnan(lower):
        return "not known"
    if lower == upper:
        return "certain" if lower in (0.0, 1.0) else "all fixed"
    return f"{_percent(lower)} to {_percent(upper)}"


def _show_flags(rows: list[dict[str, Any]]) -> None:
    """Say below the table why diseases are marked in it."""
    by_flags: dict[str, list[str]] = {}
    for row in rows:
        if row.get("flags"):
            by_flags.setdefault(row["flags"], []).append(row["disease"])
    if by_flags:
        show("* rests on parameters that are flagged: it may be far off, and has no interval.")
    for codes, diseases in by_flags.items():
        show(f"  {', '.join(diseases)}: {Flag.from_codes(codes).reasons}.")


def _heading(found: "Posterior") -> str:
    method = {
        "exact": "exact",
        "variational": f"bounds, no probability is off by more than {found.error:.2g}",
        "mean_field": "mean field, of unknown error",
        "gibbs": f"sampled, within {found.error:.2g} with 95% confidence",
    }[found.method]
    parts = [
        f"{state}: {', '.join(names)}"
        for state, names in (("Present", found.present), ("absent", found.absent))
        if names
    ]
    n_unknown = found.structure.n_symptoms - len(found.present) - len(found.absent)
    listed = "; ".join([*parts, f"{n_unknown:,} unknown"])
    return f"{listed[0].upper()}{listed[1:]} ({method})."


def _show_explanations(facts: dict[str, Any]) -> None:
    for name in dict.fromkeys(row["disease"] for row in facts["contributions"]):
        rows = [
            [
                f"no {row['finding']}" if row["state"] == "absent" else row["finding"],
                f"{row['log_odds']:+.2f}",
                _percent(row["without"]),
            ]
            for row in facts["contributions"]
            if row["disease"] == name
        ]
        _show_plain(f"{name}: what each finding adds", ("finding", "log odds", "without it"), rows)
    rows = []
    for finding in facts["present"]:
        causes = [row for row in facts["causes"] if row["finding"] == finding][:4]
        texts = [
            f"{row['cause'] or 'none of the diseases'} {_percent(row['probability'])}"
            for row in causes
            if row["probability"] >= 0.005
        ]
        rows.append([finding, ", ".join(texts)])
    titles = "finding", "causes (several can act at once)"
    _show_plain("What has caused each finding", titles, rows, left=titles)


def _show_plain(
    title: str, titles: Iterable[str], rows: list[list[str]], left: Container[str] = ("finding",)
) -> None:
    show("", text_table(titles, rows, title=title, left=left, has_lines=False))


# --- files of records ---


@dataclass(frozen=True)
class RecordFiles(DiagnosisOptions):
    """Files of records, whose posteriors are written block after block, or on a cluster."""

    records: list[str]
    covariates: Path | None
    output: Path
    reading: "ReadOptions"
    spreadsheet_safe: bool
    jobs: int
    cluster: str | None

    def diagnose(self) -> None:
        """Write the posteriors, and say how many were found in which way."""
        from noisyor.findings.reading import RecordFormat
        from noisyor.inference.answers import make_request
        from noisyor.inference.posterior_tables import flagged_diseases

        form = RecordFormat(**self.reading)
        files = expand_sources(self.records)
        options.check_spreadsheet_safe(self.spreadsheet_safe, [self.output])
        make_request(**self.inference(0.1))
        write = self._on_this_machine if self.cluster is None else self._on_cluster
        network = read_network(self.network, self.seed)
        if network.causes.effects is not None:
            write = self._with_covariates
        elif self.covariates is not None:
            raise ParameterError(f"--covariates: {self.network} was not learned with covariates.")
        counts = write(network, files, form)
        _give_notice(counts)
        flagged = list(flagged_diseases(network))
        if flagged:
            note(
                f"{len(flagged):,} of {network.structure.n_diseases:,} diseases rest on parameters "
                f"that are flagged, and may be far off: {some_of(flagged)}."
            )
        facts = {
            "records": counts.n_records, "methods": counts.counts, "flagged": flagged,
            "output": str(self.output),
        }  # fmt: skip
        sentence = f"Diagnosed {counts.n_records:,} records ({counts}) into {self.output}"
        tell(sentence, facts, quiet=self.quiet, as_json=self.as_json)

    def _on_this_machine(
        self, network: "noisyor.NoisyOrNetwork", files: list[Source], form: "RecordFormat"
    ) -> "MethodCounts":
        from noisyor.findings.findings import open_records
        from noisyor.findings.reading import blocks_with_like_ids, total_records
        from noisyor.inference.answers import make_request
        from noisyor.inference.posterior_tables import MethodCounts, PosteriorWriter
        from noisyor.io.tables import harmless, table_kind, write_batches

        output = self.output
        check_files([output], inputs=[self.network, *local_files(files)], tables=[output])
        counts = MethodCounts()
        streams = open_records(files, network.structure, form)
        blocks = blocks_with_like_ids(streams)
        first = list(itertools.islice(blocks, 1))
        ids = first[0].record_ids.type if first and first[0].record_ids is not None else None
        silent = self.quiet or self.as_json
        with progress_bar("diagnosing", total_records(streams), silent) as advance:
            writer = PosteriorWriter(network, ids, self.top)
            batches = writer.batches(
                itertools.chain(first, blocks), counts, make_request(**self.inference(0.1)),
                progress=advance, n_jobs=self.jobs or None,
            )  # fmt: skip
            schema = writer.schema
            if self.spreadsheet_safe:
                schema, batches = harmless(schema, batches)
            write_batches(output, schema, batches, table_kind(output))
        return counts

    def _with_covariates(
        self, network: "noisyor.NoisyOrNetwork", files: list[Source], form: "RecordFormat"
    ) -> "MethodCounts":
        """Diagnose records that are read into memory, with the covariates of their people."""
        from noisyor.findings.findings import read_findings
        from noisyor.inference.answers import make_request
        from noisyor.inference.posterior_tables import MethodCounts, PosteriorWriter
        from noisyor.io.tables import table_kind, write_batches
        from noisyor.network.design import design_rows

        if self.cluster is not None:
            raise ParameterError("networks with covariates diagnose on one machine only.")
        if self.covariates is None and len(files) > 1:
            raise ParameterError("--covariates: give a table of those of all records in all files.")
        effects = network.causes.effects
        assert effects is not None
        output = self.output
        check_files([output], inputs=[self.network, *local_files(files)], tables=[output])
        names = tuple(each.name for each in effects.covariates)
        findings = read_findings(files, network.structure, replace(form, passed_over=names))
        source = self.covariates or files[0]
        rows = design_rows(source, findings, effects, form.record)
        ids = findings.record_ids
        counts, silent = MethodCounts(), self.quiet or self.as_json
        with progress_bar("diagnosing", findings.n_records, silent) as advance:
            writer = PosteriorWriter(network, None if ids is None else ids.type, self.top)
            batches = writer.batches(
                iter(findings.blocks), counts, make_request(**self.inference(0.1)),
                progress=advance, n_jobs=self.jobs or None, rows=rows,
            )  # fmt: skip
            write_batches(output, writer.schema, batches, table_kind(output))
        return counts

    def _on_cluster(
        self, network: "noisyor.NoisyOrNetwork", files: list[Source], form: "RecordFormat"
    ) -> "MethodCounts":
        from noisyor.inference.posteriors_on_cluster import diagnose_on_cluster

        options.check_jobs(self.jobs, self.cluster)
        if self.output.suffix:
            raise ParameterError(
                f"--output {self.output}: on a cluster each worker writes files of its own; give a "
                "folder, without an ending."
            )
        bar = progress_bar("diagnosing", None, self.quiet or self.as_json)
        with connected(str(self.cluster)) as client, bar as advance:
            return diagnose_on_cluster(
                client, network, files, self.output, form, top=self.top, progress=advance,
                **self.inference(0.1),
            )  # fmt: skip


def _give_notice(counts: "MethodCounts") -> None:
    without = "and have no probabilities"
    if counts.n_impossible:
        note(f"{counts.n_impossible:,} records are impossible under the network, {without}.")
    if counts.n_refused:
        note(
            f"{counts.n_refused:,} records are too much work for exact inference, {without}; raise "
            "--budget, or leave --method to auto."
        )
