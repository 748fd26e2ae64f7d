"""`noisyor compare`: which model describes records best."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import expand_sources, read_structure
from noisyor.cli.output import note, show, show_json, text_table, working
from noisyor.errors import ParameterError

if TYPE_CHECKING:
    from noisyor.findings import ReadOptions


@options.reads_records
def compare(
    structure: options.StructureFile,
    records: options.RecordFiles,
    causes: Annotated[
        str | None,
        typer.Option(
            help="The models to compare: independent, trait, joint, by commas; all of them, but "
            "joint with up to 12 diseases only."
        ),
    ] = None,
    other: Annotated[
        list[str] | None,
        typer.Option(help="Another structure of the same symptoms; once for each."),
    ] = None,
    covariates: options.Covariates = None,
    unknown_covariates: options.UnknownCovariates = "refuse",
    held_out: Annotated[
        float,
        typer.Option(min=0.0, max=0.9, help="The share of records that are not learned from."),
    ] = 0.2,
    jobs: options.Jobs = 0,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Compare models of the same records: likelihood, AIC, BIC, held-out records, residuals.

    With --covariates each model is learned without and, all but joint, with them.

    Example: noisyor compare needs.csv answers.csv --invert --causes independent,joint
    """
    graphs = {"": read_structure(structure)} | {path: read_structure(path) for path in other or []}
    kinds = _kinds(causes, max(graph.n_diseases for graph in graphs.values()))
    models = {
        f"{kind}{f' ({path})' if path else ''}": noisyor.NoisyOrLearner(
            graph, causes=kind, random_state=seed, n_jobs=jobs or None
        )
        for path, graph in graphs.items()
        for kind in kinds
    }
    files = expand_sources(records)
    with working("learning the models", quiet or as_json):
        found = noisyor.compare_models(
            models, files, covariates=options.covariates_of(covariates),
            unknown_covariates=unknown_covariates, held_out=held_out, rng=seed, **reading,
        )  # fmt: skip
    if as_json:
        facts = {"best": found.best, "recommendation": found.recommendation}
        show_json(facts | {"models": list(found.rows)})
    elif not quiet:
        show(_table(found.rows))
        show(found.recommendation)


def _kinds(causes: str | None, n_diseases: int) -> list[str]:
    """Return the models that are asked for; where none is, all that there can be."""
    from noisyor.network.causes import KINDS_OF_CAUSES, MOST_JOINT

    if causes is not None:
        kinds = options.listed(causes)
        if not kinds:
            raise ParameterError("--causes names no model.")
        return kinds
    if n_diseases <= MOST_JOINT:
        return list(KINDS_OF_CAUSES)
    note(
        f"joint is not compared: a joint distribution is of up to {MOST_JOINT} diseases, and there "
        f"are {n_diseases:,}. `noisyor fit --causes joint --block` learns one of some of them."
    )
    return [kind for kind in KINDS_OF_CAUSES if kind != "joint"]


def _table(rows: tuple[dict[str, Any], ...]) -> Any:
    shown = [
        [
            row["model"], f"{row['log_likelihood']:,.1f}", f"{row['parameters']:,}",
            f"{row['aic']:,.1f}", f"{row['bic']:,.1f}",
            "-" if row["held_out"] is None else f"{row['held_out']:.4f}",
            f"{row['srmsr']:.4f}", f"{row['largest_residual']:.1f}",
        ]
        for row in rows
    ]  # fmt: skip
    # So short that nothing is cut in a terminal of 80 columns.
    titles = "model", "log lik.", "params", "AIC", "BIC", "held out", "SRMSR", "residual"
    return text_table(titles, shown, left=("model",), has_lines=False)
