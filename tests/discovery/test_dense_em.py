"""EM over all states at once."""

import numpy as np
import pytest

import naive
from conftest import as_lists
from discovery.test_scores import holed_records
from em.small_networks import small_network
from noisyor import Findings, NoisyOrNetwork, Structure
from noisyor.discovery import dense_em
from noisyor.discovery.dense_em import CauseMatrix, DenseEM, DenseRecords


@pytest.mark.parametrize("seed", range(50))
def test_a_step_is_that_of_the_naive_version(seed, monkeypatch):
    monkeypatch.setattr(dense_em, "WEAK", 0.0)
    rng = np.random.default_rng(seed)
    network = small_network(rng)
    findings, rows = holed_records(network, 15, rng)
    em = DenseEM(DenseRecords(findings))
    causes = CauseMatrix.of(network)
    total, priors, failures, leaks = naive.em_step(*as_lists(network), rows)
    before = em.climb(causes, 0)
    assert before.log_likelihood == pytest.approx(total, rel=1e-5, abs=1e-4)
    after = em.climb(causes, 1, tol=-np.inf).causes
    np.testing.assert_allclose(after.priors, np.clip(priors, 1e-5, 0.95), atol=1e-4)
    np.testing.assert_allclose(after.leaks, np.clip(leaks, 1e-5, 0.9), atol=1e-4)
    is_edge = causes.failures < 1.0
    np.testing.assert_allclose(
        after.failures[is_edge], np.clip(failures, 1e-3, 1.0)[is_edge], atol=2e-4
    )
    assert (after.failures[~is_edge] == 1.0).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_likelihood_without_a_cause(seed):
    rng = np.random.default_rng(seed)
    network = small_network(rng)
    findings, rows = holed_records(network, 15, rng)
    found = DenseEM(DenseRecords(findings)).climb(CauseMatrix.of(network), 0)
    priors, failures, leaks = as_lists(network)
    for k in range(len(priors)):
        fewer = [each for i, each in enumerate(priors) if i != k]
        rest = [each for i, each in enumerate(failures) if i != k]
        expected = naive.log_likelihood(fewer, rest, leaks, rows)
        assert found.without[k] == pytest.approx(expected, rel=1e-4, abs=1e-3)


def test_causes_become_networks_and_back():
    structure = Structure.from_matrix([[1, 1, 0], [0, 1, 1]])
    network = NoisyOrNetwork(structure, [0.2, 0.3], [0.1, 0.2, 0.3, 0.4], [0.01, 0.02, 0.03])
    assert CauseMatrix.of(network).network(["D0", "D1"], structure.symptoms) == network


def test_fewer_records_keep_their_kinds():
    structure = Structure((), ("a", "b"), np.empty((0, 2), int))
    findings = Findings.from_numpy(np.repeat([[0, 0], [1, 0], [1, 1]], 1000, axis=0), structure)
    records = DenseRecords(findings)
    assert records.n_records == 3000
    assert len(records.weights) == 3
    thinned = records.thinned(300, np.random.default_rng(0))
    assert 200 < thinned.n_records < 400
    np.testing.assert_allclose(records.frequencies(), [2 / 3, 1 / 3])
