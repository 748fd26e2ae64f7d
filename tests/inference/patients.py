"""Networks with a patient each, for tests of posteriors."""

import math

import numpy as np

import naive
from conftest import as_lists
from noisyor import NoisyOrNetwork, Structure


def random_patient(rng, most_diseases=6, most_symptoms=8, extremes=True):
    """Return a network, a record as the naive twin wants it, and its present and absent findings.

    Only records that are possible are given.
    """
    while True:
        n, m = int(rng.integers(1, most_diseases + 1)), int(rng.integers(1, most_symptoms + 1))
        structure = Structure.from_matrix(rng.random((n, m)) < rng.uniform(0.2, 0.9))
        failures = rng.uniform(0.0, 1.0, structure.n_edges)
        leaks = rng.uniform(0.05, 0.6, m) ** 3
        priors = rng.uniform(0.0, 1.0, n) ** 2
        if extremes:
            for values in failures, leaks, priors:
                chosen = rng.random(len(values)) < 0.1
                values[chosen] = rng.integers(0, 2, int(chosen.sum()))
        network = NoisyOrNetwork(structure, priors, failures, leaks)
        row = [[0, 1, None][k] for k in rng.choice(3, m, p=[0.25, 0.5, 0.25])]
        if sum(weight for _, weight in naive.weighted_states(*as_lists(network), row)) > 1e-12:
            present = [j for j, value in enumerate(row) if value == 1]
            absent = [j for j, value in enumerate(row) if value == 0]
            return network, row, present, absent


def grid(n, prior=0.05, failure=0.05, leak=0.01):
    """n x n findings, each caused by its row or its column: all rows explain them, or all columns.

    Returns the network and the posterior of each disease if all are present, by its symmetry.
    """
    matrix = np.zeros((2 * n, n * n))
    for row, column in np.ndindex(n, n):
        matrix[row, row * n + column] = matrix[n + column, row * n + column] = 1
    structure = Structure.from_matrix(matrix)
    network = NoisyOrNetwork(
        structure, np.full(2 * n, prior), np.full(2 * n * n, failure), np.full(n * n, leak)
    )
    total = within = 0.0
    for rows, columns in np.ndindex(n + 1, n + 1):
        weight = math.comb(n, rows) * math.comb(n, columns)
        weight *= prior ** (rows + columns) * (1 - prior) ** (2 * n - rows - columns)
        for on, count in (
            (2, rows * columns),
            (1, rows * (n - columns) + columns * (n - rows)),
            (0, (n - rows) * (n - columns)),
        ):
            weight *= (1 - (1 - leak) * failure**on) ** count
        total += weight
        within += weight * rows / n
    return network, within / total
