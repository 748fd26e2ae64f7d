"""Files that replace others: together or not at all, and nothing is left behind."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from noisyor import NoisyOrError
from noisyor.io import replacing
from noisyor.io.replacing import (
    check_writable,
    remove_unfinished,
    replaced_folder,
    replaced_together,
    replaced_when_done,
)

READ_ONLY = OSError(30, "Read-only file system")


def write(path, text):
    with replaced_when_done(path) as part:
        part.write_text(text)


def write_together(folder, names, error=None):
    with replaced_together():
        for name in names:
            write(folder / name, "new")
        if error:
            raise error


def contents(folder):
    return {file.name: file.read_text() for file in folder.iterdir()}


@pytest.fixture
def pair(tmp_path):
    """Two files that belong together."""
    for name in "a", "b":
        (tmp_path / name).write_text(f"old {name}")
    return tmp_path


def failing(function, number, error=READ_ONLY):
    """Return a function that fails from its call of that number on, counted from 0."""
    calls = iter(range(10**9))

    def run(*arguments, **options):
        if next(calls) >= number:
            raise error
        return function(*arguments, **options)

    return run


def test_files_are_replaced_together(pair):
    with replaced_together():
        for name in "a", "b", "c":
            write(pair / name, f"new {name}")
        assert {name for name in contents(pair) if name[0] != "."} == {"a", "b"}
        assert (pair / "a").read_text() == "old a"
    assert contents(pair) == {"a": "new a", "b": "new b", "c": "new c"}


def test_an_error_between_two_files_leaves_the_old_ones(pair):
    before = contents(pair)
    for error in NoisyOrError("no"), KeyboardInterrupt():
        with pytest.raises(type(error)):
            write_together(pair, "a", error)
        assert contents(pair) == before


@pytest.mark.parametrize("has_links", [True, False])
def test_a_second_rename_that_fails_is_undone(pair, monkeypatch, has_links):
    if not has_links:
        monkeypatch.setattr(os, "link", failing(os.link, 0, OSError(1, "no links here")))
    before = contents(pair)
    monkeypatch.setattr(os, "replace", failing(os.replace, 1))
    with pytest.raises(NoisyOrError, match="a cannot be written: Read-only file system"):
        write_together(pair, "cab")
    assert contents(pair) == before


def test_what_cannot_be_put_back_is_said_and_kept(pair, monkeypatch):
    monkeypatch.setattr(os, "replace", failing(os.replace, 1))
    monkeypatch.setattr(shutil, "copyfile", failing(shutil.copyfile, 0))
    with pytest.raises(NoisyOrError, match=r"a was replaced, .* before is in ") as said:
        write_together(pair, "ab")
    old = str(said.value).split(" is in ")[1].rstrip(".")
    assert Path(old).read_text() == "old a"
    assert (pair / "b").read_text() == "old b"


def test_a_file_cannot_be_given_twice(pair):
    before = contents(pair)
    with pytest.raises(NoisyOrError, match="a is given for two different outputs"):
        write_together(pair, "aa")
    assert contents(pair) == before


def test_a_link_and_rights_stay(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640


def test_a_clean_up_never_raises(pair, monkeypatch):
    """On a read-only file system the clean-up's error hid the one that the rescue waits for."""
    monkeypatch.setattr(os, "unlink", failing(os.unlink, 0))
    refused = pytest.raises(NoisyOrError, match="a cannot be written: Read-only")
    with refused, replaced_when_done(pair / "a"):
        raise READ_ONLY
    remove_unfinished()


def test_whether_a_place_can_be_written_is_tried(pair, monkeypatch):
    check_writable([pair / "a", pair / "c"])
    assert set(contents(pair)) == {"a", "b"}
    monkeypatch.setattr("io.open", failing(open, 0))
    with pytest.raises(NoisyOrError, match="c cannot be written: Read-only file system"):
        check_writable([pair / "c"])


def test_names_that_are_long_for_a_disk(tmp_path):
    for name in "x" * 250, "ü" * 120:
        check_writable([tmp_path / name])
        write(tmp_path / name, "new")
        assert (tmp_path / name).read_text() == "new"


def left_by_killed(folder, name):
    """Have a process end in the middle of writing; return what it leaves."""
    script = (
        "import os, sys; from noisyor.io.replacing import replaced_when_done\n"
        "with replaced_when_done(sys.argv[1]) as part: part.write_text('half'); os._exit(9)"
    )
    before = set(folder.iterdir())
    subprocess.run([sys.executable, "-c", script, str(folder / name)], check=False)
    (left,) = set(folder.iterdir()) - before
    return left


def test_what_killed_processes_leave_is_removed_by_the_next_that_writes(pair):
    stale = left_by_killed(pair, "a")
    other = left_by_killed(pair, "b")
    write(pair / "a", "new")
    assert not stale.exists()
    assert other.exists(), "it belongs to another output"


def test_what_living_processes_write_is_not_removed(pair):
    with replaced_when_done(pair / "a") as part:
        part.write_text("first")
        replacing.remove_stale(pair / "a", ".part")
        assert part.exists()
    assert (pair / "a").read_text() == "first"


def test_parts_of_other_machines_are_removed_after_a_week(pair, monkeypatch):
    part = pair / f".a.{'0' * 8}-1-{'0' * 8}.part"
    part.write_text("half")
    write(pair / "a", "new")
    assert part.exists()
    week_ago = time.time() - replacing.MOST_ABANDONED - 60
    os.utime(part, (week_ago, week_ago))
    write(pair / "a", "newer")
    assert not part.exists()


def test_a_folder_that_cannot_be_renamed_leaves_the_empty_one(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing(os.replace, 0))
        patch.setattr(os, "rename", failing(os.rename, 0))
        refused = pytest.raises(NoisyOrError, match="out cannot be written")
        with refused, replaced_folder(tmp_path / "out") as part:
            (part / "x").write_text("x")
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
    assert not list((tmp_path / "out").iterdir())
    with replaced_folder(tmp_path / "out") as part:
        (part / "x").write_text("x")
    assert contents(tmp_path / "out") == {"x": "x"}
