"""The table of methods: what each needs, where its records are, and values that are fixed."""

import numpy as np
import pytest

from noisyor import Fixed, NoisyOrLearner, datasets
from noisyor.learning import Flag

METHODS = ("refined", "pooled", "sequential")


def some_fixed(network, rng):
    """Hold a third of everything at the truth."""
    values = {}
    for kind in "priors", "failures", "leaks":
        truth = getattr(network, kind)
        values[kind] = np.where(rng.random(len(truth)) < 1 / 3, truth, np.nan)
    return Fixed(network.structure, **values)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_held_comes_back_as_it_was_given(method, rng):
    network = datasets.clinic()
    fixed = some_fixed(network, rng)
    learner = NoisyOrLearner(network.structure, method=method)
    estimate = learner.fit(network.sample(2000, rng=0), fixed=fixed).estimate_
    for kind, part in zip(("priors", "failures", "leaks"), estimate.parts.values(), strict=True):
        held = getattr(fixed.mask, kind)
        assert 0 < held.sum() < len(held)
        assert (part.values[held] == getattr(network, kind)[held]).all()
        assert (part.standard_errors[held] == 0).all()
        assert (part.flags[held] == Flag.FIXED).all()
        assert not (part.flags[~held] & Flag.FIXED).any()
    row = estimate.summary().to_pylist()[int(np.flatnonzero(fixed.mask.priors)[0])]
    assert row["flags"] == "fixed at the value that was given"
    assert row["lower"] == row["upper"] == row["value"]


@pytest.mark.parametrize("method", METHODS)
def test_bounds_can_be_held(method):
    network = datasets.figure1(0)
    fixed = {"leaks": {"a": 0.0}, "failures": {("A", "b"): 1.0, ("B", "d"): 0}, "priors": {"B": 1}}
    learner = NoisyOrLearner(network.structure, method=method)
    learned = learner.fit(network.sample(500, rng=0), fixed=fixed).network_
    assert learned.leaks[0] == 0.0
    assert learned.priors[1] == 1.0
    assert learned.failures[learned.structure.edge_index("A", "b")] == 1.0


@pytest.mark.parametrize("method", ["refined", "pooled"])
def test_known_failures_and_leaks_make_better_priors(method):
    network = datasets.clinic()
    free, held, covered = [], [], []
    for seed in range(2):
        records = network.sample(3000, rng=seed)
        learner = NoisyOrLearner(network.structure, method=method)
        free.append(np.abs(learner.fit(records).network_.priors - network.priors).sum())
        part = learner.fit(records, fixed=Fixed.of(network, "failures", "leaks")).estimate_.priors
        held.append(np.abs(part.values - network.priors).sum())
        lower, upper = part.intervals()
        covered.append((lower <= network.priors) & (network.priors <= upper))
    assert np.mean(held) < np.mean(free)
    assert np.mean(covered) > 0.8
