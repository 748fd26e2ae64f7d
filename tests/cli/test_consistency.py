"""The commands as one thing: the same options mean the same everywhere."""

import json

import pytest
import typer.main

from noisyor import datasets
from noisyor.cli.app import app

COMMANDS = typer.main.get_command(app).commands


def options_of(command):
    return {option for each in command.params for option in each.opts}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_speaks_to_machines_and_can_be_quiet(name):
    options = options_of(COMMANDS[name])
    assert "--json" in options
    if "--output" in options or "--out" in options:
        assert "--quiet" in options


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example(name):
    assert "Example: noisyor " in COMMANDS[name].help


@pytest.fixture
def folder(tmp_path):
    network = datasets.clinic()
    network.save(tmp_path / "clinic.json")
    network.sample(500, rng=0).to_parquet(tmp_path / "r.parquet")
    return tmp_path


def test_what_was_done_can_be_read_by_machines(run, folder):
    clinic, records = folder / "clinic.json", folder / "r.parquet"
    for arguments, expected in (
        (["sample", clinic, "-n", "9", "-o", folder / "s.csv"], {"records": 9, "seed": 0}),
        (["count", clinic, records, "-o", folder / "a.moments"], {"records": 500, "files": 1}),
        (["merge", folder / "a.moments", "-o", folder / "b.moments"], {"records": 500, "files": 1}),
        (["plan-triplets", folder / "a.moments", "-o", folder / "t.plan"], {"symptoms": 60}),
        (["schedule", clinic, "-o", folder / "s.json"], {"edges": 120}),
        (["evaluate", clinic, clinic, "-n", "5"], {}),
    ):
        code, out, err = run(*arguments, "--json")
        assert (code, err) == (0, "")
        assert json.loads(out).items() >= expected.items()
        if arguments[0] in ("sample", "count", "schedule"):
            code, out, err = run(*arguments, "--quiet")
            assert (code, out) == (0, "")


def test_the_module_is_the_command():
    import subprocess
    import sys

    found = subprocess.run(
        [sys.executable, "-m", "noisyor", "--version"], capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith("noisyor ")
