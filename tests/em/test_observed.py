"""Learning from records in which the diseases were seen."""

import numpy as np
import pytest
from scipy.optimize import minimize

from conftest import with_unknown
from em.small_networks import small_network
from noisyor import Findings, Fixed, NoisyOrNetwork, Structure, datasets
from noisyor.errors import ParameterError
from noisyor.learning import EMSettings, Flag, learn_observed


def test_observed_counts_what_is_seen(rng):
    network = small_network(rng)
    sampled, diseases = network.sample(3000, rng=0, return_diseases=True)
    findings = with_unknown(sampled, rng)
    estimate = learn_observed(findings, network.structure, diseases)
    rows = findings.to_numpy().astype(float)
    for edge, (i, j) in enumerate(network.structure.edges.tolist()):
        known = ~np.isnan(rows[:, j])
        absent = rows[:, j] == 0
        within = absent[known & diseases[:, i]].mean()
        without = absent[known & ~diseases[:, i]].mean()
        assert estimate.failures.values[edge] == pytest.approx(min(within / without, 1.0))
    assert estimate.priors.values == pytest.approx(diseases.mean(axis=0))
    assert not estimate.failures.flags.any()


def test_the_regression_maximises_the_likelihood_given_the_diseases(rng):
    structure = Structure.from_matrix(np.ones((3, 1)))
    network = NoisyOrNetwork(structure, [0.3, 0.4, 0.5], [0.3, 0.6, 0.8], [0.1])
    findings, diseases = network.sample(2000, rng=0, return_diseases=True)
    present = findings.to_numpy()[:, 0].astype(bool)

    def cost(position):
        absent = (1.0 - position[3]) * np.prod(np.where(diseases, position[:3], 1.0), axis=1)
        return -np.log(np.where(present, 1.0 - absent, absent)).sum()

    best = minimize(cost, [0.5, 0.5, 0.5, 0.2], bounds=[(1e-3, 0.999)] * 4, tol=1e-12)
    estimate = learn_observed(
        findings,
        structure,
        diseases,
        method="likelihood",
        settings=EMSettings(tol=1e-12, max_iter=2000),
    )
    found = [*estimate.failures.values, *estimate.leaks.values]
    assert found == pytest.approx(best.x, abs=1e-3)
    assert estimate.trace.values[-1] == pytest.approx(-best.fun, rel=1e-8)
    assert (np.diff(estimate.trace.values) >= -1e-9).all()


def test_intervals_of_observed_hold_the_truth():
    network = datasets.clinic()
    findings, diseases = network.sample(20_000, rng=0, return_diseases=True)
    part = learn_observed(findings, network.structure, diseases).failures
    lower, upper = part.intervals()
    assert ((lower <= network.failures) & (network.failures <= upper)).mean() > 0.88


def test_wrong_diseases_are_told():
    network = datasets.figure1(0)
    findings, diseases = network.sample(50, rng=0, return_diseases=True)
    for wrong, text in (
        (None, "give them, records x diseases"),
        (diseases[:40], "labels of 40 records, but findings of 50"),
        (diseases * 2, "must be 1 .the disease was seen., 0"),
    ):
        with pytest.raises(ParameterError, match=text):
            learn_observed(findings, network.structure, wrong)
    with pytest.raises(ParameterError, match="'ratio' or 'likelihood', not 'magic'"):
        learn_observed(findings, network.structure, diseases, method="magic")


def test_leaks_of_observed_rest_on_what_is_fixed_and_known(rng):
    network = datasets.figure1(0)
    findings, diseases = network.sample(50_000, rng=0, return_diseases=True)
    rows = findings.to_numpy().astype(float)
    rows[diseases[:, 0][:, np.newaxis] & (rng.random(rows.shape) < 0.6)] = np.nan
    part = Findings.from_numpy(rows, network.structure)
    for method in "ratio", "likelihood":
        learned = learn_observed(part, network.structure, diseases, method=method).network
        assert np.abs(learned.leaks - network.leaks).max() < 0.05
    fixed = Fixed(network.structure, failures={("A", "a"): 0.9})
    learned = learn_observed(findings, network.structure, diseases, fixed=fixed).network
    frequency = findings.count_present()[0] / findings.n_records
    assert learned.marginals()[0] == pytest.approx(frequency, abs=0.01)


def test_diseases_that_were_never_seen_are_flagged():
    network = datasets.figure1(0)
    findings = network.sample(50, rng=0)
    never = learn_observed(findings, network.structure, np.zeros((50, 2)))
    assert (never.priors.flags == Flag.CLIPPED).all()
    assert (never.failures.flags == Flag.WEAK).all()
