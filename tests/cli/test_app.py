import json
import subprocess
import sys
from pathlib import Path

import pytest

from noisyor import __version__


def test_help_and_version(run):
    code, out, _ = run("--help")
    assert code == 0
    for command in (
        "info",
        "sample",
        "schedule",
        "plan",
        "count",
        "plan-triplets",
        "merge",
        "fit",
        "demo",
    ):
        assert command in out
        assert "Example: noisyor" in run(command, "--help")[1]
    assert run("--version") == (0, f"noisyor {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nothing.json"], "nothing.json does not exist"),
        (["info", "."], "edges.csv does not exist"),
        (["info", "damaged.json"], "damaged.json, line 1, column 2: not valid JSON"),
        (
            ["info", "other.json"],
            "other.json is not a noisyor.structure or noisyor.network or noisyor.schedule",
        ),
        (["info", "damaged.parquet"], "damaged.parquet is not a readable Parquet file"),
        (["sample", "nothing", "-o", "r.csv"], "nothing does not exist. Give a network file"),
        (["sample", "clinic", "-o", "records.txt"], "the ending must be .csv or .parquet"),
        (["sample", "clinic", "-o", "none/r.csv"], "the directory none does not exist"),
        (["sample", "clinic", "-o", "r.csv", "-n", "-5"], "greater than or equal"),
        (["sample", "clinic", "-o", "r.csv", "--layout", "tall"], "tall"),
        (["sample", "clinic"], "--output"),
        (["unknown"], "unknown"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_2(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "damaged.json").write_text("{")
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "damaged.parquet").write_text("PAR1")
    before = set(tmp_path.iterdir())
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err
    assert set(tmp_path.iterdir()) == before


def test_notices_go_to_standard_error(run, tmp_path):
    import warnings

    from noisyor.cli import app
    from noisyor.errors import NoisyOrWarning

    def warn():
        warnings.warn("mind the gap", NoisyOrWarning, stacklevel=1)

    registered = list(app.app.registered_commands)
    app.app.command("warn")(app.ending_kindly(warn))
    try:
        assert run("warn") == (0, "", "noisyor: note: mind the gap\n")
    finally:
        app.app.registered_commands[:] = registered


def test_ctrl_c_ends_with_a_word_and_code_130(run, monkeypatch, tmp_path):
    from noisyor.network import NoisyOrNetwork as Network

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Network, "iter_sample", interrupt)
    code, out, err = run("sample", "clinic", "-o", tmp_path / "r.parquet")
    assert code == 130
    assert out == ""
    assert err.strip().splitlines()[-1] == "noisyor: interrupted"
    assert list(tmp_path.iterdir()) == []


def test_the_installed_command_runs():
    command = [str(Path(sys.executable).parent / "noisyor"), "info", "figure1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["edges"] == 7
    assert done.stderr == ""


def test_a_reader_who_has_had_enough_is_no_error(tmp_path):
    noisyor = Path(sys.executable).parent / "noisyor"
    small = f"demo --network figure1 --records 100 -o {tmp_path}"
    script = f"set -o pipefail; {noisyor} {small} | true"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_in_the_middle_of_real_work(tmp_path):
    import signal
    import time

    script = "from noisyor.cli import main; main()"
    arguments = ["sample", "qmr_shaped", "-n", "100000000", "-o", str(tmp_path / "r.parquet")]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".r.parquet.*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.strip() == "noisyor: interrupted"
    assert list(tmp_path.iterdir()) == []
