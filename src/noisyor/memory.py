"""What work will take in memory, said before it begins: the system would end it without a word."""

import os
from pathlib import Path

from noisyor.errors import ParameterError, give_notice

LARGE = 4e9
"""Bytes from which on people are told."""


def announce(n_bytes: float, what: str, remedy: str) -> None:
    """Tell where work takes much memory, and refuse it where the machine has less than that.

    >>> announce(1e6, "counting 10 pairs", "take fewer groups")
    """
    if n_bytes < LARGE:
        return
    most = machine_memory()
    if most is not None and n_bytes > most:
        raise ParameterError(
            f"{what} takes about {n_bytes / 1e9:,.1f} GB of memory, and this machine has "
            f"{most / 1e9:,.1f} GB: {remedy}."
        )
    give_notice(f"{what} takes about {n_bytes / 1e9:,.1f} GB of memory; to need less, {remedy}.")


def machine_memory() -> int | None:
    """Return the bytes that this machine, or the container we are in, has; None: not known."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return None
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return found
    return min(found, int(limit)) if limit.isdecimal() else found
