"""Strengths of large networks are fitted together; here small ones are, as if they were large."""

import numpy as np
import pytest

from noisyor import MomentPlan, Moments, count_moments, datasets, find_schedule
from noisyor.beliefs import as_beliefs
from noisyor.learning import pairs as pairs_module
from noisyor.learning.decompose import edge_strengths
from noisyor.learning.pairs import PairFit, pair_table
from noisyor.learning.ratio_kernels import NEVER, NO_PARENT


@pytest.fixture(scope="module")
def network():
    return datasets.clinic()


@pytest.fixture(scope="module")
def table(network):
    structure = network.structure
    return pair_table(MomentPlan.coupled(structure), find_schedule(structure))


def fitted(moments, table, monkeypatch, *, together=True, n_jobs=1):
    monkeypatch.setattr(pairs_module, "MANY_PAIRS", 0 if together else 1 << 40)
    fit = PairFit(moments, table, as_beliefs(None, table.structure), n_jobs)
    fit.run()
    return fit


def naive_misfit(table, strengths, counted, weights):
    """Return sum w (R_counted - R_fitted)^2 over the pairs whose parents are all learned."""
    total, structure = 0.0, table.structure
    for row, (a, b) in enumerate(table.plan.pairs.tolist()):
        if not NO_PARENT < table.latest[row] < NEVER or not weights[row] > 0:
            continue
        ratio = 1.0
        for disease in set(structure.parents(a)) & set(structure.parents(b)):
            v = [strengths[structure.edge_index(int(disease), x)] for x in (a, b)]
            ratio *= 1.0 + v[0] * v[1]
        total += weights[row] * (counted[row] - ratio) ** 2
    return total


def test_exact_moments_are_fitted_exactly(network, table, monkeypatch):
    truth = edge_strengths(network.priors[network.structure.edges[:, 0]], network.failures)
    fit = fitted(Moments.exact(network, table.plan), table, monkeypatch)
    is_learned = table.depths < NEVER
    np.testing.assert_allclose(fit.strengths[is_learned], truth[is_learned], rtol=1e-4)


def test_what_is_found_is_a_minimum(network, table, monkeypatch):
    """No strength can be changed by a hundredth of itself so that the misfit falls by much."""
    moments = count_moments(network.sample(20_000, rng=1), table.plan)
    fit = fitted(moments, table, monkeypatch)
    counted = 1.0 + moments.excesses(2)

    def misfit(strengths):
        return naive_misfit(table, strengths, counted, fit.weights)

    at_end = misfit(fit.strengths)
    assert at_end < 1.001 * misfit(fitted(moments, table, monkeypatch, together=False).strengths)
    rng, edges = np.random.default_rng(0), np.flatnonzero(table.depths < NEVER)
    for edge in rng.choice(edges, 12, replace=False):
        for share in (0.99, 1.01):
            moved = fit.strengths.copy()
            moved[edge] = max(moved[edge] * share, 1e-4)
            assert misfit(moved) > at_end - 1e-3 * at_end / len(edges)


def test_one_after_the_other_gives_nearly_the_same(network, table, monkeypatch):
    """Pairs with several parents are weighted a little differently, within a standard error."""
    moments = count_moments(network.sample(50_000, rng=2), table.plan)
    together = fitted(moments, table, monkeypatch).strengths
    in_turn = fitted(moments, table, monkeypatch, together=False).strengths
    truth = edge_strengths(network.priors[network.structure.edges[:, 0]], network.failures)
    is_learned = table.depths < NEVER
    between = np.sqrt(np.mean((together - in_turn)[is_learned] ** 2))
    error = np.sqrt(np.mean((in_turn - truth)[is_learned] ** 2))
    assert between < 0.2 * error


def test_threads_change_nothing(network, table, monkeypatch):
    moments = count_moments(network.sample(5000, rng=3), table.plan)
    one = fitted(moments, table, monkeypatch, n_jobs=1)
    three = fitted(moments, table, monkeypatch, n_jobs=3)
    np.testing.assert_array_equal(one.strengths, three.strengths)
    np.testing.assert_array_equal(one.ratios, three.ratios)


def test_fixed_strengths_stay(network, table, monkeypatch):
    moments = count_moments(network.sample(5000, rng=4), table.plan)
    fit = fitted(moments, table, monkeypatch)
    fit.is_fixed = np.arange(len(fit.strengths)) % 3 == 0
    before = fit.strengths.copy()
    fit.set_strengths(before * 1.1)
    fit.run()
    np.testing.assert_array_equal(fit.strengths[fit.is_fixed], 1.1 * before[fit.is_fixed])
    assert not np.array_equal(fit.strengths, 1.1 * before)
