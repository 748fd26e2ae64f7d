"""repair: a structure is mended, step by step."""

import numpy as np
import pytest

from discovery.test_suggestions import CLINIC, damaged
from noisyor import Findings, NoisyOrLearner, NoisyOrNetwork, Structure
from noisyor.discovery import RepairSettings, RepairStep, repair
from noisyor.discovery.changes import ADD, DROP, Suggestion
from noisyor.discovery.scores import PairScorer
from noisyor.errors import ParameterError, UnknownNameError

RECORDS = CLINIC.sample(5000, rng=1)
EASY = RepairSettings(held_out=0.0, diseases=False)


@pytest.fixture(scope="module")
def mended():
    structure, _ = damaged()
    return repair(structure, RECORDS)


def test_a_damaged_structure_is_mended(mended):
    assert mended.structure == CLINIC.structure
    assert {change.kind for change in mended.changes} == {ADD, DROP}
    assert mended.is_complete
    bics = [step.bic for step in mended.steps]
    assert bics == sorted(bics, reverse=True)
    assert mended.steps[-1].held_out > mended.steps[0].held_out
    assert mended.table().num_rows == len(mended.changes) == 2
    assert "1 edges added, 1 dropped, 0 diseases added" in repr(mended)


def test_a_right_structure_is_left_alone():
    estimate = NoisyOrLearner(CLINIC.structure).fit(RECORDS).estimate_
    found = repair(estimate, RECORDS, settings=EASY)
    assert found.changes == ()
    assert found.network.structure == CLINIC.structure


@pytest.mark.parametrize("seed", range(3))
def test_edges_that_one_disease_lacks_are_no_other_disease(seed):
    """Two of them look like one with all of its symptoms, whose gain is the larger at first."""
    names = [f"s{j}" for j in range(12)]
    matrix = np.zeros((3, 12), dtype=np.int8)
    for i, own in enumerate((range(6), range(4, 9), range(7, 12))):
        matrix[i, list(own)] = 1
    truth = Structure.from_matrix(matrix, symptoms=names)
    failures = np.full(truth.n_edges, 0.4)
    network = NoisyOrNetwork(truth, [0.13, 0.1, 0.08], failures, np.full(12, 0.02))
    lacking = matrix.copy()
    lacking[0, [0, 1]] = 0
    wrong = Structure.from_matrix(lacking, symptoms=names)
    found = repair(wrong, network.sample(6000, rng=seed), settings=RepairSettings(held_out=0.0))
    assert found.structure == truth, found.changes


STRENGTHS = {
    (disease, symptom): strength
    for disease, own in (("A", "a"), ("B", "b"), ("C", "c"))
    for symptom, strength in (("s0", 0.5), ("s1", 0.5), ("s2", 0.3), ("s3", 0.2), (own, 0.5))
} | {
    (disease, symptom): strength
    for disease, symptoms in (("D", ("a", "d1", "d2")), ("E", ("b", "e1", "e2")))
    for symptom, strength in zip(symptoms, (0.8, 0.6, 0.6), strict=True)
}  # fmt: skip


def near_duplicates():
    """Return three diseases that share four symptoms, and two that each share one with these."""
    structure = Structure.from_edges(list(STRENGTHS))
    edges = list(zip(*structure.edge_names().values(), strict=True))
    failures = [1.0 - STRENGTHS[edge] for edge in edges]
    return NoisyOrNetwork(structure, [0.08] * 3 + [0.1] * 2, failures, [0.01] * 11), edges


def structure_like(network, edges):
    known = network.structure
    return Structure.from_edges(edges, diseases=known.diseases, symptoms=known.symptoms)


@pytest.mark.parametrize("gone", [("A", "s1"), ("B", "s0")])
def test_an_edge_of_a_near_duplicate_does_not_stay_instead(gone):
    # While A or B lacks an edge, the others take over its cases, and seem to lack its own symptom.
    truth, edges = near_duplicates()
    cut = structure_like(truth, [edge for edge in edges if edge != gone])
    assert repair(cut, truth.sample(5000, rng=0), settings=EASY).structure == truth.structure


def test_an_edge_that_stands_in_for_another_is_exchanged():
    from noisyor.discovery.repair import _Search

    truth, edges = near_duplicates()
    rest = [edge for edge in edges if edge != ("A", "s1")]
    search = _Search(truth.sample(5000, rng=0), EASY, set(), set())
    search._given = {name: {s for d, s in rest if d == name} for name in truth.structure.diseases}
    search._n_choices = 40
    wrong = structure_like(truth, [*rest, ("B", "a")])
    start = NoisyOrNetwork(wrong, truth.priors, [0.5] * wrong.n_edges, truth.leaks)
    last = search._step((), search._fitter.fit(start))
    found = search._exchanged(last, np.inf)
    assert found.structure == truth.structure
    assert {each.kind for each in found.changes} == {ADD, DROP}
    assert search._cost(found) < search._cost(last)
    assert search._exchanged(last, np.inf) is None  # once for the same edges
    search._exchanged_with = set()
    assert search._exchanged(last, 1) is None


def test_what_was_taken_back_twice_does_not_come_again():
    from noisyor.discovery.repair import _Search

    structure, _ = damaged()
    [gone] = set(_names(CLINIC.structure)) - set(_names(structure))
    search = _Search(RECORDS, EASY, set(), set())
    search._given = {name: set() for name in structure.diseases}  # all edges came
    search._n_choices = 10
    last = search._step((), search._fitter.fit(CLINIC))
    without = NoisyOrLearner(structure).fit(RECORDS).network_
    scorer = PairScorer(without, RECORDS)
    absent = scorer.absent_edges(scorer.sums())
    drop = Suggestion(DROP, gone[0], gone[1:], -0.1, 9.0, 1.0, np.nan, 0.0)
    search._cost = lambda step: step.structure.n_edges
    for _ in range(2):
        assert gone in {(row.disease, *row.symptoms) for row in search._to_add(absent, structure)}
        assert search._taken_back(last, [drop], np.inf).changes == (drop,)
    assert gone not in {(row.disease, *row.symptoms) for row in search._to_add(absent, structure)}


def _names(structure):
    return zip(*structure.edge_names().values(), strict=True)


def test_near_duplicates_that_have_changed_roles_get_each_others_names():
    from noisyor.discovery.repair import _Search

    structure = CLINIC.structure
    roles = [1, 0, *range(2, structure.n_diseases)]
    exchanged = structure.sparse_matrix().toarray().T[roles] != 0
    search = _Search(RECORDS, EASY, set(), set())
    search._given = {
        name: {structure.symptoms[j] for j in structure.children(i)}
        for i, name in enumerate(structure.diseases)
    }
    graph = Structure.from_matrix(
        exchanged, diseases=structure.diseases, symptoms=structure.symptoms
    )
    sizes = np.diff(structure.child_offsets)
    order = np.split(np.arange(structure.n_edges), np.cumsum(sizes)[:-1])
    failures = CLINIC.failures[np.concatenate([order[i] for i in roles])]
    wrong = NoisyOrNetwork(graph, CLINIC.priors[roles], failures, CLINIC.leaks)
    last = RepairStep((), wrong, -1.0, 2.0, None, failures)
    found = search._renamed(last, np.inf)
    assert found.network == CLINIC
    np.testing.assert_array_equal(found.errors, CLINIC.failures)
    assert search._renamed(last, 1) is None
    assert search._renamed(found, np.inf) is None
    search._kept = {(found.changes[-1].disease, found.changes[-1].symptoms[0])}
    assert search._renamed(last, np.inf) is None


def test_a_role_is_known_by_the_edges_that_count():
    """A disease whose place a smaller one has taken keeps its edges, but they are idle."""
    from noisyor.discovery.repair import _Search

    names, symptoms = ["small", "large"], [f"s{j}" for j in range(6)]
    given = Structure(names, symptoms, [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [1, 3], [1, 5]])
    search = _Search(Findings.from_numpy(np.zeros((1, 6), np.uint8), given), EASY, set(), set())
    search._given = {"small": {"s0", "s1"}, "large": {"s0", "s1", "s2", "s3", "s5"}}
    grown = Structure(names, symptoms, [*([0, j] for j in range(6)), *given.edges[2:].tolist()])
    failures = np.array([0.5] * 6 + [0.5, 0.5, 0.999, 0.999, 0.999])
    wrong = NoisyOrNetwork(grown, [0.05, 0.01], failures, [0.01] * 6)
    found = search._renamed(RepairStep((), wrong, -1.0, 2.0, None, failures), np.inf)
    assert found.network.priors.tolist() == [0.01, 0.05]
    assert found.structure.children("large").tolist() == list(range(6))
    strong = NoisyOrNetwork(grown, [0.05, 0.01], np.full(11, 0.5), [0.01] * 6)
    assert search._renamed(RepairStep((), strong, -1.0, 2.0, None, failures), np.inf) is None


def test_certain_and_forbidden_edges_stay_as_they_are():
    structure, false = damaged()
    missing = CLINIC.structure.edges[0].tolist()
    found = repair(structure, RECORDS, certain=[(3, false)], forbidden=[missing], settings=EASY)
    assert found.structure.has_edge(3, false)
    assert not found.structure.has_edge(*missing)


def test_no_more_changes_than_allowed():
    structure, _ = damaged()
    found = repair(structure, RECORDS, max_changes=1, settings=EASY)
    assert [change.kind for change in found.changes] == [ADD]
    assert not found.is_complete
    assert "not complete" in repr(found)
    assert repair(structure, RECORDS, max_changes=0, settings=EASY).changes == ()


def test_an_interruption_keeps_the_steps(monkeypatch):
    from noisyor.discovery.repair import _Search

    structure, _ = damaged()
    whole = _Search._next

    def interrupted(search, last, n_left):
        if last.changes:
            raise KeyboardInterrupt
        return whole(search, last, n_left)

    monkeypatch.setattr(_Search, "_next", interrupted)
    found = repair(structure, RECORDS, settings=EASY)
    assert [change.kind for change in found.changes] == [ADD]
    assert not found.is_complete


def test_misuse_is_refused():
    structure = CLINIC.structure
    with pytest.raises(ParameterError, match="criterion must be"):
        repair(structure, RECORDS, criterion="aic")
    with pytest.raises(ParameterError, match="max_changes must be"):
        repair(structure, RECORDS, max_changes=-1)
    with pytest.raises(ParameterError, match="is not an edge"):
        repair(structure, RECORDS, certain=["flu"])
    with pytest.raises(UnknownNameError):
        repair(structure, RECORDS, forbidden=[("no such disease", 0)])
    for wrong in (5, None, "clinic"):
        with pytest.raises(ParameterError, match="expected a Structure, a network or an Estimate"):
            repair(wrong, RECORDS)
    for share in (1.0, -0.1, float("nan"), "a tenth", True):
        with pytest.raises(ParameterError, match="held_out must be"):
            repair(structure, RECORDS, settings=RepairSettings(held_out=share))
    with pytest.raises(ParameterError, match="'held_out' needs records that are held out"):
        repair(structure, RECORDS, criterion="held_out", settings=EASY)
    with pytest.raises(ParameterError, match="settings must be RepairSettings"):
        repair(structure, RECORDS, settings={"held_out": 0.1})
    for edges in (5, "flu"):
        with pytest.raises(ParameterError, match="give edges as a list"):
            repair(structure, RECORDS, certain=edges)
    with pytest.raises(ParameterError, match="is not an edge"):
        repair(structure, RECORDS, forbidden=[5])
    absent = next((0, j) for j in range(20) if not structure.has_edge(0, j))
    with pytest.raises(ParameterError, match="certain, but not in the structure"):
        repair(structure, RECORDS, certain=[absent])
    edge = structure.edges[0].tolist()
    with pytest.raises(ParameterError, match="certain and forbidden"):
        repair(structure, RECORDS, certain=[edge], forbidden=[edge])


def test_a_disease_that_came_and_is_not_needed_goes_again():
    from noisyor.discovery.repair import _Search

    structure = CLINIC.structure
    search = _Search(RECORDS, EASY, set(), set())
    search._given = {
        name: {structure.symptoms[j] for j in structure.children(i)}
        for i, name in enumerate(structure.diseases)
    }
    edges = [*structure.edges.tolist(), *([structure.n_diseases, j] for j in (0, 7, 13))]
    grown = Structure([*structure.diseases, "idle"], structure.symptoms, edges)
    failures = np.concatenate([CLINIC.failures, [0.9, 0.9, 0.9]])
    start = NoisyOrNetwork(grown, [*CLINIC.priors, 0.01], failures, CLINIC.leaks)
    last = search._step((), search._fitter.fit(start))
    found = search._without_disease(last, np.inf)
    assert found.structure == structure
    [change] = found.changes
    assert (change.disease, len(change.symptoms)) == ("idle", 3)
    assert "not needed any more" in change.sentence
    assert search._diseases(found.network, RECORDS) == []
    assert search._without_disease(found, np.inf) is None  # those that were given stay
