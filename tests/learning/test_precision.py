"""Standard errors predicted before there is data."""

import numpy as np
import pytest

from noisyor import NoisyOrLearner, NoisyOrNetwork, datasets
from noisyor.errors import ParameterError
from noisyor.learning import precision, predict_precision


@pytest.mark.slow
@pytest.mark.parametrize("is_small", [True, False])
def test_predictions_come_true(is_small, monkeypatch):
    """The errors that learning states later are those that were predicted from the truth."""
    monkeypatch.setattr(precision, "is_small", lambda _: is_small)
    network = datasets.clinic()
    predicted = predict_precision(network, 3000).standard_errors
    stated = NoisyOrLearner(network.structure).fit(network.sample(3000, rng=3)).estimate_
    for expected, found in zip(predicted, stated.standard_errors, strict=True):
        # Disease by disease, what two diseases share is left out of the prediction.
        assert np.median(found / expected) == pytest.approx(1.0, abs=0.15 if is_small else 0.25)


def test_four_times_the_records_halve_the_errors():
    network = datasets.figure1(1)
    few, many = (predict_precision(network, n) for n in (100_000, 400_000))
    for one, other in zip(few.standard_errors, many.standard_errors, strict=True):
        assert other == pytest.approx(one / 2, rel=0.05)  # weak priors
    needed = few.records_needed(0.01)
    assert needed.failures == pytest.approx(many.records_needed(0.01).failures, rel=0.01)
    rows = few.summary(wanted=0.01).to_pylist()
    assert [row["parameter"] for row in rows] == ["prior"] * 2 + ["failure"] * 7 + ["leak"] * 5
    assert rows[2]["records_needed"] == np.ceil(needed.failures[0])
    assert all(row["certified"] for row in rows)


def test_the_records_needed_do_not_depend_on_those_asked_about():
    network = datasets.clinic()
    few, many = (predict_precision(network, n).records_needed(0.01) for n in (1000, 1_000_000))
    assert few.failures == pytest.approx(many.failures, rel=0.05)


def test_too_rare_a_disease_has_no_prediction():
    clinic = datasets.clinic()
    priors = clinic.priors.copy()
    priors[3] = 1e-6
    guess = NoisyOrNetwork(clinic.structure, priors, clinic.failures, clinic.leaks)
    predicted = predict_precision(guess, 10_000)
    assert np.isnan(predicted.standard_errors.priors).nonzero()[0].tolist() == [3]
    assert np.isnan(predicted.standard_errors.failures[clinic.structure.edges_of(3)]).all()
    rows = predicted.summary().to_pylist()
    assert rows[3]["standard_error"] is rows[3]["records_needed"] is None


def test_what_no_schedule_certifies_is_said():
    rows = predict_precision(datasets.figure2(0), 1000).summary().to_pylist()
    assert not any(row["certified"] for row in rows)


def test_a_guess_may_hold_0_and_1():
    network = datasets.figure1(0)
    guess = type(network)(network.structure, [0.0, 1.0], np.eye(1, 7)[0], np.zeros(5))
    predicted = predict_precision(guess, 1000)
    assert np.isnan(predicted.standard_errors.failures[guess.structure.edges_of(0)]).all()
    assert (predicted.standard_errors.failures[guess.structure.edges_of(1)] > 0.0).all()
    assert (predicted.standard_errors.leaks > 0.0).all()


def test_what_cannot_be_predicted_is_refused():
    with pytest.raises(ParameterError, match="at least 1"):
        predict_precision(datasets.figure1(0), 0)
    with pytest.raises(ParameterError, match="whole number"):
        predict_precision(datasets.figure1(0), float("nan"))
    with pytest.raises(ParameterError, match="expected a NoisyOrNetwork"):
        predict_precision(datasets.figure1(0).structure, 10)
    for wrong in 0, "x":
        with pytest.raises(ParameterError, match="positive"):
            predict_precision(datasets.figure1(0), 10).records_needed(wrong)
