"""`noisyor suggest` and `noisyor repair`: what records say of a structure."""

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import (
    check_files,
    check_independent,
    expand_sources,
    is_built_in,
    local_files,
    read_network,
    read_structure,
)
from noisyor.cli.output import say, show, show_json, text_table, working
from noisyor.cluster import connected_if
from noisyor.errors import ParameterError, quoted
from noisyor.io.replacing import replaced_together

if TYPE_CHECKING:
    from noisyor.discovery import RepairPath, Suggestions
    from noisyor.findings import ReadOptions

MOST_SHOWN = 30
EdgeList = Annotated[
    list[str] | None, typer.Option(help="An edge, as disease=symptom; once for each.")
]


@options.reads_records
def suggest(
    network: Annotated[
        str, typer.Argument(help="A learned network (.json); of a structure one is learned first.")
    ],
    records: options.RecordFiles,
    output: Annotated[
        Path | None, options.output_option("Also write the suggestions (.csv, .parquet).")
    ] = None,
    level: Annotated[
        float,
        typer.Option(min=1e-9, max=0.5, help="The share of false ones among edges to add."),
    ] = 0.05,
    diseases: options.MissingDiseases = True,
    cluster: options.OnCluster = None,
    jobs: options.Jobs = 0,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Say which edges and diseases records ask for, and which edges they do not need.

    Example: noisyor suggest learned.json records.parquet -o suggestions.csv
    """
    from noisyor.discovery import suggest as find_suggestions
    from noisyor.discovery.reading import read_records
    from noisyor.io.tables import write_table

    files = expand_sources(records)
    check_files([output], [*local_files(files), network], tables=[output])
    known = _network_or_structure(network)
    with connected_if(cluster) as client:
        findings = read_records(files, _structure_of(known), reading, client)
    with working("looking at the records", quiet or as_json):
        learned: Any = known
        if isinstance(known, noisyor.Structure):
            learner = noisyor.NoisyOrLearner(known, random_state=seed, n_jobs=jobs or None)
            learned = learner.fit(findings).estimate_
        found = find_suggestions(
            learned, findings, level=level, diseases=diseases, rng=seed, n_jobs=jobs or None
        )
    if output is not None:
        write_table(output, found.table())
    if as_json:
        rows = found.table().to_pylist()
        show_json({"records": found.n_records, "tested": found.n_tested, "suggestions": rows})
    elif not quiet:
        _show_suggestions(found)
        if output is not None:
            say(f"Written: {output}")


@options.reads_records
def repair(
    structure: options.StructureFile,
    records: options.RecordFiles,
    output: Annotated[
        Path, options.output_option("Where to write the better structure (.csv or .json).")
    ],
    path: Annotated[
        Path | None,
        typer.Option(help="Also write the steps, a row for each change (.csv, .parquet)."),
    ] = None,
    max_changes: Annotated[
        int | None, typer.Option(min=0, help="Changes at most; as many as BIC gains by.")
    ] = None,
    criterion: Annotated[
        str, typer.Option(help="Which step is the best one: bic, or held_out.")
    ] = "bic",
    certain: EdgeList = None,
    forbidden: EdgeList = None,
    held_out: Annotated[
        float,
        typer.Option(min=0.0, max=0.9, help="The share of records that are not learned from."),
    ] = 0.1,
    diseases: options.MissingDiseases = True,
    cluster: options.OnCluster = None,
    jobs: options.Jobs = 0,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Mend a structure step by step, as records ask for it; Ctrl-C keeps the steps made so far.

    Example: noisyor repair edges.csv records.parquet -o better.csv
    """
    from noisyor.discovery import RepairSettings
    from noisyor.discovery import repair as mend
    from noisyor.io.tables import write_table

    files, endings = expand_sources(records), {output: (".csv", ".json")}
    inputs: list[Path | str | None] = [*local_files(files), structure]
    check_files([output, path], inputs, tables=[path], endings=endings)
    check_independent(structure, "repair")
    graph = read_structure(structure)
    settings = RepairSettings(held_out, diseases, seed, jobs or None)
    kept, barred = _edges(certain), _edges(forbidden)
    with connected_if(cluster) as client, working("mending the structure", quiet or as_json):
        found = mend(
            graph, files, max_changes=max_changes, criterion=criterion, certain=kept,
            forbidden=barred, settings=settings, client=client, **reading,
        )  # fmt: skip
    with replaced_together():
        is_table = output.suffix.lower() == ".csv"
        (found.structure.to_csv if is_table else found.structure.save)(output)
        if path is not None:
            write_table(path, found.table())
    if as_json:
        show_json(_facts(found))
    elif not quiet:
        _show_repair(found, max_changes)
        say(f"Written: {', '.join(str(each) for each in (output, path) if each)}")


def _network_or_structure(source: str) -> "noisyor.NoisyOrNetwork | noisyor.Structure":
    """Read a network, or a structure where it is no network."""
    if not is_built_in(source) and Path(source).suffix.lower() == ".json":
        from noisyor.io.documents import read_document
        from noisyor.structure import FORMATS, NETWORK_FORMAT

        if read_document(Path(source), FORMATS).get("format") == NETWORK_FORMAT:
            return read_network(source)
    return read_structure(source)


def _structure_of(known: Any) -> "noisyor.Structure":
    found: noisyor.Structure = getattr(known, "structure", known)
    return found


def _edges(texts: list[str] | None) -> list[tuple[str, str]]:
    """Return edges from texts such as flu=fever."""
    found = []
    for text in texts or ():
        disease, sign, symptom = text.partition("=")
        if not sign or not disease.strip() or not symptom.strip():
            raise ParameterError(f"{quoted(text)} is not an edge: write disease=symptom.")
        found.append((disease.strip(), symptom.strip()))
    return found


def _show_suggestions(found: "Suggestions") -> None:
    if not found.rows:
        show(f"Nothing to change: {found.n_tested:,} edges that are not there were tested.")
        return
    rows = [
        [
            row.kind, " + ".join(name for name in (row.disease, row.other) if name),
            ", ".join(row.symptoms) + (f" (both: {', '.join(row.shared)})" if row.shared else ""),
            *(f"{value:,.1f}" for value in (row.gain, row.gain_bic)),
            *("-" if isnan(value) else f"{value:.2g}" for value in (row.strength, row.q_value)),
        ]
        for row in found.rows[:MOST_SHOWN]
    ]  # fmt: skip
    titles = "change", "disease", "symptoms", "log likelihood", "BIC / 2", "1 - f", "q"
    show(text_table(titles, rows, left=("change", "disease", "symptoms")))
    if len(found.rows) > MOST_SHOWN:
        show(f"... and {len(found.rows) - MOST_SHOWN:,} more; --output and --json have all.")
    for row in found.rows[:3]:
        show(row.sentence)


def _facts(found: "RepairPath") -> dict[str, Any]:
    steps = [
        {
            "changes": len(step.changes), "log_likelihood": step.log_likelihood, "bic": step.bic,
            "held_out": step.held_out,
        }
        for step in found.steps
    ]  # fmt: skip
    return {
        "steps": steps,
        "best": found.best,
        "is_complete": found.is_complete,
        "changes": found.table().to_pylist(),
    }


def _show_repair(found: "RepairPath", max_changes: int | None) -> None:
    rows = [
        [
            f"{number}", f"{len(step.changes)}", f"{step.log_likelihood:,.1f}", f"{step.bic:,.1f}",
            "-" if step.held_out is None else f"{step.held_out:.5f}",
        ]
        for number, step in enumerate(found.steps)
    ]  # fmt: skip
    titles = "step", "changes", "log likelihood", "BIC", "held out"
    show(text_table(titles, rows))
    for change in found.changes[:MOST_SHOWN]:
        show(f"{change.kind}: {change.sentence}")
    if len(found.changes) > MOST_SHOWN:
        show(f"... and {len(found.changes) - MOST_SHOWN:,} more; --path and --json have all.")
    if not found.changes:
        show("Nothing was changed.")
    n_made = sum(len(step.changes) for step in found.steps)
    if n_made == max_changes:
        show("It has made as many changes as it may (--max-changes); there may be more to gain.")
    elif not found.is_complete:
        show("It was stopped before BIC had nothing more to gain.")
