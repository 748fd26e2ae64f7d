"""Sensitivities that are known: P(code | disease), whatever the leak."""

import copy

import numpy as np
import pytest

from noisyor import Estimate, Findings, NoisyOrLearner, NoisyOrNetwork, Structure
from noisyor.em.exact import ExactExpectation
from noisyor.learning import Code, Codes, Flag, fit
from noisyor.learning.bayesian import PSEUDO_COUNTS
from noisyor.parameters import Parameters, from_log_odds, log_odds

STRUCTURE = Structure.from_edges([(d, s) for d in ("asthma", "flu") for s in "abcd"])
CODES = Codes(STRUCTURE, {"J45": "asthma"})
FAILURES = [0.2, 0.3, 0.5, 0.8, 0.5, 0.8, 0.5, 0.3, 0.2]
LEAK, SENSITIVITY = 0.4, 0.7
NETWORK = NoisyOrNetwork(
    CODES.structure,
    [0.2, 0.25],
    [*FAILURES[:4], (1.0 - SENSITIVITY) / (1.0 - LEAK), *FAILURES[5:]],
    [0.02] * 4 + [LEAK],
)
METHODS = [
    pytest.param("variational_em", marks=pytest.mark.slow),
    "refined",
    "exact_em",
    "maximum_likelihood",
    "pooled",
    "bayesian",
]


def records(n=5000, rng=0):
    return NETWORK.sample(n, rng=rng, return_diseases=True)


def learner(method="exact_em", **options):
    return NoisyOrLearner(STRUCTURE, method=method, random_state=0, **options)


@pytest.mark.parametrize("method", METHODS)
def test_a_fixed_sensitivity_is_that_of_the_code_with_its_leak(method):
    findings, _ = records()
    codes = {"J45": Code("asthma", sensitivity=SENSITIVITY)}
    options = {"max_iter": 200} if method == "bayesian" else {}
    found = learner(method, **options).fit(findings, codes=codes)
    (row,) = found.codes_
    assert row["sensitivity"] == SENSITIVITY
    assert row["sensitivity_error"] == 0.0
    assert row["specificity"] == pytest.approx(1.0 - LEAK, abs=0.03)
    network = found.network_
    edge = network.structure.edge_index("asthma", "J45")
    present = 1.0 - network.failures[edge] * (1.0 - network.leaks[4])
    assert present == pytest.approx(SENSITIVITY, abs=1e-6)


@pytest.mark.parametrize("method", ["exact_em", "observed_likelihood", "refined"])
@pytest.mark.parametrize("weight", [None, 100])
def test_of_labelled_records_it_is_counted(method, weight):
    """With all diseases seen, cases and beliefs add up, and leaks are those of the others."""
    if weight and method == "observed_likelihood":
        pytest.skip("it takes no beliefs")
    findings, diseases = records(1500)
    given = 0.6 if weight is None else (0.6, weight)
    options = {"shrink": False} if method == "refined" else {}
    found = learner(method, tol=1e-14 if method == "exact_em" else None, **options)
    (row,) = found.fit(findings, diseases, codes={"J45": Code("asthma", sensitivity=given)}).codes_
    code, has = findings.to_numpy()[:, 4], diseases[:, 0].astype(bool)
    right = 0.6 if weight is None else (code[has].sum() + 0.6 * weight) / (has.sum() + weight)
    near = 1e-4 if method == "exact_em" else 1e-3
    assert row["sensitivity"] == pytest.approx(right, abs=near)
    assert row["specificity"] == pytest.approx(1.0 - code[~has].mean(), abs=near)
    if weight and method == "exact_em":
        error = np.sqrt(right * (1.0 - right) / (has.sum() + weight))
        assert row["sensitivity_error"] == pytest.approx(error, rel=0.05)


def test_what_records_say_themselves_changes_nothing_when_it_is_fixed():
    findings, _ = records()
    free = learner(tol=1e-14).fit(findings, codes={"J45": "asthma"})
    (row,) = free.codes_
    code = Code("asthma", sensitivity=row["sensitivity"])
    again = learner(tol=1e-14).fit(findings, codes={"J45": code})
    difference = free.network_.parameters.vector - again.network_.parameters.vector
    assert np.abs(difference).max() < 2e-4


@pytest.mark.slow
def test_errors_are_those_of_simulations():
    """The errors of failure and leak go together: the delta method needs both."""
    codes = {"J45": Code("asthma", sensitivity=(SENSITIVITY, 100))}
    rows = [
        next(iter(learner().fit(records(3000, rng)[0], codes=codes).codes_)) for rng in range(40)
    ]
    spread = np.std([row["sensitivity"] for row in rows])
    error = np.mean([row["sensitivity_error"] for row in rows])
    # Of those who believe the truth nothing scatters, but what the records say: n / (n + w).
    information = (SENSITIVITY * (1.0 - SENSITIVITY) / error**2 - 100.0) / 100.0
    share = information / (information + 1.0)
    assert spread == pytest.approx(error * np.sqrt(share), rel=0.35)


def test_derivatives_are_those_of_differences():
    findings, _ = records(500)
    beliefs = Codes(STRUCTURE, {"J45": Code("asthma", sensitivity=0.6)}).beliefs
    expectation = ExactExpectation(findings)
    at = log_odds(beliefs.rates.put_in(NETWORK.parameters).vector)

    def there(position):
        values = Parameters.split(NETWORK.structure, from_log_odds(position, 30.0))
        return NETWORK.with_parameters(beliefs.rates.taken_out(values))

    network = there(at)
    assert np.allclose(network.parameters.vector, NETWORK.parameters.vector)
    expected = expectation.expect(network)
    found = beliefs.rates.derivatives(network.parameters, expected.trials.derivatives(network))
    by_trials = expected.trials.by_rates(network, beliefs.rates)
    values = beliefs.rates.put_in(network.parameters).vector
    assert found == pytest.approx(by_trials.successes.vector - by_trials.trials.vector * values)
    for j in range(len(at)):
        step = np.zeros(len(at))
        step[j] = 1e-5
        up, down = (expectation.expect(there(at + each)).log_likelihood for each in (step, -step))
        assert found[j] == pytest.approx((up - down) / 2e-5, abs=1e-3)


def test_a_sampled_fit_agrees_with_an_exact_one(monkeypatch):
    findings, _ = records(4000)
    code = Codes(STRUCTURE, {"J45": Code("asthma", sensitivity=(0.7, 300))})
    exact = fit(findings, code.structure, fixed=code.beliefs)
    monkeypatch.setattr(ExactExpectation, "is_affordable", False)
    sampled = fit(findings, code.structure, fixed=code.beliefs)
    assert sampled.values.vector == pytest.approx(exact.values.vector, abs=0.02)
    assert code.summary(sampled)[0]["sensitivity_error"] == pytest.approx(
        code.summary(exact)[0]["sensitivity_error"], rel=0.15
    )


@pytest.mark.parametrize("options", [{"robust": True}, {"causes": "joint"}])
def test_other_likelihoods_know_of_it(options):
    findings, _ = records(3000)
    for given in (SENSITIVITY, (SENSITIVITY, 1000)):
        codes = {"J45": Code("asthma", sensitivity=given)}
        (row,) = learner("refined", **options).fit(findings, codes=codes).codes_
        assert row["sensitivity"] == pytest.approx(SENSITIVITY, abs=0.02)
        assert row["specificity"] == pytest.approx(1.0 - LEAK, abs=0.04)
        if given != SENSITIVITY:
            assert 0.005 < row["sensitivity_error"] < 0.03


@pytest.mark.slow
def test_draws_have_the_posterior_that_is_meant():
    findings, diseases = records(300)
    codes = {"J45": Code("asthma", sensitivity=(0.5, 100))}
    found = learner("bayesian", max_iter=3000).fit(findings, diseases, codes=codes)
    code, has = findings.to_numpy()[:, 4], diseases[:, 0].astype(bool)
    right = (code[has].sum() + 50.0) / (has.sum() + 100.0)
    (row,) = found.codes_
    assert row["sensitivity"] == pytest.approx(right, abs=0.006)
    error = np.sqrt(right * (1.0 - right) / (has.sum() + 100.0))
    assert row["sensitivity_error"] == pytest.approx(error, rel=0.1)
    a, b = PSEUDO_COUNTS["leaks"]
    leak = (code[~has].sum() + a) / (np.count_nonzero(~has) + a + b)
    assert row["specificity"] == pytest.approx(1.0 - leak, abs=0.006)


def test_a_fixed_sensitivity_leaves_its_leak_certified():
    findings, _ = records()
    for method in "refined", "exact_em":
        codes = {"J45": Code("asthma", sensitivity=SENSITIVITY)}
        estimate = learner(method).fit(findings, codes=codes).estimate_
        assert estimate.flags.leaks.tolist() == [0] * 5
        assert 0.0 < estimate.standard_errors.leaks[4] < 0.02
        f, leak = estimate.values.failures[4], estimate.values.leaks[4]
        follows = f / (1.0 - leak) * estimate.standard_errors.leaks[4]
        assert estimate.standard_errors.failures[4] == pytest.approx(follows)


def test_a_contradicted_sensitivity_is_told_as_one(tmp_path):
    findings, _ = records()
    codes = {"J45": Code("asthma", sensitivity=(0.87, 200))}
    with pytest.warns(UserWarning, match=r"the sensitivity of J45 to asthma: believed 0\.87"):
        estimate = learner("refined").fit(findings, codes=codes).estimate_
    row = next(each for each in estimate.summary() if each["belief"] is not None)
    leak = estimate.values.leaks[4]
    assert row["belief"] == pytest.approx(0.13 / (1.0 - leak))
    assert row["records_alone"] * (1.0 - leak) == pytest.approx(0.3, abs=0.08)
    estimate.save(tmp_path / "learned.json")
    again = Estimate.load(tmp_path / "learned.json")
    assert again.beliefs == estimate.beliefs
    assert again.contradiction == estimate.contradiction


def test_beliefs_with_sensitivities_travel():
    beliefs = Codes(STRUCTURE, {"J45": Code("asthma", sensitivity=0.6)}).beliefs
    assert copy.deepcopy(beliefs) == beliefs
    plain = beliefs.at_leaks(np.array([0.0, 0.0, 0.0, 0.0, 0.5]))
    assert plain != beliefs
    assert plain.values.failures[4] == pytest.approx(0.8)
    assert not plain.rates.any


def test_a_code_without_disease_records_has_no_miss_rate_above_one():
    array = np.zeros((40, 5))
    array[:20, 4] = 1
    findings = Findings.from_numpy(array, CODES.structure)
    codes = {"J45": Code("asthma", sensitivity=0.2)}
    with pytest.warns(UserWarning, match=r"sensitivity of 'J45' is fixed at 0\.2, but without"):
        found = learner("refined").fit(findings, codes=codes)
    assert (found.network_.failures <= 1.0).all()
    (row,) = found.codes_
    assert row["sensitivity_error"] is None
    assert found.estimate_.flags.failures[4] & Flag.CLIPPED
