"""`noisyor report`: one HTML page that shows what was learned, how well, and what is doubtful."""

from pathlib import Path
from typing import Annotated

import typer

from noisyor.cli import options
from noisyor.cli.inputs import check_files, read_network
from noisyor.cli.output import tell, working


def report(
    network: options.NetworkFile,
    output: Annotated[Path, options.output_option("Where to write the page (.html).")],
    summary: Annotated[
        Path | None,
        typer.Option(
            help="The summary that fit wrote (.csv, .parquet): standard errors, depths, flags."
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
    title: Annotated[str | None, typer.Option(help="What the page is called.")] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="For a built-in network that is random.")
    ] = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write one HTML page about a network: estimates, intervals, flags, pictures of each disease.

    The page is a single file, which needs no server and no connection.

    Example: noisyor report learned.json --summary learned.csv -o report.html
    """
    from noisyor.report.content import content_of
    from noisyor.report.page import check_ending, write_page
    from noisyor.report.sections import sentences

    check_ending(output)
    check_files([output], inputs=[network, summary, misfits, truth])
    with working("writing the page", quiet or as_json):
        content = content_of(
            read_network(network, seed),
            errors=summary,
            misfits=misfits,
            truth=None if truth is None else read_network(truth, seed),
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
    }
    written = f"Written: {output} ({size / 1e6:.2f} MB)"
    tell("\n".join([*sentences(content), written]), facts, quiet=quiet, as_json=as_json)
