"""Codes that can be wrong: symptoms of one disease, whose rates are learned or believed."""

import numpy as np
import pytest

from noisyor import (
    Beliefs,
    Findings,
    NoisyOrError,
    NoisyOrLearner,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
)
from noisyor.learning import Code, Codes

EDGES = [(d, s) for d in ("asthma", "flu") for s in "abcd"]
STRUCTURE = Structure.from_edges(EDGES)
FAILURES = [0.2, 0.3, 0.5, 0.8, 0.8, 0.5, 0.3, 0.2]
NETWORK = NoisyOrNetwork(STRUCTURE, [0.15, 0.25], FAILURES, [0.02] * 4)


def coded(n, rng, sensitivity=0.8, specificity=0.98):
    findings, diseases = NETWORK.sample(n, rng=rng, return_diseases=True)
    random = np.random.default_rng(rng).random(n)
    code = np.where(diseases[:, 0], random < sensitivity, random < 1.0 - specificity)
    codes = Codes(STRUCTURE, {"J45": "asthma"})
    array = np.column_stack([findings.to_numpy(), code])
    return Findings.from_numpy(array, codes.structure), diseases, code


def test_rates_are_learned_within_their_intervals():
    n_held = 0
    for rng in range(5):
        findings, _, _ = coded(4000, rng)
        learner = NoisyOrLearner(STRUCTURE).fit(findings, codes={"J45": "asthma"})
        (row,) = learner.codes_
        assert row["disease"] == "asthma"
        n_held += row["sensitivity_lower"] < 0.8 < row["sensitivity_upper"]
        n_held += row["specificity_lower"] < 0.98 < row["specificity_upper"]
        assert row["sensitivity"] == pytest.approx(0.8, abs=0.12)
        assert not learner.estimate_.flags.priors.any()  # a code tells which disease is which
    assert n_held >= 8


def test_rates_are_those_of_labelled_records():
    findings, diseases, code = coded(3000, 0)
    learner = NoisyOrLearner(STRUCTURE, shrink=False)
    (row,) = learner.fit(findings, diseases, codes={"J45": "asthma"}).codes_
    has = diseases[:, 0]
    assert row["sensitivity"] == pytest.approx(code[has].mean(), abs=0.002)
    assert row["specificity"] == pytest.approx(1.0 - code[~has].mean(), abs=0.002)
    right = np.sqrt(0.8 * 0.2 / has.sum())
    assert row["sensitivity_error"] == pytest.approx(right, rel=0.15)


def test_an_anchor_and_what_is_believed_of_a_code():
    findings, _, _ = coded(3000, 0, specificity=1.0)
    anchor = Codes(STRUCTURE, {"J45": Code("asthma", sensitivity=(0.8, 100), specificity=1)})
    learner = NoisyOrLearner(STRUCTURE).fit(findings, codes=anchor)
    (row,) = learner.codes_
    assert row["specificity"] == 1.0
    assert row["specificity_error"] == 0.0
    assert row["sensitivity"] == pytest.approx(0.8, abs=0.06)
    assert learner.estimate_.beliefs.cases.failures.sum() == 100.0


def test_intervals_of_rates_near_one_are_as_narrow_as_what_was_learned():
    findings, _, _ = coded(3000, 0, sensitivity=1.0, specificity=1.0)
    learner = NoisyOrLearner(STRUCTURE).fit(findings, codes={"J45": "asthma"})
    (row,) = learner.codes_
    _, upper = learner.estimate_.intervals()
    assert row["specificity_lower"] == 1.0 - upper.leaks[-1] > 0.99
    assert row["specificity_upper"] == 1.0
    assert row["sensitivity_lower"] > 0.9


def test_codes_of_a_table(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text(
        "code,disease,sensitivity,specificity,weight\nJ45,asthma,0.8,0.99,50\nJ10,flu,,,\n"
    )
    codes = Codes.load(path, STRUCTURE)
    assert codes.codes == {
        "J45": Code("asthma", (0.8, 50.0), (0.99, 50.0)), "J10": Code("flu", None, None)
    }  # fmt: skip
    edge = codes.structure.edge_index("asthma", "J45")
    assert codes.beliefs.rates.edges.tolist() == [edge]  # it is what 1 - sensitivity is
    assert 1.0 - codes.beliefs.means.failures[edge] == pytest.approx(0.8)
    again = Codes(codes.structure, {"J45": "asthma"})  # it has the codes already
    assert again.structure == codes.structure


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ({"J45": "asthme"}, "asthme"),
        ({"a": "asthma"}, "'a' is a symptom already, and not of 'asthma' alone"),
        ({}, "there are no codes"),
        ({"J45": Code("asthma", sensitivity=1.2)}, "sensitivity of 'J45' must lie between 0 and 1"),
        ({"J45": Code("asthma", sensitivity=(0.5, 0))}, "weight of a belief"),
        (["J45"], "must be a mapping from columns to diseases"),
    ],
)
def test_wrong_codes_are_refused(codes, message):
    with pytest.raises(NoisyOrError, match=message):
        NoisyOrLearner(STRUCTURE).fit(NETWORK.sample(10, rng=0), codes=codes)


def test_a_code_twice_in_a_table_is_refused(tmp_path):
    (tmp_path / "c.csv").write_text("code,disease\nJ45,asthma\nJ45,flu\n")
    with pytest.raises(NoisyOrError, match="line 3: the code 'J45' stands twice"):
        Codes.load(tmp_path / "c.csv", STRUCTURE)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,0.9,50", r"line 2: the sensitivity of 'J45', a belief of 50 cases, .* and is 1"),
        ("0.8,0,50", r"line 2: the specificity of 'J45', a belief of 50 cases, .* and is 0"),
        (",,50", r"line 2: there is a weight, but neither sensitivity nor specificity"),
        ("0.8,0.9,0", r"line 2: the weight of a belief is a number of cases above 0 .* 'J45'"),
    ],
)
def test_rows_that_cannot_be_meant_are_refused(tmp_path, row, message):
    structure = Structure.from_edges([("asthma", "wheeze")])
    header = "code,disease,sensitivity,specificity,weight"
    (tmp_path / "codes.csv").write_text(f"{header}\nJ45,asthma,{row}\n")
    with pytest.raises(NoisyOrError, match=message):
        Codes.load(tmp_path / "codes.csv", structure)


def test_a_column_that_is_nearly_named_weight_is_not_passed_over(tmp_path):
    """Without it what is believed would be fixed."""
    structure = Structure.from_edges([("asthma", "wheeze")])
    (tmp_path / "codes.csv").write_text("code,disease,sensitivity,weigth\nJ45,asthma,0.8,50\n")
    with pytest.raises(NoisyOrError, match="no column 'weigth' to be read; did you mean 'weight'"):
        Codes.load(tmp_path / "codes.csv", structure)
    (tmp_path / "beliefs.csv").write_text(
        "parameter,disease,symptom,value,wieght\nprior,asthma,,0.8,50\n"
    )
    with pytest.raises(NoisyOrError, match="no column 'wieght' to be read; did you mean 'weight'"):
        Beliefs.load(tmp_path / "beliefs.csv", structure)
    (tmp_path / "codes.csv").write_text("code,disease,text\nJ45,asthma,height\n")
    with pytest.warns(NoisyOrWarning, match="passed over 1 column: 'text'"):
        found = Codes.load(tmp_path / "codes.csv", structure)
    assert found.codes == {"J45": Code("asthma")}


def test_an_anchor_of_a_table_may_have_a_believed_sensitivity(tmp_path):
    structure = Structure.from_edges([("asthma", "wheeze")])
    (tmp_path / "codes.csv").write_text(
        "code,disease,sensitivity,specificity,weight\nJ45,asthma,0.8,1,50\n"
    )
    beliefs = Codes.load(tmp_path / "codes.csv", structure).beliefs
    assert beliefs.values.leaks[1] == 0.0
    assert beliefs.cases.failures[1] == 50.0


def test_an_anchor_that_labels_contradict_is_refused():
    structure = Structure.from_edges([("asthma", "wheeze"), ("asthma", "cough"), ("cold", "cough")])
    rows = [[1, 1, 1], [0, 0, 1], [0, 1, 0], [1, 0, 0]] * 10
    codes = Codes(structure, {"J45": Code("asthma", specificity=1)})
    findings = Findings.from_numpy(rows, codes.structure)
    labels = [[1, 0], [0, np.nan], [0, 1], [1, 0]] * 10
    learner = NoisyOrLearner(structure)
    with pytest.raises(NoisyOrError, match=r"'J45' is present in 10 records .* leak is fixed at 0"):
        learner.fit(findings, labels, codes={"J45": Code("asthma", specificity=1)})


def test_a_code_that_speaks_against_its_disease_is_refused():
    structure = Structure.from_edges([("asthma", "wheeze")])
    with pytest.raises(NoisyOrError, match=r"more often without 'asthma' than with it"):
        Codes(structure, {"J45": Code("asthma", sensitivity=0.1, specificity=0.1)})
    Codes(structure, {"J45": Code("asthma", sensitivity=0.1, specificity=0.9)})


def test_columns_that_are_not_read_are_told(tmp_path):
    structure = Structure.from_edges([("asthma", "wheeze")])
    (tmp_path / "codes.csv").write_text(",code,disease,sens,spec\n0,J45,asthma,0.8,0.9\n")
    with pytest.warns(NoisyOrWarning, match=r"2 columns: 'sens', 'spec'. .* sensitivity, spec"):
        Codes.load(tmp_path / "codes.csv", structure)
