"""Threads, and what stays serial."""

import pytest

from noisyor.experiments import ExperimentSettings, cores
from noisyor.experiments.results import Cell, Results


def test_serial_shares_by_the_main_thread_and_by_amdahls_law():
    results = Results()
    for threads in (1, 2, 16):
        found = {"wall, s": 1.0 + 8.0 / threads, "processor, s": 9.0, "main thread, s": 0.9}
        results.add(Cell("qmr_shaped", 10, 0, f"pooled, {threads} threads"), found)
    page = cores.page(results)
    assert "| pooled | 10.0% | 11.1% (1 and 16) | 3.5 | 4 |" in page["serial"]
    assert "| pooled | 10 | 16 | 1.50 | 9.00 | 3.33 | 10.0% |" in page["measured"]


def test_clocks_of_a_busy_machine_tell_no_share():
    results = Results()
    for threads, wall in (1, 1.0), (2, 2.0):
        found = {"wall, s": wall, "processor, s": 1.0, "main thread, s": 0.5}
        results.add(Cell("qmr_shaped", 10, 0, f"pooled, {threads} threads"), found)
    assert "| pooled | 50.0% | - | 1.4 | 4 |" in cores.page(results)["serial"]


@pytest.mark.parametrize("kind", ["count, all coupled pairs", "pooled"])
def test_clocks_agree_with_each_other(kind):
    found = cores.measure(Cell("clinic", 300, 0, f"{kind}, 1 threads"), ExperimentSettings())
    assert 0.0 < found["main thread, s"] <= found["processor, s"] + 1e-3
    assert found["wall, s"] > 0.0
