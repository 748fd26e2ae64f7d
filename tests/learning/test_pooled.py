"""Pooled learning: all pairs and the best triplets."""

import numpy as np
import pytest

from noisyor import (
    Findings,
    MomentPlan,
    Moments,
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    count_moments,
    datasets,
    find_schedule,
)
from noisyor.errors import ParameterError, StructureError
from noisyor.learning import Flag, learn_pooled, learn_sequential, plan_triplets


@pytest.mark.parametrize("name", ["figure1", "clinic"])
def test_exact_moments_give_the_truth(name):
    network = datasets.clinic() if name == "clinic" else datasets.figure1(0)
    schedule = find_schedule(network.structure)
    pairs = Moments.exact(network, MomentPlan.coupled(network.structure))
    moments = Moments.exact(network, plan_triplets(pairs, schedule))
    estimate = learn_pooled(moments, schedule)
    assert estimate.priors.values == pytest.approx(network.priors, rel=1e-3)
    assert estimate.failures.values == pytest.approx(network.failures, abs=1e-3)
    assert estimate.leaks.values == pytest.approx(network.leaks, abs=1e-3)


def errors(estimate, network):
    return np.abs(estimate.failures.values - network.failures).mean()


def test_pooling_beats_one_triplet_an_edge_by_far():
    network = datasets.clinic()
    findings = network.sample(50_000, rng=0)
    pooled = NoisyOrLearner(network.structure, method="pooled").fit(findings).estimate_
    sequential = NoisyOrLearner(network.structure, method="sequential").fit(findings).estimate_
    assert errors(pooled, network) < 0.75 * errors(sequential, network)
    assert pooled.method == "pooled"


def test_standard_errors_cover():
    network = datasets.clinic()
    covered = []
    for seed in range(5):
        findings = network.sample(50_000, rng=seed)
        part = NoisyOrLearner(network.structure, method="pooled").fit(findings).estimate_.failures
        lower, upper = part.intervals()
        covered.append(((lower <= network.failures) & (network.failures <= upper))[part.flags == 0])
    assert 0.90 < np.concatenate(covered).mean() < 0.98


def test_sites_learn_what_all_records_in_one_place_would():
    network = datasets.clinic()
    structure = network.structure
    # Ids put every record into the same group wherever it is counted.
    records = [network.sample(3000, rng=seed).to_numpy() for seed in (1, 2)]
    ids = np.arange(3000), np.arange(3000, 6000)
    parts = [
        Findings.from_numpy(rows, structure, record_ids=numbers)
        for rows, numbers in zip(records, ids, strict=True)
    ]
    pairs = sum(count_moments(part, MomentPlan.coupled(structure)) for part in parts)
    plan = plan_triplets(pairs, find_schedule(structure))
    moments = sum(count_moments(part, plan) for part in parts)
    together = NoisyOrLearner(structure, method="pooled").fit(moments).network_
    everything = Findings.from_numpy(
        np.concatenate(records), structure, record_ids=np.concatenate(ids)
    )
    whole = NoisyOrLearner(structure, method="pooled").fit(everything).network_
    assert together.priors == pytest.approx(whole.priors, rel=1e-6)
    assert together.failures == pytest.approx(whole.failures, abs=1e-6)


def test_what_is_not_identifiable_stays_neutral():
    structure = Structure.from_matrix(np.ones((2, 3)))
    network = NoisyOrNetwork(structure, [0.3, 0.4], np.full(6, 0.5), np.full(3, 0.01))
    estimate = NoisyOrLearner(network.structure, method="pooled").fit(network.sample(2000, rng=0))
    assert (estimate.estimate_.failures.flags == Flag.NOT_SCHEDULED).all()
    assert (estimate.network_.failures == 0.5).all()


def test_moments_that_do_not_do_are_refused():
    network = datasets.figure1(0)
    schedule = find_schedule(network.structure)
    records = network.sample(100, rng=0)
    with pytest.raises(ParameterError, match="lack .* pairs that share a disease"):
        learn_pooled(count_moments(records, MomentPlan(network.structure)), schedule)
    with pytest.raises(ParameterError, match="no triplets"):
        learn_pooled(count_moments(records, MomentPlan.coupled(network.structure)), schedule)
    with pytest.raises(StructureError, match="different structures"):
        learn_pooled(
            count_moments(records, schedule.plan()), find_schedule(datasets.figure2(0).structure)
        )


def test_pooled_and_sequential_agree_with_many_records():
    network = datasets.figure1(0)
    schedule = find_schedule(network.structure)
    findings = network.sample(500_000, rng=0)
    pooled = NoisyOrLearner(network.structure, method="pooled").fit(findings).network_
    one = learn_sequential(count_moments(findings, schedule.plan()), schedule).network
    assert pooled.failures == pytest.approx(one.failures, abs=0.05)


def test_few_groups_give_sound_values_without_errors_and_say_so():
    """Rows without ids come 64 to a group: fewer than 640 fill fewer than the ten groups needed."""
    network = datasets.clinic()
    findings = network.sample(400, rng=1)
    estimate = NoisyOrLearner(network.structure, method="pooled").fit(findings).estimate_
    for part in estimate.parts.values():
        assert np.isnan(part.standard_errors).all()
        assert (part.flags != 0).all()
    assert (estimate.failures.flags & Flag.NO_ERROR).any()
    assert estimate.leaks.values.max() < 0.6  # once 0.98: shrunk as if all were known exactly
    sequential = NoisyOrLearner(network.structure, method="sequential").fit(findings).estimate_
    for part in sequential.parts.values():
        assert ((part.flags != 0) | np.isfinite(part.standard_errors)).all()


@pytest.mark.parametrize("method", ["sequential", "pooled", "refined"])
def test_the_number_of_threads_changes_nothing(method):
    network = datasets.figure2(1)
    findings = network.sample(3000, rng=0)
    one, many = (
        NoisyOrLearner(network.structure, method=method, n_jobs=n).fit(findings).estimate_
        for n in (1, 3)
    )
    assert one.values == many.values
    assert one.standard_errors == many.standard_errors
    assert one.explained[0].misfit == many.explained[0].misfit
