"""`noisyor reproduce`: the list, and what is refused."""

import json

import pytest

from noisyor.cli import main
from noisyor.experiments import EXPERIMENTS


def test_the_list(capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "--list", "--json"])
    listed = json.loads(capsys.readouterr().out)
    assert list(listed) == list(EXPERIMENTS)
    assert all(text.endswith(".") and "Full size" in text for text in listed.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure9"], "there is no experiment 'figure9'"),
        (["table1", "--structures", "none"], "--structures none is not a folder"),
        (["table1", "--structures", "."], "has no edges.csv"),
        (["table1", "--only", "figure9/*"], "no cell of table1 is like 'figure9/*'; they are"),
        (["all", "--only", "clinic/*"], "--only names cells of one experiment"),
        (["table1", "--out", "file"], "--out file is a file; give a folder"),
    ],
)
def test_what_is_refused(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    code, out, err = run("reproduce", *arguments, "--quick")
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_run_tells_what_it_measured_and_the_next_has_nothing_left(run, tmp_path):
    facts = [
        json.loads(run("reproduce", "table1", "--quick", "--out", tmp_path, "--json")[1])
        for _ in range(2)
    ]
    assert facts[0]["cells_measured"] > 0 == facts[1]["cells_measured"]
    assert facts[0]["page"] == str(tmp_path / "table1.md")
