"""Posteriors by sampling: near the exact ones, and honest about how near."""

import numpy as np
import pytest

import naive
from conftest import as_lists
from inference.patients import grid, random_patient
from noisyor import NoisyOrNetwork, Structure, datasets, posterior


def test_gibbs_agrees_with_sums_over_all_states(rng):
    errors, scaled = [], []
    for number in range(120):
        network, row, present, absent = random_patient(rng, extremes=number % 2 == 0)
        _, expected, _, _ = naive.expectations(*as_lists(network), row)
        found = posterior(network, present, absent, method="gibbs", rng=number)
        wrong = np.abs(found.probabilities - expected)
        in_doubt = (np.array(expected) > 0.05) & (np.array(expected) < 0.95)
        errors += wrong[in_doubt].tolist()
        scaled.append((wrong <= 1.5 * found.error + 1e-9).all())
    assert np.mean(errors) < 0.01
    assert np.mean(scaled) > 0.9  # 95% confidence, of the worst disease each


@pytest.mark.slow
def test_effective_sample_sizes_tell_the_spread_over_seeds():
    clinic = datasets.clinic()
    patient = ["fever", "cough", "headache", "nausea"]
    runs = [posterior(clinic, patient, method="gibbs", rng=seed) for seed in range(40)]
    truth = posterior(clinic, patient).probabilities
    worst = np.argmax(truth * (1 - truth))
    spread = np.std([run.probabilities[worst] for run in runs])
    n_effective = np.median([run.effective_sample_size for run in runs])
    told = np.sqrt(truth[worst] * (1 - truth[worst]) / n_effective)
    assert spread < 2.0 * told  # of the disease that is told least, so it may be less
    assert np.isnan(posterior(clinic, patient).effective_sample_size)


def test_gibbs_sees_what_it_has_not_settled():
    # Two diseases nearly exclude each other: single ones would hardly ever change.
    structure = Structure.from_matrix(np.ones((2, 3)))
    network = NoisyOrNetwork(structure, [1e-3, 1e-3], np.full(6, 0.01), np.full(3, 1e-9))
    found = posterior(network, [0, 1, 2], method="gibbs")
    assert found.probabilities == pytest.approx([0.5, 0.5], abs=max(2 * found.error, 0.02))


@pytest.mark.slow
def test_sampling_is_honest_where_explanations_exclude_each_other():
    network, truth = grid(7)
    exact = posterior(network, list(range(49)), method="exact", budget=20.0)
    assert exact.probabilities == pytest.approx(np.full(14, truth))
    n_dishonest = 0
    for seed in range(8):
        found = posterior(network, list(range(49)), method="gibbs", rng=seed)
        n_dishonest += np.abs(found.probabilities - truth).max() > 1.5 * found.error
    assert n_dishonest <= 2  # all eight chains fall into one of both now and then


@pytest.mark.parametrize(
    ("priors", "failures", "leaks"),
    [
        # Only a disease of 1e-300 explains the first finding; "none does" was taken for likelier.
        ([1e-300, 0.52], [[0.98, 1e-8], [1.0, 0.85]], [0.0, 0.0]),
        ([1e-305, 0.5], [[0.9, 1e-300], [1.0, 0.8]], [0.0, 0.0]),
        # The third explanation is rare, and excludes the others: it was not found again.
        (
            [1e-8, 1e-8, 3e-10],
            [[0.0, 0.5, 0.4], [0.0, 1e-8, 1e-8], [1e-8, 0.5, 0.4]],
            [0.0, 0.6, 0.1],
        ),
    ],
)
def test_gibbs_with_degenerate_parameters(priors, failures, leaks):
    structure = Structure.from_matrix(np.array(failures) < 1.0)
    given = np.array(failures)[tuple(structure.edges.T)]
    network = NoisyOrNetwork(structure, priors, given, leaks)
    row = [1] * len(leaks)
    expected = np.zeros(len(priors))
    for states, probability in naive.states_given(*as_lists(network), row):
        expected += probability * np.array(states)
    n_right = 0
    for seed in range(20):
        found = posterior(network, list(range(len(row))), method="gibbs", rng=seed)
        n_right += (np.abs(found.probabilities - expected) <= found.error).all()
    assert n_right >= 17
