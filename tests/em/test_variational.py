"""Variational EM against its slow twin."""

import numpy as np
import pytest

import naive
from conftest import as_lists, as_rows, with_unknown
from em.small_networks import random_start, small_network
from noisyor import Fixed, datasets
from noisyor.em.variational import VariationalExpectation
from noisyor.learning import EMSettings, learn_exact_em, learn_variational_em


def test_the_bound_is_that_of_the_naive_twin_and_below_the_likelihood(rng):
    for _ in range(40):
        network = small_network(rng)
        findings = with_unknown(network.sample(1, rng=int(rng.integers(10**6))), rng)
        expectation = VariationalExpectation(findings)
        start = random_start(network.structure, rng)
        expectation.restart()
        bound = expectation.expect(start).log_likelihood
        row = as_rows(findings)[0]
        lists = as_lists(start)
        entries = expectation._shared
        shares, posteriors = {}, posteriors_of(start, row, entries)
        for edge, share in zip(entries.edges, entries.shares, strict=True):
            shares[tuple(network.structure.edges[edge].tolist())] = share
        expected = naive.variational_bound(*lists, row, posteriors, shares)
        assert bound == pytest.approx(expected, rel=1e-9)
        values = {j: value for j, value in enumerate(row) if value is not None}
        exact = np.log(naive.joint_probability(*lists, values))
        assert bound <= exact + 1e-12


def posteriors_of(network, row, entries):
    """Return the posteriors of one record; in closed form without a present finding."""
    structure = network.structure
    log_odds = np.log(network.priors) - np.log1p(-network.priors)
    for edge, (disease, symptom) in enumerate(structure.edges.tolist()):
        if row[symptom] == 0:
            log_odds[disease] += np.log(network.failures[edge])
    posteriors = 1.0 / (1.0 + np.exp(-log_odds))
    posteriors[structure.edges[entries.edges, 0]] = entries.posteriors
    return posteriors.tolist()


def test_the_bound_never_falls(rng):
    for seed in range(6):
        network = small_network(rng, 5, 8)
        findings = with_unknown(network.sample(300, rng=seed), rng)
        estimate = learn_variational_em(
            findings,
            network.structure,
            settings=EMSettings(n_init=2, rng=seed, tol=0.0, max_iter=60),
        )
        values = estimate.trace.values
        assert (np.diff(values) >= -1e-9 * np.abs(values[1:])).all()


def test_the_m_step_cannot_be_bettered(rng):
    network = small_network(rng, 3, 5)
    findings = network.sample(200, rng=0)
    expectation = VariationalExpectation(findings)
    start = random_start(network.structure, rng)
    expectation.restart()
    best = expectation.maximise(expectation.expect(start), start, Fixed(network.structure))
    entries = expectation._shared
    present, known = findings.count_present(), expectation.totals.known

    def value(theta, theta0):
        total = -(known - present) @ theta0
        q, mu = entries.shares, entries.posteriors
        of_entries = entries.weights
        symptoms = network.structure.edges[entries.edges, 1]
        within = np.log(-np.expm1(-theta0[symptoms] - theta[entries.edges] / q))
        without = np.log(-np.expm1(-theta0[symptoms]))
        total += (of_entries * q * (mu * within + (1.0 - mu) * without)).sum()
        cases = best.priors * findings.n_records
        taken = np.bincount(entries.edges, of_entries * mu, minlength=len(theta))
        return total - ((cases[network.structure.edges[:, 0]] - taken) * theta).sum()

    best_theta, best_theta0 = -np.log(best.failures), -np.log1p(-best.leaks)
    top = value(best_theta, best_theta0)
    for k in np.unique(network.structure.edges[:, 1]):  # others are their frequencies
        for factor in 0.99, 1.01:
            theta0 = best_theta0.copy()
            theta0[k] *= factor
            assert value(best_theta, theta0) <= top + 1e-9


def test_variational_em_prunes_edges_on_figure_1():
    """Section 4.1: it gives b and c to one of the parents, by failures close to 1 or 0."""
    worse = []
    for seed in range(4):
        network = datasets.figure1(seed)
        findings = network.sample(10_000, rng=seed)
        errors = []
        for learn in learn_variational_em, learn_exact_em:
            learned = learn(findings, network.structure, settings=EMSettings(n_init=3)).network
            errors.append(np.abs(learned.failures - network.failures).sum())
        worse.append(errors[0] / errors[1])
    assert np.mean(worse) > 2.0
