"""R-hat and effective sizes, against slow twins and on chains of known correlation."""

import numpy as np
import pytest

import naive
from noisyor.em.convergence import convergence_of


def autoregressive(rng, n_chains, n, correlation):
    noise = rng.normal(size=(n_chains, n))
    for t in range(1, n):
        noise[:, t] = correlation * noise[:, t - 1] + np.sqrt(1 - correlation**2) * noise[:, t]
    return noise


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.95])
def test_agrees_with_the_slow_twin(rng, correlation):
    chains = autoregressive(rng, 3, 61, correlation)
    chains[0] += 0.3
    found = convergence_of(np.exp(chains)[:, :, np.newaxis])  # ranks are those of the logarithms
    assert found.r_hats[0] == pytest.approx(naive.r_hat(chains.tolist()))
    assert found.effective_sizes[0] == pytest.approx(naive.effective_size(chains.tolist()))


def test_correlated_draws_count_for_fewer(rng):
    """Of a first-order chain with correlation r, one in (1 + r) / (1 - r) draws counts."""
    chains = np.stack([autoregressive(rng, 4, 4000, 0.8) for _ in range(20)], axis=2)
    found = convergence_of(chains)
    # Of one quantity it is estimated to about a twelfth, of the mean of 20 to a fiftieth.
    assert found.effective_sizes.mean() == pytest.approx(16_000 / 9, rel=0.1)
    assert (found.r_hats < 1.01).all()


def test_chains_that_disagree_are_noticed(rng):
    chains = rng.normal(size=(4, 500, 2))
    chains[0, :, 1] += 1.0
    found = convergence_of(chains)
    assert found.r_hats[0] < 1.01
    assert found.r_hats[1] > 1.05
    assert found.effective_sizes[1] < 100 < found.effective_sizes[0]


def test_a_drift_is_noticed_within_a_single_chain(rng):
    drifting = rng.normal(size=(1, 500, 1)) + np.linspace(0, 2, 500)[:, np.newaxis]
    assert convergence_of(drifting).r_hats[0] > 1.05


def test_what_does_not_vary_has_converged():
    found = convergence_of(np.full((2, 20, 3), 0.25))
    assert found.r_hats.tolist() == [1.0] * 3
    assert found.effective_sizes.tolist() == [40.0] * 3
    assert convergence_of(np.empty((2, 20, 0))).r_hats.shape == (0,)
