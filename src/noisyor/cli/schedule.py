"""`noisyor schedule` and `noisyor identify`: what of a structure can be known, before any data."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import check_files, read_beliefs, read_network, read_structure
from noisyor.cli.output import show, show_json, text_table
from noisyor.errors import ParameterError, quoted, some_of

if TYPE_CHECKING:
    from noisyor.identifiability import DependentIdentifiability, Identifiability

    Known = Identifiability | DependentIdentifiability
    from noisyor.schedule.complexity import SampleComplexity

MOST_SHOWN = 10
"""Unlearned parts, and sets of parameters that trade off, that are shown in full."""


def schedule(
    structure: options.StructureFile,
    output: Annotated[
        Path | None, options.output_option("Where to write the schedule (.json).")
    ] = None,
    pairs: options.Pairs = True,
    choice: options.Choice = options.TripletChoice.first,
    network: Annotated[
        str | None,
        typer.Option(help="A guess at the parameters, for the records that Theorem 2 asks for."),
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Theorem 2: the largest error wanted.")] = 0.01,
    delta: Annotated[float, typer.Option(help="Theorem 2: the probability to miss it.")] = 0.05,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Say which edges can be learned, at which depth, and what cannot and why. Needs no data.

    Example: noisyor schedule clinic
    """
    check_files([output], inputs=[structure, network], endings={output: (".json",)})
    guess = read_network(network) if network else None
    found = noisyor.find_schedule(read_structure(structure), pairs=pairs, choice=choice.value)
    asked = found.sample_complexity(guess, epsilon=epsilon, delta=delta) if guess else None
    if output is not None:
        found.save(output)
    if as_json:
        show_json(_facts(found, asked))
    elif not quiet:
        show(*_story(found))
        if asked is not None:
            show(_theorem_2(asked))
        if output is not None:
            show(f"Written: {output}")


def _facts(found: "noisyor.Schedule", asked: "SampleComplexity | None") -> dict[str, Any]:
    facts: dict[str, Any] = {
        "diseases": found.structure.n_diseases,
        "symptoms": found.structure.n_symptoms,
        "edges": found.structure.n_edges,
        "complete": found.is_complete,
        "edges_per_round": found.edges_per_round,
        "pairs_per_round": found.pairs_per_round,
        "priors_learned": int((found.prior_depths >= 0).sum()),
        "plan": dict(zip(("symptoms", "pairs", "triplets"), found.plan().sizes[:3], strict=True)),
        "unlearned": [part._asdict() | {"edges": len(part.edges)} for part in found.unlearned()],
    }
    if asked is not None:
        facts["theorem_2"] = asdict(asked) | {"holds": asked.holds}
    return facts


def _story(found: "noisyor.Schedule") -> list[Any]:
    """Return the depth table, and what cannot be learned, in words."""
    n_edges, n_learned = found.structure.n_edges, int((found.depths >= 0).sum())
    sizes = found.plan().sizes
    story: list[Any] = [
        f"{found.structure.n_diseases:,} diseases, {found.structure.n_symptoms:,} symptoms, "
        f"{n_edges:,} edges.",
        _depth_table(found),
        f"It needs {sizes[0]:,} symptoms, {sizes[1]:,} pairs and {sizes[2]:,} triplets to be "
        "counted.",
    ]
    if found.is_complete:
        says = "Every prior and every failure can be learned: the network is identifiable from "
        return [*story, f"{says}third-order moments (Theorem 1)."]
    n_priors = int((found.prior_depths < 0).sum())
    n_failures, parts = n_edges - n_learned, found.unlearned()
    story.append(f"Cannot be learned this way: {n_failures:,} failures and {n_priors:,} priors.")
    for part in parts[:MOST_SHOWN]:
        story.append(f"- {len(part.edges):,} edges of {some_of(part.diseases)}. {part.reason}")
    if len(parts) > MOST_SHOWN:
        story.append(f"And {len(parts) - MOST_SHOWN} more parts; --json lists them all.")
    story.append("noisyor identify tells whether other ways remain (the clean-up of noisyor fit).")
    return story


def _depth_table(found: "noisyor.Schedule") -> Any:
    titles = "depth", "edges learned", "from triplets", "from pairs", "edges left"
    rows, left = [], found.structure.n_edges
    rounds = zip(found.edges_per_round, found.pairs_per_round, strict=True)
    for depth, (n, from_pairs) in enumerate(rounds):
        left -= n
        rows.append([f"{each:,}" for each in (depth, n, n - from_pairs, from_pairs, left)])
    return text_table(titles, rows)


def _theorem_2(asked: "SampleComplexity") -> str:
    bound = f"10^{asked.log10_largest_epsilon:.0f}"
    verdict = "holds" if asked.holds else "does not hold"
    return (
        f"\nTheorem 2, with the constants that the paper does not print set to 1:\n"
        f"  for errors below {asked.epsilon:g} with probability {1 - asked.delta:g} it asks for "
        f"10^{asked.log10_records:.0f} records.\n"
        f"  It speaks of errors below {bound} only, so for this one it {verdict}.\n"
        f"  depth {asked.depth}, at most {asked.max_parents} parents, smallest P(absent) "
        f"{asked.min_absent:.3g}, largest failure {asked.max_failure:.3g}, priors "
        f"{asked.min_prior:.3g} to {asked.max_prior:.3g}, {asked.n_parameters:,} parameters; "
        f"Definition 3's f is 10^{asked.log10_error_growth:.0f}.\n"
        "  It is a worst case and far from tight: real errors show in the standard errors of "
        "`noisyor fit`."
    )


# --- identify ---


def identify(
    structure: Annotated[
        str | None, typer.Argument(help="A structure or network: .json, .csv, .parquet, a folder.")
    ] = None,
    causes: Annotated[
        str,
        typer.Option(help="How diseases occur together: independent, joint or trait (one)."),
    ] = "independent",
    max_order: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=10,
            help="The highest order of moments to look at; by default 3, and with --causes joint "
            "one more than there are diseases.",
        ),
    ] = None,
    fixed: options.FixedTable = None,
    labelled: Annotated[
        str | None,
        typer.Option(help="Diseases that were seen in some records, separated by commas."),
    ] = None,
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

    Of a test, whatever the joint distribution of its skills is: noisyor identify needs.json
    --causes joint

    The paper's Table 1: noisyor identify --table 7 7
    """

    if (structure is None) == (table is None):
        raise ParameterError("give a structure, or --table N M for fully connected ones; not both.")
    if table is not None:
        if output is not None or fixed is not None or causes != "independent":
            raise ParameterError("--table takes neither --output nor --fixed nor --causes.")
        _show_table(*table, as_json)
        return
    check_files([output], inputs=[structure, fixed], tables=[output])
    graph = read_structure(str(structure))
    fixed_values = read_beliefs(fixed, graph)
    result = noisyor.check_identifiability(
        graph, causes=causes, max_order=max_order, fixed=fixed_values,
        labelled=options.listed(labelled) if labelled else (),
    )  # fmt: skip
    if output is not None:
        result.verdicts().save(output)
    if as_json:
        show_json(_verdict_facts(result))
    elif not quiet:
        _show_verdicts(result)


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


def _names(result: "Known", tradeoff: Any) -> list[str]:
    """Return the parameters of a set by their names."""
    structure = result.structure
    if hasattr(tradeoff, "names"):
        return list(tradeoff.names)
    return [
        *(f"prior of {quoted(structure.diseases[i])}" for i in tradeoff.priors),
        *(
            f"failure of {quoted(structure.diseases[i])} to {quoted(structure.symptoms[j])}"
            for i, j in structure.edges[tradeoff.failures]
        ),
        *(f"leak of {quoted(structure.symptoms[j])}" for j in tradeoff.leaks),
    ]


def _repairs(result: Any, tradeoff: Any) -> list[str]:
    """Return what would help, whichever kind of diseases it is."""
    return [str(repair) for repair in result.repairs(tradeoff)]


def _verdict_facts(result: "Known") -> dict[str, Any]:
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
                "repairs": _repairs(result, tradeoff),
            }
            for tradeoff in result.tradeoffs
        ],
    }


def _show_verdicts(result: "Known") -> None:
    verdicts = result.verdicts().select(["parameter", "verdict"]).to_pylist()
    counts = Counter((row["parameter"], row["verdict"]) for row in verdicts)
    known = [word for word in ("believed", "labelled") if any(word in each for each in counts)]
    titles = "parameter", "fixed", *known, "certified", "local", "not identifiable"
    kinds = list(dict.fromkeys(row["parameter"] for row in verdicts))
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
        show(
            f"{names} have the same symptoms: which of them is which, no record says; labels do "
            "(--labelled)."
        )
    for tradeoff in result.tradeoffs[:MOST_SHOWN]:
        names = some_of(_names(result, tradeoff), most=8)
        ways = "one way" if tradeoff.freedom == 1 else f"{tradeoff.freedom} ways"
        show(f"\nThese trade off against each other, in {ways}: {names}.")
        for repair in _repairs(result, tradeoff):
            show(f"  - {repair}.")
    more = len(result.tradeoffs) - MOST_SHOWN
    if more > 0:
        show(f"\nAnd {more} more sets: --json lists them all.")
