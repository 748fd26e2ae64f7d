"""Large networks: how near the learners come to estimators that see the diseases, at what cost."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from noisyor.evaluation import evaluate
from noisyor.experiments.drawing import COLOURS, curve, label_curves, line_of, picture
from noisyor.experiments.learners import fit, fit_sample
from noisyor.experiments.measures import coverage, mean_errors, timed
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import Settings
from noisyor.experiments.tables import SAMPLES, markdown_table, network_tables, shown, span, table
from noisyor.schedule import find_schedule

LASTS = "an hour and a half"
LARGE = ("qmr_shaped", "orphanet570")
WEAK = "health_knowledge_graph"
SEEN = ("observed", "observed_likelihood")
METHODS = ("refined", "pooled", "sequential")
ROUNDS = tuple(f"refined, {n} rounds" for n in (1, 2, 4, 6, 10, 20))
KINDS = ("prior", "failure", "leak")


def cells(settings: Settings) -> list[Cell]:
    """List networks, records and methods; with a million records only some of them."""
    sizes = settings.pick((10_000, 100_000, 1_000_000), (1000, 10_000))
    found = []
    for n_records in sizes:
        is_long = n_records > 100_000
        for name in settings.available(*LARGE, *(() if is_long else (WEAK,))):
            for seed in settings.seeds(settings.pick(5, 1)):
                few = ("sequential", "observed_likelihood") if is_long and seed else ()
                chosen = [method for method in (*SEEN, *METHODS) if method not in few]
                found += [Cell(name, n_records, seed, method) for method in chosen]
    return found + [Cell(LARGE[0], sizes[1], settings.seed, rounds) for rounds in ROUNDS]


def measure(cell: Cell, settings: Settings) -> dict[str, float]:
    """Learn from one sample, with or without the diseases."""
    network = settings.network(cell.network)
    structure = network.structure
    fit_sample(network, "refined", 200, seed=0)  # compile
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


def draw(results: Results, folder: Path) -> list[str]:
    """Draw error against records for each network, and error against time."""
    sizes, names = results.sizes(), results.networks()
    with picture(folder / "accuracy", len(names), (3.5 * len(names), 3.4)) as axes:
        for axis, name in zip(axes, names, strict=True):
            for method in (*METHODS, *SEEN):
                errors = [results.mean(name, n, method, "failures reached") for n in sizes]
                curve(axis, sizes, errors, method, style=line_of(method))
            axis.set(xscale="log", yscale="log", xlabel="records", title=name)
        axes[0].set_ylabel("mean error of failures")
        label_curves(axes[-1])
    with picture(folder / "accuracy-time", 2, (8.5, 3.2)) as (left, right):
        for method in METHODS:
            seconds = [results.mean(LARGE[0], n, method, "seconds") for n in sizes]
            curve(left, sizes, seconds, method)
        left.set(xscale="log", yscale="log", xlabel="records", ylabel="seconds", title=LARGE[0])
        label_curves(left)
        points = [
            (results.mean(LARGE[0], _middle(results), rounds, "seconds"),
             results.mean(LARGE[0], _middle(results), rounds, "failures reached"))
            for rounds in ROUNDS
        ]  # fmt: skip
        right.plot(*zip(*points, strict=True), color=COLOURS["refined"], marker="o", markersize=3)
        for point, rounds in zip(points, ROUNDS, strict=True):
            label = rounds.split()[1]
            right.annotate(label, point, (3, 4), fontsize=8, textcoords="offset points")
        right.set(xlabel="seconds", ylabel="mean error of failures", title="rounds of EM")
    return ["accuracy", "accuracy-time"]


def _middle(results: Results) -> int:
    """Return with how many records rounds are counted."""
    return results.sizes()[min(1, len(results.sizes()) - 1)]


def page(results: Results) -> dict[str, object]:
    """Return a table for each network, and what they show."""
    columns = {
        "error of failures": ("failures reached", "{:.4f}"),
        "error of priors": ("priors relative", "{:.4f}"),
        "priors covered": ("covered prior", "{:.1%}"),
        "failures covered": ("covered failure", "{:.1%}"),
        "leaks covered": ("covered leak", "{:.1%}"),
        "flagged": ("flagged failure", "{:.1%}"),
        "seconds": ("seconds", "{:.1f}"),
        "samples": ("failures reached", SAMPLES),
    }
    by_depth = {f"depth {depth}": f" {depth}" for depth in range(6)}
    depth_runs = [
        (name, n, kind) for name in results.networks() for n in results.sizes() for kind in KINDS
    ]
    depths = [["network", "records", "kind", *by_depth]]
    for name, n, kind in depth_runs:
        shares = [results.mean(name, n, "refined", f"covered {kind}{d}") for d in by_depth.values()]
        if np.isfinite(shares).any():
            depths.append([name, f"{n:,}", f"{kind}s", *(shown(s, "{:.1%}") for s in shares)])
    middle = _middle(results)
    of_rounds = {name: columns[name] for name in ("error of failures", "seconds")}
    runs = [([rounds.split()[1]], (LARGE[0], middle, rounds)) for rounds in ROUNDS]
    return {
        **_ratios(results),
        "networks": network_tables(results, columns, (*SEEN, *METHODS)),
        "depths": markdown_table(depths),
        "middle": middle,
        "rounds": table(results, ["rounds"], of_rounds, runs),
    }


def _ratios(results: Results) -> dict[str, object]:
    """Return how errors compare on the networks of QMR's size, from the least to the most."""
    names = [name for name in LARGE if name in results.networks()]
    most = results.sizes()[-1]

    def ratio(method: str, over: str, quantity: str, sizes: list[int]) -> str:
        return span(
            results.mean(name, n, method, quantity) / results.mean(name, n, over, quantity)
            for name in names
            for n in sizes
        )

    def covered() -> Iterator[float]:
        for name, n, kind in itertools.product(names, results.sizes(), KINDS):
            yield results.mean(name, n, "refined", f"covered {kind}")

    failures, priors, sizes = "failures reached", "priors relative", results.sizes()
    return {
        "large": ", ".join(names),
        "most": most,
        "refined_observed": ratio("refined", "observed", failures, sizes),
        "refined_limit": ratio("refined", "observed_likelihood", failures, sizes),
        "refined_priors": ratio("refined", "observed", priors, sizes),
        "covered": span(covered(), "{:.1%}"),
        "pooled_observed": ratio("pooled", "observed", failures, sizes),
        "pooled_priors": ratio("pooled", "observed", priors, sizes),
        "sequential_refined": ratio("sequential", "refined", failures, [most]),
        **{
            f"{method}_seconds": span(results.all(LARGE[0], most, method, "seconds"), "{:.0f}")
            for method in ("refined", "pooled")
        },
    }
