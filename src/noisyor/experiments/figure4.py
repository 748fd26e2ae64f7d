"""Figure 4: errors by depth, and parameters left to learn, on a network of QMR's size."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from noisyor.experiments.drawing import (
    curve,
    label_curves,
    line_of,
    markdown_table,
    picture,
    records_axis,
    shown,
)
from noisyor.experiments.networks import network_named, real_networks
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import Settings
from noisyor.learner import NoisyOrLearner
from noisyor.learning import learn_pooled, plan_triplets
from noisyor.moments import MomentPlan, Moments, count_moments
from noisyor.network import NoisyOrNetwork
from noisyor.schedule import find_schedule

METHODS = ("sequential", "pooled", "refined", "observed")
SCHEDULES = {"triplets only": False, "triplets and pairs": True}
CHUNK = 1_000_000
"""Records that are held at once; moments of more add up."""
LARGEST = [("qmr_shaped", "sequential"), ("qmr_shaped", "pooled")]
"""What is learned from more than CHUNK records: from moments, on one network."""
SAMPLE = 1


def networks(settings: Settings) -> list[str]:
    """Return the QMR-shaped network, and a real one where it is given."""
    real = real_networks(settings.structures)
    chosen = ["orphanet570"] if "orphanet570" in real else list(real)[:1]
    return ["qmr_shaped", *chosen]


def sizes(settings: Settings) -> tuple[int, ...]:
    """Return the numbers of records."""
    return (1000, 10_000) if settings.quick else (10_000, 100_000, 1_000_000, 10_000_000)


def cells(settings: Settings) -> list[Cell]:
    """List the schedules, then records and methods."""
    found = [Cell(name, 0, 0, how) for name in networks(settings) for how in SCHEDULES]
    for n_records in sizes(settings):
        for name in networks(settings):
            is_long = settings.quick or n_records > 100_000 or name != "qmr_shaped"
            n_samples = 1 if is_long else 3
            for seed in range(settings.seed, settings.seed + n_samples):
                found += [
                    Cell(name, n_records, seed, method)
                    for method in METHODS
                    if n_records <= CHUNK or (name, method) in LARGEST
                    if not (settings.quick and name != "qmr_shaped")
                ]
    return found


def measure(cell: Cell, settings: Settings) -> dict[str, float]:
    """Find a schedule, or learn from one sample."""
    network = network_named(cell.network, cell.seed, settings.structures)
    if cell.method in SCHEDULES:
        return _left(network, SCHEDULES[cell.method])
    start = time.perf_counter()
    learned = _learn(network, cell)
    elapsed = time.perf_counter() - start
    schedule = find_schedule(network.structure)
    wrong = np.abs(learned.failures - network.failures)
    found = {"seconds": elapsed, "failures": float(wrong[schedule.depths >= 0].mean())}
    for depth in range(int(schedule.depths.max()) + 1):
        found[f"depth {depth}"] = float(wrong[schedule.depths == depth].mean())
    return found


def _left(network: NoisyOrNetwork, pairs: bool) -> dict[str, float]:
    """Return how many failures are left to learn after each depth, at the outset all (-1)."""
    depths = find_schedule(network.structure, pairs=pairs).depths
    found = {"left -1": float(len(depths))}
    for depth in range(int(depths.max()) + 1):
        found[f"left {depth}"] = float(((depths > depth) | (depths < 0)).sum())
    return found


def _learn(network: NoisyOrNetwork, cell: Cell) -> NoisyOrNetwork:
    """Learn from one sample; of more records than fit into memory the moments add up."""
    learner = NoisyOrLearner(network.structure, method=cell.method)
    if cell.n_records <= CHUNK:
        records, diseases = network.sample(
            cell.n_records, seed=cell.seed + SAMPLE, return_diseases=True
        )
        return learner.fit(records, diseases).network_
    if cell.method == "sequential":
        return learner.fit(_counted(network, cell, learner.find_plan())).network_
    pairs = _counted(network, cell, MomentPlan.coupled(network.structure))
    schedule = find_schedule(network.structure)
    triplets = _counted(network, cell, plan_triplets(pairs, schedule))
    return learn_pooled(pairs, schedule, triplets=triplets).network


def _counted(network: NoisyOrNetwork, cell: Cell, plan: MomentPlan) -> Moments:
    """Count chunk after chunk, which are sampled anew: the second time they are the same."""
    seeds = [cell.seed + SAMPLE + 1000 * (k + 1) for k in range(cell.n_records // CHUNK)]
    total = count_moments(network.sample(CHUNK, seed=seeds[0]), plan)
    for seed in seeds[1:]:
        total += count_moments(network.sample(CHUNK, seed=seed), plan)
    return total


def _depths(results: Results, name: str, quantity: str) -> list[int]:
    """Return the depths that were measured."""
    found = []
    for depth in range(-1, 50):
        cells_with = [
            n
            for cell in results.cells
            if cell.network == name
            for n in results.all(name, cell.n_records, cell.method, f"{quantity} {depth}")
        ]
        if cells_with:
            found.append(depth)
    return found


def draw(results: Results, settings: Settings, folder: Path) -> list[str]:
    """Draw errors, a panel for each depth, and the parameters left."""
    pictures = []
    for name in networks(settings):
        # Like the paper: at depth 3 are few parameters.
        depths = [d for d in _depths(results, name, "depth") if d < 3]
        with picture(folder / f"figure4-{name}", len(depths) + 1, (13.0, 3.4)) as axes:
            for axis, depth in zip(axes, depths, strict=False):
                _draw_errors(axis, results, settings, name, depth)
            _same_heights(axes[: len(depths)])
            if depths:
                label_curves(axes[len(depths) - 1])
            _draw_left(axes[-1], results, name)
        pictures.append(f"figure4-{name}")
    return pictures


def _draw_errors(axis: Any, results: Results, settings: Settings, name: str, depth: int) -> None:
    at = sizes(settings)
    for method in METHODS:
        means = [results.mean(name, n, method, f"depth {depth}") for n in at]
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
    for how, colour in zip(SCHEDULES, ("sequential", "pooled"), strict=True):
        depths = [
            d for d in _depths(results, name, "left") if results.all(name, 0, how, f"left {d}").size
        ]
        counts = [max(results.mean(name, 0, how, f"left {d}"), 0.5) for d in depths]
        curve(axis, depths, counts, colour)
        axis.get_lines()[-1].set_label(how)
    axis.set(yscale="log", xlabel="depth", ylabel="failures left to learn", title=name)
    label_curves(axis)


def page(results: Results, settings: Settings) -> str:
    """Return tables and what they show."""
    parts = [
        "# Figure 4: errors and parameters left, by depth",
        "**The paper:** on aQMR-DT (570 diseases, 4,075 symptoms) most parameters are learned at "
        "depth 0 and 1, all but one subnetwork by depth 3 with pairs, by more rounds with "
        "triplets alone; errors grow with depth and fall with the number of records, from 10,000 "
        "to 1,000,000.",
        "**Here:** aQMR-DT is not public; `qmr_shaped` has its size, degrees and troublesome "
        "pair of diseases, with parameters of its own. `sequential` is the paper's learner; "
        "`pooled` and `refined` use all pairs, and all records; `observed` sees the diseases.",
    ]
    for name in networks(settings):
        parts.append(f"## {name}")
        if _depths(results, name, "depth"):
            errors = _error_table(results, settings, name)
            parts += ["Mean absolute error of failures:", errors]
        parts += ["Failures left to learn after each depth:", _left_table(results, name)]
    parts.append(
        "**Where they differ:** the paper shows errors of its own learner only. Its figure has no "
        "numbers printed beside it, so that only the shapes can be compared."
    )
    return "\n\n".join(parts)


def _error_table(results: Results, settings: Settings, name: str) -> str:
    depths = _depths(results, name, "depth")
    rows = [["method", "records", "all", *(f"depth {d}" for d in depths), "seconds", "samples"]]
    for n_records in sizes(settings):
        for method in METHODS:
            of_run = name, n_records, method
            errors = [results.mean(*of_run, f"depth {d}") for d in depths]
            if np.isfinite(errors).any():
                cells = [shown(e, "{:.4f}") for e in (results.mean(*of_run, "failures"), *errors)]
                seconds = shown(results.mean(*of_run, "seconds"), "{:.1f}")
                n = str(len(results.all(*of_run, "failures")))
                rows.append([method, f"{n_records:,}", *cells, seconds, n])
    return markdown_table(rows)


def _left_table(results: Results, name: str) -> str:
    depths = _depths(results, name, "left")
    rows = [["schedule", *("at the outset" if d < 0 else f"depth {d}" for d in depths)]]
    for method in SCHEDULES:
        counts = [results.mean(name, 0, method, f"left {d}") for d in depths]
        rows.append([method, *(shown(count, "{:,.0f}") for count in counts)])
    return markdown_table(rows)
