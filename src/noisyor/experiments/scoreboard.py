"""The scoreboard: all methods on all networks: errors, coverage, posteriors, time, memory."""

import functools
from pathlib import Path
from typing import Any

import numpy as np

from noisyor.experiments.drawing import (
    curve,
    label_curves,
    line_of,
    markdown_table,
    names_of_curves,
    picture,
    records_axis,
    shown,
)
from noisyor.experiments.measures import coverage, posterior_error, timed
from noisyor.experiments.networks import network_named, real_networks
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import Settings
from noisyor.learner import NoisyOrLearner

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


def networks(settings: Settings) -> list[str]:
    """Return the networks, the small ones first."""
    real = real_networks(settings.structures)
    if settings.quick:
        real = {name: folder for name, folder in real.items() if name not in SLOW}
    found = ["figure1", "figure2", *(name for name in real if name != "orphanet570"), "qmr_shaped"]
    return found + [name for name in real if name == "orphanet570"]


def sizes(settings: Settings) -> tuple[int, ...]:
    """Return the numbers of records."""
    return (500, 5000) if settings.quick else (1000, 10_000, 100_000)


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
    found = []
    for n_records in sizes(settings):
        for name in networks(settings):
            if n_records not in ONLY_SIZES.get(name, (n_records,)):
                continue
            for seed in range(settings.seed, settings.seed + n_samples(name, n_records, settings)):
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
    network = network_named(cell.network, cell.seed, settings.structures)
    _compile(cell.method)
    restarts = 1 if settings.quick else 4
    learner = NoisyOrLearner(network.structure, method=cell.method, n_init=restarts)
    records, diseases = network.sample(cell.n_records, seed=cell.seed + 1, return_diseases=True)
    _, found = timed(lambda: learner.fit(records, diseases).estimate_)
    estimate = learner.estimate_
    found |= {
        "failures": float(np.abs(estimate.failures.values - network.failures).mean()),
        "priors": float(np.abs(estimate.priors.values - network.priors).mean()),
        "leaks": float(np.abs(estimate.leaks.values - network.leaks).mean()),
    }
    found |= coverage(network, estimate)
    is_easy = cell.network in (*SMALL, *MIDDLE)
    n_held_out, budget = (10, 0.05) if settings.quick else (50, 0.1)
    if is_easy:
        n_held_out *= 10
    found |= posterior_error(network, estimate.network, n_held_out, HELD_OUT, budget)
    return found


@functools.cache
def _compile(method: str) -> None:
    """Have a method's compiled parts ready before it is timed."""
    small = network_named("figure1", 0, None)
    learner = NoisyOrLearner(small.structure, method=method)
    learner.fit(*small.sample(50, seed=0, return_diseases=True))


def draw(results: Results, settings: Settings, folder: Path) -> list[str]:
    """Draw the error of the failures against records, a panel for each network."""
    names, at = networks(settings), sizes(settings)
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


def page(results: Results, settings: Settings) -> str:
    """Return a table for each network."""
    parts = [
        "# Scoreboard",
        "All methods on the same samples. Errors are mean absolute ones. *Covered*: 95% "
        "intervals without a flag that hold the truth. *Posterior*: the mean absolute difference "
        "of disease posteriors under the learned and the true network, on new records; *top*: "
        "how often the most probable disease is the same. `observed` sees the diseases; "
        "`uniform` looks at nothing. The paper has no such table.",
    ]
    quantities = {
        "failures": "{:.4f}", "priors": "{:.4f}", "leaks": "{:.4f}", "covered": "{:.1%}",
        "flagged": "{:.0%}", "posterior": "{:.5f}", "same_top": "{:.0%}", "seconds": "{:.2f}",
        "megabytes": "{:,.0f}",
    }  # fmt: skip
    titles = ["failures", "priors", "leaks", "covered", "flagged", "posterior", "top", "s", "MB"]
    for name in networks(settings):
        rows = [["records", "method", *titles, "samples"]]
        for n_records in sizes(settings):
            for method in METHODS:
                n = len(results.all(name, n_records, method, "failures"))
                if n:
                    cells_of_row = [
                        shown(results.mean(name, n_records, method, quantity), form)
                        for quantity, form in quantities.items()
                    ]
                    rows.append([f"{n_records:,}", method, *cells_of_row, str(n)])
        if len(rows) > 1:
            parts += [f"## {name}", markdown_table(rows)]
    parts.append(
        "Left out: exact EM ends where maximum likelihood does; maximum likelihood and "
        "variational EM on the large networks take too long, and so do many records of "
        "health_knowledge_graph and orphanet570 (Figure 4 has more of it). Times were taken beside "
        "other work if the run had several jobs."
    )
    return "\n\n".join(parts)
