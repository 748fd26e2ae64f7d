"""Try all attacks of tests/adversary, count what came of them, and write docs/results/attacks.md.

`make attacks` takes about an hour; `PYTHONPATH=tests python scripts/attack.py --help` shows how to
try less. Every target of every kind is attacked in a process of its own, which is ended when it
hangs. What is finished is kept in a CSV file beside the page: an interrupted run goes on where it
stopped; to attack a target anew, delete its row.
"""

import argparse
import csv
import datetime
import faulthandler
import functools
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adversary.attacks import KINDS, Case
from noisyor.experiments.experiment import IN_SHORT, made_index
from noisyor.experiments.provenance import write_text
from noisyor.experiments.tables import markdown_table

ROOT = Path(__file__).parents[1]
HANGS = 120.0
"""Seconds after which a case that has not ended is taken for one that never will."""
MOST_SHOWN = 300


class Tally(NamedTuple):
    """What came of the attacks on one target: a row of the CSV file."""

    kind: str
    target: str
    n_cases: int
    n_failures: int
    slowest: float
    """Seconds."""
    memory: float
    """The most that the process has had, in megabytes: Python, NumPy and Numba take 200 of it."""
    seconds: float
    """That all took."""
    outcomes: str
    failure: str
    """The first."""
    date: str


def main() -> None:
    """Attack what has not been attacked yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results", help="A folder.")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--budget", type=float, help="Seconds for all of it; fewer cases fit.")
    parser.add_argument("--jobs", type=int, default=1, help="Processes at a time.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", nargs=2, metavar=("KIND", "TARGET"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(attacked(*options.one, options.seed, options.budget)))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    table = options.out / "attacks.csv"
    done = {(tally.kind, tally.target) for tally in read_tallies(table)}
    missing = [
        (kind, target)
        for kind in options.kinds
        for target in KINDS[kind].targets
        if (kind, target) not in done
    ]
    budget = options.budget and options.budget * options.jobs / max(len(missing), 1)
    with ThreadPoolExecutor(options.jobs) as pool:
        for tally in pool.map(lambda each: in_a_process(*each, options.seed, budget), missing):
            add_tally(table, tally)
            print(f"{tally.kind}, {tally.target}: {tally.n_cases} cases, "
                  f"{tally.n_failures} failures {tally.failure}", flush=True)  # fmt: skip
    write_text(options.out / "attacks.md", page(read_tallies(table)))
    write_text(options.out / "index.md", made_index(options.out))


# --- attacking ---


def in_a_process(kind: str, target: str, seed: int, budget: float | None) -> Tally:
    """Attack a target in a process of its own, whose memory is its own and which may hang."""
    command = [sys.executable, __file__, "--one", kind, target, "--seed", str(seed)]
    command += ["--budget", str(budget)] if budget else []
    start = time.monotonic()
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode == 0:
        return Tally(*json.loads(ended.stdout.splitlines()[-1]))
    seconds = time.monotonic() - start
    return Tally(kind, target, 1, 1, seconds, 0.0, seconds, "", shortened(ended.stderr), today())


def attacked(kind: str, target: str, seed: int, budget: float | None) -> Tally:
    """Try the cases of a target, as many as there are or as can be tried in so many seconds."""
    attack = KINDS[kind]
    n = (attack.n_cases or 0) // len(attack.targets) + 1
    outcomes: Counter[str] = Counter()
    n_cases = n_failures = 0
    slowest, failure, begin = 0.0, "", time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for case in attack.cases(target, Path(folder), np.random.default_rng(seed), n):
            faulthandler.dump_traceback_later(HANGS, exit=True)
            start = time.monotonic()
            try:
                found = case()
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # whatever it is: a promise is broken
                n_failures += 1
                failure = failure or shortened(f"{worded(case)}: {error!r}")
                found = ["failed"]
            slowest = max(slowest, time.monotonic() - start)
            outcomes.update(found)
            n_cases += bool(found)
            if budget and time.monotonic() - begin > budget:
                break
        faulthandler.cancel_dump_traceback_later()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    said = "; ".join(f"{count:,} {word}" for word, count in outcomes.most_common())
    seconds = time.monotonic() - begin
    return Tally(
        kind, target, n_cases, n_failures, slowest, memory, seconds, said, failure, today()
    )


def worded(case: Case) -> str:
    """Say which case it is: the command line, where that is what it is given."""
    call = case.args[0] if isinstance(case, functools.partial) and case.args else ""
    return " ".join(map(str, call)) if isinstance(call, list) else str(call)


def shortened(text: str) -> str:
    """Return the beginning of a text, in one line."""
    return " ".join(text.split())[:MOST_SHOWN]


def today() -> str:
    """Return the day."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


# --- what was found ---


def read_tallies(path: Path) -> list[Tally]:
    """Read what earlier runs have found."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    kinds = Tally.__annotations__.values()
    return [Tally(*(kind(cell) for kind, cell in zip(kinds, row, strict=True))) for row in rows]


def add_tally(path: Path, tally: Tally) -> None:
    """Add a row to the file."""
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(Tally._fields)
        writer.writerow([f"{each:.3g}" if isinstance(each, float) else each for each in tally])


def page(tallies: list[Tally]) -> str:
    """Return the page: a row for each kind, then one for each target."""
    kinds = [kind for kind in KINDS if any(tally.kind == kind for tally in tallies)]
    by_kind = {kind: [tally for tally in tallies if tally.kind == kind] for kind in kinds}
    parts = [
        "# Attacks",
        f"{IN_SHORT} {sum(tally.n_cases for tally in tallies):,} attacks, "
        f"{sum(tally.n_failures for tally in tallies):,} failures.",
        "Files damaged at random or made to break readers, options that nobody should give, kills, "
        "failing disks, parameters of 0 and 1: what was tried, and how often a promise of "
        "[reliability](../reliability.md) was broken. *Slowest*: seconds of the slowest case; "
        "*memory*: the most that a process has had, of which Python, NumPy and Numba take some "
        "200 MB.",
        markdown_table([["kind", *TITLES], *([kind, *total(by_kind[kind])] for kind in kinds)]),
    ]
    for kind in kinds:
        rows = [[f"`{each.target}`", *total([each]), each.outcomes] for each in by_kind[kind]]
        failures = [f"- {each.target}: {each.failure}" for each in by_kind[kind] if each.failure]
        parts += [f"## {kind}", f"{KINDS[kind].meaning[0].upper()}{KINDS[kind].meaning[1:]}."]
        parts += [markdown_table([["target", *TITLES, "outcomes"], *rows]), "\n".join(failures)]
    return "\n\n".join(filter(None, [*parts, sentence(tallies)])) + "\n"


TITLES = ("cases", "failures", "slowest", "memory")


def total(tallies: Iterable[Tally]) -> list[str]:
    """Return the cells of a row about some targets."""
    found = list(tallies)
    return [
        f"{sum(each.n_cases for each in found):,}",
        f"{sum(each.n_failures for each in found):,}",
        f"{max(each.slowest for each in found):.2f} s",
        f"{max(each.memory for each in found):.0f} MB",
    ]


def sentence(tallies: list[Tally]) -> str:
    """Say how, with what and when the page was made."""
    versions = [f"{name} {metadata.version(name)}" for name in ("noisyor", "numpy", "numba")]
    minutes = sum(each.seconds for each in tallies) / 60.0
    return (
        f"Made by `make attacks` in {minutes:.0f} min with {', '.join(versions)} and Python "
        f"{platform.python_version()} on {os.cpu_count()} cores ({platform.machine()}), begun on "
        f"{min(each.date for each in tallies)}. All numbers stand in [attacks.csv](attacks.csv)."
    )


if __name__ == "__main__":
    main()
