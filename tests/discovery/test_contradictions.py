"""Edges that records contradict."""

import numpy as np
import pytest
from scipy.stats import norm

from noisyor import NoisyOrNetwork, Structure
from noisyor.discovery.contradictions import (
    CONTRADICTED,
    chances_if_right,
    contradicted,
    right_strengths,
    shares_of,
)
from noisyor.discovery.scores import EdgeScores

N_RECORDS = 100_000


def scores_of(strengths, errors, n_false=0, rng=0):
    """Return tests of edges of one disease, the last of which are false, and its network."""
    rng, n = np.random.default_rng(rng), len(strengths)
    true = np.where(np.arange(n) < n - n_false, strengths, 0.0)
    found = np.clip(true + errors * rng.normal(size=n), 0.0, 0.999)
    edges = np.column_stack([np.zeros(n, int), np.arange(n)])
    gains, ones = (found / errors) ** 2 / 2.0, np.ones(n)
    network = NoisyOrNetwork(Structure.from_matrix(ones[None]), [0.1], 1.0 - found, 0.01 * ones)
    return EdgeScores(edges, gains, ones, found, ones > 0, is_there=True), network


def drawn(rng, n=150):
    rng = np.random.default_rng(rng)
    return rng.choice([0.05, 0.1, 0.3, 0.8], n), rng.uniform(0.005, 0.04, n)


def test_chances_are_those_of_the_mixture():
    strengths, errors = drawn(1)
    present, network = scores_of(strengths, errors, 5)
    right = right_strengths(present, N_RECORDS)
    cases = N_RECORDS * 0.1
    deviations = [[max(error, np.sqrt(s * (1.0 - s) / cases)) for s in right] for error in errors]
    densities = np.array([
        [norm.pdf(x, s, e) for s, e in zip(right, row, strict=True)]
        for x, row in zip(present.strengths, deviations, strict=True)
    ])  # fmt: skip
    shares = shares_of(densities)
    expected = [
        sum(w * norm.cdf(x, s, e) for w, s, e in zip(shares, right, row, strict=True))
        for x, row in zip(present.strengths, deviations, strict=True)
    ]
    found = chances_if_right(present, errors, network, N_RECORDS)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)


def test_shares_are_those_that_make_points_most_likely():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(0.0, 1.0, 3000), rng.normal(5.0, 1.0, 1000)])
    densities = norm.pdf(points[:, np.newaxis], [0.0, 5.0], 1.0)
    np.testing.assert_allclose(shares_of(densities), [0.75, 0.25], atol=0.02)


def test_a_right_structure_is_hardly_ever_contradicted_and_false_edges_are():
    n_wrong, n_found, n_alone = 0, 0, 0
    for rng in range(200):
        strengths, errors = drawn(rng)
        present, network = scores_of(strengths, errors, 0, rng)
        rates = contradicted(present, errors, network, N_RECORDS, present.gains)
        n_wrong += bool((rates <= CONTRADICTED).any())
        present, network = scores_of(strengths, errors, 8, rng)
        rates = contradicted(present, errors, network, N_RECORDS, present.gains)
        n_found += int((rates[-8:] <= CONTRADICTED).sum())
        most = present.strengths + norm.ppf(1.0 - CONTRADICTED / len(errors)) * errors
        n_alone += int((most[-8:] < 0.05).sum())
    assert n_wrong <= 16  # 5% of 200, and two standard deviations
    # More than where each edge must be contradicted for itself, whatever the others are.
    assert n_found > 1.15 * n_alone


def test_what_records_say_nothing_of_is_not_contradicted():
    strengths, errors = drawn(2)
    present, network = scores_of(strengths, errors, 5)
    nothing = np.where(np.arange(len(errors)) == len(errors) - 1, np.nan, errors)
    assert chances_if_right(present, nothing, network, N_RECORDS)[-1] == 1.0
    weak = present._replace(alone=np.zeros(len(errors)))
    assert right_strengths(weak, N_RECORDS).size == 0
    assert (chances_if_right(weak, errors, network, N_RECORDS) == 1.0).all()


def test_an_edge_of_a_few_cases_is_not_contradicted_by_a_small_standard_error():
    """Where nothing was caused, the standard error is nearly 0, however few cases there were."""
    strengths, errors = np.full(20, 0.05), np.full(20, 0.003)
    strengths[-1], errors[-1] = 0.0, 0.0005
    present, network = scores_of(strengths, errors)
    rare = NoisyOrNetwork(network.structure, [0.0003], network.failures, network.leaks)
    assert chances_if_right(present, errors, network, N_RECORDS)[-1] < 1e-6
    assert chances_if_right(present, errors, rare, N_RECORDS)[-1] > 0.05


def test_the_weakest_right_edges_are_as_those_that_are_confirmed_but_for_a_few():
    strengths, errors = np.linspace(0.04, 0.9, 100), np.full(100, 0.002)
    present, _ = scores_of(strengths, errors)
    found = right_strengths(present, N_RECORDS)
    assert found[0] == pytest.approx(0.04 + 0.02 * 0.86, abs=0.01)
    strong, _ = scores_of(np.full(100, 0.7), errors)
    assert right_strengths(strong, N_RECORDS)[0] == 0.2
