"""What can be known of real structures, what the check costs, and what the clean-up learns."""

import itertools
import time
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.accuracy import METHODS, sum_of_errors
from benchmarks.measuring import print_table
from noisyor import (
    Fixed,
    MomentPlan,
    Moments,
    NoisyOrLearner,
    NoisyOrNetwork,
    check_identifiability,
    datasets,
    find_schedule,
    learn_maximum_likelihood,
    learn_observed,
)
from noisyor.experiments.results import Cell, Results
from noisyor.identifiability import identifiability_table
from noisyor.learning import Flag
from noisyor.learning.cleanup import clean_up, find_components
from noisyor.learning.cleanup.components import plan_of
from noisyor.learning.decompose import Influences, edge_failures, priors_of

STRUCTURES = Path(__file__).parents[2] / "shared" / "structures"
RESULTS = Path(__file__).parents[1] / "docs" / "results"
UNSURE = Flag.WEAK | Flag.WEAKLY_IDENTIFIED | Flag.AMBIGUOUS
DRAWN = "orphanet570, failures drawn"


def run(scale):
    is_full = scale == 1
    size = 10 if is_full else 5
    start = time.perf_counter()
    found = identifiability_table(size, size, max_order=5)
    elapsed = time.perf_counter() - start
    rows = [["diseases", *(f"{j + 1} symptoms" for j in range(size))]]
    rows += [[str(i + 1), *map(str, row)] for i, row in enumerate(found.tolist())]
    print_table(f"Fully connected networks, orders up to 5: {elapsed:.1f} s", rows)
    checks()
    exact()
    figures = Results(RESULTS / "identifiability.csv" if is_full else None)
    sizes = (100_000, 1_000_000) if is_full else (1000,)
    for n_records in reversed(sizes):
        figure_2(figures, n_records, 64 if is_full else 2)
        for name, network in networks():
            for seed in range(n_samples(name, n_records) if is_full else 1):
                from_records(figures, name, network, n_records, seed)
    figure_2_table(figures, sizes)
    records_table(figures, sizes)


def n_samples(name, n_records):
    """Return how many samples to learn from: fewer where one takes minutes."""
    if name == "orphanet570":  # not one of its values is certain
        return 1
    return 2 if name == DRAWN and n_records == 1_000_000 else 3


def networks():
    yield "qmr_shaped", datasets.qmr_shaped(0)
    for name in "tcc4e", "orphanet570":
        if (STRUCTURES / name).is_dir():
            network = datasets.from_folder(STRUCTURES / name, seed=1)
            yield name, network
            if name == "orphanet570":  # in which subtypes have the very same frequencies
                failures = np.random.default_rng(5).uniform(0.1, 0.9, network.structure.n_edges)
                drawn = NoisyOrNetwork(network.structure, network.priors, failures, network.leaks)
                yield DRAWN, drawn


def all_networks():
    yield "figure2", datasets.figure2(0)
    yield from networks()


def checks():
    rows = [["network", "certified", "local", "not identifiable", "same symptoms", "seconds"]]
    for name, network in all_networks():
        if name == DRAWN:
            continue
        start = time.perf_counter()
        result = check_identifiability(network.structure)
        elapsed = time.perf_counter() - start
        counts = Counter(result.verdicts()["verdict"].to_pylist())
        cells = [f"{counts[verdict]:,}" for verdict in rows[0][1:4]]
        groups = ", ".join(str(len(group)) for group in result.swaps)
        rows.append([name, *cells, groups, f"{elapsed:.1f}"])
    print_table("Parameters by verdict; groups of diseases with the same symptoms", rows)


def exact():
    rows = [["network", "edges left", "identifiable", "learned", "largest error", "weak"]]
    rows[0] += ["seconds"]
    for name, network in all_networks():
        if name == "orphanet570":
            continue  # whose own frequencies leave a minimum without curvature
        structure = network.structure
        schedule = find_schedule(structure)
        left = schedule.depths < 0
        start = time.perf_counter()
        parts, result = find_components(schedule, Fixed(structure))
        plan = MomentPlan(structure, symptoms=np.arange(structure.n_symptoms))
        moments = Moments.exact(network, plan | plan_of(structure, parts))
        owners = structure.edges[:, 0]
        learned = Influences.of(owners, network.priors, network.failures)
        learned.strengths[left], learned.lambdas[schedule.prior_depths < 0] = 0.0, np.nan
        cleaned = clean_up(moments, parts, learned, {})
        elapsed = time.perf_counter() - start
        failures = edge_failures(priors_of(learned.lambdas)[owners], learned.strengths)
        failures = failures[matching_edges(network, result.swaps, failures)]
        wrong = np.abs(failures - network.failures)[cleaned.edges]
        identifiable = int((left & (result.orders.failures >= 0)).sum())
        counts = int(left.sum()), identifiable, wrong.size
        weak = sum(len(part.weakly_identified) for part in cleaned.explained)
        cells = [f"{wrong.max():.1e}", f"{weak} diseases", f"{elapsed:.1f}"]
        rows.append([name, *(f"{n:,}" for n in counts), *cells])
    print_table("The clean-up from exact moments, everything else known", rows)


def matching_edges(network, swaps, failures):
    """Return for each edge the one that stands for it, in groups that may be swapped."""
    structure = network.structure
    edges = np.arange(structure.n_edges)
    for group in swaps:

        def distance(order, group=group):
            return sum(
                np.abs(
                    failures[structure.edges_of(found)]
                    - network.failures[structure.edges_of(disease)]
                ).sum()
                for disease, found in zip(group, order, strict=True)
            )

        best = min(itertools.permutations(group), key=distance)
        for disease, found in zip(group, best, strict=True):
            where = structure.edges_of(found)
            edges[structure.edges_of(disease)] = np.arange(where.start, where.stop)
    return edges


def figure_2(figures, n_records, n_networks):
    for seed in range(n_networks):
        if Cell("figure2", n_records, seed, "maximum likelihood") in figures:
            continue
        network = datasets.figure2(seed)
        findings = network.sample(n_records, seed=seed + 10**6)
        for method in METHODS:
            learned = NoisyOrLearner(network.structure, method=method).fit(findings).network_
            found = {"l1": sum_of_errors(network, learned)}
            figures.add(Cell("figure2", n_records, seed, method), found)
        best = learn_maximum_likelihood(findings, network.structure).network
        key = Cell("figure2", n_records, seed, "maximum likelihood")
        figures.add(key, {"l1": sum_of_errors(network, best)})


def from_records(figures, name, network, n_records, seed):
    """Learn with the moments and on the records, and compare what no schedule learns."""
    # EM on tcc4e, of which the records tell so little, takes a quarter of an hour at 1,000,000.
    methods = ("pooled",) if (name, n_records) == ("tcc4e", 1_000_000) else ("pooled", "refined")
    missing = [m for m in methods if Cell(name, n_records, seed, m) not in figures]
    if not missing:
        return
    structure = network.structure
    schedule = find_schedule(structure)
    result = check_identifiability(structure, schedule=schedule)
    findings, diseases = network.sample(n_records, seed=seed + 1, return_diseases=True)
    observed = learn_observed(findings, structure, diseases).network
    seen = np.abs(observed.failures - network.failures)
    chosen = (schedule.depths < 0) & (result.orders.failures >= 0)
    for method in missing:
        start = time.perf_counter()
        part = NoisyOrLearner(structure, method=method).fit(findings).estimate_.failures
        elapsed = time.perf_counter() - start
        edges = matching_edges(network, result.swaps, part.values)
        wrong = np.abs(part.values[edges] - network.failures)
        flags, errors = part.flags[edges], part.standard_errors[edges]
        learned = chosen & part.is_learned[edges] & (part.depths[edges] >= 0)
        sure = learned & ((flags & UNSURE) == 0) & np.isfinite(errors)
        found = {
            "identifiable": chosen.sum(), "learned": learned.sum(), "sure": sure.sum(),
            "error": wrong[learned].mean(), "observed": seen[learned].mean(),
            "held": (wrong <= 1.96 * errors)[sure].sum(),
            "sure error": wrong[sure].sum(), "sure observed": seen[sure].sum(),
            "seconds": elapsed,
        }  # fmt: skip
        figures.add(Cell(name, n_records, seed, method), found)


def figure_2_table(figures, sizes):
    rows = [["records", *METHODS, "maximum likelihood", "refined over it", "pooled over it"]]
    for n_records in sizes:
        errors = [
            figures.mean("figure2", n_records, method, "l1")
            for method in (*METHODS, "maximum likelihood")
        ]
        ratios = [errors[METHODS.index(m)] / errors[-1] for m in ("refined", "pooled")]
        cells = [*(f"{e:.4f}" for e in errors), *(f"{r:.2f}" for r in ratios)]
        rows.append([f"{n_records:,}", *cells])
    n = len(figures.all("figure2", sizes[0], "refined", "l1"))
    print_table(f"Figure 2: mean sum of errors of priors and failures, {n} networks", rows)


def records_table(figures, sizes):
    rows = [
        ["network", "records", "method", "samples", "learned", "error over observed",
         "unflagged", "theirs over observed", "covered", "seconds"]
    ]  # fmt: skip
    for (name, _), n_records, method in itertools.product(networks(), sizes, ("refined", "pooled")):
        where = name, n_records, method
        n = len(figures.all(*where, "error"))
        if not n:
            continue
        ratio = figures.mean(*where, "error") / figures.mean(*where, "observed")
        sure = figures.mean(*where, "sure")
        cells = [f"{figures.mean(*where, 'learned'):,.0f}", f"{ratio:.2f}", f"{sure:,.0f}"]
        if sure:
            theirs = figures.mean(*where, "sure error") / figures.mean(*where, "sure observed")
            cells += [f"{theirs:.2f}", f"{figures.mean(*where, 'held') / sure:.1%}"]
        else:
            cells += ["", ""]
        elapsed = figures.mean(*where, "seconds")
        rows.append([name, f"{n_records:,}", method, str(n), *cells, f"{elapsed:.0f}"])
    print_table("From records: failures that no schedule learns and that are identifiable", rows)
