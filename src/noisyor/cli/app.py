"""The `noisyor` command: its subcommands, and how errors end it.

Exit codes: 0 all went well; 2 something is wrong with the call, a file or its data, and a sentence
on standard error says what; 130 interrupted with Ctrl-C; 143 ended by a request (kill, a closed
terminal).
"""

import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from noisyor._version import __version__
from noisyor.cli.check import check
from noisyor.cli.compare import compare
from noisyor.cli.convert import convert
from noisyor.cli.count import count, merge
from noisyor.cli.demo import demo
from noisyor.cli.diagnose import diagnose
from noisyor.cli.discover import discover
from noisyor.cli.evaluate import evaluate
from noisyor.cli.fit import fit
from noisyor.cli.info import info
from noisyor.cli.interrupts import INTERRUPTED, end_at_once, interruptible, was_interrupted
from noisyor.cli.output import escape_what_an_encoding_lacks, note, silence_output
from noisyor.cli.plan import plan, plan_triplets
from noisyor.cli.report import report
from noisyor.cli.reproduce import reproduce
from noisyor.cli.sample import sample
from noisyor.cli.schedule import identify, schedule
from noisyor.cli.serve import app as serve
from noisyor.cli.skills import skills
from noisyor.cli.suggest import repair, suggest
from noisyor.cli.warm_up import warm_up
from noisyor.errors import (
    NoisyOrError,
    NoisyOrWarning,
    ParameterError,
    printable,
    quoted,
    some_of,
)

Command = Callable[..., None]


def ending_kindly(command: Command) -> Command:
    """Let a command end in a sentence, not in a traceback, whatever a user can do or repair."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        with interruptible(), warnings.catch_warnings():
            warnings.simplefilter("always", NoisyOrWarning)
            warnings.showwarning = _notices_shown_once()
            escape_what_an_encoding_lacks()
            try:
                _check_texts(options)
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
            except Exception as error:
                if not _is_of_a_file(error) or os.environ.get("NOISYOR_TRACEBACK"):
                    raise
                _stop(f"error: {_in_a_sentence(error, options)}", 2)

    return run


LONGEST_MESSAGE = 2000
"""Characters of an error that are shown: names of files and what libraries say have no bound."""


def _stop(message: str, code: int) -> NoReturn:
    typer.echo(f"noisyor: {_cut(message)}", err=True)
    sys.exit(code)


def _cut(message: str) -> str:
    """Return a message as it can be shown."""
    more = "..." if len(message) > LONGEST_MESSAGE else ""
    return f"{printable(message[:LONGEST_MESSAGE])}{more}"


def _check_texts(options: Mapping[str, Any]) -> None:
    """Refuse options whose bytes are not UTF-8 or null: nothing that they name could be written."""
    for name, text in _texts_of(options):
        if "\0" in text:
            raise ParameterError(f"{name}: {quoted(text)} has a null character in it.")
        if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise ParameterError(f"{name}: {quoted(text)} is not UTF-8 text.")


def _texts_of(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str | Path):
                yield name, str(each)


def _is_of_a_file(error: Exception) -> bool:
    """Return True for what files and options bring about; other errors are defects of ours."""
    kinds = MemoryError, ValueError, ArithmeticError, RecursionError
    is_of_arrow = any(each.__module__.startswith("pyarrow") for each in type(error).__mro__)
    return isinstance(error, kinds) or is_of_arrow


def _in_a_sentence(error: Exception, options: Mapping[str, Any]) -> str:
    """Say what no check foresaw; the files that were given are the likeliest to have caused it."""
    files = [text for _, text in _texts_of(options) if Path(text).exists()]
    where = f", with {some_of(files)}" if files else ""
    if isinstance(error, MemoryError):
        return (
            f"there is not enough memory for this{where}. Fewer symptoms, records at a time, "
            "--groups or --jobs need less."
        )
    reason = quoted(" ".join(str(error).split()), most=300)
    return (
        f"this could not be done{where}: {type(error).__name__} {reason}. It may be a defect of "
        "noisyor; NOISYOR_TRACEBACK=1 before the command shows where it happened."
    )


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
    suggest, repair, discover, diagnose, serve, compare, skills, evaluate, report, reproduce, demo,
    warm_up,
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


UsageError: Any = typer.BadParameter.__base__
"""What a call is refused with before a command sees it; typer does not show it by its name."""


@functools.cache
def all_commands() -> Any:
    """Return what reads arguments; typer itself would make it anew for each call, in 10 ms."""
    return typer.main.get_command(app)


def run(arguments: list[str] | None = None) -> None:
    """Run the command that the arguments name."""
    try:
        code = all_commands()(args=arguments, prog_name="noisyor", standalone_mode=False)
    except UsageError as error:
        error.message = _cut(error.message)
        error.show()
        sys.exit(error.exit_code)
    sys.exit(code or 0)
