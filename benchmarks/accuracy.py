"""How near the learners come to estimators that see the diseases; what they cost.

Every figure goes into docs/results/accuracy.csv as soon as it is there; what stands there is not
measured again (delete rows, or the file, to do so). The tables and the plots are made from it.
"""

import time
from pathlib import Path

import numpy as np

from benchmarks import plots
from benchmarks.measuring import print_table
from noisyor import (
    NoisyOrLearner,
    datasets,
    find_schedule,
    learn_maximum_likelihood,
    learn_observed,
)
from noisyor.experiments.results import Cell, Results
from noisyor.learning.polish import learn as polish

ROOT = Path(__file__).parents[1]
STRUCTURES = ROOT.parent / "shared" / "structures"
RESULTS = ROOT / "docs" / "results"
METHODS = ("refined", "pooled", "sequential")
SIZES = (10_000, 100_000, 1_000_000)
SEEDS = range(5)
ROUNDS = (1, 2, 4, 6, 10, 20)


def run(scale):
    figures = Results(RESULTS / "accuracy.csv" if scale == 1 else None)
    sizes = SIZES if scale == 1 else (1_000, 10_000)
    seeds = SEEDS if scale == 1 else range(1)
    figure_1(figures, 64 if scale == 1 else 4)
    for n_records in sizes:
        for name, network in large_networks():
            for seed in seeds:
                measure(figures, name, network, n_records, seed)
    rounds_of_em(figures, sizes[1])
    tables(figures, sizes)
    if scale == 1:
        plots.accuracy(figures, RESULTS)


def large_networks():
    yield "qmr_shaped", datasets.qmr_shaped(0)
    for name in "orphanet570", "health_knowledge_graph":
        if (STRUCTURES / name).is_dir():
            yield name, datasets.from_folder(STRUCTURES / name, seed=1)


def measure(figures, name, network, n_records, seed):
    """Learn from one sample with every method, and with the diseases seen."""
    missing = [
        method
        for method in ("observed", "seen", *METHODS)
        if is_wanted(name, n_records, seed, method)
        and Cell(name, n_records, seed, method) not in figures
    ]
    if not missing:
        return
    schedule = find_schedule(network.structure)
    findings, diseases = network.sample(n_records, seed=seed + 1, return_diseases=True)
    NoisyOrLearner(network.structure).fit(network.sample(200, seed=0))  # compile
    for method in missing:
        start = time.perf_counter()
        if method in METHODS:
            learner = NoisyOrLearner(network.structure, method=method)
            estimate = learner.fit(findings).estimate_
            found = {"seconds": time.perf_counter() - start}
            found |= errors(network, schedule, estimate.failures.values, estimate.priors.values)
            found |= coverages(network, estimate, schedule)
        else:
            how = "ratio" if method == "observed" else "likelihood"
            seen = learn_observed(findings, network.structure, diseases, how=how).network
            found = errors(network, schedule, seen.failures, seen.priors)
        figures.add(Cell(name, n_records, seed, method), found)


def is_wanted(name, n_records, seed, method):
    """Leave out what takes long and changes little: with a million records, some cells."""
    if n_records < 1_000_000:
        return True
    return name != "health_knowledge_graph" and (seed == 0 or method not in ("sequential", "seen"))


def errors(network, schedule, failures, priors):
    reached, reached_priors = schedule.depths >= 0, schedule.prior_depths >= 0
    wrong = np.abs(failures - network.failures)
    relative = np.abs(priors / network.priors - 1)
    found = {"failures": wrong[reached].mean(), "priors": relative[reached_priors].mean()}
    for depth in range(int(schedule.depths.max()) + 1):
        found[f"failures of depth {depth}"] = wrong[schedule.depths == depth].mean()
    return found


def coverages(network, estimate, schedule):
    """Return how many of the unflagged 95% intervals hold the truth, by kind and depth."""
    truths = network.priors, network.failures, network.leaks
    found = {"flagged": (estimate.failures.flags[schedule.depths >= 0] != 0).mean()}
    for (kind, part), truth in zip(estimate.parts.items(), truths, strict=True):
        lower, upper = part.intervals()
        known = np.isfinite(lower) & (part.flags == 0)
        held = (lower <= truth) & (truth <= upper)
        if known.any():
            found[f"covered {kind}"] = held[known].mean()
            found[f"standard error {kind}"] = np.median(part.standard_errors[known])
        for depth in np.unique(part.depths[known]):
            chosen = known & (part.depths == depth)
            if chosen.sum() >= 100:
                found[f"covered {kind} {depth}"] = held[chosen].mean()
    return found


def rounds_of_em(figures, n_records):
    """Measure error against time as the polish takes more rounds."""
    network = datasets.qmr_shaped(0)
    schedule, usual = find_schedule(network.structure), polish.ROUNDS
    findings = network.sample(n_records, seed=1)
    for rounds in ROUNDS:
        key = Cell("qmr_shaped", n_records, 0, f"refined, {rounds} rounds")
        if key not in figures:
            polish.ROUNDS = rounds
            start = time.perf_counter()
            learned = NoisyOrLearner(network.structure).fit(findings).network_
            elapsed = time.perf_counter() - start
            found = errors(network, schedule, learned.failures, learned.priors)
            figures.add(key, {**found, "seconds": elapsed})
    polish.ROUNDS = usual


def figure_1(figures, n_networks):
    for n_records in 1000, 10_000, 100_000:
        for seed in range(n_networks):
            if Cell("figure1", n_records, seed, "maximum likelihood") in figures:
                continue
            network = datasets.figure1(seed)
            findings = network.sample(n_records, seed=seed + 10**6)
            for method in METHODS:
                estimate = NoisyOrLearner(network.structure, method=method).fit(findings).estimate_
                found = {"l1": sum_of_errors(network, estimate.network)}
                for (kind, part), truth in zip(
                    estimate.parts.items(),
                    (network.priors, network.failures, network.leaks),
                    strict=True,
                ):
                    lower, upper = part.intervals()
                    known = np.isfinite(lower) & (part.flags == 0)
                    found[f"known {kind}"] = known.sum()
                    found[f"held {kind}"] = ((lower <= truth) & (truth <= upper))[known].sum()
                figures.add(Cell("figure1", n_records, seed, method), found)
            best = learn_maximum_likelihood(findings, network.structure).network
            found = {"l1": sum_of_errors(network, best)}
            figures.add(Cell("figure1", n_records, seed, "maximum likelihood"), found)


def sum_of_errors(network, learned):
    return (
        np.abs(learned.failures - network.failures).sum()
        + np.abs(learned.priors - network.priors).sum()
    )


# --- tables ---


def tables(figures, sizes):
    for name, _ in large_networks():
        for n_records in sizes:
            large_table(figures, name, n_records)
    depth_table(figures, sizes)
    figure_1_table(figures)
    rows = [["rounds", "error of failures over observed", "seconds"]]
    limit = figures.all("qmr_shaped", sizes[1], "observed", "failures")[0]
    for rounds in ROUNDS:
        of_run = "qmr_shaped", sizes[1], f"refined, {rounds} rounds"
        ratio, elapsed = figures.mean(*of_run, "failures") / limit, figures.mean(*of_run, "seconds")
        rows.append([str(rounds), f"{ratio:.3f}", f"{elapsed:.0f}"])
    print_table(f"More rounds of EM: qmr_shaped, {sizes[1]:,} records, one sample", rows)


def large_table(figures, name, n_records):
    rows = [
        [
            "method", "error of failures", "ratio", "error of priors", "ratio", "priors covered",
            "failures covered", "leaks covered", "flagged", "seconds",
        ]
    ]  # fmt: skip
    limits = [figures.mean(name, n_records, "observed", kind) for kind in ("failures", "priors")]
    n_seeds = len(figures.all(name, n_records, "observed", "failures"))
    if not n_seeds:
        return
    for method in ("observed", "seen", *METHODS):
        of_run = name, n_records, method
        row = [{"seen": "maximum likelihood, diseases seen"}.get(method, method)]
        for kind, limit in zip(("failures", "priors"), limits, strict=True):
            mean = figures.mean(*of_run, kind)
            row += [f"{mean:.4f}", f"{mean / limit:.2f}"]
        shares = [f"covered {kind}" for kind in ("prior", "failure", "leak")] + ["flagged"]
        row += [shown(figures.mean(*of_run, share), "{:.1%}") for share in shares]
        row.append(shown(figures.mean(*of_run, "seconds"), "{:.1f}"))
        rows.append(row)
    print_table(f"{name}, {n_records:,} records, mean over {n_seeds} samples", rows)


def shown(value, form):
    return "" if np.isnan(value) else form.format(value)


def depth_table(figures, sizes):
    """Print the coverage of refined at every depth that has 100 parameters."""
    rows = [["network", "records", "kind", *(f"depth {depth}" for depth in range(6))]]
    for name, _ in large_networks():
        for n_records in sizes:
            for kind in "prior", "failure", "leak":
                covered = [
                    figures.mean(name, n_records, "refined", f"covered {kind} {depth}")
                    for depth in range(6)
                ]
                cells = [shown(value, "{:.1%}") for value in covered]
                if any(cells):
                    rows.append([name, f"{n_records:,}", f"{kind}s", *cells])
    print_table("Coverage of refined by depth, where at least 100 parameters have it", rows)


def figure_1_table(figures):
    methods = ("refined", "pooled", "sequential", "maximum likelihood")
    rows = [["records", *methods, "refined over maximum likelihood", "covered by refined"]]
    for n_records in 1000, 10_000, 100_000:
        means = [figures.mean("figure1", n_records, method, "l1") for method in methods]
        of_run = "figure1", n_records, "refined"
        covered = []
        for kind in "prior", "failure", "leak":
            held = figures.all(*of_run, f"held {kind}").sum()
            covered.append(f"{held / figures.all(*of_run, f'known {kind}').sum():.1%}")
        cells = [f"{mean:.3f}" for mean in means] + [f"{means[0] / means[3]:.2f}"]
        rows.append([f"{n_records:,}", *cells, " / ".join(covered)])
    n = len(figures.all("figure1", 1000, "refined", "l1"))
    title = f"Figure 1, {n} networks: sum of absolute errors; priors / failures / leaks covered"
    print_table(title, rows)
