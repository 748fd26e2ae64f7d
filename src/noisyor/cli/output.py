"""What commands print: tables on standard output, notes and progress on standard error."""

import io
import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import typer

from noisyor.cli.interrupts import check_interrupted
from noisyor.errors import printable
from noisyor.io.json_text import json_text
from noisyor.kernels import IS_COMPILING

if TYPE_CHECKING:
    from noisyor.structure import Structure

Facts = Mapping[str, Any]
Advance = Callable[[int], None]
"""Moves a bar on, by how many more records are done."""


_translate: ContextVar[Callable[[str], str]] = ContextVar("translate", default=str)
"""Puts the reader's words in place of ours in what `show` prints."""


@contextmanager
def in_words_of(structure: "Structure") -> Iterator[None]:
    """Print in the words of a structure's readers, such as faults and alarms; names stay.

    What programs read (--json, files) keeps our words.
    """
    names = [*structure.diseases, *structure.symptoms]
    token = _translate.set(structure.vocabulary.translator(names))
    try:
        yield
    finally:
        _translate.reset(token)


def show(*renderables: Any) -> None:
    """Print texts and tables."""
    from rich.console import Console

    class PipedConsole(Console):
        """A console that tells when the reader of its output (head, less) has had enough."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    # Names are names: brackets in them are not markup, colons not emoji.
    console = PipedConsole(markup=False, emoji=False, highlight=False)
    for renderable in renderables:
        is_text = isinstance(renderable, str)
        console.print(printable(_translate.get()(renderable)) if is_text else renderable)


def text_table(
    titles: Iterable[str],
    rows: Iterable[Iterable[str]],
    *,
    left: Container[str] = (),
    title: str | None = None,
    has_lines: bool = True,
) -> Any:
    """Return a table of texts; its columns are right-aligned, but for those in `left`."""
    from rich import box
    from rich.table import Table

    lines = box.HEAVY_HEAD if has_lines else None
    say = _translate.get()
    table = Table(title=title and printable(say(title)), title_justify="left", box=lines)
    for each in titles:
        table.add_column(printable(say(each)), justify="left" if each in left else "right")
    for row in rows:
        table.add_row(*map(_in_a_cell, row))
    return table


def _in_a_cell(text: str) -> str:
    """Return a text that stays within the cell of a table."""
    return printable(_translate.get()(text)).replace("\n", "\\n").replace("\t", "\\t")


def show_facts(facts: Facts, as_json: bool = False) -> None:
    """Print facts as two columns, or as JSON for machines."""
    from rich.table import Table

    if as_json:
        show_json(facts)
        return
    table = Table(show_header=False, box=None)
    table.add_column()
    table.add_column(overflow="fold")  # a long path goes on in the next line, all of it
    for name, value in facts.items():
        table.add_row(_in_a_cell(name), _shown(value))
    show(table)


def _shown(value: Any) -> str:
    """Return the value of a fact for people."""
    if isinstance(value, Mapping):
        return ", ".join(f"{n:,} {key}" for key, n in value.items()) or "none"
    return f"{value:,}" if isinstance(value, int | float) else _in_a_cell(value)


def tell(sentence: str, facts: Facts, *, quiet: bool, as_json: bool) -> None:
    """Say at the end of a command what was done: in a sentence, as JSON, or not at all."""
    if as_json:
        show_json(facts)
    elif not quiet:
        say(sentence)


def say(sentence: str) -> None:
    """Print a sentence as it is, without breaking its lines."""
    typer.echo(printable(sentence))


def show_json(facts: Facts | list[Any]) -> None:
    """Print facts for machines, with keys that are easy to type: spaces become underscores."""
    if isinstance(facts, Mapping):
        facts = {name.replace(" ", "_"): value for name, value in facts.items()}
    typer.echo(json_text(facts))


def note(message: str) -> None:
    """Tell something on standard error that is not an error."""
    typer.echo(f"noisyor: note: {printable(message)}", err=True)


def escape_what_an_encoding_lacks() -> None:
    """Let letters that a terminal or pipe cannot take be shown escaped, not end the command."""
    for stream in sys.stdout, sys.stderr:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def silence_output() -> None:
    """Let nothing more be written to a pipe that nobody reads."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# --- progress ---


@contextmanager
def progress_bar(
    title: str, total: int | None, quiet: bool = False, *, unit: str = "records"
) -> Iterator[Advance]:
    """Show a bar with rate and remaining time on a terminal; nothing where there is none."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TimeRemainingColumn
    from rich.text import Text

    class Description(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(titled(task.description))

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            speed = f"{task.speed:,.0f}/s" if task.speed and task.speed >= 1.0 else ""
            return Text(f"{task.completed:,.0f} {unit} {speed}")

    console = Console(stderr=True)
    columns = (Description(), BarColumn(), Rate(), TimeRemainingColumn())
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, disable=hidden, transient=True) as bar:
        task = bar.add_task(title, total=total)

        def advance(amount: int) -> None:
            check_interrupted()
            bar.advance(task, amount)

        yield advance


@contextmanager
def working(title: str, quiet: bool = False) -> Iterator[None]:
    """Show on a terminal that something is being done whose length is not known."""
    from rich.console import Console
    from rich.text import Text

    class Status:
        def __rich__(self) -> Text:
            return Text(titled(title))

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(Status()):
        yield


def titled(title: str) -> str:
    """Return the title of some work, with the reason why the first time takes longer.

    >>> titled("learning")
    'learning'
    """
    if not IS_COMPILING.is_set():
        return title
    return f"{title} (compiling, only the first time: up to half a minute)"
