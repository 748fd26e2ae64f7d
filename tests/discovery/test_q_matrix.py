"""Q-matrix validation: entries to add and to drop."""

import numpy as np
import pytest

import naive
from noisyor import NoisyOrLearner, NoisyOrNetwork, Structure
from noisyor.discovery import validate_q_matrix
from noisyor.discovery.changes import ADD, DROP
from noisyor.discovery.q_matrix import SkillStates
from noisyor.discovery.skill_model import SkillFit
from noisyor.errors import ParameterError
from noisyor.network import Joint

NEEDS = Structure.from_matrix([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 1]])
TEST = NoisyOrNetwork(NEEDS, None, [0.4] * 9, [0.1] * 8, causes=Joint([0.5, 0.1, 0.1, 0.3]))
ANSWERS = TEST.sample(3000, rng=0)


@pytest.mark.parametrize("seed", range(20))
def test_an_items_likelihood_is_that_of_the_test(seed):
    """Other values of an item's parameters change both alike; skills are independent here."""
    rng = np.random.default_rng(seed)
    failures, leaks = rng.uniform(0.1, 0.9, 9), rng.uniform(0.05, 0.3, 8)
    network = NoisyOrNetwork(NEEDS, rng.uniform(0.2, 0.6, 2), failures, leaks)
    rows = network.sample(40, rng=seed).to_numpy()
    full = np.ones((2, 8))
    full[tuple(NEEDS.edges.T)] = failures
    j = int(rng.integers(8))
    item = SkillStates.of(SkillFit.of(network), rows.astype(float)).item(j)

    def both(changed, leak):
        of_all = leaks.copy()
        of_all[j] = leak
        absent = (1.0 - leak) * np.prod(changed[:, j] ** item.states, axis=1)
        of_item = np.log(item.wrong @ (1.0 - absent)).sum() + np.log(item.right @ absent).sum()
        return naive.log_likelihood(network.priors, changed, of_all, rows.tolist()), of_item

    changed = full.copy()
    changed[:, j] = rng.uniform(0.2, 1.0, 2)
    before, after = both(full, leaks[j]), both(changed, 0.2)
    assert after[0] - before[0] == pytest.approx(after[1] - before[1], abs=1e-6)
    needed = full[:, j] < 1.0
    assert item.fit(needed).log_likelihood >= before[1] - 1e-6


def test_unknown_answers_are_left_out():
    rows = ANSWERS.to_numpy()[:50].astype(float)
    rows[:10, 3] = np.nan
    assert SkillStates.of(SkillFit.of(TEST), rows).item(3).n_answers == 40


def fitted(structure):
    return NoisyOrLearner(structure, causes="joint").fit(ANSWERS).estimate_


def test_entries_that_are_missing_or_false_are_named():
    edges = np.concatenate([NEEDS.edges[1:], [[1, 2]]])
    found = validate_q_matrix(fitted(Structure(NEEDS.diseases, NEEDS.symptoms, edges)), ANSWERS)
    named = {(row.kind, row.disease, row.symptoms[0]) for row in found.rows}
    assert named == {(ADD, "D0", "S0"), (DROP, "D1", "S2")}
    assert found.of(ADD)[0].strength == pytest.approx(0.6, abs=0.1)


def test_a_skill_that_goes_with_another_is_not_taken_for_it():
    """It was: without the entry, one of a skill that goes with it gained nearly as much."""
    alike = Joint([0.5, 0.05, 0.05, 0.4])
    test = NoisyOrNetwork(NEEDS, None, [0.5] * 9, [0.1] * 8, causes=alike)
    answers = test.sample(3000, rng=1)
    edges = [edge for edge in NEEDS.edges.tolist() if edge != [0, 0]] + [[1, 0]]
    wrong = Structure(NEEDS.diseases, NEEDS.symptoms, edges)
    learned = NoisyOrLearner(wrong, causes="joint").fit(answers).estimate_
    named = {
        (row.kind, row.disease, row.symptoms[0]) for row in validate_q_matrix(learned, answers).rows
    }
    assert named == {(ADD, "D0", "S0"), (DROP, "D1", "S0")}


@pytest.mark.parametrize("seed", [5, 11])
def test_skills_follow_an_item_that_is_given_another_set(seed):
    """They did not: as the other items had them, one more skill seemed to be needed."""
    needs = [[1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0, 0], [0, 0, 1, 0, 0, 1, 1, 1]]
    lacks = Joint([0.35, 0.17, 0.02, 0.13, 0.01, 0.01, 0.01, 0.3])
    structure = Structure.from_matrix(needs)
    failures = [0.6] * structure.n_edges
    test = NoisyOrNetwork(structure, None, failures, [0.1] * 8, causes=lacks)
    answers = test.sample(3000, rng=seed)
    wrong = Structure(structure.diseases, structure.symptoms, structure.edges[1:])
    learned = NoisyOrLearner(wrong, causes="joint").fit(answers).estimate_
    named = {
        (row.kind, row.disease, row.symptoms[0]) for row in validate_q_matrix(learned, answers).rows
    }
    assert named == {(ADD, "D0", "S0")}


def test_a_right_q_matrix_is_left_alone():
    assert len(validate_q_matrix(fitted(NEEDS), ANSWERS)) == 0


def test_misuse_is_refused():
    with pytest.raises(ParameterError, match="give an Estimate"):
        validate_q_matrix(NEEDS, ANSWERS)
    with pytest.raises(ParameterError, match="level"):
        validate_q_matrix(TEST, ANSWERS, level=0)
    with pytest.raises(ParameterError, match="least_effect"):
        validate_q_matrix(TEST, ANSWERS, least_effect=2)
    many = Structure.from_matrix(np.eye(13))
    network = NoisyOrNetwork(many, [0.1] * 13, [0.5] * 13, [0.1] * 13)
    with pytest.raises(ParameterError, match="13 skills"):
        validate_q_matrix(network, network.sample(5, rng=0))
