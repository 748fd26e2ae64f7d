"""`noisyor diagnose`: which diseases, given findings; one patient, or files of records."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisyor.cli.options import (
    AsJson,
    IdsPerFile,
    IgnoreUnknown,
    OnCluster,
    Quiet,
    ReadLayout,
    Threads,
    read_options,
)

if TYPE_CHECKING:
    from noisyor.inference import Posterior
    from noisyor.inference.intervals import Learned
    from noisyor.network import NoisyOrNetwork


def diagnose(
    network: Annotated[
        str,
        typer.Argument(help="A network file (JSON), a folder, or clinic, figure1, qmr_shaped, ..."),
    ],
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
        Path | None,
        typer.Option("--output", "-o", help="Of records: where to write (.parquet, .csv)."),
    ] = None,
    layout: ReadLayout = None,
    unmentioned: Annotated[
        str, typer.Option(help="Long records: findings without a row are absent, or unknown.")
    ] = "absent",
    ignore_unknown: IgnoreUnknown = False,
    ids_per_file: IdsPerFile = False,
    threads: Threads = 0,
    cluster: OnCluster = None,
    seed: Annotated[int, typer.Option(min=0, help="For sampling; and for a random network.")] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say which diseases are probable, given findings.

    Example: noisyor diagnose clinic --present fever --present cough --absent "runny nose" --explain

    Of many records: noisyor diagnose learned.json records.parquet -o posteriors.parquet
    """
    from noisyor.cli.diagnose_files import Told, diagnose_files
    from noisyor.cli.inputs import read_network
    from noisyor.cli.progress import working
    from noisyor.errors import ParameterError

    one_patient = {
        "--present": present, "--absent": absent, "--explain": explain, "--ask": ask,
        "--about": about, "--sets": sets, "--errors": errors,
    }  # fmt: skip
    if not records:
        if output is not None:
            raise ParameterError("--output is for files of records; name some.")
        patient = Patient(read_network(network, seed), present or [], absent or [], errors)
        if layout is not None or unmentioned != "absent":
            raise ParameterError("--layout and --unmentioned are for files of records.")
        request = {"method": method, "budget": 1.0 if budget is None else budget, "seed": seed}
        with working("asking the network (the first time it is compiled: half a minute)", quiet):
            facts = patient.ask(
                request, top or 10, explain=explain, sets=sets, ask=ask or bool(about), about=about
            )
        if as_json:
            typer.echo(json.dumps(_finite(facts)))
        elif not quiet:
            patient.show(facts)
        return
    wrong = [name for name, value in one_patient.items() if value]
    if wrong:
        raise ParameterError(f"{wrong[0]} is for one patient, not for files of records.")
    if output is None:
        raise ParameterError("say where to write: --output posteriors.parquet.")
    options = read_options(layout, ignore_unknown, ids_per_file)
    options["unmentioned"] = unmentioned  # type: ignore[typeddict-item]  # checked by RecordFormat
    seconds = 0.1 if budget is None else budget
    request = {"method": method, "budget": seconds, "seed": seed, "threads": threads or None}
    told = Told(cluster, quiet, as_json)
    diagnose_files(network, records, output, options, top, seed, request, told)


class Patient:
    """Someone with findings, about whom a network is asked."""

    def __init__(
        self,
        network: "NoisyOrNetwork",
        present: list[str],
        absent: list[str],
        errors: Path | None,
    ) -> None:
        from noisyor.names import match_name

        symptoms = network.structure.symptoms
        self._network = network
        self._present = [match_name(name, symptoms, "symptom") for name in present]
        self._absent = [match_name(name, symptoms, "symptom") for name in absent]
        self._errors = errors
        self._found: Posterior | None = None

    def ask(
        self,
        request: dict[str, Any],
        top: int,
        *,
        explain: bool,
        sets: int,
        ask: bool,
        about: str | None,
    ) -> dict[str, Any]:
        """Return all answers, as facts for JSON."""
        from noisyor.inference import posterior

        self._found = posterior(self._source(), self._present, self._absent, **request)
        facts = _facts(self._found, top)
        if explain:
            facts |= self._explain(facts["diseases"][:3], request)
        if sets:
            facts["sets"] = self._sets(sets, request["budget"])
        if ask:
            facts["questions"] = self._ask(request["seed"], about)
        return facts

    def show(self, facts: dict[str, Any]) -> None:
        """Print the answers for people."""
        from noisyor.cli.posterior_tables import show_answers

        assert self._found is not None
        show_answers(self._found, facts)

    def _source(self) -> "NoisyOrNetwork | Learned":
        from noisyor.inference.intervals import NetworkWithErrors
        from noisyor.parameters import read_standard_errors

        if self._errors is None:
            return self._network
        read = read_standard_errors(self._errors, self._network.structure)
        return NetworkWithErrors(self._network, read)

    def _explain(self, rows: list[dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
        from noisyor.cli.output import note
        from noisyor.inference import explain

        if request["method"] in ("variational", "mean_field"):
            note(f"{request['method']} tells no causes: they are explained by the method auto.")
            request = request | {"method": "auto"}
        told = explain(
            self._network, self._present, self._absent,
            diseases=[row["disease"] for row in rows], **request,
        )  # fmt: skip
        return {
            "contributions": told.contributions.to_pylist(),
            "causes": told.causes.to_pylist(),
        }

    def _sets(self, k: int, budget: float) -> dict[str, Any]:
        from noisyor.inference import most_probable

        found = most_probable(self._network, self._present, self._absent, k, budget=budget)
        return {"is_proven": found.is_proven, "sets": found.table().to_pylist()}

    def _ask(self, seed: int, about: str | None) -> list[dict[str, Any]]:
        from noisyor.inference import best_questions
        from noisyor.names import match_name

        diseases = self._network.structure.diseases
        disease = None if about is None else match_name(about, diseases, "disease")
        asked = best_questions(self._network, self._present, self._absent, about=disease, seed=seed)
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
