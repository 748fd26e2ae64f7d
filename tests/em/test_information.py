"""Standard errors from the information of the records."""

import numpy as np
import pytest

from noisyor import Fixed, NoisyOrNetwork, Structure, datasets
from noisyor.em.expected import BetaPriors, RecordTotals
from noisyor.em.information import (
    DiseaseErrors,
    MatrixInformation,
    ScoreInformation,
    at_least_if_seen,
    covariance_of,
    disease_errors,
    information_errors,
)
from noisyor.em.sampling_kernels import DiseaseInformation
from noisyor.learning import EMSettings, learn_exact_em
from noisyor.parameters import Parameters

STRUCTURE = Structure.from_edges([("A", "a"), ("A", "b"), ("B", "b")])
NETWORK = NoisyOrNetwork(STRUCTURE, [0.1, 0.2], [0.3, 0.4, 0.6], [0.05, 0.15])


def random_information(rng, n):
    scores = rng.normal(size=(50, n))
    return scores.T @ scores


def test_intervals_of_exact_em_hold_the_truth():
    held = known = 0
    for seed in range(20):
        network = datasets.figure1(seed)
        estimate = learn_exact_em(
            network.sample(20_000, rng=seed), network.structure, settings=EMSettings(n_init=2)
        )
        for part, truth in zip(
            estimate.parts.values(), (network.priors, network.failures, network.leaks), strict=True
        ):
            lower, upper = part.intervals()
            held += ((lower <= truth) & (truth <= upper)).sum()
            known += len(truth)
    assert 0.90 <= held / known <= 0.99


def test_errors_are_those_of_the_inverse_information(rng):
    information, values = random_information(rng, 7), NETWORK.parameters.vector
    sizes = BetaPriors.weak(NETWORK).sizes.vector
    free = np.array([0, 2, 3, 5, 6])
    fixed = Fixed(STRUCTURE, priors={"B": 0.2}, failures={("B", "b"): 0.6})
    # A Beta prior of n cases has the information n / (x (1 - x)) by its value.
    whole = information + np.diag(sizes / (values * (1 - values)))
    for chosen, given in (np.arange(7), Fixed(STRUCTURE)), (free, fixed):
        expected = np.sqrt(np.diag(np.linalg.inv(whole[np.ix_(chosen, chosen)])))
        by_log_odds = information * np.outer(values * (1 - values), values * (1 - values))
        found = information_errors(NETWORK, by_log_odds, given, BetaPriors.weak(NETWORK)).vector[
            chosen
        ]
        assert found == pytest.approx(expected, rel=1e-9)


def test_conjugate_gradients_solve_what_factors_solve(rng, monkeypatch):
    monkeypatch.setattr("noisyor.em.information.SOLVED", 1e-6)
    rows, vector = rng.normal(size=(30, 50)), rng.normal(size=50)
    diagonal = rng.uniform(0.5, 2.0, size=50)
    some = ScoreInformation(rows.astype(np.float32), 3.0)
    whole = MatrixInformation(3.0 * rows.T @ rows)
    assert some.times(vector) == pytest.approx(whole.times(vector), rel=1e-4, abs=1e-3)
    expected = np.linalg.solve(whole.matrix + np.diag(diagonal), vector)
    assert whole.solve(diagonal, vector) == pytest.approx(expected, rel=1e-8)
    assert some.solve(diagonal, vector) == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_the_covariance_is_the_inverse_and_leaves_the_information_as_it_is(rng):
    information = random_information(rng, 7)
    before = information.copy()
    fixed, weak = Fixed(STRUCTURE, priors={"B": 0.2}), BetaPriors.weak(NETWORK)
    free = ~fixed.mask.vector
    found = covariance_of(NETWORK, information, fixed, weak)
    whole = information + np.diag(weak.derivatives(NETWORK)[1])
    assert found[np.ix_(free, free)] == pytest.approx(np.linalg.inv(whole[np.ix_(free, free)]))
    assert not found[~free].any()
    assert (information == before).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_of_each_disease_are_those_of_its_own_information(rng, n_jobs):
    of_a, of_b, leaks = random_information(rng, 3), random_information(rng, 2), [40.0, -1e6]
    matrices = np.concatenate([np.tril(of_a).ravel(), np.tril(of_b).ravel()])
    totals = RecordTotals(100, np.array([80.0, 100.0]))
    fixed = Fixed(STRUCTURE, failures={("A", "a"): 0.3})
    found = disease_errors(
        NETWORK, DiseaseInformation(matrices, np.array(leaks)), totals, fixed, 0.5, n_jobs
    ).errors
    weak, f = BetaPriors.weak(NETWORK, 0.5), NETWORK.failures
    mean, size = weak.means.failures, weak.sizes.failures
    added = size * mean / f**2 + size * (1 - mean) / (1 - f) ** 2
    whole = of_a + np.diag([*added[:2], 100 / (0.1 * 0.9)])
    expected = np.sqrt(np.diag(np.linalg.inv(whole[1:, 1:])))  # the first failure is fixed
    assert [found.failures[1], found.priors[0]] == pytest.approx(expected)
    whole = of_b + np.diag([added[2], 100 / (0.2 * 0.8)])
    expected = np.sqrt(np.diag(np.linalg.inv(whole)))
    assert [found.failures[2], found.priors[1]] == pytest.approx(expected)
    assert found.leaks[0] == pytest.approx((40 + 80 / 0.95**2) ** -0.5)
    assert np.isnan(found.leaks[1])  # a negative information is none


def test_what_diseases_share_makes_errors_of_priors_and_what_follows_them_larger():
    alone = DiseaseErrors(
        Parameters([0.1, 0.1], [0.2, 0.2, 0.3], [0.1, 0.1]), np.array([2.0, 0.0, -1.0])
    )
    diseases = STRUCTURE.edges[:, 0]
    shared = np.linalg.inv([[0.05, -0.04], [-0.04, 0.05]])
    found = alone.together(shared, Fixed(STRUCTURE), diseases)
    assert found.priors**2 == pytest.approx([0.05, 0.05])
    assert found.failures**2 == pytest.approx([0.04 + 4 * 0.04, 0.04, 0.09 + 0.04])
    assert found.leaks.tolist() == [0.1, 0.1]
    if_fixed = alone.together(shared, Fixed(STRUCTURE, priors={"B": 0.2}), diseases)
    assert if_fixed.priors[0] ** 2 == pytest.approx(0.05 - 0.04**2 / 0.05)
    assert if_fixed.failures[2] == pytest.approx(0.3)
    unknown = alone.together(np.ones((2, 2)), Fixed(STRUCTURE), diseases)
    assert np.isnan(unknown.priors).all()
    assert np.isnan(unknown.failures[[0, 2]]).all()


def test_no_error_is_smaller_than_if_the_causes_were_seen():
    totals = RecordTotals(100, np.array([50.0, 100.0]))
    errors = Parameters([1e-6, 0.5], [1e-6, 0.5, np.nan], [1e-6, 0.5])
    found = at_least_if_seen(errors, NETWORK, totals)
    assert found.priors == pytest.approx([np.sqrt(0.1 * 0.9 / 100), 0.5])
    assert found.failures[:2] == pytest.approx([np.sqrt(0.3 * 0.7 / 10), 0.5])
    assert np.isnan(found.failures[2])
    assert found.leaks == pytest.approx([np.sqrt(0.05 * 0.95 / 50), 0.5])
