"""Seconds and peak memory of a piece of work, and tables of them."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """Return the best time of some runs: noise of a shared machine only ever adds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def command_seconds(arguments: Sequence[str], repeats: int = 5) -> float:
    """Return the best time of a command, from start to end, in a process of its own."""
    return seconds(lambda: subprocess.run(arguments, check=True, capture_output=True), repeats)


def in_new_process(code: str) -> tuple[float, float]:
    """Run code that defines `work()`; return its seconds and the process's peak memory in GB."""
    script = (
        f"{code}\nimport time\nstart = time.perf_counter()\nwork()\n"
        "elapsed = time.perf_counter() - start\n"
        # Not getrusage: that begins with what the parent held when it forked.
        "status = open('/proc/self/status').read()\n"
        "print(elapsed, status.split('VmHWM:')[1].split()[0])"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    elapsed, peak = done.stdout.split()[-2:]
    return float(elapsed), int(peak) / 1e6


def print_table(title: str, rows: Sequence[Sequence[str]]) -> None:
    """Print rows, the first of them the header, as a Markdown table."""
    print(f"\n## {title}\n")
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |")
        if number == 0:
            print("|" + "---|" * len(row))
