"""The methods people would use instead: how near they come, and how long they take."""

import time

import numpy as np

from benchmarks.accuracy import sum_of_errors
from benchmarks.measuring import print_table
from noisyor import (
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    datasets,
    learn_exact_em,
    learn_maximum_likelihood,
)
from noisyor.datasets.qmr import random_leaks, zipf_priors

PRUNED = 0.95
"""True failures of Figure 1 are at most 0.8."""
RESTARTS = {"variational_em": 16, "exact_em": 4, "maximum_likelihood": 4}
METHODS = (
    "refined", "exact_em", "maximum_likelihood", "variational_em", "observed",
    "observed_likelihood", "uniform",
)  # fmt: skip


def run(scale):
    n_networks = 16 if scale == 1 else 2
    agreement(n_networks, int(10_000 * scale))
    errors(n_networks, [1000, 10_000, 100_000] if scale == 1 else [1000])
    large(int(10_000 * scale))


def agreement(n_networks, n_records):
    """Two ways to the same maximum."""
    differences, seconds = [], []
    for seed in range(n_networks):
        network = datasets.figure1(seed)
        findings = network.sample(n_records, seed=seed + 10**6)
        ends = []
        for learn in learn_exact_em, learn_maximum_likelihood:
            learn(findings, network.structure, restarts=1)  # compile
            start = time.perf_counter()
            ends.append(learn(findings, network.structure, seed=seed).trace.values[-1])
            seconds.append(time.perf_counter() - start)
        differences.append(abs(ends[0] - ends[1]) / abs(ends[1]))
    rows = [["networks", "largest relative difference", "exact_em, s", "maximum_likelihood, s"]]
    times = np.reshape(seconds, (-1, 2)).mean(axis=0)
    rows.append([str(n_networks), f"{max(differences):.1e}", *(f"{t:.2f}" for t in times)])
    print_table(f"Figure 1, {n_records:,} records: likelihoods of both, 4 starts each", rows)


def errors(n_networks, sizes):
    rows = [["method", *(f"{n:,} records" for n in sizes), "seconds", "networks pruned"]]
    for method in METHODS:
        cells, elapsed, n_pruned = [], 0.0, 0
        for n_records in sizes:
            found = []
            for seed in range(n_networks):
                network = datasets.figure1(seed)
                sample = network.sample(n_records, seed=seed + 10**6, return_diseases=True)
                start = time.perf_counter()
                learner = NoisyOrLearner(
                    network.structure, method=method, restarts=RESTARTS.get(method, 1)
                )
                learned = learner.fit(*sample).network_
                elapsed = time.perf_counter() - start
                found.append(sum_of_errors(network, learned))
                n_pruned += bool(n_records == sizes[-1] and (learned.failures > PRUNED).any())
            cells.append(f"{np.mean(found):.3f}")
        rows.append([method, *cells, f"{elapsed:.2f}", f"{n_pruned} of {n_networks}"])
    print_table(
        f"Figure 1: mean sum of errors of priors and failures, {n_networks} networks "
        f"(seconds: one at {sizes[-1]:,} records; variational EM from 16 starts, exact EM from 4)",
        rows,
    )


def large(n_records):
    """Variational EM where exact EM is out of reach."""
    rng = np.random.default_rng(0)
    n_diseases, n_symptoms = 50, 400
    matrix = rng.random((n_diseases, n_symptoms)) < 0.1
    structure = Structure.from_matrix(matrix)
    network = NoisyOrNetwork(
        structure,
        zipf_priors(n_diseases, rng),
        rng.uniform(0.2, 0.9, structure.n_edges),
        random_leaks(n_symptoms, rng),
    )
    findings, diseases = network.sample(n_records, seed=1, return_diseases=True)
    rows = [["method", "seconds", "steps", "settled", "mean error of failures"]]
    for method in "variational_em", "refined", "pooled", "observed":
        learner = NoisyOrLearner(structure, method=method, restarts=1)
        learner.fit(*network.sample(100, seed=0, return_diseases=True))  # compile
        start = time.perf_counter()
        estimate = learner.fit(findings, diseases).estimate_
        elapsed = time.perf_counter() - start
        trace = estimate.trace
        cells = [str(len(trace.values)), "yes" if trace.is_settled else "no"] if trace else ["", ""]
        error = np.abs(estimate.network.failures - network.failures).mean()
        rows.append([method, f"{elapsed:.1f}", *cells, f"{error:.4f}"])
    title = f"{n_diseases} diseases, {n_symptoms} symptoms, {structure.n_edges:,} edges"
    print_table(f"{title}, {n_records:,} records (variational EM from one start)", rows)
