"""The sections that need no script: schedule and truth."""

import numpy as np

from noisyor import NoisyOrLearner, datasets


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
