"""`noisyor plan-triplets`: which triplets to count, given the counts of the pairs."""

from pathlib import Path
from typing import Annotated

import typer

from noisyor.cli.options import AsJson, FixedTable, Pairs, Quiet


def plan_triplets(
    moments: Annotated[
        list[str], typer.Argument(help="Moments of all coupled pairs: what noisyor count writes.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the plan.")],
    pairs: Pairs = True,
    fixed: FixedTable = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Choose the triplets that tell most about the priors; count all records again with the plan.

    Example: noisyor plan-triplets all.moments -o triplets.plan
    """
    from noisyor.cli.info import facts_of_plan
    from noisyor.cli.inputs import expand_files
    from noisyor.cli.merge import merged_moments
    from noisyor.cli.output import tell
    from noisyor.errors import NoisyOrError, some_of
    from noisyor.io.paths import check_writable
    from noisyor.learning import plan_triplets as choose
    from noisyor.parameters import Fixed
    from noisyor.schedule import find_schedule

    files = expand_files(moments)
    check_writable([output], inputs=[*files, *filter(None, [fixed])])
    counted = merged_moments(files)
    try:
        structure = counted.plan.structure
        held = Fixed.load(fixed, structure) if fixed else None
        found = choose(counted, find_schedule(structure, pairs=pairs, fixed=held), fixed=held)
    except NoisyOrError as error:
        raise type(error)(f"{some_of(map(str, files))}: {error}") from None
    found.save(output)
    facts = {"output": str(output), **facts_of_plan(found)}
    tell(f"Planned into {output}: {found}", facts, quiet=quiet, as_json=as_json)
