"""Draws of diseases, causes and parameters: their means are the expectations of EM."""

import random

import numpy as np
import pytest

import naive
from conftest import as_rows, network_on, random_records
from noisyor import Findings, Structure, datasets
from noisyor.beliefs import Fixed
from noisyor.em import drawing_kernels
from noisyor.em.drawn import DrawnRecords, ParameterChain, draw_parameters
from noisyor.em.exact import ExactExpectation
from noisyor.inference.gibbs_kernels import random_of
from noisyor.learning.bayesian import as_pseudo_counts
from noisyor.parameters import Parameters

N_DRAWS = 1000


def mean_trials(drawn, network, n_draws, seed=0):
    rng = np.random.default_rng(seed)
    found = [drawn.draw(network, rng) for _ in range(n_draws)]
    return (
        np.mean([each.successes.vector for each in found], axis=0),
        np.mean([each.trials.vector for each in found], axis=0),
        np.std([each.successes.vector for each in found], axis=0),
    )


@pytest.mark.parametrize("unknown", [0.0, 0.3])
def test_means_of_draws_are_the_expected_counts(rng, unknown):
    """Few diseases: they are drawn jointly, equal records together."""
    for _ in range(3):
        structure = Structure.from_matrix(rng.random((4, 5)) < 0.7)
        network = network_on(structure, rng)
        rows = np.repeat(random_records(rng, 12, 5, unknown), 3, axis=0)
        findings = Findings.from_numpy(rows, structure)
        expected = ExactExpectation(findings).expect(network).trials
        successes, trials, spread = mean_trials(DrawnRecords(findings), network, N_DRAWS)
        margin = 5 * spread / np.sqrt(N_DRAWS) + 1e-9
        assert (np.abs(successes - expected.successes.vector) < margin).all()
        at_risk = np.abs(trials - expected.trials.vector)
        assert (at_risk < 5 * np.sqrt(len(rows) / N_DRAWS)).all()


def test_blocks_of_many_diseases_draw_the_same(rng):
    """Records with more explaining diseases than are drawn jointly, one block after the other."""
    structure = Structure.from_matrix(np.ones((9, 3)))
    network = network_on(structure, rng, priors=(0.1, 0.3), leaks=(0.05, 0.2))
    rows = [[1, 1, 0], [1, np.nan, 1], [1, 1, 0], [0, 0, 0]]
    findings = Findings.from_numpy(np.array(rows), structure)
    drawn = DrawnRecords(findings)
    assert len(drawn.weights) == 4  # the equal ones apart
    assert drawing_kernels.MOST_JOINT < 9
    expected = ExactExpectation(findings).expect(network).trials
    mean_trials(drawn, network, 100)  # to be anywhere
    successes, _, spread = mean_trials(drawn, network, 8000)
    margin = 10 * spread / np.sqrt(8000) + 1e-9  # draws hang together
    assert (np.abs(successes - expected.successes.vector) < margin).all()


def test_present_findings_have_a_cause_in_every_draw(rng):
    structure = Structure.from_matrix(rng.random((4, 6)) < 0.6)
    network = network_on(structure, rng)
    findings = network.sample(200, rng=1)
    present = findings.count_present()
    for seed in range(20):
        trials = DrawnRecords(findings).draw(network, np.random.default_rng(seed))
        caused = (trials.trials.failures - trials.successes.failures).astype(int)
        assert (caused >= 0).all()
        assert (caused <= present[structure.edges[:, 1]]).all()
        by_symptom = np.bincount(structure.edges[:, 1], caused, structure.n_symptoms)
        assert (by_symptom + trials.successes.leaks >= present).all()


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (3, 0.9), (40, 0.02), (40, 0.5), (500, 0.97)])
def test_binomial_numbers_have_their_mean_and_variance(n, p):
    stream = random_of(1, 2)
    drawn = np.array([drawing_kernels.draw_binomial(n, p, stream) for _ in range(20_000)])
    assert 0 <= drawn.min() <= drawn.max() <= n
    sd = np.sqrt(n * p * (1 - p))
    assert drawn.mean() == pytest.approx(n * p, abs=5 * sd / np.sqrt(20_000))
    assert drawn.var() == pytest.approx(sd**2, rel=0.06)
    assert drawing_kernels.draw_binomial(n, 0.0, stream) == 0
    assert drawing_kernels.draw_binomial(n, 1.0, stream) == n


def test_parameters_are_drawn_given_the_counts(rng):
    network = datasets.figure1(rng=0)
    structure, fixed = network.structure, Fixed(network.structure, leaks={"a": 0.125})
    trials = DrawnRecords(network.sample(100, rng=1)).draw(network, rng)
    priors = as_pseudo_counts(None, structure)
    drawn = np.array(
        [draw_parameters(trials, priors, fixed, rng, priors.means).vector for _ in range(4000)]
    )
    k = trials.successes.vector + priors.sizes.vector * priors.means.vector
    n = trials.trials.vector + priors.sizes.vector
    is_free = ~fixed.mask.vector
    error = np.abs(drawn.mean(axis=0) - k / n)[is_free]
    assert (error < 5 * drawn.std(axis=0)[is_free] / np.sqrt(4000)).all()
    assert np.unique(drawn[:, ~is_free]).tolist() == [0.125]


def test_a_chain_has_the_posterior_means(rng):
    """Against draws from the prior that are weighted by the likelihood."""
    structure = Structure.from_matrix([[1, 1, 0], [0, 1, 1]])
    rows = np.array([[1, 1, 0], [0, 0, 0], [0, 0, 0], [0, 1, np.nan], [0, 0, 0], [0, 0, 1]])
    pseudo_counts = {"priors": (1, 4), "failures": (2, 2), "leaks": (1, 9)}
    expected = naive.posterior_means(
        structure.edges.tolist(), 2, 3, list(pseudo_counts.values()), as_rows(rows), 20_000,
        random.Random(1),
    )  # fmt: skip
    priors = as_pseudo_counts(pseudo_counts, structure)
    start = network_on(structure, rng)
    records = DrawnRecords(Findings.from_numpy(rows, structure))
    chain = ParameterChain(records, start, priors, Fixed(structure), np.random.default_rng(0))
    chain.extend(5000, 1, lambda _: None)
    means = np.mean(chain.drawn[200:], axis=0)
    assert means == pytest.approx(expected, abs=0.015)
    of_prior = Parameters.full(structure, (0.2, 0.5, 0.1)).vector
    assert np.abs(means - of_prior).max() > 0.05  # the records have told something
