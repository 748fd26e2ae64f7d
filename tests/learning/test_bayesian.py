"""Learning by draws: starts, priors, what is fixed, flags, and what is refused."""

import numpy as np
import pytest

from noisyor import Findings, NoisyOrLearner, Structure, datasets
from noisyor.errors import ParameterError, StructureError
from noisyor.learning import BetaPriors, EMSettings, Flag, fit, sample_posterior
from noisyor.learning.bayesian import PSEUDO_COUNTS, as_pseudo_counts
from noisyor.parameters import Parameters

NETWORK = datasets.figure1(rng=0)
FINDINGS = NETWORK.sample(300, rng=1)


@pytest.fixture(scope="module")
def learner():
    made = NoisyOrLearner(NETWORK.structure, method="bayesian", max_iter=150)
    return made.fit(FINDINGS, fixed={"leaks": {"a": 0.0}})


def test_estimates_are_means_with_quantiles(learner):
    estimate, draws = learner.estimate_, learner.draws_
    assert estimate.method == "bayesian"
    assert estimate.n_iter == 150
    free = (estimate.flags.vector & Flag.FIXED) == 0
    assert estimate.values.vector[free] == pytest.approx(draws.means.vector[free])
    lower, upper = estimate.failures.intervals()
    assert lower.tolist() == draws.intervals()[0].failures.tolist()
    summary = estimate.summary().to_pydict()
    assert summary["upper"][2:9] == upper.tolist()
    assert summary["value"][9] == summary["lower"][9] == summary["upper"][9] == 0.0  # fixed


def test_diagnoses_are_averaged_over_draws(learner):
    averaged = learner.predict_proba(FINDINGS)
    assert averaged.shape == (300, 2)
    assert averaged == pytest.approx(learner.posteriors(FINDINGS).probabilities, abs=0.15)
    assert not np.allclose(averaged, learner.posteriors(FINDINGS).probabilities, atol=1e-4)


def test_the_same_seed_gives_the_same_draws_with_any_threads():
    one, two = (
        sample_posterior(
            FINDINGS,
            NETWORK.structure,
            n_chains=2,
            settings=EMSettings(max_iter=20, rng=3, n_jobs=n),
        )
        for n in (1, 2)
    )
    assert one == two
    other = EMSettings(max_iter=20, rng=4)
    assert one != sample_posterior(FINDINGS, NETWORK.structure, n_chains=2, settings=other)


def test_a_disease_without_symptoms_keeps_its_prior():
    structure = Structure.from_matrix([[1, 1, 1], [0, 0, 0]])
    findings = Findings.from_numpy(np.tile([[1, 1, 0], [0, 0, 0]], (30, 1)), structure)
    draws = sample_posterior(findings, structure, settings=EMSettings(max_iter=300))
    assert draws.means.priors[1] == pytest.approx(0.2, abs=0.03)
    assert draws.r_hats.priors[1] < 1.02
    estimate = fit(findings, structure, "bayesian", EMSettings(max_iter=150))
    assert estimate.priors.flags[1] & Flag.WEAK


def test_strong_pseudo_counts_decide():
    strong = {"leaks": (300.0, 700.0)}
    draws = sample_posterior(
        FINDINGS, NETWORK.structure, pseudo_counts=strong, settings=EMSettings(max_iter=150)
    )
    assert draws.means.leaks == pytest.approx(0.3, abs=0.06)
    found = as_pseudo_counts(strong, NETWORK.structure)
    assert as_pseudo_counts(found, NETWORK.structure) is found
    assert found.sizes.priors[0] == sum(PSEUDO_COUNTS["priors"])


def test_few_rounds_are_flagged():
    estimate = NoisyOrLearner(NETWORK.structure, method="bayesian", max_iter=12).fit(FINDINGS)
    flags = estimate.estimate_.flags.vector
    assert (flags & Flag.UNMIXED).any()
    assert "more rounds" in Flag.UNMIXED.reasons


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_chains": 0}, "n_chains must be a whole number from 1 on, not 0"),
        ({"settings": EMSettings(max_iter=5)}, "max_iter must be a whole number from 12 on, not 5"),
        ({"pseudo_counts": {"leak": (1, 2)}}, "there is no kind 'leak'"),
        ({"pseudo_counts": {"leaks": (0, 2)}}, "pseudo_counts of leaks must be two positive"),
        ({"pseudo_counts": 3}, "pseudo_counts must be BetaPriors, or a mapping"),
    ],
)
def test_misuse_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        sample_posterior(FINDINGS, NETWORK.structure, **options)


def test_other_structures_and_no_records_are_refused():
    other = datasets.clinic().structure
    with pytest.raises(StructureError, match="other symptoms"):
        sample_posterior(FINDINGS, other)
    with pytest.raises(ParameterError, match="there are no records"):
        sample_posterior(NETWORK.sample(0, rng=0), NETWORK.structure)
    with pytest.raises(ParameterError, match="expected Findings"):
        sample_posterior(NETWORK.structure, FINDINGS)
    sizes = Parameters.full(NETWORK.structure, 2.0)
    with pytest.raises(ParameterError, match="means between 0 and 1"):
        sample_posterior(FINDINGS, NETWORK.structure, pseudo_counts=BetaPriors(sizes, sizes))
    halves = Parameters.full(other, 0.5)
    with pytest.raises(ParameterError, match="belong to another structure"):
        sample_posterior(FINDINGS, NETWORK.structure, pseudo_counts=BetaPriors(halves, halves))


def test_counts_alone_are_not_enough():
    moments = NoisyOrLearner(NETWORK.structure, method="pooled").fit(FINDINGS).moments_
    with pytest.raises(ParameterError, match="'bayesian' learns from records, not from moments"):
        NoisyOrLearner(NETWORK.structure, method="bayesian").fit(moments)
    with pytest.raises(ParameterError, match="cannot learn bit by bit"):
        NoisyOrLearner(NETWORK.structure, method="bayesian").partial_fit(FINDINGS)
    refined = NoisyOrLearner(NETWORK.structure, method="pooled").fit(FINDINGS)
    with pytest.raises(AttributeError, match="draws nothing: learn with method='bayesian'"):
        _ = refined.draws_
