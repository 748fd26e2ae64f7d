"""Disks that fail at each step of each command that writes: all is old, or all is new.

A fault is an error of the operating system at the k-th call of a function, for every k there is:
once, or from then on. Beside them real ones: files that may not grow beyond so many bytes.
"""

import functools
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from conftest import network_on
from noisyor import NoisyOrLearner, datasets, learning, write_model
from noisyor.cli.fit import Outputs
from noisyor.errors import FileError
from noisyor.learning import predict_precision
from noisyor.moments.resuming import ResumableCount

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

    def __init__(self, run, patch):
        self.run, self.patch = run, patch

    def fit(self, folder, version):
        names = "learned.json", "summary.csv", "misfits.parquet", "report.html"
        Outputs(*(folder / name for name in names)).write(*learned(version))

    def folder(self, folder, version):
        network = network_on(datasets.clinic().structure, np.random.default_rng(version))
        write_model(network, folder / "net", "folder")

    def plan(self, folder, version):
        self.patch.setattr(learning, "predict_precision", lambda _, n, **__: predicted(n))
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
        code, _, err = self.run(*arguments, "--quiet")
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

    def __init__(self, name, run, tmp_path, *, has_old, monkeypatch):
        self.folder = tmp_path / "out"
        self.write = functools.partial(getattr(Job(run, monkeypatch), name), self.folder)
        refuge = tmp_path / "refuge"  # where counts go that cannot be written
        refuge.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(refuge))
        self.folder.mkdir()
        if has_old:
            self.write(0)
        self.before = contents(self.folder)
        shutil.copytree(self.folder, tmp_path / "before")
        self.write(1)
        self.after = contents(self.folder)
        same = set(self.before.items()) & set(self.after.items())
        assert {file for file, _ in same} <= {"misfits.parquet"}  # there are none in either

    def reset(self):
        shutil.rmtree(self.folder)
        shutil.copytree(self.folder.with_name("before"), self.folder)

    def check(self, faults, *, may_leave_parts=False):
        """Write the newer version amid faults; all must be old or new, as it is said to be."""
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


@pytest.mark.parametrize("has_old", [True, False], ids=["old", "new"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", JOBS)
def test_a_step_fails(name, step, has_old, run, tmp_path, monkeypatch):
    case = Case(name, run, tmp_path, has_old=has_old, monkeypatch=monkeypatch)
    for for_ever in False, True:
        for number in range(100):
            case.reset()
            faults = Faults(step, number, for_ever=for_ever)
            case.check(faults, may_leave_parts=step == "unlink")
            if not faults.n_faults:
                break
        assert not faults.n_faults
        assert number or step == "link", "no call of it has failed"


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


@pytest.mark.parametrize("has_old", [True, False], ids=["old", "new"])
@pytest.mark.parametrize("name", JOBS)
def test_files_cannot_grow(name, has_old, run, tmp_path, monkeypatch):
    case = Case(name, run, tmp_path, has_old=has_old, monkeypatch=monkeypatch)
    for n_bytes in LARGEST:
        case.reset()
        case.check(SmallFiles(n_bytes))


def test_counts_are_rescued(run, tmp_path, monkeypatch):
    """What was counted is not lost when its place fails after the counting."""
    case = Case("count", run, tmp_path, has_old=False, monkeypatch=monkeypatch)
    case.reset()
    with Faults("replace", 0, for_ever=False), pytest.raises(FileError, match="saved as"):
        case.write(1)
    (saved,) = (tmp_path / "refuge").rglob("c.moments")
    assert saved.read_bytes() == case.after["c.moments"]


@pytest.fixture
def mounted(tmp_path):
    """Mount a small file system in memory, with options, where that is permitted."""
    folder = tmp_path / "mounted"
    folder.mkdir()

    def mount(options):
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
        has_mount = shutil.which("mount") is not None
        if not has_mount or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("file systems cannot be mounted here")
        return folder

    yield mount
    if folder.is_mount():
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_read_only_file_system_is_noticed_before_counting(run, mounted, tmp_path, monkeypatch):
    records = tmp_path / "r.parquet"
    datasets.clinic().sample(300, rng=0).to_parquet(records)

    def count(*_):
        pytest.fail("it was noticed too late")

    monkeypatch.setattr(ResumableCount, "run", count)
    code, _, err = run("count", "clinic", records, "-o", mounted("ro") / "c.moments")
    assert code == 2
    assert "c.moments cannot be written: Read-only file system." in err


def test_a_full_disk(run, mounted):
    folder = mounted("size=64k")
    code, _, err = run("sample", "clinic", "-n", 10_000, "-o", folder / "r.csv")
    assert code == 2
    assert "r.csv cannot be written" in err
    assert contents(folder) == {}
