"""Inference on networks with parameters of 0, 1 and almost so, against sums of exact fractions.

NOISYOR_NETWORKS says on how many networks `make test-all` compares.
"""

import os

import numpy as np
import pytest

import naive
from conftest import as_lists
from noisyor import (
    NoisyOrError,
    NoisyOrNetwork,
    Structure,
    best_questions,
    explain,
    most_probable,
    posterior,
)

N_NETWORKS = int(os.environ.get("NOISYOR_NETWORKS", "2000"))
DEGENERATE = (0.0, 1.0, 1e-300, 1e-8, 1.0 - 1e-8)


def degenerate_values(rng, size, share):
    values, chosen = rng.random(size), rng.random(size) < share
    values[chosen] = rng.choice(DEGENERATE, chosen.sum())
    return values


class Patient:
    """A network with degenerate parameters, findings that it can have, and what they mean."""

    def __init__(self, rng):
        self.states = []
        while not self.states:
            n, m = rng.integers(1, 6, 2)
            structure = Structure.from_matrix(rng.random((n, m)) < rng.choice([0.4, 0.7, 0.95]))
            share = rng.choice([0.1, 0.3, 0.6])
            sizes = structure.n_diseases, structure.n_edges, structure.n_symptoms
            values = [degenerate_values(rng, size, share) for size in sizes]
            self.network = NoisyOrNetwork(structure, *values)
            self.row = [[1, 0, None][k] for k in rng.choice(3, m, p=[0.5, 0.3, 0.2])]
            self.states = possible_states(self.network, self.row)
        self.present = [j for j, value in enumerate(self.row) if value == 1]
        self.absent = [j for j, value in enumerate(self.row) if value == 0]
        self.posteriors = sum(p * np.array(states) for states, p in self.states)

    def expect(self, value):
        """Return the mean of something that depends on the diseases."""
        return sum(p * value(states) for states, p in self.states)


def possible_states(network, row):
    try:
        return naive.states_given(*as_lists(network), row)
    except ZeroDivisionError:  # no state has any weight
        return []


def patients(rng, n):
    """Give patients whose findings are not less probable than the smallest number."""
    while n:
        patient = Patient(rng)
        try:
            found = posterior(patient.network, patient.present, patient.absent, method="exact")
        except NoisyOrError as error:
            if "less probable than the smallest number of a computer" not in str(error):
                raise
            continue
        yield patient, found
        n -= 1


def check_posterior(patient, found):
    assert found.probabilities == pytest.approx(patient.posteriors, abs=found.error + 1e-9)


def check_most_probable(patient):
    found = most_probable(patient.network, patient.present, patient.absent, k=4)
    truth = sorted((p for _, p in patient.states), reverse=True)[:4]
    n = len(found.probabilities)
    assert found.is_proven
    assert found.probabilities == pytest.approx(truth[:n], abs=1e-9)
    assert sum(truth[n:]) < 1e-9


def check_causes(patient):
    structure = patient.network.structure
    _, failures, leaks = lists = as_lists(patient.network)
    told = explain(patient.network, patient.present, patient.absent)
    for cause in told.causes.to_pylist():
        j = structure.symptom_index(cause["finding"])
        name = cause["cause"]
        i = None if name is None else structure.disease_index(name)

        def share(states, i=i, j=j):
            # By fractions: a leak of 1e-300 is all that is left when 1 is subtracted.
            by_itself = leaks[j] if i is None else states[i] * (1 - failures[i][j])
            return by_itself / chance_of(lists, j, states) if by_itself else 0.0

        assert cause["probability"] == pytest.approx(patient.expect(share), abs=1e-8)


def chance_of(lists, symptom, states):
    """Return P(present | diseases), without the loss of digits of a subtraction from 1."""
    _, failures, leaks = lists
    failing = [1 - leaks[symptom], *(failures[i][symptom] for i, on in enumerate(states) if on)]
    chance = leaks[symptom]
    left = failing[0]
    for failure in failing[1:]:
        chance += left * (1 - failure)
        left *= failure
    return min(chance, 1.0)


def check_questions(patient):
    lists = as_lists(patient.network)
    asked = best_questions(patient.network, patient.present, patient.absent, draws=4000)
    for j, gain, chance in zip(asked.symptoms, asked.gains, asked.probabilities, strict=True):
        expected = patient.expect(lambda states, j=j: chance_of(lists, j, states))
        left = patient.expect(lambda states, j=j: naive.entropy(chance_of(lists, j, states)))
        assert chance == pytest.approx(expected, abs=0.05)
        assert gain == pytest.approx(naive.entropy(min(expected, 1.0)) - left, abs=0.06)


def within_stated(patient, seed):
    """Return of each disease in doubt whether sampling is as near as it says."""
    found = posterior(patient.network, patient.present, patient.absent, method="gibbs", rng=seed)
    truth = patient.posteriors
    in_doubt = (truth > 0.01) & (truth < 0.99)
    is_within = (found.lower - 1e-9 <= truth) & (truth <= found.upper + 1e-9)
    return is_within[in_doubt].tolist()


def compare(rng, n):
    within = []
    for number, (patient, found) in enumerate(patients(rng, n)):
        check_posterior(patient, found)
        check_most_probable(patient)
        check_causes(patient)
        check_questions(patient)
        within += within_stated(patient, number)
    return within


def test_inference_with_degenerate_parameters(rng):
    within = compare(rng, 40)
    assert np.mean(within) >= 0.9  # of some 60 diseases


@pytest.mark.slow
def test_inference_with_degenerate_parameters_of_many_networks(rng):
    within = compare(rng, N_NETWORKS)
    print(f"{N_NETWORKS} networks; sampled within the 95% stated: {np.mean(within):.4f}")
    assert np.mean(within) >= 0.94
