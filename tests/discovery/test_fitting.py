"""Fitting anew after a change."""

import numpy as np
import pytest

from noisyor import Structure, datasets
from noisyor.discovery.fitting import Fitter, carried_over


def test_a_fit_climbs_and_says_how_high():
    network = datasets.figure1(rng=0)
    records = network.sample(3000, rng=1)
    fitter = Fitter(records)
    start = network.with_parameters(network.parameters.map(lambda x: 0.5 * x + 0.1))
    fitted = fitter.fit(start)
    assert fitted.log_likelihood > fitter.log_likelihood(network)
    assert fitted.log_likelihood == pytest.approx(fitter.log_likelihood(fitted.network), abs=0.01)


def test_where_sums_are_too_long_it_is_not_below_the_start(monkeypatch):
    from noisyor.em.exact import ExactExpectation

    monkeypatch.setattr(ExactExpectation, "is_affordable", property(lambda _: False))
    network = datasets.figure1(rng=0)
    fitter = Fitter(network.sample(2000, rng=1))
    start = network.with_parameters(network.parameters.map(lambda x: 0.8 * x + 0.05))
    fitted = fitter.fit(start)
    assert fitted.log_likelihood >= fitter.log_likelihood(start)
    assert fitted.log_likelihood == pytest.approx(fitter.log_likelihood(network), abs=15.0)


def test_a_failure_is_fixed_and_all_else_follows():
    network = datasets.figure1(rng=0)
    fitter = Fitter(network.sample(3000, rng=1))
    fitted = fitter.fit(network)
    failure = fitted.network.failures[0]
    highest = fitter.likelihood_with(fitted.network, 0, failure)
    assert highest == pytest.approx(fitted.log_likelihood, abs=0.3)
    shift = 2.0 * fitted.errors[0]  # 2 standard errors away the profile is 2 lower, or nearly so
    values = [fitter.likelihood_with(fitted.network, 0, failure + way) for way in (-shift, shift)]
    assert np.mean(fitted.log_likelihood - np.array(values)) == pytest.approx(2.0, rel=0.3)


def test_nothing_is_compared_where_sums_are_too_long(monkeypatch):
    from noisyor.em.exact import ExactExpectation

    monkeypatch.setattr(ExactExpectation, "is_affordable", property(lambda _: False))
    network = datasets.figure1(rng=0)
    fitter = Fitter(network.sample(100, rng=1))
    assert not fitter.is_exact(network.structure)
    assert fitter.likelihood_with(network, 0, 0.5) is None


def test_what_is_known_is_carried_over():
    old = datasets.figure1(rng=0)
    names = old.structure
    edges = [("new", names.symptoms[0]), ("new", names.symptoms[1])]
    edges += list(zip(*names.edge_names().values(), strict=True))[1:]
    structure = Structure.from_edges(edges, symptoms=names.symptoms)
    start = carried_over(old, structure, {("new", names.symptoms[0]): 0.7}, np.full(5, 0.3))
    new = structure.disease_index("new")
    assert start.priors[new] == pytest.approx(0.05)
    assert start.failures[structure.edges_of("new")].tolist() == pytest.approx([0.3, 0.5])
    for disease, symptom in edges[2:]:
        one = start.failures[structure.edge_index(disease, symptom)]
        assert one == old.failures[names.edge_index(disease, symptom)]
    np.testing.assert_array_equal(start.leaks, old.leaks)
