"""`noisyor report`: one HTML page that shows what was learned, how well, and what is doubtful."""

from pathlib import Path
from typing import Annotated

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import check_files, read_learned, read_network
from noisyor.cli.output import tell, working


def report(
    network: options.NetworkFile,
    output: Annotated[Path, options.output_option("Where to write the page (.html).")],
    summary: Annotated[
        Path | None,
        typer.Option(
            help="The summary that fit wrote (.csv, .parquet), for a network whose file does not "
            "say how it was learned, such as one of version 0.1.0."
        ),
    ] = None,
    misfits: Annotated[
        Path | None,
        typer.Option(help="The pairs that are not explained, as fit --misfits wrote them."),
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(help="The network that the records were sampled from, to compare with."),
    ] = None,
    evaluation: Annotated[
        Path | None,
        typer.Option(help="What the network diagnoses against labels: evaluate wrote it (.json)."),
    ] = None,
    suggestions: Annotated[
        Path | None,
        typer.Option(help="Changes of the structure: suggest wrote them (.csv, .parquet)."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="What the page is called.")] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="For a built-in network that is random.")
    ] = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write one HTML page about a network: estimates, intervals, flags, pictures of each disease.

    The page is a single file, which needs no server and no connection.

    Example: noisyor report learned.json -o report.html
    """
    from noisyor.report.content import content_of
    from noisyor.report.opening import sentences
    from noisyor.report.page import check_ending, write_page

    check_ending(output)
    check_files([output], inputs=[network, summary, misfits, truth, evaluation, suggestions])
    with working("writing the page", quiet or as_json):
        content = content_of(
            _source(network, summary, seed),
            errors=summary,
            misfits=misfits,
            truth=None if truth is None else read_network(truth, seed),
            evaluation=evaluation,
            suggestions=suggestions,
            title=title,
        )
        size = write_page(content, output)
    knows, found = content.knows_flags, content.unexplained
    # None for what is not known.
    facts = {
        "file": str(output),
        "bytes": size,
        "diseases": content.structure.n_diseases,
        "symptoms": content.structure.n_symptoms,
        "edges": content.structure.n_edges,
        "learned": content.n_learned if knows else None,
        "flagged": content.n_flagged if knows else None,
        "misfits": None if found is None else found.n_found,
        "suggestions": None if content.suggestions is None else len(content.suggestions),
    }
    written = f"Written: {output} ({size / 1e6:.2f} MB)"
    structure = content.structure
    say = structure.vocabulary.translator([*structure.diseases, *structure.symptoms])
    said = [*map(say, sentences(content)), written]
    tell("\n".join(said), facts, quiet=quiet, as_json=as_json)


def _source(
    network: str, summary: Path | None, seed: int
) -> "noisyor.Estimate | noisyor.NoisyOrNetwork":
    """Return what is reported on: a summary that is given counts for more than the file."""
    return read_learned(network, seed) if summary is None else read_network(network, seed)
