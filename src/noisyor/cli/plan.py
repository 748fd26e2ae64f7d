"""`noisyor plan`: what to count to learn a structure, and how many records it takes."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisyor.cli.options import (
    AsJson,
    Choice,
    FixedTable,
    Pairs,
    Quiet,
    StructureFile,
    TripletChoice,
)

if TYPE_CHECKING:
    from noisyor.learning import Precision
    from noisyor.structure import Structure

MOST_ROWS = 5


def plan(
    structure: StructureFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write what to count.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="For which method: pooled (and refined), or sequential.")
    ] = "pooled",
    network: Annotated[
        str | None,
        typer.Option(help="A guess at the parameters: predict how well they would be learned."),
    ] = None,
    records: Annotated[
        int, typer.Option("--records", "-n", min=1, help="With --network: how many records.")
    ] = 100_000,
    precision: Annotated[
        float, typer.Option(min=1e-9, help="With --network: the standard error that is wanted.")
    ] = 0.01,
    summary: Annotated[
        Path | None,
        typer.Option(help="With --network: a row per parameter (.csv, .parquet)."),
    ] = None,
    fixed: FixedTable = None,
    pairs: Pairs = True,
    choice: Choice = TripletChoice.first,
    seed: Annotated[int, typer.Option(min=0, help="With --network, which samples.")] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write down what has to be counted to learn a structure, or predict how well it is learned.

    Example: noisyor plan clinic.json -o clinic.plan

    Before there is data: noisyor plan clinic.json --network guess.json --records 100000
    --precision 0.02
    """
    from noisyor.cli.inputs import read_structure
    from noisyor.errors import ParameterError
    from noisyor.io.paths import check_writable
    from noisyor.io.writing import table_kind
    from noisyor.learner import NoisyOrLearner
    from noisyor.parameters import Fixed

    if output is None and network is None:
        raise ParameterError("say where to write what to count (-o FILE), or give --network GUESS.")
    if summary is not None and network is None:
        raise ParameterError("--summary is for predictions: give a --network to predict from.")
    if fixed is not None and output is None:
        raise ParameterError("--fixed changes what to count: say where to write that (-o FILE).")
    inputs = [Path(structure), *([Path(network)] if network else []), *filter(None, [fixed])]
    check_writable(filter(None, [output, summary]), inputs=inputs)
    if summary is not None:
        table_kind(summary)
    known = read_structure(structure)
    if output is not None:
        learner = NoisyOrLearner(known, method=method, pairs=pairs, choice=choice.value)
        found = learner.find_plan(fixed=Fixed.load(fixed, known) if fixed else None)
        found.save(output)
        if not quiet and not as_json:
            typer.echo(f"Planned into {output}: {found}")
    if network is not None:
        predicted = _predict(known, network, records, seed)
        if summary is not None:
            _save(predicted, precision, summary)
        if as_json:
            typer.echo(json.dumps(_facts(predicted, precision)))
        elif not quiet:
            _show(predicted, precision)


def _predict(structure: "Structure", guess: str, n_records: int, seed: int) -> "Precision":
    from noisyor.cli.inputs import read_network
    from noisyor.errors import FileError
    from noisyor.learning import predict_precision

    network = read_network(guess, seed)
    if network.structure != structure:
        raise FileError(f"{guess} has another structure than the one to be planned for.")
    return predict_precision(network, n_records, seed=seed)


def _save(predicted: "Precision", wanted: float, path: Path) -> None:
    from noisyor.io.writing import write_table

    write_table(path, predicted.summary(wanted))


def _facts(predicted: "Precision", wanted: float) -> dict[str, object]:
    import numpy as np

    from noisyor.parameters import KINDS

    needed = predicted.records_needed(wanted)
    return {
        "records": predicted.n_records,
        "wanted_standard_error": wanted,
        **{
            kind: {
                "median_standard_error": float(np.nanmedian(errors)),
                "largest_standard_error": float(np.nanmax(errors)),
                "records_needed_for_half": int(np.ceil(np.nanmedian(of_kind))),
                "records_needed_for_all": int(np.ceil(np.nanmax(of_kind))),
            }
            for kind, errors, of_kind in zip(KINDS, predicted.standard_errors, needed, strict=True)
            if np.isfinite(errors).any()
        },
    }


def _show(predicted: "Precision", wanted: float) -> None:
    """Say in a table how well each kind would be learned, and which parameters worst."""
    import numpy as np
    from rich.table import Table

    from noisyor.cli.output import show
    from noisyor.parameters import KINDS

    table = Table()
    titles = (
        "parameter", "median standard error", "largest", f"records for {wanted:g}: half of them",
        "nine in ten", "all",
    )  # fmt: skip
    for title in titles:
        table.add_column(title, justify="left" if title == "parameter" else "right")
    needed = predicted.records_needed(wanted)
    for kind, errors, of_kind in zip(KINDS, predicted.standard_errors, needed, strict=True):
        if np.isfinite(errors).any():
            parts = [f"{x:,.0f}" for x in np.ceil(np.nanpercentile(of_kind, [50, 90, 100]))]
            table.add_row(kind, f"{np.nanmedian(errors):.2g}", f"{np.nanmax(errors):.2g}", *parts)
    show(f"Predicted for {predicted.n_records:,} records, learned by refined:", table)
    n_rare = int(np.isnan(predicted.standard_errors.priors).sum())
    if n_rare:
        show(f"{n_rare:,} diseases are too rare in the guess for a prediction; they are left out.")
    n_lost = int((predicted.schedule.depths < 0).sum())
    if n_lost:
        show(f"No schedule certifies {n_lost:,} failures: see noisyor schedule.")
    structure, errors = predicted.network.structure, predicted.standard_errors.failures
    worst = np.argsort(-np.nan_to_num(errors))[:MOST_ROWS]
    listed = (
        f"{structure.diseases[i]} to {structure.symptoms[j]} ({errors[edge]:.2g})"
        for edge in worst
        for i, j in [structure.edges[edge]]
    )
    show(f"The least certain failures: {', '.join(listed)}.")
