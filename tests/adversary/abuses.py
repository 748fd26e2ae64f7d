"""Every command with every argument and option abused: values that nobody should give.

Values are wrong in kind (`nan` for a whole number), beyond all bounds, empty, no text, or name
files of the wrong kind, files that are none, and files without an end.
"""

import contextlib
import functools
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa

from adversary.commands import Ended, check_end, outcome_of, tried
from adversary.hostile_files import zipped
from noisyor import MomentPlan, count_moments, datasets, find_schedule, write_model
from noisyor.cli.app import all_commands
from noisyor.io.tables import write_table

HUGE = 10**30
MOST_SECONDS = 60.0
"""Some values are good ones, and mean work; what takes longer hangs."""
WHOLE_NUMBERS = (HUGE, -HUGE, 2**63, "-1", "0", "nan", "1e3", "", " ", "0x10", "½", "9" * 5000)
NUMBERS = ("nan", "inf", "-inf", "-1", "0", "1e999", "1e-320", "", "x", "9" * 5000)
TEXTS = ("", " ", "-", "x" * 100_000, "\x1b[2J", "\udcff", "a\0b", "\u202e", "=1+1", "a=b,c", "[")
FILES = (
    "missing.csv", "missing.json", "folder", "folder.csv", "pipe.csv", "pipe.json", "zero.csv",
    "zero.json", "loop.csv", "\udcff.csv", "x" * 300 + ".csv", "empty.csv", "empty.json",
    "picture.csv", "picture.json", "picture.parquet", "zip.xlsx", "text.txt", "clinic.json",
    "structure.json", "schedule.json", "r.csv", "r.parquet", "a.plan", "a.moments", "small.bif",
    "missing/x.csv", "r.csv/x.csv", "/dev/full", "/proc/self/mem", "~", "*.csv",
    "nowhere://x/y.csv", "file:///dev/zero",
)  # fmt: skip
"""What can be given for a file: of the wrong kind, none at all, or without an end."""

GOOD_CALLS = {
    "info": ["clinic.json"],
    "sample": ["clinic.json", "-n", "20", "-o", "out.csv"],
    "convert": ["clinic.json", "out.xdsl"],
    "check": ["clinic.json", "r.csv"],
    "schedule": ["clinic.json"],
    "identify": ["clinic.json"],
    "plan": ["clinic.json", "-o", "out.plan"],
    "count": ["clinic.json", "r.csv", "-o", "out.moments"],
    "plan-triplets": ["a.moments", "-o", "out.plan"],
    "merge": ["a.moments", "b.moments", "-o", "out.moments"],
    "fit": ["clinic.json", "r.csv", "-o", "out.json", "--method", "pooled"],
    "diagnose": ["clinic.json", "-p", "fever"],
    "diagnose records": ["clinic.json", "r.csv", "-o", "out.csv"],
    "evaluate": ["clinic.json", "clinic.json", "-n", "20"],
    "evaluate labels": ["clinic.json", "r.csv", "--labels", "d.csv"],
    "report": ["clinic.json", "-o", "out.html"],
    "reproduce": ["table1", "--quick", "-o", "out"],
    "demo": ["-n", "50", "--network", "clinic", "-o", "out"],
}
"""Calls that end well, each of which is abused; of `diagnose` and `evaluate` there are two."""


def good_call(name):
    return [name.split()[0], *GOOD_CALLS[name]]


def abuses(name):
    """List abused calls: every argument and option, with every value that is wrong for its kind."""
    call = good_call(name)
    command = all_commands().commands[call[0]]
    calls = [[*call, "--nonsense"], [*call, "x", "y"], [*call, "--json=maybe"]]
    arguments = itertools.takewhile(lambda index: call[index][0] != "-", range(1, len(call)))
    for parameter in command.params:
        values = values_for(parameter)
        if parameter.param_type_name == "argument":
            at = next(arguments, None)
            if at is not None:
                calls += [[*call[:at], *_plain(value), *call[at + 1 :]] for value in values]
        elif values:
            option = parameter.opts[0]
            calls += [[*call, option, *[value] * parameter.nargs] for value in values]
            calls.append([*call, option])
    return calls


def _plain(value):
    """Return an argument: one that begins with a dash would be taken for an option."""
    return ["--", value] if str(value).startswith("-") else [value]


def values_for(parameter):
    """Return the values that are tried for an argument or an option; none for a switch."""
    kind = parameter.type_descriptor.annotation
    if kind is bool:
        return ()
    if kind in (int, tuple[int, int]):
        return WHOLE_NUMBERS
    return NUMBERS if kind is float else (*TEXTS, *FILES)


@functools.cache
def _contents():
    """Return what the good files hold, by name."""
    network = datasets.clinic()
    plan = MomentPlan.coupled(network.structure)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network.save(folder / "clinic.json")
        network.structure.save(folder / "structure.json")
        find_schedule(network.structure).save(folder / "schedule.json")
        write_model(datasets.figure1(rng=0), folder / "small.bif")
        plan.save(folder / "a.plan")
        for seed, each in enumerate("ab"):
            count_moments(network.sample(200, rng=seed), plan).save(folder / f"{each}.moments")
        records, diseases = network.sample(60, rng=0, return_diseases=True)
        labels = pa.table(dict(zip(network.structure.diseases, diseases.T, strict=True)))
        write_table(folder / "d.csv", labels)
        records.to_csv(folder / "r.csv")
        records.to_parquet(folder / "r.parquet")
        found = {file.name: file.read_bytes() for file in folder.iterdir()}
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
    return found | {
        **{f"picture.{ending}": picture for ending in ("csv", "json", "parquet")},
        "empty.csv": b"", "empty.json": b"", "text.txt": b"To whom it may concern.\n",
        "zip.xlsx": zipped(b"nothing"),
    }  # fmt: skip


def write_files(folder):
    """Put the good files, and those that are none, into a folder that is emptied before."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in _contents().items():
        (folder / name).write_bytes(content)
    for name in ("folder", "folder.csv"):
        (folder / name).mkdir()
    for ending in ("csv", "json"):
        os.mkfifo(folder / f"pipe.{ending}")
        (folder / f"zero.{ending}").symlink_to("/dev/zero")
    (folder / "loop.csv").symlink_to("loop.csv")


def abuse(call, folder, seconds=MOST_SECONDS):
    """Run an abused call among new files; say how it ended."""
    write_files(folder)
    with contextlib.chdir(folder):
        return [outcome_of(tried(*call, seconds=seconds))]


def can_be_given(call):
    """Return True if the operating system can give the arguments to a process at all."""
    return not any("\0" in str(each) for each in call)


def abuse_in_a_process(call, folder):
    """Run an abused call as a process of its own; say how it ended."""
    write_files(folder)
    command = [sys.executable, "-m", "noisyor", *map(str, call)]
    given = subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False)
    ended = Ended(given.returncode, given.stdout.decode(), given.stderr.decode())
    check_end(ended)
    return [outcome_of(ended)]
