"""What the documentation shows is run, and what it names exists."""

import operator
import re
import shlex
from pathlib import Path

import pytest

import noisyor
import noisyor.experiments
from noisyor.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

LONG = ("docs/together.md", "docs/when-it-works.md", "docs/cluster.md")
"""Pages that take many seconds to run."""


def blocks(path, language):
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def python_blocks(path):
    """Return each block of Python and, where a block of text follows, what it prints."""
    text = path.read_text(encoding="utf-8")
    pattern = r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?"
    return re.findall(pattern, text, flags=re.MULTILINE | re.DOTALL)


def commands(path):
    return [line for block in blocks(path, "console") for line in block.splitlines()]


def pages_with(what):
    """Make a case of each page on which something is found."""
    cases = []
    for path in PAGES:
        name = path.relative_to(ROOT).as_posix()
        marks = [pytest.mark.slow] if name in LONG and what in (python_blocks, commands) else []
        if what(path):
            cases.append(pytest.param(path, id=name, marks=marks))
    return pytest.mark.parametrize("path", cases)


@pages_with(python_blocks)
def test_python_blocks_run_and_print_what_stands_below_them(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block, shown in python_blocks(path):
        exec(compile(block, path.name, "exec"), names)
        printed = capsys.readouterr().out
        assert not shown or printed == shown, block


@pages_with(commands)
def test_commands_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for line in commands(path):
        command, *arguments = shlex.split(line)
        assert command == "noisyor", line
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert not exit_.value.code, capsys.readouterr().err


def test_the_readme_has_blocks_to_run():
    readme = ROOT / "README.md"
    assert len(blocks(readme, "python")) == len(blocks(readme, "console")) == 1


def links(path):
    """Return the links to other files of the project."""
    targets = re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))
    return [target for target in targets if "://" not in target]


@pages_with(links)
def test_links_lead_somewhere(path):
    for target in links(path):
        assert (path.parent / target).exists(), f"{path}: {target}"


def paper_map_rows():
    text = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
    return [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("|")][2:]


def test_functions_and_tests_named_in_the_paper_map_exist():
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    rows = paper_map_rows()
    for _, _, functions, checks in rows:
        for name in re.findall(r"`([\w.]+)`", functions):
            assert operator.attrgetter(name)(noisyor), name
        for name in re.findall(r"`(test_\w+)`", checks):
            assert f"def {name}(" in tests, name
        for name in re.findall(r"`(tests/[\w/]+\.py)`", checks):
            assert (ROOT / name).exists(), name
    assert len(rows) > 20


@pytest.mark.parametrize("name", [name for name in noisyor.__all__ if name[0] != "_"])
def test_every_public_name_has_an_example(name):
    # The doctests run it.
    assert ">>> " in (getattr(noisyor, name).__doc__ or "")
