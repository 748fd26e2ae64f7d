"""The experiment of draws: networks from the priors, and the histogram of ranks."""

import numpy as np
import pytest

from noisyor import datasets
from noisyor.experiments import draws
from noisyor.experiments.results import Cell, Results
from noisyor.learning import EMSettings, fit


def test_networks_are_drawn_from_the_priors():
    networks = [draws.drawn_network(5, seed) for seed in range(60)]
    for kind, mean in (("priors", 0.2), ("failures", 0.5), ("leaks", 1 / 21)):
        values = np.concatenate([getattr(each, kind) for each in networks])
        assert values.mean() == pytest.approx(mean, abs=5 * values.std() / np.sqrt(len(values)))
    assert (np.bincount(networks[0].structure.edges[:, 0]) == 4).all()


def test_ranks_count_draws_below_the_truth():
    network = datasets.figure1(rng=0)
    short = EMSettings(max_iter=15)
    estimate = fit(network.sample(200, rng=1), network.structure, "bayesian", short)
    found = draws._of_draws(estimate, network.parameters.map(lambda part: np.zeros(len(part))))
    assert found["rank 0"] == network.structure.n_parameters
    assert draws._of_draws(fit(network.sample(200, rng=1), network.structure), None) == {}


def test_shares_are_of_all_parameters():
    results = Results()
    for seed, held in ((0, 1.0), (1, 3.0)):
        quantities = {f"held {kind}": held for kind in draws.KINDS}
        quantities |= {f"n {kind}": 4.0 for kind in draws.KINDS} | {"rank 0": 3.0, "rank 9": 1.0}
        results.add(Cell("drawn3", 500, seed, "bayesian"), quantities)
    runs = results.runs("bayesian")
    assert draws.share(results, runs, "held") == draws.share(results, runs, "held leak") == 0.5
    assert draws.histogram(results, runs).tolist() == [0.75, *[0.0] * 8, 0.25]
