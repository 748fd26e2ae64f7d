"""Progress on standard error, so that standard output stays clean for pipes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from noisyor.cli.interrupts import check_interrupted


class Advance(Protocol):
    """Tells how many more records are done."""

    def __call__(self, amount: int) -> None:
        """Move the bar on."""
        ...


@contextmanager
def progress_bar(
    title: str, total: int | None, quiet: bool = False, *, unit: str = "records"
) -> Iterator[Advance]:
    """Show a bar with rate and remaining time on a terminal; nothing where there is none."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            speed = f"{task.speed:,.0f}/s" if task.speed and task.speed >= 1.0 else ""
            return Text(f"{task.completed:,.0f} {unit} {speed}")

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), Rate(), TimeRemainingColumn())
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

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(title):
        yield
