"""Samples that break the assumptions."""

import numpy as np

from noisyor import datasets
from noisyor.experiments.robustness import sample_correlated


def test_dependent_diseases_come_together():
    network = datasets.clinic()
    truth = network.sample(50_000, rng=2).to_numpy()
    records = sample_correlated(network, 50_000, 0.0, seed=1)
    assert np.abs(records.mean(axis=0) - truth.mean(axis=0)).max() < 0.02
    # More often none, and more often many.
    dependent = sample_correlated(network, 50_000, 0.6, seed=1)
    assert dependent.sum(axis=1).std() > 1.1 * records.sum(axis=1).std()
