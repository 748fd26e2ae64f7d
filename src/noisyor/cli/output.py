"""What commands print: tables on standard output, notes on standard error."""

import os
import sys
from collections.abc import Mapping
from typing import Any

import typer

Facts = dict[str, str | int | float]


def show(*renderables: Any) -> None:
    """Print texts and tables."""
    from rich.console import Console

    class PipedConsole(Console):
        """A console that tells when the reader of its output (head, less) has had enough."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    # Names are names: brackets in them are no markup, colons no emoji.
    console = PipedConsole(markup=False, emoji=False, highlight=False)
    for renderable in renderables:
        console.print(renderable)


def show_facts(facts: Mapping[str, str | int | float], as_json: bool = False) -> None:
    """Print facts as two columns, or as JSON for machines."""
    if as_json:
        _echo_json(facts)
        return
    from rich.table import Table

    table = Table(show_header=False, box=None)
    table.add_column()
    table.add_column(overflow="fold")  # a long path goes on in the next line, all of it
    for name, value in facts.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int | float) else value)
    show(table)


def tell(sentence: str, facts: Mapping[str, Any], *, quiet: bool, as_json: bool) -> None:
    """Say at the end of a command what was done: in a sentence, as JSON, or not at all."""
    if as_json:
        _echo_json(facts)
    elif not quiet:
        typer.echo(sentence)


def _echo_json(facts: Mapping[str, Any]) -> None:
    """Print facts with keys that are easy to type: spaces become underscores."""
    import json

    typer.echo(json.dumps({name.replace(" ", "_"): value for name, value in facts.items()}))


def note(message: str) -> None:
    """Tell something on standard error that is no error."""
    typer.echo(f"noisyor: note: {message}", err=True)


def silence_output() -> None:
    """Let nothing more be written to a pipe that nobody reads."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
