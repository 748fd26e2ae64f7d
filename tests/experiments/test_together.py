"""The experiment of diseases that occur together: its networks, and what it counts."""

import numpy as np
import pytest

from noisyor.experiments import together
from noisyor.experiments.results import Cell, Results


def test_networks_are_as_they_are_described():
    network = together.network_named("qmr_trait", 0)
    correlations = network.causes.correlations()[np.triu_indices(570, 1)]
    assert 0.2 < np.nanmax(correlations) < 0.4
    assert network.causes.effects.names == ["age"]
    plain = together.network_named("qmr_plain", 0)
    assert plain.is_plain
    assert plain.structure == network.structure
    assert (plain.failures == network.failures).all()


def test_intervals_are_counted():
    truth, lower = np.array([1.0, 2.0, 3.0]), np.array([0.5, 2.5, 2.0])
    found = together._held("loading", truth, lower, lower + 1.0)
    assert found == {"held loading": 2.0, "n loading": 3.0}


def test_bins_have_the_mean_of_what_was_said_and_of_what_was_so():
    results = Results()
    quantities = {f"{what} trait {b}": 0.0 for what in "npd" for b in range(together.N_BINS)}
    quantities |= {"n trait 3": 4.0, "p trait 3": 1.4, "d trait 3": 1.0}
    results.add(Cell("trait20", together.SIZES[0][1], 0, "trait"), quantities)
    said, true = together.shares(results, "trait")
    assert (said[3], true[3]) == pytest.approx((0.35, 0.25))
    assert np.isnan(said[0])
