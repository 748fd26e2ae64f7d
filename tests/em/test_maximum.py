"""The maximum of the penalised likelihood: reached, never left, and what is fixed is kept."""

import numpy as np
import pytest

from conftest import network_on, with_unknown
from em.small_networks import small_network
from noisyor import Fixed, Structure, datasets
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import BetaPriors
from noisyor.em.maximum import PenalisedLikelihood, climb_penalised, find_maximum
from noisyor.em.runs import Limits
from noisyor.parameters import Parameters, from_log_odds


def weak_network(rng, n_diseases=8, n_symptoms=10):
    """Return a network whose diseases overlap and hardly cause anything."""
    matrix = np.zeros((n_diseases, n_symptoms))
    for row in matrix:
        row[rng.choice(n_symptoms, 4, replace=False)] = 1
    matrix[0] = 1
    structure = Structure.from_matrix(matrix)
    return network_on(structure, rng, (0.02, 0.2), (0.5, 0.95), (0.001, 0.05))


def likelihood_of(network, findings, fixed=None, share=1.0):
    fixed = fixed or Fixed(network.structure)
    return PenalisedLikelihood(ExactExpectation(findings), BetaPriors.weak(network, share), fixed)


def test_derivatives_are_those_of_the_penalised_likelihood(rng):
    for _ in range(10):
        network = small_network(rng)
        likelihood = likelihood_of(network, with_unknown(network.sample(50, rng=0), rng))
        point, position = likelihood.at(network), likelihood.position_of(network)
        assert point.value == pytest.approx(likelihood.value_of(network))
        for k in rng.choice(len(position), 3, replace=False):
            values = []
            for step in (-1e-4, 1e-4):
                moved = position.copy()
                moved[k] += step
                values.append(likelihood.value_of(likelihood.moved(network, moved)))
            assert point.derivatives[k] == pytest.approx((values[1] - values[0]) / 2e-4, abs=1e-4)


def test_no_other_method_gets_higher(rng):
    from scipy.optimize import minimize

    for seed in range(3):
        network = weak_network(rng, 5, 6)
        likelihood = likelihood_of(network, network.sample(5000, rng=seed))

        def downhill(position, network=network, likelihood=likelihood):
            point = likelihood.at(likelihood.moved(network, position))
            return -point.value, -point.derivatives

        run = climb_penalised(likelihood, network, Limits(200, 0.0), 5)
        assert run.is_settled
        here = likelihood.position_of(run.network)
        best = minimize(downhill, here, jac=True, method="L-BFGS-B", options={"maxiter": 300})
        assert run.values[-1] > -best.fun - 0.5


@pytest.mark.parametrize(("seed", "number"), [(2, 1), (5, 0), (15, 1), (59, 1)])
def test_it_does_not_stop_in_a_valley(seed, number):
    """There the information promises hardly anything, and 0.7 to 0.9 more were to be had."""
    rng = np.random.default_rng(seed)
    network = [weak_network(rng, 5, 6) for _ in range(number + 1)][-1]
    likelihood = likelihood_of(network, network.sample(5000, rng=number))
    run = climb_penalised(likelihood, network, Limits(200, 0.0), 5)
    further = climb_penalised(likelihood, run.network, Limits(200, 1e-9))
    assert further.values[-1] < run.values[-1] + 0.2


def test_it_does_not_stop_at_a_saddle():
    """There derivatives and information promise nothing, and 0.14 more were to be had."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(259)
    network = [weak_network(rng, 5, 6) for _ in range(2)][-1]
    likelihood = likelihood_of(network, network.sample(5000, rng=1))
    run = climb_penalised(likelihood, network, Limits(200, 0.0), 5)

    def downhill(position):
        point = likelihood.at(likelihood.moved(network, position))
        return -point.value, -point.derivatives

    here = likelihood.position_of(run.network)
    best = minimize(downhill, here, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    assert run.is_settled
    assert run.values[-1] > -best.fun - 0.05


def test_the_penalised_likelihood_never_falls(rng):
    network = weak_network(rng)
    likelihood = likelihood_of(network, network.sample(500, rng=0))
    start = network.with_parameters(
        Parameters.split(network.structure, rng.uniform(0.05, 0.95, network.structure.n_parameters))
    )
    run = climb_penalised(likelihood, start, Limits(50, 0.0), 3)
    assert (np.diff(run.values) >= 0.0).all()
    assert run.values[0] == pytest.approx(likelihood.value_of(start))
    assert run.values[-1] == pytest.approx(likelihood.value_of(run.network))


def test_steps_and_tolerance_are_honoured(rng):
    network = weak_network(rng)
    likelihood = likelihood_of(network, network.sample(1000, rng=0))
    few = climb_penalised(likelihood, network, Limits(2, 0.0))
    assert len(few.values) == 3
    assert not few.is_settled
    rough = climb_penalised(likelihood, network, Limits(100, 1e-3))
    fine = climb_penalised(likelihood, network, Limits(100, 1e-9))
    assert rough.is_settled
    assert fine.is_settled
    assert len(rough.values) < len(fine.values)
    assert rough.values[-1] < fine.values[-1]


def test_what_is_fixed_stays(rng):
    network = weak_network(rng)
    fixed = Fixed.of(network, "priors", "leaks")
    findings = network.sample(1000, rng=0)
    likelihood = likelihood_of(network, findings, fixed)
    found = climb_penalised(likelihood, network, Limits(50, 0.0), 2).network
    assert (found.priors == network.priors).all()
    assert (found.leaks == network.leaks).all()
    everything = Fixed.of(network, "priors", "failures", "leaks")
    run = climb_penalised(likelihood_of(network, findings, everything), network, Limits(50, 0.0))
    assert run.is_settled
    assert run.network.parameters == network.parameters


def test_the_highest_start_is_chosen(rng, monkeypatch):
    monkeypatch.setattr("noisyor.em.maximum.FIRST_RECORDS", 500)
    network = datasets.figure1(0)
    findings, fixed = network.sample(5000, rng=1), Fixed(network.structure)
    expectation = ExactExpectation(findings)
    at_bound = network.with_parameters(
        Parameters.split(network.structure, from_log_odds(np.full(14, 9.0), 30.0))
    )
    runs = [
        find_maximum(expectation, starts, fixed, 1.0, Limits(100, 0.0), 0)[0]
        for starts in ([network], [at_bound, network])
    ]
    truth = expectation.expect(network).log_likelihood
    for run in runs:
        assert expectation.expect(run.network).log_likelihood > truth
    assert runs[0].values[-1] == pytest.approx(runs[1].values[-1], abs=0.5)


def test_many_parameters_are_led_to_the_same_maximum_by_conjugate_gradients(rng, monkeypatch):
    network = weak_network(rng)
    expectation = ExactExpectation(network.sample(2000, rng=1))
    fixed = Fixed(network.structure, leaks={network.structure.symptoms[0]: 0.05})
    likelihood = PenalisedLikelihood(expectation, BetaPriors.weak(network), fixed)
    ends = []
    for most in 1500, 1:
        monkeypatch.setattr("noisyor.em.maximum.MOST_FACTORED", most)
        run = climb_penalised(likelihood, network, Limits(300, 1e-7))
        assert run.is_settled
        assert (np.diff(run.values) >= 0.0).all()
        ends.append(run.values[-1])
    assert ends[1] == pytest.approx(ends[0], abs=0.1)
    assert run.network.leaks[0] == pytest.approx(0.05)


def test_the_mean_variance_is_estimated_well_by_random_signs(rng, monkeypatch):
    """On average a quarter too large: it rests on twice as many records as parameters."""
    found = []
    for _ in range(12):
        network = weak_network(rng)
        fixed, weak = Fixed(network.structure), BetaPriors.weak(network)
        records = network.sample(2000, rng=1)
        likelihood = PenalisedLikelihood(ExactExpectation(records), weak, fixed)
        exact = likelihood.unknown(network)
        with monkeypatch.context() as patch:
            patch.setattr("noisyor.em.maximum.MOST_FACTORED", 1)
            found.append(likelihood.unknown(network) / exact)
    assert 0.9 < np.mean(found) < 1.4
