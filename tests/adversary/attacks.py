"""All attacks, in one table: each kind has targets, and of each target cases to try.

A case is a function that attacks once. It returns what came of it, in words (nothing where that was
no attack after all), and raises an error where a promise is broken. Tests call the same functions;
`scripts/attack.py` tries them all and counts.
"""

import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from numpy.random import Generator

from adversary import abuses, degenerate, faults, hostile_files, kills, mutations
from adversary.local_against_cluster import compare, tiny_parts

Case = Callable[[], list[str]]


class Kind(NamedTuple):
    """A kind of attack."""

    meaning: str
    """What is done, and what must come of it."""
    targets: tuple[str, ...]
    n_cases: int | None
    """Of all targets together; None: as many as there are."""
    cases: Callable[[str, Path, Generator, int], Iterator[Case]]
    """Gives the cases of a target, as many as are asked for."""


def damaged_files(name: str, folder: Path, rng: Generator, n: int) -> Iterator[Case]:
    """Give damaged files of a reader."""
    content = mutations.corpus(folder)[name]
    return itertools.repeat(functools.partial(mutations.damage, name, content, folder, rng), n)


def hostile(command: str, folder: Path, *_: object) -> Iterator[Case]:
    """Give calls of a command with each hostile file."""
    return hostile_files.cases(command, folder)


def abused(name: str, folder: Path, *_: object) -> Iterator[Case]:
    """Give abused calls of a command."""
    for call in abuses.abuses(name):
        yield functools.partial(abuses.abuse, call, folder / "files")


def abused_processes(name: str, folder: Path, rng: Generator, n: int) -> Iterator[Case]:
    """Give some of the abused calls of all commands, as processes of their own."""
    calls = [call for each in abuses.GOOD_CALLS for call in abuses.abuses(each)]
    possible = [call for call in calls if abuses.can_be_given(call)]
    for index in rng.choice(len(possible), n, replace=False).tolist():
        yield functools.partial(abuses.abuse_in_a_process, possible[index], folder / "files")


def killed(_: str, folder: Path, __: Generator, n: int) -> Iterator[Case]:
    """Give kills, and one count that comes to its end."""
    kills.write_records(folder)
    with kills.Server() as server:
        killing = kills.Killing(folder, server)
        while killing.n_killed < n:
            yield killing.kill
        yield killing.end


def failing_disks(name: str, folder: Path, *_: object) -> Iterator[Case]:
    """Give faults of a command that writes, over older files and without any."""
    for has_old in (True, False):
        home = folder / str(has_old)
        home.mkdir()
        yield from faults.faults_of(faults.Case(name, home, has_old=has_old))


def odd_files(_: str, folder: Path, rng: Generator, n: int) -> Iterator[Case]:
    """Give odd files, that are counted here and on a cluster."""
    with tiny_parts(rng):
        for number in range(n):
            yield functools.partial(compare, folder, rng, number)


def degenerate_networks(name: str, _: Path, rng: Generator, n: int) -> Iterator[Case]:
    """Give networks with parameters of 0, 1 and almost so."""
    return degenerate.cases(name, rng, n)


KINDS = {
    "mutations": Kind(
        "files damaged at random, read by all readers of their kind: a result or a refusal in a "
        "sentence, within 5 seconds",
        tuple(mutations.READERS), 200_000, damaged_files,
    ),
    "hostile-files": Kind(
        "files that are endless, huge, nested or forged, given to commands: they end well or in a "
        "sentence, within 8 seconds",
        tuple(hostile_files.COMMANDS), None, hostile,
    ),
    "options": Kind(
        "arguments and options with values that nobody should give: commands end well or in a "
        "sentence, within a minute",
        tuple(abuses.GOOD_CALLS), None, abused,
    ),
    "processes": Kind(
        "some of these, with the command as a process of its own",
        ("noisyor",), 100, abused_processes,
    ),
    "kills": Kind(
        "`kill -9` at any time of `noisyor count`, which then goes on: whenever a count ends, each "
        "record is counted once",
        ("count --resume",), 1000, killed,
    ),
    "disks": Kind(
        "an error of the operating system at each step of writing, and files that cannot grow: all "
        "is old, or all is new",
        tuple(faults.JOBS), None, failing_disks,
    ),
    "odd-files": Kind(
        "odd files, counted on one machine and in parts on a cluster: equal counts, or a refusal "
        "by both",
        ("count",), 2000, odd_files,
    ),
    "degenerate": Kind(
        "networks with parameters of 0, 1, 1e-300, 1e-8 and 1 - 1e-8: what is said of findings, "
        "against sums of exact fractions",
        degenerate.NAMES, 2000 * len(degenerate.NAMES), degenerate_networks,
    ),
}  # fmt: skip
