"""Structures in which a disease or two are given wrongly."""

import numpy as np
import pytest

from noisyor import Structure, datasets
from noisyor.experiments.misgiven import (
    AS_IT_IS,
    DOUBLED,
    HALVED,
    JOINED,
    agreement,
    misgiven,
    named,
)

CLINIC = datasets.clinic()


def given(method):
    return misgiven(CLINIC, method, np.random.default_rng(1))


def test_two_become_one():
    structure, wrong = given(JOINED)
    [name] = wrong
    truth = CLINIC.structure
    assert structure.n_diseases == truth.n_diseases - 1
    gone = next(each for each in truth.diseases if each not in structure.diseases)
    both = {*truth.children(name).tolist(), *truth.children(gone).tolist()}
    assert set(structure.children(name).tolist()) == both


@pytest.mark.parametrize("method", [HALVED, DOUBLED])
def test_one_becomes_two(method):
    structure, wrong = given(method)
    truth = CLINIC.structure
    parts = [structure.children(name).tolist() for name in sorted(wrong)]
    [name] = wrong & set(truth.diseases)
    assert len(parts) == 2
    assert set(parts[0]) | set(parts[1]) == set(truth.children(name).tolist())
    assert (set(parts[0]) == set(parts[1])) == (method == DOUBLED)
    assert structure.n_symptoms == truth.n_symptoms


def test_agreement_is_that_of_edges():
    structure, _ = given(AS_IT_IS)
    assert structure == CLINIC.structure
    assert agreement(CLINIC.structure, structure) == 1.0
    less = Structure(structure.diseases, structure.symptoms, structure.edges[12:])
    assert agreement(CLINIC.structure, less) == pytest.approx(108 / 120)
    backwards = Structure(
        structure.diseases[::-1], structure.symptoms, [[19 - i, j] for i, j in structure.edges]
    )
    assert agreement(CLINIC.structure, backwards) == 1.0  # names do not count


def test_what_is_wrong_is_named():
    rng = np.random.default_rng(1)
    found = named(CLINIC, CLINIC.sample(5000, rng=2), JOINED, rng)
    assert (found["named"], found["other diseases"]) == (1.0, 0.0)
    assert found["edges right"] > 0.95
