"""`noisyor convert`: a network or structure from one format into another."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import existing, is_built_in, read_network
from noisyor.cli.output import show_facts
from noisyor.io.replacing import check_writable


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
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Convert a network or structure into another format.

    Example: noisyor convert clinic clinic.xdsl
    """
    from noisyor.exchange.formats import folder_files, format_of

    written = format_of(output, write_as.value if write_as else None)
    # A folder that is missing will be made.
    in_folder = folder_files(output) if output.is_dir() else []
    inputs = [source] if Path(source).exists() else []
    check_writable(in_folder if written == "folder" else [output], inputs=inputs)
    if is_built_in(source):
        model: noisyor.NoisyOrNetwork | noisyor.Structure = read_network(source)
        read = "built-in"
    else:
        path = existing(source, "a network or structure")
        read = format_of(path, read_as.value if read_as else None)
        model = noisyor.read_model(path, read)
    noisyor.write_model(model, output, written)
    if quiet:
        return
    structure = model if isinstance(model, noisyor.Structure) else model.structure
    facts = {
        "read": source,
        "read as": read,
        "kind": "structure" if structure is model else "network",
        "diseases": structure.n_diseases,
        "symptoms": structure.n_symptoms,
        "edges": structure.n_edges,
        "written": str(output),
        "written as": written,
    }
    show_facts(facts, as_json)
