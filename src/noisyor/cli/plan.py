"""`noisyor plan`: what to count so that a structure can be learned."""

from pathlib import Path
from typing import Annotated

import typer

from noisyor.cli.options import Choice, Pairs, Quiet, StructureFile, TripletChoice


def plan(
    structure: StructureFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the plan.")],
    pairs: Pairs = True,
    choice: Choice = TripletChoice.first,
    quiet: Quiet = False,
) -> None:
    """Write down which symptoms, pairs and triplets the schedule of a structure needs.

    Example: noisyor plan clinic.json -o clinic.plan
    """
    from noisyor.cli.inputs import read_structure
    from noisyor.io.paths import check_writable
    from noisyor.schedule import find_schedule

    check_writable([output], inputs=[structure])
    found = find_schedule(read_structure(structure), pairs=pairs, choice=choice.value).plan()
    found.save(output)
    if not quiet:
        typer.echo(f"Planned into {output}: {found}")
