"""`noisyor evaluate`: how far a learned network is from the true one."""

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import read_network
from noisyor.cli.output import show, show_json, text_table, working

if TYPE_CHECKING:
    from noisyor.evaluation import Comparison, PosteriorDifferences


def evaluate(
    learned: Annotated[str, typer.Argument(help="A network: .json, a folder, a built-in name.")],
    truth: Annotated[str, typer.Argument(help="What it is compared with, of the same names.")],
    records: Annotated[
        int,
        typer.Option(
            "--records",
            "-n",
            min=0,
            max=options.MOST_RECORDS,
            help="New records whose posteriors are compared.",
        ),
    ] = 1000,
    seed: options.Seed = 0,
    budget: Annotated[
        float, typer.Option(min=0.0, help="Seconds of work for a record's posteriors.")
    ] = 0.1,
    as_json: options.AsJson = False,
) -> None:
    """Compare two networks: their parameters, by depth, and what they say of new records.

    Example: noisyor evaluate learned.json truth.json
    """
    networks = [read_network(each) for each in (learned, truth)]
    with working("comparing posteriors", as_json):
        found = noisyor.evaluate(*networks, n_records=records, rng=seed, budget=budget)
    if as_json:
        show_json(asdict(found))
        return
    show(_table(found))
    if found.posteriors is not None:
        show(_of_posteriors(found.posteriors))
    elif records:
        impossible = "to one of the networks all records are impossible"
        why = impossible if found.priors.n else "there are no diseases"
        show(f"No posteriors could be compared: {why}.")


def _table(found: "Comparison") -> object:
    parts = {"priors": found.priors, "failures": found.failures, "leaks": found.leaks}
    for depth, errors in found.by_depth.items():
        parts[f"failures of depth {depth}" if depth >= 0 else "failures not scheduled"] = errors
    rows = []
    for name, errors in parts.items():
        numbers = errors.mean, errors.median, errors.largest
        shown = ["-" if math.isnan(each) else f"{each:.4f}" for each in numbers]
        rows.append([name, f"{errors.n:,}", *shown, errors.where])
    titles = "parameters", "number", "mean", "median", "largest", "where"
    return text_table(titles, rows, left=("parameters", "where"), title="Absolute differences")


def _of_posteriors(differ: "PosteriorDifferences") -> str:
    return (
        f"Posteriors of {differ.n_records:,} new records ({differ.n_exact:,} of them exact) differ "
        f"by {differ.mean:.5f} on average and by {differ.largest:.4f} at most; the most probable "
        f"disease is the same in {differ.same_top:.1%}."
    )
