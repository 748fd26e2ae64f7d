"""`noisyor merge`: the counts of several sites as one."""

from pathlib import Path
from typing import Annotated

import typer


def merge(
    moments: Annotated[
        list[str], typer.Argument(help="Files of moments, or patterns such as 'sites/*.moments'.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the sum.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Merge counts of the same structure and plan: exact, in any order.

    Example: noisyor merge north.moments south.moments -o all.moments
    """
    from noisyor.cli.inputs import expand_files
    from noisyor.cli.output import note
    from noisyor.errors import NoisyOrError
    from noisyor.io.paths import check_writable
    from noisyor.moments import Moments

    check_writable([output])
    first, *others = expand_files(moments)
    total = Moments.load(first)
    for path in others:
        more = Moments.load(path)
        if more == total:
            note(f"{path} holds the same counts as what came before: were records counted twice?")
        try:
            total += more
        except NoisyOrError as error:
            raise type(error)(f"{path} cannot be merged with {first}: {error}") from None
    total.save(output)
    if not quiet:
        typer.echo(f"Merged {len(others) + 1} files into {output}: {total}")
