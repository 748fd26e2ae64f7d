"""Expectations and scores of records, against the sum over all states of the diseases."""

import numpy as np
import pytest

import naive
from conftest import as_lists, as_rows, random_network, random_records
from noisyor import Findings, datasets
from noisyor.em.candidate_kernels import MOST_ENUMERATED
from noisyor.em.exact import ExactExpectation
from noisyor.em.sampled import RecordSampler
from noisyor.parameters import Parameters


def naive_expectations(network, records):
    """Cases, caused findings and leaked findings, by summing over all states of the diseases."""
    edges = network.structure.edges.tolist()
    cases = np.zeros(network.structure.n_diseases)
    caused, leaked = np.zeros(len(edges)), np.zeros(network.structure.n_symptoms)
    for row in as_rows(records):
        _, posteriors, by_edge, by_leak = naive.expectations(*as_lists(network), row)
        cases += posteriors
        caused += [by_edge.get((i, j), 0.0) for i, j in edges]
        leaked += [by_leak.get(j, 0.0) for j in range(len(leaked))]
    return cases, caused, leaked


@pytest.mark.parametrize("unknown", [0.0, 0.2])
def test_expectations_agree_with_the_sum_over_all_states(rng, unknown):
    for _ in range(25):
        network = inner_network(rng)
        records = random_records(rng, 20, network.structure.n_symptoms, unknown)
        sampler = RecordSampler(
            network.structure, Findings.from_numpy(records, network.structure).blocks, 1e-12
        )
        found = sampler.expect(network, 1, must_screen=True, n_sweeps=1, seed=0)
        cases, caused, leaked = naive_expectations(network, records)
        assert found.cases == pytest.approx(cases, rel=1e-6, abs=1e-9)
        assert found.caused == pytest.approx(caused, rel=1e-6, abs=1e-9)
        assert found.leaked == pytest.approx(leaked, rel=1e-6, abs=1e-9)


def inner_network(rng):
    """Up to 6 diseases, no parameter at its bounds."""
    network = random_network(rng)
    return network.with_parameters(network.parameters.map(lambda part: 0.05 + 0.9 * part))


def test_sampling_agrees_with_the_sum_over_all_states():
    """Records with too many candidates are sampled: many sweeps give nearly the same."""
    network = datasets.clinic()
    records = network.sample(300, rng=1)
    exact = RecordSampler(network.structure, records.blocks, 1e-3)
    exact.expect(network, 1, must_screen=True, n_sweeps=1, seed=0)
    few = (np.bitwise_count(exact.candidates).sum(axis=1) <= MOST_ENUMERATED).mean()
    assert few > 0.9
    sampled = RecordSampler(network.structure, records.blocks, 1e-7)
    expected = exact.expect(network, 1, must_screen=True, n_sweeps=1, seed=0)
    total = np.zeros(network.structure.n_diseases)
    for seed in range(200):
        found = sampled.expect(network, 1, must_screen=seed == 0, n_sweeps=2, seed=seed)
        total += found.cases
    assert total / 200 == pytest.approx(expected.cases, rel=0.1, abs=0.7)


def test_the_scores_are_the_derivatives_of_the_log_likelihood(rng):
    network = inner_network(rng)
    structure = network.structure
    records = random_records(rng, 30, structure.n_symptoms)
    sampler = RecordSampler(structure, Findings.from_numpy(records, structure).blocks, 1e-12)
    sampler.expect(network, 1, must_screen=True, n_sweeps=1, seed=0)
    found = sampler.score(network, 1, 0)
    values = network.parameters.vector

    def log_likelihood(point):
        lists = as_lists(network.with_parameters(Parameters.split(structure, point)))
        return sum(
            np.log(naive.joint_probability(*lists, dict(enumerate(map(int, row)))))
            for row in records
        )

    for index in rng.choice(len(values), min(6, len(values)), replace=False):
        step = np.zeros(len(values))
        step[index] = 1e-5
        derivative = (log_likelihood(values + step) - log_likelihood(values - step)) / 2e-5
        assert found.total[index] == pytest.approx(derivative, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("least_odds", [1e-3, 1e-7])
def test_what_diseases_share_is_the_whole_information_where_failures_follow_priors(rng, least_odds):
    """Summed up, or sampled: the same draws give the same."""
    network = datasets.clinic()
    structure = network.structure
    whole, shared = (
        RecordSampler(structure, network.sample(300, rng=1).blocks, least_odds) for _ in range(2)
    )
    for each in whole, shared:
        each.expect(network, 1, must_screen=True, n_sweeps=1, seed=0)
    following = rng.normal(size=structure.n_edges)
    directions = np.eye(structure.n_parameters)[: structure.n_diseases]
    directions[structure.edges[:, 0], structure.n_diseases + np.arange(len(following))] = following
    expected = directions @ whole.score(network, 2, 5).information @ directions.T
    assert shared.share(network, following, 2, 5) == pytest.approx(expected, rel=1e-6, abs=1e-3)


def test_bounds_are_below_the_likelihood_and_equal_where_diseases_are_few():
    for network, is_equal in (datasets.figure2(0), True), (datasets.clinic(), False):
        findings = network.sample(100, rng=1)
        bounded = RecordSampler(network.structure, findings.blocks).bound(network, 1)
        exact = ExactExpectation(findings).expect(network).log_likelihood
        assert bounded.n_records[0] == 100
        if is_equal:
            assert bounded.total[0] == pytest.approx(exact, rel=1e-9)
        assert exact - 2.0 < bounded.total[0] <= exact + 1e-6
        some = RecordSampler(network.structure, findings.blocks).bound(network, 7)
        assert some.n_records[0] == 15
