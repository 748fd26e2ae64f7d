"""The command that tries all attacks: what it counts, keeps and writes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adversary.attacks import KINDS

ROOT = Path(__file__).parents[2]


def attack(folder, *options):
    command = [sys.executable, ROOT / "scripts" / "attack.py", "--out", folder, *options]
    paths = os.pathsep.join(str(ROOT / each) for each in ("src", "tests"))
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.slow
def test_what_is_finished_is_kept(tmp_path):
    (line,) = attack(tmp_path, "--kinds", "odd-files", "--budget", "1")
    assert line.startswith("odd-files, count: ")
    assert ", 0 failures" in line
    page = (tmp_path / "attacks.md").read_text()
    assert "## odd-files" in page
    assert " counted" in page
    assert "attacks.md" in (tmp_path / "index.md").read_text()
    assert attack(tmp_path, "--kinds", "odd-files") == []
    assert (tmp_path / "attacks.md").read_text() == page


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_targets_and_a_meaning(kind):
    assert KINDS[kind].targets
    assert "`" not in "".join(KINDS[kind].targets)
