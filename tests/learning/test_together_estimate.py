"""Estimates of diseases that occur together: is there a trait at all?"""

import warnings

import numpy as np
import pytest

from noisyor import NoisyOrLearner, NoisyOrWarning
from noisyor.network import Independent, Trait
from together import small_network


def fitted(causes, n_records, seed):
    network = small_network(causes, np.random.default_rng(seed))
    records = network.sample(n_records, rng=seed + 1)
    learner = NoisyOrLearner(network.structure, causes="trait").fit(records)
    return learner.estimate_.learned_causes


def test_loadings_on_a_trait_that_is_none_have_no_intervals():
    with pytest.warns(NoisyOrWarning, match="The trait cannot be told from none"):
        learned = fitted(Independent([0.2] * 4), 2000, 3)
    table = learned.table().to_pandas()
    is_loading = table.parameter == "loading"
    assert table[is_loading].standard_error.isna().all()
    assert set(table[is_loading]["flags"]) == {"weak"}
    assert table[~is_loading].standard_error.notna().all()
    assert "cannot be told from none" in str(learned)


@pytest.mark.parametrize("loading", [1.0, -1.0])
def test_a_trait_that_is_one_keeps_its_intervals(loading):
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoisyOrWarning)
        learned = fitted(Trait([-1.5] * 4, [1.0, 1.0, loading, 1.5]), 4000, 5)
    assert not np.isnan(learned.standard_errors).any()
    assert learned.cautions == ()


@pytest.mark.slow
def test_chance_seldom_makes_a_trait():
    told = 0
    for seed in range(40):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told += not fitted(Independent([0.2, 0.3, 0.15, 0.25]), 1000, 10 * seed).cautions
    assert told <= 2
