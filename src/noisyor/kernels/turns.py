"""Processes that need the same kernel take turns: one compiles it, the others find it in the cache.

Workers of a cluster, or of pytest, begin at the same time and need the same. A process has one turn
at most, because numba compiles one function at a time; a file that is locked tells the others. The
lock goes when the process ends, however it does.
"""

import sys
import time
from pathlib import Path
from typing import IO

if sys.platform != "win32":  # there each process compiles for itself
    import fcntl

LONGEST_WAIT = 120.0
"""Seconds; then something is wrong with the other process, and this one compiles too."""
PAUSE = 0.02

_held: list[IO[bytes]] = []


def begin_turn(file: Path) -> None:
    """Wait until no other process has this turn, and take it; not where files have no locks."""
    end_turn()
    if sys.platform == "win32":
        return
    try:
        opened = file.open("ab")
    except OSError:
        return
    last = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < last:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PAUSE)
        except OSError:
            break
        else:
            _held.append(opened)
            return
    opened.close()


def end_turn() -> None:
    """Let the next process take its turn, if this one has any."""
    while _held:
        opened = _held.pop()
        Path(opened.name).unlink(missing_ok=True)  # those who wait have opened it already
        opened.close()
