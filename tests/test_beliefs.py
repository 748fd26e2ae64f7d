"""Beliefs: values and weights, from mappings and tables; fixed is a weight without end."""

import copy

import numpy as np
import pytest

from noisyor import (
    Beliefs,
    Fixed,
    NoisyOrError,
    NoisyOrLearner,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
)
from noisyor.beliefs import as_beliefs

STRUCTURE = Structure.from_edges([("flu", "fever"), ("flu", "cough"), ("cold", "cough")])


def test_values_and_weights_of_mappings():
    beliefs = Beliefs(
        STRUCTURE, priors={"flu": (0.02, 50), "cold": 0.1}, failures={("cold", "cough"): (0.3, 10)}
    )
    assert beliefs.weights.priors.tolist() == [50.0, np.inf]
    assert beliefs.mask.priors.tolist() == [False, True]
    assert np.isnan(beliefs.values.priors[0])  # what is believed is not fixed
    assert beliefs.cases.vector.tolist() == [50.0, 0.0, 0.0, 0.0, 10.0, 0.0, 0.0]
    assert beliefs.means.failures.tolist() == [0.5, 0.5, 0.3]
    assert beliefs.has_weighted
    assert copy.deepcopy(beliefs) == beliefs
    assert len({beliefs, copy.deepcopy(beliefs)}) == 1


def test_fixed_is_a_belief_of_infinite_weight(tmp_path):
    fixed = Fixed(STRUCTURE, leaks={"fever": 0.01})
    same = Beliefs(STRUCTURE, leaks={"fever": (0.01, np.inf)})
    assert fixed == same
    assert not fixed.has_weighted
    (tmp_path / "b.csv").write_text(
        "parameter,disease,symptom,value,weight\n"
        "leak,,fever,0.01,\nprior,flu,,0.02,50\nfailure,cold,cough,0.3,10\n"
    )
    loaded = Beliefs.load(tmp_path / "b.csv", STRUCTURE)
    more = {"priors": {"flu": (0.02, 50)}, "failures": {("cold", "cough"): (0.3, 10)}}
    assert loaded == as_beliefs({"leaks": {"fever": 0.01}}, STRUCTURE, more)
    assert repr(loaded) == "Beliefs(1 of 2 priors, 1 of 3 failures, 1 of 2 leaks; 1 of them fixed)"


def test_the_probabilities_of_a_table_of_edges_are_beliefs(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(
        "disease,symptom,probability,weight\nflu,fever,0.8,20\nflu,cough,0.5,\ncold,cough,0.9,5\n"
    )
    beliefs = Beliefs.of_edges(path, Structure.from_csv(path))
    assert beliefs.cases.failures.tolist() == [20.0, 0.0, 5.0]
    assert beliefs.means.failures == pytest.approx([0.2, 0.5, 0.1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"priors": {"flu": (0.02, 0)}}, "weight of a belief is a number of cases above 0"),
        ({"priors": {"flu": (0.02, "much")}}, "weight of a belief is a number of cases above 0"),
        ({"priors": {"flu": (0.0, 5)}}, "belief of 5 cases must lie between 0 and 1"),
        ({"priors": {"flu": (2.0, 5)}}, "priors must lie between 0 and 1"),
        ({"priors": {"flu": (0.1, 5, 6)}}, "a belief is .value, weight."),
        ({"errors": {}}, "no kind 'errors'"),
        ({"intercepts": {"flu": 1.0}}, r"follow from P\(disease\) over all people"),
        ([1], "must be Beliefs or a mapping"),
    ],
)
def test_wrong_beliefs_are_refused(given, message):
    with pytest.raises(NoisyOrError, match=message):
        as_beliefs(given, STRUCTURE)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"priors": {"flu": 0.1}}, r"priors of 'flu': a value alone .* \(value, weight\).* fixed="),
        ({"priors": [0.1, np.nan]}, "priors of 'all': a value alone would be fixed"),
        (
            {"effects": {("flu", "age"): 0.1}},
            r"Give \(value, error\); or fixed=\{'effects': \.\.\.\}",
        ),
    ],
)
def test_beliefs_without_weights_are_refused(given, message):
    with pytest.raises(NoisyOrError, match=message):
        as_beliefs(None, STRUCTURE, given)
    assert not as_beliefs(given, STRUCTURE).has_weighted  # as fixed they are right
    infinite = as_beliefs(None, STRUCTURE, {"priors": {"flu": (0.1, np.inf)}, "leaks": None})
    assert infinite.mask.priors.tolist() == [True, False]


def test_a_parameter_is_given_once(tmp_path):
    twice = {"priors": {"flu": (0.1, 5)}}
    with pytest.raises(NoisyOrError, match="the prior of flu is given twice"):
        as_beliefs({"priors": {"flu": 0.1}}, STRUCTURE, twice)
    (tmp_path / "b.csv").write_text("parameter,disease,symptom,value,weight\nprior,flu,,0.2,-1\n")
    with pytest.raises(NoisyOrError, match="line 2: the weight of a belief .* '?-1"):
        Beliefs.load(tmp_path / "b.csv", STRUCTURE)


def test_beliefs_of_some_diseases():
    beliefs = Beliefs(STRUCTURE, priors={"cold": (0.1, 5)})
    inner = Structure.from_edges([("cold", "cough")])
    few = Beliefs(inner, priors={"cold": (0.1, 5)})
    assert beliefs.of_diseases(STRUCTURE, [0, 1]) == beliefs
    assert few.of_diseases(inner, [0]) == few


def test_a_weight_that_no_number_of_cases_has_is_refused(flu):
    with pytest.raises(NoisyOrError, match="above 0 and up to 1e[+]12; .* inf fixes it"):
        Beliefs(flu, priors={"flu": (0.2, 1e300)})
    assert Beliefs(flu, priors={"flu": (0.2, np.inf)}).values.priors[0] == 0.2


def test_columns_that_are_not_read_are_told(tmp_path):
    (tmp_path / "b.csv").write_text("parameter,disease,symptom,value,n\nprior,flu,,0.2,50\n")
    with pytest.warns(NoisyOrWarning, match=r"passed over 1 column: 'n'. .* value, .* weight"):
        Beliefs.load(tmp_path / "b.csv", STRUCTURE)


def test_the_columns_of_a_summary_are_none_to_tell_of(tmp_path):
    records = NoisyOrNetwork(STRUCTURE, [0.2, 0.3], [0.4] * 3, [0.1] * 2).sample(500, rng=0)
    learner = NoisyOrLearner(STRUCTURE, causes="joint")
    learned = learner.fit(records, beliefs={"priors": {"flu": (0.2, 50)}}).estimate_
    learned.save_summary(tmp_path / "summary.csv")
    Beliefs.load(tmp_path / "summary.csv", STRUCTURE)  # a warning would be an error
