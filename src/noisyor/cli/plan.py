"""`noisyor plan` and `noisyor plan-triplets`: what to count, and how many records it takes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.count import merged_moments
from noisyor.cli.info import facts_of_plan
from noisyor.cli.inputs import (
    check_files,
    errors_naming,
    expand_files,
    read_beliefs,
    read_network,
    read_structure,
)
from noisyor.cli.output import say, show, show_json, tell, text_table
from noisyor.errors import FileError, ParameterError
from noisyor.io.replacing import replaced_together

if TYPE_CHECKING:
    from noisyor.learning import Precision


def plan(
    structure: options.StructureFile,
    output: Annotated[Path | None, options.output_option("Where to write what to count.")] = None,
    method: Annotated[
        str, typer.Option(help="For which method: pooled (and refined), or sequential.")
    ] = "pooled",
    network: Annotated[
        str | None,
        typer.Option(help="A guess at the parameters: predict how well they would be learned."),
    ] = None,
    records: Annotated[
        int,
        typer.Option(
            "--records",
            "-n",
            min=1,
            max=options.MOST_RECORDS,
            help="With --network: how many records.",
        ),
    ] = 100_000,
    precision: Annotated[
        float,
        typer.Option(
            min=1e-9, max=1.0, help="With --network: the standard error that is aimed at."
        ),
    ] = 0.01,
    summary: Annotated[
        Path | None, typer.Option(help="With --network: a row per parameter (.csv, .parquet).")
    ] = None,
    labels: Annotated[
        bool,
        typer.Option(
            "--labels",
            help="With --network: how many records would have to be labelled, with which "
            "diseases, so that nothing is flagged; found by learning from samples.",
        ),
    ] = False,
    fixed: options.FixedTable = None,
    pairs: options.Pairs = True,
    choice: options.Choice = options.TripletChoice.first,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write down what has to be counted to learn a structure, or predict how well it is learned.

    Example: noisyor plan clinic.json -o clinic.plan

    Before there is data: noisyor plan clinic.json --network guess.json --records 100000
    --precision 0.02
    """
    from noisyor.learning import plan_labels, predict_precision

    _check_asked(output, network, summary, fixed, labels)
    inputs = [structure, network, fixed]
    check_files([output, summary], inputs, tables=[summary], endings={output: (".plan",)})
    graph = read_structure(structure)
    found = predicted = labelling = None
    if output is not None:
        learner = noisyor.NoisyOrLearner(graph, method=method, pairs=pairs, choice=choice.value)
        found = learner.find_plan(fixed=read_beliefs(fixed, graph))
    if network is not None:
        guess = read_network(network, seed)
        if guess.structure != graph:
            raise FileError(f"{network} has another structure than the one to be planned for.")
        predicted = predict_precision(guess, records, rng=seed)
        labelling = plan_labels(guess, records, rng=seed) if labels else None
    with replaced_together():
        if found is not None and output is not None:
            found.save(output)
        if predicted is not None and summary is not None:
            predicted.summary(precision).save(summary)
    if found is not None and not quiet and not as_json:
        say(f"Planned into {output}: {found}")
    if predicted is not None and as_json:
        facts = {} if labelling is None else {"labels": labelling.facts()}
        show_json({**_facts(predicted, precision), **facts})
    elif predicted is not None and not quiet:
        _show(predicted, precision)
        if labelling is not None:
            show(str(labelling))


def _check_asked(
    output: Path | None, network: str | None, summary: Path | None, fixed: Path | None, labels: bool
) -> None:
    """Refuse options that do not go together."""
    if output is None and network is None:
        raise ParameterError("say where to write what to count (-o FILE), or give --network GUESS.")
    if summary is not None and network is None:
        raise ParameterError("--summary is for predictions: give a --network to predict from.")
    if labels and network is None:
        raise ParameterError("--labels is for predictions: give a --network to predict from.")
    if fixed is not None and output is None:
        raise ParameterError("--fixed changes what to count: say where to write that (-o FILE).")


def _quantiles(predicted: "Precision", wanted: float) -> dict[str, tuple[list[float], list[int]]]:
    """Return of each kind the half and the largest errors; the records for 50, 90 and 100%."""
    import numpy as np

    from noisyor.parameters import KINDS

    both = zip(KINDS, predicted.standard_errors, predicted.records_needed(wanted), strict=True)
    return {
        kind: (
            np.nanpercentile(errors, [50, 100]).tolist(),
            np.ceil(np.nanpercentile(needed, [50, 90, 100])).astype(np.int64).tolist(),
        )
        for kind, errors, needed in both
        if np.isfinite(errors).any()
    }


def _facts(predicted: "Precision", wanted: float) -> dict[str, Any]:
    facts: dict[str, Any] = {"records": predicted.n_records, "wanted_standard_error": wanted}
    for kind, ((median, largest), (half, _, every)) in _quantiles(predicted, wanted).items():
        facts[kind] = {
            "median_standard_error": median,
            "largest_standard_error": largest,
            "records_needed_for_half": half,
            "records_needed_for_all": every,
        }
    return facts


def _show(predicted: "Precision", wanted: float) -> None:
    """Say in a table how well each kind would be learned, and which parameters worst."""
    import numpy as np

    titles = (
        "parameter", "median standard error", "largest", f"records for {wanted:g}: half of them",
        "nine in ten", "all",
    )  # fmt: skip
    rows = [
        [kind, *(f"{error:.2g}" for error in errors), *(f"{n:,}" for n in needed)]
        for kind, (errors, needed) in _quantiles(predicted, wanted).items()
    ]
    table = text_table(titles, rows, left=["parameter"])
    show(f"Predicted for {predicted.n_records:,} records, learned by refined:", table)
    n_rare = int(np.isnan(predicted.standard_errors.priors).sum())
    if n_rare:
        show(f"{n_rare:,} diseases are too rare in the guess for a prediction; they are left out.")
    n_lost = int((predicted.schedule.depths < 0).sum())
    if n_lost:
        show(f"No schedule certifies {n_lost:,} failures: see noisyor schedule.")
    errors = predicted.standard_errors.failures
    names = list(zip(*predicted.network.structure.edge_names().values(), strict=True))
    worst = np.argsort(-np.nan_to_num(errors))[:5].tolist()
    listed = (f"{' to '.join(names[edge])} ({errors[edge]:.2g})" for edge in worst)
    show(f"The least certain failures: {', '.join(listed)}.")


def plan_triplets(
    moments: options.MomentFiles,
    output: Annotated[Path, options.output_option("Where to write the plan.")],
    pairs: options.Pairs = True,
    fixed: options.FixedTable = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Choose the triplets that tell most about the priors; count all records again with the plan.

    The moments are those of all coupled pairs: what noisyor count writes without a plan.

    Example: noisyor plan-triplets all.moments -o triplets.plan
    """
    from noisyor.learning import plan_triplets as choose

    files = expand_files(moments)
    check_files([output], inputs=[*files, fixed], endings={output: (".plan",)})
    counted = merged_moments(files)
    with errors_naming(files):
        structure = counted.plan.structure
        fixed_values = read_beliefs(fixed, structure)
        schedule = noisyor.find_schedule(structure, pairs=pairs, fixed=fixed_values)
        found = choose(counted, schedule, fixed=fixed_values)
    found.save(output)
    facts = {"output": str(output), **facts_of_plan(found)}
    tell(f"Planned into {output}: {found}", facts, quiet=quiet, as_json=as_json)
