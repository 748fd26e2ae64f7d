"""What was learned of how diseases occur together: tables, prevalences, draws."""

import numpy as np
import pytest

from noisyor import NoisyOrError, Structure
from noisyor.learning.learned_causes import LearnedCauses, _causes_with, marginals_of
from noisyor.network import Covariate, Effects, Independent, Joint, Trait

STRUCTURE = Structure.from_edges([("a", "x"), ("b", "y")])
EFFECTS = Effects(
    [Covariate("age", (), 50.0, 20.0), Covariate("sex", ("f", "m"))],
    [[0.5, 0.2, -0.2], [-0.3, 0.0, 0.1]],
    [[-1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]],
    [0.25, 0.5, 0.25],
)
TRAIT = Trait([-1.0, -2.0], [1.0, 0.5], EFFECTS)


def learned(causes, values, size=0.01):
    names = tuple(("entry", None, str(number)) for number in range(len(values)))
    errors = np.full(len(values), np.sqrt(size))
    covariance = size * np.eye(len(values))
    flags = np.zeros(len(values), np.uint16)
    return LearnedCauses(causes, names, np.array(values, float), errors, covariance, -10.0, flags)


def trait_values():
    table = np.column_stack([TRAIT.intercepts, TRAIT.loadings, EFFECTS.coefficients])
    return table.ravel()


def test_derivatives_of_prevalences_agree_with_differences():
    marginals, gradients = marginals_of(TRAIT, EFFECTS.cells, EFFECTS.weights)
    np.testing.assert_allclose(marginals, TRAIT.marginals())
    for entry in range(5):
        ends = []
        for step in (1e-6, -1e-6):
            table = trait_values().reshape(2, 5).copy()
            table[0, entry] += step
            effects = EFFECTS.with_coefficients(table[:, 2:])
            ends.append(Trait(table[:, 0], table[:, 1], effects).marginals()[0])
        assert gradients[0, entry] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)


def test_prevalences_by_covariate():
    table = learned(TRAIT, trait_values()).prevalence(STRUCTURE).to_pylist()
    assert len(table) == 2 * (3 + 2)
    women = next(r for r in table if r["value"] == "f" and r["disease"] == "a")
    cells = EFFECTS.cells.copy()
    cells[:, 1:] = [1.0, 0.0]
    expected = Trait(
        [-1.0, -2.0],
        [1.0, 0.5],
        Effects(EFFECTS.covariates, EFFECTS.coefficients, cells, [1, 2, 1]),
    ).marginals()[0]
    assert women["prevalence"] == pytest.approx(expected)
    assert women["lower"] < expected < women["upper"]
    with pytest.raises(NoisyOrError, match="no covariates"):
        learned(Joint([0.5, 0.1, 0.1, 0.3]), [0.5, 0.1, 0.1, 0.3]).prevalence(STRUCTURE)


@pytest.mark.parametrize(
    ("causes", "values"),
    [
        (TRAIT, trait_values()),
        (Joint([0.5, 0.1, 0.1, 0.3]), [0.5, 0.1, 0.1, 0.3]),
        (Joint([[0.6, 0.4]], [[1]], [0.2, 0.0]), [0.6, 0.4, np.log(0.25)]),
        (Independent([0.2, 0.3]), [np.log(0.25), np.log(3 / 7)]),
    ],
)
def test_draws_lie_around_what_was_learned(causes, values):
    found = learned(causes, values, 1e-4).drawn(400, np.random.default_rng(0))
    rows = np.array([each.marginals() for each in found])
    np.testing.assert_allclose(rows.mean(axis=0), causes.marginals(), atol=0.005)
    assert (rows.std(axis=0) > 1e-4).all()


def test_shares_stay_within_their_bounds():
    table = LearnedCauses(
        Joint([0.99, 0.01]), (("share", None, "none"), ("share", None, "a")),
        np.array([0.99, 0.01]), np.array([0.02, 0.02]), 4e-4 * np.eye(2), -1.0,
        np.zeros(2, np.uint16),
    ).table().to_pylist()  # fmt: skip
    assert table[0]["upper"] == 1.0
    assert table[1]["lower"] == 0.0


BLOCKS = Joint([[0.4, 0.1, 0.2, 0.3]], [[2, 0]], [0.0, 0.3, 0.0])
THREE = Effects(EFFECTS.covariates, [[0.5, 0.2, -0.2], [-0.3, 0.0, 0.1], [0.1, 0.0, 0.3]],
                EFFECTS.cells, EFFECTS.weights)  # fmt: skip


@pytest.mark.parametrize(
    ("causes", "values"),
    [
        (Trait([-1.0, -2.0, 0.5], [1.0, 0.5, -1.0], THREE), None),
        (Independent([0.2, 0.3, 0.6], THREE), None),
        (BLOCKS, [0.4, 0.1, 0.2, 0.3, np.log(3 / 7)]),
        (Joint(np.arange(1, 9) / 36), np.arange(1, 9) / 36),
    ],
)
def test_states_and_their_derivatives(causes, values):
    if values is None:
        parts = [causes.intercepts[:, np.newaxis], causes.loadings, THREE.coefficients]
        values = np.concatenate(parts, axis=1).ravel()
    known = learned(causes, values)
    shares, jacobian = known.states()
    np.testing.assert_allclose(shares, causes.joint([0, 1, 2]).ravel(), atol=1e-12)
    rng = np.random.default_rng(0)
    move = rng.normal(size=len(values))
    if isinstance(causes, Joint):  # shares add up to 1
        for each in (slice(0, 4),) if causes is BLOCKS else (slice(0, 8),):
            move[each] -= move[each].mean()
    ends = [
        _causes_with(causes, np.asarray(values) + step * move).joint([0, 1, 2]).ravel()
        for step in (1e-5, -1e-5)
    ]
    np.testing.assert_allclose(jacobian @ move, (ends[0] - ends[1]) / 2e-5, atol=1e-8)
    errors = known.state_shares()[1]
    np.testing.assert_allclose(errors, np.sqrt(0.01 * (jacobian**2).sum(axis=1)))


def test_states_of_what_is_not_known_have_no_errors():
    known = learned(BLOCKS, [0.4, 0.1, 0.2, 0.3, np.log(3 / 7)])
    known.standard_errors[0] = np.nan
    errors = known.state_shares()[1].reshape(2, 2, 2)
    assert np.isnan(errors[0, :, 0]).all()  # neither of the block's diseases
    assert np.isfinite(errors[1]).all()
    many = learned(Independent(np.full(13, 0.1)), np.zeros(13))
    with pytest.raises(NoisyOrError, match=r"2\^13 states together"):
        many.states()
