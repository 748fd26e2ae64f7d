"""The `noisyor` command: its subcommands, and how errors end it.

Exit codes: 0 all went well; 2 something is wrong with the call, a file or its data, and a sentence
on standard error says what; 130 interrupted with Ctrl-C.
"""

import sys
import warnings
from typing import Annotated, Any

import typer

from noisyor._version import __version__
from noisyor.cli.demo import demo
from noisyor.cli.info import info
from noisyor.cli.sample import sample
from noisyor.errors import NoisyOrError, NoisyOrWarning

app = typer.Typer(
    name="noisyor",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(info)
app.command()(sample)
app.command()(demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"noisyor {__version__}")
        raise typer.Exit


@app.callback()
def noisyor(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Learn noisy-or networks (hidden diseases, observed symptoms) and diagnose with them."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; whatever a user can repair ends in a sentence, not in a traceback."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", NoisyOrWarning)
        warnings.showwarning = _show_notice
        try:
            app(args=arguments)
        except NoisyOrError as error:
            _stop(f"error: {error}", 2)
        except KeyboardInterrupt:
            _stop("interrupted", 130)
        except BrokenPipeError:
            # The reader of our output (head, less) has had enough: that is no error of ours.
            sys.stderr.close()
            sys.exit(0)
        except OSError as error:
            _stop(f"error: {error.filename or 'input/output'}: {error.strerror or error}", 2)


def _stop(message: str, code: int) -> None:
    typer.echo(f"noisyor: {message}", err=True)
    sys.exit(code)


def _show_notice(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"noisyor: note: {message}", err=True)
