"""`noisyor discover`: causes from records alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisyor.cli import options
from noisyor.cli.inputs import check_files, expand_sources, local_files, read_structure
from noisyor.cli.output import say, show, show_json, text_table, working
from noisyor.cluster import connected_if

if TYPE_CHECKING:
    from noisyor.discovery import Discovery
    from noisyor.findings import ReadOptions

MOST_SYMPTOMS = 6


@options.reads_records
def discover(
    records: options.RecordFiles,
    output: Annotated[Path, options.output_option("Where to write the network (.json).")],
    max_causes: Annotated[
        int | None, typer.Option(min=1, max=200, help="Causes at most; as many as there seem.")
    ] = None,
    structure: Annotated[
        str | None, typer.Option(help="Causes that are known; others are looked for beside them.")
    ] = None,
    start: Annotated[
        str, typer.Option(help="Where EM begins: pairs, quartets, or random.")
    ] = "pairs",
    starts: Annotated[int, typer.Option(min=1, max=1000, help="Random starts.")] = 3,
    cluster: options.OnCluster = None,
    jobs: options.Jobs = 0,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Find causes, their symptoms and parameters in records, without a structure.

    Ctrl-C keeps the best that was found so far.

    Example: noisyor discover records.parquet -o network.json
    """
    from noisyor.discovery import DiscoverySettings
    from noisyor.discovery import discover as find_causes

    files = expand_sources(records)
    check_files([output], [*local_files(files), structure], endings={output: (".json",)})
    known = None if structure is None else read_structure(structure)
    settings = DiscoverySettings(n_init=starts, start=start, n_jobs=jobs or None)
    with connected_if(cluster) as client, working("looking for causes", quiet or as_json):
        found = find_causes(
            files, max_causes, structure=known, rng=seed, settings=settings, client=client,
            **reading,
        )  # fmt: skip
    found.network.save(output)
    if as_json:
        show_json(_facts(found))
    elif not quiet:
        _show(found)
        say(f"Written: {output}")


def _facts(found: "Discovery") -> dict[str, Any]:
    return {
        "causes": found.table().to_pylist(),
        "edges": found.structure.n_edges,
        "log_likelihood": found.log_likelihood,
        "bic": found.bic,
        "starts": found.n_starts,
        "is_complete": found.is_complete,
    }


def _show(found: "Discovery") -> None:
    rows = []
    for row in found.table().to_pylist():
        names = row["symptoms"].split(", ")
        more = f" and {len(names) - MOST_SYMPTOMS} more" if len(names) > MOST_SYMPTOMS else ""
        strongest = ", ".join(names[:MOST_SYMPTOMS]) + more
        stability = "-" if row["stability"] is None else f"{row['stability']:.0%}"
        rows.append([row["cause"], f"{row['prior']:.3f}", strongest, stability])
    titles = "cause", "prior", "symptoms, the strongest first", "stability"
    show(text_table(titles, rows, left=("cause", titles[2])))
    if not rows:
        show("No cause was found: the symptoms seem to be independent of each other.")
    if not found.is_complete:
        show("It was stopped before all was tried.")
