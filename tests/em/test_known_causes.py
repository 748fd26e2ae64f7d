"""What is fixed or believed of P(disease), where that is a function of the parameters."""

import numpy as np
import pytest

from em.test_cause_models import model_case
from noisyor import Beliefs, Findings, Fixed
from noisyor.em.expected import BetaPriors
from noisyor.em.known_causes import KnownCauses
from noisyor.em.maximum import climb_penalised
from noisyor.em.mixed import MixedExpectation, MixedLikelihood
from noisyor.em.runs import Limits
from noisyor.network.design import Design
from together import KINDS


def likelihood_of(kind, beliefs, seed=3):
    network, model = model_case(kind, seed)
    known = None
    if network.causes.effects is not None:
        rows = network.causes.effects.cells
        known = rows[np.random.default_rng(0).integers(len(rows), size=400)]
    array = network.sample(400, rng=1).to_numpy().astype(float)
    findings = Findings.from_numpy(array, network.structure)
    design = None
    if known is not None:
        design = Design(network.causes.effects.covariates, known)
    weak = BetaPriors.weak(network.as_independent(), 0.5).believing(beliefs)
    return network, MixedLikelihood(
        MixedExpectation(findings, design), model, weak, beliefs, share=0.5
    )


@pytest.mark.parametrize("kind", KINDS)
def test_beliefs_have_derivatives(kind):
    network, _ = model_case(kind)
    beliefs = Beliefs(network.structure, priors={0: (0.3, 50.0), 1: (0.1, 20.0)})
    network, likelihood = likelihood_of(kind, beliefs)
    position, point = likelihood.position_of(network), likelihood.at(network)
    for entry in range(len(likelihood.model.is_free)):
        values = []
        for step in (1e-5, -1e-5):
            moved = position + step * (np.arange(len(position)) == entry)
            values.append(likelihood.at(likelihood.moved(network, moved)).value)
        slope = (values[0] - values[1]) / 2e-5
        assert point.derivatives[entry] == pytest.approx(slope, abs=2e-4 + 1e-4 * abs(slope))


@pytest.mark.parametrize("kind", ["joint", "blocks", "trait", "trait with covariates"])
def test_a_fixed_prior_is_a_belief_of_any_weight(kind):
    network, _ = model_case(kind)
    disease = network.structure.diseases[0]
    found = {}
    for name, weight in (("fixed", None), ("believed", 1e7)):
        value = 0.25 if weight is None else (0.25, weight)
        beliefs = Beliefs(network.structure, priors={disease: value})
        _, likelihood = likelihood_of(kind, beliefs)
        start = likelihood.start_from(network.as_independent())
        run = climb_penalised(likelihood, start, Limits(200, 0.0))
        found[name] = run.network, likelihood.expectation.score(run.network, likelihood.model)
        if weight is None:  # along the surface there is nothing left to gain
            rng, at = np.random.default_rng(0), likelihood.position_of(run.network)
            for _ in range(20):
                moved = likelihood.moved(run.network, at + 0.02 * rng.normal(size=len(at)))
                assert moved.priors[0] == pytest.approx(0.25, rel=1e-9)
                assert likelihood.at(moved).value < run.values[-1] + 0.01
    one, other = found["fixed"], found["believed"]
    assert one[0].priors[0] == pytest.approx(0.25, rel=1e-9)
    assert other[0].priors[0] == pytest.approx(0.25, rel=1e-3)
    # The belief makes a narrow valley, in which steps are short.
    assert -0.05 < one[1].log_likelihood - other[1].log_likelihood < 1.0


def test_nothing_known_changes_nothing():
    network, model = model_case("trait")
    known = KnownCauses(model, Fixed(network.structure))
    position = model.position_of(network.causes)
    assert (known.put_into(position) == position).all()
    assert known.believed(network.causes).value == 0.0
