import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from noisyor import MomentPlan, Moments, count_moments, datasets
from noisyor.cli import count as count_module


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
    assert "The 2 files before it are counted and kept" in err
    assert not (clinic / "all.moments").exists()
    broken.write_bytes(content)
    code, _, _ = run(*arguments, "--resume")
    assert code == 0
    assert Moments.load(clinic / "all.moments") == whole(clinic)
    assert not (clinic / "all.moments.partial").exists()


def test_resume_counts_nothing_twice(run, clinic, monkeypatch):
    monkeypatch.setattr(count_module, "SHORTEST_PAUSE", 1000.0)
    commit = count_module.CountJob._commit

    def commit_every_file(self):
        commit(self)
        self._next_commit = 0.0

    monkeypatch.setattr(count_module.CountJob, "_commit", commit_every_file)
    counted = []
    original = count_module.CountJob._count

    def count_two_files(self, stream, advance):
        if len(counted) == 2:
            raise KeyboardInterrupt
        original(self, stream, advance)
        counted.append(stream.file_name)

    monkeypatch.setattr(count_module.CountJob, "_count", count_two_files)
    arguments = ["count", "clinic", *parts(clinic), "-o", clinic / "all.moments"]
    code, _, err = run(*arguments)
    assert code == 130
    assert "interrupted" in err
    assert (clinic / "all.moments.partial").exists()

    def count_and_note(self, stream, advance):
        original(self, stream, advance)
        counted.append(stream.file_name)

    monkeypatch.setattr(count_module.CountJob, "_count", count_and_note)
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
    monkeypatch.setattr(count_module, "SHORTEST_PAUSE", 0.0)
    arguments = ["clinic", *parts(clinic), "-o", clinic / "all.moments"]
    monkeypatch.setattr(count_module, "_save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    run("count", *arguments)
    monkeypatch.undo()
    code, _, err = run("count", *arguments, "--resume", "--groups", 7)
    assert code == 2
    assert "another structure, plan or number of groups" in err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_killed_in_the_middle_and_resumed(clinic, how):
    """A process of its own, killed as soon as its first checkpoint is there."""
    script = (
        "import noisyor.cli.count as c; c.SHORTEST_PAUSE = 0.0; "
        "from noisyor.cli import main; main()"
    )
    output, partial = clinic / "all.moments", clinic / "all.moments.partial"
    arguments = ["count", "clinic", *map(str, parts(clinic)), "-o", str(output)]
    command = [sys.executable, "-c", script, *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not partial.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    process.send_signal(how)
    process.communicate(timeout=30)
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=True)
    assert "12,000 records" in done.stdout
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
    assert f"The counts were saved as {refuge / 'all.moments'} instead" in err
    assert Moments.load(refuge / "all.moments") == whole(clinic)


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
