"""Networks to start from: plausible everywhere, and near what is known already.

EM finds the nearest maximum. A prior or failure that nothing supports leads to one that is far off,
so only what pairs and triplets teach well is kept; the other values are even: every symptom's
frequency is shared equally among its diseases and its leak. How strong edges are, weak ones that
many diseases have or strong ones of few, the likelihood of such networks tells.
"""

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.em.exact import ExactExpectation
from noisyor.learning.estimate import Estimate
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Floats
from noisyor.structure import Structure

USUAL_FAILURE = 0.7
FAILURES = 0.4, USUAL_FAILURE, 0.85, 0.92, 0.96, 0.98
"""Of all edges alike, to choose from."""
WELL_KNOWN_PRIOR, WELL_KNOWN_FAILURE = 0.3, 0.1
"""Errors up to which a prior, relative to its value, and a failure are kept."""


def even_network(
    structure: Structure, frequencies: Floats, fixed: Beliefs, failure: float = USUAL_FAILURE
) -> NoisyOrNetwork:
    """Return a network that explains how often each symptom is present, all diseases alike.

    >>> from noisyor import Structure
    >>> structure = Structure.from_edges([("A", "a"), ("B", "a")])
    >>> even_network(structure, np.array([0.09]), Beliefs(structure))
    NoisyOrNetwork(2 diseases, 1 symptoms, 2 edges; 0.2 diseases and 0.0873 findings a record)
    """
    diseases, symptoms = structure.edges.T
    n_parents = np.bincount(symptoms, minlength=structure.n_symptoms)
    part = frequencies / (n_parents + 1.0)
    n_children = np.bincount(diseases, minlength=structure.n_diseases)
    caused = np.bincount(diseases, part[symptoms], minlength=structure.n_diseases)
    priors = caused / np.maximum(n_children, 1) / (1.0 - failure)
    network = NoisyOrNetwork(
        structure,
        np.clip(priors, 1e-3, 0.3),
        np.full(structure.n_edges, failure),
        np.clip(part, 1e-4, 0.3),
    )
    return network.with_fixed(fixed)


def likely_even_network(expectation: ExactExpectation, fixed: Beliefs) -> NoisyOrNetwork:
    """Return the even network of which the records are most likely.

    >>> from noisyor import datasets
    >>> strong = datasets.figure1(rng=0)
    >>> weak = NoisyOrNetwork(strong.structure, strong.priors, np.full(7, 0.9), strong.leaks)
    >>> expectation = ExactExpectation(weak.sample(2000, rng=0))
    >>> likely_even_network(expectation, Beliefs(weak.structure)).failures[0]
    np.float64(0.85)
    """
    frequencies = expectation.count_present() / np.maximum(expectation.totals.known, 1.0)
    networks = [
        even_network(expectation.structure, frequencies, fixed, failure) for failure in FAILURES
    ]

    def likelihood(network: NoisyOrNetwork) -> float:
        expectation.cut(network)
        return expectation.expect(network).log_likelihood

    return max(networks, key=likelihood)


def believed_start(start: NoisyOrNetwork, beliefs: Beliefs) -> NoisyOrNetwork:
    """Return a start that has what is believed."""
    if not beliefs.has_weighted:
        return start
    here = beliefs.cases.map(lambda cases: cases > 0.0)
    rates = beliefs.rates
    values = here.map(np.where, beliefs.means, rates.put_in(start.parameters))
    return start.with_parameters(rates.taken_out(values))


def with_well_known(network: NoisyOrNetwork, estimate: Estimate) -> NoisyOrNetwork:
    """Return a network with the values of an estimate where their errors are small.

    A failure is kept with its disease's prior only: moments tell the one given the other.
    """
    values, errors, flags = estimate.values, estimate.standard_errors, estimate.flags
    with np.errstate(invalid="ignore"):
        priors = (flags.priors == 0) & (errors.priors < WELL_KNOWN_PRIOR * values.priors)
        failures = (flags.failures == 0) & (errors.failures < WELL_KNOWN_FAILURE)
    failures &= priors[network.structure.edges[:, 0]]
    return NoisyOrNetwork(
        network.structure,
        np.where(priors, values.priors, network.priors),
        np.where(failures, values.failures, network.failures),
        network.leaks,
    )
