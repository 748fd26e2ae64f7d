"""Diseases that were seen are clamped, the same in every engine, against sums over all states."""

import numpy as np
import pytest

import naive
from conftest import as_lists
from em.small_networks import small_network
from noisyor import Findings, NoisyOrNetwork, Structure
from noisyor.em.drawn import DrawnRecords
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import RecordTotals, Trials
from noisyor.em.sampled import RecordSampler
from noisyor.em.seen import distinct_seen
from noisyor.em.variational import VariationalExpectation
from noisyor.parameters import Parameters, from_log_odds, log_odds


def partly_labelled(rng, network, n_records, share=0.5, share_unknown=0.1):
    """Return findings with labels, the records and the labels as lists."""
    findings, diseases = network.sample(n_records, rng=rng, return_diseases=True)
    records = findings.to_numpy().astype(float)
    records[rng.random(records.shape) < share_unknown] = np.nan
    labels = np.where(rng.random(diseases.shape) < share, diseases, np.nan)
    findings = Findings.from_numpy(records, network.structure).with_labels(labels)
    return findings, *(
        [[None if np.isnan(x) else int(x) for x in row] for row in each]
        for each in (records, labels)
    )


def test_an_em_step_agrees_with_sums_over_all_states(rng):
    for _ in range(100):
        network = small_network(rng)
        findings, records, labels = partly_labelled(rng, network, 8, rng.random())
        total, priors, failures, leaks = naive.em_step(*as_lists(network), records, labels)
        expected = ExactExpectation(findings).expect(network)
        assert expected.log_likelihood == pytest.approx(total, rel=1e-9)
        successes, trials = expected.trials
        assert successes.priors / trials.priors == pytest.approx(priors, abs=1e-9)
        edges = network.structure.edges.tolist()
        found = successes.failures / np.maximum(trials.failures, 1e-300)
        for value, n, (i, j) in zip(found, trials.failures, edges, strict=True):
            if n > 1e-9:
                assert value == pytest.approx(failures[i][j], abs=1e-9)
        assert successes.leaks == pytest.approx(trials.leaks * leaks, abs=1e-9)


def test_scores_are_derivatives_of_the_likelihood_of_findings_and_labels(rng):
    for _ in range(10):
        network = small_network(rng)
        findings, _, _ = partly_labelled(rng, network, 20)
        exact = ExactExpectation(findings)
        derivatives = exact.score(network).derivatives
        position, step = log_odds(network.parameters.vector), 1e-5

        def value(position, network=network, exact=exact):
            values = Parameters.split(network.structure, from_log_odds(position))
            return exact.expect(network.with_parameters(values)).log_likelihood

        for j in range(len(position)):
            moved = np.zeros(len(position))
            moved[j] = step
            change = (value(position + moved) - value(position - moved)) / (2 * step)
            assert derivatives[j] == pytest.approx(change, abs=1e-4)


def test_the_sampler_sums_up_the_same_and_its_bound_is_the_likelihood(rng):
    for _ in range(40):
        network = small_network(rng)
        findings, _, _ = partly_labelled(rng, network, 30, rng.random())
        exact, structure = ExactExpectation(findings), network.structure
        sampler = RecordSampler(structure, findings.blocks, 0.0, labels=findings.labels, n_jobs=1)
        counts = sampler.expect(network, 1, must_screen=True, n_sweeps=1, seed=0)
        right, evidences = exact.counts(network)
        for found, expected in zip(counts, right, strict=True):
            assert found == pytest.approx(expected, abs=1e-8)
        bound = sampler.bound(network, 1)
        assert bound.total[0] == pytest.approx(exact.records.weights @ evidences, rel=1e-9)
        scores = sampler.score(network, 2, 0)
        scale = (network.parameters.vector) * (1.0 - network.parameters.vector)
        scored = exact.score(network)
        assert scale * scores.total == pytest.approx(scored.derivatives, abs=1e-6)
        by_log_odds = scale[:, np.newaxis] * scores.information * scale
        assert by_log_odds == pytest.approx(scored.information, abs=1e-6)


def test_sampling_many_candidates_leads_to_the_exact_counts():
    """With 14 candidates a record is sampled; over many rounds means agree, labels held."""
    rng = np.random.default_rng(3)
    structure = Structure.from_matrix(np.ones((14, 6)))
    network = NoisyOrNetwork(
        structure, np.full(14, 0.2), rng.uniform(0.5, 0.95, 14 * 6), np.full(6, 0.05)
    )
    findings, _, _ = partly_labelled(rng, network, 12, 0.3)
    exact = ExactExpectation(findings).counts(network)[0]
    sampler = RecordSampler(structure, findings.blocks, 0.0, labels=findings.labels, n_jobs=1)
    n_rounds = 1500
    found = np.zeros(14)
    for number in range(n_rounds):
        counts = sampler.expect(network, 1, must_screen=False, n_sweeps=2, seed=number)
        found += counts.cases / n_rounds
    assert found == pytest.approx(exact.cases, abs=0.15)
    assert not np.allclose(exact.cases, 12 * network.priors, atol=0.15)  # it says something
    is_known, is_on = findings.labels.unpacked()
    for record in range(12):
        bits = [bool(int(sampler.states[record, 0]) >> i & 1) for i in range(14)]
        assert (np.array(bits) == is_on[record])[is_known[record]].all()


def test_drawn_diseases_are_those_that_were_seen(rng):
    for _ in range(10):
        network = small_network(rng)
        findings, _, _ = partly_labelled(rng, network, 40, 0.6)
        drawn = DrawnRecords(findings)
        trials = [drawn.draw(network, rng) for _ in range(400)]
        mean = np.mean([each.successes.vector for each in trials], axis=0)
        counts = ExactExpectation(findings).counts(network)[0]
        totals = RecordTotals.of(findings)
        right = Trials.of(network.structure, counts, totals).successes.vector
        assert mean == pytest.approx(right, abs=0.6)
        is_known, is_on = findings.labels.unpacked()
        all_known = is_known.all(axis=0)
        cases = np.array([each.successes.priors for each in trials])
        assert (cases[:, all_known] == is_on.sum(axis=0)[all_known]).all()


def test_drawn_diseases_of_records_that_many_explain():
    rng = np.random.default_rng(5)
    structure = Structure.from_matrix(np.ones((9, 5)))
    network = NoisyOrNetwork(
        structure, np.full(9, 0.3), rng.uniform(0.5, 0.95, 45), np.full(5, 0.05)
    )
    findings, _, _ = partly_labelled(rng, network, 30, 0.4, share_unknown=0.0)
    drawn = DrawnRecords(findings)
    trials = [drawn.draw(network, rng) for _ in range(3000)]
    mean = np.mean([each.successes.priors for each in trials], axis=0)
    right = ExactExpectation(findings).counts(network)[0].cases
    assert mean == pytest.approx(right, abs=0.25)


def test_a_variational_bound_stays_below_and_holds_labels(rng):
    for _ in range(30):
        network = small_network(rng)
        findings, _, _ = partly_labelled(rng, network, 20, rng.random())
        expectation = VariationalExpectation(findings, 1)
        expectation.restart()
        expected = expectation.expect(network)
        exact = ExactExpectation(findings).expect(network)
        assert expected.log_likelihood <= exact.log_likelihood + 1e-6
        is_known, is_on = findings.labels.unpacked()
        known = is_known.all(axis=0)
        assert expected.trials.successes.priors[known] == pytest.approx(is_on.sum(axis=0)[known])


def test_equal_findings_with_other_labels_are_not_the_same_record():
    structure = Structure.from_edges([("flu", "fever"), ("cold", "fever")])
    findings = Findings.from_numpy([[1], [1], [1], [0]], structure)
    labels = [[1, np.nan], [1, np.nan], [np.nan, 0], [np.nan, np.nan]]
    records, _, seen = distinct_seen(findings.with_labels(labels))
    assert sorted(records.weights.tolist()) == [1.0, 1.0, 2.0]
    assert len(seen.known) == 3


def test_without_a_label_nothing_changes(rng):
    network = small_network(rng)
    findings = network.sample(50, rng=1)
    nothing = np.full((50, network.structure.n_diseases), np.nan)
    plain = ExactExpectation(findings).expect(network)
    labelled = ExactExpectation(findings.with_labels(nothing)).expect(network)
    assert labelled.log_likelihood == plain.log_likelihood
