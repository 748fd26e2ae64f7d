"""Figure 3: errors and run times on the network of Figure 1, against the number of records."""

import time
from pathlib import Path

from noisyor import datasets
from noisyor.experiments.drawing import curve, label_curves, markdown_table, picture, shown
from noisyor.experiments.measures import sums_of_errors
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import Settings
from noisyor.learner import NoisyOrLearner

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


def sizes(settings: Settings) -> tuple[int, ...]:
    """Return the numbers of records."""
    if settings.quick:
        return 100, 1000, 10_000, 100_000
    return 100, 316, 1000, 3162, 10_000, 31_623, 100_000, 1_000_000


def n_networks(method: str, n_records: int, settings: Settings) -> int:
    """Return on how many random networks a method is run."""
    if settings.quick:
        return 3
    is_long = method == "refined" and n_records > 100_000  # it looks at every record
    return 16 if method in FEWER or is_long else 64


def cells(settings: Settings) -> list[Cell]:
    """List the networks, records and methods."""
    return [
        Cell(NETWORK, n_records, seed, method)
        for n_records in sizes(settings)
        for method in METHODS
        for seed in range(settings.seed, settings.seed + n_networks(method, n_records, settings))
    ]


def measure(cell: Cell, settings: Settings) -> dict[str, float]:
    """Learn from one sample."""
    network = datasets.figure1(cell.seed)
    records, diseases = network.sample(
        cell.n_records, seed=cell.seed + SAMPLE, return_diseases=True
    )
    restarts = RESTARTS.get(cell.method, 1)
    if settings.quick:
        restarts = min(restarts, 4)
    learner = NoisyOrLearner(network.structure, method=cell.method, n_init=restarts)
    start = time.perf_counter()
    learned = learner.fit(records, diseases).network_
    elapsed = time.perf_counter() - start
    pruned = float((learned.failures > 0.95).any())  # true failures are at most 0.8
    # The paper times a single run.
    return sums_of_errors(network, learned) | {"seconds": elapsed / restarts, "pruned": pruned}


def draw(results: Results, settings: Settings, folder: Path) -> list[str]:
    """Draw errors and seconds."""
    names = []
    for name, quantity, what in (
        ("figure3", "l1", "priors and failures"),
        ("figure3-with-leaks", "l1_with_leaks", "priors, failures and leaks"),
    ):
        with picture(folder / name, 2, (9.5, 3.6)) as (left, right):
            for method in METHODS:
                at = sizes(settings)
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


def page(results: Results, settings: Settings) -> str:
    """Return tables and what they show."""
    at = sizes(settings)
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
    return "\n\n".join(
        [
            "# Figure 3: method of moments against EM",
            "**The paper:** on the network of Figure 1 (64 random networks, 16 for exact EM; "
            "parameters in [0.2, 0.8], leaks 0.01) the error of the method of moments falls with "
            "the number of records, that of variational EM does not, in nearly all runs because "
            "it prunes edges; exact EM is comparable to the method of moments; the method of "
            "moments is much faster where there are many records.",
            "**Here:** " + _finding(results, at[-1]),
            "Sum of absolute errors of priors and failures, mean and standard deviation over "
            f"networks ({_counts(results, at[-1])}):",
            markdown_table(rows),
            "Seconds of one run (of several starts: one of them), the median over networks:",
            markdown_table(times),
            "**Where they differ:** the paper says that variational EM prunes an edge in nearly "
            f"all of its runs; here the best of the runs does so in {_pruned(results, at[-1]):.0%} "
            "of the networks (a failure above 0.95 of an edge whose failure is at most 0.8), and "
            "does not find the truth in the others either. Variational EM and exact EM are written "
            "anew, in compiled "
            "code that looks at equal records once, so that their time hardly grows with the "
            "records, unlike in the paper. `refined`, `pooled`, maximum likelihood and `observed` "
            "(which sees the diseases) are not in the paper.",
        ]
    )


def _pruned(results: Results, n_records: int) -> float:
    return results.mean(NETWORK, n_records, "variational_em", "pruned")


def _counts(results: Results, n_records: int) -> str:
    n = {m: len(results.all(NETWORK, n_records, m, "l1")) for m in ("sequential", "exact_em")}
    return f"{n['sequential']} networks; {n['exact_em']} for exact EM and maximum likelihood"


def _finding(results: Results, n_records: int) -> str:
    """Say in words whether the paper's finding is reproduced, from the numbers."""
    mean = {m: results.mean(NETWORK, n_records, m, "l1") for m in METHODS}
    pruned = _pruned(results, n_records)
    return (
        f"with {n_records:,} records the errors are {mean['sequential']:.3f} (the paper's "
        f"learner), {mean['refined']:.3f} (refined), {mean['exact_em']:.3f} (exact EM), "
        f"{mean['variational_em']:.3f} (variational EM, which prunes an edge in {pruned:.0%} of "
        f"the networks) and {mean['uniform']:.3f} (guessing)."
    )
