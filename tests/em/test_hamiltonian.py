"""Moves along valleys: their density is the penalised likelihood, and they leave it as it is."""

import numpy as np
import pytest

from noisyor import datasets
from noisyor.beliefs import Fixed
from noisyor.em import hamiltonian
from noisyor.em.exact import ExactExpectation
from noisyor.em.hamiltonian import Hamiltonian, SummedPosterior
from noisyor.em.maximum import PenalisedLikelihood
from noisyor.learning.bayesian import as_pseudo_counts


@pytest.fixture(scope="module")
def posterior():
    network = datasets.figure1(rng=0)
    findings, structure = network.sample(300, rng=1), network.structure
    return SummedPosterior.of(
        findings, network, as_pseudo_counts(None, structure), Fixed(structure)
    )


def test_derivatives_are_those_of_the_penalised_likelihood(posterior, rng):
    network = posterior.draw_start(1.0, rng)
    value, slope = posterior.at(network)
    findings = datasets.figure1(rng=0).sample(300, rng=1)
    priors, fixed = as_pseudo_counts(None, findings.structure), Fixed(findings.structure)
    likelihood = PenalisedLikelihood(ExactExpectation(findings), priors, fixed)
    assert value == pytest.approx(likelihood.value_of(network))
    position = posterior.position_of(network)
    for index in range(len(position)):
        step = np.zeros(len(position))
        step[index] = 1e-5
        ends = [posterior.at(posterior.moved(network, position + s * step))[0] for s in (1, -1)]
        assert slope[index] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-3)


def test_a_way_can_be_gone_back(posterior, rng):
    moves, network = Hamiltonian(posterior, rng), posterior.mode
    momentum = rng.normal(size=len(posterior.center))
    slope = posterior.at(network)[1]
    there, momentum, value = moves._roll(network, momentum, slope, 0.3, -np.inf)
    assert np.isfinite(value)
    slope = posterior.at(there)[1]
    back = moves._roll(there, -momentum, slope, 0.3, -np.inf)[0]
    assert back.parameters.vector == pytest.approx(network.parameters.vector, abs=1e-9)
    assert np.abs(there.parameters.vector - network.parameters.vector).max() > 0.01


def test_most_moves_are_accepted_once_steps_are_tuned(posterior, rng):
    n_moved = 0
    for _ in range(4):  # how far a chain was tuned varies: 27 to 48 of 50 in 60 of them
        moves, network = Hamiltonian(posterior, rng), posterior.mode
        for number in range(hamiltonian.N_TUNED + 50):
            after = moves.move(network)
            n_moved += number >= hamiltonian.N_TUNED and after is not network
            network = after
    assert 0.6 <= n_moved / 200 <= 0.97


def test_there_is_none_where_sums_are_too_much_work(monkeypatch):
    network = datasets.figure1(rng=0)
    structure, findings = network.structure, network.sample(50, rng=1)
    priors = as_pseudo_counts(None, structure)
    every = Fixed.of(network, "priors", "failures", "leaks")
    assert SummedPosterior.of(findings, network, priors, every) is None
    monkeypatch.setattr(hamiltonian, "MOST_IN_ALL", 1.0)
    assert SummedPosterior.of(findings, network, priors, Fixed(structure)) is None
