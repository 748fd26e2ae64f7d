"""The examples run, and show what they say."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples():
    assert {path.stem for path in EXAMPLES} >= {"another_hospital", "diagnosis_codes"}


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_is_known_helps(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    errors = [float(re.findall(r"priors (\S+)", line)[0]) for line in lines if "priors 0" in line]
    assert errors[-1] < 0.9 * min(errors[:-1])
