"""Edges that records contradict."""

import numpy as np
import pytest
from scipy.special import rel_entr
from scipy.stats import norm

from noisyor import NoisyOrLearner, NoisyOrNetwork, Structure
from noisyor.discovery import suggest
from noisyor.discovery.changes import DROP
from noisyor.discovery.contradictions import (
    CONTRADICTED,
    RIGHT,
    FoundEdges,
    contradicted,
    log_likelihoods,
    shares_of,
    weakest_right,
)
from noisyor.discovery.scores import EdgeScores
from noisyor.discovery.suggestions import edges_to_drop

N_RECORDS = 100_000


def scores_of(strengths, errors, n_false=0, rng=0):
    """Return tests of edges of one disease, the last of which are false, and its network."""
    rng, n = np.random.default_rng(rng), len(strengths)
    true = np.where(np.arange(n) < n - n_false, strengths, 0.0)
    moved = true + errors * rng.normal(size=n)
    found = np.clip(moved, 0.0, 0.999)
    edges = np.column_stack([np.zeros(n, int), np.arange(n)])
    gains, ones = (found / errors) ** 2 / 2.0, np.ones(n)
    network = NoisyOrNetwork(Structure.from_matrix(ones[None]), [0.1], 1.0 - found, 0.01 * ones)
    return EdgeScores(edges, gains, ones, found, ones > 0, is_there=True), network


def drawn(rng, n=150):
    rng = np.random.default_rng(rng)
    return rng.choice([0.05, 0.1, 0.3, 0.8], n), rng.uniform(0.005, 0.04, n)


def named_of(present, errors, network, n_records=N_RECORDS):
    found = FoundEdges.of(present, errors, network, n_records)
    return contradicted(found) <= CONTRADICTED


def test_likelihoods_fall_as_errors_say_but_no_faster_than_if_all_cases_are_seen():
    n = 30
    present, network = scores_of(np.linspace(0.0, 0.9, n), np.full(n, 0.02))
    lost, strengths = np.linspace(-1.0, 9.0, n), np.array([0.03, 0.2, 0.8])
    known = FoundEdges.of(present, np.full(n, 0.2), network, N_RECORDS, lost)
    for row, x, loss in zip(
        log_likelihoods(strengths, known), present.strengths, lost, strict=True
    ):
        expected = [-loss, *(-(((x - s) / 0.2) ** 2) / 2.0 for s in strengths)]
        np.testing.assert_allclose(row, expected, rtol=0.02, atol=0.01)
    for cases in (3.0, 50.0):
        rare = NoisyOrNetwork(
            network.structure, [cases / N_RECORDS], network.failures, network.leaks
        )
        found = log_likelihoods(strengths, known._replace(cases=np.full(n, cases)))
        sure = FoundEdges.of(present, np.full(n, 1e-6), rare, N_RECORDS)
        for row, x in zip(log_likelihoods(strengths, sure), present.strengths, strict=True):
            for value, s in zip(row[1:], strengths, strict=True):
                seen = x * np.log(s / max(x, 1e-12)) + (1 - x) * np.log((1 - s) / (1 - x))
                assert value >= cases * seen - 1e-6
        assert (found[:, 1:] <= 1e-9).all()


@pytest.mark.parametrize("error", [0.9, 1.0, 30.0, 4000.0, 1e200, np.inf, np.nan])
def test_large_standard_errors_say_nothing(error):
    present, network = scores_of(np.full(5, 0.3), np.full(5, 0.01))
    found = FoundEdges.of(present, np.full(5, error), network, N_RECORDS, np.zeros(5))
    assert np.abs(log_likelihoods(RIGHT, found)).max() < 1.0


def test_rates_are_mean_chances_to_be_right():
    true, errors = drawn(3)
    present, network = scores_of(true, errors, 8, 3)
    found = FoundEdges.of(present, errors, network, N_RECORDS)
    weakest = weakest_right(found)
    logs = log_likelihoods(np.array([weakest, *(s for s in RIGHT if s > weakest)]), found)
    shares, _ = shares_of(logs)
    shares[1] += 1.0 / len(errors)
    chances = []
    for row in logs:
        terms = [w * np.exp(value) for w, value in zip(shares, row, strict=True)]
        chances.append(sum(terms[1:]) / sum(terms))
    rates = contradicted(found)
    is_open = [found.lost[k] < 2.0 and chances[k] <= 0.3 for k in range(len(errors))]
    assert 2 < sum(is_open) < 30
    for k, is_candidate in enumerate(is_open):
        likelier = [
            chance
            for chance, is_other in zip(chances, is_open, strict=True)
            if is_other and chance <= chances[k]
        ]
        assert rates[k] == pytest.approx(np.mean(likelier) if is_candidate else 1.0, rel=1e-6)


def test_shares_are_those_that_make_points_most_likely():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(0.0, 1.0, 3000), rng.normal(5.0, 1.0, 1000)])
    logs = norm.logpdf(points[:, np.newaxis], [0.0, 5.0], 1.0)
    shares, value = shares_of(logs)
    np.testing.assert_allclose(shares, [0.75, 0.25], atol=0.02)
    assert value == pytest.approx(np.log(np.exp(logs) @ shares).sum())
    far = shares_of(logs - 5000.0)  # no record of a large network underflows
    np.testing.assert_allclose(far[0], shares)
    assert far[1] == pytest.approx(value - 5000.0 * len(points))


def test_a_right_structure_is_hardly_ever_contradicted_and_false_edges_are():
    n_wrong, n_found, n_alone = 0, 0, 0
    for rng in range(200):
        strengths, errors = drawn(rng)
        present, network = scores_of(strengths, errors, 0, rng)
        n_wrong += bool(named_of(present, errors, network).any())
        present, network = scores_of(strengths, errors, 8, rng)
        n_found += int(named_of(present, errors, network)[-8:].sum())
        most = present.strengths + norm.ppf(1.0 - CONTRADICTED / len(errors)) * errors
        n_alone += int((most[-8:] < 0.05).sum())
    assert n_wrong <= 16  # 5% of 200, and two standard deviations
    # More than where each edge must be contradicted for itself, whatever the others are.
    assert n_found > 1.15 * n_alone


def test_what_records_say_nothing_of_is_not_contradicted():
    strengths, errors = drawn(2)
    present, network = scores_of(strengths, errors, 8)
    named = named_of(present, errors, network)
    first = np.flatnonzero(named)[0]
    nothing = np.where(np.arange(len(errors)) == first, np.nan, errors)
    still = named_of(present, nothing, network)
    assert still.any()
    assert not still[first]
    weak = present._replace(alone=np.zeros(len(errors)))  # nothing is confirmed
    assert not named_of(weak, errors, network).any()


def test_an_edge_of_a_few_cases_is_not_contradicted_by_a_small_standard_error():
    """Where nothing was caused, the standard error is nearly 0, however few cases there were."""
    strengths, errors = np.full(20, 0.05), np.full(20, 0.003)
    strengths[-1], errors[-1] = 0.0, 0.0005
    present, network = scores_of(strengths, errors)
    rare = NoisyOrNetwork(network.structure, [0.0003], network.failures, network.leaks)
    assert named_of(present, errors, network)[-1]
    assert not named_of(present, errors, rare)[-1]
    # Nor where edges of other diseases show that there are false ones.
    matrix = np.zeros((2, 25))
    matrix[0, :-1] = matrix[1, 5:] = 1
    structure = Structure.from_matrix(matrix)
    edges, n = structure.edges, structure.n_edges
    found = np.where(np.arange(n) < 4, 0.0, 0.4)
    found[-1] = 0.0  # of the rare disease, which has three cases
    gains = (found / 0.003) ** 2 / 2.0
    both = EdgeScores(edges, gains, np.ones(n), found, found >= 0.0, is_there=True)
    pair = NoisyOrNetwork(structure, [0.1, 3.0 / N_RECORDS], 1.0 - found, np.full(25, 0.01))
    assert np.flatnonzero(named_of(both, np.full(n, 0.003), pair)).tolist() == [0, 1, 2, 3]


def test_the_weakest_right_edges_are_as_those_that_are_confirmed_but_for_a_few():
    strengths, errors = np.linspace(0.04, 0.9, 100), np.full(100, 0.002)
    present, network = scores_of(strengths, errors)
    found = weakest_right(FoundEdges.of(present, errors, network, N_RECORDS))
    assert found == pytest.approx(0.04 + 0.02 * 0.86, abs=0.01)
    strong, _ = scores_of(np.full(100, 0.7), errors)
    assert weakest_right(FoundEdges.of(strong, errors, network, N_RECORDS)) == 0.2


@pytest.mark.parametrize("n_false", [2, 20, 60])
def test_what_records_say_nothing_of_stays_however_many_others_are_false(n_false):
    rng = np.random.default_rng(n_false)
    true = np.concatenate([np.zeros(n_false), rng.choice([0.3, 0.6], 140)])
    errors = np.full(len(true), 0.02)
    errors[-6:-3], errors[-3:] = np.nan, 0.3  # vague
    present, network = scores_of(true, np.where(np.isnan(errors), 0.02, errors), 0, n_false)
    present.strengths[-6:] = 0.01
    present.alone[-6:] = 0.01
    named = named_of(present, errors, network)
    assert named[:n_false].sum() > 0.8 * n_false
    assert not named[n_false:].any()
    everything = edges_to_drop(present, errors, network, N_RECORDS)
    assert len(everything) == named.sum()
    doubtful = network.structure.diseases
    assert not edges_to_drop(present, errors, network, N_RECORDS, doubtful)


def test_edges_that_records_speak_for_stay_however_weak_they_are():
    """Too few to show that right ones can be so weak."""
    true = np.concatenate([np.zeros(12), np.full(140, 0.5), [0.05, 0.05]])
    errors = np.full(len(true), 0.02)
    present, network = scores_of(true, errors)
    present.strengths[-2:], present.alone[-2:] = [0.05, 0.035], [3.1, 1.5]
    named = named_of(present, errors, network)
    assert named[:12].sum() >= 10
    assert np.flatnonzero(named[12:]).tolist() in ([], [141])


@pytest.mark.parametrize("n_more", [1, 3])
def test_many_false_edges_are_found_too(n_more):
    """Weak priors hold false edges away from 0: they are no weak right ones for all that."""
    n = 12
    own = [(i, 6 * i + j) for i in range(n) for j in range(6)]
    rng = np.random.default_rng(0)
    names = [f"D{i}" for i in range(n)], [f"S{j}" for j in range(6 * n)]
    network = NoisyOrNetwork(
        Structure(*names, own), [0.06] * n, rng.choice([0.2, 0.4, 0.6], len(own)), [0.03] * 6 * n
    )
    false = [(i, 6 * ((i + 1 + k) % n) + k) for i in range(n) for k in range(n_more)]
    wrong, records = Structure(*names, own + false), network.sample(5000, rng=1)
    found = suggest(NoisyOrLearner(wrong).fit(records).estimate_, records, diseases=False)
    named = {(row.disease, row.symptoms[0]) for row in found.of(DROP)}
    expected = {(names[0][i], names[1][j]) for i, j in false}
    assert len(named & expected) >= 0.9 * len(expected)
    assert len(named - expected) <= 1


def test_edges_that_records_are_very_sure_of_do_no_harm():
    truth = Structure.from_matrix([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]])
    network = NoisyOrNetwork(truth, [0.2, 0.2], [0.3] * 8, [0.002] * 8)
    wrong = Structure(truth.diseases, truth.symptoms, np.vstack([truth.edges, [[0, 5]]]))
    failures = np.where([tuple(edge) == (0, 5) for edge in wrong.edges], 1.0 - 1e-7, 0.3)
    given = NoisyOrNetwork(wrong, [0.2, 0.2], failures, [0.002] * 8)
    [row] = suggest(given, network.sample(100_000, rng=0), diseases=False).rows
    assert (row.kind, row.disease, row.symptoms) == (DROP, "D0", ("S5",))


def test_edges_of_a_disease_that_stands_for_another_one_stay():
    """Most of its edges seem to be false, by standard errors that suppose another place."""
    rng = np.random.default_rng(5)
    n_diseases, n_each = 10, 12
    edges = np.argwhere(np.ones((n_diseases, n_each)))
    true = rng.choice([0.3, 0.8], len(edges))
    true[:5] = 0.0  # of disease 0, five false edges of twelve: these go
    true[-n_each:-3] = 0.0  # of the last, nine of twelve
    found = np.clip(true + 0.01 * rng.normal(size=len(edges)), 0.0, 0.99)
    ones = np.ones(len(edges))
    network = NoisyOrNetwork(
        Structure.from_matrix(np.ones((n_diseases, n_each))), np.full(n_diseases, 0.05),
        1.0 - found, np.full(n_each, 0.01),
    )  # fmt: skip
    gains = (found / 0.01) ** 2 / 2.0
    present = EdgeScores(edges, gains, ones, found, ones > 0, is_there=True)
    named = named_of(present, 0.01 * ones, network)
    assert np.flatnonzero(named).tolist() == [0, 1, 2, 3, 4]


def many_diseases(rng, n_false):
    """Return tests of edges of diseases that are frequent or rare; the first ones are false."""
    rng, n_records = np.random.default_rng(rng), 10_000
    n_diseases, n_each = 150, 40
    priors = 0.06 / np.arange(1, n_diseases + 1)
    edges = np.argwhere(np.ones((n_diseases, n_each)))
    edges = edges[rng.permutation(len(edges))]
    strengths = rng.choice([0.025, 0.17, 0.55, 0.9], len(edges), p=[0.15, 0.45, 0.25, 0.15])
    strengths[:n_false] = 0.0
    cases = np.maximum(rng.poisson(n_records * priors[edges[:, 0]]), 1)
    caused = rng.binomial(cases, strengths)
    found = caused / cases
    least = (caused + 0.5) / (cases + 1.0)
    errors = np.sqrt(least * (1.0 - least) / cases)
    order = np.lexsort(edges.T[::-1])
    structure = Structure.from_matrix(np.ones((n_diseases, n_each)))
    network = NoisyOrNetwork(
        structure, np.clip(priors, 0, 0.5), 1.0 - found[order], 0.01 * np.ones(n_each)
    )
    ones, by_leak = np.ones(len(edges)), 0.005
    gains = cases * (rel_entr(found, by_leak) + rel_entr(1.0 - found, 1.0 - by_leak))
    gains[found < by_leak] = 0.0
    present = EdgeScores(edges, gains, ones, found, ones > 0, is_there=True)
    return named_of(present, errors, network, n_records)


def test_weak_edges_of_rare_diseases_are_not_contradicted_because_none_of_them_is_confirmed():
    n_wrong = sum(bool(many_diseases(rng, 0).any()) for rng in range(40))
    assert n_wrong <= 2  # 5% of 40
    found = [np.split(many_diseases(rng, 300), [300]) for rng in range(20)]
    n_false, n_true = np.sum([[part.sum() for part in parts] for parts in found], axis=0)
    assert n_false > 60  # of two or three diseases, of whose cases there are enough
    assert n_true <= 0.05 * n_false
