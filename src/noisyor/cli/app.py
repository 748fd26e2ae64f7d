"""The `noisyor` command: its subcommands, and how errors end it.

Exit codes: 0 all went well; 2 something is wrong with the call, a file or its data, and a sentence
on standard error says what; 130 interrupted with Ctrl-C; 143 ended by a request (kill, a closed
terminal).
"""

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from noisyor._version import __version__
from noisyor.cli.check import check
from noisyor.cli.convert import convert
from noisyor.cli.count import count, merge
from noisyor.cli.demo import demo
from noisyor.cli.diagnose import diagnose
from noisyor.cli.evaluate import evaluate
from noisyor.cli.fit import fit
from noisyor.cli.info import info
from noisyor.cli.interrupts import INTERRUPTED, end_at_once, interruptible, was_interrupted
from noisyor.cli.output import note, silence_output
from noisyor.cli.plan import plan, plan_triplets
from noisyor.cli.report import report
from noisyor.cli.reproduce import reproduce
from noisyor.cli.sample import sample
from noisyor.cli.schedule import identify, schedule
from noisyor.errors import NoisyOrError, NoisyOrWarning

Command = Callable[..., None]


def ending_kindly(command: Command) -> Command:
    """Let a command end in a sentence, not in a traceback, whatever a user can do or repair."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        with interruptible(), warnings.catch_warnings():
            warnings.simplefilter("always", NoisyOrWarning)
            warnings.showwarning = _notices_shown_once()
            try:
                command(*arguments, **options)
            except NoisyOrError as error:
                _stop(f"error: {error}", 2)
            except KeyboardInterrupt:
                if was_interrupted():
                    end_at_once()
                _stop("interrupted", INTERRUPTED)
            except BrokenPipeError:
                # The reader of our output (head, less) has had enough: that is not an error.
                silence_output()
                sys.exit(0)
            except OSError as error:
                _stop(f"error: {error.filename or 'input/output'}: {error.strerror or error}", 2)

    return run


def _stop(message: str, code: int) -> None:
    typer.echo(f"noisyor: {message}", err=True)
    sys.exit(code)


def _notices_shown_once() -> Callable[..., None]:
    """Return what shows warnings; a notice of one pass over the records is not that of the next."""
    shown: set[str] = set()

    def show_notice(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            note(str(message))

    return show_notice


app = typer.Typer(
    name="noisyor",
    no_args_is_help=True,
    rich_markup_mode=None,  # tables would cut long words, which users want to copy
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    info, sample, convert, check, schedule, identify, plan, count, plan_triplets, merge, fit,
    diagnose, evaluate, report, reproduce, demo,
)  # fmt: skip
for command in COMMANDS:
    app.command()(ending_kindly(command))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"noisyor {__version__}")
        raise typer.Exit


@app.callback()
def main_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Learn noisy-or networks (hidden diseases, observed symptoms) and diagnose with them."""


def run(arguments: list[str] | None = None) -> None:
    """Run the command that the arguments name."""
    app(args=arguments, prog_name="noisyor")
