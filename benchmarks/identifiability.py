"""What can be known of real structures, what the check costs, and what the clean-up learns."""

import time
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.measuring import print_table
from benchmarks.observed import ratio_estimator
from noisyor import (
    Fixed,
    MomentPlan,
    Moments,
    NoisyOrLearner,
    check_identifiability,
    datasets,
    find_schedule,
)
from noisyor.identifiability import identifiability_table
from noisyor.learning.cleanup.clean import clean_up
from noisyor.learning.cleanup.pieces import cleanup_plan, find_pieces
from noisyor.learning.decompose import edge_strengths, failures_of, lambdas_of, priors_of

STRUCTURES = Path(__file__).parents[2] / "shared" / "structures"


def run(scale):
    size = 10 if scale == 1 else 5
    start = time.perf_counter()
    found = identifiability_table(size, size, max_order=5)
    elapsed = time.perf_counter() - start
    rows = [["diseases", *(f"{j + 1} symptoms" for j in range(size))]]
    rows += [[str(i + 1), *map(str, row)] for i, row in enumerate(found.tolist())]
    print_table(f"Fully connected networks, orders up to 5: {elapsed:.1f} s", rows)
    checks()
    exact()
    records(int(100_000 * scale))


def networks():
    yield "figure2", datasets.figure2(0)
    yield "qmr_shaped", datasets.qmr_shaped(0)
    for name in "tcc4e", "orphanet570":
        if (STRUCTURES / name).is_dir():
            yield name, datasets.from_folder(STRUCTURES / name, seed=1)


def checks():
    rows = [["network", "certified", "local", "not identifiable", "same symptoms", "seconds"]]
    for name, network in networks():
        start = time.perf_counter()
        result = check_identifiability(network.structure)
        elapsed = time.perf_counter() - start
        counts = Counter(result.verdicts()["verdict"].to_pylist())
        cells = [f"{counts[verdict]:,}" for verdict in rows[0][1:4]]
        groups = ", ".join(str(len(group)) for group in result.swaps)
        rows.append([name, *cells, groups, f"{elapsed:.1f}"])
    print_table("Parameters by verdict; groups of diseases with the same symptoms", rows)


def exact():
    rows = [["network", "edges left", "cleaned up", "largest error", "seconds"]]
    for name, network in networks():
        structure = network.structure
        schedule = find_schedule(structure)
        start = time.perf_counter()
        pieces, _ = find_pieces(schedule, Fixed(structure))
        plan = MomentPlan(structure, symptoms=np.arange(structure.n_symptoms))
        moments = Moments.exact(network, plan | cleanup_plan(structure, pieces))
        owners = structure.edges[:, 0]
        strengths = edge_strengths(network.priors[owners], network.failures)
        lambdas = lambdas_of(network.priors)
        for piece in pieces:
            strengths[piece.edges], lambdas[piece.priors] = 0.0, np.nan
        cleaned = clean_up(moments, pieces, (strengths, lambdas), [])
        elapsed = time.perf_counter() - start
        p = priors_of(lambdas)[owners]
        failures = failures_of(p, strengths / np.sqrt(p * (1.0 - p)))
        wrong = np.abs(failures - network.failures)[cleaned.edges]
        left = int((schedule.depths < 0).sum())
        largest = f"{wrong.max():.1e}" if wrong.size else ""
        rows.append([name, f"{left:,}", f"{wrong.size:,}", largest, f"{elapsed:.1f}"])
    print_table("The clean-up from exact moments", rows)


def records(n_records):
    rows = [["network", "records", "method", "edges", "error", "observed", "ratio"]]
    for name, network in networks():
        if not find_pieces(find_schedule(network.structure), Fixed(network.structure))[0]:
            continue  # nothing that the clean-up learns
        findings, diseases = network.sample(n_records, seed=1, return_diseases=True)
        seen, _ = ratio_estimator(network, findings, diseases)
        left = find_schedule(network.structure).depths < 0
        for method in "refined", "pooled":
            part = NoisyOrLearner(network.structure, method=method).fit(findings).estimate_.failures
            chosen = left & part.is_learned & (part.depths >= 0)
            errors = [np.abs(f - network.failures)[chosen].mean() for f in (part.values, seen)]
            cells = [f"{errors[0]:.4f}", f"{errors[1]:.4f}", f"{errors[0] / errors[1]:.2f}"]
            rows.append([name, f"{n_records:,}", method, str(chosen.sum()), *cells])
    print_table("The clean-up from records: failures that no schedule learns", rows)
