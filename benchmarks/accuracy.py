"""How near the learners come to an estimator that sees the diseases."""

import time
from pathlib import Path

import numpy as np

from benchmarks.measuring import print_table
from noisyor import NoisyOrLearner, datasets, find_schedule

STRUCTURES = Path(__file__).parents[2] / "shared" / "structures"
METHODS = ("refined", "pooled", "sequential")


def run(scale: float) -> None:
    networks = {"qmr_shaped": datasets.qmr_shaped(0)}
    if (STRUCTURES / "orphanet570").is_dir():
        networks["orphanet570"] = datasets.from_folder(STRUCTURES / "orphanet570", seed=1)
    for name, network in networks.items():
        NoisyOrLearner(network.structure).fit(network.sample(200, seed=0))  # compile
        for n_records in (int(10_000 * scale), int(100_000 * scale)):
            large_network(name, network, n_records, range(2 if scale == 1 else 1))
    figure_1(int(64 * scale))


def observed(network, findings, diseases):
    """Return failures and priors of the ratio estimator, which sees the diseases."""
    structure, n = network.structure, findings.n_records
    both = np.zeros((structure.n_diseases, structure.n_symptoms))
    start = 0
    for block in findings.blocks:
        absent = 1 - block.unpacked()[0].astype(np.float32)
        both += diseases[start : start + block.n_records].astype(np.float32).T @ absent
        start += block.n_records
    cases, absent = diseases.sum(axis=0).astype(float), n - findings.count_present()
    i, j = structure.edges.T
    with_disease = both[i, j] / np.maximum(cases[i], 1.0)
    without = (absent[j] - both[i, j]) / (n - cases[i])
    return np.minimum(with_disease / without, 1.0), cases / n


def large_network(name, network, n_records, seeds):
    schedule = find_schedule(network.structure)
    reached, reached_priors = schedule.depths >= 0, schedule.prior_depths >= 0
    figures = {method: [] for method in METHODS}
    for seed in seeds:
        findings, diseases = network.sample(n_records, seed=seed + 1, return_diseases=True)
        failures, priors = observed(network, findings, diseases)
        limit = np.abs(failures - network.failures)[reached].mean()
        prior_limit = np.abs(priors / network.priors - 1)[reached_priors].mean()
        for method in METHODS:
            start = time.perf_counter()
            estimate = NoisyOrLearner(network.structure, method=method).fit(findings).estimate_
            elapsed = time.perf_counter() - start
            error = np.abs(estimate.failures.values - network.failures)[reached].mean()
            relative = np.abs(estimate.priors.values / network.priors - 1)[reached_priors].mean()
            covered = [
                coverage(part, truth)
                for part, truth in zip(
                    estimate.parts.values(),
                    (network.priors, network.failures, network.leaks),
                    strict=True,
                )
            ]
            flagged = (estimate.failures.flags[reached] != 0).mean()
            row = [limit, error, error / limit, relative / prior_limit, *covered, flagged, elapsed]
            figures[method].append(row)
    rows = [
        [
            "method", "observed", "error of failures", "ratio", "ratio of priors",
            "priors covered", "failures covered", "leaks covered", "flagged", "seconds",
        ]
    ]  # fmt: skip
    for method, found in figures.items():
        means = np.mean(found, axis=0)
        shown = [f"{x:.4f}" for x in means[:2]] + [f"{x:.2f}" for x in means[2:4]]
        shown += [f"{x:.1%}" for x in means[4:8]] + [f"{means[8]:.1f}"]
        rows.append([method, *shown])
    print_table(f"{name}, {n_records:,} records, mean over {len(seeds)} samples", rows)


def coverage(part, truth):
    lower, upper = part.intervals()
    known = np.isfinite(lower) & (part.flags == 0)
    return ((lower <= truth) & (truth <= upper))[known].mean() if known.any() else np.nan


def figure_1(n_networks):
    rows = [["records", *METHODS, "failures covered by refined"]]
    for n_records in 1000, 10_000, 100_000:
        errors = {method: [] for method in METHODS}
        covered = []
        for seed in range(n_networks):
            network = datasets.figure1(seed)
            findings = network.sample(n_records, seed=seed + 10**6)
            for method in METHODS:
                estimate = NoisyOrLearner(network.structure, method=method).fit(findings).estimate_
                errors[method].append(
                    np.abs(estimate.failures.values - network.failures).sum()
                    + np.abs(estimate.priors.values - network.priors).sum()
                )
                if method == "refined":
                    covered.append(coverage(estimate.failures, network.failures))
        means = [f"{np.mean(errors[method]):.3f}" for method in METHODS]
        rows.append([f"{n_records:,}", *means, f"{np.mean(covered):.1%}"])
    print_table(f"Figure 1, {n_networks} networks: sum of absolute errors of 9 parameters", rows)
