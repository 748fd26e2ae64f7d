"""Causes to be found: networks that are drawn, others' learners, wrong Q-matrices."""

from pathlib import Path

import numpy as np
import pytest

from noisyor.discovery import match_causes
from noisyor.experiments.planted import (
    PLANTED,
    causes_by,
    drawn_test,
    ecpe,
    flipped_q_matrix,
    planted,
    told_entries,
)


def test_planted_causes_overlap():
    for name, n_symptoms in PLANTED.items():
        network = planted(name, 0)
        assert network.structure.n_symptoms == n_symptoms
        assert match_causes(network, network).n_found == int(name.removeprefix("planted"))


def test_another_learner_is_judged_by_its_labels():
    """One that finds the causes recovers them, and one that does not, does not."""
    network = planted("planted8", 0)
    records, diseases = network.sample(3000, rng=0, return_diseases=True)

    def learner(labels):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("noisyor.experiments.planted._machine", lambda *_: labels)
            return causes_by("restricted Boltzmann machine", records, 8, 0)

    seen = diseases.astype(bool)
    seen[:, 0] = ~seen[:, 0]  # a unit that stands for the absence of its cause
    assert match_causes(network, learner(seen)).n_found >= 7
    noise = np.random.default_rng(0).random((3000, 8)) < 0.2
    assert match_causes(network, learner(noise)).n_found == 0


@pytest.mark.slow
def test_flips_of_a_q_matrix_are_found():
    folder = Path(__file__).parents[3] / "shared" / "records" / "ecpe"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    found = [flipped_q_matrix(ecpe(folder), seed, "removed")["flips found"] for seed in range(3)]
    assert np.mean(found) > 0.85


@pytest.mark.slow
def test_flips_of_a_test_that_was_drawn_are_found():
    test = drawn_test("test3", 1500, 0)
    assert test.needs.shape == (28, 3)
    found = flipped_q_matrix(test, 0, "removed")
    assert found == {
        "flips found": 1.0, "told": 1.0, "found of told": 1.0, "further suggestions": 0.0,
    }  # fmt: skip
    assert flipped_q_matrix(test, 0, "none") == {"further suggestions": 0.0}
    told = told_entries(test)
    assert told["ones told"] <= told["ones"] == test.needs.sum()
