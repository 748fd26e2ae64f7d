"""Learning from counts of labelled records: sites that send counts, and no records."""

import numpy as np
import pytest

from noisyor import (
    MomentPlan,
    NoisyOrError,
    NoisyOrLearner,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
    count_moments,
    datasets,
)
from noisyor.learning import Flag, fit
from noisyor.learning.from_labels import LabelsSay
from noisyor.learning.methods import plan_for
from noisyor.moments.labelled import LabelledCounts


@pytest.fixture(scope="module")
def clinic():
    """A sample of the clinic of which a third is labelled."""
    network = datasets.clinic()
    findings, diseases = network.sample(6000, rng=3, return_diseases=True)
    labels = np.full(diseases.shape, np.nan)
    labels[:2000] = diseases[:2000]
    return network, findings, labels


def test_labels_alone_are_shares_and_ratios():
    structure = Structure.from_edges([("A", "a")])
    counts = LabelledCounts(np.array([100]), np.array([[[100, 20]]]), np.array([[[20, 15, 80, 8]]]))
    say, nothing = LabelsSay(counts), np.array([np.nan])
    values, errors = say.priors(np.array([0.7]), nothing)
    assert values == pytest.approx([0.2])
    assert errors == pytest.approx([np.sqrt(0.2 * 0.8 / 100)])
    many = LabelledCounts(
        *(10_000 * each for each in (counts.records, counts.diseases, counts.edges))
    )
    values, errors = LabelsSay(many).failures(np.array([0.7]), nothing)
    within, without = 5 / 20, 72 / 80
    assert values == pytest.approx([within / without], rel=1e-4)
    spread = (1 - within) / (within * 2e5) + (1 - without) / (without * 8e5)
    assert errors == pytest.approx(values * np.sqrt(spread), rel=1e-4)
    assert say.of_priors.tolist() == say.of_failures.tolist() == [True]
    assert structure.n_edges == counts.edges.shape[1]


@pytest.mark.parametrize("n_present", [0, 10])
def test_a_failure_of_which_all_or_none_of_few_cases_tell_is_not_certain(n_present):
    """It was 2e-23 with an error of 2e-12, or 1 without one."""
    counts = LabelledCounts(
        np.array([100]), np.array([[[100, 10]]]), np.array([[[10, n_present, 90, 1]]])
    )
    (value,), (error,) = LabelsSay(counts).failures(np.array([0.7]), np.array([np.nan]))
    if n_present:
        assert 0.02 < value < 0.1
    else:
        assert 0.9 < value < 0.995
    assert 0.02 < error < 0.2


def test_what_is_not_flagged_has_an_error_however_few_labels_there_are():
    structure = Structure.from_matrix(np.ones((2, 4)), diseases=["flu", "cold"])
    failures = [0.1, 0.2, 0.6, 0.95, 0.95, 0.6, 0.3, 0.2]
    network = NoisyOrNetwork(structure, [0.03, 0.05], failures, [0.02] * 4)
    held = []
    for seed in range(12):
        findings, diseases = network.sample(5000, rng=seed, return_diseases=True)
        labels = np.where(np.arange(5000)[:, np.newaxis] < 200, diseases, np.nan)
        found = fit(findings, structure, "pooled", labels=labels).failures
        is_sound = found.flags == 0
        assert (found.standard_errors[is_sound] > 1e-3).all()
        lower, upper = found.intervals()
        held.append(((lower <= failures) & (failures <= upper))[is_sound])
    assert np.concatenate(held).mean() > 0.9


def test_labels_are_worth_what_their_number_says():
    """An estimate as good as 100 cases, and 100 labels that say something else: in the middle."""
    counts = LabelledCounts(np.array([100]), np.array([[[100, 30]]]), np.zeros((1, 0, 4), int))
    error = np.sqrt(0.25 * 0.75 / 100)
    values, errors = LabelsSay(counts).priors(np.array([0.2]), np.array([error]))
    assert 0.24 < values[0] < 0.26
    assert errors == pytest.approx([np.sqrt(0.25 * 0.75 / 200)], rel=0.1)


def test_sites_together_learn_what_all_records_would(clinic):
    network, findings, labels = clinic
    plan = plan_for("pooled", network.structure)
    north = count_moments(findings[:3000].with_labels(labels[:3000]), plan)
    south = count_moments(findings[3000:], plan)
    merged = fit(north + south, network.structure, "pooled")
    learner = NoisyOrLearner(network.structure, method="pooled")
    learner.partial_fit(findings[:3000], labels[:3000]).partial_fit(findings[3000:])
    assert learner.estimate_ == merged
    unlabelled = fit((north + south).with_labelled(None), network.structure, "pooled")
    errors = [np.abs(each.values.priors - network.priors).mean() for each in (merged, unlabelled)]
    assert errors[0] < errors[1]
    assert (merged.standard_errors.priors <= 1.1 * unlabelled.standard_errors.priors).all()
    lower, upper = merged.interval_ends
    held = (lower.failures <= network.failures) & (network.failures <= upper.failures)
    assert held.mean() > 0.9


def test_pooled_takes_labels_beside_records(clinic):
    network, findings, labels = clinic
    estimate = fit(findings, network.structure, "pooled", labels=labels)
    without = fit(findings, network.structure, "pooled")
    distances = [np.abs(each.values.priors - network.priors).mean() for each in (estimate, without)]
    assert distances[0] < distances[1]


def test_labels_tell_diseases_with_equal_symptoms_from_counts():
    structure = Structure.from_matrix(np.ones((2, 4)), diseases=["A", "B"])
    failures = [0.2, 0.3, 0.6, 0.7, 0.7, 0.6, 0.3, 0.2]
    network = NoisyOrNetwork(structure, [0.1, 0.2], failures, [0.02] * 4)
    findings, diseases = network.sample(4000, rng=1, return_diseases=True)
    labels = np.where(np.arange(4000)[:, np.newaxis] < 500, diseases, np.nan)
    plan = plan_for("pooled", structure)
    for order in [0, 1], [1, 0]:  # whichever is called A
        moments = count_moments(findings.with_labels(labels[:, order]), plan)
        estimate = fit(moments, structure, "pooled")
        assert not (estimate.flags.priors & (Flag.SWAPPABLE | Flag.NOT_LEARNED)).any()
        assert not estimate.flags.failures.any()
        assert estimate.values.priors == pytest.approx(network.priors[order], abs=0.05)
        assert set(estimate.sources.priors) == {"labels"}
    one = count_moments(findings.with_labels(np.where([True, False], labels, np.nan)), plan)
    estimate = fit(one, structure, "pooled")
    assert not estimate.flags.priors[0]
    assert estimate.flags.priors[1]  # pairs do not tell it from what is left of A


def test_without_errors_labels_tell_what_is_lost_and_no_more(clinic):
    network, findings, labels = clinic
    plan = plan_for("pooled", network.structure)
    site = count_moments(findings.with_labels(labels), plan).in_groups(1)
    estimate = fit(site, network.structure, "pooled")
    without = fit(site.with_labelled(None), network.structure, "pooled")
    assert np.array_equal(estimate.values.priors, without.values.priors)


def test_counts_that_contradict_a_fixed_prior_are_refused(clinic):
    network, findings, labels = clinic
    plan = MomentPlan.coupled(network.structure) | plan_for("pooled", network.structure)
    moments = count_moments(findings.with_labels(labels), plan)
    name = network.structure.diseases[0]
    for records, given in (moments, None), (findings, labels):
        with pytest.raises(NoisyOrError, match="was seen in .* but its prior is fixed at 0"):
            fit(
                records, network.structure, "pooled",
                fixed={"priors": {name: 0.0}}, labels=given,
            )  # fmt: skip


def test_a_method_that_does_not_look_at_counted_labels_says_so(clinic):
    network, findings, labels = clinic
    plan = plan_for("sequential", network.structure)
    moments = count_moments(findings.with_labels(labels), plan)
    with pytest.warns(NoisyOrWarning, match="'sequential' does not use the labels"):
        fit(moments, network.structure, "sequential")
