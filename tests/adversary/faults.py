"""Disks that fail at each step of each command that writes: all is old, or all is new.

A fault is an error of the operating system at the k-th call of a function, for every k there is:
once, or from then on. Beside them real ones: files that may not grow beyond so many bytes.
"""

import functools
import itertools
import os
import resource
import shutil
import signal
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np

from adversary.commands import run
from conftest import network_on
from noisyor import NoisyOrLearner, datasets, learning, write_model
from noisyor.cli.fit import Outputs
from noisyor.errors import FileError
from noisyor.learning import predict_precision

STEPS = ("open", "fsync", "link", "replace", "unlink")
"""Functions of `os` on the way from a file that is written to one that is swapped."""
LARGEST = (0, 1, 1000, 5000, 20_000)
"""Bytes that a file may have."""


@functools.cache
def learned(seed):
    """Return what is learned from records, with its misfits."""
    clinic = datasets.clinic()
    learner = NoisyOrLearner(clinic.structure, method="pooled")
    estimate = learner.fit(clinic.sample(5000, rng=seed)).estimate_
    return estimate, estimate.misfits()


@functools.cache
def predicted(n_records):
    return predict_precision(datasets.clinic(), n_records, rng=0)


class Job:
    """What is written into a folder, in an older and a newer version."""

    def fit(self, folder, version):
        names = "learned.json", "summary.csv", "misfits.parquet", "report.html"
        Outputs(*(folder / name for name in names), draws=None).write(*learned(version))

    def folder(self, folder, version):
        network = network_on(datasets.clinic().structure, np.random.default_rng(version))
        write_model(network, folder / "net", "folder")

    def plan(self, folder, version):
        with mock.patch.object(learning, "predict_precision", lambda _, n, **__: predicted(n)):
            self._command(
                "plan", "clinic", "-o", folder / "c.plan", "--summary", folder / "s.csv",
                "--network", "clinic", "--method", ["pooled", "sequential"][version],
                "--records", 1000 + version,
            )  # fmt: skip

    def sample(self, folder, version):
        self._command(
            "sample", "clinic" if version else "figure1", "-n", 300, "-o", folder / "r.parquet",
            "--diseases", folder / "d.csv", "--save-network", folder / "n.json",
        )  # fmt: skip

    def count(self, folder, version):
        records = folder.parent / f"{version}.parquet"
        if not records.exists():
            datasets.clinic().sample(300 + version, rng=version).to_parquet(records)
        self._command("count", "clinic", records, "-o", folder / "c.moments")

    def _command(self, *arguments):
        code, _, err = run(*arguments, "--quiet")
        assert code in (0, 2)
        assert "Traceback" not in err
        if code:
            raise FileError(err)


JOBS = [name for name in vars(Job) if name[0] != "_"]


def contents(folder):
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


class Case:
    """A job with what its folder holds before and after, and the rule for what is between."""

    def __init__(self, name, home, *, has_old):
        self.job, self.folder = getattr(Job(), name), home / "out"
        self.refuge = home / "refuge"  # where counts go that cannot be written
        self.refuge.mkdir()
        self.folder.mkdir()
        if has_old:
            self.write(0)
        self.before = contents(self.folder)
        shutil.copytree(self.folder, home / "before")
        self.write(1)
        self.after = contents(self.folder)
        same = set(self.before.items()) & set(self.after.items())
        assert {file for file, _ in same} <= {"misfits.parquet"}  # there are none in either

    def write(self, version):
        with mock.patch.object(tempfile, "tempdir", str(self.refuge)):
            self.job(self.folder, version)

    def reset(self):
        shutil.rmtree(self.folder)
        shutil.copytree(self.folder.with_name("before"), self.folder)

    def check(self, faults, *, may_leave_parts=False):
        """Write the newer version amid faults; all must be old or new, as it is said to be."""
        self.reset()
        expected = self.after
        with faults:
            try:
                self.write(1)
            except FileError:
                expected = self.before
        found = contents(self.folder)
        hidden = {name for name in found if Path(name).name.startswith(".")}
        assert may_leave_parts or not hidden
        assert {name: found[name] for name in found.keys() - hidden} == expected
        if isinstance(faults, Faults) and not faults.n_faults:
            return []  # nothing has failed: that was no attack
        return ["all new" if expected == self.after else "all old"]


class Faults:
    """Lets a function of `os` fail at its k-th call (and at all later ones)."""

    def __init__(self, name, number, *, for_ever):
        self.name, self.number, self.for_ever = name, number, for_ever
        self.original, self.n_calls, self.n_faults = getattr(os, name), 0, 0

    def __enter__(self):
        setattr(os, self.name, self)

    def __exit__(self, *_):
        setattr(os, self.name, self.original)

    def __call__(self, *arguments, **options):
        number, self.n_calls = self.n_calls, self.n_calls + 1
        if number == self.number or (self.for_ever and number > self.number):
            self.n_faults += 1
            raise OSError(30, "Read-only file system")
        return self.original(*arguments, **options)


class SmallFiles:
    """Lets files grow to so many bytes only: what a full disk or a quota does, for real."""

    def __init__(self, n_bytes):
        self.n_bytes = n_bytes

    def __enter__(self):
        self.handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.n_bytes, self.before[1]))

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)
        signal.signal(signal.SIGXFSZ, self.handler)


def faults_of(case):
    """Give a function for every fault there is, which tries it and says what it has left."""
    for n_bytes in LARGEST:
        yield functools.partial(case.check, SmallFiles(n_bytes))
    for step, for_ever in itertools.product(STEPS, (False, True)):
        for number in itertools.count():
            faults = Faults(step, number, for_ever=for_ever)
            yield functools.partial(case.check, faults, may_leave_parts=step == "unlink")
            if not faults.n_faults:  # it is not called as often as that
                break
        assert number or step == "link", f"no call of {step} has failed"
