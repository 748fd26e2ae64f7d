import itertools
import random
import warnings

import numpy as np
import pytest

import naive
from noisyor import NoisyOrNetwork, Structure, read_model, write_model
from noisyor.errors import NoisyOrError, NoisyOrWarning

UAI = """BAYES
4
2 2 2 2
4
1 0
3 0 3 2
1 3
2 0 1

2
 0.9 0.1

8
 0.95 0.05   0.57 0.43
 0.285 0.715 0.171 0.829

2 0.8 0.2
4 0.9 0.1 0.45 0.55
"""


def written(tmp_path, text, name):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_variables_in_any_order(tmp_path):
    network = read_model(written(tmp_path, UAI.replace("4\n1", "c a comment\n4\n1"), "n.uai"))
    assert network.structure.diseases == ("disease_0", "disease_1")
    assert network.structure.symptoms == ("symptom_0", "symptom_1")
    np.testing.assert_allclose(network.priors, [0.1, 0.2])
    np.testing.assert_allclose(network.leaks, [0.1, 0.05])
    assert network.structure.edges.tolist() == [[0, 0], [0, 1], [1, 1]]
    np.testing.assert_allclose(network.failures, [0.5, 0.3, 0.6])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("BAYES", "MARKOV", "line 1: the file holds 'MARKOV'; wanted is a network, BAYES"),
        ("2 2 2 2", "2 2 3 2", "line 3: node 'variable 2' has 3 states"),
        ("2\n4\n1", "2\n3\n1", "line 4: a Bayesian network has one table for each variable"),
        ("3 0 3 2", "3 0 9 2", "line 6: '9' stands where a variable's number should stand"),
        ("3 0 3 2", "3 0 0 2", "line 6: node 'symptom_1' names a parent twice"),
        ("2 0 1\n", "2 2 1\n", "line 8: .* which has parents itself"),
        ("2 0 1\n", "2 1 0\n", "two tables end in the same variable"),
        ("1 3\n", "0\n", "line 7: a table has no variables"),
        ("8\n", "4\n", "line 13: the table of 'symptom_1' has 4 entries; with 2 parents it needs"),
        ("0.95", "x", "line 14: 'x' is no probability"),
        ("0.95 0.05", "0.95 0.04", "line 6: the probabilities of node 'symptom_1' add up to 0.99"),
        ("0.171 0.829", "0.2 0.8", "line 6: the table of node 'symptom_1' is no noisy-or"),
        ("0.45 0.55", "0.45", "ends where a probability should stand"),
        ("0.45 0.55", "0.45 0.55 1", "line 18: more numbers than the tables have entries"),
        ("0.45 0.55", "0.95 0.05", "less probable"),
        ("1 0\n", "1 0   # flu\n", "line 5: a comment with # is pyAgrum's"),
    ],
)  # fmt: skip
def test_files_that_are_wrong(tmp_path, old, new, message):
    assert old in UAI
    with pytest.raises(NoisyOrError, match=message) as caught:
        read_model(written(tmp_path, UAI.replace(old, new), "n.uai"))
    assert "n.uai" in str(caught.value)


Q_MATRIX = "item,add,carry\nq1,1,0\nq2,1,1\nq3,0,0\n"


def test_a_q_matrix_is_read(tmp_path):
    structure = read_model(written(tmp_path, Q_MATRIX, "q.csv"), "q-matrix")
    assert structure == Structure(["add", "carry"], ["q1", "q2", "q3"], [[0, 0], [0, 1], [1, 1]])
    assert read_model(written(tmp_path, '""' + Q_MATRIX[4:], "r.csv"), "q-matrix") == structure


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("q2,1,1", "q2,1,2", "line 3, column 'carry': '2' is not 0, 1, true or false"),
        ("q2,1,1", "q2,1,", "line 3, column 'carry': an empty cell; 0 or 1"),
        ("q2,1,1", "q2,1", "line 3: 2 values where the header has 3 columns"),
        ("q2", "q1", "line 3: the item 'q1' stands twice"),
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


def test_formats_that_cannot_be(tmp_path, flu):
    for name in ("a.xdsl", "a.bif", "a.uai", "folder"):
        with pytest.raises(NoisyOrError, match="a structure has no priors, failures and leaks"):
            write_model(flu, tmp_path / name)
    for call in (read_model, lambda path: write_model(flu, path)):
        with pytest.raises(NoisyOrError, match="the ending '.docx' is unknown; use .json"):
            call(written(tmp_path, "x", "a.docx"))
    with pytest.raises(NoisyOrError, match="no format 'hugin'; formats are json, edges"):
        write_model(flu, tmp_path / "a", "hugin")
    with pytest.raises(NoisyOrError, match="nothing.xdsl does not exist"):
        read_model(tmp_path / "nothing.xdsl")
    (tmp_path / "part").mkdir()
    with pytest.raises(NoisyOrError, match="has no edges.csv; a network needs"):
        read_model(tmp_path / "part")
    with pytest.raises(NoisyOrError, match="a.docx is not a directory"):
        read_model(tmp_path / "a.docx", "folder")
    network = NoisyOrNetwork(flu, [0.1] * 2, [0.1] * 4, [0.1] * 3)
    with pytest.raises(NoisyOrError, match="cannot be made"):
        write_model(network, tmp_path / "a.docx" / "b")


def test_a_symptom_with_too_many_parents_for_a_table_is_named(tmp_path):
    structure = Structure.from_matrix(np.ones((13, 1)), symptoms=["fatigue"])
    network = NoisyOrNetwork(structure, [0.1] * 13, [0.5] * 13, [0.01])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyOrWarning)
        for name in ("a.bif", "a.uai"):
            with pytest.raises(
                NoisyOrError, match="symptom 'fatigue' has 13 parents: .* 2.13 rows"
            ):
                write_model(network, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
