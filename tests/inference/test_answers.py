"""Which method answers, on how many threads."""

import numpy as np
import pytest

from inference.patients import grid
from noisyor import datasets, posterior, posteriors
from noisyor.inference import answers


def test_auto_keeps_the_better_of_bounds_and_samples():
    network, truth = grid(12)
    everything = list(range(144))
    bounded = posterior(network, everything, method="variational", budget=0.05)
    found = posterior(network, everything, budget=0.05)
    assert found.error <= bounded.error
    assert (bounded.bound_lower <= truth).all()
    assert (bounded.bound_upper >= truth).all()


@pytest.mark.parametrize("method", ["auto", "gibbs"])
def test_answers_do_not_depend_on_threads(method):
    network = datasets.clinic()
    findings = network.sample(150, rng=4)
    one, two = (posteriors(network, findings, method=method, n_jobs=n) for n in (1, 2))
    assert np.array_equal(one.probabilities, two.probabilities)
    assert np.array_equal(one.errors, two.errors)


def test_auto_takes_the_next_best_and_says_so(monkeypatch):
    network = datasets.clinic()
    rows = network.sample(400, rng=6).to_numpy()
    rows = rows[rows.sum(axis=1) >= 10][:6]
    exact = posteriors(network, rows)
    assert set(exact.method_names) == {"exact"}
    monkeypatch.setattr(answers, "OPERATIONS_PER_SECOND", 1.0)
    bounded = posteriors(network, rows)
    assert set(bounded.method_names) == {"variational"}
    assert (bounded.errors >= np.abs(bounded.probabilities - exact.probabilities).max(axis=1)).all()
    monkeypatch.setattr(answers, "ENTRIES_PER_SECOND", 1.0)
    monkeypatch.setattr(answers, "LEAF_OPERATIONS", -1.0)
    sampled = posteriors(network, rows)
    assert "gibbs" in sampled.method_names
    assert np.abs(sampled.probabilities - exact.probabilities).max() < 0.05
