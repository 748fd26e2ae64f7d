"""Scores of records whose diseases occur together, against naive sums and numerical derivatives."""

import numpy as np
import pytest

import naive
from noisyor import Findings, Fixed
from noisyor.em import states
from noisyor.em.cause_models import LogisticModel
from noisyor.em.expected import BetaPriors
from noisyor.em.joint_model import JointModel
from noisyor.em.mixed import MixedExpectation, MixedLikelihood
from noisyor.network.design import Design
from together import as_naive, random_together

KINDS = ("joint", "blocks", "trait", "traits", "covariates", "trait with covariates")


@pytest.fixture(params=["states", "pieces"])
def engine(request, monkeypatch):
    """Sum up all states of the diseases at once, or piece by piece in every component."""
    if request.param == "pieces":
        monkeypatch.setattr(states, "MOST_DISEASES", 0)
    return request.param


def random_case(seed, kind, n_records=40, labelled=0.0):
    """Records with their design, the network they are looked at with, and its model."""
    rng = np.random.default_rng(seed)
    network = random_together(rng, 4, 6, kind)
    records = rng.choice([0.0, 1.0, np.nan], size=(n_records, 6), p=[0.5, 0.3, 0.2])
    findings = Findings.from_numpy(records, network.structure)
    if labelled:
        labels = rng.choice([0.0, 1.0, np.nan], (n_records, 4), p=[0.3, 0.3, 0.4])
        labels[rng.random(n_records) > labelled] = np.nan
        findings = findings.with_labels(labels)
    effects = network.causes.effects
    if kind in ("joint", "blocks"):
        return findings, None, network, JointModel(network.causes.blocks, 4)
    n_traits = network.causes.loadings.shape[1]
    design = None
    if effects is not None:
        rows = effects.cells[rng.integers(len(effects.cells), size=n_records)].copy()
        rows[rng.random(n_records) < 0.2, 0] = np.nan
        rows[rng.random(n_records) < 0.2, 1:] = np.nan
        design = Design(effects.covariates, rows)
    model = LogisticModel.of(4, n_traits, design)
    if design is not None:
        network = network.with_causes(model.causes_at(model.position_of(network.causes)))
    return findings, design, network, model


def naive_log_likelihood(findings, design, network):
    total, labels = 0.0, [None] * findings.n_records
    if findings.labels is not None:
        pairs = zip(findings.labels.is_known, findings.labels.is_present, strict=True)
        labels = [
            [int(x) if here else None for here, x in zip(known, on, strict=True)]
            for known, on in pairs
        ]
    for number, row in enumerate(findings.to_numpy()):
        here = network
        if design is not None:
            weights, priors = network.causes.components_of(design.rows[number])
            twin = (naive.Mixed(weights.tolist(), priors.tolist()), *as_naive(network)[1:])
        else:
            twin = as_naive(here)
        values = [None if np.isnan(x) else int(x) for x in row.astype(float)]
        total += np.log(naive.expectations(*twin, values, labels[number])[0])
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labelled", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(2))
def test_the_likelihood_agrees_with_naive(kind, seed, labelled, engine):
    findings, design, network, model = random_case(seed, kind, labelled=labelled)
    expectation = MixedExpectation(findings, design)
    found = expectation.score(network, model).log_likelihood
    assert found == pytest.approx(naive_log_likelihood(findings, design, network))
    assert expectation.cell_weights().sum() == pytest.approx(40)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labelled", [0.0, 0.6])
def test_derivatives_agree_with_differences(kind, labelled, engine):
    findings, design, network, model = random_case(1, kind, labelled=labelled)
    fixed = Fixed(network.structure, leaks={0: float(network.leaks[0])})
    priors = BetaPriors.weak(network.as_independent(), 0.5)
    likelihood = MixedLikelihood(
        MixedExpectation(findings, design), model, priors, fixed, share=0.5
    )
    position, point = likelihood.position_of(network), likelihood.at(network)
    assert likelihood.moved(network, position).failures == pytest.approx(network.failures)
    for entry in range(len(position)):
        values = []
        for step in (1e-5, -1e-5):
            moved = position.copy()
            moved[entry] += step
            values.append(likelihood.at(likelihood.moved(network, moved)).value)
        slope = (values[0] - values[1]) / 2e-5
        assert point.derivatives[entry] == pytest.approx(slope, abs=2e-4 + 1e-4 * abs(slope))


def test_thinned_records_keep_their_people():
    findings, design, network, model = random_case(0, "trait with covariates", 400)
    expectation = MixedExpectation(findings, design)
    part = expectation.thinned(100, seed=1)
    assert part.n_records < 200
    assert len(part.people.starts) == len(part.records.weights) + 1
    assert expectation.thinned(1000, seed=1) is expectation
    alone = part.without_covariates()
    assert np.isfinite(part.score(network, model).log_likelihood)
    assert (np.diff(alone.people.starts) == 1).all()
