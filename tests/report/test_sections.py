"""The sections that need no script: the opening with counts and reasons, schedule and truth."""

import numpy as np

from noisyor import Fixed, NoisyOrLearner, datasets


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
    assert page.data["knows"] == {"errors": False, "flags": False, "truth": False}
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
