"""`noisyor diagnose`: which diseases, given findings; one patient, or files of records."""

import itertools
import json
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisyor.cli.inputs import expand_sources, local_files, read_network
from noisyor.cli.options import (
    AsJson,
    IdsPerFile,
    IgnoreUnknown,
    Jobs,
    Layout,
    NetworkFile,
    OnCluster,
    Quiet,
    ReadLayout,
    Seed,
    output_option,
    read_options,
)
from noisyor.cli.output import note, progress_bar, tell, working
from noisyor.cli.posterior_tables import show_answers
from noisyor.cluster import connected
from noisyor.errors import ParameterError
from noisyor.io.paths import check_writable

if TYPE_CHECKING:
    from noisyor.cli.inputs import Source
    from noisyor.findings.reading import RecordFormat
    from noisyor.inference import Posterior
    from noisyor.inference.intervals import Learned
    from noisyor.inference.posterior_tables import MethodCounts
    from noisyor.network import NoisyOrNetwork


def diagnose(
    context: typer.Context,
    network: NetworkFile,
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
    top: Annotated[
        int | None,
        typer.Option(min=1, help="How many diseases to show (10); of records: to write of each."),
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
        int, typer.Option(min=0, help="Show so many of the most probable sets of diseases.")
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
        Path | None, output_option("Of records: where to write (.parquet, .csv).")
    ] = None,
    layout: ReadLayout = None,
    unmentioned: Annotated[
        str, typer.Option(help="Long records: findings without a row are absent, or unknown.")
    ] = "absent",
    ignore_unknown: IgnoreUnknown = False,
    ids_per_file: IdsPerFile = False,
    jobs: Jobs = 0,
    cluster: OnCluster = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say which diseases are probable, given findings.

    Example: noisyor diagnose clinic --present fever --present cough --absent "runny nose" --explain

    Of many records: noisyor diagnose learned.json records.parquet -o posteriors.parquet
    """
    options = dict(locals())

    kind = RecordFiles if records else Patient
    wanted = {field.name for field in fields(kind)}
    for name in options.keys() - wanted - {"context", "records"}:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            other = "one patient, not for files of records" if records else "files of records"
            raise ParameterError(f"--{name.replace('_', '-')} is for {other}.")
    kind(**{name: options[name] for name in wanted}).diagnose()


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

    def read_network(self) -> "NoisyOrNetwork":
        """Return the network that is asked."""
        return read_network(self.network, self.seed)

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
    explain: bool
    ask: bool
    about: str | None
    sets: int
    errors: Path | None

    def diagnose(self) -> None:
        """Print all answers, for people or as JSON."""
        from noisyor.inference import posterior
        from noisyor.names import match_name

        network = self.read_network()
        symptoms = network.structure.symptoms
        present, absent = (
            [match_name(name, symptoms, "symptom") for name in names or []]
            for names in (self.present, self.absent)
        )
        findings = present, absent
        title = "asking the network (the first time it is compiled: half a minute)"
        with working(title, self.quiet):
            source = self._source(network)
            found = posterior(source, *findings, **self.inference(1.0))
            facts = _facts(found, self.top or 10)
            if self.explain:
                facts |= self._explain(network, findings, facts["diseases"][:3])
            if self.sets:
                facts["sets"] = self._best_sets(network, findings)
            if self.ask or self.about:
                facts["questions"] = self._questions(network, findings)
        if self.as_json:
            typer.echo(json.dumps(_finite(facts)))
        elif not self.quiet:
            show_answers(found, facts)

    def _source(self, network: "NoisyOrNetwork") -> "NoisyOrNetwork | Learned":
        from noisyor.inference.intervals import NetworkWithErrors
        from noisyor.parameters import read_standard_errors

        if self.errors is None:
            return network
        return NetworkWithErrors(network, read_standard_errors(self.errors, network.structure))

    def _explain(
        self,
        network: "NoisyOrNetwork",
        findings: tuple[list[str], list[str]],
        rows: list[dict[str, Any]],
    ) -> dict[str, Any]:
        from noisyor.inference import explain

        request = self.inference(1.0)
        if self.method in ("variational", "mean_field"):
            note(f"{self.method} tells no causes: they are explained by the method auto.")
            request["method"] = "auto"
        diseases = [row["disease"] for row in rows]
        found = explain(network, *findings, diseases=diseases, **request)
        return {
            "contributions": found.contributions.to_pylist(),
            "causes": found.causes.to_pylist(),
        }

    def _best_sets(
        self, network: "NoisyOrNetwork", findings: tuple[list[str], list[str]]
    ) -> dict[str, Any]:
        from noisyor.inference import most_probable

        budget = self.inference(1.0)["budget"]
        found = most_probable(network, *findings, self.sets, budget=budget)
        return {"is_proven": found.is_proven, "sets": found.table().to_pylist()}

    def _questions(
        self, network: "NoisyOrNetwork", findings: tuple[list[str], list[str]]
    ) -> list[dict[str, Any]]:
        from noisyor.inference import best_questions
        from noisyor.names import match_name

        disease = None
        if self.about is not None:
            disease = match_name(self.about, network.structure.diseases, "disease")
        asked = best_questions(network, *findings, about=disease, rng=self.seed)
        rows: list[dict[str, Any]] = asked.table().slice(0, 10).to_pylist()
        return rows


def _finite(value: Any) -> Any:
    """Return facts with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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


# --- files of records ---


@dataclass(frozen=True)
class RecordFiles(DiagnosisOptions):
    """Files of records, whose posteriors are written block after block, or on a cluster."""

    records: list[str]
    output: Path | None
    layout: Layout | None
    unmentioned: str
    ignore_unknown: bool
    ids_per_file: bool
    jobs: int
    cluster: str | None

    def diagnose(self) -> None:
        """Write the posteriors, and say how many were found in which way."""
        from noisyor.findings.reading import RecordFormat
        from noisyor.inference.answers import make_request

        if self.output is None:
            raise ParameterError("say where to write: --output posteriors.parquet.")
        options = read_options(self.layout, self.ignore_unknown, self.ids_per_file)
        options["unmentioned"] = self.unmentioned  # type: ignore[typeddict-item]  # checked next
        form = RecordFormat(**options)
        files = expand_sources(self.records)
        make_request(**self.inference(0.1))
        write = self._on_this_machine if self.cluster is None else self._on_cluster
        counts = write(self.read_network(), files, self.output, form)
        _give_notice(counts)
        facts = {"records": counts.n_records, "methods": counts.counts, "output": str(self.output)}
        sentence = f"Diagnosed {counts.n_records:,} records ({counts}) into {self.output}"
        tell(sentence, facts, quiet=self.quiet, as_json=self.as_json)

    def _on_this_machine(
        self, network: "NoisyOrNetwork", files: "list[Source]", output: Path, form: "RecordFormat"
    ) -> "MethodCounts":
        from noisyor.findings.findings import open_records
        from noisyor.findings.reading import blocks_with_like_ids, total_records
        from noisyor.inference.posterior_tables import MethodCounts, PosteriorWriter
        from noisyor.io.tables import table_kind, write_batches

        check_writable([output], inputs=[Path(self.network), *local_files(files)])
        kind = table_kind(output)
        counts = MethodCounts()
        streams = open_records(files, network.structure, form)
        blocks = blocks_with_like_ids(streams)
        first = next(blocks, None)
        ids = None if first is None or first.record_ids is None else first.record_ids.type
        all_blocks = blocks if first is None else itertools.chain([first], blocks)
        silent = self.quiet or self.as_json
        with progress_bar("diagnosing", total_records(streams), silent) as advance:
            writer = PosteriorWriter(network, ids, self.top)
            batches = writer.batches(
                all_blocks, counts, progress=advance, n_jobs=self.jobs or None,
                **self.inference(0.1),
            )  # fmt: skip
            write_batches(output, writer.schema, batches, kind)
        return counts

    def _on_cluster(
        self, network: "NoisyOrNetwork", files: "list[Source]", output: Path, form: "RecordFormat"
    ) -> "MethodCounts":
        from noisyor.inference.posteriors_on_cluster import diagnose_on_cluster

        if output.suffix:
            raise ParameterError(
                f"--output {output}: on a cluster each worker writes files of its own; give a "
                "folder, without an ending."
            )
        assert self.cluster is not None
        with (
            connected(self.cluster) as client,
            progress_bar("diagnosing", None, self.quiet or self.as_json) as advance,
        ):
            return diagnose_on_cluster(
                client, network, files, output, form, top=self.top, progress=advance,
                **self.inference(0.1),
            )  # fmt: skip


def _give_notice(counts: "MethodCounts") -> None:
    if counts.n_impossible:
        note(
            f"{counts.n_impossible:,} records are impossible under the network, and have no "
            "probabilities."
        )
    if counts.n_refused:
        note(
            f"{counts.n_refused:,} records are too much work for exact inference, and have no "
            "probabilities; raise --budget, or leave --method to auto."
        )
