"""`noisyor identify`: what can be known of a structure's parameters, before any data."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import check_files, read_fixed, read_structure
from noisyor.cli.output import show, show_json, text_table
from noisyor.errors import ParameterError, some_of

if TYPE_CHECKING:
    from noisyor.identifiability import Identifiability
    from noisyor.identifiability.check import Tradeoff

MOST_TRADEOFFS = 10


def identify(
    structure: Annotated[
        str | None, typer.Argument(help="A structure or network: .json, .csv, .parquet, a folder.")
    ] = None,
    max_order: Annotated[
        int, typer.Option(min=2, max=10, help="The highest order of moments to look at.")
    ] = 3,
    fixed: options.FixedTable = None,
    table: Annotated[
        tuple[int, int] | None,
        typer.Option(help="Print the paper's Table 1 for up to N diseases and M symptoms."),
    ] = None,
    output: Annotated[
        Path | None, options.output_option("A row per parameter with its verdict (.csv, ...).")
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Say which parameters can be known from records without diseases, and what would help.

    Example: noisyor identify clinic.json

    The paper's Table 1: noisyor identify --table 7 7
    """
    from noisyor.io.tables import write_table

    if (structure is None) == (table is None):
        raise ParameterError("give a structure, or --table N M for fully connected ones; not both.")
    if table is not None:
        if output is not None or fixed is not None:
            raise ParameterError("--table takes neither --output nor --fixed.")
        _show_table(*table, as_json)
        return
    check_files([output], inputs=[structure, fixed], tables=[output])
    graph = read_structure(str(structure))
    fixed_values = read_fixed(fixed, graph)
    result = noisyor.check_identifiability(graph, max_order=max_order, fixed=fixed_values)
    if output is not None:
        write_table(output, result.verdicts())
    if as_json:
        show_json(_facts(result))
    elif not quiet:
        _show(result)


def _show_table(n_diseases: int, n_symptoms: int, as_json: bool) -> None:
    from noisyor.identifiability import identifiability_table

    most = 12
    if not (1 <= n_diseases <= most and 1 <= n_symptoms <= most):
        raise ParameterError(f"--table takes 1 to {most} diseases and symptoms.")
    found = identifiability_table(n_diseases, n_symptoms).tolist()
    if as_json:
        show_json(found)
        return
    titles = "diseases", *(f"{j + 1} symptoms" for j in range(n_symptoms))
    rows = ([str(i + 1), *map(str, row)] for i, row in enumerate(found))
    title = "Order of moments that identifies a fully connected network"
    below = "-1: not identifiable, not even with the moments of the highest order."
    show(text_table(titles, rows, title=title), below)


def _names(result: "Identifiability", tradeoff: "Tradeoff") -> list[str]:
    structure = result.structure
    return [
        *(f"prior of {structure.diseases[i]!r}" for i in tradeoff.priors),
        *(
            f"failure of {structure.diseases[i]!r} to {structure.symptoms[j]!r}"
            for i, j in structure.edges[tradeoff.failures]
        ),
        *(f"leak of {structure.symptoms[j]!r}" for j in tradeoff.leaks),
    ]


def _facts(result: "Identifiability") -> dict[str, Any]:
    verdicts = Counter(sorted(result.verdicts()["verdict"].to_pylist()))
    return {
        "order": result.order,
        "max_order": result.max_order,
        "verdicts": dict(verdicts),
        "swaps": [[result.structure.diseases[i] for i in group] for group in result.swaps],
        "tradeoffs": [
            {
                "parameters": _names(result, tradeoff),
                "freedom": tradeoff.freedom,
                "repairs": [str(repair) for repair in result.repairs(tradeoff)],
            }
            for tradeoff in result.tradeoffs
        ],
    }


def _show(result: "Identifiability") -> None:
    titles = "parameter", "fixed", "certified", "local", "not identifiable"
    verdicts = result.verdicts().select(["parameter", "verdict"]).to_pylist()
    counts = Counter((row["parameter"], row["verdict"]) for row in verdicts)
    kinds = "prior", "failure", "leak"
    rows = ([f"{kind}s", *(f"{counts[kind, each]:,}" for each in titles[1:])] for kind in kinds)
    table = text_table(titles, rows, left=["parameter"])
    if result.is_identifiable:
        show(f"All parameters can be known, from moments of order {result.order}.", table)
        if any(counts[kind, "local"] for kind in kinds):
            show("Those called local may have several separate solutions, which fit flags.")
    else:
        show(f"Not all parameters can be known from moments up to order {result.max_order}.", table)
    show(
        "Certified: a schedule learns it (Theorem 1). Local: no small change leaves all moments as "
        "they are (Section 3.3)."
    )
    for group in result.swaps:
        names = some_of([result.structure.diseases[i] for i in group], most=5)
        show(f"{names} have the same symptoms: which of them is which, no record says.")
    for tradeoff in result.tradeoffs[:MOST_TRADEOFFS]:
        names = some_of(_names(result, tradeoff), most=8)
        ways = "one way" if tradeoff.freedom == 1 else f"{tradeoff.freedom} ways"
        show(f"\nThese trade off against each other, in {ways}: {names}.")
        for repair in result.repairs(tradeoff):
            show(f"  - {repair}.")
    more = len(result.tradeoffs) - MOST_TRADEOFFS
    if more > 0:
        show(f"\nAnd {more} more sets: --json lists them all.")
