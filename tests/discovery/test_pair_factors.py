"""Causes from pairs."""

import numpy as np

from discovery.test_suggestions import CLINIC
from noisyor import Findings, MomentPlan, Moments, Structure, count_moments
from noisyor.discovery.dense_em import CauseMatrix
from noisyor.discovery.matching import differences
from noisyor.discovery.pair_factors import PairRatios, causes_of, factorise, residuals

MOMENTS = Moments.exact(CLINIC, MomentPlan.all_pairs(CLINIC.structure))


def test_ratios_are_those_of_the_network():
    ratios = PairRatios.of(MOMENTS)
    left = residuals(ratios, CauseMatrix.of(CLINIC))
    np.testing.assert_allclose(left.values, 0.0, atol=1e-6)
    assert np.abs(ratios.values).max() > 0.05


def test_pairs_of_which_nothing_is_known_weigh_nothing():
    array = np.array([[1, 0, np.nan], [0, 1, np.nan], [1, np.nan, 1], [1, np.nan, 1]])
    structure = Structure((), ["a", "b", "c"], np.empty((0, 2), int))
    findings = Findings.from_numpy(array, structure)
    with np.errstate(all="raise"):
        ratios = PairRatios.of(count_moments(findings, MomentPlan.all_pairs(structure)))
    assert (ratios.weights > 0.0).tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    assert np.isfinite(ratios.values).all()


def test_exact_pairs_give_the_strengths():
    ratios = PairRatios.of(MOMENTS)
    is_allowed = np.ones((5, 20), dtype=bool)
    found = [
        factorise(ratios, is_allowed, np.random.default_rng(seed), max_iter=2000)
        for seed in range(3)
    ]
    strengths, _ = min(found, key=lambda each: each[1])
    truth = CauseMatrix.of(CLINIC)
    p = truth.priors[:, np.newaxis]
    expected = np.sqrt(p * (1 - p)) * truth.strengths / (1 - p * truth.strengths)
    distances = np.abs(expected[:, np.newaxis] - strengths[np.newaxis]).max(axis=2)
    assert (distances.min(axis=1) < 0.05).all()


def test_no_edge_where_none_is_allowed():
    is_allowed = CLINIC.structure.sparse_matrix().toarray().T > 0
    strengths, _ = factorise(PairRatios.of(MOMENTS), is_allowed, np.random.default_rng(0))
    assert (strengths[~is_allowed] == 0.0).all()
    causes = causes_of(strengths, is_allowed, np.full(20, 0.1))
    assert (causes.failures[~is_allowed] == 1.0).all()
    assert (causes.failures[is_allowed] < 1.0).all()
    assert differences(causes.failures, causes.failures).diagonal().max() == 0.0


def test_a_start_is_gone_on_from():
    ratios, truth = PairRatios.of(MOMENTS), CauseMatrix.of(CLINIC)
    p = truth.priors[:, np.newaxis]
    start = np.sqrt(p * (1 - p)) * truth.strengths / (1 - p * truth.strengths)
    is_allowed = np.ones((5, 20), dtype=bool)
    found, _ = factorise(ratios, is_allowed, np.random.default_rng(0), start=start)
    np.testing.assert_allclose(found, start, atol=1e-3)
