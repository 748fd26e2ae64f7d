"""Draws: means, intervals, thinned networks and tables."""

import numpy as np
import pytest

from noisyor import datasets
from noisyor.em.convergence import Convergence
from noisyor.errors import ParameterError
from noisyor.io.tables import open_table
from noisyor.learning import Draws

STRUCTURE = datasets.figure1(rng=0).structure


@pytest.fixture
def draws(rng):
    values = rng.random((3, 100, STRUCTURE.n_parameters))
    r_hats, sizes = np.ones(STRUCTURE.n_parameters), np.full(STRUCTURE.n_parameters, 300.0)
    r_hats[0], sizes[1] = 1.2, 50.0
    return Draws(STRUCTURE, values, Convergence(r_hats, sizes), n_rounds=150)


def test_means_and_intervals_are_those_of_all_chains(draws):
    together = draws.values.reshape(300, -1)
    assert draws.means.vector == pytest.approx(together.mean(axis=0))
    assert draws.standard_deviations.vector == pytest.approx(together.std(axis=0))
    lower, upper = draws.intervals(0.8)
    outside = (together < lower.vector) | (together > upper.vector)
    assert outside.mean(axis=0) == pytest.approx(0.2, abs=0.01)
    with pytest.raises(ParameterError, match="level must be between 0 and 1, not 95"):
        draws.intervals(95)


def test_what_has_not_mixed_is_told(draws):
    assert np.flatnonzero(draws.is_unmixed.vector).tolist() == [0, 1]
    assert "do not agree yet on 2 parameters" in str(draws)
    assert draws.facts()["largest_r_hat"] == 1.2


def test_networks_and_tables_are_thinned(draws, tmp_path):
    networks = draws.networks(10)
    assert len(networks) == 10
    assert networks[0].parameters.vector.tolist() == draws.values[0, 0].tolist()
    with pytest.raises(ParameterError, match="n must be a whole number from 1 on, not 0"):
        draws.networks(0)
    draws.save(tmp_path / "draws.parquet", n=5)
    assert len(open_table(tmp_path / "draws.parquet").column_names) == 6
    rows = draws.table(5).to_pylist()
    assert len(rows) == 5 * STRUCTURE.n_parameters
    last = rows[-1]
    assert (last["parameter"], last["symptom"], last["chain"], last["draw"]) == ("leak", "e", 2, 99)
    assert last["value"] == draws.values[2, 99, -1]
