"""Counting that is interrupted, broken or killed, and resumed, by the command."""

import signal
import subprocess
import sys
import time

import pytest

from conftest import parts, whole
from noisyor import Moments, datasets
from noisyor.io import documents
from noisyor.moments import resuming


def test_a_broken_file_leaves_the_finished_ones_counted(run, sites):
    broken = sites / "part2.parquet"
    content = broken.read_bytes()
    middle = len(content) // 3
    broken.write_bytes(content[:middle] + b"\xff" * 400 + content[middle + 400 :])
    arguments = ["count", "clinic", *parts(sites), "-o", sites / "all.moments"]
    code, _, err = run(*arguments)
    assert code == 2
    assert "part2.parquet is not a readable Parquet file" in err
    assert "Files counted before it: 2, kept in" in err
    assert not (sites / "all.moments").exists()
    broken.write_bytes(content)
    code, _, _ = run(*arguments, "--resume")
    assert code == 0
    assert Moments.load(sites / "all.moments") == whole(sites)
    assert not (sites / "all.moments.partial").exists()


def test_resume_counts_nothing_twice(run, sites, monkeypatch):
    monkeypatch.setattr(resuming, "SHORTEST_PAUSE", 1000.0)
    commit = resuming.ResumableCount._commit

    def commit_every_file(self):
        commit(self)
        self._next_commit = 0.0

    monkeypatch.setattr(resuming.ResumableCount, "_commit", commit_every_file)
    counted = []
    original = resuming.ResumableCount._count

    def count_two_files(self, stream, advance):
        if len(counted) == 2:
            raise KeyboardInterrupt
        original(self, stream, advance)
        counted.append(stream.files[0].name)

    monkeypatch.setattr(resuming.ResumableCount, "_count", count_two_files)
    arguments = ["count", "clinic", *parts(sites), "-o", sites / "all.moments"]
    code, _, err = run(*arguments)
    assert code == 130
    assert "interrupted" in err
    assert (sites / "all.moments.partial").exists()

    def count_and_note(self, stream, advance):
        original(self, stream, advance)
        counted.append(stream.files[0].name)

    monkeypatch.setattr(resuming.ResumableCount, "_count", count_and_note)
    assert run(*arguments, "--resume")[0] == 0
    assert sorted(counted) == [path.name for path in parts(sites)]
    assert Moments.load(sites / "all.moments") == whole(sites)


def test_without_resume_it_starts_again(run, sites):
    (sites / "all.moments.partial").write_text("left over")
    arguments = ["count", "clinic", *parts(sites), "-o", sites / "all.moments"]
    code, _, err = run(*arguments, "--resume")
    assert code == 2
    assert "all.moments.partial is not a readable noisyor.partial file" in err
    assert run(*arguments)[0] == 0
    assert Moments.load(sites / "all.moments") == whole(sites)


def test_resume_with_another_plan_is_refused(run, sites, monkeypatch):
    monkeypatch.setattr(resuming, "SHORTEST_PAUSE", 0.0)
    arguments = ["clinic", *parts(sites), "-o", sites / "all.moments"]
    monkeypatch.setattr(
        resuming, "save_somewhere", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    run("count", *arguments)
    monkeypatch.undo()
    code, _, err = run("count", *arguments, "--resume", "--groups", 7)
    assert code == 2
    assert "another structure, plan, number of groups" in err


@pytest.mark.parametrize("request_", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_killed_in_the_middle_and_resumed(sites, request_):
    """A process of its own, killed at its first checkpoint, long before its end."""
    for number in range(4, 60):
        (sites / f"part{number:02}.parquet").write_bytes((sites / "part0.parquet").read_bytes())
    script = (  # after each checkpoint it waits, so that it cannot end before it is killed
        "import time; import noisyor.moments.resuming as r; r.SHORTEST_PAUSE = 0.0; "
        "write = r.ResumableCount._write_checkpoint; "
        "r.ResumableCount._write_checkpoint = lambda self: (write(self), time.sleep(0.1)); "
        "from noisyor.cli import main; main()"
    )
    output, partial = sites / "all.moments", sites / "all.moments.partial"
    arguments = ["count", "clinic", *map(str, parts(sites)), "-o", str(output)]
    command = [sys.executable, "-c", script, *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not partial.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert partial.exists()
    process.send_signal(request_)
    process.communicate(timeout=30)
    assert process.returncode != 0, "it was killed before it could end"
    again = [sys.executable, "-m", "noisyor", *arguments, "--resume"]
    done = subprocess.run(again, capture_output=True, text=True, check=True)
    assert "180,000 records" in done.stdout
    assert Moments.load(output) == whole(sites)
    assert not list(sites.glob(".*"))


def test_a_full_disk_does_not_lose_the_counts(run, sites, monkeypatch, tmp_path):
    original = Moments.save

    def refuse(self, path):
        if path.parent == sites:
            from noisyor.errors import FileError

            raise FileError(f"{path} cannot be written: No space left on device.")
        original(self, path)

    refuge = tmp_path / "refuge"
    refuge.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(refuge))
    monkeypatch.setattr(Moments, "save", refuse)
    code, _, err = run("count", "clinic", *parts(sites), "-o", sites / "all.moments")
    assert code == 2
    (saved,) = refuge.rglob("all.moments")
    assert f"The counts were saved as {saved} instead" in err
    assert Moments.load(saved) == whole(sites)


def interrupted_after_two_files(run, sites, monkeypatch):
    """Leave a checkpoint with two finished files behind; return the arguments of the call."""
    arguments = ["count", "clinic", *parts(sites), "-o", sites / "all.moments"]
    original = resuming.ResumableCount._count
    counted = []

    def count_two_files(self, stream, advance):
        self._next_commit = 0.0
        if len(counted) == 2:
            raise KeyboardInterrupt
        original(self, stream, advance)
        counted.append(stream.files[0].name)

    with monkeypatch.context() as patch:
        patch.setattr(resuming.ResumableCount, "_count", count_two_files)
        assert run(*arguments)[0] == 130
    return arguments


def test_resume_refuses_files_that_changed(run, sites, monkeypatch):
    arguments = interrupted_after_two_files(run, sites, monkeypatch)
    findings = datasets.clinic().sample(3000, rng=9)
    findings.to_parquet(sites / "part0.parquet")
    code, _, err = run(*arguments, "--resume")
    assert code == 2
    assert "part0.parquet has changed since it was counted; start again without --resume" in err


def test_resume_refuses_when_a_finished_file_is_not_named(run, sites, monkeypatch):
    interrupted_after_two_files(run, sites, monkeypatch)
    output = sites / "all.moments"
    code, _, err = run("count", "clinic", *parts(sites)[1:], "-o", output, "--resume")
    assert code == 2
    assert "part0.parquet is not among the files, but it was counted" in err


def test_resume_refuses_other_options(run, sites, monkeypatch):
    arguments = interrupted_after_two_files(run, sites, monkeypatch)
    code, _, err = run(*arguments, "--resume", "--ignore-unknown")
    assert code == 2
    assert "with other options" in err


def test_resume_refuses_records_shared_with_finished_files(run, sites, monkeypatch):
    for number in range(3):
        text = "record,symptom\n" + "".join(f"{number * 10 + k},fever\n" for k in range(5))
        (sites / f"part{number}.csv").write_text(text)
    files = sorted(sites.glob("part*.csv"))
    output = sites / "long.moments"
    original = resuming.ResumableCount._count

    def count_one_file(self, stream, advance):
        if self._committed.files:
            raise KeyboardInterrupt
        original(self, stream, advance)

    with monkeypatch.context() as patch:
        patch.setattr(resuming.ResumableCount, "_count", count_one_file)
        assert run("count", "clinic", *files, "-o", output)[0] == 130
    (sites / "part1.csv").write_text("record,symptom\n4,cough\n10,fever\n")
    code, _, err = run("count", "clinic", *files, "-o", output, "--resume")
    assert code == 2
    assert "shares records with" in err


def test_a_file_that_changes_while_it_is_counted(run, sites, monkeypatch):
    from noisyor.moments.counter import MomentCounter

    original = MomentCounter.add_blocks

    def touch_afterwards(self, blocks, progress=None):
        first, *others = blocks
        original(self, [first, *others], progress)
        if progress is not None and first.origin.file_name == "part1.parquet":
            path = sites / "part1.parquet"
            path.write_bytes(path.read_bytes() + b" ")

    monkeypatch.setattr(MomentCounter, "add_blocks", touch_afterwards)
    code, _, err = run("count", "clinic", *parts(sites), "-o", sites / "all.moments")
    assert code == 2
    assert "part1.parquet was changed while it was counted" in err
    assert "Files counted before it: 1" in err


def test_an_interrupt_within_a_commit_counts_nothing_twice(run, sites, monkeypatch):
    original = resuming.ResumableCount._commit
    commits = []

    def interrupt_in_between(self):
        commits.append(1)
        if len(commits) == 2:
            self._counter.take()
            raise KeyboardInterrupt
        original(self)
        self._next_commit = 0.0

    arguments = ["count", "clinic", *parts(sites), "-o", sites / "all.moments"]
    with monkeypatch.context() as patch:
        patch.setattr(resuming.ResumableCount, "_commit", interrupt_in_between)
        assert run(*arguments)[0] == 130
    assert run(*arguments, "--resume")[0] == 0
    assert Moments.load(sites / "all.moments") == whole(sites)


def test_a_checkpoint_that_cannot_be_written_is_no_end(run, sites, monkeypatch):
    from noisyor.errors import FileError

    write = documents.write_arrow_document

    def refuse(path, kind, *arguments):
        if kind == resuming.FORMAT:
            raise FileError("no room.")
        write(path, kind, *arguments)

    monkeypatch.setattr(resuming, "SHORTEST_PAUSE", 0.0)
    monkeypatch.setattr(documents, "write_arrow_document", refuse)
    code, _, err = run("count", "clinic", *parts(sites), "-o", sites / "all.moments")
    assert code == 0
    assert "The counting goes on, but could not be resumed" in err
    assert Moments.load(sites / "all.moments") == whole(sites)
