"""Results are equal if all they have is equal; values cannot be changed."""

import copy
import functools

import numpy as np
import pytest

from noisyor import (
    Fixed,
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    analyse_skills,
    best_questions,
    check_identifiability,
    datasets,
    evaluate,
    explain,
    find_schedule,
    most_probable,
    posterior,
    posteriors,
)
from noisyor.comparison import pair_residuals
from noisyor.immutable import Immutable
from noisyor.learning import Verdict, learn_exact_em, predict_precision

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


# --- every value ---


@functools.cache
def values_of(seed, number=0):
    """Return a value of every public kind, found from records of a seed."""
    network = datasets.figure1(0)
    records = network.sample(600, rng=seed)
    learner = NoisyOrLearner(network.structure, method="pooled").fit(records)
    estimate, schedule = learner.estimate_, find_schedule(network.structure)
    together = NoisyOrLearner(network.structure, causes="joint").fit(records)
    loose = Structure.from_edges([(f"x{seed}", "a"), (f"x{seed}", "b")][: 2 - seed])
    n = loose.n_edges
    other = NoisyOrNetwork(loose, [0.1 + seed / 10], [0.5] * n, [0.1] * n)
    return {
        "structure": loose,
        "network": other,
        "findings": records,
        "estimate": estimate,
        "learned": estimate.priors,
        "parameters": estimate.values,
        "fixed": Fixed(loose, priors={0: 0.1}),
        "moments": estimate.moments,
        "plan": find_schedule(loose).plan(),
        "schedule": find_schedule(loose),
        "subnetwork": find_schedule(loose).unlearned()[0],
        "misfits": estimate.misfits(),
        "verdict": Verdict.of(estimate.misfits()),
        "posterior": posterior(estimate, ["a"]),
        "posteriors": posteriors(network, records[:20]),
        "explanation": explain(estimate, ["a"]),
        "questions": best_questions(estimate, ["a"]),
        "sets": most_probable(estimate, ["a"]),
        "identifiability": check_identifiability(loose),
        "tradeoff": check_identifiability(loose).tradeoffs[0],
        "dependent": check_identifiability(loose, causes="joint"),
        "comparison": evaluate(estimate, network, n_records=5),
        "residuals": pair_residuals(network, estimate.moments),
        "components": other.components,
        "causes": together.estimate_.learned_causes,
        "skills": analyse_skills(together.estimate_, records),
        "table": estimate.summary(),
        "complexity": schedule.sample_complexity(estimate.network),
    }


@pytest.mark.parametrize("name", list(values_of(0)))
def test_equality_copies_and_hashes_of_every_value(name):
    value, again, other = (each[name] for each in (values_of(0), values_of(0, 1), values_of(1)))
    assert value == again
    assert not value != again  # noqa: SIM202 - both operators are defined
    assert value != other
    assert value != 3
    assert copy.copy(value) == value
    assert copy.deepcopy(value) == value
    try:
        number = hash(value)
    except TypeError:
        return  # plainly refused
    assert number == hash(again)
