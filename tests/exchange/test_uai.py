"""UAI: variables in any order, and files that are wrong."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from exchange.models import written
from noisyor import posterior, read_model
from noisyor.errors import ExchangeError, NoisyOrError, NoisyOrWarning
from noisyor.exchange import read_uai_case

PROMEDAS = Path(__file__).parents[3] / "shared" / "records" / "promedas"

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
        ("BAYES", "CHAIN", "line 1: the file holds 'CHAIN', not a network"),
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


# --- the type MARKOV, and evidence ---

MARKOV = """MARKOV
5
2 2 2 2 2
5
1 0
1 1
2 3 0
3 2 3 1
1 4

2
 0.9 0.1
2
 0.8 0.2
4
 0.95 0.475
 0.05 0.525
8
 0.9 0.54 0 0
 0.1 0.46 1 1
2
 0.7 0.3
"""
"""Variable 3 lies between 0 and 2: its failure is 0.5, its leak 0.05; 4 has no edges."""


def test_factors_that_are_tables_make_a_network(tmp_path):
    with pytest.warns(NoisyOrWarning, match=r"1 node between .* 'inner_3'"):
        network = read_model(written(tmp_path, MARKOV, "n.uai"))
    assert network.structure.diseases == ("disease_0", "disease_1")
    assert network.structure.symptoms == ("symptom_2", "symptom_4")
    np.testing.assert_allclose(network.failures, [0.5, 0.6])
    np.testing.assert_allclose(network.leaks, [1 - 0.9 * 0.95, 0.3])


def test_tables_of_a_network_are_factors_too(tmp_path):
    network = read_model(written(tmp_path, UAI.replace("BAYES", "MARKOV"), "n.uai"))
    plain = read_model(written(tmp_path, UAI, "m.uai"))
    assert network.parameters == plain.parameters
    assert network.structure.diseases == ("disease_0", "disease_3")


def test_other_factors_are_refused(tmp_path):
    path = written(tmp_path, MARKOV.replace("0.95 0.475", "0.95 0.9"), "n.uai")
    with pytest.raises(ExchangeError, match="MARKOV, and its factors are not the tables"):
        read_model(path)


def test_evidence_is_read_and_answered(tmp_path):
    path = written(tmp_path, MARKOV, "n.uai")
    with pytest.warns(NoisyOrWarning, match="taken into it"):
        network, seen = read_uai_case(path, written(tmp_path, "2 2 1 4 0\n", "n.evid"))
    assert seen == {"symptom_2": True, "symptom_4": False}
    # By hand: all states of the four variables above.
    total = {0: 0.0, 1: 0.0}
    for d0, d1, x in itertools.product([0, 1], repeat=3):
        absent_x = 0.95 * 0.5**d0
        absent = 0.0 if x else 0.9 * 0.6**d1
        p = (0.1 if d0 else 0.9) * (0.2 if d1 else 0.8) * (1 - absent_x if x else absent_x)
        total[d0] += p * (1 - absent) * 0.7
    found = posterior(network, seen)
    assert found["disease_0"]["probability"] == pytest.approx(total[1] / (total[0] + total[1]))
    assert found.log_evidence == pytest.approx(np.log(total[0] + total[1]))


def test_a_disease_that_is_seen_counts_as_evidence(tmp_path):
    path = written(tmp_path, UAI, "n.uai")
    network, seen = read_uai_case(path, written(tmp_path, "1\n2 0 1 3 0\n", "n.evid"))
    assert seen == {"disease_0 (seen)": True, "disease_1 (seen)": False}
    found = posterior(network, seen)
    assert found.probabilities.tolist() == [1.0, 0.0]
    assert found.log_evidence == pytest.approx(np.log(0.1 * 0.8))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 9 1", "'9' stands where a variable's number"),
        ("1 2 2", "'2' stands where a state, 0 or 1,"),
        ("2 2 1", "ends where a variable's number should stand"),
        ("2 2 1 2 0", "variable 2 is given twice"),
        ("2 2 1 4 0 1 1", "more than the 2 variables that are announced"),
        ("1 3 1", "variable 3 of .* lies between diseases and symptoms"),
        ("x", "'x' stands where the number of variables that are seen"),
    ],
)
@pytest.mark.filterwarnings("ignore::noisyor.NoisyOrWarning")
def test_evidence_that_is_wrong(tmp_path, text, message):
    path = written(tmp_path, MARKOV, "n.uai")
    with pytest.raises(NoisyOrError, match=message) as caught:
        read_uai_case(path, written(tmp_path, text, "n.evid"))
    assert "n.evid" in str(caught.value)


@pytest.mark.parametrize("number", [11, 16, 20, 23, 24, 30])
def test_networks_of_promedas_are_answered_as_published(number, run):
    """By the command; published with six digits."""
    path = PROMEDAS / f"Promedus_{number}.uai"
    if not path.exists():
        pytest.skip(f"the networks are not at {PROMEDAS}")
    asked = "diagnose", path, "--evidence", f"{path}.evid", "--json", "--top", "1000"
    code, out, _ = run(*asked)
    assert code == 0
    facts = json.loads(out)
    published = Path(f"{path}.MAR").read_text().split()[2:]
    chances = [float(text) for text in published[2::3]]
    assert facts["method"] == "exact"
    assert facts["diseases"]
    for row in facts["diseases"]:
        true = chances[int(row["disease"].removeprefix("disease_"))]
        assert row["probability"] == pytest.approx(true, abs=1e-6)
        assert row["probability"] == pytest.approx(true, rel=1e-5)
    evidence = float(Path(f"{path}.PR").read_text().split()[1])
    assert facts["log_evidence"] / np.log(10) == pytest.approx(evidence, rel=1e-5)
