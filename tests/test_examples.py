"""The examples run, and show what they say."""

import json
import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
WHAT_IS_KNOWN = {"another_hospital", "diagnosis_codes"}
WITH_FIGURE = {"education", "fault_diagnosis"}
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def run(name, monkeypatch, *arguments):
    path = EXAMPLES / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(path), *arguments])
    runpy.run_path(str(path), run_name="__main__")


def test_every_example_is_run_by_a_test():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == WHAT_IS_KNOWN | WITH_FIGURE
    assert [path.name for path in NOTEBOOKS] == ["tour.ipynb"]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(WITH_FIGURE))
def test_the_story_is_told_and_drawn(name, capsys, tmp_path, monkeypatch):
    figure = tmp_path / "figure.png"
    run(name, monkeypatch, "--figure", str(figure))
    shares = re.findall(r"(\S+)% .*\(truth (\S+)%\)", capsys.readouterr().out)
    assert len(shares) >= 5
    assert all(abs(float(found) - float(true)) < 3.0 for found, true in shares)
    assert figure.stat().st_size > 10_000


def code_cells(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_hold_what_they_print(notebook, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names = {}
    for cell in code_cells(notebook):
        exec(compile("".join(cell["source"]), notebook.name, "exec"), names)
        printed = capsys.readouterr().out
        shown = [line for output in cell["outputs"] for line in output.get("text", [])]
        assert printed == "".join(shown)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(WHAT_IS_KNOWN))
def test_what_is_known_helps(name, capsys, monkeypatch):
    run(name, monkeypatch)
    lines = capsys.readouterr().out.splitlines()
    errors = [float(re.findall(r"priors (\S+)", line)[0]) for line in lines if "priors 0" in line]
    assert errors[-1] < 0.9 * min(errors[:-1])
