"""Figure 4 of the paper: errors by depth, and failures left to learn, on large networks."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from noisyor.evaluation import evaluate
from noisyor.experiments.drawing import curve, curves, label_curves, picture
from noisyor.experiments.learners import fit_chunks, fit_sample
from noisyor.experiments.measures import mean_errors, timed
from noisyor.experiments.results import Cell, Quantities, Results, cells_of
from noisyor.experiments.settings import ExperimentSettings
from noisyor.findings import Findings
from noisyor.network import NoisyOrNetwork
from noisyor.schedule import find_schedule

LASTS = "50 minutes"
METHODS = ("sequential", "pooled", "refined", "observed")
SCHEDULES = {"triplets only": False, "triplets and pairs": True}
CHUNK = 1_000_000
"""Records that are in memory at once; moments of more add up."""
LARGEST = [("qmr_shaped", "sequential"), ("qmr_shaped", "pooled")]
"""What is learned from more than CHUNK records: from moments, on one network."""


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List the schedules, then records and methods."""
    real = settings.real_networks()
    names = ["qmr_shaped", *(["orphanet570"] if "orphanet570" in real else list(real)[:1])]
    found = cells_of(names, [0], [0], SCHEDULES)
    for n_records in settings.pick((10_000, 100_000, 1_000_000, 10_000_000), (1000, 10_000)):
        for name in settings.pick(names, names[:1]):
            is_long = settings.quick or n_records > 100_000 or name != "qmr_shaped"
            methods = [m for m in METHODS if n_records <= CHUNK or (name, m) in LARGEST]
            found += cells_of([name], [n_records], settings.seeds(1 if is_long else 3), methods)
    return found


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Find a schedule, or learn from one sample."""
    network = settings.network(cell.network, cell.seed)
    if cell.method in SCHEDULES:
        return _left(network, SCHEDULES[cell.method])
    learned, found = timed(_learn, network, cell)
    errors = mean_errors(evaluate(learned, network, n_records=0))
    kept = {name: error for name, error in errors.items() if name.startswith("failures ")}
    return {"seconds": found["seconds"], **kept}


def _left(network: NoisyOrNetwork, pairs: bool) -> Quantities:
    """Return how many failures are left to learn after each depth, at the outset all (-1)."""
    depths = find_schedule(network.structure, pairs=pairs).depths
    return {
        f"left {depth}": float(((depths > depth) | (depths < 0)).sum())
        for depth in range(-1, int(depths.max()) + 1)
    }


def _learn(network: NoisyOrNetwork, cell: Cell) -> NoisyOrNetwork:
    """Learn from one sample; of more records than fit into memory the moments add up."""
    if cell.n_records <= CHUNK:
        return fit_sample(network, cell.method, cell.n_records, cell.seed + 1)[0].network

    def chunks() -> Iterator[Findings]:
        for number in range(cell.n_records // CHUNK):
            yield network.sample(CHUNK, rng=cell.seed + 1 + 1000 * (number + 1))

    return fit_chunks(chunks, network.structure, cell.method).network


def draw(results: Results, folder: Path) -> list[str]:
    """Draw errors, a panel for each depth, and the parameters left."""
    pictures = []
    for name in results.networks():
        # Like the paper: at depth 3 are few parameters.
        depths = [d for d in results.numbers(name, "failures of depth") if d < 3]
        with picture(folder / f"figure4-{name}", len(depths) + 1, (13.0, 3.4)) as (*axes, last):
            for axis, depth in zip(axes, depths, strict=True):
                curves(axis, results, name, METHODS, f"failures of depth {depth}")
                axis.set(title=f"{name}, depth {depth}")
            ends = [end for axis in axes for end in axis.get_ylim()]
            for axis in axes:
                axis.set_ylim(min(ends), max(ends))
            if axes:
                axes[0].set_ylabel("mean error of failures")
                label_curves(axes[-1])
            depths = results.numbers(name, "left")
            for schedule, colour in zip(SCHEDULES, ("sequential", "pooled"), strict=True):
                counts = [results.mean(name, 0, schedule, f"left {d}") for d in depths]
                curve(last, depths, np.maximum(counts, 0.5).tolist(), colour, label=schedule)
            last.set(yscale="log", xlabel="depth", ylabel="failures left to learn", title=name)
            label_curves(last)
        pictures.append(f"figure4-{name}")
    return pictures


def page(results: Results) -> dict[str, object]:
    """Return the runs of both tables."""
    return {"errors": results.runs(*METHODS), "left": results.runs(*SCHEDULES)}
