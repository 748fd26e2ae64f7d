"""Section 4.2 of the paper: seconds for schedule, sufficient statistics and solving."""

import math
from pathlib import Path

from noisyor.experiments.drawing import COLOURS, note, picture
from noisyor.experiments.measures import best_of
from noisyor.experiments.results import Cell, Quantities, Results
from noisyor.experiments.settings import ExperimentSettings
from noisyor.experiments.tables import markdown_table
from noisyor.learning import learn_sequential
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


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List what is timed."""
    return [Cell(NETWORK, settings.pick(1_000_000, 100_000), 0, what) for what in PAPER]


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Time one step; the first of several runs compiles."""
    network = settings.network(cell.network)
    if cell.method == "schedule":
        return {"seconds": best_of(REPEATS, find_schedule, network.structure)}
    schedule = find_schedule(network.structure)
    plan = schedule.plan()
    records = network.sample(cell.n_records, rng=1)
    if cell.method == "statistics":
        elapsed = best_of(REPEATS, count_moments, records, plan, n_groups=1)
        return {"seconds": elapsed / cell.n_records}
    moments = count_moments(records, plan, n_groups=1)
    return {"seconds": best_of(REPEATS, learn_sequential, moments, schedule)}


def draw(results: Results, folder: Path) -> list[str]:
    """Draw how many times faster each step is."""
    with picture(folder / "timings", 1, (6.5, 2.6)) as (axis,):
        for row, run in enumerate(results.runs(*PAPER)):
            paper, elapsed = PAPER[run[2]][0], results.mean(*run, "seconds")
            axis.plot([paper, elapsed], [row, row], color="#cccccc", zorder=1)
            for seconds, method, name in (
                (elapsed, "refined", "here"),
                (paper, "sequential", "paper"),
            ):
                label = None if row else name
                axis.plot([seconds], [row], "o", color=COLOURS[method], label=label)
            middle = math.sqrt(paper * elapsed)
            note(axis, f"{paper / elapsed:,.0f} times faster", (middle, row), (0, 5), "center")
        axis.set_yticks(range(len(PAPER)), ["schedule", "statistics, a record", "solving"])
        axis.set(xscale="log", xlabel="seconds", ylim=(-0.5, len(PAPER) - 0.4))
        axis.margins(x=0.08)
        axis.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False)
    return ["timings"]


def page(results: Results) -> dict[str, object]:
    """Return a table of the paper's times and ours."""
    rows = [["step", "the paper", "here, s", "times faster"]]
    for run in results.runs(*PAPER):
        (paper, words), elapsed = PAPER[run[2]], results.mean(*run, "seconds")
        rows.append([run[2], words, f"{elapsed:.2g}", f"{paper / elapsed:,.0f}"])
    n_records = results.sizes()[0]
    return {"repeats": REPEATS, "n_records": n_records, "steps": markdown_table(rows)}
