"""Starts: plausible everywhere, and near what is well known."""

import numpy as np
import pytest

from conftest import network_on
from noisyor import Fixed, NoisyOrLearner, Structure, datasets
from noisyor.em.exact import ExactExpectation
from noisyor.experiments.settings import real_network
from noisyor.learning.starts import even_network, likely_even_network, with_well_known


def test_an_even_network_explains_how_often_symptoms_are_present():
    structure = Structure.from_edges([("A", "a"), ("A", "b"), ("B", "b"), ("B", "c")])
    frequencies = np.array([0.06, 0.09, 0.06])
    network = even_network(structure, frequencies, Fixed(structure))
    absent = 1.0 - network.leaks
    for edge, (i, j) in enumerate(structure.edges.tolist()):
        absent[j] *= 1.0 - network.priors[i] * (1.0 - network.failures[edge])
    assert 1.0 - absent == pytest.approx(frequencies, rel=0.2)


def test_an_even_network_keeps_what_is_fixed_and_off_the_bounds():
    structure = Structure.from_edges([("A", "a"), ("B", "b")])
    fixed = Fixed(structure, priors={"A": 0.4})
    network = even_network(structure, np.array([0.0, 1.0]), fixed)
    assert network.priors[0] == 0.4
    values = network.parameters.vector
    assert ((values > 0.0) & (values < 1.0)).all()
    assert network.priors[1] <= 0.3


def test_only_what_is_well_known_is_kept():
    network = datasets.clinic()
    findings = network.sample(2000, rng=0)
    estimate = NoisyOrLearner(network.structure, method="pooled").fit(findings).estimate_
    frequencies = findings.count_present() / 2000
    even = even_network(network.structure, frequencies, Fixed(network.structure))
    start = with_well_known(even, estimate)
    kept = start.priors == estimate.priors.values
    errors, values = estimate.priors.standard_errors, estimate.priors.values
    assert kept.any()
    assert (errors[kept] < 0.3 * values[kept]).all()
    of_kept = start.failures == estimate.failures.values
    assert not (of_kept & ~kept[network.structure.edges[:, 0]]).any()
    assert (start.failures[~of_kept] == 0.7).all()
    exact = ExactExpectation(findings)
    low, high = (exact.expect(each).log_likelihood for each in (even, start))
    assert low < high


def test_a_start_has_no_prior_that_nothing_supports(real_structures):
    """On tcc4e pairs and triplets tell little of most priors; some came out at 0.95."""
    network = real_network(real_structures / "tcc4e")
    findings = network.sample(3000, rng=1)
    from noisyor.learning.methods import LearningSettings, Problem
    from noisyor.learning.methods import _count_pairs_and_triplets as count
    from noisyor.learning.sources import RecordSource

    fixed, settings = Fixed(network.structure), LearningSettings()
    source = RecordSource(findings, network.structure)
    problem = Problem(source, settings.schedule(network.structure, fixed), fixed, settings)
    fitted, triplets = count(problem)
    start = fitted.fit(triplets).start()
    assert start.priors.max() < 0.35
    exact = ExactExpectation(findings)
    missing = exact.expect(network).log_likelihood - exact.expect(start).log_likelihood
    assert missing / 3000 < 1.0


@pytest.mark.parametrize(
    ("failures", "chosen"), [((0.2, 0.6), (0.4,)), ((0.9, 0.99), (0.92, 0.96, 0.98))]
)
def test_records_tell_how_strong_edges_are(rng, failures, chosen):
    """From strong edges of few diseases, weak edges of many are not reached."""
    matrix = np.zeros((10, 30))
    for row in matrix:
        row[rng.choice(30, 12, replace=False)] = 1
    network = network_on(Structure.from_matrix(matrix), rng, (0.05, 0.1), failures, (0.001, 0.02))
    expectation = ExactExpectation(network.sample(3000, rng=0))
    start = likely_even_network(expectation, Fixed(network.structure))
    assert start.failures[0] in chosen
