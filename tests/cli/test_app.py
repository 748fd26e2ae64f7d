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
        (["info", "."], "has no edges.csv"),
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


def test_the_installed_command_runs():
    command = [str(Path(sys.executable).parent / "noisyor"), "info", "figure1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["edges"] == 7
    assert done.stderr == ""
