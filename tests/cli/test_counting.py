import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from noisyor import MomentPlan, Moments, count_moments, datasets
from noisyor.moments import resuming


@pytest.fixture
def clinic(tmp_path):
    """A folder with the clinic's network and four files of records."""
    network = datasets.clinic()
    network.save(tmp_path / "clinic.json")
    for number in range(4):
        findings = network.sample(3000, seed=number)
        findings.to_parquet(tmp_path / f"part{number}.parquet")
    return tmp_path


def parts(folder):
    return sorted(folder.glob("part*.parquet"))


def whole(folder):
    return count_moments(parts(folder), MomentPlan.coupled(datasets.clinic().structure))


def test_count_merge_info(run, clinic):
    code, out, err = run(
        "count", clinic / "clinic.json", clinic / "part*.parquet", "-o", clinic / "all.moments"
    )
    assert (code, err) == (0, "")
    assert "12,000 records" in out
    assert Moments.load(clinic / "all.moments") == whole(clinic)
    assert sorted(path.name for path in clinic.glob("all*")) == ["all.moments"]
    for number, path in enumerate(parts(clinic)):
        run("count", "clinic", path, "-o", clinic / f"site{number}.moments", "--quiet")
    code, out, _ = run("merge", clinic / "site*.moments", "-o", clinic / "merged.moments")
    assert code == 0
    assert Moments.load(clinic / "merged.moments") == whole(clinic)
    code, out, _ = run("info", clinic / "merged.moments", "--json")
    facts = json.loads(out)
    assert (facts["kind"], facts["records"], facts["triplets"]) == ("moments", 12_000, 0)


def test_count_what_a_plan_lists(run, clinic):
    plan = MomentPlan(datasets.clinic().structure, triplets=[[0, 1, 2]])
    plan.save(clinic / "some.plan")
    run(
        "count",
        "clinic",
        clinic / "part0.parquet",
        "--plan",
        clinic / "some.plan",
        "-o",
        clinic / "x.moments",
    )
    assert Moments.load(clinic / "x.moments") == count_moments(clinic / "part0.parquet", plan)
    assert json.loads(run("info", clinic / "some.plan", "--json")[1])["triplets"] == 1
    arguments = ["count", "figure1", clinic / "part0.parquet", "--plan", clinic / "some.plan"]
    code, _, err = run(*arguments, "-o", clinic / "y.moments")
    assert code == 2
    assert "was made for another structure" in err


def test_min_count_hides_small_cells(run, clinic):
    run("count", "clinic", clinic / "part0.parquet", "-o", clinic / "x.moments", "--min-count", 10)
    moments = Moments.load(clinic / "x.moments")
    assert moments.n_groups == 1
    visible = moments.counts(2)[~moments.hidden[1]]
    assert ((visible == 0) | (visible >= 10)).all()
    assert moments.hidden[1].any()


def test_a_broken_file_leaves_the_finished_ones_counted(run, clinic):
    broken = clinic / "part2.parquet"
    content = broken.read_bytes()
    middle = len(content) // 3
    broken.write_bytes(content[:middle] + b"\xff" * 400 + content[middle + 400 :])
    arguments = ["count", "clinic", *parts(clinic), "-o", clinic / "all.moments"]
    code, _, err = run(*arguments)
    assert code == 2
    assert "part2.parquet is not a readable Parquet file" in err
    assert "Files counted before it: 2, kept in" in err
    assert not (clinic / "all.moments").exists()
    broken.write_bytes(content)
    code, _, _ = run(*arguments, "--resume")
    assert code == 0
    assert Moments.load(clinic / "all.moments") == whole(clinic)
    assert not (clinic / "all.moments.partial").exists()


def test_resume_counts_nothing_twice(run, clinic, monkeypatch):
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
    arguments = ["count", "clinic", *parts(clinic), "-o", clinic / "all.moments"]
    code, _, err = run(*arguments)
    assert code == 130
    assert "interrupted" in err
    assert (clinic / "all.moments.partial").exists()

    def count_and_note(self, stream, advance):
        original(self, stream, advance)
        counted.append(stream.files[0].name)

    monkeypatch.setattr(resuming.ResumableCount, "_count", count_and_note)
    assert run(*arguments, "--resume")[0] == 0
    assert sorted(counted) == [path.name for path in parts(clinic)]
    assert Moments.load(clinic / "all.moments") == whole(clinic)


def test_without_resume_it_starts_again(run, clinic):
    (clinic / "all.moments.partial").write_text("left over")
    arguments = ["count", "clinic", *parts(clinic), "-o", clinic / "all.moments"]
    code, _, err = run(*arguments, "--resume")
    assert code == 2
    assert "all.moments.partial is not a readable noisyor.partial file" in err
    assert run(*arguments)[0] == 0
    assert Moments.load(clinic / "all.moments") == whole(clinic)


def test_resume_with_another_plan_is_refused(run, clinic, monkeypatch):
    monkeypatch.setattr(resuming, "SHORTEST_PAUSE", 0.0)
    arguments = ["clinic", *parts(clinic), "-o", clinic / "all.moments"]
    monkeypatch.setattr(
        resuming, "save_somewhere", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    run("count", *arguments)
    monkeypatch.undo()
    code, _, err = run("count", *arguments, "--resume", "--groups", 7)
    assert code == 2
    assert "another structure, plan, number of groups" in err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_killed_in_the_middle_and_resumed(clinic, how):
    """A process of its own, killed at its first checkpoint, long before its end."""
    for number in range(4, 60):
        (clinic / f"part{number:02}.parquet").write_bytes((clinic / "part0.parquet").read_bytes())
    script = (
        "import noisyor.moments.resuming as r; r.SHORTEST_PAUSE = 0.0; "
        "from noisyor.cli import main; main()"
    )
    output, partial = clinic / "all.moments", clinic / "all.moments.partial"
    arguments = ["count", "clinic", *map(str, parts(clinic)), "-o", str(output)]
    command = [sys.executable, "-c", script, *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not partial.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert partial.exists()
    process.send_signal(how)
    process.communicate(timeout=30)
    assert process.returncode != 0, "it was killed before it could end"
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=True)
    assert "180,000 records" in done.stdout
    assert Moments.load(output) == whole(clinic)
    assert not list(clinic.glob(".*part")) or how == signal.SIGKILL


def test_a_full_disk_does_not_lose_the_counts(run, clinic, monkeypatch, tmp_path):
    original = Moments.save

    def refuse(self, path):
        if path.parent == clinic:
            from noisyor.errors import FileError

            raise FileError(f"{path} cannot be written: No space left on device.")
        original(self, path)

    refuge = tmp_path / "refuge"
    refuge.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(refuge))
    monkeypatch.setattr(Moments, "save", refuse)
    code, _, err = run("count", "clinic", *parts(clinic), "-o", clinic / "all.moments")
    assert code == 2
    (saved,) = refuge.rglob("all.moments")
    assert f"The counts were saved as {saved} instead" in err
    assert Moments.load(saved) == whole(clinic)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["count", "clinic", "none*.parquet", "-o", "x.moments"], "no file matches none*.parquet"),
        (["count", "clinic", "none.parquet", "-o", "x.moments"], "none.parquet does not exist"),
        (["count", "clinc", "part0.parquet", "-o", "x.moments"], "did you mean 'clinic'?"),
        (["count", "figure1", "part0.parquet", "-o", "x.moments"], "no column for the symptoms"),
        (["count", "clinic", "part0.parquet", "./part0.parquet", "-o", "x"], "counted twice"),
        (["count", "clinic", "part0.parquet", "-o", "none/x"], "the directory none does not exist"),
        (["merge", "clinic.json", "-o", "x.moments"], "clinic.json is not a readable"),
        (["merge", "none.moments", "-o", "x.moments"], "none.moments does not exist"),
    ],
)
def test_errors(run, clinic, monkeypatch, arguments, message):
    monkeypatch.chdir(clinic)
    before = set(clinic.iterdir())
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert set(clinic.iterdir()) == before


def test_merging_what_does_not_belong_together_names_the_files(run, clinic):
    network = datasets.figure1(0)
    other = count_moments(network.sample(5, seed=0), MomentPlan.coupled(network.structure))
    other.save(clinic / "other.moments")
    whole(clinic).save(clinic / "one.moments")
    code, _, err = run(
        "merge", clinic / "one.moments", clinic / "other.moments", "-o", clinic / "x.moments"
    )
    assert code == 2
    assert "other.moments cannot be merged with" in err
    assert "different structures" in err


def test_merging_the_same_counts_gives_a_notice(run, clinic):
    for name in "one", "copy":
        whole(clinic).save(clinic / f"{name}.moments")
    code, _, err = run(
        "merge", clinic / "one.moments", clinic / "copy.moments", "-o", clinic / "x.moments"
    )
    assert code == 0
    assert "were records counted twice?" in err
    assert np.array_equal(Moments.load(clinic / "x.moments").counts(1), 2 * whole(clinic).counts(1))


def interrupted_after_two_files(run, clinic, monkeypatch):
    """Leave a checkpoint with two finished files behind; return the arguments of the call."""
    arguments = ["count", "clinic", *parts(clinic), "-o", clinic / "all.moments"]
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


def test_resume_refuses_files_that_changed(run, clinic, monkeypatch):
    arguments = interrupted_after_two_files(run, clinic, monkeypatch)
    findings = datasets.clinic().sample(3000, seed=9)
    findings.to_parquet(clinic / "part0.parquet")
    code, _, err = run(*arguments, "--resume")
    assert code == 2
    assert "part0.parquet has changed since it was counted; start again without --resume" in err


def test_resume_refuses_when_a_finished_file_is_not_named(run, clinic, monkeypatch):
    interrupted_after_two_files(run, clinic, monkeypatch)
    output = clinic / "all.moments"
    code, _, err = run("count", "clinic", *parts(clinic)[1:], "-o", output, "--resume")
    assert code == 2
    assert "part0.parquet is not among the files, but it was counted" in err


def test_resume_refuses_other_options(run, clinic, monkeypatch):
    arguments = interrupted_after_two_files(run, clinic, monkeypatch)
    code, _, err = run(*arguments, "--resume", "--ignore-unknown")
    assert code == 2
    assert "with other options" in err


def test_resume_refuses_records_shared_with_finished_files(run, clinic, monkeypatch):
    for number in range(3):
        text = "record,symptom\n" + "".join(f"{number * 10 + k},fever\n" for k in range(5))
        (clinic / f"part{number}.csv").write_text(text)
    files = sorted(clinic.glob("part*.csv"))
    output = clinic / "long.moments"
    original = resuming.ResumableCount._count

    def count_one_file(self, stream, advance):
        if self._committed.files:
            raise KeyboardInterrupt
        original(self, stream, advance)

    with monkeypatch.context() as patch:
        patch.setattr(resuming.ResumableCount, "_count", count_one_file)
        assert run("count", "clinic", *files, "-o", output)[0] == 130
    (clinic / "part1.csv").write_text("record,symptom\n4,cough\n10,fever\n")
    code, _, err = run("count", "clinic", *files, "-o", output, "--resume")
    assert code == 2
    assert "shares records with" in err


def test_a_file_that_changes_while_it_is_counted(run, clinic, monkeypatch):
    from noisyor.moments.counting import MomentCounter

    original = MomentCounter.add_blocks

    def touch_afterwards(self, blocks, progress=None):
        first, *others = blocks
        original(self, [first, *others], progress)
        if progress is not None and first.origin.file_name == "part1.parquet":
            path = clinic / "part1.parquet"
            path.write_bytes(path.read_bytes() + b" ")

    monkeypatch.setattr(MomentCounter, "add_blocks", touch_afterwards)
    code, _, err = run("count", "clinic", *parts(clinic), "-o", clinic / "all.moments")
    assert code == 2
    assert "part1.parquet was changed while it was counted" in err
    assert "Files counted before it: 1" in err


def test_an_interrupt_within_a_commit_counts_nothing_twice(run, clinic, monkeypatch):
    original = resuming.ResumableCount._commit
    commits = []

    def interrupt_in_between(self):
        commits.append(1)
        if len(commits) == 2:
            self._counter.take()
            raise KeyboardInterrupt
        original(self)
        self._next_commit = 0.0

    arguments = ["count", "clinic", *parts(clinic), "-o", clinic / "all.moments"]
    with monkeypatch.context() as patch:
        patch.setattr(resuming.ResumableCount, "_commit", interrupt_in_between)
        assert run(*arguments)[0] == 130
    assert run(*arguments, "--resume")[0] == 0
    assert Moments.load(clinic / "all.moments") == whole(clinic)


def test_a_checkpoint_that_cannot_be_written_is_no_end(run, clinic, monkeypatch):
    from noisyor.errors import FileError

    def refuse(*_):
        raise FileError("no room.")

    monkeypatch.setattr(resuming, "SHORTEST_PAUSE", 0.0)
    monkeypatch.setattr("noisyor.io.documents.write_arrow_document", refuse)
    code, _, err = run("count", "clinic", *parts(clinic), "-o", clinic / "all.moments")
    assert code == 0
    assert "The counting goes on, but could not be resumed" in err
    assert Moments.load(clinic / "all.moments") == whole(clinic)


@pytest.mark.parametrize("name", ["clinic.json", "part0.parquet", "some.plan"])
def test_an_input_is_never_the_output(run, clinic, name):
    MomentPlan.coupled(datasets.clinic().structure).save(clinic / "some.plan")
    before = (clinic / name).read_bytes()
    arguments = [clinic / "clinic.json", clinic / "part0.parquet", "--plan", clinic / "some.plan"]
    code, _, err = run("count", *arguments, "-o", clinic / name)
    assert code == 2
    assert "is read and cannot be the output" in err
    assert (clinic / name).read_bytes() == before


def test_a_device_is_never_the_output(run, clinic):
    code, _, err = run("count", "clinic", clinic / "part0.parquet", "-o", "/dev/null")
    assert code == 2
    assert "/dev/null is not a file that could be replaced" in err


def test_a_copy_is_noticed_wherever_it_stands(run, clinic):
    for number in range(2):
        run("count", "clinic", clinic / f"part{number}.parquet", "-o", clinic / f"{number}.moments")
    (clinic / "copy.moments").write_bytes((clinic / "1.moments").read_bytes())
    files = [clinic / name for name in ("0.moments", "1.moments", "copy.moments")]
    _, _, err = run("merge", *files, "-o", clinic / "x.moments")
    assert "copy.moments holds the same counts as" in err
