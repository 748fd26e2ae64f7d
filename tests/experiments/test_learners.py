"""The learners as experiments call them."""

import numpy as np

from noisyor import datasets
from noisyor.experiments.learners import (
    clean_up_exactly,
    fit,
    fit_chunks,
    fit_sample,
)


def test_moments_of_many_records_add_up():
    network = datasets.figure1(0)

    def chunks():
        return (network.sample(1000, rng=seed) for seed in range(4))

    for method in "sequential", "pooled":
        learned = fit_chunks(chunks, network.structure, method).network
        once = fit(network.sample(1000, rng=0), network.structure, method).network
        assert np.abs(learned.failures - network.failures).sum() < 2.0
        assert not np.array_equal(learned.failures, once.failures)


def test_a_sample_is_learned_from_and_timed():
    network = datasets.figure1(0)
    for method in "observed", "pooled":
        estimate, found = fit_sample(network, method, 2000, seed=3)
        assert np.abs(estimate.network.failures - network.failures).mean() < 0.2
        assert found["seconds"] > 0.0


def test_rounds_of_em_can_be_set():
    network = datasets.figure1(0)
    findings = network.sample(1000, rng=1)
    one, many = (fit(findings, network.structure, "refined", max_iter=n) for n in (1, 10))
    assert not np.array_equal(one.failures.values, many.failures.values)
    same = fit(findings, network.structure, "refined")
    assert np.array_equal(many.failures.values, same.failures.values)


def test_the_clean_up_learns_all_that_is_identifiable_from_exact_moments():
    network = datasets.figure2(0)
    failures, cleaned, _ = clean_up_exactly(network)
    assert cleaned.edges.all()
    assert not any(len(each.weakly_identified) for each in cleaned.explained)
    assert np.abs(failures - network.failures).max() < 1e-8
