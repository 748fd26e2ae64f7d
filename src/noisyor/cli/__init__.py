"""The command line: one file per command; heavy imports happen inside the commands."""

from noisyor.cli.app import main

__all__ = ["main"]
