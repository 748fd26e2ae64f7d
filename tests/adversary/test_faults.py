"""Disks that fail at each step of each command that writes: all is old, or all is new."""

import shutil
import subprocess

import pytest

from adversary.faults import JOBS, Case, Faults, contents, faults_of
from noisyor import datasets
from noisyor.errors import FileError
from noisyor.moments.resuming import ResumableCount


@pytest.mark.parametrize("has_old", [True, False], ids=["old", "new"])
@pytest.mark.parametrize("name", JOBS)
def test_writing_fails(name, has_old, tmp_path):
    for fault in faults_of(Case(name, tmp_path, has_old=has_old)):
        fault()


def test_counts_are_rescued(tmp_path):
    """What was counted is not lost when its place fails after the counting."""
    case = Case("count", tmp_path, has_old=False)
    case.reset()
    with Faults("replace", 0, for_ever=False), pytest.raises(FileError, match="saved as"):
        case.write(1)
    (saved,) = case.refuge.rglob("c.moments")
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
