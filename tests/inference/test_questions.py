"""What to ask next, against sums over all states."""

import numpy as np
import pytest

import naive
from conftest import as_lists
from inference.patients import random_patient
from noisyor import NoisyOrNetwork, Structure, best_questions


def test_questions_tell_what_sums_over_all_states_say(rng):
    for number in range(25):
        network, row, present, absent = random_patient(rng)
        about = number % network.structure.n_diseases if number % 2 else None
        asked = best_questions(network, present, absent, about=about, draws=20_000)
        for j, gain in zip(asked.symptoms.tolist(), asked.gains.tolist(), strict=True):
            truth = naive.information(*as_lists(network), row, j, about)
            assert gain == pytest.approx(truth, abs=0.02)
        assert (np.diff(asked.gains) <= 0.0).all()
        assert set(asked.symptoms.tolist()) == {j for j, v in enumerate(row) if v is None}


def test_questions_about_a_rare_disease():
    structure = Structure.from_edges(
        [("rare", "x"), ("rare", "y"), ("common", "y"), ("common", "z")]
    )
    network = NoisyOrNetwork(structure, [1e-3, 0.1], [0.01, 0.01, 0.3, 0.3], [1e-4, 0.01, 0.01])
    truth = naive.information(*as_lists(network), [None] * 3, 0, about=0)
    for seed in range(3):
        asked = best_questions(network, about="rare", rng=seed)
        assert asked.symptoms[0] == 0
        assert asked.gains[0] == pytest.approx(truth, rel=0.1)


def test_questions_where_all_explanations_are_improbable():
    """Of two that explain a finding the first was always taken: 1 - 1e-20 is 1."""
    structure = Structure.from_edges([("a", "x"), ("b", "x"), ("b", "y")])
    network = NoisyOrNetwork(structure, [1e-20, 3e-20], [0.5, 0.5, 0.2], [0.0, 0.0])
    asked = best_questions(network, present=["x"], draws=4000)
    assert asked.probabilities == pytest.approx([0.75 * 0.8], abs=0.04)
