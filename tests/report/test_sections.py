"""The sections that need no script: the opening with counts and reasons, schedule and truth."""

import numpy as np
import pandas as pd
import pytest

from noisyor import Fixed, NoisyOrLearner, NoisyOrNetwork, Structure, datasets
from noisyor.network import Joint
from noisyor.report.markup import number


def test_flags_are_counted_as_in_the_estimate(page_of, flagged):
    page = page_of(flagged)
    n_flagged = sum(int((part.flags != 0).sum()) for part in flagged.parts.values())
    assert n_flagged > 20
    assert f"{n_flagged} are flagged" in page.text
    n_learned = sum(int(part.is_learned.sum()) for part in flagged.parts.values())
    assert f"{n_learned} of 200 parameters were learned" in page.text


def test_a_plain_network_says_what_is_unknown(page_of):
    page = page_of(datasets.figure1(rng=0))
    assert "standard errors, intervals and flags are unknown here" in page.text
    assert page.data["knows"] == {
        "errors": False, "flags": False, "truth": False, "independent": True,
    }  # fmt: skip
    assert page.data["parameters"]["failure"]["errors"] is None
    assert "was not tested here" in page.text


def test_fixed_values_are_told(page_of, clinic):
    learner = NoisyOrLearner(clinic.structure, method="pooled")
    learner.fit(clinic.sample(1000, 0), fixed=Fixed.of(clinic, "failures"))
    page = page_of(learner.estimate_)
    assert "120 failures: fixed at the value that was given." in page.text


def test_other_methods(page_of, clinic):
    uniform = NoisyOrLearner(clinic.structure, method="uniform").fit(clinic.sample(100, 0))
    page = page_of(uniform.estimate_)
    assert "by the method uniform" in page.text
    assert "Standard errors are not known." in page.text
    findings, diseases = clinic.sample(1000, 0, return_diseases=True)
    seen = NoisyOrLearner(clinic.structure, method="observed").fit(findings, diseases)
    assert "in which the diseases were seen, by the method observed" in page_of(seen.estimate_).text


def test_the_truth_is_compared(page_of, flagged, clinic):
    page = page_of(flagged, truth=clinic)
    assert "Against the truth" in page.text
    error = np.abs(flagged.failures.values - clinic.failures).mean()
    assert f"{error:.4f}" in page.text
    assert page.tags.count("figure") == 4  # three scatters, and the picture of a disease
    assert "Against the truth" not in page_of(flagged).text


def test_what_a_schedule_leaves_is_told_with_the_reason(page_of):
    network = datasets.figure2(rng=0)
    assert "No three of the 4 symptoms of 'A' are coupled by it alone" in page_of(network).text
    learner = NoisyOrLearner(network.structure, method="pooled").fit(network.sample(20_000, 0))
    page = page_of(learner.estimate_)
    assert learner.estimate_.explained
    assert "No schedule learns 'A', 'B': fitted together" in page.text


STRUCTURE = Structure.from_edges([(f"d{i}", f"s{i}{x}") for i in range(3) for x in range(4)])


@pytest.fixture(scope="module")
def with_age():
    """Diseases that depend on age, as they were learned."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"age": rng.choice([30.0, 60.0], 600)})
    odds = np.exp(np.outer((people.age - 45.0) / 15.0, [1.0, -1.0, 0.5]))
    has = rng.random(odds.shape) < odds / (1.0 + odds)
    shown = np.repeat(has, 4, axis=1) & (rng.random((600, 12)) < 0.7)
    return NoisyOrLearner(STRUCTURE).fit(shown, covariates=people).estimate_


def test_how_diseases_occur_together_is_told(page_of, with_age, tmp_path):
    page = page_of(with_age)
    assert "#together" in page.links
    rows = with_age.learned_causes.prevalence(STRUCTURE).to_pylist()
    assert f"d0 age = {rows[0]['value']} {rows[0]['prevalence']:.3g}" in page.text
    assert f"{rows[0]['lower']:.3g} {rows[0]['upper']:.3g}" in page.text
    assert "d0 effect age" in page.text
    correlation = with_age.network.causes.correlations()[0, 1]
    assert f"d0 d1 {correlation:+.2f}" in page.text
    with_age.save_summary(tmp_path / "summary.csv")
    other = page_of(with_age.network, errors=tmp_path / "summary.csv")
    assert f"d0 age = {rows[0]['value']} {rows[0]['prevalence']:.3g}" in other.text
    alone = page_of(with_age.network)
    assert "Intervals are unknown" in alone.text
    assert "The strongest correlations" in alone.text


def test_classes_of_a_joint_distribution_have_intervals(page_of):
    causes = Joint([0.5, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.2])
    network = NoisyOrNetwork(STRUCTURE, None, [0.3] * 12, [0.02] * 12, causes=causes)
    estimate = NoisyOrLearner(STRUCTURE, causes="joint").fit(network.sample(800, rng=0)).estimate_
    page = page_of(estimate)
    row = estimate.learned_causes.table().to_pylist()[-1]
    ends = " ".join(number(row[each]) for each in ("value", "lower", "upper"))
    assert f"d0 + d1 + d2 {ends}" in page.text
    assert "Diseases have a joint distribution. 7 parameters say how." in page.text


def test_independent_diseases_have_no_such_section(page_of, flagged):
    assert "#together" not in page_of(flagged).links
