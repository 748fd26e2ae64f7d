"""Figure 4 of the paper: errors by depth, and failures left to learn, on large networks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from noisyor.evaluation import evaluate
from noisyor.experiments.drawing import curve, label_curves, line_of, picture, records_axis
from noisyor.experiments.learners import fit_chunks, fit_sample
from noisyor.experiments.measures import mean_errors, timed
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import Settings
from noisyor.experiments.tables import SAMPLES, markdown_table, shown, table
from noisyor.findings import Findings
from noisyor.network import NoisyOrNetwork
from noisyor.schedule import find_schedule

LASTS = "50 minutes"
METHODS = ("sequential", "pooled", "refined", "observed")
SCHEDULES = {"triplets only": False, "triplets and pairs": True}
CHUNK = 1_000_000
"""Records that are held at once; moments of more add up."""
LARGEST = [("qmr_shaped", "sequential"), ("qmr_shaped", "pooled")]
"""What is learned from more than CHUNK records: from moments, on one network."""
SAMPLE = 1


def cells(settings: Settings) -> list[Cell]:
    """List the schedules, then records and methods."""
    real = settings.real_networks()
    names = ["qmr_shaped", *(["orphanet570"] if "orphanet570" in real else list(real)[:1])]
    found = [Cell(name, 0, 0, schedule) for name in names for schedule in SCHEDULES]
    for n_records in settings.pick((10_000, 100_000, 1_000_000, 10_000_000), (1000, 10_000)):
        for name in settings.pick(names, names[:1]):
            is_long = settings.quick or n_records > 100_000 or name != "qmr_shaped"
            for seed in settings.seeds(1 if is_long else 3):
                found += [
                    Cell(name, n_records, seed, method)
                    for method in METHODS
                    if n_records <= CHUNK or (name, method) in LARGEST
                ]
    return found


def measure(cell: Cell, settings: Settings) -> dict[str, float]:
    """Find a schedule, or learn from one sample."""
    network = settings.network(cell.network, cell.seed)
    if cell.method in SCHEDULES:
        return _left(network, SCHEDULES[cell.method])
    learned, found = timed(_learn, network, cell)
    errors = mean_errors(evaluate(learned, network, n_records=0))
    kept = {name: error for name, error in errors.items() if name.startswith("failures ")}
    return {"seconds": found["seconds"], **kept}


def _left(network: NoisyOrNetwork, pairs: bool) -> dict[str, float]:
    """Return how many failures are left to learn after each depth, at the outset all (-1)."""
    depths = find_schedule(network.structure, pairs=pairs).depths
    found = {"left -1": float(len(depths))}
    for depth in range(int(depths.max()) + 1):
        found[f"left {depth}"] = float(((depths > depth) | (depths < 0)).sum())
    return found


def _learn(network: NoisyOrNetwork, cell: Cell) -> NoisyOrNetwork:
    """Learn from one sample; of more records than fit into memory the moments add up."""
    if cell.n_records <= CHUNK:
        return fit_sample(network, cell.method, cell.n_records, cell.seed + SAMPLE)[0].network

    def chunks() -> Iterator[Findings]:
        for number in range(cell.n_records // CHUNK):
            yield network.sample(CHUNK, rng=cell.seed + SAMPLE + 1000 * (number + 1))

    return fit_chunks(chunks, network.structure, cell.method).network


def draw(results: Results, folder: Path) -> list[str]:
    """Draw errors, a panel for each depth, and the parameters left."""
    pictures = []
    for name in results.networks():
        # Like the paper: at depth 3 are few parameters.
        depths = [d for d in results.numbers(name, "failures of depth") if d < 3]
        with picture(folder / f"figure4-{name}", len(depths) + 1, (13.0, 3.4)) as axes:
            for axis, depth in zip(axes, depths, strict=False):
                _draw_errors(axis, results, name, depth)
            _same_heights(axes[: len(depths)])
            if depths:
                label_curves(axes[len(depths) - 1])
            _draw_left(axes[-1], results, name)
        pictures.append(f"figure4-{name}")
    return pictures


def _draw_errors(axis: Any, results: Results, name: str, depth: int) -> None:
    at = results.sizes()
    for method in METHODS:
        means = [results.mean(name, n, method, f"failures of depth {depth}") for n in at]
        curve(axis, at, means, method, style=line_of(method))
    axis.set(yscale="log", title=f"{name}, depth {depth}")
    records_axis(axis, at)
    if depth == 0:
        axis.set_ylabel("mean error of failures")


def _same_heights(axes: Any) -> None:
    ends = [axis.get_ylim() for axis in axes]
    for axis in axes:
        axis.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))


def _draw_left(axis: Any, results: Results, name: str) -> None:
    for schedule, colour in zip(SCHEDULES, ("sequential", "pooled"), strict=True):
        depths = [
            depth
            for depth in results.numbers(name, "left")
            if results.all(name, 0, schedule, f"left {depth}").size
        ]
        counts = [max(results.mean(name, 0, schedule, f"left {d}"), 0.5) for d in depths]
        curve(axis, depths, counts, colour)
        axis.get_lines()[-1].set_label(schedule)
    axis.set(yscale="log", xlabel="depth", ylabel="failures left to learn", title=name)
    label_curves(axis)


def page(results: Results) -> dict[str, object]:
    """Return the tables of each network."""
    parts = []
    for name in results.networks():
        errors = _error_table(results, name)
        parts += [f"## {name}", errors and "Mean absolute error of failures:", errors]
        parts += ["Failures left to learn after each depth:", _left_table(results, name)]
    return {"networks": "\n\n".join(filter(None, parts))}


def _error_table(results: Results, name: str) -> str:
    columns = {"all": ("failures reached", "{:.4f}")}
    for depth in results.numbers(name, "failures of depth"):
        columns[f"depth {depth}"] = f"failures of depth {depth}", "{:.4f}"
    columns |= {"seconds": ("seconds", "{:.1f}"), "samples": ("seconds", SAMPLES)}
    runs = [
        ([method, f"{n_records:,}"], (name, n_records, method))
        for n_records in results.sizes(name)
        for method in METHODS
    ]
    return table(results, ["method", "records"], columns, runs)


def _left_table(results: Results, name: str) -> str:
    depths = results.numbers(name, "left")
    rows = [["schedule", *("at the outset" if d < 0 else f"depth {d}" for d in depths)]]
    for schedule in SCHEDULES:
        counts = [results.mean(name, 0, schedule, f"left {d}") for d in depths]
        rows.append([schedule, *(shown(count, "{:,.0f}") for count in counts)])
    return markdown_table(rows)
