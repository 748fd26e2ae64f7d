"""Ratios, excesses and their variances."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from conftest import random_network, random_records
from noisyor import (
    Findings,
    MomentPlan,
    Moments,
    NoisyOrError,
    Structure,
    count_moments,
    datasets,
)
from noisyor.moments import values
from together import KINDS, as_naive, random_together

SEEDS = st.integers(0, 2**32)


STRUCTURE = Structure.from_matrix(np.ones((1, 4)))


PLAN = MomentPlan(STRUCTURE, triplets=list(itertools.combinations(range(4), 3)))


def counted(records, **options):
    return count_moments(Findings.from_numpy(records, STRUCTURE), PLAN, **options)


def rows_of(records):
    return [[None if np.isnan(cell) else int(cell) for cell in row] for row in records]


@given(SEEDS, st.sampled_from([0.0, 0.15]))
def test_ratios_and_variances_agree_with_naive(seed, unknown):
    rng = np.random.default_rng(seed)
    records = (rng.random((300, 4)) < rng.uniform(0.05, 0.6, 4)).astype(float)
    records[rng.random(records.shape) < unknown] = np.nan
    moments = counted(records, n_groups=3)
    rows = rows_of(records)
    for order in 2, 3:
        ratios, variances = moments.ratios(order), moments.ratio_variances(order)
        for k, members in enumerate(PLAN.sets(order).tolist()):
            value, variance = naive.ratio(rows, members)
            assert ratios[k] == pytest.approx(value, rel=1e-12)
            assert variances[k] == pytest.approx(variance, rel=1e-9, abs=1e-15)
            known = [row for row in rows if all(row[j] is not None for j in members)]
            absent = sum(all(row[j] == 0 for j in members) for row in known) / len(known)
            assert moments.negative_moments(order)[k] == pytest.approx(absent, rel=1e-12)
    singles = [np.nanmean(1 - records[:, j]) for j in range(4)]
    np.testing.assert_allclose(moments.negative_moments(1), singles, rtol=1e-12)


@given(SEEDS)
def test_excesses_follow_from_ratios(seed):
    records = random_records(np.random.default_rng(seed), 200, 4)
    records[0] = 0
    moments = counted(records)
    pairs, triplets = moments.ratios(2), moments.ratios(3)
    np.testing.assert_allclose(moments.excesses(2), pairs - 1, atol=1e-12)
    expected = triplets - pairs[PLAN.triplet_rows].sum(axis=1) + 2
    scale = 1 + np.abs(pairs).max() + np.abs(triplets).max()
    np.testing.assert_allclose(moments.excesses(3) / scale, expected / scale, atol=1e-12)


def test_the_spread_of_ratios_over_samples_is_their_variance():
    network = datasets.figure1(3)
    plan = MomentPlan(network.structure, triplets=[[1, 3, 4], [0, 1, 2]])
    results = {2: [], 3: []}
    for seed in range(400):
        moments = count_moments(network.sample(2000, rng=seed), plan, n_groups=1)
        for order in 2, 3:
            results[order].append(moments.ratios(order))
    exact = Moments.exact(network, plan, n_records=2000)
    for order in 2, 3:
        spread = np.var(results[order], axis=0)
        np.testing.assert_allclose(spread, exact.ratio_variances(order), rtol=0.3)
        # Negative control: half the variance would be noticed.
        assert not np.allclose(spread, exact.ratio_variances(order) / 2, rtol=0.3)
        errors = np.mean(results[order], axis=0) - exact.ratios(order)
        assert (np.abs(errors) < 5 * np.sqrt(exact.ratio_variances(order) / 400) + 1e-3).all()


def test_symptoms_never_or_always_present_lose_nothing():
    records = random_records(np.random.default_rng(0), 100, 4)
    records[:, 0], records[:, 1] = 0, 1
    moments = counted(records)
    assert moments.negative_moments(1)[:2].tolist() == [1, 0]
    pairs = PLAN.pairs.tolist()
    with_never = pairs.index([0, 2])
    assert moments.ratios(2)[with_never] == 1
    assert moments.excesses(2)[with_never] == 0
    with_always = [k for k, pair in enumerate(pairs) if 1 in pair]
    assert np.isinf(moments.ratio_variances(2)[with_always]).all()
    assert np.isnan(moments.ratios(2)[with_always]).all()
    assert np.isfinite(moments.ratio_variances(2)[with_never])
    assert (moments.negative_moments(2)[with_always] == 0).all()
    triplets_with_always = [k for k, each in enumerate(PLAN.triplets.tolist()) if 1 in each]
    assert (moments.negative_moments(3)[triplets_with_always] == 0).all()
    empty = counted(np.zeros((0, 4)))
    assert empty.n_records == 0
    assert np.isinf(empty.ratio_variances(3)).all()


def test_excesses_of_rare_symptoms_keep_their_digits():
    """n_ab n - n_a n_b is taken in whole numbers: no digit is lost at 10^9 records."""
    n = 10**9
    present = [[10_000, 20_000, 5, 7], [2, 1, 0, 1, 0, 1], [0, 1, 0, 0]]
    arrays = tuple(np.array([each], dtype=np.uint32) for each in present)
    moments = Moments(PLAN, np.array([n]), arrays)
    absent = [n - count for count in present[0]]
    for k, (a, b) in enumerate(PLAN.pairs.tolist()):
        exact = (n * present[1][k] - present[0][a] * present[0][b]) / (absent[a] * absent[b])
        assert moments.excesses(2)[k] == pytest.approx(exact, rel=1e-14)


def test_symptoms_never_absent_together_have_ratio_0_and_a_finite_variance():
    records = np.array([[1, 0, 0, 0], [0, 1, 0, 0]] * 50, dtype=float)
    moments = counted(records)
    pair = PLAN.pairs.tolist().index([0, 1])
    assert moments.negative_moments(2)[pair] == 0
    assert moments.ratios(2)[pair] == 0
    assert moments.ratio_variances(2)[pair] == 0


@given(SEEDS)
def test_negative_moments_are_exact_fractions(seed):
    records = random_records(np.random.default_rng(seed), 60, 4)
    moments = counted(records)
    for order in 1, 2, 3:
        for k, members in enumerate(PLAN.sets(order).tolist()):
            absent = (records[:, members] == 0).all(axis=1).sum()
            assert moments.negative_moments(order)[k] == absent / 60


# --- of a network ---


@given(SEEDS)
def test_exact_moments_agree_with_the_network(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_symptoms=5)
    plan = MomentPlan(network.structure, triplets=list(itertools.combinations(range(5), 3)))
    exact = Moments.exact(network, plan)
    np.testing.assert_allclose(exact.negative_moments(1), 1 - network.marginals(), rtol=1e-10)
    np.testing.assert_allclose(
        exact.negative_moments(2), network.pair_moments(plan.pairs), rtol=1e-10
    )
    moments = network.triplet_moments(plan.triplets)
    np.testing.assert_allclose(exact.negative_moments(3), moments, rtol=1e-10)
    assert (exact.ratio_variances(3) == 0).all()


def test_exact_moments_of_rare_diseases_keep_their_digits():
    structure = Structure.from_matrix([[1, 1, 1]])
    p, t = 1e-6, 0.5 / (1 - 0.5e-6)
    network_moments = Moments.exact(
        datasets.figures.NoisyOrNetwork(structure, [p], [0.5] * 3, [0.01] * 3),
        MomentPlan(structure, triplets=[[0, 1, 2]]),
    )
    q = p * (1 - p)
    assert network_moments.excesses(2)[0] == pytest.approx(q * t * t, rel=1e-13)
    assert network_moments.excesses(3)[0] == pytest.approx(-q * (1 - 2 * p) * t**3, rel=1e-7)


def test_exact_moments_have_no_counts(tmp_path):
    network = datasets.figure1(0)
    exact = Moments.exact(network, MomentPlan.coupled(network.structure))
    for call in lambda: exact.counts(1), lambda: exact + exact, lambda: exact.save(tmp_path / "x"):
        with pytest.raises(NoisyOrError, match="exact moments"):
            call()
    with pytest.raises(NoisyOrError, match="different symptoms"):
        Moments.exact(network, PLAN)


@pytest.mark.parametrize("kind", KINDS)
def test_exact_moments_of_dependent_diseases_are_those_of_the_mixture(kind):
    network = random_together(np.random.default_rng(1), 4, 5, kind)
    plan = MomentPlan(network.structure, triplets=list(itertools.combinations(range(5), 3)))
    exact = Moments.exact(network, plan)
    priors, failures, leaks = as_naive(network)
    for order in (2, 3):
        moments = np.array(
            [naive.negative_moment(priors, failures, leaks, each) for each in plan.sets(order)]
        )
        alone = [naive.negative_moment(priors, failures, leaks, [j]) for j in range(5)]
        ratios = moments / np.prod(np.array(alone)[plan.sets(order)], axis=1)
        np.testing.assert_allclose(exact.negative_moments(order), moments, rtol=1e-10)
        np.testing.assert_allclose(exact.ratios(order), ratios, rtol=1e-10)


def test_excesses_of_all_pairs_are_those_of_each():
    """Also of symptoms that all records have, and of more records than whole numbers hold."""
    singles = np.array([0, 1000, 300, 700, 999])
    rows = np.array(list(itertools.combinations(range(5), 2)))
    both = np.minimum(singles[rows[:, 0]], singles[rows[:, 1]])
    expected = values.pair_excesses(np.full(10, 1000), *singles[rows].T, both)
    found = values.pair_excesses_among(1000, singles, rows, both)
    np.testing.assert_array_equal(found, expected)
    assert np.isfinite(expected).sum() == 6
    n, one, other, together = 5_000_000_011, 3_000_000_019, 2_000_000_033, 1_200_000_027
    many = values.pair_excesses_among(
        n, np.array([one, other]), np.array([[0, 1]]), np.array([together])
    )
    excess = (n * together - one * other) / ((n - one) * (n - other))  # of Python's integers
    assert abs(excess) < 1e-7  # most digits of the products cancel
    assert many[0] == pytest.approx(excess, rel=1e-12)
