"""`noisyor convert`: a network or structure from one format into another."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisyor.cli.inputs import existing, is_built_in, read_network
from noisyor.cli.options import AsJson, Quiet
from noisyor.cli.output import Facts, show_facts
from noisyor.io.paths import check_writable

if TYPE_CHECKING:
    from noisyor.exchange.formats import Model


class FileFormat(StrEnum):
    """The formats of networks and structures."""

    json = "json"
    edges = "edges"
    folder = "folder"
    xdsl = "xdsl"
    bif = "bif"
    uai = "uai"
    q_matrix = "q-matrix"


def convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="A network or structure: .json, .xdsl (GeNIe), .bif, .uai, .csv or .parquet with "
            "edges, a folder of CSV files, or a built-in name.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Argument(help="What to write; the ending tells the format. No ending: a folder."),
    ],
    read_as: Annotated[
        FileFormat | None,
        typer.Option("--from", help="The input's format, where its ending does not tell."),
    ] = None,
    write_as: Annotated[
        FileFormat | None,
        typer.Option("--to", help="The output's format, where its ending does not tell."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Convert a network or structure into another format.

    Example: noisyor convert clinic clinic.xdsl
    """
    from noisyor.exchange.formats import format_of, write_model

    written = format_of(output, write_as.value if write_as else None)
    check_writable(_targets(output, written), [source] if Path(source).exists() else [])
    model, read = _read(source, read_as.value if read_as else None)
    write_model(model, output, written)
    if not quiet:
        show_facts(_facts(model, source, read, output, written), as_json)


def _targets(output: Path, written: str) -> list[Path]:
    """Return the files that will be written; a folder that is missing will be made."""
    if written != "folder":
        return [output]
    return [output / f"{name}.csv" for name in ("edges", "priors", "leaks")] * output.is_dir()


def _read(source: str, file_format: str | None) -> "tuple[Model, str]":
    from noisyor.exchange.formats import format_of, read_model

    if is_built_in(source):
        return read_network(source, seed=0), "built-in"
    path = existing(source, "a network or structure")
    read = format_of(path, file_format)
    return read_model(path, read), read


def _facts(model: "Model", source: str, read: str, output: Path, written: str) -> Facts:
    from noisyor.network import NoisyOrNetwork
    from noisyor.structure import Structure

    structure = model if isinstance(model, Structure) else model.structure
    return {
        "read": source,
        "read as": read,
        "kind": "network" if isinstance(model, NoisyOrNetwork) else "structure",
        "diseases": structure.n_diseases,
        "symptoms": structure.n_symptoms,
        "edges": structure.n_edges,
        "written": str(output),
        "written as": written,
    }
