"""Figure 3 of the paper: errors and times on the network of Figure 1, against EM."""

from pathlib import Path

from noisyor.evaluation import evaluate
from noisyor.experiments.drawing import curve, label_curves, picture
from noisyor.experiments.learners import fit_sample
from noisyor.experiments.measures import KINDS, coverage, sums_of_errors
from noisyor.experiments.results import Cell, Quantities, Results, Run, cells_of
from noisyor.experiments.settings import ExperimentSettings
from noisyor.experiments.tables import by_records, shown

LASTS = "35 minutes"
NETWORK = "figure1"
METHODS = (
    "sequential", "pooled", "refined", "exact_em", "maximum_likelihood", "variational_em",
    "observed", "uniform",
)  # fmt: skip
FEWER = ("exact_em", "maximum_likelihood")
"""Methods for which the paper takes 16 networks instead of 64."""
STARTS = {"variational_em": 64, "exact_em": 4, "maximum_likelihood": 4}
INTERVALS = ("refined", "pooled", "sequential")


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List the networks, records and methods."""
    sizes = settings.pick(
        (100, 316, 1000, 3162, 10_000, 31_623, 100_000, 1_000_000), (100, 1000, 10_000, 100_000)
    )
    found = []
    for n_records in sizes:
        for method in METHODS:
            is_long = method == "refined" and n_records > 100_000  # it looks at every record
            n_networks = settings.pick(16 if method in FEWER or is_long else 64, 3)
            found += cells_of([NETWORK], [n_records], settings.seeds(n_networks), [method])
    return found


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Learn from one sample."""
    network = settings.network(cell.network, cell.seed)
    n_init = STARTS.get(cell.method, 1)
    n_init = settings.pick(n_init, min(n_init, 4))
    sample = cell.n_records, cell.seed + 10**6
    estimate, found = fit_sample(network, cell.method, *sample, n_init)
    learned = estimate.network
    intervals = coverage(estimate, network)
    return {
        **sums_of_errors(evaluate(learned, network, n_records=0)),
        "seconds": found["seconds"] / n_init,  # the paper times a single run
        "pruned": float((learned.failures > 0.95).any()),  # true failures are at most 0.8
        **{name: n for name, n in intervals.items() if name.startswith(("sound", "held"))},
    }


def draw(results: Results, folder: Path) -> list[str]:
    """Draw errors and seconds."""
    at = results.sizes()
    pictures = {
        "figure3": ("l1", "priors and failures"),
        "figure3-with-leaks": ("l1_with_leaks", "priors, failures and leaks"),
    }
    for name, (quantity, what) in pictures.items():
        with picture(folder / name, 2, (9.5, 3.6)) as (left, right):
            for method in METHODS:
                means = [results.mean(NETWORK, n, method, quantity) for n in at]
                spread = [results.spread(NETWORK, n, method, quantity) for n in at]
                # Exact EM ends where maximum likelihood does.
                curve(left, at, means, method, spread=spread, is_below=method == "exact_em")
                seconds = [results.median(NETWORK, n, method, "seconds") for n in at]
                if method not in ("observed", "uniform"):
                    curve(right, at, seconds, method)
            for axis, label in (left, f"sum of errors: {what}"), (right, "seconds, one run"):
                axis.set(xscale="log", yscale="log", xlabel="records", ylabel=label)
                label_curves(axis)
    return list(pictures)


def page(results: Results) -> dict[str, object]:
    """Return the tables, and what they show with most records."""
    most = results.sizes()[-1]

    def error(run: Run) -> str:
        spread = shown(results.spread(*run, "l1"), "{:.2g}")
        return f"{shown(results.mean(*run, 'l1'), '{:.3g}')} ± {spread}"

    def ratio(run: Run) -> str:
        best = results.all(*run[:2], "maximum_likelihood", "l1")
        theirs = results.all(*run, "l1")[: len(best)]  # seeds of all methods begin with the same
        return f"{theirs.mean() / best.mean():.2f}" if theirs.size else ""

    def covered(run: Run) -> str:
        shares = [results.mean(*run, f"held {kind} / sound {kind}") for kind in KINDS]
        texts = [shown(share, "{:.1%}") for share in shares]
        return " / ".join(texts) if any(texts) else ""

    def median(run: Run) -> str:
        return shown(results.median(*run, "seconds"), "{:.3g}")

    return {
        "most": most,
        **{method: results.mean(NETWORK, most, method, "l1") for method in METHODS},
        "pruned": results.mean(NETWORK, most, "variational_em", "pruned"),
        "n_networks": len(results.all(NETWORK, most, "sequential", "l1")),
        "n_fewer": len(results.all(NETWORK, most, "exact_em", "l1")),
        "errors": by_records(results, NETWORK, METHODS, error),
        "ratios": by_records(results, NETWORK, INTERVALS, ratio),
        "coverage": by_records(results, NETWORK, INTERVALS, covered),
        "times": by_records(results, NETWORK, METHODS, median),
    }
