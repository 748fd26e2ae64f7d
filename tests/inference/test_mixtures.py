"""Diseases that occur together: posteriors, causes, questions and sets against all states."""

import numpy as np
import pandas as pd
import pytest

import naive
from noisyor import NoisyOrError, best_questions, explain, most_probable, posterior, posteriors
from noisyor.inference.answers import answer_all, make_request
from noisyor.inference.flat import list_records
from together import KINDS, as_naive, random_together

CASES = [(kind, seed) for kind in KINDS for seed in range(3)]


def random_case(seed, kind, n_diseases=4, n_symptoms=6):
    rng = np.random.default_rng(seed)
    network = random_together(rng, n_diseases, n_symptoms, kind)
    row = [[1, 0, None][x] for x in rng.integers(3, size=n_symptoms)]
    parts = tuple([j for j, value in enumerate(row) if value == state] for state in (1, 0))
    return network, row, parts


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_posteriors_and_causes_agree_with_naive(kind, seed):
    network, row, parts = random_case(seed, kind)
    total, expected, caused, leaked = naive.expectations(*as_naive(network), row)
    found = posterior(network, *parts)
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-12)
    assert found.log_evidence == pytest.approx(np.log(total))
    assert found.method == "exact"
    assert 0.0 < found.error < 1e-9
    arrays = tuple(np.array(part, dtype=np.int64) for part in parts)
    request = make_request("exact", 1.0, 0)
    answers = answer_all(network, list_records([arrays]), request, with_causes=True)
    for (i, j), chance in caused.items():
        edges = network.structure.edges.tolist()
        if [i, j] in edges:
            assert answers.caused[0, edges.index([i, j])] == pytest.approx(chance, abs=1e-12)
    for j, chance in leaked.items():
        assert answers.leaked[0, j] == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_bounds_hold(kind, seed):
    network, row, parts = random_case(seed, kind)
    total, expected, _, _ = naive.expectations(*as_naive(network), row)
    found = posterior(network, *parts, method="variational", budget=1e-3)
    assert (found.bound_lower <= np.array(expected) + 1e-9).all()
    assert (found.bound_upper >= np.array(expected) - 1e-9).all()
    assert found.log_evidence <= np.log(total) + 1e-9 <= found.log_evidence_upper + 2e-9


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_most_probable_sets_agree_with_naive(kind, seed):
    network, row, parts = random_case(seed, kind)
    found = most_probable(network, *parts, k=3)
    expected = naive.best_states(*as_naive(network), row, 3)
    np.testing.assert_allclose(np.exp(found.log_joints), expected, rtol=1e-9)
    assert found.is_proven
    assert found.log_bound <= found.log_joints[-1] + 1e-8


@pytest.mark.parametrize(("kind", "seed"), CASES[::3])
@pytest.mark.parametrize("about", [None, 1])
def test_questions_agree_with_naive(kind, seed, about):
    network, row, parts = random_case(seed, kind)
    asked = best_questions(network, *parts, about=about, draws=10_000)
    for j, gain in zip(asked.symptoms.tolist(), asked.gains, strict=True):
        expected = naive.information(*as_naive(network), row, j, about)
        assert gain == pytest.approx(expected, abs=0.02)


def test_covariates_of_a_person_and_of_records():
    network, _, parts = random_case(0, "trait with covariates")
    people = {"age": [30.0, 90.0, None], "site": ["a", None, "c"]}
    rows = np.zeros((3, network.structure.n_symptoms))
    rows[:, parts[0]] = 1.0
    frame = {name: np.array(values, dtype=object) for name, values in people.items()}
    found = posteriors(network, rows, covariates=pd.DataFrame(frame))
    absent = np.flatnonzero(rows[0] == 0).tolist()
    for number in range(3):
        person = {name: values[number] for name, values in people.items()}
        one = posterior(network, parts[0], absent, covariates=person)
        np.testing.assert_allclose(found.probabilities[number], one.probabilities, rtol=1e-12)
    given = network.given({"age": 30.0, "site": "a"})
    row = [int(x) for x in rows[0]]
    _, expected, _, _ = naive.expectations(*as_naive(given), row)
    np.testing.assert_allclose(found.probabilities[0], expected, atol=1e-12)


def test_explanations_say_what_covariates_and_dependence_add():
    network, _, _ = random_case(0, "trait with covariates")
    person = {"age": 80, "site": "b"}
    table = explain(network, [0], [1], covariates=person, diseases=2).contributions.to_pylist()
    base = posterior(network, [0], [1], covariates=person).probabilities
    alone = network.given(person).as_independent()
    others = {
        "age = 80": posterior(network, [0], [1], covariates={"site": "b"}),
        "site = b": posterior(network, [0], [1], covariates={"age": 80}),
        "the other diseases": posterior(alone, [0], [1]),
    }
    rows = [row for row in table if row["state"] in ("covariate", "together")]
    assert len(rows) == 6
    for row in rows:
        disease = network.structure.disease_index(row["disease"])
        without = others[row["finding"]].probabilities[disease]
        change = np.log(base[disease] / (1 - base[disease])) - np.log(without / (1 - without))
        assert row["log_odds"] == pytest.approx(change)
        assert row["without"] == pytest.approx(without)


def test_what_cannot_be_done_is_said():
    network, _, _ = random_case(0, "trait")
    with pytest.raises(NoisyOrError, match="take 'auto', 'exact' or 'variational', not 'gibbs'"):
        posterior(network, [0], method="gibbs")
    with pytest.raises(NoisyOrError, match="has no covariates"):
        posterior(network, [0], covariates={"age": 3})
    with pytest.raises(NoisyOrError, match="has no covariates"):
        posteriors(network, np.zeros((1, 6)), covariates={"age": [3]})
