"""Exact expectations against sums over all states of the diseases."""

import numpy as np
import pytest

import naive
from conftest import as_lists, with_unknown
from em.small_networks import small_network
from inference.patients import random_patient
from noisyor import Findings, NoisyOrError, NoisyOrNetwork, Structure
from noisyor.em.exact import ExactExpectation


def check(network, row, rel=1e-9):
    """Compare everything with the sums over all states."""
    total, posteriors, caused, leaked = naive.expectations(*as_lists(network), row)
    findings = Findings.from_numpy(np.array([row], dtype=float), network.structure)
    counts, evidences = ExactExpectation(findings).counts(network)
    assert evidences[0] == pytest.approx(np.log(total), rel=rel, abs=1e-9)
    assert counts.cases == pytest.approx(posteriors, rel=rel, abs=1e-12)
    edges = [tuple(edge) for edge in network.structure.edges.tolist()]
    expected = [caused.get(edge, 0.0) for edge in edges]
    assert counts.caused == pytest.approx(expected, rel=rel, abs=1e-12)
    expected = [leaked.get(j, 0.0) for j in range(network.structure.n_symptoms)]
    assert counts.leaked == pytest.approx(expected, rel=rel, abs=1e-12)
    unknown = [posteriors[i] if row[j] is None else 0.0 for i, j in edges]
    assert counts.unknown == pytest.approx(unknown, rel=rel, abs=1e-12)


def test_records_agree_with_sums_over_all_states(rng):
    for _ in range(400):
        network, row, _, _ = random_patient(rng)
        check(network, row)


def test_a_long_chain_is_eliminated_with_few_findings_open():
    n = 40  # 2^40 states of diseases or findings; at most two findings are open at once
    matrix = np.zeros((n, n + 1))
    matrix[np.arange(n), np.arange(n)] = matrix[np.arange(n), np.arange(n) + 1] = 1
    structure = Structure.from_matrix(matrix)
    rng = np.random.default_rng(0)
    network = NoisyOrNetwork(
        structure, rng.uniform(0.1, 0.5, n), rng.uniform(0.1, 0.9, 2 * n), np.full(n + 1, 0.01)
    )
    findings = Findings.from_numpy(np.ones((1, n + 1)), structure)
    counts, evidences = ExactExpectation(findings).counts(network)
    assert evidences[0] == pytest.approx(chain_evidence(network), rel=1e-12)
    assert ((counts.cases > 0.0) & (counts.cases < 1.0)).all()


def chain_evidence(network):
    """Return the log probability of all findings of a chain, disease by disease."""
    f = network.failures.reshape(-1, 2)
    state = {0: 1.0}  # whether the disease before is present
    for i, p in enumerate(network.priors):
        new = {0: 0.0, 1: 0.0}
        for before, weight in state.items():
            for now in (0, 1):
                absent = (1 - network.leaks[i]) * (f[i - 1, 1] if before else 1.0)
                absent *= f[i, 0] if now else 1.0
                new[now] += weight * (p if now else 1 - p) * (1 - absent)
        state = new
    last = 1 - network.leaks[-1]
    return np.log(state[0] * (1 - last) + state[1] * (1 - last * f[-1, 1]))


def test_many_unlikely_findings_do_not_underflow():
    structure = Structure.from_matrix(np.ones((2, 200)))
    network = NoisyOrNetwork(structure, [1e-9, 1e-9], np.full(400, 0.999), np.full(200, 1e-6))
    expectation = ExactExpectation(Findings.from_numpy(np.ones((1, 200)), structure))
    counts, evidences = expectation.counts(network)
    assert -2000.0 < evidences[0] < -1000.0
    assert np.isfinite(counts.caused).all()


def test_what_takes_too_long_is_refused_with_its_size():
    structure = Structure.from_matrix(np.ones((30, 40)))
    with pytest.raises(NoisyOrError, match=r"2\^24 operations, one with 40 present findings"):
        ExactExpectation(Findings.from_numpy(np.ones((1, 40)), structure))


def test_no_records_have_a_likelihood_of_one():
    structure = Structure.from_matrix(np.ones((1, 3)))
    network = NoisyOrNetwork(structure, [0.5], np.full(3, 0.5), np.full(3, 0.1))
    found = ExactExpectation(Findings.from_numpy(np.empty((0, 3)), structure)).expect(network)
    assert found.log_likelihood == 0.0


def test_many_shared_findings_and_few_diseases():
    for n in 54, 55, 60, 64, 70, 130:
        structure = Structure.from_matrix(np.ones((2, n)))
        network = NoisyOrNetwork(structure, [0.3, 0.2], np.full(2 * n, 0.4), np.full(n, 0.05))
        found = ExactExpectation(Findings.from_numpy(np.ones((1, n)), structure)).expect(network)
        a, b = 1.0 - 0.95 * 0.4, 1.0 - 0.95 * 0.16
        expected = np.log(0.56 * 0.05**n + (0.24 + 0.14) * a**n + 0.06 * b**n)
        assert found.log_likelihood == pytest.approx(expected, rel=1e-9)


def test_impossible_records_have_no_likelihood():
    structure = Structure.from_matrix([[1]])
    network = NoisyOrNetwork(structure, [1.0], [0.0], [0.1])
    found = ExactExpectation(Findings.from_numpy([[0]], structure)).expect(network)
    assert found.log_likelihood == -np.inf


def test_products_of_the_scores_are_the_information(rng):
    network = small_network(rng)
    findings = with_unknown(network.sample(200, rng=1), rng)
    values = network.parameters.vector
    one_by_one = np.zeros((len(values), len(values)))
    for row in findings.to_numpy().astype(float):
        one = ExactExpectation(Findings.from_numpy(row[np.newaxis], network.structure))
        by_log_odds = one.expect(network).trials.derivatives(network)
        scores = by_log_odds / (values * (1.0 - values))
        one_by_one += np.outer(scores, scores)
    assert ExactExpectation(findings).information(network) == pytest.approx(one_by_one, rel=1e-8)
