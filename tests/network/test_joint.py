"""The joint distribution of symptoms, against sums over all states of the diseases."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from conftest import as_lists, random_network
from noisyor import NoisyOrError, NoisyOrNetwork, Structure, datasets

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.booleans())
def test_the_joint_distribution_agrees_with_the_sum_over_all_disease_states(seed, extremes):
    rng = np.random.default_rng(seed)
    network = random_network(rng, extremes=extremes)
    order = int(rng.integers(0, min(network.structure.n_symptoms, 5) + 1))
    symptoms = rng.permutation(network.structure.n_symptoms)[:order].tolist()
    joint = network.joint(symptoms)
    assert joint.shape == (2,) * order
    for values in itertools.product([0, 1], repeat=order):
        given_values = dict(zip(symptoms, values, strict=True))
        exact = naive.joint_probability(*as_lists(network), given_values)
        assert joint[values] == pytest.approx(exact, abs=1e-12)


def test_the_joint_distribution_keeps_its_digits_at_order_20():
    network = random_network(np.random.default_rng(0), n_diseases=10, n_symptoms=20)
    joint = network.joint(range(20))
    assert (joint >= 0).all()
    assert joint.sum() == pytest.approx(1, abs=1e-12)
    # A tiny cell would be lost by inclusion and exclusion; here it is right to 12 digits.
    tiny = np.unravel_index(joint.argmin(), joint.shape)
    values = dict(enumerate(int(value) for value in tiny))
    exact = naive.joint_probability(*as_lists(network), values)
    assert joint[tiny] == pytest.approx(exact, rel=1e-12)
    assert joint[(0,) * 20] == pytest.approx(network.negative_moment(range(20)), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-5, 1e-10, 1e-15])
def test_the_joint_distribution_keeps_its_digits_where_all_is_rare(scale):
    """Every cell, compared with sums over disease states in exact fractions."""
    from fractions import Fraction

    structure = Structure.from_matrix([[1, 1, 0], [0, 1, 1]])
    network = NoisyOrNetwork(
        structure, [scale, 3 * scale], [0.5, 0.25, 0.5, 0.75], np.array([1, 2, 3]) * scale / 7
    )
    priors, failures, leaks = as_lists(network)
    exact_lists = (
        [Fraction(p) for p in priors],
        [[Fraction(f) for f in row] for row in failures],
        [Fraction(leak) for leak in leaks],
    )
    joint = network.joint(range(3))
    for values in itertools.product([0, 1], repeat=3):
        exact = naive.joint_probability(*exact_lists, dict(enumerate(values)))
        assert joint[values] == pytest.approx(float(exact), rel=1e-12)


def test_a_joint_distribution_of_21_symptoms_is_refused():
    with pytest.raises(NoisyOrError, match="21 symptoms is too large; at most 20"):
        datasets.clinic().joint(range(21))
