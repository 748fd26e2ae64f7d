"""The experiment of weak networks: gains are differences of log likelihoods."""

import numpy as np
import pytest

from noisyor import NoisyOrNetwork, Structure, datasets, posteriors
from noisyor.experiments import maximum
from noisyor.experiments.settings import weak_network


def test_gains_are_differences_of_log_likelihoods(monkeypatch):
    truth, other = datasets.figure1(0), datasets.figure1(1)
    records = truth.sample(300, rng=0)
    expected = sum(
        sign * posteriors(each, records).log_evidences.sum()
        for sign, each in ((1, other), (-1, truth))
    )
    assert maximum._gain(other, truth, records) == pytest.approx(expected)
    assert maximum._gain(other, truth, records) < 0

    def refuse(*_, **__):
        raise maximum.ParameterError("too much work.")

    monkeypatch.setattr(maximum, "ExactExpectation", refuse)
    assert maximum._gain(other, truth, records) == pytest.approx(expected)


def test_what_no_learner_could_know_is_counted():
    structure = Structure.from_edges([("A", "a"), ("A", "b"), ("A", "c"), ("B", "d")])
    truth = NoisyOrNetwork(structure, [0.3, 0.3], [0.2, 0.2, 0.2, 0.2], [0.2, 0.2, 0.2, 0.2])
    found = maximum._unknowable(truth, truth.sample(20_000, rng=0))
    assert found == {"unknowable prior": 0.5, "unknowable failure": 0.25, "unknowable leak": 0.25}
    few = maximum._unknowable(truth, truth.sample(20, rng=0))
    assert few == dict.fromkeys(found, 1.0)


def test_weak_networks_are_as_said():
    network = weak_network(20, seed=3)
    assert (np.bincount(network.structure.edges[:, 0]) == 5).all()
    assert network.failures.min() >= 0.5
    assert network != weak_network(20, seed=4)


def test_loss_is_the_divergence_of_new_records(monkeypatch):
    truth = datasets.figure1(0)
    other = truth.with_parameters(truth.parameters.map(lambda values: 0.9 * values + 0.05))
    states = (np.arange(32)[:, None] >> np.arange(5) & 1).astype(np.uint8)
    of_truth, of_other = (posteriors(each, states).log_evidences for each in (truth, other))
    assert np.exp(of_truth).sum() == pytest.approx(1.0)
    divergence = np.exp(of_truth) @ (of_truth - of_other)
    losses = [maximum.loss_of(other, truth, truth.sample(3000, rng=seed)) for seed in range(20)]
    assert np.mean(losses) == pytest.approx(divergence, rel=0.1)
    plain = [-maximum._gain(other, truth, truth.sample(3000, rng=s)) / 3000 for s in range(20)]
    assert np.mean(plain) == pytest.approx(divergence, rel=0.5)
    assert np.std(losses) < 0.5 * np.std(plain)
