"""The command line: one file per command; heavy imports happen inside the commands."""

import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    try:
        from noisyor.cli.app import run
    except KeyboardInterrupt:  # while Python reads its files there is nothing to clean up
        sys.stderr.write("noisyor: interrupted\n")
        sys.exit(130)
    run(arguments)
