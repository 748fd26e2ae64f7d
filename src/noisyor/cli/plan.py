"""`noisyor plan`: what to count so that a structure can be learned."""

from pathlib import Path
from typing import Annotated

import typer

from noisyor.cli.options import Choice, Pairs, Quiet, StructureFile, TripletChoice


def plan(
    structure: StructureFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the plan.")],
    method: Annotated[
        str, typer.Option(help="For which method: pooled (and refined), or sequential.")
    ] = "pooled",
    pairs: Pairs = True,
    choice: Choice = TripletChoice.first,
    quiet: Quiet = False,
) -> None:
    """Write down which symptoms, pairs and triplets have to be counted to learn a structure.

    Example: noisyor plan clinic.json -o clinic.plan
    """
    from noisyor.cli.inputs import read_structure
    from noisyor.io.paths import check_writable
    from noisyor.learner import NoisyOrLearner

    check_writable([output], inputs=[structure])
    learner = NoisyOrLearner(
        read_structure(structure), method=method, pairs=pairs, choice=choice.value
    )
    found = learner.find_plan()
    found.save(output)
    if not quiet:
        typer.echo(f"Planned into {output}: {found}")
