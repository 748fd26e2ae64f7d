"""Compiling beforehand."""

import json

import pytest

from noisyor.cli import warm_up
from noisyor.inference import record_kernels


def test_kinds_of_work_are_done_and_told(run, monkeypatch):
    """In this process: others would import the real work anew."""
    done = []
    monkeypatch.setattr(warm_up, "WORK", {"a": lambda: done.append("a"), "b": lambda: None})
    warm_up._do("a")
    assert done == ["a"]
    code, out, err = run("warm-up", "--jobs", 1, "--help")
    assert code == 0
    assert "first answers" in out
    assert not err


@pytest.mark.parametrize("name", ["asking", "structures"])
def test_work_leaves_nothing_to_compile(name):
    warm_up.WORK[name]()
    n_signatures = len(record_kernels.solve_records.outer.signatures)
    warm_up.WORK[name]()
    assert len(record_kernels.solve_records.outer.signatures) == n_signatures
    assert n_signatures > 0 or name != "asking"


@pytest.mark.slow
def test_all_is_compiled_by_processes(run):
    code, out, _ = run("warm-up", "--jobs", 2, "--json")
    assert code == 0
    assert json.loads(out)["work"] == list(warm_up.WORK)
