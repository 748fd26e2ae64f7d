"""Q-matrices: read, refused, and what they mean."""

import itertools
import random

import pytest

import naive
from exchange.models import written
from noisyor import NoisyOrNetwork, Structure, read_model, write_model
from noisyor.errors import NoisyOrError

Q_MATRIX = "item,add,carry\nq1,1,0\nq2,1,1\nq3,0,0\n"


def test_a_q_matrix_is_read(tmp_path):
    structure = read_model(written(tmp_path, Q_MATRIX, "q.csv"), "q-matrix")
    assert structure == Structure(["add", "carry"], ["q1", "q2", "q3"], [[0, 0], [0, 1], [1, 1]])
    assert read_model(written(tmp_path, '""' + Q_MATRIX[4:], "r.csv"), "q-matrix") == structure


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("q2,1,1", "q2,1,2", "line 3, column 'carry': '2' is not 0 or 1"),
        ("q2,1,1", "q2,1,", "line 3, column 'carry': an empty cell; 0 or 1"),
        ("q2,1,1", "q2,1", "line 3: 2 values where the header has 3 columns"),
        ("q2", "q1", "line 3: the item 'q1' appears twice"),
        ("q2,", ",", "line 3: the item has no name"),
        ("carry", "add", "'add'"),
    ],
)
def test_matrices_that_are_wrong(tmp_path, old, new, message):
    with pytest.raises(NoisyOrError, match=message) as caught:
        read_model(written(tmp_path, Q_MATRIX.replace(old, new), "q.csv"), "q-matrix")
    assert "q.csv" in str(caught.value)


def test_the_reduced_rum_is_a_noisy_or_of_lacking_skills(tmp_path):
    """The network that docs/formats.md tells of answers as the reduced RUM does."""
    draw = random.Random(1)
    for _ in range(20):
        structure = read_model(written(tmp_path, Q_MATRIX, "q.csv"), "q-matrix")
        pi_star = [draw.random() for _ in range(3)]
        r_star = {tuple(edge): draw.random() for edge in structure.edges.tolist()}
        network = NoisyOrNetwork(
            structure, [0.5, 0.5], list(r_star.values()), [1 - pi for pi in pi_star]
        )
        for mastered in itertools.product([False, True], repeat=2):
            lacking = [0.0 if each else 1.0 for each in mastered]
            person = NoisyOrNetwork(structure, lacking, network.failures, network.leaks)
            for item in range(3):
                required = [skill for skill, needing in r_star if needing == item]
                penalties = {skill: r_star[skill, item] for skill in required}
                correct = naive.reduced_rum_correct(pi_star[item], penalties, required, mastered)
                assert person.negative_moment([item]) == pytest.approx(correct)


def test_the_name_of_the_first_column_gives_way(tmp_path):
    structure = Structure(["item", "item_"], ["q"], [[0, 0]])
    write_model(structure, tmp_path / "q.csv", "q-matrix")
    assert read_model(tmp_path / "q.csv", "q-matrix") == structure
