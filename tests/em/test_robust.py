"""Robust errors: the sandwich, compared with what its definition says."""

import numpy as np
import pytest

import naive
from noisyor import Findings, Fixed, NoisyOrLearner, NoisyOrNetwork, Structure, datasets
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import BetaPriors
from noisyor.em.robust import check_robust, curvature_of, robust_covariance
from noisyor.errors import ParameterError

NETWORK = NoisyOrNetwork(
    datasets.figure1(0).structure, [0.3, 0.4], [0.3, 0.2, 0.4, 0.3, 0.5, 0.2, 0.3], [0.1] * 5
)


def naive_log_likelihood(position, structure, records):
    values = 1.0 / (1.0 + np.exp(-position))
    priors, failures, leaks = np.split(values, [2, 9])
    by_edge = np.ones((2, 5))
    by_edge[tuple(structure.edges.T)] = failures
    rows = (dict(enumerate(row.tolist())) for row in records)
    return sum(np.log(naive.joint_probability(priors, by_edge, leaks, row)) for row in rows)


def test_the_curvature_is_the_second_derivative_of_the_likelihood():
    findings = NETWORK.sample(30, rng=0)
    values, records = NETWORK.parameters.vector, findings.to_numpy()
    position, step = np.log(values / (1 - values)), 1e-3
    found = curvature_of(ExactExpectation(findings), NETWORK, Fixed(NETWORK.structure))
    for a, b in (0, 0), (0, 5), (3, 3), (2, 8), (10, 10), (4, 11):
        total = 0.0
        for one in 1, -1:
            for two in 1, -1:
                there = position.copy()
                there[a] += one * step
                there[b] += two * step
                total += one * two * naive_log_likelihood(there, NETWORK.structure, records)
        assert found[a, b] == pytest.approx(-total / (4 * step**2), rel=1e-3, abs=1e-4)


def test_on_a_right_network_the_sandwich_is_the_usual_covariance():
    findings = NETWORK.sample(100_000, rng=1)
    estimate = NoisyOrLearner(NETWORK.structure).fit(findings).estimate_
    fixed = Fixed(NETWORK.structure, leaks={"a": 0.1})
    robust = robust_covariance(
        ExactExpectation(findings), estimate.network, fixed, BetaPriors.weak(estimate.network)
    )
    assert (robust.sandwich[9] == 0.0).all()
    is_free = ~fixed.mask.vector
    ratios = np.diag(robust.sandwich)[is_free] / np.diag(robust.bread)[is_free]
    assert ratios == pytest.approx(1.0, abs=0.15)


def exclusive(n_records, rng):
    """Sample records of patients who have one of two diseases or none, which share symptoms."""
    edges = [("A", each) for each in "abcdf"] + [("B", each) for each in "bcdeg"]
    structure, which = Structure.from_edges(edges), rng.random(n_records)
    sick = np.column_stack([which < 0.45, (which > 0.45) & (which < 0.9)])
    absent = 0.95 * 0.5 ** (sick.astype(int) @ structure.sparse_matrix().T.toarray())
    return structure, (rng.random(absent.shape) > absent).astype(np.uint8)


def test_each_parameter_for_itself_has_the_usual_information_even_if_the_network_is_wrong(rng):
    """In a record each is put to the test once: what differs is how two of them go together."""
    structure, records = exclusive(5000, rng)
    learner = NoisyOrLearner(structure, method="exact_em", tol=1e-10, max_iter=20_000).fit(records)
    expectation = ExactExpectation(Findings.from_numpy(records, structure))
    network, fixed = learner.network_, Fixed(structure)
    products = expectation.information(network)
    curvature = curvature_of(expectation, network, fixed)
    assert np.diag(products) == pytest.approx(np.diag(curvature), rel=0.02, abs=0.01)
    assert np.abs(products - curvature).max() > 0.1 * np.median(np.diag(curvature))


def test_what_would_take_too_long_or_cannot_be_done_is_refused():
    with pytest.raises(ParameterError, match=r"2,000 parameters would take"):
        check_robust(2000, is_exact=True)
    with pytest.raises(ParameterError, match="summed up exactly"):
        check_robust(10, is_exact=False)
    findings = NETWORK.sample(200, rng=0)
    with pytest.raises(ParameterError, match="refined, exact_em, maximum_likelihood"):
        NoisyOrLearner(NETWORK.structure, method="pooled", robust=True).fit(findings)
