"""`noisyor schedule`: what of a structure can be learned, in which order, and what not."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import check_files, read_network, read_structure
from noisyor.cli.output import show, show_json, text_table
from noisyor.errors import some_of

if TYPE_CHECKING:
    from noisyor.schedule.complexity import SampleComplexity

MOST_PARTS = 10
"""Unlearned parts that are shown in full."""


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
    check_files([output], inputs=[structure, network])
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
        "plan": dict(zip(("symptoms", "pairs", "triplets"), found.plan().sizes, strict=True)),
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
    for part in parts[:MOST_PARTS]:
        story.append(f"- {len(part.edges):,} edges of {some_of(part.diseases)}. {part.reason}")
    if len(parts) > MOST_PARTS:
        story.append(f"And {len(parts) - MOST_PARTS} more parts; --json lists them all.")
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
