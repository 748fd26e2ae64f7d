"""Results are equal if all they have is equal; values cannot be changed."""

import copy

import numpy as np
import pytest

from noisyor import (
    NoisyOrLearner,
    best_questions,
    datasets,
    explain,
    most_probable,
    posterior,
    posteriors,
)
from noisyor.immutable import Immutable
from noisyor.learning import learn_exact_em, predict_precision

CLINIC = datasets.clinic()


class Point(Immutable):
    def __init__(self, x):
        self.x = x
        self.x = self.x + 1  # before it is sealed
        self._seal()


RESULTS = {
    "posterior": lambda rng: posterior(CLINIC, ["fever"] if rng else ["cough"]),
    "posteriors": lambda rng: posteriors(CLINIC, CLINIC.sample(20, rng=rng)),
    "explain": lambda rng: explain(CLINIC, ["fever"] if rng else ["cough"]),
    "questions": lambda rng: best_questions(CLINIC, ["fever"] if rng else ["cough"], draws=20),
    "sets": lambda rng: most_probable(CLINIC, ["fever"] if rng else ["cough"]),
    "pooled": lambda rng: (
        NoisyOrLearner(CLINIC.structure, method="pooled").fit(CLINIC.sample(500, rng=rng)).estimate_
    ),
    "exact_em": lambda rng: learn_exact_em(
        datasets.figure1(0).sample(200, rng=rng), datasets.figure1(0).structure
    ),
    "precision": lambda rng: predict_precision(datasets.figure1(rng), 1000),
}


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_results_are_compared_by_value(make):
    one, same, other = make(0), make(0), make(1)
    assert one == same
    assert one != other
    assert one != "something else"
    assert one in [other, same]
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_values_cannot_be_changed():
    with pytest.raises(AttributeError, match="cannot be changed"):
        CLINIC.priors = np.zeros(20)


def test_nothing_is_set_or_deleted_after_it_was_sealed():
    point = Point(1)
    with pytest.raises(AttributeError, match="a Point cannot be changed: .* instead of setting x"):
        point.x = 3
    with pytest.raises(AttributeError, match="setting y"):
        point.y = 3
    with pytest.raises(AttributeError, match="cannot be changed"):
        del point.x
    assert point.x == 2


def test_a_copy_is_the_value_itself():
    point = Point(1)
    assert copy.copy(point) is point
    assert copy.deepcopy([point])[0] is point
