"""p-values against simulated residuals."""

import numpy as np
import pytest
from scipy import stats

from noisyor.learning.calibration import family_of, of_smallest, of_sum, smallest, tails


def test_tails_are_those_of_a_poisson_distribution():
    mean, counts = 4.0, np.arange(0.0, 15.0)
    found = tails((counts - mean) / 2.0, np.full(15, mean), is_positive=True)
    assert found == pytest.approx(stats.poisson.sf(counts - 1, mean), abs=1e-6)
    both = tails((counts - mean) / 2.0, np.full(15, mean))
    assert both[:4] == pytest.approx(np.minimum(2 * stats.poisson.cdf(counts[:4], mean), 1.0))


def test_the_smallest_is_found(rng):
    means = 10.0 ** rng.uniform(-1, 3, 500)
    for _ in range(20):
        scores = rng.standard_t(5, 500)
        assert smallest(scores, means) == tails(scores, means).min()


@pytest.mark.parametrize(("n_sets", "n_samples"), [(20, 1200), (200, 300)])
def test_p_values_are_uniform(rng, n_sets, n_samples):
    """Of the smallest of many that go together, and of sums; a shifted one is noticed.

    With 20 sets 6% are below 0.05; 300 samples showed 10% now and then.
    """
    together = rng.normal(size=(40, 40)) / 5.0
    means, found = np.full(40, 1e6), []
    for _ in range(n_samples):
        sets = rng.normal(size=(n_sets + 1, 40)) @ together
        family = family_of(sets[0], sets[1:], np.ones(40), means)
        sums = sets.sum(axis=1)
        found.append([family.p_value, of_sum(sums[0], sums[1:])[0]])
    assert stats.kstest(np.array(found)[:, 1], "uniform").pvalue > 1e-3
    assert abs((np.array(found) < 0.05).mean(axis=0) - 0.05).max() < 0.05
    sets[0, 0] += 20.0
    assert family_of(sets[0], sets[1:], np.ones(40), means).p_value < 1e-3


def test_the_smallest_of_independent_ones(rng):
    simulated = rng.random((1000, 30)).min(axis=1)
    expected = 1.0 - (1.0 - 0.001) ** 30
    assert of_smallest(np.array([0.001]), simulated)[0] == pytest.approx(expected, rel=0.3)
