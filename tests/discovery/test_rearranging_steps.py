"""rearranging_steps: diseases without cases get some back, with an edge that they lack."""

import numpy as np
import pytest

from discovery.test_repair import EASY, STRENGTHS, near_duplicates, structure_like
from noisyor import NoisyOrNetwork
from noisyor.discovery.changes import ADD, DROP, Suggestion, key_of
from noisyor.discovery.fitting import Fitted
from noisyor.discovery.repair import _Search
from noisyor.discovery.scores import PairScorer


def starved():
    """Return a search, and a step in which a near-duplicate has the cases of A, that lacks s1."""
    truth, edges = near_duplicates()
    rest = [edge for edge in edges if edge != ("A", "s1")]
    search = _Search(truth.sample(5000, rng=0), EASY, set(), set())
    search._given = {name: {s for d, s in rest if d == name} for name in truth.structure.diseases}
    search._n_choices = 40
    wrong, priors = structure_like(truth, rest), truth.priors.copy()
    priors[:2] = 1e-5, 0.16
    strengths = np.array([STRENGTHS[edge] for edge in rest])
    dead = NoisyOrNetwork(wrong, priors, 1.0 - strengths, truth.leaks)
    value, unknown = search._fitter.log_likelihood(dead), np.full(wrong.n_edges, np.nan)
    return truth, search, search._step((), Fitted(dead, value, unknown))


def absent_edges(search, step):
    scorer = PairScorer(step.network, search._training.with_structure(step.structure))
    return scorer.absent_edges(scorer.sums())


@pytest.mark.parametrize("is_exact", [True, False])
def test_a_disease_without_cases_gets_some_back(monkeypatch, is_exact):
    truth, search, last = starved()
    absent = absent_edges(search, last)
    names = last.structure.disease_index("A"), last.structure.symptom_index("s1")
    missing = (absent.edges == np.array(names)).all(axis=1)
    assert missing.sum() == 1
    assert (absent.gains[missing] < 1.0).all()  # no test sees it
    monkeypatch.setattr(search._fitter, "is_exact", lambda _: is_exact)
    found = search._revived(last, absent, np.inf)
    assert found.structure == truth.structure
    assert [(each.kind, each.disease) for each in found.changes] == [(ADD, "A")]
    np.testing.assert_allclose(found.network.priors[0], 0.08, atol=0.03)
    assert search._revived(last, absent, np.inf) is None  # once for the same edges
    search._revived_with = set()
    assert search._revived(last, absent, 0) is None


def run_from(search, last, monkeypatch):
    """Repair from a step on, without other ways to add edges."""
    given = last.structure
    monkeypatch.setattr(search, "_first", lambda *_: last)
    monkeypatch.setattr(search, "_to_add", lambda *_: [])
    monkeypatch.setattr(search._fitter, "is_exact", lambda _: False)
    return search.run(given, None, None, "bic")


def test_a_repair_finds_what_a_disease_without_cases_lacks(monkeypatch):
    truth, search, last = starved()
    assert run_from(search, last, monkeypatch).structure == truth.structure
    without = run_from(search, last, monkeypatch)  # it has tried the same already
    assert without.structure != truth.structure


def test_a_better_fit_of_the_same_structure_is_no_step_of_its_own(monkeypatch):
    truth, search, _ = starved()
    structure, priors = truth.structure, truth.priors.copy()
    priors[:2] = 1e-5, 0.16
    dead = NoisyOrNetwork(structure, priors, truth.failures, truth.leaks)
    value, unknown = search._fitter.log_likelihood(dead), np.full(structure.n_edges, np.nan)
    last = search._step((), Fitted(dead, value, unknown))
    path = run_from(search, last, monkeypatch)
    assert (len(path.steps), path.changes) == (1, ())
    assert path.steps[0].bic < last.bic - 10.0
    np.testing.assert_allclose(path.network.priors[:2], 0.08, atol=0.03)


@pytest.mark.parametrize("is_exact", [True, False])
def test_diseases_are_revived_together_where_fits_take_long(monkeypatch, is_exact):
    _, search, last = starved()
    priors = last.network.priors.copy()
    priors[2] = 1e-5
    network = NoisyOrNetwork(last.structure, priors, last.network.failures, last.network.leaks)
    both, groups = last._replace(network=network), []

    def with_cases(step, group, edges):
        groups.append([i for i, _ in group])
        assert {i for i, _ in edges} <= set(groups[-1])
        return step

    monkeypatch.setattr(search, "_with_cases", with_cases)
    monkeypatch.setattr(search._fitter, "is_exact", lambda _: is_exact)
    assert search._revived(both, absent_edges(search, both), np.inf) is None
    assert sorted(map(sorted, groups)) == ([[0], [2]] if is_exact else [[0, 2]])
    search._given = {"B": search._given["B"]}  # those that came themselves have lost nothing
    search._revived_with = set()
    assert search._revived(both, absent_edges(search, both), np.inf) is None
    assert len(groups) == (2 if is_exact else 1)


def test_edges_that_went_for_others_may_come_back():
    truth, search, last = starved()
    structure = last.structure
    pair = structure.disease_index("A"), structure.symptom_index("s1")
    assert search._gone_edges(structure) == {}
    search._given["A"].add("s1")
    assert list(search._gone_edges(structure)) == [pair]
    gone = key_of(Suggestion(DROP, "A", ("s1",), 0.0, 0.0, 0.0, 0.0, 0.0))
    search._contradicted_keys = {gone}
    assert search._gone_edges(structure) == {}
    search._given["A"].discard("s1")
    search._contradicted_keys = set()
    search._n_taken_back[gone] += 1
    assert list(search._gone_edges(structure)) == [pair]
    assert search._gone_edges(truth.structure) == {}  # it is there


def test_with_its_cases_a_disease_gets_one_edge(monkeypatch):
    truth, search, last = starved()
    pair = last.structure.disease_index("A"), last.structure.symptom_index("s1")
    wrong = last.structure.disease_index("A"), last.structure.symptom_index("e1")
    monkeypatch.setattr(search, "_pruned", lambda step, _: step)
    found = search._with_cases(last, [(0, 1)], {wrong: 0.3, pair: 0.3})
    assert found.structure == truth.structure


def test_false_edges_that_come_with_cases_go(monkeypatch):
    """Those that were given before, too."""
    truth, search, last = starved()
    structure = last.structure
    pair = structure.disease_index("A"), structure.symptom_index("s1")
    wrong = structure.disease_index("A"), structure.symptom_index("e1")
    search._given["A"].add("e1")
    monkeypatch.setattr(search._fitter, "is_exact", lambda _: False)
    found = search._with_cases(last, [(0, 1), (2, 1)], {wrong: 0.3, pair: 0.3})
    assert found.structure == truth.structure


def test_a_rearrangement_must_gain_something():
    truth, search, last = starved()
    step = search._step((), search._fitter.fit(truth))
    for gained, is_taken in ((1.0, False), (3.0, True)):
        cost = step._replace(bic=step.bic + search._cost(last) - search._cost(step) - gained)
        assert (search._accepted(last, cost, np.inf) is not None) == is_taken


@pytest.mark.parametrize("is_exact", [True, False])
def test_doubted_edges_are_left_out_one_by_one_where_fits_are_quick(monkeypatch, is_exact):
    truth, search, _ = starved()
    step = search._step((), search._fitter.fit(truth))
    doubted = Suggestion(DROP, "A", ("s1",), -50.0, -40.0, 0.0, 0.0, 0.5)
    tried = []
    monkeypatch.setattr(search, "_not_needed", lambda *_: [doubted])
    monkeypatch.setattr(search._fitter, "is_exact", lambda _: is_exact)

    def gaining(last, changes, n_left, refused):
        tried.append(changes)
        refused.update(map(key_of, changes))

    monkeypatch.setattr(search, "_gaining", gaining)
    assert search._pruned(step) is step
    assert tried == ([[doubted]] if is_exact else [])
