"""Parameters held at given values, in schedules and in every method."""

import numpy as np
import pytest

import naive
from noisyor import (
    Fixed,
    MomentPlan,
    Moments,
    NoisyOrLearner,
    NoisyOrNetwork,
    Schedule,
    Structure,
    datasets,
    find_schedule,
)
from noisyor.errors import ParameterError
from noisyor.learning import Flag, learn_pooled, learn_sequential, plan_triplets

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


def test_exact_moments_and_known_failures_give_exact_priors():
    network = datasets.clinic()
    fixed = Fixed.of(network, "failures")
    schedule = find_schedule(network.structure, fixed=fixed)
    pairs = Moments.exact(network, MomentPlan.coupled(network.structure))
    moments = Moments.exact(network, plan_triplets(pairs, schedule, fixed=fixed))
    estimate = learn_pooled(moments, schedule, fixed=fixed)
    assert estimate.priors.values == pytest.approx(network.priors, rel=1e-3)


def test_a_given_disease_opens_what_it_had_hidden():
    """No triplet of Figure 2 is singly coupled; without A every one of B's is."""
    network = datasets.figure2(0)
    structure = network.structure
    a = structure.disease_index("A")
    fixed = Fixed(
        structure,
        priors={"A": network.priors[a]},
        failures={
            ("A", int(j)): network.failures[structure.edge_index("A", int(j))]
            for j in structure.children("A")
        },
    )
    assert not find_schedule(structure).is_complete
    schedule = find_schedule(structure, fixed=fixed)
    schedule.validate()
    assert schedule.is_complete
    moments = Moments.exact(network, schedule.plan())
    learned = learn_sequential(moments, schedule, fixed=fixed).network
    assert learned.failures == pytest.approx(network.failures, abs=1e-9)
    assert learned.leaks == pytest.approx(network.leaks, abs=1e-9)


def test_schedules_with_given_edges_equal_naive_ones(rng, tmp_path):
    for number in range(200):
        matrix = rng.random((rng.integers(2, 7), rng.integers(4, 12))) < 0.5
        structure = Structure.from_matrix(matrix)
        fixed = Fixed(
            structure,
            priors=np.where(rng.random(structure.n_diseases) < 0.5, 0.1, np.nan),
            failures=np.where(rng.random(structure.n_edges) < 0.5, 0.5, np.nan),
        )
        pairs = bool(number % 2)
        schedule = find_schedule(structure, pairs=pairs, fixed=fixed)
        schedule.validate()
        given = [tuple(edge) for edge in structure.edges[fixed.edges].tolist()]
        expected = naive.edge_depths([tuple(e) for e in structure.edges.tolist()], pairs, given)
        for edge, depth, is_given in zip(
            structure.edges.tolist(), schedule.depths, fixed.edges, strict=True
        ):
            assert depth == (0 if is_given else expected.get(tuple(edge), -1))
        schedule.save(tmp_path / "schedule.json")
        assert Schedule.load(tmp_path / "schedule.json") == schedule


def test_wrong_values_are_held_and_the_others_make_the_best_of_it():
    """The likelihood of the other parameters is as high as direct maximisation makes it."""
    from scipy.optimize import minimize
    from scipy.special import expit, logit

    network = datasets.figure1(2)
    structure = network.structure
    records = network.sample(5000, rng=0)
    counts = np.bincount(records.to_numpy() @ (1 << np.arange(5)), minlength=32)
    wrong = {"priors": {"A": 0.35}, "failures": {("B", "d"): 0.5}}
    fixed = Fixed(structure, **wrong)
    held = fixed.mask.vector
    given = fixed.values.vector[held]

    def log_likelihood(values):
        joint = NoisyOrNetwork(structure, *np.split(values, [2, 9])).joint(list(range(5)))
        return counts @ np.log(joint.transpose(4, 3, 2, 1, 0).ravel())

    def whole(position):
        values = np.empty(14)
        values[held], values[~held] = given, expit(position)
        return values

    truth = np.concatenate([network.priors, network.failures, network.leaks])
    best = minimize(
        lambda position: -log_likelihood(whole(position)), logit(truth[~held]), method="L-BFGS-B",
        bounds=[(-12, 12)] * int((~held).sum()),
    )  # fmt: skip
    learned = NoisyOrLearner(structure).fit(records, fixed=fixed).network_
    found = log_likelihood(np.concatenate([learned.priors, learned.failures, learned.leaks]))
    assert found > -best.fun - 3.0  # the weak priors cost a little


def test_a_known_prior_changes_the_failures_of_every_method():
    network = datasets.figure1(0)
    schedule = find_schedule(network.structure)
    moments = Moments.exact(network, schedule.plan())
    fixed = Fixed.of(network, "priors")
    learned = learn_sequential(moments, schedule, fixed=fixed).network
    assert learned.failures == pytest.approx(network.failures, abs=1e-9)
    other = Fixed(network.structure, priors=0.8 * network.priors)
    moved = learn_sequential(moments, schedule, fixed=other).network.failures - network.failures
    assert np.abs(moved).mean() > 0.02


def test_a_fixed_prior_leaves_nothing_weakly_identified(monkeypatch):
    """On large networks, whose information is inverted disease by disease."""
    monkeypatch.setattr("noisyor.learning.refined.is_small", lambda _: False)
    network = datasets.clinic()
    records = network.sample(3000, rng=0)
    fixed = Fixed.of(network, "priors")
    estimate = NoisyOrLearner(network.structure).fit(records, fixed=fixed).estimate_
    assert not estimate.failures.count(Flag.WEAKLY_IDENTIFIED)


def test_partial_fit_keeps_what_is_held():
    network = datasets.figure1(0)
    learner = NoisyOrLearner(network.structure, method="pooled")
    records = network.sample(300, rng=0)
    learner.partial_fit(records, fixed={"priors": {"A": 0.123}}).partial_fit(records)
    assert learner.network_.priors[0] == 0.123
    with pytest.raises(ParameterError, match="other fixed values"):
        learner.partial_fit(records, fixed={"priors": {"A": 0.2}})
