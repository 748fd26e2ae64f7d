"""All methods on all networks: errors, coverage, posteriors, time and memory."""

import functools
from pathlib import Path

import numpy as np

from noisyor import datasets
from noisyor.evaluation import evaluate
from noisyor.experiments.drawing import curves, legend_of_all, picture
from noisyor.experiments.learners import fit_sample
from noisyor.experiments.measures import coverage, mean_errors
from noisyor.experiments.results import Cell, Quantities, Results, cells_of
from noisyor.experiments.settings import NETWORKS, ExperimentSettings

LASTS = "50 minutes"
METHODS = (
    "refined", "pooled", "sequential", "maximum_likelihood", "variational_em", "observed",
    "uniform",
)  # fmt: skip
QUANTITIES = ("seconds", "megabytes", "failures", "priors", "leaks", "flagged", "covered",
              "posterior", "same_top")  # fmt: skip
SMALL = ("figure1", "figure2", "plants")
"""Where exact inference on all records is no matter."""
MIDDLE = ("tcc4e", "ddxplus")
"""Where records are solved in no time, too, but learning takes a while."""
SLOW = ("health_knowledge_graph", "orphanet570")
ONLY_SIZES = {"health_knowledge_graph": (1000, 10_000), "orphanet570": (10_000,)}
"""Where a cell takes minutes; Figure 4 has more of orphanet570."""


def methods(name: str, n_records: int, settings: ExperimentSettings) -> list[str]:
    """Return the methods that can be run on a network in bearable time."""
    quick = settings.quick
    left_out = {
        "maximum_likelihood": name not in SMALL
        or (name == "plants" and (quick or n_records > 1000)),
        "refined": quick and name not in ("figure1", "plants"),
        "variational_em": (quick and name not in SMALL)
        or name in ("qmr_shaped", *SLOW)
        or (name in MIDDLE and n_records > 10_000),
    }
    return [method for method in METHODS if not left_out.get(method)]


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List networks, records and methods."""
    others = [name for name in settings.real_networks() if name not in NETWORKS]
    names = [*settings.available(*NETWORKS), *others]
    left_out = ("clinic", *settings.pick((), SLOW))
    found = []
    for n_records in settings.pick((1000, 10_000, 100_000), (500, 5000)):
        for name in names:
            if name in left_out or n_records not in ONLY_SIZES.get(name, (n_records,)):
                continue
            seeds = settings.seeds(n_samples(name, n_records, settings))
            found += cells_of([name], [n_records], seeds, methods(name, n_records, settings))
    return found


def n_samples(name: str, n_records: int, settings: ExperimentSettings) -> int:
    """Return on how many samples, of random networks if they are, each method is run."""
    if settings.quick:
        return 1
    if n_records <= 1000:
        return {**dict.fromkeys(SMALL, 5), **dict.fromkeys(MIDDLE, 3)}.get(name, 1)
    return 3 if name in SMALL else 1


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Learn from one sample, and compare with the truth."""
    network = settings.network(cell.network, cell.seed)
    _compile(cell.method)
    sample = cell.n_records, cell.seed + 1
    estimate, found = fit_sample(network, cell.method, *sample, settings.pick(4, 1))
    n_held_out, budget = settings.pick((50, 0.1), (10, 0.05))
    if cell.network in (*SMALL, *MIDDLE):
        n_held_out *= 10
    compared = evaluate(
        estimate.network, network, n_records=n_held_out, rng=10**6 + 7, budget=budget
    )
    measured = found | mean_errors(compared) | coverage(estimate, network)
    if compared.posteriors is not None:
        measured["posterior"] = compared.posteriors.mean
        measured["same_top"] = compared.posteriors.same_top
    return {name: measured[name] for name in QUANTITIES if name in measured}


@functools.cache
def _compile(method: str) -> None:
    """Have a method's compiled parts ready before it is timed."""
    fit_sample(datasets.figure1(0), method, 50, seed=0)


def draw(results: Results, folder: Path) -> list[str]:
    """Draw the error of the failures against records, a panel for each network."""
    names = results.networks()
    n_rows = -(-len(names) // 4)
    in_a_row = -(-len(names) // n_rows)
    size = 2.7 * in_a_row, 2.9 * n_rows + 0.5
    with picture(folder / "scoreboard", len(names), size, n_rows) as axes:
        for axis, name in zip(axes, names, strict=True):
            curves(axis, results, name, METHODS, "failures")
        for first in range(0, len(names), in_a_row):
            axes[first].set_ylabel("mean error of failures")
        legend_of_all(axes)
    return ["scoreboard"]


def page(results: Results) -> dict[str, object]:
    """Return the runs of each network, and on how many of them `refined` is best."""
    names = results.networks()
    return {
        "networks": {name: results.runs(*METHODS, network=name) for name in names},
        "n_networks": len(names),
        "n_best": sum(_best_of(results, name) == "refined" for name in names),
    }


def _best_of(results: Results, network: str) -> str:
    """Return the method that errs least with most records, of those that see no disease."""
    most = results.sizes(network)[-1]
    errors = {
        method: results.mean(network, most, method, "failures")
        for method in METHODS
        if method != "observed"
    }
    return min(errors, key=lambda method: np.nan_to_num(errors[method], nan=np.inf))
