"""Hostile files and abused options through the command: a sentence each, at once, and no traceback.

Whatever is no `SystemExit` leaves the command and fails the test.
"""

import os
import subprocess
import sys

import pytest

from adversary import commands, hostile_files
from adversary.abuses import GOOD_CALLS, HUGE, abuse, abuses, good_call, write_files
from adversary.hostile_files import COMMANDS, NETWORKS, RECORDS, TABLES, write_forged
from adversary.mutations import warm_up
from noisyor import MomentPlan, Moments, NoisyOrLearner, Structure, count_moments, datasets
from noisyor.findings.reading import RecordFormat
from noisyor.moments.counting import CountRequest
from noisyor.moments.resuming import ResumableCount


@pytest.fixture
def tried(tmp_path, monkeypatch):
    """Run a command in a folder of its own: it must end soon, in one sentence or well."""
    monkeypatch.chdir(tmp_path)
    warm_up()
    return commands.tried


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(tried, tmp_path, name):
    code, _, err = tried("info", written(tmp_path / name, NETWORKS[name]))
    assert (code, err) == (0, "") or name in err


@pytest.mark.parametrize("name", TABLES)
def test_tables_as_records(tried, tmp_path, name):
    datasets.clinic().save(tmp_path / "clinic.json")
    file = written(tmp_path / name, TABLES[name])
    code, _, err = tried("count", "clinic.json", file, "-o", "out.moments", "--ignore-unknown")
    assert (code == 0) == (tmp_path / "out.moments").exists()
    assert code == 0 or name in err


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_all_files_everywhere(tried, tmp_path, command):
    for give in hostile_files.cases(command, tmp_path):
        give()


def test_forged_documents(tried, tmp_path):
    for file in write_forged(tmp_path):
        code, _, err = tried("info", file)
        assert code == 0 if file.name == "good.plan" else file.name in err


@pytest.mark.parametrize("name", ["pipe.csv", "pipe.json", "pipe.xdsl", "pipe.parquet"])
def test_pipes_are_refused(tried, tmp_path, name):
    os.mkfifo(tmp_path / name)
    assert "is not a regular file" in tried("info", tmp_path / name)[2]


@pytest.mark.parametrize("name", ["zero.csv", "zero.json", "zero.bif", "zero.parquet", "zero.plan"])
def test_devices_are_refused(tried, tmp_path, name):
    (tmp_path / name).symlink_to("/dev/zero")
    assert "is not a regular file" in tried("info", tmp_path / name)[2]


@pytest.mark.parametrize(
    "options",
    [
        ["diagnose", "clinic", "-p", "fever", "--top", HUGE],
        ["diagnose", "clinic", "r.csv", "-o", "p.csv", "--top", HUGE],
        ["diagnose", "clinic", "r.csv", "-o", "p.csv", "--jobs", HUGE],
        ["diagnose", "clinic", "-p", "fever", "--sets", HUGE],
        ["diagnose", "clinic", "-p", "fever", "--budget", "inf"],
        ["diagnose", "clinic", "-p", "fever", "--budget", "nan"],
        ["diagnose", "clinic", "-p", "x" * 1_000_000],
        ["diagnose", "clinic", "-p", "\x1b[2J"],
        ["diagnose", "clinic", "-p", ""],
        ["diagnose", "clinic", "-p", "fever", "--method", "x" * 10_000],
        ["diagnose", "clinic", "-p", "fever", "--seed", HUGE],
        ["sample", "clinic", "-n", HUGE, "-o", "s.csv"],
        ["sample", "clinic", "-n", "10", "--seed", HUGE, "-o", "s.csv"],
        ["sample", "clinic", "-n", "1e3", "-o", "s.csv"],
        ["fit", "clinic", "r.csv", "-o", "l.json", "--groups", HUGE],
        ["fit", "clinic", "r.csv", "-o", "l.json", "--jobs", HUGE],
        ["fit", "clinic", "r.csv", "-o", "l.json", "--n-init", HUGE],
        ["fit", "clinic", "r.csv", "-o", "l.json", "--max-iter", HUGE],
        ["fit", "clinic", "r.csv", "-o", "l.json", "--tol", "nan"],
        ["fit", "clinic", "r.csv", "-o", "l.json", "--seed", HUGE],
        ["fit", "clinic", "r.csv", "-o", "l.json", "--method", "\x1b[2J"],
        ["fit", "clinic", "r.csv", "-o", "l.json", "--values", "=" * 10_000],
        ["fit", "clinic", "r.csv", "-o", "l.json", "--n-records", HUGE],
        ["fit", "clinic", "r.csv", "-o", "l.json", "--cluster", "\x1b[2J"],
        ["count", "clinic", "r.csv", "-o", "c.moments", "--min-count", HUGE],
        ["count", "clinic", "r.csv", "-o", "c.moments", "--groups", "-1"],
        ["plan", "clinic", "--network", "clinic", "-n", HUGE],
        ["plan", "clinic", "--network", "clinic", "--precision", "inf"],
        ["schedule", "clinic", "--network", "clinic", "--epsilon", "nan"],
        ["schedule", "clinic", "--network", "clinic", "--delta", HUGE],
        ["identify", "--table", HUGE, HUGE],
        ["identify", "clinic", "--max-order", HUGE],
        ["evaluate", "clinic", "clinic", "-n", HUGE],
        ["evaluate", "clinic", "clinic", "--budget", "nan"],
        ["report", "clinic", "-o", "r.html", "--title", "\udcff"],
        ["report", "clinic", "-o", "\udcff.html"],
        ["info", "\udcff.csv"],
        ["info", "x\0y.csv"],
        ["info", "x" * 100_000],
        ["info", "/dev/full/x.csv"],
        ["sample", "clinic", "-o", "/dev/full"],
        ["sample", "clinic", "-o", "x" * 300 + ".csv"],
        ["convert", "clinic", "\x1b[2J.zzz"],
        ["demo", "-n", HUGE],
    ],
    ids=lambda options: "-".join(map(str, options))[:60].encode("ascii", "replace").decode(),
)
def test_abused_options_are_refused(tried, tmp_path, options):
    written(tmp_path / "r.csv", RECORDS)
    assert tried(*options).code == 2


@pytest.mark.parametrize("name", GOOD_CALLS)
def test_some_abused_calls(tmp_path, rng, name):
    """Every option with every value that is wrong: a few of some six thousand calls."""
    assert abuse(good_call(name), tmp_path / "files", seconds=300) == ["done"]
    calls = abuses(name)
    for index in rng.choice(len(calls), 12, replace=False).tolist():
        abuse(calls[index], tmp_path / "files")


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD_CALLS)
def test_all_abused_calls(tmp_path, name):
    for call in abuses(name):
        abuse(call, tmp_path / "files")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (["sample", "clinic.json", "-o", "loop.csv"], "loop.csv is a link that leads to itself"),
        (["convert", "", "out.xdsl"], "no edges.csv"),
        (["schedule", "loop.csv"], "loop.csv"),
        (["reproduce", "table1", "--quick", "--jobs", str(HUGE)], "1024"),
        (["schedule", "a\0b"], "a null character"),
        (["sample", "clinic.json", "--layout", "x" * 100_000], "xxx..."),
        (["count", "clinic.json", "r.csv", "-o", "c.moments", "--cluster", "empty.json"],
         "'empty.json' is not the address of a cluster"),
        (["count", "clinic.json", "r.csv", "-o", "c.moments", "--cluster", "local:\u00b2"],
         "the number of workers"),
        (["count", "clinic.json", "r.csv", "-o", "c.moments", "--cluster", f"local:{HUGE}"],
         "the number of workers"),
    ],
)  # fmt: skip
def test_what_abused_calls_are_told(tried, tmp_path, monkeypatch, call, words):
    write_files(tmp_path / "files")
    monkeypatch.chdir(tmp_path / "files")
    ended = tried(*call)
    assert ended.code == 2
    assert words in ended.err


@pytest.mark.parametrize("method", ["refined", "pooled", "sequential", "exact_em", "uniform"])
def test_a_structure_without_diseases(tried, tmp_path, method):
    Structure([], ["a", "b"], []).save(tmp_path / "none.json")
    written(tmp_path / "ab.csv", "a,b\n1,0\n0,1\n1,1\n")
    options = ["--method", method, "--summary", "s.csv", "--report", "r.html"]
    compiling = {"seconds": 300}
    assert tried("fit", "none.json", "ab.csv", "-o", "l.json", *options, **compiling)[0] == 0
    for more in (["--sets", "3"], ["--ask"], ["--explain"]):
        assert tried("diagnose", "l.json", "-p", "a", *more, **compiling)[0] == 0


@pytest.mark.parametrize("depth", ["inf", "-inf", "nan", "1e300", "0.5", "-1", "x"])
def test_depths_that_are_none(tried, tmp_path, depth):
    network = datasets.clinic()
    records = network.sample(300, rng=0)
    estimate = NoisyOrLearner(network.structure, method="pooled").fit(records).estimate_
    estimate.network.save(tmp_path / "n.json")
    estimate.save_summary(tmp_path / "s.csv")
    header, first, *rows = (tmp_path / "s.csv").read_text().splitlines()
    cells = first.split(",")
    cells[header.replace('"', "").split(",").index("depth")] = depth
    written(tmp_path / "bad.csv", "\n".join([header, ",".join(cells), *rows]))
    code, _, err = tried("report", "n.json", "--summary", "bad.csv", "-o", "r.html", seconds=300)
    is_empty = depth == "nan"  # as R and pandas write an empty cell
    assert code == 0 if is_empty else "'depth'" in err


def interrupted(files, plan, checkpoint):
    """Count two files and be interrupted in the third."""
    n_left = 3

    def interrupt(_):
        nonlocal n_left
        n_left -= 1
        if not n_left:
            raise KeyboardInterrupt

    request = CountRequest(plan, RecordFormat(), 50)
    counting = ResumableCount(request, checkpoint, 1)
    with pytest.raises(KeyboardInterrupt):
        counting.run(counting.open(files, resume=False), interrupt)


@pytest.mark.parametrize("number", range(4))
def test_one_flipped_bit_in_a_checkpoint(tried, tmp_path, rng, number):
    """Either it is noticed, or it was in a byte that means nothing: never other counts."""
    network = datasets.clinic()
    network.save(tmp_path / "clinic.json")
    for seed in range(3):
        network.sample(50, rng=seed).to_parquet(tmp_path / f"r{seed}.parquet")
    files = sorted(tmp_path.glob("r*.parquet"))
    plan = MomentPlan.coupled(network.structure)
    right = count_moments(files, plan)
    checkpoint = tmp_path / "all.moments.partial"
    interrupted(files, plan, checkpoint)
    whole, n_noticed = checkpoint.read_bytes(), 0
    for at in rng.integers(0, 8 * len(whole), 60).tolist():
        damaged = bytearray(whole)
        damaged[at // 8] ^= 1 << at % 8
        written(checkpoint, bytes(damaged))
        code, _, _ = tried("count", "clinic.json", *files, "-o", "all.moments", "--resume", "-q")
        n_noticed += code == 2
        if code == 0:
            assert Moments.load(tmp_path / "all.moments") == right
    assert n_noticed


@pytest.mark.slow
def test_an_output_that_lacks_letters_shows_them_escaped(tmp_path):
    structure = Structure.from_edges([("грипп", "熱"), ("грипп", "\u202eabc")])
    structure.save(tmp_path / "s.json")
    command = [sys.executable, "-m", "noisyor", "schedule", str(tmp_path / "s.json")]
    for encoding in ("ascii", "latin-1"):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run(
            command, env=environment, capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert b"\\u0433" in done.stdout
        assert b"Traceback" not in done.stderr


def test_the_last_net_tells_the_file_and_how_to_see_more(run, tmp_path, monkeypatch):
    """What no check foresees ends in a sentence, too; other errors are ours and are not hidden."""
    from noisyor.cli import info

    file = written(tmp_path / "a.csv", RECORDS)
    for error, words in (
        (MemoryError(), "not enough memory"),
        (OverflowError("too large"), "OverflowError 'too large'"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "UnicodeDecodeError"),
        (RecursionError("deep"), "RecursionError"),
        (__import__("pyarrow").ArrowCapacityError("array too large"), "array too large"),
    ):

        def fails(*_, error=error):
            raise error

        monkeypatch.setattr(info, "_facts", fails)
        code, _, err = run("info", file)
        assert code == 2
        assert words in err
        assert "a.csv" in err
    monkeypatch.setenv("NOISYOR_TRACEBACK", "1")
    with pytest.raises(RecursionError):
        _main("info", str(file), monkeypatch, info, RecursionError())
    monkeypatch.delenv("NOISYOR_TRACEBACK")
    with pytest.raises(AttributeError):
        _main("info", str(file), monkeypatch, info, AttributeError())


def _main(command, file, monkeypatch, module, error):
    from noisyor.cli import main

    def fails(*_):
        raise error

    monkeypatch.setattr(module, "_facts", fails)
    main([command, file])
