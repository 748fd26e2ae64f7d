"""Algorithm 2 and its closed form: against each other, against the truth, and as printed."""

import numpy as np
import pytest

import naive
from noisyor.errors import DecompositionError, ParameterError
from noisyor.learning import decompose_triplet
from noisyor.learning.decompose import (
    decompose_excesses,
    failures_of,
    lambdas_of,
    priors_of,
    strengths_of,
)

N_CASES = 500


def mixture(rng, low=0.02):
    """A singly coupled triplet: prior, failures, leaks, and its exact joint distribution."""
    prior, failures = rng.uniform(low, 1 - low), rng.uniform(low, 1 - low, 3)
    leaks = rng.uniform(0, 0.5, 3)
    joint = naive.joint_tensor([prior], [failures.tolist()], leaks.tolist(), (0, 1, 2))
    return prior, failures, np.array(joint)


def excesses_of(tensor):
    """c_ab, c_ac, c_bc and k from a joint distribution, from their definitions."""
    a, b, c = (tensor[0].sum(), tensor[:, 0].sum(), tensor[:, :, 0].sum())
    ab, ac, bc = tensor[0, 0].sum(), tensor[0, :, 0].sum(), tensor[:, 0, 0].sum()
    ratios = np.array([ab / (a * b), ac / (a * c), bc / (b * c)])
    return ratios - 1, tensor[0, 0, 0] / (a * b * c) - ratios.sum() + 2


def closed_form(tensor):
    c, k = excesses_of(tensor)
    return decompose_excesses(c[np.newaxis], [k])


def test_both_find_the_truth_in_exact_moments(rng):
    for _ in range(N_CASES):
        prior, failures, tensor = mixture(rng)
        literal, found = decompose_triplet(tensor), closed_form(tensor)
        assert literal.prior == pytest.approx(prior, abs=1e-6)
        assert literal.failures == pytest.approx(failures, abs=1e-6)
        assert found.priors[0] == pytest.approx(prior, abs=1e-6)
        assert found.failures[0] == pytest.approx(failures, abs=1e-6)
        twin_prior, twin_failures = naive.decompose(tensor.tolist())
        assert twin_prior == pytest.approx(prior, abs=1e-6)
        assert twin_failures == pytest.approx(failures, abs=1e-6)


def test_the_conditionals_are_those_of_the_mixture():
    prior, failures, tensor = mixture(np.random.default_rng(0))
    found = decompose_triplet(tensor)
    parts = [
        np.einsum("i,j,k", *([p, 1 - p] for p in absent))
        for absent in (found.absent_without, found.absent_with)
    ]
    assert (1 - prior) * parts[0] + prior * parts[1] == pytest.approx(tensor, abs=1e-12)
    assert failures == pytest.approx(found.absent_with / found.absent_without, abs=1e-9)


def noisy_tensors(rng):
    """Shares of a few records of a mixture: anything can happen to them, but no slice is empty."""
    for _ in range(3 * N_CASES):
        _, _, tensor = mixture(rng)
        counts = rng.multinomial(rng.choice([30, 100, 1000]), tensor.ravel() / tensor.sum())
        tensor = (counts / counts.sum()).reshape(2, 2, 2)
        if min(tensor[0].sum(), tensor[:, 0].sum(), tensor[:, :, 0].sum()) > 0:
            yield tensor


def test_both_agree_on_noisy_moments_and_on_which_are_not_decomposable(rng):
    """Beyond [0, 1], with wrong signs, complex or degenerate: the same verdict, the same values."""
    seen = {"learned": 0, "complex": 0, "outside": 0}
    for tensor in noisy_tensors(rng):
        c, k = excesses_of(tensor)
        size = k**2 + 4 * c.prod()
        borderline = abs(size) < 1e-9 * (k**2 + 4 * abs(c.prod())) or np.abs(c).min() < 1e-9
        if borderline or abs(np.linalg.det(tensor[0])) < 1e-9:
            continue
        found = closed_form(tensor)
        if found.is_complex[0]:
            seen["complex"] += 1
            assert np.isnan(found.priors[0])
            with pytest.raises(DecompositionError, match="complex"):
                decompose_triplet(tensor)
            continue
        literal = decompose_triplet(tensor)
        if np.isclose(literal.absent_without.prod(), literal.absent_with.prod(), rtol=1e-9):
            continue  # rounding decides which part is Z = 0
        seen["learned"] += 1
        seen["outside"] += not (0 < literal.prior < 1)
        assert literal.prior == pytest.approx(found.priors[0], rel=1e-5, abs=1e-7)
        finite = np.abs(literal.failures) < 1e4  # others have nearly 0 below the line
        assert literal.failures[finite] == pytest.approx(
            found.failures[0][finite], rel=1e-4, abs=1e-6
        )
    assert min(seen.values()) > 20, seen


def test_the_printed_algorithm_fails_where_the_corrected_one_does_not(rng):
    right = {"printed": 0, "corrected": 0}
    for _ in range(N_CASES):
        prior, failures, tensor = mixture(rng)
        printed_prior, printed = naive.decompose_as_printed(tensor.tolist())
        right["printed"] += abs(printed_prior - prior) < 1e-6 and np.allclose(printed, failures)
        found = decompose_triplet(tensor)
        right["corrected"] += abs(found.prior - prior) < 1e-6 and np.allclose(
            found.failures, failures, atol=1e-6
        )
    assert right == {"printed": 0, "corrected": N_CASES}


@pytest.mark.parametrize("independent", [0, 1, 2])
def test_a_symptom_that_does_not_depend_on_the_disease_is_told(independent):
    failures = [0.3, 0.5, 0.2]
    failures[independent] = 1.0
    tensor = np.array(naive.joint_tensor([0.3], [failures], [0.01] * 3, (0, 1, 2)))
    with pytest.raises(DecompositionError, match="not decomposable"):
        decompose_triplet(tensor)
    t = strengths_of(np.array(0.3), np.array(failures))
    c = 0.21 * np.array([[t[0] * t[1], t[0] * t[2], t[1] * t[2]]])
    found = decompose_excesses(c, [-0.21 * 0.4 * t.prod()])
    assert found.is_degenerate[0]
    assert not found.is_complex[0]
    assert np.isnan(found.priors[0])


def test_a_symptom_that_always_comes_with_the_disease_needs_the_closed_form():
    """With f_a = 0 a slice is singular: Algorithm 2 says so, the closed form finds it."""
    tensor = np.array(naive.joint_tensor([0.3], [[0.0, 0.5, 0.2]], [0.01] * 3, (0, 1, 2)))
    with pytest.raises(DecompositionError, match="determinant 0"):
        decompose_triplet(tensor)
    assert closed_form(tensor).priors[0] == pytest.approx(0.3, abs=1e-9)
    assert closed_form(tensor).failures[0] == pytest.approx([0.0, 0.5, 0.2], abs=1e-9)


@pytest.mark.parametrize(
    "tensor",
    [
        # Eigenvalues of plus and minus 1: one part has no mass.
        [[[0.2, 0.1], [0.1, 0.15]], [[0.1, 0.15], [0.2, 0.1]]],
        # a and b are independent, yet both depend on c: the prior would be 1.
        "independent",
    ],
)
def test_parts_without_mass_are_no_decomposition(tensor):
    if tensor == "independent":
        # Half of the records each; c_ab = 0, c_ac = c_bc = 0.1, k = -0.05.
        ratios = {"": 1, "a": 1, "b": 1, "c": 1, "ab": 1, "ac": 1.1, "bc": 1.1, "abc": 1.15}
        moments = {key: value / 2 ** len(key) for key, value in ratios.items()}
        tensor = tensor_of_moments(moments)
        c, k = excesses_of(tensor)
        assert decompose_excesses(c.round(12)[np.newaxis], [k]).is_degenerate[0]
    tensor = np.array(tensor)
    with pytest.raises(DecompositionError, match="no mass|determinant 0|equal"):
        decompose_triplet(tensor / tensor.sum())


def tensor_of_moments(moments):
    """The joint distribution from all negative moments, by inclusion and exclusion."""
    tensor = np.zeros((2, 2, 2))
    for state in np.ndindex(2, 2, 2):
        absent = {name for name, value in zip("abc", state, strict=True) if not value}
        tensor[state] = sum(
            (-1) ** (len(names) - len(absent)) * moment
            for names, moment in moments.items()
            if absent <= set(names)
        )
    return tensor


def test_rare_diseases_and_frequent_ones_keep_their_digits():
    for prior in 1e-6, 1e-3, 0.5, 0.999:
        failures = np.array([0.3, 0.01, 0.9])
        t = strengths_of(np.array(prior), failures)
        q = prior * (1 - prior)
        c = q * np.array([[t[0] * t[1], t[0] * t[2], t[1] * t[2]]])
        found = decompose_excesses(c, [-q * (1 - 2 * prior) * t.prod()])
        assert found.priors[0] == pytest.approx(prior, rel=1e-12)
        assert found.failures[0] == pytest.approx(failures, rel=1e-12)
        assert failures_of(np.array(prior), t) == pytest.approx(failures, rel=1e-12)


def test_what_is_no_tensor_is_refused():
    with pytest.raises(ParameterError, match=r"2 x 2 x 2, not of shape \(2, 2\)"):
        decompose_triplet([[1, 2], [3, 4]])
    with pytest.raises(ParameterError, match="not numbers"):
        decompose_triplet(np.full((2, 2, 2), np.nan))


def test_lambda_and_prior_are_each_others_inverse():
    priors = np.array([1e-9, 1e-3, 0.3, 0.5, 0.9])
    assert priors_of(lambdas_of(priors)) == pytest.approx(priors, rel=1e-9)
