"""Methods that climb the likelihood: starts, checks, flags; and the guess that looks at nothing."""

import numpy as np
import pandas as pd
import pytest

from em.small_networks import CLIMBERS
from noisyor import Fixed, NoisyOrNetwork, Structure, count_moments, datasets
from noisyor.errors import ParameterError, StructureError
from noisyor.learning import (
    EMSettings,
    Flag,
    fit,
    learn_exact_em,
    learn_observed,
    learn_uniform,
    learn_variational_em,
)


@pytest.mark.parametrize("learn", CLIMBERS)
def test_seeds_fixed_values_and_progress(learn):
    network = datasets.figure1(0)
    findings = network.sample(500, rng=0)
    fixed = Fixed(network.structure, priors={"A": 0.4}, failures={("B", "c"): 0.7})
    seen = []
    one, same, other = (
        learn(
            findings,
            network.structure,
            settings=EMSettings(n_init=1, rng=seed),
            fixed=fixed,
            progress=seen.append,
        )
        for seed in (0, 0, 1)
    )
    assert (one.failures.values == same.failures.values).all()
    assert one.trace.values[0] != other.trace.values[0]
    assert one.priors.values[0] == 0.4
    assert one.priors.flags[0] == Flag.FIXED
    edge = network.structure.edges.tolist().index([1, network.structure.symptoms.index("c")])
    assert one.failures.values[edge] == 0.7
    assert set(seen) == {500}


@pytest.mark.parametrize("learn", CLIMBERS)
def test_wrong_records_are_told(learn):
    network = datasets.figure1(0)
    findings = network.sample(50, rng=0)
    with pytest.raises(ParameterError, match="there are no records"):
        learn(network.sample(0, rng=0), network.structure)
    with pytest.raises(StructureError, match="other symptoms"):
        learn(findings, datasets.clinic().structure)


@pytest.mark.parametrize("learn", CLIMBERS)
def test_threads_do_not_matter(learn):
    network = datasets.clinic()
    findings = network.sample(1500, rng=0)
    one, two = (
        learn(
            findings, network.structure, settings=EMSettings(n_init=1, max_iter=5, n_jobs=n_jobs)
        ).network
        for n_jobs in (1, 3)
    )
    assert one == two


def test_no_edges_are_no_trouble():
    structure = Structure.from_matrix(np.zeros((2, 3)))
    network = NoisyOrNetwork(structure, [0.5, 0.5], [], [0.1, 0.2, 0.3])
    for learn in CLIMBERS:
        learned = learn(
            network.sample(500, rng=0), structure, settings=EMSettings(n_init=1)
        ).network
        assert np.abs(learned.leaks - network.leaks).max() < 0.1


def test_what_cannot_be_known_is_flagged_by_baselines_too():
    structure = Structure.from_matrix(np.ones((1, 2)))
    network = NoisyOrNetwork(structure, [0.3], [0.4, 0.6], [0.05, 0.05])
    estimate = learn_exact_em(network.sample(1000, rng=0), structure)
    assert (estimate.failures.flags & Flag.UNCERTIFIED).all()
    assert np.isnan(estimate.failures.standard_errors).all()
    twins = NoisyOrNetwork(
        Structure.from_matrix(np.ones((2, 5))), [0.3, 0.2], np.linspace(0.2, 0.8, 10), [0.05] * 5
    )
    estimate = learn_variational_em(twins.sample(500, rng=0), twins.structure)
    assert (estimate.failures.flags & Flag.SWAPPABLE).all()


def test_uniform_looks_at_nothing():
    network = datasets.figure1(0)
    estimate = learn_uniform(network.sample(50, rng=0), network.structure)
    assert (estimate.network.failures == 0.5).all()
    assert (estimate.network.priors == 0.5).all()
    assert (estimate.network.leaks == 1e-6).all()
    assert not estimate.failures.is_learned.any()


@pytest.mark.parametrize("method", ["exact_em", "observed_likelihood"])
def test_what_no_record_knows_is_flagged(method):
    network = datasets.figure1(0)
    findings, diseases = network.sample(300, rng=0, return_diseases=True)
    rows = findings.to_numpy().astype(float)
    rows[:, 4] = np.nan
    labels = diseases if method == "observed_likelihood" else None
    estimate = fit(rows, network.structure, method, EMSettings(n_init=1), labels=labels)
    assert estimate.leaks.flags[4] & Flag.WEAK
    assert np.isnan(estimate.leaks.standard_errors[4])
    of_symptom = network.structure.edges[:, 1] == 4
    assert (estimate.failures.flags[of_symptom] & Flag.WEAK).all()


def test_labels_of_a_table_are_matched_by_name():
    network = datasets.figure1(0)
    findings, diseases = network.sample(500, rng=0, return_diseases=True)
    table = pd.DataFrame(diseases, columns=network.structure.diseases)
    found = [
        fit(findings, network.structure, "observed", labels=labels).network
        for labels in (diseases, table, table[["B", "A"]])
    ]
    assert found[0] == found[1] == found[2]
    with pytest.raises(ValueError, match="no column for 'A'"):
        fit(findings, network.structure, "observed", labels=table[["B"]])


def test_one_step_is_one_step():
    network = datasets.figure1(0)
    findings = network.sample(500, rng=0)
    for learn in CLIMBERS:
        settings = EMSettings(n_init=1, max_iter=1)
        estimate = learn(findings, network.structure, settings=settings)
        assert len(estimate.trace.values) == 2
        assert estimate.trace.values[1] > estimate.trace.values[0]
        assert estimate.n_iter == 1


def test_what_are_not_findings_is_told():
    structure = datasets.figure1(0).structure
    with pytest.raises(ParameterError, match="expected Findings"):
        learn_exact_em(np.zeros((3, 5)), structure)
    with pytest.raises(ParameterError, match="expected a MomentPlan"):
        count_moments(np.zeros((3, 5)), structure)
    with pytest.raises(ParameterError, match="settings must be LearningSettings or EMSettings"):
        fit(np.zeros((3, 5)), structure, "pooled", {"n_jobs": 1})


def test_what_has_no_standard_error_says_so():
    network = datasets.figure1(0)
    findings, diseases = network.sample(2000, rng=1, return_diseases=True)
    structure = network.structure
    estimate = learn_variational_em(findings, structure, settings=EMSettings(n_init=1))
    for part in estimate.parts.values():
        assert ((part.flags & Flag.DOUBTFUL) != 0).all()
        assert part.count(Flag.NO_ERROR)
    for method in "ratio", "likelihood":
        seen = learn_observed(findings, structure, diseases, method=method)
        assert (seen.leaks.flags & (Flag.NO_ERROR | Flag.CLIPPED)).all()
        assert seen.leaks.count(Flag.NO_ERROR)
        assert not seen.priors.flags.any()
        assert np.isfinite(seen.priors.standard_errors).all()
