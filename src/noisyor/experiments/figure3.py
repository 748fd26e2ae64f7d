"""Figure 3 of the paper: errors and times on the network of Figure 1, against EM."""

from pathlib import Path

import numpy as np

from noisyor.evaluation import evaluate
from noisyor.experiments.drawing import curve, label_curves, picture
from noisyor.experiments.learners import fit_sample
from noisyor.experiments.measures import coverage, sums_of_errors
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import Settings
from noisyor.experiments.tables import markdown_table, shown

LASTS = "35 minutes"
NETWORK = "figure1"
METHODS = (
    "sequential", "pooled", "refined", "exact_em", "maximum_likelihood", "variational_em",
    "observed", "uniform",
)  # fmt: skip
FEWER = ("exact_em", "maximum_likelihood")
"""Methods for which the paper takes 16 networks instead of 64."""
RESTARTS = {"variational_em": 64, "exact_em": 4, "maximum_likelihood": 4}
SAMPLE = 10**6
"""Added to the seed of a network for that of its records."""


def n_networks(method: str, n_records: int, settings: Settings) -> int:
    """Return on how many random networks a method is run."""
    is_long = method == "refined" and n_records > 100_000  # it looks at every record
    return settings.pick(16 if method in FEWER or is_long else 64, 3)


def cells(settings: Settings) -> list[Cell]:
    """List the networks, records and methods."""
    sizes = settings.pick(
        (100, 316, 1000, 3162, 10_000, 31_623, 100_000, 1_000_000), (100, 1000, 10_000, 100_000)
    )
    return [
        Cell(NETWORK, n_records, seed, method)
        for n_records in sizes
        for method in METHODS
        for seed in settings.seeds(n_networks(method, n_records, settings))
    ]


def measure(cell: Cell, settings: Settings) -> dict[str, float]:
    """Learn from one sample."""
    network = settings.network(cell.network, cell.seed)
    restarts = RESTARTS.get(cell.method, 1)
    restarts = settings.pick(restarts, min(restarts, 4))
    sample = cell.n_records, cell.seed + SAMPLE
    estimate, found = fit_sample(network, cell.method, *sample, restarts)
    learned = estimate.network
    intervals = coverage(estimate, network)
    return {
        **sums_of_errors(evaluate(learned, network, n_records=0)),
        "seconds": found["seconds"] / restarts,  # the paper times a single run
        "pruned": float((learned.failures > 0.95).any()),  # true failures are at most 0.8
        **{name: n for name, n in intervals.items() if name.startswith(("sound", "held"))},
    }


def draw(results: Results, folder: Path) -> list[str]:
    """Draw errors and seconds."""
    at, names = results.sizes(), []
    for name, quantity, what in (
        ("figure3", "l1", "priors and failures"),
        ("figure3-with-leaks", "l1_with_leaks", "priors, failures and leaks"),
    ):
        with picture(folder / name, 2, (9.5, 3.6)) as (left, right):
            for method in METHODS:
                means = [results.mean(NETWORK, n, method, quantity) for n in at]
                spread = [results.spread(NETWORK, n, method, quantity) for n in at]
                style = ":" if method == "uniform" else "-"
                curve(left, at, means, method, spread=spread, style=style)
                seconds = [results.median(NETWORK, n, method, "seconds") for n in at]
                if method not in ("observed", "uniform"):
                    curve(right, at, seconds, method)
            left.set(xscale="log", yscale="log", xlabel="records",
                     ylabel=f"sum of errors: {what}")  # fmt: skip
            right.set(xscale="log", yscale="log", xlabel="records", ylabel="seconds, one run")
            for axis in left, right:
                label_curves(axis)
        names.append(name)
    return names


def page(results: Results) -> dict[str, object]:
    """Return the tables, and what they show with most records."""
    at = results.sizes()
    most = at[-1]
    rows = [["method", *(f"{n:,}" for n in at)]]
    times = [["method", *(f"{n:,}" for n in at)]]
    for method in METHODS:
        means = [
            (results.mean(NETWORK, n, method, "l1"), results.spread(NETWORK, n, method, "l1"))
            for n in at
        ]
        rows.append([method, *(f"{shown(m, '{:.3g}')} ± {shown(s, '{:.2g}')}" for m, s in means)])
        seconds = [results.median(NETWORK, n, method, "seconds") for n in at]
        times.append([method, *(shown(each, "{:.3g}") for each in seconds)])
    return {
        "most": most,
        **{method: results.mean(NETWORK, most, method, "l1") for method in METHODS},
        "pruned": results.mean(NETWORK, most, "variational_em", "pruned"),
        "n_networks": len(results.all(NETWORK, most, "sequential", "l1")),
        "n_fewer": len(results.all(NETWORK, most, "exact_em", "l1")),
        "errors": markdown_table(rows),
        "ratios": _ratio_table(results),
        "coverage": _coverage_table(results),
        "times": markdown_table(times),
    }


def _ratio_table(results: Results) -> str:
    """Return the errors of other methods over those of maximum likelihood."""
    at = results.sizes()
    rows = [["method", *(f"{n:,}" for n in at)]]
    for method in "refined", "pooled", "sequential":
        cells_of_row = []
        for n_records in at:
            best = results.all(NETWORK, n_records, "maximum_likelihood", "l1")
            # Seeds begin with the same ones for all methods.
            theirs = results.all(NETWORK, n_records, method, "l1")[: len(best)]
            cells_of_row.append(f"{theirs.mean() / best.mean():.2f}" if theirs.size else "")
        rows.append([method, *cells_of_row])
    return markdown_table(rows)


def _coverage_table(results: Results) -> str:
    """Return the intervals that hold the truth, over all networks."""
    methods = "refined", "pooled", "sequential"
    at = [n for n in results.sizes() if results.all(NETWORK, n, "refined", "sound prior").size]
    rows = [["method", *(f"{n:,}" for n in at)]]
    for method in methods if at else ():
        shares = []
        for n_records in at:
            counts = [
                [results.all(NETWORK, n_records, method, f"{what} {kind}").sum()
                 for what in ("held", "sound")]
                for kind in ("prior", "failure", "leak")
            ]  # fmt: skip
            with np.errstate(invalid="ignore"):
                shares.append(
                    " / ".join(shown(held / np.float64(n), "{:.1%}") for held, n in counts)
                )
        rows.append([method, *shares])
    return markdown_table(rows)
