"""Inference on networks with parameters of 0, 1 and almost so, against sums of exact fractions."""

import functools

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

LEAST = 1.96 / 3200
"""What sampling states at least: what never happened in 3,200 draws may still be that probable."""
WITHIN, SURE = "within the interval", "within the least interval"
OUTSIDE, FAR = "outside", "far outside"
"""Far: by more than 0.005, and by more than half of what is stated."""
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

    def part(self, disease, is_on, value=lambda _: 1.0):
        """Return the part of a mean that comes from states with a disease, or without it."""
        return sum(p * value(states) for states, p in self.states if states[disease] == is_on)


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


def check_posterior(patient, found, _):
    assert found.probabilities == pytest.approx(patient.posteriors, abs=found.error + 1e-9)


def check_most_probable(patient, *_):
    found = most_probable(patient.network, patient.present, patient.absent, k=4)
    truth = sorted((p for _, p in patient.states), reverse=True)[:4]
    n = len(found.probabilities)
    assert found.is_proven
    assert found.probabilities == pytest.approx(truth[:n], abs=1e-9)
    assert sum(truth[n:]) < 1e-9


def check_causes(patient, *_):
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


def check_contributions(patient, *_):
    """Of each disease and finding: the posterior without it, and the change of the log odds."""
    structure, lists = patient.network.structure, as_lists(patient.network)
    everyone = list(range(structure.n_diseases))
    told = explain(patient.network, patient.present, patient.absent, diseases=everyone)
    for each in told.contributions.to_pylist():
        i = structure.disease_index(each["disease"])
        j = structure.symptom_index(each["finding"])
        row = [None if x == j else value for x, value in enumerate(patient.row)]
        without = sum(p * states[i] for states, p in naive.states_given(*lists, row))
        assert each["without"] == pytest.approx(without, abs=1e-9)
        chances = patient.posteriors[i], without
        if all(1e-6 < chance < 1 - 1e-6 for chance in chances):
            odds = [chance / (1 - chance) for chance in chances]
            assert each["log_odds"] == pytest.approx(np.log(odds[0] / odds[1]), abs=1e-5)
        elif 1e-6 < without < 1 - 1e-6:  # the finding makes it certain, or almost
            assert np.sign(each["log_odds"]) == np.sign(chances[0] - 0.5)
            assert abs(each["log_odds"] + np.log(without / (1 - without))) > 13


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


def check_questions(patient, _, seed):
    lists = as_lists(patient.network)
    options = {"draws": 4000, "rng": seed}
    asked = best_questions(patient.network, patient.present, patient.absent, **options)
    for j, gain, chance in zip(asked.symptoms, asked.gains, asked.probabilities, strict=True):
        expected = patient.expect(lambda states, j=j: chance_of(lists, j, states))
        left = patient.expect(lambda states, j=j: naive.entropy(chance_of(lists, j, states)))
        assert chance == pytest.approx(expected, abs=0.05)
        assert gain == pytest.approx(naive.entropy(min(expected, 1.0)) - left, abs=0.06)


def check_questions_about(patient, _, seed):
    """Ask about each disease: H(F) less H(F | the disease), by sums over all states."""
    lists = as_lists(patient.network)
    for i in range(patient.network.structure.n_diseases):
        asked = best_questions(
            patient.network, patient.present, patient.absent, about=i, draws=4000, rng=seed
        )
        for j, gain, chance in zip(asked.symptoms, asked.gains, asked.probabilities, strict=True):
            left, of_symptom = 0.0, functools.partial(chance_of, lists, j)
            for is_on in (0, 1):
                weight = patient.part(i, is_on)
                if weight:
                    present = patient.part(i, is_on, of_symptom) / weight
                    left += weight * naive.entropy(min(present, 1.0))
            expected = patient.expect(of_symptom)
            assert chance == pytest.approx(expected, abs=0.05)
            assert gain == pytest.approx(naive.entropy(min(expected, 1.0)) - left, abs=0.06)


# --- sampling, on larger networks ---


def sampled_networks(rng, n, shares, is_rare):
    """Give networks of up to 12 diseases with findings, and their exact posteriors.

    So small as those above, most networks are solved by sampling, too: all diseases that have to do
    with each other are drawn at once. `shares` of the parameters are degenerate; where diseases are
    rare, and leaks small, explanations exclude each other.
    """
    while n:
        sizes = rng.integers(2, 13, 2)
        structure = Structure.from_matrix(rng.random(sizes) < rng.choice([0.4, 0.7, 0.95]))
        sizes = structure.n_diseases, structure.n_edges, structure.n_symptoms
        values = [degenerate_values(rng, size, rng.choice(shares)) for size in sizes]
        if is_rare:
            values[0], values[2] = 0.1 * values[0], 0.1 * values[2] ** 4
        network = NoisyOrNetwork(structure, *values)
        states = rng.choice(3, structure.n_symptoms, p=[0.5, 0.3, 0.2])
        findings = [np.flatnonzero(states == state).tolist() for state in (0, 1)]
        try:
            found = posterior(network, *findings, method="exact", budget=5.0)
        except NoisyOrError:  # impossible
            continue
        yield network, findings, found.probabilities
        n -= 1


def is_within_stated(network, findings, truth, seed):
    """Say of each disease in doubt whether sampling is as near as it says."""
    found = posterior(network, *findings, method="gibbs", rng=seed)
    is_within = (found.bound_lower - 1e-9 <= truth) & (truth <= found.bound_upper + 1e-9)
    width = np.maximum(
        found.bound_upper - found.probabilities, found.probabilities - found.bound_lower
    )
    off = np.abs(found.probabilities - truth)
    inside = np.where(width > 1.001 * LEAST, WITHIN, SURE)
    outside = np.where((off > 1.5 * width) & (off > 0.005), FAR, OUTSIDE)
    words = np.where(is_within, inside, outside)
    return words[(truth > 0.01) & (truth < 0.99)].tolist()


SAMPLED = {
    "gibbs": ((0.1, 0.3, 0.6), False),
    "gibbs, ordinary parameters": ((0.0,), False),
    "gibbs, rare diseases": ((0.0,), True),
}
"""What share of the parameters is degenerate, and whether diseases are rare."""


CHECKS = {
    "posterior": check_posterior,
    "most_probable": check_most_probable,
    "explain: causes": check_causes,
    "explain: contributions": check_contributions,
    "best_questions": check_questions,
    "best_questions(about=...)": check_questions_about,
}
"""Each takes a patient, the exact posteriors found, and a seed."""


NAMES = (*CHECKS, *SAMPLED)


def cases(name, rng, n):
    """Give functions that check one network each, and say what came of it."""
    if name in SAMPLED:
        for seed, case in enumerate(sampled_networks(rng, n, *SAMPLED[name])):
            yield functools.partial(is_within_stated, *case, seed)
    else:
        for seed, (patient, found) in enumerate(patients(rng, n)):
            yield functools.partial(_check, CHECKS[name], patient, found, seed)


def _check(check, *case):
    check(*case)
    return ["right"]
