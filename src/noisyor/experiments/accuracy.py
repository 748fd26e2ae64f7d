"""Large networks: how near the learners come to estimators that see the diseases, at what cost."""

import functools
import itertools
from pathlib import Path

import numpy as np

from noisyor.evaluation import evaluate
from noisyor.experiments.drawing import COLOURS, curves, label_curves, note, picture
from noisyor.experiments.learners import fit, fit_sample
from noisyor.experiments.measures import KINDS, coverage, mean_errors, timed
from noisyor.experiments.results import Cell, Quantities, Results
from noisyor.experiments.settings import ExperimentSettings
from noisyor.experiments.tables import span
from noisyor.schedule import find_schedule

LASTS = "an hour"
LARGE = ("qmr_shaped", "orphanet570")
SEEN = ("observed", "observed_likelihood")
METHODS = ("refined", "pooled", "sequential")
ROUNDS = tuple(f"refined, {n} rounds" for n in (1, 2, 4, 6, 10, 20))


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List networks, records and methods; with a million records only some of them."""
    sizes = settings.pick((10_000, 100_000, 1_000_000), (1000, 10_000))
    found = []
    for n_records in sizes:
        is_long = n_records > 100_000
        for name in settings.available(*LARGE):
            for seed in settings.seeds(settings.pick(3 if is_long else 5, 1)):
                few = ("sequential", "observed_likelihood") if is_long and seed else ()
                chosen = [method for method in (*SEEN, *METHODS) if method not in few]
                found += [Cell(name, n_records, seed, method) for method in chosen]
    return found + [Cell(LARGE[0], sizes[1], settings.seed, rounds) for rounds in ROUNDS]


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Learn from one sample, with or without the diseases."""
    network = settings.network(cell.network)
    structure = network.structure
    _compile(settings)
    sample = cell.n_records, cell.seed + 1
    if cell.method in ROUNDS:
        findings = network.sample(sample[0], rng=sample[1])
        n_rounds = int(cell.method.split()[1])
        estimate, found = timed(fit, findings, structure, "refined", max_iter=n_rounds)
    else:
        estimate, found = fit_sample(network, cell.method, *sample)
    schedule = find_schedule(structure)
    reached, reached_priors = schedule.depths >= 0, schedule.prior_depths >= 0
    relative = np.abs(estimate.priors.values / network.priors - 1.0)
    found |= mean_errors(evaluate(estimate.network, network, n_records=0))
    found["priors relative"] = float(relative[reached_priors].mean())
    found["flagged failure"] = float((estimate.failures.flags[reached] != 0).mean())
    return found | (coverage(estimate, network) if cell.method in METHODS else {})


@functools.cache
def _compile(settings: ExperimentSettings) -> None:
    """Have loops compiled before anything is timed."""
    fit_sample(settings.network(LARGE[0]), "refined", 200, seed=0)


def draw(results: Results, folder: Path) -> list[str]:
    """Draw error against records for each network, and error against time."""
    names = results.networks()
    with picture(folder / "accuracy", len(names), (3.5 * len(names), 3.4)) as axes:
        for axis, name in zip(axes, names, strict=True):
            curves(axis, results, name, (*METHODS, *SEEN), "failures reached")
        axes[0].set_ylabel("mean error of failures")
        label_curves(axes[-1])
    with picture(folder / "accuracy-time", 2, (8.5, 3.2)) as (left, right):
        curves(left, results, LARGE[0], METHODS, "seconds")
        left.set(ylabel="seconds")
        label_curves(left)
        runs = results.runs(*ROUNDS)
        points = [(results.mean(*r, "seconds"), results.mean(*r, "failures reached")) for r in runs]
        right.plot(*zip(*points, strict=True), color=COLOURS["refined"], marker="o", markersize=3)
        for point, run in zip(points, runs, strict=True):
            note(right, run[2].split()[1], point, (3, 4))
        right.set(xlabel="seconds", ylabel="mean error of failures", title="rounds of EM")
    return ["accuracy", "accuracy-time"]


def page(results: Results) -> dict[str, object]:
    """Return a table for each network, and what they show of the networks of QMR's size."""
    names, sizes = [name for name in LARGE if name in results.networks()], results.sizes()
    failures, priors, most = "failures reached", "priors relative", results.sizes()[-1]

    def ratio(method: str, over: str, quantity: str, sizes: list[int]) -> str:
        runs = list(itertools.product(names, sizes))
        ours, theirs = ([results.mean(*run, m, quantity) for run in runs] for m in (method, over))
        return span(np.divide(ours, theirs).tolist())

    covered = [
        results.mean(name, n, "refined", f"covered {kind}")
        for name, n, kind in itertools.product(names, sizes, KINDS)
    ]
    rounds = results.runs(*ROUNDS)
    return {
        "large": ", ".join(names),
        "most": most,
        "refined_observed": ratio("refined", "observed", failures, sizes),
        "refined_limit": ratio("refined", "observed_likelihood", failures, sizes),
        "refined_priors": ratio("refined", "observed", priors, sizes),
        "covered": span(covered, "{:.1%}"),
        "pooled_observed": ratio("pooled", "observed", failures, sizes),
        "pooled_priors": ratio("pooled", "observed", priors, sizes),
        "sequential_refined": ratio("sequential", "refined", failures, [most]),
        "refined_seconds": span(results.all(LARGE[0], most, "refined", "seconds"), "{:.0f}"),
        "pooled_seconds": span(results.all(LARGE[0], most, "pooled", "seconds"), "{:.0f}"),
        "refined_processor": span(results.all(LARGE[0], most, "refined", "processor"), "{:.0f}"),
        "pooled_processor": span(results.all(LARGE[0], most, "pooled", "processor"), "{:.0f}"),
        "networks": {
            name: results.runs(*SEEN, *METHODS, network=name) for name in results.networks()
        },
        "refined": results.runs("refined"),
        "middle": rounds[0][1],
        "rounds": rounds,
    }
