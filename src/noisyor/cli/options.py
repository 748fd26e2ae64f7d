"""Options that several commands have, written once so that they mean the same everywhere."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from noisyor.findings.reading import ReadOptions


class Layout(StrEnum):
    """How records stand in a file."""

    wide = "wide"
    long = "long"


class TripletChoice(StrEnum):
    """Which of several suitable triplets a schedule takes."""

    first = "first"
    rarest = "rarest"


def output_option(text: str) -> Any:
    """Return the option that says where to write, with a text of its own."""
    return typer.Option("--output", "-o", help=text)


NetworkFile = Annotated[
    str, typer.Argument(help="A network file (JSON), a folder, or clinic, figure1, qmr_shaped, ...")
]
NumberOfRecords = Annotated[int, typer.Option("--records", "-n", min=0, help="How many records.")]
Seed = Annotated[
    int, typer.Option(min=0, help="For sampling and random networks; the same gives the same.")
]
StructureFile = Annotated[
    str, typer.Argument(help="A structure or network: .json, .csv, .parquet, a folder.")
]
MomentFiles = Annotated[
    list[str], typer.Argument(help="Files of moments, or patterns such as 'sites/*.moments'.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but notices and errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
ReadLayout = Annotated[
    Layout | None, typer.Option(help="wide or long; found out from the columns by default.")
]
IgnoreUnknown = Annotated[
    bool, typer.Option("--ignore-unknown", help="Pass over columns or rows of other symptoms.")
]
IdsPerFile = Annotated[
    bool, typer.Option("--ids-per-file", help="The same id in two files means two records.")
]
Groups = Annotated[
    int, typer.Option(min=1, max=1000, help="Groups of records, for standard errors.")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=0, help="Cores to use; 0: all there are.")]
OnCluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Work on a cluster: the address of a Dask scheduler (tcp://10.0.0.1:8786), or local:4 "
        "for four processes here.",
    ),
]
SkipBroken = Annotated[
    bool,
    typer.Option("--skip-broken", help="On a cluster: leave out files that cannot be read."),
]
Pairs = Annotated[
    bool, typer.Option("--pairs/--no-pairs", help="Also learn from pairs next to a learned edge.")
]
FixedTable = Annotated[
    Path | None,
    typer.Option(
        "--fixed",
        help="Parameters that are fixed: a table with the columns parameter, disease, "
        "symptom, value (.csv, .parquet).",
    ),
]
Choice = Annotated[
    TripletChoice,
    typer.Option(
        help="Which triplet to take: the first, or the one whose symptoms have the fewest parents."
    ),
]


def read_options(layout: Layout | None, ignore_unknown: bool, ids_per_file: bool) -> "ReadOptions":
    """Return the options of reading as Python functions take them."""
    return {
        "layout": layout.value if layout else "auto",
        "ignore_unknown": ignore_unknown,
        "ids_per_file": ids_per_file,
    }
