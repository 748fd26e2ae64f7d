"""What is known beforehand of loadings, effects and shares: from mappings and tables."""

import numpy as np
import pytest

from noisyor import Beliefs, Fixed, NoisyOrNetwork, Structure
from noisyor.beliefs import as_beliefs
from noisyor.cause_beliefs import CauseBelief
from noisyor.errors import NoisyOrError

STRUCTURE = Structure.from_edges([("flu", "fever"), ("cold", "fever"), ("cold", "cough")])


def test_values_errors_and_weights_of_mappings():
    beliefs = Beliefs(
        STRUCTURE,
        loadings={"flu": 0.0, ("cold", "trait 2"): (1.0, 0.5)},
        effects={("flu", "age"): (0.03, 0.01)},
        shares={("cold", "flu"): 0.0, "none": (0.7, 200), 1: (0.1, 200)},
    )
    assert beliefs.of_causes == (
        CauseBelief("loading", "flu", "trait", 0.0, np.inf),
        CauseBelief("loading", "cold", "trait 2", 1.0, 4.0),
        CauseBelief("effect", "flu", "age", 0.03, pytest.approx(1e4)),
        CauseBelief("share", None, "flu + cold", 0.0, np.inf),
        CauseBelief("share", None, "none", 0.7, 200.0),
        CauseBelief("share", None, "cold", 0.1, 200.0),
    )
    assert beliefs.of_causes[1].error == 0.5
    assert beliefs.has_weighted
    assert repr(beliefs).endswith("2 loadings, 1 effects, 3 shares; 2 of them fixed)")
    assert not Fixed(STRUCTURE, loadings={"flu": 1.0}).has_weighted


def test_a_table_says_the_same(tmp_path):
    path = tmp_path / "beliefs.csv"
    path.write_text(
        "parameter,disease,symptom,name,value,weight,error\n"
        "prior,flu,,,0.1,50,\n"
        "intercept,flu,,,-2,,\n"
        "prevalence,flu,,age = 50,0.1,,\n"
        "loading,flu,,,0,,\n"
        "loading,cold,,trait,1,,0.5\n"
        "effect,flu,,age,0.03,,0.01\n"
        "share,,,cold + flu,0,,\n"
        "share,,,none,0.7,200,\n"
    )
    given = Beliefs(
        STRUCTURE,
        priors={"flu": (0.1, 50)},
        loadings={"flu": 0.0, "cold": (1.0, 0.5)},
        effects={("flu", "age"): (0.03, 0.01)},
        shares={("flu", "cold"): 0.0, (): (0.7, 200)},
    )
    assert Beliefs.load(path, STRUCTURE) == given


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("loading,flu,,trait,1,5,", "has an error, its standard deviation, and no weight"),
        ("share,,,none,0.5,,0.1", "has a weight, how many cases it is worth, and no error"),
        ("prior,flu,,,0.3,,0.05", "has a weight, how many cases it is worth, and no error"),
        ("share,flu,,none,0.5,,", "the diseases of a share stand in the column 'name'"),
        ("effect,flu,,,1,,", "this effect needs a disease, and a covariate as name"),
        ("loading,,,trait,1,,", "this loading needs a disease"),
        ("loading,ague,,trait,1,,", "there is no disease named 'ague'"),
        ("intercept,flu,,,1,,", "follows from P\\(disease\\), the loadings and the effects"),
        ("loading,flu,,trait,x,,", "'x' is not a number"),
    ],
)
def test_wrong_rows_are_refused(row, message, tmp_path):
    path = tmp_path / "beliefs.csv"
    path.write_text(f"parameter,disease,symptom,name,value,weight,error\n{row}\n")
    with pytest.raises(NoisyOrError, match=message):
        Beliefs.load(path, STRUCTURE)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loadings": [1.0]}, "loadings are a mapping from names to values, not list"),
        ({"loadings": {"flu": (1.0, 0.0)}}, "a number above 0, not 0.0; the value alone fixes it"),
        ({"loadings": {"flu": (1.0, 0.1, 2)}}, r"is \(value, error\), not"),
        ({"loadings": {"flu": 100.0}}, "a number of log odds, from -30 to 30, not 100.0"),
        ({"loadings": {"flu": "much"}}, "a number of log odds, from -30 to 30, not 'much'"),
        (
            {"effects": {"flu": 1.0}},
            r"the name of each effect is \(disease, covariate\), not 'flu'",
        ),
        ({"effects": {("flu", "age"): np.inf}}, "must be a number of log odds, not inf"),
        ({"shares": {"none": 1.5}}, "the share 'none' must be a number from 0 to 1, not 1.5"),
        ({"shares": {"none": (0.5, -1)}}, "a number of cases above 0, not -1; inf fixes it"),
        ({"shares": {"none": (0.0, 10)}}, "must lie between 0 and 1, and the share 'none' is 0"),
        ({"shares": {"ague": 0.5}}, "there is no disease named 'ague'"),
        ({"intercepts": {"flu": 1.0}}, "Intercepts follow from P"),
    ],
)
def test_wrong_beliefs_are_refused(given, message):
    with pytest.raises(NoisyOrError, match=message):
        as_beliefs(given, STRUCTURE)


def test_what_is_given_twice_is_refused():
    with pytest.raises(NoisyOrError, match="the loading of 'flu' on 'trait' is given twice"):
        as_beliefs({"loadings": {"flu": 0.0}}, STRUCTURE, {"loadings": {"flu": (1.0, 1.0)}})
    network = NoisyOrNetwork(STRUCTURE, [0.1, 0.1], [0.5] * 3, [0.1] * 2)
    with pytest.raises(NoisyOrError, match="one by one, by a mapping or by the rows of a summary"):
        Fixed.of(network, "loadings")
