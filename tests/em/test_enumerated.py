"""Second derivatives by enumeration, against differences of the scores."""

from pathlib import Path

import numpy as np
import pytest

from noisyor import Findings, NoisyOrLearner, NoisyOrNetwork, Structure
from noisyor.em.cause_models import LogisticModel
from noisyor.em.enumerated import can_be_enumerated, observed_information
from noisyor.em.joint_model import JointModel
from noisyor.em.mixed import MixedExpectation
from noisyor.exchange import read_model
from noisyor.learning.together import SHARE
from noisyor.network import Independent, Joint
from noisyor.parameters import from_log_odds, log_odds
from together import random_together

ECPE = Path(__file__).parents[3] / "shared" / "records" / "ecpe"


def model_of(network):
    causes = network.causes
    if isinstance(causes, Joint):
        return JointModel(causes.blocks, causes.n_diseases)
    return LogisticModel.of(causes.n_diseases, causes.loadings.shape[1], None)


def numerical_information(network, expectation, step=1e-4):
    """Negative differences of the derivatives of the log likelihood."""
    model, n_edges = model_of(network), network.structure.n_edges

    def derivatives(position):
        n_causes = len(model.is_free)
        causes = model.causes_at(position[:n_causes])
        items = from_log_odds(position[n_causes:])
        moved = NoisyOrNetwork(
            network.structure, None, items[:n_edges], items[n_edges:], causes=causes
        )
        return expectation.score(moved, model).derivatives

    items = log_odds(np.concatenate([network.failures, network.leaks]), 1e-12)
    start = np.concatenate([model.position_of(network.causes), items])
    rows = []
    for number in range(len(start)):
        move = step * (np.arange(len(start)) == number)
        rows.append((derivatives(start - move) - derivatives(start + move)) / (2.0 * step))
    return np.array(rows)


@pytest.mark.parametrize("kind", ["joint", "blocks", "trait", "traits"])
def test_second_derivatives_are_differences_of_the_first(kind):
    network = random_together(np.random.default_rng(2), 4, 6, kind)
    array = network.sample(200, rng=1).to_numpy().astype(float)
    rng = np.random.default_rng(3)
    array[rng.random(array.shape) < 0.3] = np.nan
    labels = rng.choice([0.0, 1.0, np.nan], (200, 4), p=[0.1, 0.1, 0.8])
    findings = Findings.from_numpy(array, network.structure).with_labels(labels)
    expectation = MixedExpectation(findings)
    assert can_be_enumerated(network, len(expectation.records.weights))
    found = observed_information(
        network, model_of(network), expectation.records, expectation.exact.seen
    )
    expected = numerical_information(network, expectation)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_what_is_too_much_is_not_enumerated():
    structure = Structure.from_matrix(np.ones((10, 3)))
    many = NoisyOrNetwork(structure, [0.1] * 10, [0.5] * 30, [0.1] * 3)
    assert not can_be_enumerated(many, 10)
    few = random_together(np.random.default_rng(0), 4, 6, "joint")
    assert can_be_enumerated(few, 1000)
    assert not can_be_enumerated(few, 10**9)
    with_age = random_together(np.random.default_rng(0), 4, 6, "covariates")
    assert isinstance(with_age.causes, Independent)
    assert not can_be_enumerated(with_age, 10)


@pytest.mark.slow
@pytest.mark.skipif(not ECPE.exists(), reason="the records of others are not here")
@pytest.mark.parametrize("kind", ["joint", "trait"])
def test_second_derivatives_of_ecpe(kind):
    structure = read_model(ECPE / "q_matrix.csv", "q-matrix")
    answers = Findings.read(ECPE / "responses.csv", structure, invert=True)
    estimate = NoisyOrLearner(structure, causes=kind).fit(answers).estimate_
    network = estimate.network
    expectation = MixedExpectation(answers)
    found = observed_information(
        network, model_of(network), expectation.records, expectation.exact.seen
    )
    expected = numerical_information(network, expectation)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
    model = model_of(network)
    n_causes = len(model.is_free)
    # Loadings have a weak prior, of which the errors know.
    weak = model.penalty(model.position_of(network.causes), SHARE)[2]
    expected[:n_causes, :n_causes] += np.diag(weak)
    covariance = np.linalg.pinv(expected, rcond=1e-10)
    errors = np.sqrt(np.diag(covariance))[n_causes:]
    items = np.concatenate([network.failures, network.leaks])
    learned = np.concatenate([*estimate.standard_errors][1:])
    np.testing.assert_allclose(learned, items * (1.0 - items) * errors, rtol=0.05)
    _, jacobian = model.reported(network.causes)
    errors = np.sqrt(np.diag(jacobian @ covariance[:n_causes, :n_causes] @ jacobian.T))
    np.testing.assert_allclose(estimate.learned_causes.standard_errors, errors, rtol=0.05)
