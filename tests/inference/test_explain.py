"""Causes of findings, and what findings contribute, against sums over all states."""

import numpy as np
import pytest

import naive
from conftest import as_lists
from inference.patients import random_patient
from noisyor import datasets, explain
from noisyor.inference.explain import explain_nearest


def test_causes_and_contributions(rng):
    for _ in range(40):
        network, row, present, absent = random_patient(rng)
        _, expected, caused, leaked = naive.expectations(*as_lists(network), row)
        names = network.structure
        told = explain(network, present, absent, diseases=list(range(names.n_diseases)))
        for cause in told.causes.to_pylist():
            j = names.symptom_index(cause["finding"])
            if cause["cause"] is None:
                truth = leaked[j]
            else:
                truth = caused[names.disease_index(cause["cause"]), j]
            assert cause["probability"] == pytest.approx(truth, rel=1e-8, abs=1e-10)
        for each in told.contributions.to_pylist():
            i, j = names.disease_index(each["disease"]), names.symptom_index(each["finding"])
            without = [None if x == j else value for x, value in enumerate(row)]
            _, other, _, _ = naive.expectations(*as_lists(network), without)
            assert each["without"] == pytest.approx(other[i], rel=1e-8, abs=1e-10)
            if 1e-9 < expected[i] < 1 - 1e-9 and 1e-9 < other[i] < 1 - 1e-9:
                change = np.log(expected[i] / (1 - expected[i])) - np.log(other[i] / (1 - other[i]))
                assert each["log_odds"] == pytest.approx(change, rel=1e-6, abs=1e-6)


def test_absent_findings_of_rivals_are_told():
    """They were left out where only diseases cause them that were not asked for."""
    clinic = datasets.clinic()
    case = ["fever", "cough"], ["runny nose", "thirst"]
    rows = explain(clinic, *case, diseases=["influenza"]).contributions.rows("influenza")
    found = {row["finding"]: row["log_odds"] for row in rows.to_pylist()}
    assert not clinic.structure.has_edge("influenza", "runny nose")
    assert found["runny nose"] > 0.0  # it speaks against the common cold


def test_what_is_left_out_says_next_to_nothing(rng):
    for _ in range(60):
        network, row, present, absent = random_patient(rng)
        _, expected, _, _ = naive.expectations(*as_lists(network), row)
        names = network.structure
        told = explain(network, present, absent, diseases=1).contributions.to_pylist()
        if not told:
            continue
        i = names.disease_index(told[0]["disease"])
        for j in set(present + absent) - {names.symptom_index(each["finding"]) for each in told}:
            without = [None if x == j else value for x, value in enumerate(row)]
            _, other, _, _ = naive.expectations(*as_lists(network), without)
            assert other[i] == pytest.approx(expected[i], abs=2e-4)


def test_the_nearest_findings_are_explained_as_all_are():
    clinic = datasets.clinic()
    case = ["fever", "cough", "wheezing", "thirst"], ["muscle pain", "chills", "runny nose"]
    whole = explain(clinic, *case, diseases=["influenza"]).contributions.to_pylist()
    options = {"covariates": None, "diseases": ["influenza"], "budget": 1.0}
    found, n_left = explain_nearest(clinic, *case, most=3, **options)
    some = found.contributions.to_pylist()
    assert (len(some), n_left) == (3, len(whole) - 3)
    assert [row for row in whole if row in some] == some
    strengths = {
        name: 1.0 - clinic.failures[clinic.structure.edge_index("influenza", name)]
        for name in ("fever", "cough", "muscle pain", "chills")
    }
    nearest = sorted(strengths, key=strengths.get)[-3:]
    assert {row["finding"] for row in some} == set(nearest)
    everything, none_left = explain_nearest(clinic, *case, most=100, **options)
    assert (everything.contributions.to_pylist(), none_left) == (whole, 0)
