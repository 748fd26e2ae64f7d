"""`noisyor merge`: the counts of several sites as one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisyor.cli.options import AsJson, Quiet

if TYPE_CHECKING:
    from noisyor.moments import Moments


def merge(
    moments: Annotated[
        list[str], typer.Argument(help="Files of moments, or patterns such as 'sites/*.moments'.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the sum.")],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Merge counts of the same structure and plan: exact, in any order.

    Example: noisyor merge north.moments south.moments -o all.moments
    """
    from noisyor.cli.info import facts_of_moments
    from noisyor.cli.inputs import expand_files
    from noisyor.cli.output import tell
    from noisyor.io.paths import check_writable

    files = expand_files(moments)
    check_writable([output], inputs=files)
    total = merged_moments(files)
    total.save(output)
    facts = {"files": len(files), "output": str(output), **facts_of_moments(total)}
    sentence = f"Merged {len(files)} files into {output}: {total}"
    tell(sentence, facts, quiet=quiet, as_json=as_json)


def merged_moments(files: list[Path]) -> "Moments":
    """Return the sum of the counts in some files."""
    from noisyor.cli.output import note
    from noisyor.errors import NoisyOrError
    from noisyor.moments import Moments

    first, *others = files
    total = Moments.load(first)
    seen = {_content(total): first}
    for path in others:
        more = Moments.load(path)
        before = seen.setdefault(_content(more), path)
        if before != path:
            note(f"{path} holds the same counts as {before}: were records counted twice?")
        try:
            total += more
        except NoisyOrError as error:
            raise type(error)(f"{path} cannot be merged with {first}: {error}") from None
    return total


def _content(moments: "Moments") -> str:
    return str(moments.to_columns()["digest"][0])
