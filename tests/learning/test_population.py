"""Records that were chosen by a disease: failures are right, priors are those of the population."""

import numpy as np
import pytest

from noisyor import Findings, NoisyOrError, NoisyOrLearner, datasets
from noisyor.learning import fit, of_population


@pytest.mark.parametrize("share_labelled", [0.0, 0.3])
def test_a_case_control_sample_teaches_the_population(share_labelled):
    network = datasets.figure1(rng=0)
    findings, diseases = network.sample(40_000, rng=1, return_diseases=True)
    rng = np.random.default_rng(2)
    chosen = rng.random(len(diseases)) < np.where(diseases[:, 0], 0.9, 0.15)
    sample = Findings.from_numpy(findings.to_numpy()[chosen], network.structure)
    is_seen = rng.random(chosen.sum())[:, np.newaxis] < share_labelled
    labels = np.where(is_seen, diseases[chosen], np.nan) if share_labelled else None
    found = fit(sample, network.structure, labels=labels)
    right = of_population(found, {"A": (0.9, 0.15)})
    errors = np.maximum(right.standard_errors.vector, 1e-3)
    distances = (right.values.vector - network.parameters.vector) / errors
    assert np.abs(distances).max() < 4.0
    assert abs(found.values.priors[0] - network.priors[0]) > 10 * found.standard_errors.priors[0]
    assert right.values.priors[1] == found.values.priors[1]
    # Its own records are those of the sample: whether they fit was decided before.
    assert right.verdict == found.verdict
    assert right.verdict.fits


def test_wrong_fractions_are_refused():
    network = datasets.figure1(rng=0)
    estimate = fit(network.sample(500, rng=1), network.structure, fixed={"priors": {"A": 0.3}})
    for pair in (0.0, 1.0), (1.0,), (0.5, 2.0), "half":
        with pytest.raises(NoisyOrError, match="must be two numbers above 0 and up to 1"):
            of_population(estimate, {"B": pair})
    with pytest.raises(NoisyOrError, match="prior of 'A' is fixed or believed"):
        of_population(estimate, {"A": (1.0, 0.1)})
    with pytest.raises(NoisyOrError, match="'C'"):
        of_population(estimate, {"C": (1.0, 0.1)})


def test_diseases_that_occur_together_are_refused():
    network = datasets.figure1(rng=0)
    learner = NoisyOrLearner(network.structure, causes="joint").fit(network.sample(500, rng=1))
    with pytest.raises(NoisyOrError, match="sampling fractions correct the priors of independent"):
        of_population(learner.estimate_, {"A": (1.0, 0.1)})
