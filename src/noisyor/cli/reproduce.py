"""`noisyor reproduce`: the paper's experiments, made anew."""

from pathlib import Path
from typing import Annotated

import typer

from noisyor.cli.options import AsJson, Quiet


def reproduce(
    what: Annotated[
        str, typer.Argument(help="table1, figure3, figure4, timings, scoreboard, or all.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A folder for CSV, PNG, SVG and Markdown files.")
    ],
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
            help="Processes (timings are taken by one); learning itself uses all cores already.",
        ),
    ] = 1,
    structures: Annotated[
        Path | None,
        typer.Option(help="Real networks: a folder with edges.csv, or a folder of such folders."),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper's tables and figures, with our methods beside its own.

    What is finished is kept in the folder: an interrupted run goes on where it stopped.

    Example: noisyor reproduce figure3 --quick --out results
    """
    from noisyor.cli.output import progress_bar, tell
    from noisyor.errors import FileError
    from noisyor.experiments import EXPERIMENTS, Settings
    from noisyor.experiments import reproduce as run
    from noisyor.experiments.experiment import experiment_named, missing_cells
    from noisyor.experiments.networks import real_networks

    names = EXPERIMENTS if what == "all" else (what,)
    for name in names:
        experiment_named(name)
    if structures is not None and not structures.is_dir():
        raise FileError(f"--structures {structures} is not a folder.")
    if out.exists() and not out.is_dir():
        raise FileError(f"--out {out} is a file; give a folder.")
    settings = Settings(quick, seed, structures)
    real_networks(structures)
    for name in names:
        n_missing = len(missing_cells(name, out, settings))
        with progress_bar(name, n_missing, quiet or as_json, unit="cells") as advance:
            page = run(name, out, settings, jobs=jobs, progress=advance)
        facts = {"experiment": name, "cells_measured": n_missing, "page": str(page)}
        tell(f"Written: {page}", facts, quiet=quiet, as_json=as_json)
