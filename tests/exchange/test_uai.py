"""UAI: variables in any order, and files that are wrong."""

import numpy as np
import pytest

from exchange.models import written
from noisyor import read_model
from noisyor.errors import NoisyOrError

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
        ("BAYES", "MARKOV", "line 1: the file holds 'MARKOV', not a network"),
        ("2 2 2 2", "2 2 3 2", "line 3: node 'variable 2' has 3 states"),
        ("2\n4\n1", "2\n3\n1", "line 4: a Bayesian network has one table for each variable"),
        ("3 0 3 2", "3 0 9 2", "line 6: '9' stands where a variable's number should stand"),
        ("3 0 3 2", "3 0 0 2", "line 6: node 'symptom_1' names a parent twice"),
        ("2 0 1\n", "2 2 1\n", "line 8: .* which has parents itself"),
        ("2 0 1\n", "2 1 0\n", "two tables end in the same variable"),
        ("1 3\n", "0\n", "line 7: a table has no variables"),
        ("8\n", "4\n", "line 13: the table of 'symptom_1' has 4 entries; with 2 parents it needs"),
        ("0.95", "x", "line 14: 'x' is not a probability"),
        ("0.95 0.05", "0.95 0.04", "line 6: the probabilities of node 'symptom_1' add up to 0.99"),
        ("0.171 0.829", "0.2 0.8", "line 6: the table of node 'symptom_1' is not a noisy-or"),
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
