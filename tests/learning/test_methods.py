"""The table of methods: what each needs, where its records are, and values that are fixed."""

import numpy as np
import pytest

from noisyor import (
    Fixed,
    MomentPlan,
    NoisyOrLearner,
    Structure,
    count_moments,
    datasets,
)
from noisyor.errors import ParameterError
from noisyor.learning import Flag
from noisyor.learning.methods import (
    METHODS,
    find_method,
    fit,
    pairs_to_count,
    plan_for,
)

FROM_COUNTS = ("refined", "pooled", "sequential")


def some_fixed(network, rng):
    """Hold a third of everything at the truth."""
    values = {}
    for kind in "priors", "failures", "leaks":
        truth = getattr(network, kind)
        values[kind] = np.where(rng.random(len(truth)) < 1 / 3, truth, np.nan)
    return Fixed(network.structure, **values)


@pytest.mark.parametrize("method", FROM_COUNTS)
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


@pytest.mark.parametrize("method", FROM_COUNTS)
def test_bounds_can_be_held(method):
    network = datasets.figure1(0)
    fixed = {"leaks": {"a": 0.0}, "failures": {("A", "b"): 1.0, ("B", "d"): 0}, "priors": {"B": 1}}
    learner = NoisyOrLearner(network.structure, method=method)
    learned = learner.fit(network.sample(500, rng=0), fixed=fixed).network_
    assert learned.leaks[0] == 0.0
    assert learned.priors[1] == 1.0
    assert learned.failures[learned.structure.edge_index("A", "b")] == 1.0


@pytest.mark.slow
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


# --- the table ---


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_or_says_what_it_needs(method):
    network = datasets.figure1(0)
    findings, diseases = network.sample(1000, rng=1, return_diseases=True)
    if METHODS[method].needs_labels:
        with pytest.raises(ParameterError, match="diseases"):
            fit(findings, network.structure, method)
    labels = diseases if METHODS[method].needs_labels else None
    estimate = fit(findings, network.structure, method, labels=labels)
    assert estimate.method == method
    assert estimate.n_records == 1000
    assert estimate.is_complete == (method != "uniform")


@pytest.mark.parametrize("method", METHODS)
def test_counts_are_enough_or_are_refused(method):
    network = datasets.figure1(0)
    findings = network.sample(1000, rng=1)
    if METHODS[method].from_counts:
        moments = count_moments(findings, plan_for(method, network.structure))
        estimate = fit(moments, network.structure, method)
        assert estimate.is_complete
        # Refined has no records to refine on.
        assert estimate.method == ("pooled" if method == "refined" else method)
    else:
        moments = count_moments(findings, MomentPlan.all_pairs(network.structure))
        with pytest.raises(ParameterError, match="learns from records, not from moments"):
            fit(moments, network.structure, method)
        with pytest.raises(ParameterError, match="there is no plan"):
            plan_for(method, network.structure)


def test_an_unknown_method_is_refused_with_those_there_are():
    with pytest.raises(ParameterError, match="no method 'magic'; known: refined, pooled"):
        find_method("magic")


def test_all_pairs_are_counted_where_they_are_few():
    few = Structure.from_edges([("A", "a"), ("A", "b"), ("B", "c")])
    assert pairs_to_count(few).pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    many = Structure.from_edges([(f"D{j // 2}", f"s{j}") for j in range(501)])
    assert len(pairs_to_count(many).pairs) == 250


def test_a_plan_has_what_the_schedule_needs():
    network = datasets.figure1(0)
    structure = network.structure
    sequential, pooled = (plan_for(each, structure) for each in ("sequential", "pooled"))
    fewer = plan_for("sequential", structure, fixed=Fixed.of(network, "priors", "failures"))
    assert len(sequential.pairs) < len(pooled.pairs) == 10
    assert len(fewer.triplets) == 0 < len(sequential.triplets)
