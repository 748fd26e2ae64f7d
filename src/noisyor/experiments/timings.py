"""The paper's timings of Section 4.2: schedule, sufficient statistics, solving."""

import time
from collections.abc import Callable
from pathlib import Path

from noisyor.experiments.drawing import COLOURS, markdown_table, picture, shown
from noisyor.experiments.networks import network_named
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import Settings
from noisyor.learning import learn_sequential
from noisyor.moments import count_moments
from noisyor.schedule import find_schedule

NETWORK = "qmr_shaped"
PAPER = {
    "schedule": (4.5 * 3600.0, "4.5 hours on 32 processors"),
    "statistics": (2.5e-4, "0.25 ms a record"),
    "solving": (180.0, "under 3 minutes"),
}
"""Seconds, and in words."""
REPEATS = 3


def n_records(settings: Settings) -> int:
    """Return how many records are counted."""
    return 100_000 if settings.quick else 1_000_000


def cells(settings: Settings) -> list[Cell]:
    """List what is timed."""
    return [Cell(NETWORK, n_records(settings), 0, what) for what in PAPER]


def measure(cell: Cell, settings: Settings) -> dict[str, float]:
    """Time one step."""
    network = network_named(NETWORK, 0, settings.structures)
    if cell.method == "schedule":
        return {"seconds": _best_of(lambda: find_schedule(network.structure))}
    schedule = find_schedule(network.structure)
    plan = schedule.plan()
    records = network.sample(cell.n_records, seed=1)
    if cell.method == "statistics":
        seconds = _best_of(lambda: count_moments(records, plan, n_groups=1))
        return {"seconds": seconds / cell.n_records}
    moments = count_moments(records, plan, n_groups=1)
    return {"seconds": _best_of(lambda: learn_sequential(moments, schedule))}


def _best_of(work: Callable[[], object]) -> float:
    """Return the shortest time of several runs, the first of which compiles."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _seconds(results: Results, settings: Settings, what: str) -> float:
    return results.mean(NETWORK, n_records(settings), what, "seconds")


def draw(results: Results, settings: Settings, folder: Path) -> list[str]:
    """Draw how many times faster each step is."""
    with picture(folder / "timings", 1, (6.0, 2.4)) as (axis,):
        for place, what in enumerate(PAPER):
            seconds = _seconds(results, settings, what)
            axis.plot([PAPER[what][0], seconds], [place, place], color="#cccccc", zorder=1)
            axis.plot([PAPER[what][0]], [place], "o", color=COLOURS["sequential"])
            axis.plot([seconds], [place], "o", color=COLOURS["refined"])
            axis.annotate(
                f"{PAPER[what][0] / seconds:,.0f} times", (seconds, place), (0, 7),
                textcoords="offset points", fontsize=8, ha="center",
            )  # fmt: skip
        axis.set_yticks(range(len(PAPER)), ["schedule", "statistics, a record", "solving"])
        axis.set(xscale="log", xlabel="seconds: the paper (orange), here (blue)", ylim=(-0.5, 2.7))
    return ["timings"]


def page(results: Results, settings: Settings) -> str:
    """Return a table of the paper's times and ours."""
    rows = [["step", "the paper", "here, s", "times faster"]]
    for what, (paper, words) in PAPER.items():
        seconds = _seconds(results, settings, what)
        rows.append([what, words, shown(seconds, "{:.2g}"), shown(paper / seconds, "{:,.0f}")])
    return "\n\n".join(
        [
            "# Timings on a network of QMR's size",
            "**The paper** (Section 4.2): a machine with 64 cores; the schedule on 32 processors, "
            "statistics and solving in Python on one.",
            f"**Here**, the best of {REPEATS} runs; statistics are those of the schedule, "
            f"over {n_records(settings):,} records in memory, on all cores:",
            markdown_table(rows),
            "**Where they differ:** aQMR-DT is not public; `qmr_shaped` has its size. The paper's "
            "time for the schedule is wall-clock time. Solving is without standard errors here.",
        ]
    )
