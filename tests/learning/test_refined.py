"""Refined learning: expectations against the sum over all states, then what it learns."""

import itertools

import numpy as np
import pytest
from noisyor.learning.polish.em import RecordSampler

import naive
from conftest import as_lists, random_network, random_records
from noisyor import Findings, NoisyOrLearner, datasets
from noisyor.errors import ParameterError, StructureError
from noisyor.learning import Flag, learn_refined
from noisyor.schedule import find_schedule


def naive_expectations(network, records):
    """Cases, caused findings and leaked findings, by summing over all states of the diseases."""
    priors, failures, leaks = as_lists(network)
    edges = network.structure.edges.tolist()
    cases, caused, leaked = np.zeros(len(priors)), np.zeros(len(edges)), np.zeros(len(leaks))
    for row in records:
        known = {j: int(value) for j, value in enumerate(row) if not np.isnan(value)}
        states = list(itertools.product([0, 1], repeat=len(priors)))
        weights = []
        for state in states:
            weight = naive.probability_of_states(priors, state)
            for j, value in known.items():
                absent = naive.probability_absent(failures, leaks, j, state)
                weight *= 1 - absent if value else absent
            weights.append(weight)
        for state, weight in zip(states, np.array(weights) / sum(weights), strict=True):
            cases += weight * np.array(state)
            present = {
                j: 1 - naive.probability_absent(failures, leaks, j, state)
                for j, value in known.items()
                if value
            }
            for e, (i, j) in enumerate(edges):
                if state[i] and j in present:
                    caused[e] += weight * (1 - failures[i][j]) / present[j]
            for j, probability in present.items():
                leaked[j] += weight * leaks[j] / probability
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
        assert found.cases + found.negligible_cases == pytest.approx(cases, rel=1e-6, abs=1e-9)
        assert found.caused == pytest.approx(caused, rel=1e-6, abs=1e-9)
        assert found.leaked == pytest.approx(leaked, rel=1e-6, abs=1e-9)


def inner_network(rng):
    """Up to 6 diseases, no parameter at its bounds."""
    network = random_network(rng)
    parts = network.priors, network.failures, network.leaks
    inside = [0.05 + 0.9 * part for part in parts]
    return type(network)(network.structure, *inside)


def test_sampling_agrees_with_the_sum_over_all_states():
    """Records with too many candidates are sampled: many sweeps give nearly the same."""
    from noisyor.learning.polish import kernels

    network = datasets.clinic()
    records = network.sample(300, seed=1)
    exact = RecordSampler(network.structure, records.blocks, 1e-3)
    exact.expect(network, 1, must_screen=True, n_sweeps=1, seed=0)
    few = (np.bitwise_count(exact.candidates).sum(axis=1) <= kernels.MOST_ENUMERATED).mean()
    assert few > 0.9
    sampled = RecordSampler(network.structure, records.blocks, 1e-7)
    expected = exact.expect(network, 1, must_screen=True, n_sweeps=1, seed=0)
    total = np.zeros(network.structure.n_diseases)
    for seed in range(200):
        found = sampled.expect(network, 1, must_screen=seed == 0, n_sweeps=2, seed=seed)
        total += found.cases + found.negligible_cases
    wanted = expected.cases + expected.negligible_cases
    assert total / 200 == pytest.approx(wanted, rel=0.1, abs=0.7)


def test_the_scores_are_the_derivatives_of_the_log_likelihood(rng):
    network = inner_network(rng)
    structure = network.structure
    records = random_records(rng, 30, structure.n_symptoms)
    sampler = RecordSampler(structure, Findings.from_numpy(records, structure).blocks, 1e-12)
    sampler.expect(network, 1, must_screen=True, n_sweeps=1, seed=0)
    found = sampler.score(network, 1, 0)
    values = np.concatenate([network.failures, network.priors, network.leaks])
    cuts = structure.n_edges, structure.n_edges + structure.n_diseases

    def log_likelihood(point):
        failures, priors, leaks = np.split(point, cuts)
        lists = as_lists(type(network)(structure, priors, failures, leaks))
        return sum(
            np.log(naive.joint_probability(*lists, dict(enumerate(map(int, row)))))
            for row in records
        )

    for place in rng.choice(len(values), min(6, len(values)), replace=False):
        step = np.zeros(len(values))
        step[place] = 1e-5
        slope = (log_likelihood(values + step) - log_likelihood(values - step)) / 2e-5
        assert found.total[place] == pytest.approx(slope, rel=1e-4, abs=1e-4)


def test_refining_beats_pooling_and_its_intervals_cover():
    learned, start, inside = [], [], []
    for seed in range(12):
        network = datasets.figure1(seed)
        findings = network.sample(2000, seed=seed + 50)
        refined = NoisyOrLearner(network.structure).fit(findings).estimate_
        pooled = NoisyOrLearner(network.structure, method="pooled").fit(findings).estimate_
        learned.append(np.abs(refined.failures.values - network.failures).mean())
        start.append(np.abs(pooled.failures.values - network.failures).mean())
        lower, upper = refined.failures.intervals()
        inside.append((lower <= network.failures) & (network.failures <= upper))
    assert np.mean(learned) < 0.9 * np.mean(start)
    assert 0.88 < np.mean(inside) < 0.99


def test_large_networks_are_refined_disease_by_disease():
    network = datasets.qmr_shaped(0)
    findings, diseases = network.sample(5000, seed=1, return_diseases=True)
    estimate = NoisyOrLearner(network.structure).fit(findings).estimate_
    assert estimate.method == "refined"
    assert (estimate.failures.depths == estimate.schedule.n_rounds).sum() == 122  # cleaned up
    often = np.flatnonzero(diseases.sum(axis=0) > 100)
    seen = diseases.mean(axis=0)[often]
    assert estimate.priors.values[often] == pytest.approx(seen, rel=0.25)
    unflagged = estimate.failures.flags == 0
    lower, upper = estimate.failures.intervals()
    inside = (lower <= network.failures) & (network.failures <= upper)
    assert 0.90 < inside[unflagged].mean() < 0.99


def test_the_same_seed_gives_the_same_network():
    network = datasets.clinic()
    findings = network.sample(2000, seed=0)
    one, same = (NoisyOrLearner(network.structure, seed=1).fit(findings) for _ in range(2))
    assert one.network_ == same.network_


def test_unknown_findings_are_left_out():
    network = datasets.figure1(2)
    rng = np.random.default_rng(0)
    records = network.sample(5000, seed=1).to_numpy().astype(float)
    records[rng.random(records.shape) < 0.1] = np.nan
    learned = NoisyOrLearner(network.structure).fit(records).network_
    assert np.abs(learned.failures - network.failures).mean() < 0.06


def test_few_records_are_flagged_as_weak():
    network = datasets.clinic()
    estimate = NoisyOrLearner(network.structure).fit(network.sample(3, seed=0)).estimate_
    assert (estimate.priors.flags & Flag.WEAK).any()
    values = np.concatenate([part.values for part in estimate.parts.values()])
    assert ((values > 0) & (values < 1)).all()


def test_wrong_inputs_are_refused():
    network, other = datasets.figure1(0), datasets.clinic()
    schedule = find_schedule(network.structure)
    with pytest.raises(StructureError, match="different structures"):
        learn_refined(other.sample(10, seed=0), schedule, network)
    with pytest.raises(ParameterError, match="no records"):
        learn_refined(network.sample(0, seed=0), schedule, network)


# --- what the records do not tell ---


def hardly_any_records(kind):
    network = datasets.figure1(0)
    if kind == "unknown":
        return np.full((500, 5), np.nan)
    if kind == "absent":
        return np.zeros((500, 5), dtype=np.uint8)
    if kind == "one record":
        return network.sample(1, seed=0).to_numpy()
    records = network.sample(500, seed=0).to_numpy()
    records[:, 1] = 1  # b is always present
    return records


@pytest.mark.parametrize("kind", ["unknown", "absent", "one record", "always"])
def test_what_the_records_do_not_tell_is_flagged(kind):
    structure = datasets.figure1(0).structure
    records = hardly_any_records(kind)
    if kind == "unknown":
        records = Findings.from_numpy(records, structure)
    estimate = NoisyOrLearner(structure).fit(records).estimate_
    of_b = structure.edges[:, 1] == 1
    failures = estimate.failures.flags[of_b] if kind == "always" else estimate.failures.flags
    assert (failures & Flag.WEAK).all()
    if kind in ("unknown", "one record"):
        assert (estimate.priors.flags & Flag.WEAK).all()
        assert (estimate.leaks.flags & Flag.WEAK).all()


@pytest.mark.parametrize("method", ["refined", "pooled"])
def test_shrinking_can_be_switched_off(method):
    network = datasets.clinic()
    records = network.sample(1000, seed=0)
    spreads = [
        NoisyOrLearner(network.structure, method=method, shrink=shrink)
        .fit(records)
        .network_.failures.std()
        for shrink in (True, False)
    ]
    assert spreads[1] > 1.05 * spreads[0]


@pytest.mark.parametrize("method", ["refined", "pooled", "sequential"])
def test_without_records_nothing_is_learned(method):
    network = datasets.figure1(0)
    with pytest.raises(ParameterError, match="nothing to learn from"):
        NoisyOrLearner(network.structure, method=method).fit(network.sample(0, seed=0))
