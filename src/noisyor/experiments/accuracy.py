"""Large networks: how near the learners come to estimators that see the diseases, at what cost."""

from pathlib import Path

import numpy as np

from noisyor.evaluation import evaluate
from noisyor.experiments.drawing import COLOURS, curve, label_curves, line_of, picture
from noisyor.experiments.learners import fit, fit_in_rounds
from noisyor.experiments.measures import coverage, mean_errors, timed
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import Settings
from noisyor.experiments.tables import SAMPLES, markdown_table, method_runs, shown, span, table
from noisyor.schedule import find_schedule

LASTS = "five hours"
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
    findings, diseases = network.sample(cell.n_records, seed=cell.seed + 1, return_diseases=True)
    fit(network.sample(200, seed=0), structure, "refined")  # compile
    if cell.method in ROUNDS:
        n_rounds = int(cell.method.split()[1])
        estimate, found = timed(lambda: fit_in_rounds(findings, structure, n_rounds))
    else:
        estimate, found = timed(
            lambda: fit(findings, structure, cell.method, diseases=diseases)
        )
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


def page(results: Results) -> list[str]:
    """Return a table for each network, and what they show."""
    parts = ["# Accuracy: as if the diseases had been seen", *_findings(results)]
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
    for name in results.networks():
        runs = method_runs(name, results.sizes(), (*SEEN, *METHODS))
        parts += [f"## {name}", table(results, ["records", "method"], columns, runs)]
    depths = range(6)
    by_depth = [
        ([name, f"{n:,}", f"{kind}s"],
         [results.mean(name, n, "refined", f"covered {kind} {depth}") for depth in depths])
        for name in results.networks() for n in results.sizes() for kind in KINDS
    ]  # fmt: skip
    rows = [["network", "records", "kind", *(f"depth {depth}" for depth in depths)]]
    rows += [
        [*words, *(shown(share, "{:.1%}") for share in shares)]
        for words, shares in by_depth
        if np.isfinite(shares).any()
    ]
    by_depth_title = "## Coverage of refined by depth, where at least 100 parameters have it"
    parts += [by_depth_title, markdown_table(rows)] if len(rows) > 1 else []
    columns = {"error of failures": columns["error of failures"], "seconds": columns["seconds"]}
    runs = [([rounds.split()[1]], (LARGE[0], _middle(results), rounds)) for rounds in ROUNDS]
    parts.append(f"## Rounds of EM: {LARGE[0]}, {_middle(results):,} records, one sample")
    return [*parts, table(results, ["rounds"], columns, runs)]


def _findings(results: Results) -> list[str]:
    """Say what the numbers show."""
    names = [name for name in LARGE if name in results.networks()]
    runs = [(name, n) for name in names for n in results.sizes()]

    def ratios(method: str, over: str, quantity: str = "failures reached") -> str:
        return span(
            results.mean(*run, method, quantity) / results.mean(*run, over, quantity)
            for run in runs
        )

    most = results.sizes()[-1]
    covered = span(
        (results.mean(*run, "refined", f"covered {kind}") for run in runs for kind in KINDS),
        "{:.1%}",
    )
    times = {
        method: span(results.all(LARGE[0], most, method, "seconds"), "{:.0f}")
        for method in ("refined", "pooled")
    }
    paper = span(
        (results.mean(name, most, "sequential", "failures reached")
         / results.mean(name, most, "refined", "failures reached") for name in names),
        "{:.0f}",
    )  # fmt: skip
    return [
        "`observed` sees the diseases and takes the ratio P(absent | disease) / P(absent | no "
        "disease), `observed_likelihood` is the noisy-or regression on them: the real limit. *Error "
        "of failures*: the mean absolute error of all failures that the schedule reaches; *error "
        "of priors*: the mean relative error. *Covered*: 95% intervals of unflagged parameters "
        "that hold the truth; *flagged*: the share of failures with a flag.",
        f"On networks of QMR's size ({', '.join(names)}):",
        "\n".join(
            [
                f"- **`refined` is as accurate as if the diseases had been seen:** its error of the "
                f"failures is {ratios('refined', 'observed')} times that of `observed` (goal: at "
                f"most 1.05) and {ratios('refined', 'observed_likelihood')} times that of "
                "`observed_likelihood`, its error of the priors "
                f"{ratios('refined', 'observed', 'priors relative')} times (goal: 1.3). Where "
                "records are few it beats the limit, because it shrinks what few cases tell.",
                f"- **Its intervals are honest:** {covered} of them hold the truth. The information "
                "is inverted disease by disease, which leaves out what two diseases share.",
                f"- **`pooled`**, from counts alone, is {ratios('pooled', 'observed')} times as far "
                f"off as `observed` (goal: 1.4), {ratios('pooled', 'observed', 'priors relative')} "
                "times in the priors: where diseases share nearly all their symptoms, pairs and "
                "triplets alone tell them apart slowly.",
                f"- **One triplet an edge** (`sequential`, the paper) is {paper} times as far off "
                f"as `refined` with {most:,} records (goal: at least 8).",
                f"- **Seconds** with {most:,} records of {LARGE[0]}: `refined` {times['refined']} "
                f"(goal: 300), `pooled` {times['pooled']} (goal: 30). Ten rounds of EM are past "
                "the knee.",
            ]
        ),
        f"**{WEAK}** has weak edges: no promise. The records hardly tell its diseases from each "
        "other; `refined` flags nearly all of it, and what little is unflagged covers too rarely.",
    ]
