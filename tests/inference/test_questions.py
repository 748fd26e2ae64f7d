"""What to ask next, against sums over all states."""

import numpy as np
import pytest

import naive
from conftest import as_lists
from inference.patients import random_patient
from noisyor import NoisyOrError, NoisyOrNetwork, Structure, best_questions, datasets, posterior
from noisyor.inference import questions


def test_questions_tell_what_sums_over_all_states_say(rng):
    for number in range(25):
        network, row, present, absent = random_patient(rng)
        about = number % network.structure.n_diseases if number % 2 else None
        asked = best_questions(network, present, absent, about=about, draws=20_000)
        for j, gain in zip(asked.symptoms.tolist(), asked.gains.tolist(), strict=True):
            truth = naive.information(*as_lists(network), row, j, about)
            assert gain == pytest.approx(truth, abs=0.02 if about is None else 1e-9)
        assert asked.method == ("sampled" if about is None else "exact")
        assert (np.diff(asked.gains) <= 0.0).all()
        assert set(asked.symptoms.tolist()) == {j for j, v in enumerate(row) if v is None}


def test_questions_about_a_rare_disease(monkeypatch):
    structure = Structure.from_edges(
        [("rare", "x"), ("rare", "y"), ("common", "y"), ("common", "z")]
    )
    network = NoisyOrNetwork(structure, [1e-3, 0.1], [0.01, 0.01, 0.3, 0.3], [1e-4, 0.01, 0.01])
    truth = naive.information(*as_lists(network), [None] * 3, 0, about=0)
    for seed in range(3):
        asked = best_questions(network, about="rare", rng=seed)
        assert asked.symptoms[0] == 0
        assert asked.gains[0] == pytest.approx(truth, rel=1e-6)
        monkeypatch.setattr(questions, "MOST_SUMMED", 2)
        asked = best_questions(network, about="rare", rng=seed)
        assert asked.method == "sampled"
        assert asked.gains[0] == pytest.approx(truth, rel=0.1)
        monkeypatch.undo()


def test_questions_where_all_explanations_are_improbable():
    """Of two that explain a finding the first was always taken: 1 - 1e-20 is 1."""
    structure = Structure.from_edges([("a", "x"), ("b", "x"), ("b", "y")])
    network = NoisyOrNetwork(structure, [1e-20, 3e-20], [0.5, 0.5, 0.2], [0.0, 0.0])
    asked = best_questions(network, present=["x"], draws=4000)
    assert asked.probabilities == pytest.approx([0.75 * 0.8], abs=1e-9)


# --- costs and losses ---


def test_costs_rank_by_gain_for_the_cost():
    clinic = datasets.clinic()
    free = best_questions(clinic, ["fever", "cough"])
    best = free.table()[0]["symptom"]
    dear = best_questions(clinic, ["fever", "cough"], costs={best: 1000.0, "headache": 0.5})
    assert dear[best]["gain"] == free[best]["gain"]
    assert dear.table()[-1]["symptom"] != dear.table()[0]["symptom"] != best
    rows = dear.table().to_pydict()
    assert rows["gain_per_cost"] == sorted(rows["gain_per_cost"], reverse=True)
    assert dear["headache"]["cost"] == 0.5
    assert dear["thirst"]["cost"] == 1.0


def expected_loss(network, present, absent, missed, alarm, disease=0):
    p = posterior(network, present, absent).probabilities[disease]
    return min(p * missed, (1 - p) * alarm)


def test_the_loss_that_a_question_saves_follows_from_its_answers():
    network = datasets.figure1(0)
    asked = best_questions(network, ["a"], utilities={"A": (10, 4)})
    assert asked.unit == "loss"
    before = expected_loss(network, ["a"], [], 10, 4)
    for row in asked:
        symptom, p = row["symptom"], network.joint(["a", row["symptom"]])
        chance = p[1, 1] / p[1].sum()
        after = chance * expected_loss(network, ["a", symptom], [], 10, 4)
        after += (1 - chance) * expected_loss(network, ["a"], [symptom], 10, 4)
        assert row["gain"] == pytest.approx(max(before - after, 0.0), abs=1e-12)


def test_no_question_saves_anything_where_nothing_is_lost():
    asked = best_questions(datasets.clinic(), ["fever"], utilities={"influenza": (0, 5)})
    assert asked.gains.max() == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"costs": {"fever": 0}}, "the cost of 'fever' must be a positive number, not 0"),
        ({"costs": {"fever": "much"}}, "must be a positive number, not 'much'"),
        ({"costs": {"fevr": 1}}, "did you mean 'fever'"),
        ({"utilities": {"influenza": 5}}, "must be two numbers from 0"),
        ({"utilities": {"influenza": (1, -1)}}, "must be two numbers from 0"),
        ({"utilities": {}}, "at least one disease"),
        ({"utilities": {"influensa": (1, 1)}}, "did you mean 'influenza'"),
    ],
)
def test_costs_and_losses_that_are_none(options, message):
    with pytest.raises(NoisyOrError, match=message):
        best_questions(datasets.clinic(), ["cough"], **options)
