"""`noisyor report`: one HTML page that shows what was learned, how well, and what is doubtful."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisyor.cli.inputs import read_network
from noisyor.cli.options import AsJson, NetworkFile, Quiet, output_option
from noisyor.cli.output import show_facts, working
from noisyor.io.paths import check_writable

if TYPE_CHECKING:
    from noisyor.report.content import Content


def report(
    network: NetworkFile,
    output: Annotated[Path, output_option("Where to write the page (.html).")],
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
    seed: Annotated[int, typer.Option(min=0, help="For a built-in network that is random.")] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page about a network: estimates, intervals, flags, pictures of each disease.

    The page is a single file, which needs no server and no connection.

    Example: noisyor report learned.json --summary learned.csv -o report.html
    """
    from noisyor.report.content import content_of
    from noisyor.report.page import check_ending, write_page

    check_ending(output)
    inputs = filter(None, [Path(network), summary, misfits, Path(truth) if truth else None])
    check_writable([output], inputs=inputs)
    with working("writing the page", quiet or as_json):
        content = content_of(
            read_network(network, seed),
            errors=summary,
            misfits=misfits,
            truth=None if truth is None else read_network(truth, seed),
            title=title,
        )
        size = write_page(content, output)
    _tell(content, output, size, as_json=as_json, quiet=quiet)


def _tell(content: "Content", output: Path, size: int, *, as_json: bool, quiet: bool) -> None:
    from noisyor.report.overview import sentences

    if as_json:
        show_facts(_facts(content, output, size), as_json=True)
    elif not quiet:
        for sentence in sentences(content):
            typer.echo(sentence)
        typer.echo(f"Written: {output} ({size / 1e6:.2f} MB)")


def _facts(content: "Content", output: Path, size: int) -> dict[str, Any]:
    """Return what was written, for machines; null for what is not known."""
    knows, found = content.knows_flags, content.unexplained
    return {
        "file": str(output),
        "bytes": size,
        "diseases": content.structure.n_diseases,
        "symptoms": content.structure.n_symptoms,
        "edges": content.structure.n_edges,
        "learned": content.n_learned if knows else None,
        "flagged": content.n_flagged if knows else None,
        "misfits": None if found is None else found.n_found,
    }
