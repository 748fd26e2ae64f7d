"""Options that several commands have, written once so that they mean the same everywhere."""

import functools
import inspect
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisyor.errors import ParameterError, quoted

if TYPE_CHECKING:
    from noisyor.findings.reading import ReadOptions
    from noisyor.structure import Structure


MOST_RECORDS = 10**12
"""More than anyone has; counts of them fit into the numbers that are counted with."""


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
    str,
    typer.Argument(help="A network: .json, .xdsl, .bif, .uai, a folder, or clinic, figure1, ..."),
]
NumberOfRecords = Annotated[
    int, typer.Option("--records", "-n", min=0, max=MOST_RECORDS, help="How many records.")
]
Seed = Annotated[
    int,
    typer.Option(
        min=0, max=2**63 - 1, help="For sampling and random networks; the same gives the same."
    ),
]
StructureFile = Annotated[
    str,
    typer.Argument(
        help="A structure or network: .json, .csv, .parquet, .xdsl, .bif, .uai, a folder."
    ),
]
MomentFiles = Annotated[
    list[str], typer.Argument(help="Files of moments, or patterns such as 'sites/*.moments'.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but notices and errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Groups = Annotated[
    int, typer.Option(min=1, max=1000, help="Groups of records, for standard errors.")
]
Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", min=0, max=1024, help="Cores to use; 0: all that may be used."),
]
Device = Annotated[
    str,
    typer.Option(
        "--device",
        help="Where to work: cpu, gpu (a graphics card), or auto (what is expected to be faster).",
    ),
]

RecordFiles = Annotated[list[str], typer.Argument(help="Files of records; patterns are fine.")]
MissingDiseases = Annotated[
    bool,
    typer.Option(
        "--diseases/--no-diseases", help="Also look for diseases that are missing or wrong."
    ),
]

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


Labels = Annotated[
    Path | None,
    typer.Option(
        help="Which diseases records were seen to have: a table with a column for each of some "
        "diseases, with 1, 0 or nothing, joined to the records by their ids (.csv, .parquet)."
    ),
]
Covariates = Annotated[
    str | None,
    typer.Option(
        help="What diseases depend on: columns of the record file, such as "
        "age,sex,site:category, or a table of covariates (.csv, .parquet), joined to the "
        "records by their ids."
    ),
]
UnknownCovariates = Annotated[
    str,
    typer.Option(help="Where a covariate is not known: refuse, or keep the record."),
]


# --- how records are read: the same options for every command that reads some ---


class Unmentioned(StrEnum):
    """What a finding is that no row of a long table mentions."""

    absent = "absent"
    unknown = "unknown"


def _option(*names: str, text: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, **more)


RECORD_OPTIONS: dict[str, tuple[Any, Any]] = {
    "layout": (
        Annotated[
            Layout | None, _option(text="wide or long; found out from the columns by default.")
        ],
        None,
    ),
    "record": (
        Annotated[str, _option(text="The column of the records' ids.")],
        "record",
    ),
    "symptom": (
        Annotated[str, _option(text="Long: the column of the symptoms' names.")],
        "symptom",
    ),
    "state": (
        Annotated[
            str, _option(text="Long: the column that says present, absent, unknown; or none.")
        ],
        "state",
    ),
    "unmentioned": (
        Annotated[
            Unmentioned,
            _option(
                text="Long: what findings without a row are: absent or unknown. Wide: with "
                "unknown, symptoms may lack a column."
            ),
        ],
        Unmentioned.absent,
    ),
    "n_records": (
        Annotated[
            int | None,
            _option(
                text="Long: how many records there are, with those without rows.",
                min=0,
                max=MOST_RECORDS,
            ),
        ],
        None,
    ),
    "all_records": (
        Annotated[
            Path | None,
            _option(text="Long: a table with the ids of all records, with those without rows."),
        ],
        None,
    ),
    "ids_per_file": (
        Annotated[
            bool, _option("--ids-per-file", text="Long: an id in two files means two records.")
        ],
        False,
    ),
    "values": (
        Annotated[
            str | None,
            _option(text="What other words mean, as in 'pos=present,neg=absent,?=unknown'."),
        ],
        None,
    ),
    "invert": (
        Annotated[
            bool,
            _option("--invert", text="Read 1 as absent and 0 as present (right answers as 1)."),
        ],
        False,
    ),
    "names": (
        Annotated[
            Path | None,
            _option(text="What other names of symptoms mean: a table, columns name and meaning."),
        ],
        None,
    ),
    "ignore_unknown": (
        Annotated[
            bool,
            _option("--ignore-unknown", text="Pass over columns or rows of other symptoms."),
        ],
        False,
    ),
}


def reads_records(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of reading records, which it gets as `reading`, a `ReadOptions`.

    They stand at the end of its own options. `reading` also has new `notes`.
    """
    own = inspect.signature(command)
    kept = [each for each in own.parameters.values() if each.name != "reading"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in RECORD_OPTIONS.items()
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        options = {name: given.pop(name) for name in RECORD_OPTIONS}
        command(**given, reading=_read_options(options))

    keyword_only = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in kept]
    run.__signature__ = own.replace(parameters=[*keyword_only, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in [*keyword_only, *added]}
    return run


def _read_options(given: dict[str, Any]) -> "ReadOptions":
    """Return the options of reading as Python functions take them."""
    from noisyor.findings.notes import Notes

    layout, state, names = given["layout"], given["state"], given["names"]
    return {
        **given,  # type: ignore[typeddict-item]
        "layout": layout.value if layout else "auto",
        "state": None if state == "none" else state,
        "unmentioned": given["unmentioned"].value,
        "values": None if given["values"] is None else _pairs(given["values"]),
        "names": names if names is None else str(names),
        "notes": Notes(),
    }


def _pairs(text: str) -> dict[str, str]:
    """Return what words mean, from 'pos=present,neg=absent'."""
    found = {}
    before = ""  # words may have commas in them
    for part in text.split(","):
        word, equals, state = (before + part).rpartition("=")
        before = "" if equals else f"{before}{part},"
        if equals:
            found[word.strip()] = state.strip().lower()
    if before:
        raise ParameterError(
            f"--values {quoted(text)}: {quoted(before[:-1])} is not of the form word=state; write "
            "for example 'pos=present,neg=absent,?=unknown'."
        )
    return found


SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="In .csv tables: an apostrophe before names that a spreadsheet would compute (=, +, "
        "-, @).",
    ),
]


def check_spreadsheet_safe(is_wanted: bool, tables: Iterable[Path | None]) -> None:
    """Refuse to make tables safe for spreadsheets where none is written that these would open."""
    if is_wanted and not any(str(table).lower().endswith(".csv") for table in tables):
        raise ParameterError("--spreadsheet-safe is for tables that end in .csv; there is none.")


def refuse_given(context: typer.Context, names: Iterable[str], meant_for: str) -> None:
    """Refuse options that were given but are for something else than what is asked."""
    for name in sorted(names):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise ParameterError(f"--{name.replace('_', '-')} is for {meant_for}.")


def check_jobs(jobs: int, cluster: str | None) -> None:
    """Refuse a number of cores where a cluster does all of the work with what it has."""
    if cluster is not None and jobs:
        raise ParameterError(
            f"--jobs {jobs} is for one machine: how many cores a cluster uses is for its workers "
            "to say, as in --cluster local:4."
        )


def listed(text: str) -> list[str]:
    """Return names that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def covariates_of(text: str | None) -> list[str] | Path | None:
    """Return the columns that are named, or the table."""
    if text is None:
        return None
    names = listed(text)
    if len(names) == 1 and Path(names[0]).suffix and ":" not in names[0]:
        return Path(names[0])
    if not names:
        raise ParameterError("--covariates names no column, and no table.")
    return names


def person_of(texts: list[str] | None) -> dict[str, str] | None:
    """Return what is known of a person, from texts such as age=71."""
    if not texts:
        return None
    found: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ParameterError(f"--given {text}: say it as age=71.")
        if name.strip() in found:
            raise ParameterError(f"--given {text}: {name.strip()} was given before.")
        found[name.strip()] = value.strip()
    return found


def costs_of(texts: list[str] | None, structure: "Structure") -> dict[Any, float] | None:
    """Return what findings cost, from texts like X-ray=40."""
    found = {}
    for text in texts or ():
        name, _, number = text.rpartition("=")
        try:
            found[structure.match_symptom(name)] = float(number)
        except ValueError:
            raise ParameterError(
                f"--cost {text}: expected a finding of the network and a number, such as X-ray=40."
            ) from None
    return found or None


def utilities_of(
    texts: list[str] | None, structure: "Structure"
) -> dict[Any, tuple[float, float]] | None:
    """Return what wrong decisions cost, from texts like pneumonia=50,5."""
    found = {}
    for text in texts or ():
        name, _, pair = text.rpartition("=")
        try:
            missed, alarm = map(float, pair.split(","))
        except ValueError:
            raise ParameterError(
                f"--utility {text}: expected a disease of the network and two numbers, the loss "
                "where it is missed and that of a false alarm, such as pneumonia=50,5."
            ) from None
        found[structure.match_disease(name)] = missed, alarm
    return found or None
