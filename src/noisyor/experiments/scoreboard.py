"""All methods on all networks: errors, coverage, posteriors, time and memory."""

import functools
from pathlib import Path
from typing import Any

from noisyor import datasets
from noisyor.evaluation import evaluate
from noisyor.experiments.drawing import (
    curve,
    label_curves,
    line_of,
    names_of_curves,
    picture,
    records_axis,
)
from noisyor.experiments.learners import fit_sample
from noisyor.experiments.measures import coverage, mean_errors
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import NETWORKS, Settings
from noisyor.experiments.tables import SAMPLES, network_tables

LASTS = "50 minutes"
METHODS = (
    "refined", "pooled", "sequential", "maximum_likelihood", "variational_em", "observed",
    "uniform",
)  # fmt: skip
SMALL = ("figure1", "figure2", "plants")
"""Where exact inference on all records is no matter."""
MIDDLE = ("tcc4e", "ddxplus")
"""Where records are solved in no time, too, but learning takes a while."""
SLOW = ("health_knowledge_graph", "orphanet570")
QUICKLY_REFINED = ("figure1", "plants")
ONLY_SIZES = {"health_knowledge_graph": (1000, 10_000), "orphanet570": (10_000,)}
"""Where a cell takes minutes; Figure 4 has more of orphanet570."""
IN_A_ROW = 4
HELD_OUT = 10**6 + 7
"""The seed of the records whose posteriors are compared."""


def methods(name: str, n_records: int, settings: Settings) -> list[str]:
    """Return the methods that can be run on a network in bearable time."""
    left_out = set()
    if name not in SMALL or (name == "plants" and (settings.quick or n_records > 1000)):
        left_out.add("maximum_likelihood")
    if settings.quick and name not in QUICKLY_REFINED:
        left_out.add("refined")
    if settings.quick and name not in SMALL:
        left_out.add("variational_em")
    if name in ("qmr_shaped", "orphanet570", "health_knowledge_graph"):
        left_out.add("variational_em")
    if name in MIDDLE and n_records > 10_000:
        left_out.add("variational_em")
    return [method for method in METHODS if method not in left_out]


def cells(settings: Settings) -> list[Cell]:
    """List networks, records and methods."""
    others = [name for name in settings.real_networks() if name not in NETWORKS]
    names = [*settings.available(*NETWORKS), *others]
    left_out = ("clinic", *settings.pick((), SLOW))
    found = []
    for n_records in settings.pick((1000, 10_000, 100_000), (500, 5000)):
        for name in names:
            if name in left_out or n_records not in ONLY_SIZES.get(name, (n_records,)):
                continue
            for seed in settings.seeds(n_samples(name, n_records, settings)):
                chosen = methods(name, n_records, settings)
                found += [Cell(name, n_records, seed, method) for method in chosen]
    return found


def n_samples(name: str, n_records: int, settings: Settings) -> int:
    """Return on how many samples, of random networks if they are, each method is run."""
    if settings.quick:
        return 1
    if n_records <= 1000:
        return {**dict.fromkeys(SMALL, 5), **dict.fromkeys(MIDDLE, 3)}.get(name, 1)
    return 3 if name in SMALL else 1


def measure(cell: Cell, settings: Settings) -> dict[str, float]:
    """Learn from one sample, and compare with the truth."""
    network = settings.network(cell.network, cell.seed)
    _compile(cell.method)
    sample = cell.n_records, cell.seed + 1
    estimate, found = fit_sample(network, cell.method, *sample, settings.pick(4, 1))
    n_held_out, budget = settings.pick((50, 0.1), (10, 0.05))
    if cell.network in (*SMALL, *MIDDLE):
        n_held_out *= 10
    compared = evaluate(
        estimate.network, network, n_records=n_held_out, rng=HELD_OUT, budget=budget
    )
    errors, intervals = mean_errors(compared), coverage(estimate, network)
    found |= {name: errors[name] for name in ("failures", "priors", "leaks")}
    found |= {name: intervals[name] for name in ("flagged", "covered") if name in intervals}
    if compared.posteriors is not None:
        found |= {
            "posterior": compared.posteriors.mean, "same_top": compared.posteriors.same_top
        }  # fmt: skip
    return found


@functools.cache
def _compile(method: str) -> None:
    """Have a method's compiled parts ready before it is timed."""
    fit_sample(datasets.figure1(0), method, 50, seed=0)


def draw(results: Results, folder: Path) -> list[str]:
    """Draw the error of the failures against records, a panel for each network."""
    names, at = results.networks(), results.sizes()
    n_rows = -(-len(names) // IN_A_ROW)
    in_a_row = -(-len(names) // n_rows)
    size = 2.7 * in_a_row + 1.2, 2.9 * n_rows
    with picture(folder / "scoreboard", len(names), size, n_rows) as axes:
        for axis, name in zip(axes, names, strict=True):
            for method in METHODS:
                errors = [results.mean(name, n, method, "failures") for n in at]
                curve(axis, at, errors, method, style=line_of(method))
            axis.set(yscale="log", title=name)
            records_axis(axis, at)
        for first in range(0, len(names), in_a_row):
            axes[first].set_ylabel("mean error of failures")
            _label_row(axes[first : first + in_a_row])
    return ["scoreboard"]


def _label_row(axes: Any) -> None:
    """Name each curve once, as far to the right as it occurs."""
    named: set[str] = set()
    for axis in reversed(list(axes)):
        label_curves(axis, names_of_curves(axis) - named)
        named |= names_of_curves(axis)


def page(results: Results) -> dict[str, object]:
    """Return a table for each network."""
    columns = {
        "failures": ("failures", "{:.4f}"), "priors": ("priors", "{:.4f}"),
        "leaks": ("leaks", "{:.4f}"), "covered": ("covered", "{:.1%}"),
        "flagged": ("flagged", "{:.0%}"), "posterior": ("posterior", "{:.5f}"),
        "top": ("same_top", "{:.0%}"), "s": ("seconds", "{:.2f}"),
        "MB": ("megabytes", "{:,.0f}"), "samples": ("failures", SAMPLES),
    }  # fmt: skip
    return {"networks": network_tables(results, columns, METHODS)}
