"""Records of which some diseases were seen, in every method that reads records."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from noisyor import (
    Findings,
    MomentPlan,
    NoisyOrError,
    NoisyOrLearner,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
    count_moments,
    datasets,
)
from noisyor.beliefs import Beliefs, Fixed
from noisyor.em.exact import ExactExpectation
from noisyor.findings.labels import Labels
from noisyor.learning import EMSettings, Flag, fit, learn_exact_em, learn_observed
from noisyor.learning import methods as table_of_methods
from noisyor.learning.labelled import (
    _of_records,
    _swapped,
    counted_height,
    known_with,
    labelled_start,
)
from noisyor.parameters import Parameters

METHODS = ["refined", "exact_em", "maximum_likelihood", "variational_em", "bayesian"]


@pytest.fixture(scope="module")
def equals():
    """Two diseases with equal symptoms: nothing but a label tells which is which."""
    structure = Structure.from_matrix(np.ones((2, 4)), diseases=["A", "B"])
    failures = [0.2, 0.3, 0.6, 0.7, 0.7, 0.6, 0.3, 0.2]
    return NoisyOrNetwork(structure, [0.1, 0.2], failures, [0.02] * 4)


@pytest.fixture(scope="module")
def sampled(equals):
    findings, diseases = equals.sample(10_000, rng=0, return_diseases=True)
    labels = np.full(diseases.shape, np.nan)
    labels[:200] = diseases[:200]
    return findings, diseases, labels


@pytest.mark.parametrize("method", ["refined", "exact_em", "maximum_likelihood"])
def test_labels_make_diseases_with_equal_symptoms_known(equals, sampled, method):
    findings, _, labels = sampled
    without = fit(findings, equals.structure, method)
    assert (without.flags.priors & Flag.SWAPPABLE).all()
    estimate = fit(findings, equals.structure, method, labels=labels)
    assert not (estimate.flags.vector & (Flag.SWAPPABLE | Flag.UNCERTIFIED)).any()
    errors = estimate.standard_errors.vector
    assert (np.abs(estimate.values.vector - equals.parameters.vector) < 4.0 * errors).all()


def test_labels_of_one_of_both_are_enough(equals, sampled):
    findings, _, labels = sampled
    one = np.where([True, False], labels, np.nan)
    estimate = fit(findings, equals.structure, "exact_em", labels=one)
    assert not (estimate.flags.vector & Flag.SWAPPABLE).any()
    assert estimate.values.priors == pytest.approx([0.1, 0.2], abs=0.05)


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(each, marks=pytest.mark.slow) if each == "bayesian" else each
        for each in METHODS
    ],
)
def test_all_methods_follow_the_labels_and_not_their_names(equals, sampled, method):
    """The labels of A and B changed about: what was A is B now."""
    findings, _, labels = sampled
    settings = EMSettings(n_init=2, max_iter=200)
    learned = [
        fit(findings, equals.structure, method, settings, labels=each).values.priors
        for each in (labels, labels[:, ::-1])
    ]
    assert learned[0][0] < learned[0][1]
    assert learned[1][0] > learned[1][1]


def test_all_labelled_is_the_likelihood_of_what_was_seen():
    network = datasets.figure1(rng=0)
    findings, diseases = network.sample(3000, rng=1, return_diseases=True)
    tight = EMSettings(n_init=1, tol=1e-15, max_iter=5000)
    seen = learn_observed(
        findings, network.structure, diseases, method="likelihood", settings=tight
    )
    labelled = findings.with_labels(diseases)
    found = learn_exact_em(labelled, network.structure, settings=tight)
    assert found.values.vector == pytest.approx(seen.values.vector, abs=1e-6)
    assert learn_observed(labelled, network.structure).network == (
        learn_observed(findings, network.structure, diseases).network
    )


def test_what_is_returned_is_not_below_the_truth(equals, sampled):
    findings, _, labels = sampled
    estimate = fit(findings, equals.structure, "exact_em", labels=labels)
    exact = ExactExpectation(findings.with_labels(labels))
    found, truth = (exact.expect(net).log_likelihood for net in (estimate.network, equals))
    assert found > truth


def test_labels_are_joined_by_id_to_the_last_digit(tmp_path):
    network = datasets.figure1(rng=0)
    findings, diseases = network.sample(500, rng=1, return_diseases=True)
    ids = [f"p{number}" for number in range(500)]
    findings = Findings.from_numpy(findings.to_numpy(), network.structure, record_ids=ids)
    y = np.where(np.arange(500)[:, np.newaxis] < 100, diseases, np.nan)
    right = fit(findings, network.structure, labels=y).network
    frame = pd.DataFrame({"id": ids[:100], "A": diseases[:100, 0].astype(int)})
    frame["B"] = diseases[:100, 1].astype(int)
    shuffled = frame.sample(frac=1, random_state=0)
    shuffled.to_csv(tmp_path / "labels.csv", index=False)
    for labels in shuffled, shuffled[["B", "id", "A"]], tmp_path / "labels.csv":
        assert fit(findings, network.structure, labels=labels).network == right


def test_a_disease_without_symptoms_has_the_prior_of_its_labels():
    structure = Structure(["flu", "idle"], ["a", "b", "c"], [(0, 0), (0, 1), (0, 2)])
    network = NoisyOrNetwork(structure, [0.3, 0.4], [0.2, 0.3, 0.4], [0.05] * 3)
    findings, diseases = network.sample(3000, rng=0, return_diseases=True)
    for method in "refined", "exact_em":
        estimate = fit(findings, structure, method, labels=diseases)
        assert estimate.values.priors[1] == pytest.approx(diseases[:, 1].mean(), abs=0.005)


def test_a_start_moves_to_what_labels_say(equals, sampled):
    findings, _, labels = sampled
    swapped = equals.with_parameters(
        Parameters(equals.priors[::-1], np.roll(equals.failures, 4), equals.leaks)
    )
    start = labelled_start(findings.with_labels(labels), swapped, Fixed(equals.structure))
    assert start.priors == pytest.approx(equals.priors, abs=0.06)
    assert labelled_start(findings, swapped, Fixed(equals.structure)) is swapped


def test_a_start_learns_from_all_labelled_records(equals, sampled):
    findings, diseases, _ = sampled
    labelled = findings.with_labels(diseases.astype(float))
    start = labelled_start(labelled, equals, Fixed(equals.structure))
    assert start.priors == pytest.approx(diseases.mean(axis=0), abs=1e-3)


def test_few_labels_make_nothing_known(equals):
    few = np.zeros((9, 2), dtype=bool)
    few[:4] = True
    fixed = Fixed(equals.structure)
    labels = Labels.of(equals.structure.diseases, np.ones_like(few), few)
    assert known_with(labels.counts(), fixed) is fixed
    few[4, 0] = True
    assert known_with(labels.counts(), fixed) is fixed  # only four without it
    more = np.vstack([few, ~few])
    labels = Labels.of(equals.structure.diseases, np.ones_like(more), more)
    assert known_with(labels.counts(), fixed).mask.priors.all()


@pytest.mark.parametrize("method", ["refined", "exact_em"])
def test_names_that_labels_hardly_tell_are_flagged(method):
    """Five cases made them known, and in 5 of 12 samples two thirds of the intervals were wrong."""
    structure = Structure.from_matrix(np.ones((2, 4)), diseases=["A", "B"])
    alike = NoisyOrNetwork(
        structure, [0.1] * 2, [0.4, 0.5, 0.5, 0.6, 0.6, 0.5, 0.5, 0.4], [0.02] * 4
    )
    findings, diseases = alike.sample(3000, rng=0, return_diseases=True)
    labels = np.where(np.arange(3000)[:, None] < 60, diseases, np.nan)
    assert (np.nansum(labels, axis=0) >= 5).all()
    estimate = fit(findings, structure, method, labels=labels)
    assert (estimate.flags.priors & Flag.SWAPPABLE).all()
    assert (estimate.flags.failures & Flag.SWAPPABLE).all()


def alike_with_labels(n_labels):
    structure = Structure.from_matrix(np.ones((2, 4)), diseases=["A", "B"])
    failures = [0.4, 0.5, 0.5, 0.6, 0.6, 0.5, 0.5, 0.4]
    alike = NoisyOrNetwork(structure, [0.1] * 2, failures, [0.02] * 4)
    findings, diseases = alike.sample(3000, rng=0, return_diseases=True)
    labels = np.where(np.arange(3000)[:, None] < n_labels, diseases, np.nan)
    return alike, findings.with_labels(labels)


@pytest.mark.parametrize("n_labels", [60, 1500])
def test_names_are_told_by_one_rule_wherever_the_records_are(n_labels, monkeypatch):
    """From counts of labelled records, and where these cannot be summed up, too."""
    alike, findings = alike_with_labels(n_labels)
    plan = NoisyOrLearner(alike.structure, method="pooled").find_plan()
    moments = count_moments(findings, plan)
    by_counts = fit(moments, alike.structure, "pooled")
    monkeypatch.setattr(ExactExpectation, "is_affordable", False)
    sampled = fit(findings, alike.structure)
    for estimate in by_counts, sampled:
        is_swappable = (estimate.flags.priors & Flag.SWAPPABLE) != 0
        assert is_swappable.tolist() == [n_labels == 60] * 2


@pytest.mark.parametrize("n_others", [0, 2])
def test_counts_tell_names_hardly_more_than_records_do(n_others):
    rng = np.random.default_rng(n_others)
    structure = Structure.from_matrix(np.ones((2 + n_others, 5)))
    failures = rng.uniform(0.2, 0.9, structure.n_edges)
    network = NoisyOrNetwork(structure, rng.uniform(0.05, 0.4, 2 + n_others), failures, [0.05] * 5)
    swapped = _swapped(network, 0, 1)
    for seed in range(10):
        findings, diseases = network.sample(40, rng=seed, return_diseases=True)
        findings = findings.with_labels(diseases)
        counts = count_moments(findings, MomentPlan.coupled(structure)).labelled
        by_records = _of_records(findings)
        gain = counted_height(counts, network) - counted_height(counts, swapped)
        assert gain <= 1.1 * (by_records(network) - by_records(swapped)) + 1.0


def test_names_that_beliefs_hardly_tell_are_flagged(equals, sampled):
    findings = sampled[0]

    def flags(weight, values=(0.1, 0.2)):
        means = Parameters(np.array(values), np.full(8, np.nan), np.full(4, np.nan))
        cases = Parameters(np.full(2, float(weight)), np.zeros(8), np.zeros(4))
        beliefs = Beliefs.weighted(equals.structure, means, cases)
        return fit(findings, equals.structure, beliefs=beliefs).flags

    assert (flags(10).priors & Flag.SWAPPABLE).all()
    assert not (flags(1000).priors & Flag.SWAPPABLE).any()
    assert (flags(1000, (0.15, 0.15)).priors & Flag.SWAPPABLE).all()  # as good for both


def test_labels_that_only_say_yes_are_told(equals, sampled):
    findings, diseases, _ = sampled
    labels = np.full(diseases.shape, np.nan)
    labels[np.flatnonzero(diseases[:, 0])[:300], 0] = 1.0
    with pytest.warns(
        NoisyOrWarning, match=r"all labels of 1 disease \('A'\) say that it is there"
    ):
        fit(findings, equals.structure, labels=labels)
    moments = count_moments(
        findings.with_labels(labels), NoisyOrLearner(equals.structure, method="pooled").find_plan()
    )
    with pytest.warns(NoisyOrWarning, match=r"all labels of 1 disease \('A'\)"):
        fit(moments, equals.structure, "pooled")


def test_labels_that_only_say_yes_are_told_before_anything_is_learned(equals, sampled, monkeypatch):
    findings, diseases, _ = sampled
    labels = np.where(diseases == 1, 1.0, np.nan)
    stop = replace(table_of_methods.METHODS["refined"], learn=lambda _: 1 / 0)
    monkeypatch.setitem(table_of_methods.METHODS, "refined", stop)
    with (
        pytest.warns(NoisyOrWarning, match="all labels of 2 diseases"),
        pytest.raises(ZeroDivisionError),
    ):
        fit(findings, equals.structure, labels=labels)


def test_a_series_is_the_labels_of_its_disease(equals, sampled):
    findings, diseases, _ = sampled
    series = pd.Series(diseases[:, 0].astype(float), name="A")
    one = fit(findings, equals.structure, labels=series)
    assert one == fit(findings, equals.structure, labels=series.to_frame())


# --- what is wrong ---


def findings_of(ids):
    structure = Structure.from_edges([("flu", "fever"), ("cold", "fever")])
    return Findings.from_numpy([[1], [0], [1]], structure, record_ids=ids)


def test_rows_of_no_record_are_counted_and_told():
    labels = pa.table({"record": ["a", "x", "y"], "flu": [1, 0, 0]})
    with pytest.warns(NoisyOrWarning, match="2 of 3 labels belong to no record .'x', 'y'. and"):
        findings = findings_of(["a", "b", "c"]).with_labels(labels)
    assert findings.labels.counts().seen.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            pa.table({"record": ["x"], "flu": [1]}),
            "other ids than the records: none of its 1 labels",
        ),
        (pa.table({"record": ["a", "a"], "flu": [1, 0]}), "more than one row for the records 'a'"),
        (
            pa.table({"record": ["a"], "fly": [1]}),
            "'fly' holds labels, .* no such disease; did you",
        ),
        (
            pa.table({"record": ["a"], "flu": [1], "gout": [0]}),
            "'gout' holds labels, but the structure has no such disease: correct its name, or rem",
        ),
        (pa.table({"record": ["a"], "ward": ["x"]}), "no column that is named after a disease"),
        (pa.table({"flu": [1, 0]}), "has 2 rows for 3 records"),
        (np.zeros((3, 3)), "shape records x 2 diseases, not .3, 3."),
        (np.zeros((2, 2)), "labels of 2 records, but findings of 3"),
        (np.full((3, 2), 2), "labels must be 1 .the disease was seen., 0"),
        ([["a", 1]] * 3, "labels must be 1 .the disease was seen., 0"),
    ],
)
def test_what_is_wrong_with_labels_is_told(labels, message):
    with pytest.raises(NoisyOrError, match=message):
        findings_of(["a", "b", "c"]).with_labels(labels)


def test_records_that_share_an_id_have_no_label():
    labels = pa.table({"record": ["a"], "flu": [1]})
    with pytest.raises(NoisyOrError, match="cannot be joined to records that share an id: 'a'"):
        findings_of(["a", "a", "b"]).with_labels(labels)


def test_other_columns_are_passed_over_and_told():
    labels = pa.table({"record": ["a", "b"], "flu": [1, None], "ward": ["x", "y"]})
    with pytest.warns(NoisyOrWarning, match="1 column named after no disease .'ward'. is passed"):
        found = findings_of(["a", "b", "c"]).with_labels(labels).labels
    assert found.unpacked()[0].tolist() == [[True, False], [False, False], [False, False]]


@pytest.mark.parametrize("method", ["refined", "exact_em"])
def test_a_label_that_contradicts_a_fixed_prior_is_refused(equals, sampled, method):
    findings, diseases, labels = sampled
    n = int(diseases[:200, 0].sum())
    with pytest.raises(NoisyOrError, match=f"'A' was seen in {n} records, but its prior is fixed"):
        fit(findings, equals.structure, method, labels=labels, fixed={"priors": {"A": 0.0}})
    with pytest.raises(NoisyOrError, match="'A' was seen to be absent in .* fixed at 1"):
        fit(findings, equals.structure, method, labels=labels, fixed={"priors": {"A": 1.0}})


def test_labels_where_they_cannot_be_used_are_refused(equals, sampled):
    findings, _, labels = sampled
    with pytest.raises(NoisyOrError, match="'sequential' does not use labels"):
        fit(findings, equals.structure, "sequential", labels=labels)
    with pytest.raises(NoisyOrError, match="needs a label of every disease in every record"):
        fit(findings, equals.structure, "observed", labels=labels)
    moments = fit(findings, equals.structure, "pooled").moments
    with pytest.raises(NoisyOrError, match="belong to records, and these are moments"):
        fit(moments, equals.structure, labels=labels)


def test_labels_count_where_diseases_are_sampled(equals, sampled, monkeypatch):
    """As on networks whose records cannot be summed up exactly."""
    monkeypatch.setattr(ExactExpectation, "is_affordable", False)
    findings, _, labels = sampled
    estimate = fit(findings, equals.structure, labels=labels)
    assert "bounded from below" in str(estimate.trace)
    assert not (estimate.flags.vector & (Flag.SWAPPABLE | Flag.UNCERTIFIED)).any()
    distances = (estimate.values.vector - equals.parameters.vector) / (
        estimate.standard_errors.vector
    )
    assert np.abs(distances).max() < 4.0
