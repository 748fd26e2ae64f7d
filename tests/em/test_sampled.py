"""Expectations and scores of records, against the sum over all states of the diseases."""

import numpy as np
import pytest

import naive
from conftest import as_lists, as_rows, random_network, random_records
from noisyor import Findings, NoisyOrNetwork, Structure, datasets
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


def test_what_is_sure_is_not_enumerated_and_counts_all_the_same(rng):
    """Two diseases that nearly all their findings show, beside one that hardly any does."""
    matrix = np.zeros((3, 14), dtype=np.int8)
    matrix[0, :6] = matrix[1, 5:12] = matrix[2, 3:14] = 1
    structure = Structure.from_matrix(matrix)
    failures = rng.uniform(0.1, 0.4, structure.n_edges)
    network = NoisyOrNetwork(structure, [0.3, 0.2, 0.01], failures, np.full(14, 1e-4))
    records = np.zeros((3, 14), dtype=np.int8)
    records[0, :6] = records[1, :12] = 1  # the first alone, the first two; nothing
    sampler = RecordSampler(structure, Findings.from_numpy(records, structure).blocks, 1e-12)
    found = sampler.expect(network, 1, must_screen=True, n_sweeps=1, seed=0)
    cases, caused, leaked = naive_expectations(network, records)
    assert found.cases == pytest.approx(cases, rel=1e-9)
    assert found.caused == pytest.approx(caused, rel=1e-9, abs=1e-12)
    assert found.leaked == pytest.approx(leaked, rel=1e-9, abs=1e-12)
    posteriors = naive.expectations(*as_lists(network), as_rows(records[:1])[0])[1]
    assert 1.0 - posteriors[0] < 1e-12  # it is one of those that stay on


def test_the_number_of_threads_changes_no_sum():
    network = datasets.clinic()
    findings, following = network.sample(5000, rng=1), np.full(network.structure.n_edges, 0.1)
    found = []
    for n_jobs in 1, 3:
        sampler = RecordSampler(network.structure, findings.blocks, n_jobs=n_jobs)
        n_blocks = len(sampler.blocks)
        assert n_blocks == 5
        sums = [sampler.expect(network, n_blocks, must_screen=True, n_sweeps=2, seed=0)]
        sums += [sampler.inform(network, 2, 1), sampler.bound(network, 700)]
        sums += [sampler.share_findings(network, following, 2, 2)]
        found.append([np.copy(array) for each in sums for array in each])
    assert all(np.array_equal(*each) for each in zip(*found, strict=True))


def test_bounds_look_at_every_so_many_records_wherever_they_are():
    network = datasets.figure1(rng=0)
    findings = network.sample(3000, rng=1)
    for every in (1, 7, 1024, 2999, 5000):
        sampler = RecordSampler(network.structure, findings.blocks)
        assert sampler.bound(network, every).n_records[0] == -(-3000 // every)


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


@pytest.mark.parametrize("may_exchange", [True, False])
def test_diseases_that_explain_the_same_findings_take_each_others_places(monkeypatch, may_exchange):
    """Else the one that explains a record first explains it for ever."""
    let_exchange(monkeypatch, may_exchange)
    network = network_of_near_duplicates()
    structure, records = network.structure, network.sample(400, rng=1)
    sampler = RecordSampler(structure, records.blocks, 1e-9)
    sampler.expect(network, 1, must_screen=True, n_sweeps=1, seed=0)
    found = np.mean([sampler.score(network, 4, seed).total for seed in range(40)], axis=0)
    assert sampler.share_enumerated() < 0.5
    # In cases: derivatives by log odds.
    values = network.parameters.vector
    found = (found * values * (1.0 - values))[:2]
    expected = ExactExpectation(records).score(network).derivatives[:2]
    is_right = np.abs(found - expected).max() < 1.0
    assert is_right == may_exchange, (found, expected)


def let_exchange(monkeypatch, may_exchange):
    """Say whether diseases take each other's places where scores are gathered."""
    gathered = RecordSampler._gathered
    monkeypatch.setattr(
        RecordSampler,
        "_gathered",
        lambda *arguments, **more: gathered(*arguments, **more | {"may_exchange": may_exchange}),
    )


def network_of_near_duplicates():
    """Two diseases with the same symptoms, and thirteen that are possible beside them."""
    matrix = np.zeros((15, 20), dtype=np.int8)
    matrix[:2, :7] = 1
    for other in range(2, 15):
        matrix[other, [0, 5 + other, 6 + other % 7]] = 1
    structure = Structure.from_matrix(matrix)
    failures = np.where(structure.edges[:, 0] < 2, 0.1, 0.6)
    priors = np.array([0.12, 0.08, *np.full(13, 0.05)])
    return NoisyOrNetwork(structure, priors, failures, np.full(20, 0.005))


@pytest.mark.parametrize("least_odds", [1e-3, 1e-7])
def test_what_diseases_share_is_the_whole_information_where_failures_follow_priors(
    rng, least_odds, monkeypatch
):
    """Summed up, or sampled: the same draws give the same."""
    let_exchange(monkeypatch, False)  # as what is shared is gathered
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


def test_information_of_some_blocks_stands_for_all():
    """Of two equal blocks, one tells what both do, up to what is sampled."""
    network = datasets.figure1(rng=0)
    (block,) = network.sample(500, rng=1).blocks
    sampler = RecordSampler(network.structure, [block, block], 1e-12)
    sampler.expect(network, 2, must_screen=True, n_sweeps=1, seed=0)
    following = np.full(network.structure.n_edges, 0.1)

    def found(every):
        information = sampler.inform(network, 2000, 0, every)
        return (*information, sampler.share(network, following, 2000, 0, every))

    for whole, some in zip(found(1), found(2), strict=True):
        assert some == pytest.approx(whole, abs=0.02 * np.abs(whole).max())
