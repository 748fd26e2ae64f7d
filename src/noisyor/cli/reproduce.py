"""`noisyor reproduce`: the paper's experiments, made anew, and this package's own."""

from pathlib import Path
from typing import Annotated

import typer

from noisyor.cli import options
from noisyor.cli.output import progress_bar, show_facts, tell
from noisyor.errors import FileError, ParameterError
from noisyor.gpu import check_device, why_no_card


def reproduce(
    what: Annotated[
        str | None, typer.Argument(help="An experiment of --list, or all.", show_default=False)
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A folder for CSV, PNG, SVG and Markdown files.")
    ] = Path("results"),
    is_list: Annotated[
        bool, typer.Option("--list", help="List the experiments, and how long they take.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Minutes instead of hours: fewer networks and records.")
    ] = False,
    seed: Annotated[
        int, typer.Option(min=0, help="Where seeds of networks and samples start.")
    ] = 0,
    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            max=1024,
            help="Processes (timings are taken by one); learning itself uses all cores already.",
        ),
    ] = 1,
    structures: Annotated[
        Path | None,
        typer.Option(help="Real networks: a folder with edges.csv, or a folder of such folders."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure only cells like this, network/records/seed/method, * standing for "
            "anything: 'tcc4e/*/damaged'. Several times: any of them. The page says how many are "
            "missing."
        ),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Reproduce the paper's tables and figures, and this package's own measurements.

    What is finished is kept in the folder: an interrupted run goes on where it stopped.

    Example: noisyor reproduce figure3 --quick --out results
    """
    from noisyor.experiments import EXPERIMENTS, ExperimentSettings
    from noisyor.experiments import reproduce as run
    from noisyor.experiments.experiment import experiment_named, missing_cells, summary_of

    if only and what in (None, "all"):
        raise ParameterError("--only names cells of one experiment: name that one, not all.")
    if is_list or what is None:
        listed = {
            name: f"{summary_of(name)} Full size: {experiment_named(name).LASTS}."
            for name in EXPERIMENTS
        }
        show_facts(listed, as_json)
        return
    names: list[str] = [*EXPERIMENTS] if what == "all" else [what]
    if what == "all" and why_no_card() is not None:
        names.remove("gpu")
    elif what == "gpu":
        check_device("gpu")
    for name in names:
        experiment_named(name)
    if structures is not None and not structures.is_dir():
        raise FileError(f"--structures {structures} is not a folder.")
    if out.exists() and not out.is_dir():
        raise FileError(f"--out {out} is a file; give a folder.")
    settings = ExperimentSettings(quick, seed, structures)
    settings.real_networks()
    for name in names:
        n_missing = len(missing_cells(name, out, settings, only or ()))
        with progress_bar(name, n_missing, quiet or as_json, unit="cells") as advance:
            page = run(name, out, settings, jobs=jobs, only=only or (), progress=advance)
        facts = {"experiment": name, "cells_measured": n_missing, "page": str(page)}
        tell(f"Written: {page}", facts, quiet=quiet, as_json=as_json)
