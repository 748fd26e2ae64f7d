"""Exact expectations against sums over all states of the diseases."""

import numpy as np
import pytest

import naive
from conftest import as_lists, network_on, with_unknown
from em.small_networks import small_network
from inference.patients import random_patient
from noisyor import Findings, NoisyOrError, NoisyOrNetwork, Structure, datasets
from noisyor.em import exact
from noisyor.em.exact import ExactExpectation
from noisyor.parameters import Parameters, from_log_odds, log_odds


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
    n = network.structure.n_parameters
    one_by_one = np.zeros((n, n))
    for row in findings.to_numpy().astype(float):
        one = ExactExpectation(Findings.from_numpy(row[np.newaxis], network.structure))
        scores = one.expect(network).trials.derivatives(network)
        one_by_one += np.outer(scores, scores)
    whole = ExactExpectation(findings)
    scored, expected = whole.score(network), whole.expect(network)
    assert scored.information == pytest.approx(one_by_one, rel=1e-8, abs=1e-12)
    assert scored.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)
    derivatives = expected.trials.derivatives(network)
    assert scored.derivatives == pytest.approx(derivatives, rel=1e-9, abs=1e-9)
    assert whole.count_present() == pytest.approx(findings.count_present())


def test_some_of_the_records_say_in_the_mean_what_all_say(rng):
    network = small_network(rng)
    findings = with_unknown(network.sample(3000, rng=1), rng)
    whole = ExactExpectation(findings)
    parts = [whole.thinned(1000, seed) for seed in range(60)]
    for part in parts:
        known = part.totals.n_records - (part.records.weights @ unknown_of(part))
        assert part.totals.known == pytest.approx(known)
    assert np.mean([x.totals.n_records for x in parts]) == pytest.approx(1000, rel=0.02)
    known = np.mean([x.totals.known for x in parts], axis=0)
    assert known == pytest.approx(whole.totals.known / 3, rel=0.02)
    values = [part.expect(network).log_likelihood for part in parts]
    assert np.mean(values) == pytest.approx(whole.expect(network).log_likelihood / 3, rel=0.02)
    assert whole.thinned(3000, 0) is whole


def unknown_of(expectation):
    """Return which findings are unknown, records x symptoms."""
    found = np.zeros((len(expectation.costs), expectation.structure.n_symptoms))
    for record, row in enumerate(found):
        here = slice(*expectation.records.offsets[record : record + 2])
        row[expectation.records.symptoms[here][~expectation.records.is_present[here]]] = 1.0
    return found


# --- records that are too much work ---


def cut_networks(rng, monkeypatch):
    """Yield small networks with records of which many are too much work."""
    monkeypatch.setattr(exact, "CUT_ABOVE", 40.0)
    for _ in range(20):
        network = small_network(rng)
        findings = with_unknown(network.sample(60, rng=int(rng.integers(1000))), rng)
        yield network, findings


def test_where_diseases_are_cut_the_sums_are_those_without_their_edges(rng, monkeypatch):
    n_cut = 0
    for network, findings in cut_networks(rng, monkeypatch):
        expectation = ExactExpectation(findings, may_cut=True)
        whole = expectation.counts(network)[1]
        expectation.cut(network)
        counts, evidences = expectation.counts(network)
        assert (evidences <= whole + 1e-9).all()
        is_cut = expectation.cut_diseases()
        n_cut += is_cut.any(axis=1).sum()
        caused = np.zeros(network.structure.n_edges)
        for row, cut, weight, found in zip(
            rows_of(expectation), is_cut, expectation.records.weights, evidences, strict=True
        ):
            priors, failures, leaks = as_lists(network)
            for i, j in network.structure.edges.tolist():
                failures[i][j] = 1.0 if cut[i] and row[j] else failures[i][j]
            total, _, causes, _ = naive.expectations(priors, failures, leaks, row)
            assert found == pytest.approx(np.log(total), rel=1e-9)
            edges = [tuple(edge) for edge in network.structure.edges.tolist()]
            caused += weight * np.array([causes.get(edge, 0.0) for edge in edges])
        assert counts.caused == pytest.approx(caused, rel=1e-8, abs=1e-10)
    assert n_cut > 50


def rows_of(expectation):
    """Return the records as lists of True, False and None."""
    found = []
    for record in range(len(expectation.costs)):
        row = [False] * expectation.structure.n_symptoms
        for x in range(*expectation.records.offsets[record : record + 2]):
            is_present = bool(expectation.records.is_present[x])
            row[expectation.records.symptoms[x]] = True if is_present else None
        found.append(row)
    return found


def test_derivatives_are_those_of_the_bound(rng, monkeypatch):
    for network, findings in cut_networks(rng, monkeypatch):
        expectation = ExactExpectation(findings, may_cut=True)
        expectation.cut(network)
        scored = expectation.score(network)
        derivatives = expectation.expect(network).trials.derivatives(network)
        assert scored.derivatives == pytest.approx(derivatives, rel=1e-8, abs=1e-8)
        position = log_odds(network.parameters.vector)
        for k in rng.choice(len(position), 4, replace=False):
            values = []
            for step in (-1e-4, 1e-4):
                moved = position.copy()
                moved[k] += step
                parts = Parameters.split(network.structure, from_log_odds(moved, 30.0))
                other = network.with_parameters(parts)
                values.append(expectation.expect(other).log_likelihood)
            assert derivatives[k] == pytest.approx((values[1] - values[0]) / 2e-4, abs=1e-4)


def test_whatever_is_too_much_work_is_cut_until_it_is_not(rng):
    structure = Structure.from_matrix(np.ones((40, 50)))
    network = network_on(structure, rng, (0.4, 0.6), (0.9, 0.99), (0.001, 0.002))
    findings = Findings.from_numpy(np.ones((2, 50)), structure)
    expectation = ExactExpectation(findings, may_cut=True)
    assert not expectation.is_affordable
    expectation.cut(network)
    assert 0 < expectation.cut_diseases().sum() < 40
    assert np.isfinite(expectation.expect(network).log_likelihood)


def test_records_are_parted_into_two_that_add_up():
    network = datasets.figure1(rng=0)
    whole = ExactExpectation(network.sample(3000, rng=1))
    part, others = whole.parted(1000, seed=0)
    assert part.totals.n_records + others.totals.n_records == 3000
    assert 850 < part.totals.n_records < 1150
    both = part.expect(network).log_likelihood + others.expect(network).log_likelihood
    assert both == pytest.approx(whole.expect(network).log_likelihood)
    assert whole.parted(5000, seed=0) == (whole, None)
