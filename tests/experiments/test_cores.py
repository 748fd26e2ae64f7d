"""Threads, and what stays serial."""

import pytest

from noisyor.experiments import ExperimentSettings, cores
from noisyor.experiments.results import Cell, Results


def test_serial_shares_by_the_main_thread_and_by_amdahls_law():
    results = Results()
    for threads in (2, 4, 16):
        found = {"wall, s": 1.0 + 8.0 / threads, "processor, s": 9.0, "main thread, s": 1.8}
        found |= {"handing out, s": 0.9, "serial share": 0.1}
        results.add(Cell("qmr_shaped", 10, 0, f"pooled, {threads} threads"), found)
    page = cores.page(results)
    assert "| pooled | 10.0% | 11.1% (2 and 16) | 3.5 | 3.3 | 4 |" in page["serial"]
    assert "| pooled | 10 | 16 | 1.50 | 9.00 | 3.33 | - | 20.0% | 10.0% |" in page["measured"]


def test_clocks_of_a_busy_machine_tell_no_share():
    results = Results()
    for threads, wall in (2, 1.0), (4, 2.0):
        found = {"wall, s": wall, "processor, s": 1.0, "main thread, s": 0.5, "serial share": 0.5}
        results.add(Cell("qmr_shaped", 10, 0, f"pooled, {threads} threads"), found)
    assert "| pooled | 50.0% | - | 1.4 | - | 4 |" in cores.page(results)["serial"]


def test_what_work_gains_is_compared_with_what_the_machine_can():
    """Sixteen threads on eight cores: arithmetic gains 4 times, and so can nothing gain 8."""
    results = Results()
    for kind, seconds in ("the machine: arithmetic", (8.0, 2.0)), ("pooled", (9.0, 3.0)):
        for threads, wall in zip((2, 16), seconds, strict=True):
            found = {"wall, s": wall, "processor, s": 16.0, "main thread, s": 0.5}
            results.add(Cell("qmr_shaped", 10, 0, f"{kind}, {threads} threads"), found)
    page = cores.page(results)
    assert "| pooled | 10 | 16 | 3.00 | 16.00 | 3.00 | 75% | 3.1% | - |" in page["measured"]
    assert page["short"].endswith("pooled 3.0, the machine: arithmetic 4.0, "
                                  "the machine: copying memory -")  # fmt: skip


@pytest.mark.parametrize(
    ("n_cores", "threads"), [(1, [2, 1]), (2, [2, 1]), (8, [8, 2, 4, 1]), (16, [16, 2, 8, 4, 1])]
)
def test_the_most_threads_come_first(monkeypatch, n_cores, threads):
    monkeypatch.setattr(cores.parallel, "n_cores", lambda: n_cores)
    found = [cores.parts_of(cell.method)[1] for cell in cores.cells(ExperimentSettings())]
    assert list(dict.fromkeys(found)) == threads


@pytest.mark.parametrize(
    "kind", ["the machine: copying memory", "count, all coupled pairs", "pooled"]
)
def test_clocks_agree_with_each_other(kind):
    for threads in 1, 2:
        cell = Cell("clinic", 300, 0, f"{kind}, {threads} threads")
        found = cores.measure(cell, ExperimentSettings())
        assert 0.0 < found["main thread, s"] <= found["processor, s"] + 1e-3
        assert found["wall, s"] > 0.0
        hands_out = kind.startswith("count") and threads > 1
        assert ("handing out, s" in found) == hands_out
        assert 0.0 <= found.get("handing out, s", 0.0) <= found["main thread, s"]
