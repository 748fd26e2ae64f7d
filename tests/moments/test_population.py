"""The exact moments of a network."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import random_network
from noisyor import MomentPlan, Moments, NoisyOrError, Structure, datasets

SEEDS = st.integers(0, 2**32)


STRUCTURE = Structure.from_matrix(np.ones((1, 4)))


PLAN = MomentPlan(STRUCTURE, triplets=list(itertools.combinations(range(4), 3)))


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
