"""Learning how diseases occur together where records are sampled."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from noisyor import Fixed, NoisyOrLearner
from noisyor.beliefs import as_beliefs
from noisyor.em import sampled
from noisyor.em.cause_models import LogisticModel
from noisyor.em.cells import Cells
from noisyor.em.people import PeopleRounds, PeopleSampler
from noisyor.em.runs import EMSettings
from noisyor.em.stochastic import StochasticSettings
from noisyor.errors import ParameterError
from noisyor.learning import together as together_module
from noisyor.learning.sampled_together import MOST_CELLS, Looked, _Point, learn_sampled
from noisyor.network import Covariate, Effects, Trait
from noisyor.network.design import make_design
from together import small_network


def case(n_records, seed):
    """Records of four diseases that have a trait in common and depend on age and site."""
    rng = np.random.default_rng(seed)
    covariates = [Covariate("age", (), 50.0, 20.0), Covariate("site", ("a", "b"))]
    age, site = rng.integers(20, 80, n_records), rng.choice(["a", "b"], n_records)
    cells = np.column_stack([(age - 50.0) / 20.0, site == "a", site == "b"]).astype(float)
    coefficients = np.column_stack([rng.normal(0, 0.5, 4), np.tile([0.4, -0.4], (4, 1))])
    effects = Effects(covariates, coefficients, cells, np.ones(n_records) / n_records)
    causes = Trait(np.full(4, -1.5), np.array([[1.5], [1.2], [1.8], [-1.0]]), effects)
    network = small_network(causes, rng)
    people = pd.DataFrame({"age": age, "site": site})
    return network, network.sample(n_records, rng=seed, covariates=people), people


@pytest.mark.slow
def test_what_is_sampled_is_what_is_summed_up(monkeypatch):
    network, findings, people = case(4000, 1)
    exact = NoisyOrLearner(network.structure, causes="trait").fit(findings, covariates=people)
    monkeypatch.setattr(together_module, "MOST_TOGETHER", 0)
    learner = NoisyOrLearner(network.structure, causes="trait", max_iter=40)
    found = [
        clone(learner).set_params(random_state=seed).fit(findings, covariates=people)
        for seed in range(3)
    ]
    one = exact.estimate_.learned_causes
    others = [each.estimate_.learned_causes for each in found]
    assert all(each.log_likelihood is None and each.names == one.names for each in others)
    assert all(one.causes.loadings[0, 0] * each.causes.loadings[0, 0] > 0.0 for each in others)
    # Of what is missing a share m, rounds of EM forget 1 - m: a round's estimate varies by
    # m / (1 + m) of the variance, and the mean of five by little less. Of loadings m is 0.9, of
    # effects of age 0.3, of the rest next to nothing: over all, the mean square of the noise of
    # one sampling is 0.08 (0.079 in 16 samplings). Weak priors, here of full size, add 0.03. As
    # loadings are about four independent directions, one sampling is off by more than 0.5 in one
    # of fifty cases (chi square above 11.3), the mean of three in one of 10^6 (above 33.9).
    values = np.mean([each.values for each in others], axis=0)
    off = (values - one.values) / one.standard_errors
    assert np.sqrt((off**2).mean()) < 0.5
    ratios = others[0].standard_errors / one.standard_errors
    assert np.isnan(ratios).sum() <= 2  # what sampling does not tell from nothing is flagged
    assert 0.9 < np.nanmedian(ratios) < 1.2
    off = exact.network_.failures - found[0].network_.failures
    assert np.sqrt(((off / exact.estimate_.standard_errors.failures) ** 2).mean()) < 0.5
    loss = exact.score(findings, covariates=people) - found[0].score(findings, covariates=people)
    assert loss * 4000 < 15.0


def test_a_step_goes_to_the_maximum_of_all_records(monkeypatch):
    # Where the information came from some of the records, so did the derivatives: each step led
    # to the maximum of these, a standard error away from that of all.
    monkeypatch.setattr(sampled, "SAMPLED_AT_ONCE", 128)
    network, findings, people = case(4000, 1)
    exact = NoisyOrLearner(network.structure, causes="trait").fit(findings, covariates=people)
    design = make_design(people, findings)
    model, cells = LogisticModel.of(4, 1, design), Cells.of(design)
    sampler = PeopleSampler(network.structure, findings.blocks, model, cells)
    rounds = PeopleRounds(sampler, model, as_beliefs(None, network.structure), 0.02)
    options = StochasticSettings.of(network.structure)
    for seed in range(10):
        sampler.expect(exact.network_, 32, must_screen=True, n_sweeps=2, seed=seed)
    point = _Point.at(rounds, exact.network_, 7, options, Looked(500, 3))
    errors = np.sqrt(np.diag(point.covariance))
    assert not point.is_far
    assert np.sqrt(np.nanmean((point.step / errors) ** 2)) < 0.4


@pytest.mark.slow
def test_what_is_known_besides_findings_is_sampled_too(monkeypatch):
    network, _, people = case(3000, 1)
    findings, diseases = network.sample(3000, rng=1, covariates=people, return_diseases=True)
    labels = diseases.astype(float)
    labels[1000:] = np.nan
    known = {
        "fixed": {"priors": {"d0": 0.3}},  # a little too large: others must not follow it
        "beliefs": {"priors": {"d1": (0.25, 2000)}},
        "covariates": people,
    }
    found = []
    for most in (together_module.MOST_TOGETHER, 0):
        monkeypatch.setattr(together_module, "MOST_TOGETHER", most)
        learner = NoisyOrLearner(network.structure, causes="trait")
        found.append(learner.fit(findings, labels, **known).estimate_)
    exact, sampled = found
    for each in found:
        assert each.network.causes.marginals()[0] == pytest.approx(0.3, rel=1e-6)
    off = sampled.priors.values - exact.priors.values
    assert np.abs(off[1:] / exact.priors.standard_errors[1:]).max() < 0.6
    one, other = (each.learned_causes for each in found)
    off = (one.values - other.values)[one.standard_errors > 0.0]
    assert np.sqrt(np.nanmean((off / one.standard_errors[one.standard_errors > 0.0]) ** 2)) < 0.6


def test_too_many_combinations_are_refused():
    network, findings, people = case(300, 2)
    design = make_design(people, findings)
    cells = Cells.of(design)
    cells = cells._replace(design=np.zeros((MOST_CELLS + 1, 3)))
    with pytest.raises(ParameterError, match="20,001 different combinations"):
        learn_sampled(
            findings, network.as_independent(), LogisticModel.of(4, 1, design), cells,
            fixed=Fixed(network.structure), share=1.0, settings=EMSettings(),
            progress=lambda _: None,
        )  # fmt: skip


@pytest.mark.slow
def test_loadings_and_effects_that_are_known_are_sampled_too(monkeypatch):
    network, findings, people = case(3000, 1)
    known = {
        "fixed": {"loadings": {"d3": -0.9}, "effects": {("d0", "age"): 0.0, ("d1", "site"): 0.0}},
        "beliefs": {"loadings": {"d0": (1.4, 0.2)}, "effects": {("d2", "site=a"): (0.4, 0.1)}},
        "covariates": people,
    }
    found = []
    for most in (together_module.MOST_TOGETHER, 0):
        monkeypatch.setattr(together_module, "MOST_TOGETHER", most)
        learner = NoisyOrLearner(network.structure, causes="trait")
        found.append(learner.fit(findings, **known).estimate_.learned_causes)
    exact, sampled = found
    assert sampled.log_likelihood is None
    for each in found:
        assert each.causes.loadings[3, 0] == -0.9
        assert each.causes.effects.coefficients[0, 0] == 0.0
        assert not each.causes.effects.coefficients[1, 1:].any()
    is_known = (exact.standard_errors > 0.0) & (sampled.standard_errors > 0.0)
    assert is_known.sum() >= 10
    off = (exact.values - sampled.values)[is_known] / exact.standard_errors[is_known]
    assert np.sqrt((off**2).mean()) < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("fixed", [{"loadings": {"d3": 0.0}}, {"effects": {("d3", "age"): 0.0}}])
def test_a_fixed_zero_is_kept_where_traits_are_standardised(monkeypatch, fixed):
    network, findings, people = case(2000, 4)
    monkeypatch.setattr(together_module, "MOST_TOGETHER", 0)
    learner = NoisyOrLearner(network.structure, causes="trait", max_iter=10)
    causes = learner.fit(findings, fixed=fixed, covariates=people).network_.causes
    zero = causes.loadings[3, 0] if "loadings" in fixed else causes.effects.coefficients[3, 0]
    assert zero == 0.0
    assert np.abs(causes.loadings[:3]).min() > 0.3
