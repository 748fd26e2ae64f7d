"""The baselines: each against its slow twin, and all through the same interface."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from noisyor.baselines import variational_em
from noisyor.baselines.exact_em import EmSteps
from noisyor.inference.exact import ExactInference
from scipy.optimize import minimize

import naive
from noisyor import (
    Findings,
    Fixed,
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    count_moments,
    datasets,
    learn_exact_em,
    learn_maximum_likelihood,
    learn_observed,
    learn_uniform,
    learn_variational_em,
)
from noisyor.errors import ParameterError, StructureError
from noisyor.learning import Flag

CLIMBERS = [learn_exact_em, learn_variational_em, learn_maximum_likelihood]


def random_network(rng, most_diseases=4, most_symptoms=5):
    n, m = rng.integers(1, most_diseases + 1), rng.integers(2, most_symptoms + 1)
    matrix = rng.random((n, m)) < 0.7
    matrix[0, 0] = True
    structure = Structure.from_matrix(matrix)
    return NoisyOrNetwork(
        structure,
        rng.uniform(0.1, 0.6, n),
        rng.uniform(0.1, 0.9, structure.n_edges),
        rng.uniform(0.02, 0.3, m),
    )


def with_unknown(findings, rng):
    rows = findings.to_numpy().astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    return Findings.from_numpy(rows, findings.structure)


def naive_lists(network):
    failures = np.ones((network.structure.n_diseases, network.structure.n_symptoms))
    failures[tuple(network.structure.edges.T)] = network.failures
    return network.priors.tolist(), failures.tolist(), network.leaks.tolist()


def naive_rows(findings):
    return [
        [None if np.isnan(value) else int(value) for value in row]
        for row in findings.to_numpy().astype(float).tolist()
    ]


# --- exact EM and maximum likelihood ---


def test_a_step_of_em_is_that_of_the_naive_twin(rng):
    for _ in range(30):
        network = random_network(rng)
        findings = with_unknown(network.sample(20, seed=int(rng.integers(10**6))), rng)
        start = random_start(network.structure, rng)
        steps = EmSteps(findings, Fixed(network.structure), None)
        expected = steps.expect(start)
        found = steps.maximise(expected, start)
        total, priors, failures, leaks = naive.em_step(*naive_lists(start), naive_rows(findings))
        assert expected.log_likelihood == pytest.approx(total, rel=1e-10)
        assert found.priors == pytest.approx(priors, abs=2e-6)
        of_edges = np.array(failures)[tuple(network.structure.edges.T)]
        assert found.failures == pytest.approx(of_edges, abs=2e-6)
        assert found.leaks == pytest.approx(leaks, abs=2e-6)


def random_start(structure, rng):
    return NoisyOrNetwork(
        structure,
        rng.uniform(0.1, 0.9, structure.n_diseases),
        rng.uniform(0.1, 0.9, structure.n_edges),
        rng.uniform(0.1, 0.5, structure.n_symptoms),
    )


def parameters(network):
    return np.concatenate([network.priors, network.failures, network.leaks])


def moved(network, values):
    structure = network.structure
    cuts = structure.n_diseases, structure.n_diseases + structure.n_edges
    return NoisyOrNetwork(structure, *np.split(values, cuts))


def test_slopes_of_the_likelihood_agree_with_differences(rng):
    for _ in range(10):
        network = random_network(rng)
        findings = with_unknown(network.sample(50, seed=1), rng)
        steps = EmSteps(findings, Fixed(network.structure), None)
        start = random_start(network.structure, rng)
        values = parameters(start)
        found = steps.gradient(steps.expect(start), start)
        for k in range(len(values)):
            step = 1e-6 * (np.arange(len(values)) == k)
            high, low = (
                steps.expect(moved(start, values + by)).log_likelihood for by in (step, -step)
            )
            by_log_odds = (high - low) / 2e-6 * values[k] * (1.0 - values[k])
            assert found[k] == pytest.approx(by_log_odds, abs=1e-4)


def test_scores_add_up_to_the_slopes(rng):
    network = random_network(rng)
    structure = network.structure
    findings = with_unknown(network.sample(200, seed=1), rng)
    one_by_one = np.zeros((len(parameters(network)),) * 2)
    for row in findings.to_numpy().astype(float):
        one = Findings.from_numpy(row[np.newaxis], structure)
        steps = EmSteps(one, Fixed(structure), None)
        slopes = steps.gradient(steps.expect(network), network)
        values = parameters(network)
        slopes = slopes / (values * (1.0 - values))
        priors, failures, leaks = np.split(
            slopes, [structure.n_diseases, structure.n_diseases + structure.n_edges]
        )
        slopes = np.concatenate([failures, priors, leaks])  # the order of the information
        one_by_one += np.outer(slopes, slopes)
    assert ExactInference(findings).information(network) == pytest.approx(one_by_one, rel=1e-8)


def test_exact_em_and_maximum_likelihood_agree_and_never_fall():
    for seed in range(4):
        network = datasets.figure1(seed)
        findings = network.sample(10_000, seed=seed)
        ends = []
        for learn in learn_exact_em, learn_maximum_likelihood:
            estimate = learn(findings, network.structure, seed=seed)
            trace = estimate.trace
            assert (np.diff(trace.values) >= 0.0).all()
            assert len(trace.ends) == 4
            assert trace.values[-1] == trace.ends.max()
            ends.append(trace.values[-1])
        assert ends[0] == pytest.approx(ends[1], rel=1e-6)


def test_intervals_of_exact_em_hold_the_truth():
    held = known = 0
    for seed in range(20):
        network = datasets.figure1(seed)
        estimate = learn_exact_em(network.sample(20_000, seed=seed), network.structure, restarts=2)
        for part, truth in zip(
            estimate.parts.values(), (network.priors, network.failures, network.leaks), strict=True
        ):
            lower, upper = part.intervals()
            held += ((lower <= truth) & (truth <= upper)).sum()
            known += len(truth)
    assert 0.90 <= held / known <= 0.99


def test_exact_em_refuses_what_is_out_of_reach():
    structure = Structure.from_matrix(np.ones((30, 40)))
    findings = Findings.from_numpy(np.ones((3, 40)), structure)
    for learn in learn_exact_em, learn_maximum_likelihood:
        with pytest.raises(ParameterError, match="exact inference is out of reach: 1 of 1"):
            learn(findings, structure)


# --- variational EM ---


def climber_of(findings, fixed=None):
    structure = findings.structure
    return variational_em._Climber(findings, fixed or Fixed(structure), None)


def test_the_bound_is_that_of_the_naive_twin_and_below_the_likelihood(rng):
    for _ in range(40):
        network = random_network(rng)
        findings = with_unknown(network.sample(1, seed=int(rng.integers(10**6))), rng)
        climber = climber_of(findings)
        start = random_start(network.structure, rng)
        n_entries = np.diff(climber._flat.entry_offsets)
        spread = 1.0 / np.repeat(n_entries, n_entries)
        climber._entries.shares[climber._flat.order] = spread
        _, bound = climber._step(start)
        row = naive_rows(findings)[0]
        lists = naive_lists(start)
        entries = climber._entries
        shares, posteriors = {}, posteriors_of(start, row, entries)
        for edge, share in zip(entries.edges, entries.shares, strict=True):
            shares[tuple(network.structure.edges[edge].tolist())] = share
        expected = naive.variational_bound(*lists, row, posteriors, shares)
        assert bound == pytest.approx(expected, rel=1e-9)
        values = {j: value for j, value in enumerate(row) if value is not None}
        exact = np.log(naive.joint_probability(*lists, values))
        assert bound <= exact + 1e-12


def posteriors_of(network, row, entries):
    """Return the posteriors of one record; in closed form without a present finding."""
    structure = network.structure
    log_odds = np.log(network.priors) - np.log1p(-network.priors)
    for edge, (disease, symptom) in enumerate(structure.edges.tolist()):
        if row[symptom] == 0:
            log_odds[disease] += np.log(network.failures[edge])
    posteriors = 1.0 / (1.0 + np.exp(-log_odds))
    posteriors[structure.edges[entries.edges, 0]] = entries.posteriors
    return posteriors.tolist()


def test_the_bound_never_falls(rng):
    for seed in range(6):
        network = random_network(rng, 5, 8)
        findings = with_unknown(network.sample(300, seed=seed), rng)
        estimate = learn_variational_em(
            findings, network.structure, restarts=2, seed=seed, tolerance=0.0, max_steps=60
        )
        values = estimate.trace.values
        assert (np.diff(values) >= -1e-9 * np.abs(values[1:])).all()


def test_the_m_step_cannot_be_bettered(rng):
    network = random_network(rng, 3, 5)
    findings = network.sample(200, seed=0)
    climber = climber_of(findings)
    start = random_start(network.structure, rng)
    n_entries = np.diff(climber._flat.entry_offsets)
    climber._entries.shares[climber._flat.order] = 1.0 / np.repeat(n_entries, n_entries)
    best, _ = climber._step(start)
    model = climber._model(best)
    entries, weights = climber._entries, climber._flat.weights

    def value(theta, theta0):
        total = -(climber._known - climber._present) @ theta0
        q, mu = entries.shares, entries.posteriors
        of_entries = weights[entries.records]
        symptoms = network.structure.edges[entries.edges, 1]
        within = np.log(-np.expm1(-theta0[symptoms] - theta[entries.edges] / q))
        without = np.log(-np.expm1(-theta0[symptoms]))
        total += (of_entries * q * (mu * within + (1.0 - mu) * without)).sum()
        cases = best.priors * findings.n_records
        taken = np.bincount(entries.edges, of_entries * mu, minlength=len(theta))
        return total - ((cases[network.structure.edges[:, 0]] - taken) * theta).sum()

    top = value(model.theta, model.theta0)
    for k in np.unique(network.structure.edges[:, 1]):  # others are their frequencies
        for factor in 0.99, 1.01:
            theta0 = model.theta0.copy()
            theta0[k] *= factor
            assert value(model.theta, theta0) <= top + 1e-9


def test_variational_em_prunes_edges_on_figure_1():
    """Section 4.1: it gives b and c to one of the parents, by failures close to 1 or 0."""
    worse = []
    for seed in range(4):
        network = datasets.figure1(seed)
        findings = network.sample(10_000, seed=seed)
        errors = []
        for learn in learn_variational_em, learn_exact_em:
            learned = learn(findings, network.structure, restarts=3).network
            errors.append(np.abs(learned.failures - network.failures).sum())
        worse.append(errors[0] / errors[1])
    assert np.mean(worse) > 2.0


# --- diseases seen ---


def test_observed_counts_what_is_seen(rng):
    network = random_network(rng)
    sampled, diseases = network.sample(3000, seed=0, return_diseases=True)
    findings = with_unknown(sampled, rng)
    estimate = learn_observed(findings, network.structure, diseases)
    rows = findings.to_numpy().astype(float)
    for edge, (i, j) in enumerate(network.structure.edges.tolist()):
        known = ~np.isnan(rows[:, j])
        absent = rows[:, j] == 0
        within = absent[known & diseases[:, i]].mean()
        without = absent[known & ~diseases[:, i]].mean()
        assert estimate.failures.values[edge] == pytest.approx(min(within / without, 1.0))
    assert estimate.priors.values == pytest.approx(diseases.mean(axis=0))
    assert not estimate.failures.flags.any()


def test_the_regression_maximises_the_likelihood_given_the_diseases(rng):
    structure = Structure.from_matrix(np.ones((3, 1)))
    network = NoisyOrNetwork(structure, [0.3, 0.4, 0.5], [0.3, 0.6, 0.8], [0.1])
    findings, diseases = network.sample(2000, seed=0, return_diseases=True)
    present = findings.to_numpy()[:, 0].astype(bool)

    def cost(position):
        absent = (1.0 - position[3]) * np.prod(np.where(diseases, position[:3], 1.0), axis=1)
        return -np.log(np.where(present, 1.0 - absent, absent)).sum()

    best = minimize(cost, [0.5, 0.5, 0.5, 0.2], bounds=[(1e-3, 0.999)] * 4, tol=1e-12)
    estimate = learn_observed(
        findings, structure, diseases, how="likelihood", tolerance=1e-12, max_steps=2000
    )
    found = [*estimate.failures.values, *estimate.leaks.values]
    assert found == pytest.approx(best.x, abs=1e-3)
    assert estimate.trace.values[-1] == pytest.approx(-best.fun, rel=1e-8)
    assert (np.diff(estimate.trace.values) >= -1e-9).all()


def test_intervals_of_observed_hold_the_truth():
    network = datasets.clinic()
    findings, diseases = network.sample(20_000, seed=0, return_diseases=True)
    part = learn_observed(findings, network.structure, diseases).failures
    lower, upper = part.intervals()
    assert ((lower <= network.failures) & (network.failures <= upper)).mean() > 0.88


# --- all of them ---


@pytest.mark.parametrize("learn", CLIMBERS)
def test_seeds_fixed_values_and_progress(learn):
    network = datasets.figure1(0)
    findings = network.sample(500, seed=0)
    fixed = Fixed(network.structure, priors={"A": 0.4}, failures={("B", "c"): 0.7})
    seen = []
    one, same, other = (
        learn(findings, network.structure, restarts=1, seed=seed, fixed=fixed, progress=seen.append)
        for seed in (0, 0, 1)
    )
    assert (one.failures.values == same.failures.values).all()
    assert one.trace.values[0] != other.trace.values[0]
    assert one.priors.values[0] == 0.4
    assert one.priors.flags[0] == Flag.FIXED
    edge = network.structure.edges.tolist().index([1, network.structure.symptoms.index("c")])
    assert one.failures.values[edge] == 0.7
    assert set(seen) == {500}


@pytest.mark.parametrize("learn", CLIMBERS)
def test_wrong_arguments_are_told(learn):
    network = datasets.figure1(0)
    findings = network.sample(50, seed=0)
    with pytest.raises(ParameterError, match="restarts must be a whole number from 1 on, not 0"):
        learn(findings, network.structure, restarts=0)
    for wrong in {"seed": -1}, {"restarts": 2.5}, {"max_steps": 0}:
        with pytest.raises(ParameterError, match="must be a whole number"):
            learn(findings, network.structure, **wrong)
    with pytest.raises(ParameterError, match="there are no records"):
        learn(network.sample(0, seed=0), network.structure)
    with pytest.raises(StructureError, match="other symptoms"):
        learn(findings, datasets.clinic().structure)


def test_wrong_diseases_are_told():
    network = datasets.figure1(0)
    findings, diseases = network.sample(50, seed=0, return_diseases=True)
    for wrong, text in (
        (None, "give them, records x diseases"),
        (diseases[:40], r"of shape \(50, 2\), not \(40, 2\)"),
        (diseases * 2, "must be 0 or 1"),
    ):
        with pytest.raises(ParameterError, match=text):
            learn_observed(findings, network.structure, wrong)
    with pytest.raises(ParameterError, match="'ratio' or 'likelihood', not 'magic'"):
        learn_observed(findings, network.structure, diseases, how="magic")


def test_uniform_looks_at_nothing():
    network = datasets.figure1(0)
    estimate = learn_uniform(network.sample(50, seed=0), network.structure)
    assert (estimate.network.failures == 0.5).all()
    assert (estimate.network.priors == 0.5).all()
    assert (estimate.network.leaks == 1e-6).all()
    assert not estimate.failures.is_learned.any()


CLIMBING = ["exact_em", "variational_em", "maximum_likelihood"]
METHODS = [*CLIMBING, "observed", "observed_likelihood", "uniform"]


@pytest.mark.parametrize("method", METHODS)
def test_the_learner_reaches_each(method):
    network = datasets.figure1(0)
    findings, diseases = network.sample(300, seed=0, return_diseases=True)
    learner = NoisyOrLearner(network.structure, method=method, restarts=2)
    estimate = learner.fit(findings.to_numpy(), diseases).estimate_
    assert estimate.method == method
    assert estimate.summary().num_rows == 14
    assert estimate.misfits() is not None
    moments = count_moments(
        findings, NoisyOrLearner(network.structure, method="pooled").find_plan()
    )
    with pytest.raises(ParameterError, match="learns from records, not from moments"):
        learner.fit(moments)
    with pytest.raises(ParameterError, match="there is no plan"):
        learner.find_plan()


def test_what_cannot_be_known_is_flagged_by_baselines_too():
    structure = Structure.from_matrix(np.ones((1, 2)))
    network = NoisyOrNetwork(structure, [0.3], [0.4, 0.6], [0.05, 0.05])
    estimate = learn_exact_em(network.sample(1000, seed=0), structure)
    assert (estimate.failures.flags & Flag.UNCERTIFIED).all()
    assert np.isnan(estimate.failures.standard_errors).all()
    twins = NoisyOrNetwork(
        Structure.from_matrix(np.ones((2, 5))), [0.3, 0.2], np.linspace(0.2, 0.8, 10), [0.05] * 5
    )
    estimate = learn_variational_em(twins.sample(500, seed=0), twins.structure)
    assert (estimate.failures.flags & Flag.SWAPPABLE).all()


# --- edges ---


def test_many_shared_findings_and_few_diseases():
    for n in 54, 55, 60, 64, 70, 130:
        structure = Structure.from_matrix(np.ones((2, n)))
        network = NoisyOrNetwork(structure, [0.3, 0.2], np.full(2 * n, 0.4), np.full(n, 0.05))
        found = ExactInference(Findings.from_numpy(np.ones((1, n)), structure)).expect(network)
        a, b = 1.0 - 0.95 * 0.4, 1.0 - 0.95 * 0.16
        expected = np.log(0.56 * 0.05**n + (0.24 + 0.14) * a**n + 0.06 * b**n)
        assert found.log_likelihood == pytest.approx(expected, rel=1e-9)


def test_a_raised_budget_does_not_make_the_impossible_possible():
    structure = Structure.from_matrix(np.ones((25, 30)))
    findings = Findings.from_numpy(np.ones((2, 30)), structure)
    with pytest.raises(ParameterError, match="30 present findings far more"):
        learn_exact_em(findings, structure, most_operations=2.0**40)
    with pytest.raises(ParameterError, match="most_operations must be at least 1"):
        learn_exact_em(findings, structure, most_operations=0)


@pytest.mark.parametrize("method", METHODS)
def test_all_parameters_can_be_held(method):
    network = datasets.figure1(0)
    findings, diseases = network.sample(100, seed=0, return_diseases=True)
    learner = NoisyOrLearner(network.structure, method=method)
    fixed = Fixed.of(network, "priors", "failures", "leaks")
    estimate = learner.fit(findings, diseases, fixed=fixed).estimate_
    assert estimate.network.failures == pytest.approx(network.failures)
    assert (estimate.leaks.flags == Flag.FIXED).all()


def test_a_table_of_diseases_is_matched_by_name():
    network = datasets.figure1(0)
    findings, diseases = network.sample(5000, seed=0, return_diseases=True)
    table = pd.DataFrame(diseases.astype(int), columns=list(network.structure.diseases))
    learner = NoisyOrLearner(network.structure, method="observed")
    expected = learner.fit(findings, diseases).network_
    turned = table[table.columns[::-1]]
    for given in turned, pl.from_pandas(turned), pa.Table.from_pandas(turned):
        assert learner.fit(findings, given).network_ == expected
    with pytest.raises(ParameterError, match="no column for 'B'"):
        learner.fit(findings, table[["A"]])


def test_leaks_of_observed_rest_on_what_is_held_and_known(rng):
    network = datasets.figure1(0)
    findings, diseases = network.sample(50_000, seed=0, return_diseases=True)
    rows = findings.to_numpy().astype(float)
    rows[diseases[:, 0][:, np.newaxis] & (rng.random(rows.shape) < 0.6)] = np.nan
    part = Findings.from_numpy(rows, network.structure)
    for how in "ratio", "likelihood":
        learned = learn_observed(part, network.structure, diseases, how=how).network
        assert np.abs(learned.leaks - network.leaks).max() < 0.05
    fixed = Fixed(network.structure, failures={("A", "a"): 0.9})
    learned = learn_observed(findings, network.structure, diseases, fixed=fixed).network
    frequency = findings.count_present()[0] / findings.n_records
    assert learned.marginals()[0] == pytest.approx(frequency, abs=0.01)


def test_values_at_a_bound_are_flagged_and_have_no_interval():
    network = datasets.figure1(0)
    n_found = 0
    for seed in range(6):
        estimate = learn_exact_em(network.sample(200, seed=seed), network.structure, restarts=2)
        for part in estimate.parts.values():
            at_bound = (part.values < 1e-5) | (part.values > 1 - 1e-5)
            n_found += at_bound.sum()
            assert ((part.flags & Flag.CLIPPED) != 0)[at_bound].all()
            assert np.isnan(part.standard_errors[at_bound]).all()
    assert n_found
    findings = network.sample(50, seed=0)
    never = learn_observed(findings, network.structure, np.zeros((50, 2)))
    assert (never.priors.flags == Flag.CLIPPED).all()
    assert (never.failures.flags == Flag.WEAK).all()


@pytest.mark.parametrize("learn", CLIMBERS)
def test_threads_do_not_matter(learn):
    network = datasets.clinic()
    findings = network.sample(1500, seed=0)
    one, two = (
        learn(findings, network.structure, restarts=1, max_steps=5, threads=threads).network
        for threads in (1, 3)
    )
    assert one == two


def test_no_edges_are_no_trouble():
    structure = Structure.from_matrix(np.zeros((2, 3)))
    network = NoisyOrNetwork(structure, [0.5, 0.5], [], [0.1, 0.2, 0.3])
    for learn in CLIMBERS:
        learned = learn(network.sample(500, seed=0), structure, restarts=1).network
        assert np.abs(learned.leaks - network.leaks).max() < 0.1


def test_baselines_do_not_learn_bit_by_bit():
    network = datasets.figure1(0)
    with pytest.raises(ParameterError, match="cannot learn bit by bit"):
        NoisyOrLearner(network.structure, method="exact_em").partial_fit(network.sample(5, seed=0))


def test_impossible_records_have_no_likelihood():
    structure = Structure.from_matrix([[1]])
    network = NoisyOrNetwork(structure, [1.0], [0.0], [0.1])
    found = ExactInference(Findings.from_numpy([[0]], structure)).expect(network)
    assert found.log_likelihood == -np.inf
