"""Tests of edges that are there, or not."""

import numpy as np
import pytest

import naive
from conftest import network_on
from em.small_networks import small_network
from noisyor import Findings, NoisyOrLearner, NoisyOrNetwork, Structure, datasets
from noisyor.discovery import score_kernels
from noisyor.discovery.score_kernels import STRENGTHS
from noisyor.discovery.scores import EdgeScores, PairScorer, highest, less_of_few, unexplained
from noisyor.em import candidate_kernels


def full_failures(network):
    structure = network.structure
    found = np.ones((structure.n_diseases, structure.n_symptoms))
    found[structure.edges[:, 0], structure.edges[:, 1]] = network.failures
    return found


def holed_records(network, n, rng):
    """Return records of a network, a tenth of the findings unknown, and the same as lists."""
    array = network.sample(n, rng=rng).to_numpy().astype(float)
    array[rng.random(array.shape) < 0.1] = np.nan
    rows = [[None if np.isnan(x) else int(x) for x in row] for row in array]
    return Findings.from_numpy(array, network.structure), rows


@pytest.mark.parametrize("seed", range(100))
def test_scores_are_derivatives_of_the_likelihood(seed):
    rng = np.random.default_rng(seed)
    network = small_network(rng)
    findings, rows = holed_records(network, 12, rng)
    scorer = PairScorer(network, findings)
    sums, full = scorer.sums(), full_failures(network)
    expected = [naive.edge_scores(network.priors, full, network.leaks, row) for row in rows]
    e = sums.e[:, np.newaxis] - sums.unknown_e
    squares = sums.gg - 2 * sums.ge + sums.ee[:, np.newaxis] - sums.unknown_ee
    np.testing.assert_allclose(sums.g - e, np.sum(expected, axis=0), atol=1e-6)
    np.testing.assert_allclose(squares, np.sum(np.square(expected), axis=0), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("seed", range(100))
def test_gains_are_those_of_the_likelihood(seed):
    """With an edge more or less, all else as it is: exactly."""
    rng = np.random.default_rng(seed)
    network = small_network(rng)
    findings, rows = holed_records(network, 12, rng)
    sums, full = PairScorer(network, findings).sums(), full_failures(network)
    before = naive.log_likelihood(network.priors, full, network.leaks, rows)
    k = int(rng.integers(len(STRENGTHS)))
    for i, j in np.argwhere(full == 1.0)[:3].tolist():
        changed = full.copy()
        changed[i, j] = 1.0 - STRENGTHS[k]
        after = naive.log_likelihood(network.priors, changed, network.leaks, rows)
        gain = sums.gains[i, j, k] + sums.absent_gains[i, k]
        assert gain == pytest.approx(after - before, abs=1e-6)
    for number, (i, j) in enumerate(network.structure.edges[:3].tolist()):
        changed = full.copy()
        changed[i, j] = 1.0
        after = naive.log_likelihood(network.priors, changed, network.leaks, rows)
        assert sums.edge_gains[number] == pytest.approx(after - before, abs=1e-6)


def test_sampled_scores_are_near_those_that_are_summed_up():
    """Of a record, means over many seeds against sums over all states."""
    clinic = datasets.clinic()
    scorer = PairScorer(clinic, clinic.sample(3000, rng=0))
    flat, full = scorer._flat
    lists = scorer._records.fresh(clinic.structure.n_diseases)
    record = int(np.argmax(np.diff(scorer._records.offsets) >= 4))
    workspace = candidate_kernels.new_open_record(flat)
    symptoms = candidate_kernels.open_record(flat, lists, record, workspace)
    n_chosen, n_summed = score_kernels.choose(flat, symptoms, workspace)
    assert 0 < n_summed < n_chosen  # some are looked at one by one
    summed, sampled = (score_kernels.new_expectation(flat) for _ in range(2))
    e, g, shape = 0.0, 0.0, (slice(n_summed), slice(len(symptoms)))
    for seed in range(1000):
        random = score_kernels.random_of(seed, record)
        score_kernels.sample_states(flat, symptoms, n_chosen, random, workspace, sampled)
        e, g = e + sampled.e[shape[0]] / 1000, g + sampled.g[shape] / 1000
    score_kernels.sum_states(full, symptoms, n_summed, workspace, summed)
    np.testing.assert_allclose(e, summed.e[shape[0]], atol=0.02)
    # 1 / P(finding) is large in states that are rare, so that means of it vary.
    np.testing.assert_allclose(g, summed.g[shape], rtol=0.1, atol=0.2)


def test_the_same_whatever_the_threads():
    clinic = datasets.clinic()
    records = clinic.sample(5000, rng=0)
    one, two = (PairScorer(clinic, records, n_jobs=n).sums() for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def tested():
    """The clinic, learned from its own records, and tests of all edges."""
    clinic = datasets.clinic()
    records = clinic.sample(6000, rng=3)
    estimate = NoisyOrLearner(clinic.structure).fit(records).estimate_
    scorer = PairScorer(estimate.network, records)
    return scorer, scorer.sums()


@pytest.mark.slow
def test_p_values_are_calibrated_on_a_right_structure(tested):
    scorer, sums = tested
    p_values = scorer.absent_edges(sums).p_values
    assert 0.02 < np.mean(p_values < 0.05) < 0.08
    assert np.mean(p_values < 0.01) < 0.025
    assert p_values.min() > 1e-5


def test_p_values_without_what_parameters_take_up_are_too_large():
    """The negative control: two diseases that share most symptoms, and one edge is missing."""
    matrix = np.zeros((2, 9), dtype=bool)
    matrix[0, :7] = matrix[1, 2:9] = True
    structure = Structure.from_matrix(matrix)
    rng = np.random.default_rng(0)
    network = network_on(structure, rng, priors=(0.1, 0.2), leaks=(0.02, 0.1))
    records = network.sample(4000, rng=1)
    estimate = NoisyOrLearner(structure, method="maximum_likelihood", n_init=1).fit(records)
    scorer = PairScorer(estimate.network_, records)
    found = scorer.absent_edges(scorer.sums())
    assert (found.gains >= found.alone).all()
    assert found.shares.min() < 0.9


def test_all_true_edges_are_needed(tested):
    scorer, sums = tested
    found = scorer.present_edges(sums)
    assert (found.gains > 0.5 * np.log(6000)).mean() > 0.98


def test_highest_follows_a_parabola():
    strengths = np.array(STRENGTHS)
    gains = np.array([10.0 - 100.0 * (strengths - 0.28) ** 2, -strengths])
    values, where = highest(gains)
    assert values[0] == pytest.approx(10.0)
    assert where[0] == pytest.approx(0.28)
    assert (values[1], where[1]) == (0.0, 0.0)


def test_shares_lie_between_0_and_1(tested):
    scorer, sums = tested
    known = np.full(scorer.structure.n_symptoms, 6000.0)
    shares = unexplained(sums, scorer.network.priors, known)
    assert shares.min() > 0.0
    assert shares.max() <= 1.0 + 1e-9


def test_diseases_that_occur_together_are_refused():
    from noisyor.errors import NoisyOrError
    from noisyor.network import Joint

    structure = Structure.from_matrix(np.eye(2, dtype=bool))
    causes = Joint([0.6, 0.1, 0.1, 0.2])
    network = NoisyOrNetwork(structure, None, [0.3, 0.3], [0.1, 0.1], causes=causes)
    with pytest.raises(NoisyOrError, match="as_independent"):
        PairScorer(network, network.sample(10, rng=0))


def test_little_is_taken_off_what_rests_on_few_records():
    explained = np.array([0.9, 0.9, 0.9])
    found = less_of_few(explained, np.array([0.0, 10.0, 1e9]))
    np.testing.assert_allclose(found, [0.0, 0.45, 0.9], atol=1e-6)


def test_gains_of_what_was_looked_at_again_are_the_lower_ones():
    ones = np.ones(3)
    scores = EdgeScores(
        np.zeros((3, 2), dtype=np.int64), 30.0 * ones, ones, 0.3 * ones, ones > 0, is_there=False
    )
    np.testing.assert_array_equal(scores.gains, 30.0)
    again = scores._replace(again=np.array([-2.0, 25.0, 40.0]))
    np.testing.assert_array_equal(again.gains, [0.0, 25.0, 30.0])
