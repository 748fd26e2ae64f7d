"""Section 4.2 of the paper: seconds for schedule, sufficient statistics and solving."""

from pathlib import Path

from noisyor.experiments.drawing import COLOURS, picture
from noisyor.experiments.learners import fit_moments
from noisyor.experiments.measures import best_of
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import Settings
from noisyor.experiments.tables import markdown_table, shown
from noisyor.moments import count_moments
from noisyor.schedule import find_schedule

LASTS = "10 s"
NETWORK = "qmr_shaped"
PAPER = {
    "schedule": (4.5 * 3600.0, "4.5 hours on 32 processors"),
    "statistics": (2.5e-4, "0.25 ms a record"),
    "solving": (180.0, "under 3 minutes"),
}
"""Seconds, and in words."""
REPEATS = 3


def cells(settings: Settings) -> list[Cell]:
    """List what is timed."""
    return [Cell(NETWORK, settings.pick(1_000_000, 100_000), 0, what) for what in PAPER]


def measure(cell: Cell, settings: Settings) -> dict[str, float]:
    """Time one step; the first of several runs compiles."""
    network = settings.network(cell.network)
    if cell.method == "schedule":
        return {"seconds": best_of(REPEATS, find_schedule, network.structure)}
    schedule = find_schedule(network.structure)
    plan = schedule.plan()
    records = network.sample(cell.n_records, seed=1)
    if cell.method == "statistics":
        elapsed = best_of(REPEATS, count_moments, records, plan, n_groups=1)
        return {"seconds": elapsed / cell.n_records}
    moments = count_moments(records, plan, n_groups=1)
    return {"seconds": best_of(REPEATS, fit_moments, moments, schedule)}


def _found(results: Results) -> dict[str, float]:
    """Return the seconds of each step."""
    [network], [n_records] = results.networks(), results.sizes()
    return {what: results.mean(network, n_records, what, "seconds") for what in PAPER}


def draw(results: Results, folder: Path) -> list[str]:
    """Draw how many times faster each step is."""
    with picture(folder / "timings", 1, (6.0, 2.4)) as (axis,):
        for row, what in enumerate(PAPER):
            elapsed = _found(results)[what]
            axis.plot([PAPER[what][0], elapsed], [row, row], color="#cccccc", zorder=1)
            axis.plot([PAPER[what][0]], [row], "o", color=COLOURS["sequential"])
            axis.plot([elapsed], [row], "o", color=COLOURS["refined"])
            axis.annotate(
                f"{PAPER[what][0] / elapsed:,.0f} times", (elapsed, row), (0, 7),
                textcoords="offset points", fontsize=8, ha="center",
            )  # fmt: skip
        axis.set_yticks(range(len(PAPER)), ["schedule", "statistics, a record", "solving"])
        axis.set(xscale="log", xlabel="seconds: the paper (orange), here (blue)", ylim=(-0.5, 2.7))
    return ["timings"]


def page(results: Results) -> dict[str, object]:
    """Return a table of the paper's times and ours."""
    rows = [["step", "the paper", "here, s", "times faster"]]
    for what, (paper, words) in PAPER.items():
        elapsed = _found(results)[what]
        rows.append([what, words, shown(elapsed, "{:.2g}"), shown(paper / elapsed, "{:,.0f}")])
    n_records = results.sizes()[0]
    return {"repeats": REPEATS, "n_records": n_records, "steps": markdown_table(rows)}
