"""`noisyor convert`: a network or structure from one format into another."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import existing, is_built_in, read_network
from noisyor.cli.output import note, show_facts
from noisyor.errors import ParameterError, quoted
from noisyor.io.replacing import check_writable
from noisyor.vocabulary import read_synonyms, words_of


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
    words: Annotated[
        str | None,
        typer.Option(
            help="What readers say for disease and symptom, such as fault,alarm (and a third word "
            "for record): pages and the app say so. Written to .json."
        ),
    ] = None,
    synonyms: Annotated[
        Path | None,
        typer.Option(
            help="Other names of diseases and symptoms, which are found and understood too: a "
            "table with the columns name and synonym (.csv, .parquet). Written to .json."
        ),
    ] = None,
    more_symptoms: Annotated[
        list[str] | None,
        typer.Option(
            "--more-symptom",
            help="A symptom of the records that no edge of a structure names yet, since an edge "
            "list has none without: `repair` may find its causes. Several times for more. Written "
            "to .json.",
        ),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Convert a network or structure into another format; or give it other words for readers.

    Example: noisyor convert clinic clinic.xdsl

    Words: noisyor convert pumps.json named.json --words fault,alarm --synonyms synonyms.csv
    """
    from noisyor.exchange.formats import folder_files, format_of, format_read

    written = format_of(output, write_as.value if write_as else None)
    # A folder that is missing will be made.
    in_folder = folder_files(output) if output.is_dir() else []
    inputs = [each for each in (source, synonyms) if each is not None and Path(each).exists()]
    check_writable(in_folder if written == "folder" else [output], inputs=inputs)
    if is_built_in(source):
        model: Model = read_network(source)
        read = "built-in"
    else:
        path = existing(source, "a network or structure")
        read = format_read(path, read_as.value if read_as else None)
        model = _read(path, read)
    if more_symptoms:
        model = _with_symptoms(model, more_symptoms, written)
    if words is not None or synonyms is not None:
        model = model.with_vocabulary(_vocabulary(model, words, synonyms))
    if isinstance(model, noisyor.Estimate) and written == "json":
        model.save(output)
    else:
        if isinstance(model, noisyor.Estimate):
            note(
                f"{output} ({written}) does not hold how the network was learned: its standard "
                "errors, method and verdict are lost."
            )
            model = model.network
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


Model: TypeAlias = "noisyor.NoisyOrNetwork | noisyor.Structure | noisyor.Estimate"


def _read(path: Path, file_format: str) -> Model:
    """Read a model, with how it was learned where its file says so."""
    found = noisyor.read_model(path, file_format)
    if isinstance(found, noisyor.NoisyOrNetwork) and file_format == "json":
        from noisyor.learning.estimate import load_learned

        return load_learned(path)
    return found


def _with_symptoms(model: Model, names: list[str], written: str) -> "noisyor.Structure":
    """Return a structure with symptoms that have no edges."""
    if not isinstance(model, noisyor.Structure):
        raise ParameterError(
            "--more-symptom is for structures: a network has a leak for each symptom. Give the "
            "structure, and learn again."
        )
    if written != "json":
        raise ParameterError(
            f"--more-symptom: only .json holds symptoms without edges, not {written!r}."
        )
    for name in names:
        if name in model.symptoms:
            raise ParameterError(f"--more-symptom: {quoted(name)} is a symptom of it already.")
    return noisyor.Structure(
        model.diseases, [*model.symptoms, *names], model.edges, model.vocabulary
    )


def _vocabulary(model: Model, words: str | None, synonyms: Path | None) -> "noisyor.Vocabulary":
    """Return the words and synonyms that are given; what is not given stays."""
    structure = model if isinstance(model, noisyor.Structure) else model.structure
    found = structure.vocabulary
    if words is not None:
        found = noisyor.Vocabulary(**words_of(words), synonyms=found.synonyms)
    if synonyms is not None:
        found = replace(found, synonyms=tuple(read_synonyms(synonyms)))
    return found
