"""Command lines, run in this process: they must end soon, well or in a sentence."""

import contextlib
import io
import time
from typing import NamedTuple

from noisyor.cli import main

SECONDS = 8.0
"""Within which an attack must be refused on a machine that does other things, too; what is mended
took from ten seconds to half an hour."""
LONGEST_MESSAGE, LONGEST_OUTPUT = 3000, 30_000
DANGEROUS = "\x1b\u202e\x07"
"""Characters that would do something to a terminal."""


class Ended(NamedTuple):
    """How a command ended, and what it has written."""

    code: int
    out: str
    err: str


def run(*arguments):
    """Run a command line; what is no `SystemExit` leaves it as it was raised."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    code = None
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code or 0
    for stream in streams:
        stream.flush()
    return Ended(code, *(stream.buffer.getvalue().decode() for stream in streams))


def tried(*arguments, seconds=SECONDS):
    """Run a command line that is an attack, and check how it ends."""
    start = time.monotonic()
    ended = run(*arguments)
    assert time.monotonic() - start < seconds, "too slow"
    check_end(ended)
    return ended


def check_end(ended):
    """Raise an error unless a command ended well, or in a sentence."""
    assert ended.code in (0, 2), ended.code
    assert len(ended.err) < LONGEST_MESSAGE, ended.err[:500]
    assert len(ended.out) < LONGEST_OUTPUT, ended.out[:500]
    assert not set(DANGEROUS) & set(ended.out + ended.err), ended.err
    assert "Traceback" not in ended.err, ended.err
    if ended.code == 2:
        assert ended.err.startswith(("noisyor: ", "Usage: ", "Error: ")), ended.err
        assert "defect" not in ended.err, ended.err


def outcome_of(ended):
    """Say in a word how a command ended."""
    return "refused" if ended.code else "done"
