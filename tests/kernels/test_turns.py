"""Processes that need the same kernel take turns."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from noisyor.kernels import kernel, turns

SCRIPT = """
import sys
import numpy as np
from noisyor.io import hash_kernels
print("ready", flush=True)
sys.stdin.readline()
hash_kernels.hash_numbers(np.arange(3, dtype=np.uint64))
print(sum(hash_kernels.hash_numbers.outer.stats.cache_hits.values()))
"""


@pytest.fixture(autouse=True)
def no_turn():
    yield
    turns.end_turn()


def test_a_kernel_is_compiled_by_one_of_two_processes(tmp_path):
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT], env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    assert sorted(worker.communicate(timeout=60)[0] for worker in workers) == ["0\n", "1\n"]
    assert not list(tmp_path.rglob("*.turn"))


def test_a_turn_is_waited_for_but_not_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "LONGEST_WAIT", 0.1)
    file = tmp_path / "kernel.turn"
    with file.open("ab") as opened:
        turns.fcntl.flock(opened, turns.fcntl.LOCK_EX)
        start = time.monotonic()
        turns.begin_turn(file)
        assert time.monotonic() - start >= 0.1
        assert not turns._held
    turns.begin_turn(file)
    assert turns._held


def test_where_nothing_can_be_written_or_locked_nobody_waits(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("no locks here")

    turns.begin_turn(tmp_path / "no" / "folder" / "kernel.turn")
    assert not turns._held
    monkeypatch.setattr(turns.fcntl, "flock", refuse)
    turns.begin_turn(tmp_path / "kernel.turn")
    assert not turns._held


def test_a_turn_ends_where_compiling_fails(tmp_path):
    @kernel
    def not_a_kernel(x):
        return x.nothing

    turns.begin_turn(tmp_path / "kernel.turn")
    with pytest.raises(Exception, match="nothing"):
        not_a_kernel(np.zeros(3))
    assert not turns._held
    assert not (tmp_path / "kernel.turn").exists()
