"""Residuals of counts, and what fitting takes off them."""

import numpy as np
import pytest

from noisyor import (
    Findings,
    MomentPlan,
    NoisyOrLearner,
    NoisyOrNetwork,
    count_moments,
    datasets,
)
from noisyor.learning import residuals
from noisyor.learning.residuals import CountComparison, Projection
from noisyor.parameters import Parameters


def _compared(network, free=True):
    moments = count_moments(
        datasets.clinic().sample(2000, rng=1), MomentPlan.all_pairs(network.structure), n_groups=1
    )
    flags = Parameters.full(network.structure, 0, np.int64) if free else None
    return CountComparison(network, moments, flags)


def test_derivatives_are_differences():
    """Those by the failures and the priors, of pairs and of symptoms, in standard deviations."""
    network = datasets.clinic()
    compared = _compared(network, free=False)
    is_free = Parameters.full(network.structure, True)
    derivatives = compared._derivatives(is_free).toarray()
    rng, h = np.random.default_rng(0), 1e-6
    d = rng.normal(size=derivatives.shape[1])
    n_edges = network.structure.n_edges
    moved = NoisyOrNetwork(
        network.structure, network.priors + h * d[n_edges:], network.failures + h * d[:n_edges],
        network.leaks,
    )  # fmt: skip
    other = _compared(moved, free=False)
    pairs, n = compared.of_pairs, compared.n_pairs
    differences = (other.of_pairs.expected - pairs.expected) / pairs.spreads / h
    assert derivatives[:n] @ d == pytest.approx(differences, rel=1e-3, abs=1e-3)
    singles = compared.of_symptoms
    differences = (other.of_symptoms.expected - singles.expected) / singles.spreads / h
    assert derivatives[n:] @ d == pytest.approx(differences, rel=1e-3, abs=1e-3)


def test_what_is_left_does_not_depend_on_small_errors_of_the_parameters(monkeypatch, rng):
    compared = _compared(datasets.clinic())
    z = rng.normal(size=(3, compared.n_pairs))
    errors = rng.normal(size=(3, compared.projection._derivatives.shape[1]))
    changed = z + (compared.projection._derivatives @ errors.T).T
    left = compared.projection(z)
    assert compared.projection(changed) == pytest.approx(left, abs=1e-8)
    monkeypatch.setattr(residuals, "MOST_DENSE", 0)
    by_steps = Projection(compared._derivatives(compared._is_free))
    assert by_steps(z) == pytest.approx(left, abs=0.02)


@pytest.mark.slow
def test_methods_leave_the_same():
    network = datasets.clinic()
    records = network.sample(3000, rng=1)
    left = []
    for method in ("pooled", "refined"):
        misfits = NoisyOrLearner(network.structure, method=method).fit(records).estimate_.misfits()
        left.append(misfits._residuals)
    assert np.corrcoef(left)[0, 1] > 0.99


def test_simulated_records_know_as_little_as_the_real_ones(rng):
    """Residuals of pairs that share few known records correlate otherwise than in whole records."""
    network = datasets.figure2(rng=0)
    cells = network.sample(4000, rng=1).to_numpy().astype(float)
    shares = rng.uniform(0.2, 1.0, cells.shape[1])
    cells[rng.random(cells.shape) >= shares] = np.nan
    records = Findings.from_numpy(cells, network.structure)
    comparison = CountComparison(
        network, count_moments(records, MomentPlan.all_pairs(network.structure))
    )
    hidden = residuals._hidden(network.sample(4000, rng=2), comparison._known_shares, rng)
    assert 1.0 - hidden.count_unknown() / 4000 == pytest.approx(shares, abs=0.05)
    simulated = comparison.simulated(200, 500, rng)
    assert simulated.std(axis=0) == pytest.approx(np.ones(simulated.shape[1]), abs=0.25)
