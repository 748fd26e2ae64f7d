"""`noisyor diagnose`: which diseases, given findings; one patient, or files of records."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisyor.cli import options
from noisyor.cli.patient import Patient
from noisyor.cli.record_files import RecordFiles
from noisyor.errors import ParameterError

if TYPE_CHECKING:
    from noisyor.findings import ReadOptions

OF_QUESTIONS = "about", "cost", "utility"
"""Options that only --ask has."""


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
    evidence: Annotated[
        Path | None,
        typer.Option(
            help="For a network in a .uai file: its evidence file (.evid), which variables are "
            "seen in which state."
        ),
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
    cost: Annotated[
        list[str] | None,
        typer.Option(
            help="With --ask: what asking for a finding costs, such as 'X-ray=40'; others cost 1."
        ),
    ] = None,
    utility: Annotated[
        list[str] | None,
        typer.Option(
            help="With --ask: what wrong decisions on a disease cost, where it is missed and where "
            "there is a false alarm: pneumonia=50,5. Questions are ranked by the loss they save."
        ),
    ] = None,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity",
            help="Show which parameters the most probable disease hangs on, given their errors.",
        ),
    ] = False,
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
            help="A summary of fit (.csv, .parquet) with standard errors, for a network whose "
            "file has none, such as one of version 0.1.0."
        ),
    ] = None,
    output: Annotated[
        Path | None, options.output_option("Of records: where to write (.parquet, .csv).")
    ] = None,
    spreadsheet_safe: options.SpreadsheetSafe = False,
    jobs: options.Jobs = 0,
    device: options.Device = "cpu",
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
    others = (asked.keys() | of_records) - wanted - {"context", "records", "reading"}
    other = "one patient, not for files of records" if records else "files of records"
    options.refuse_given(context, others, other)
    if not ask:
        options.refuse_given(context, OF_QUESTIONS, "questions: also give --ask")
    if records and output is None:
        raise ParameterError("say where to write: --output posteriors.parquet.")
    kind(**{name: asked[name] for name in wanted}).diagnose()
