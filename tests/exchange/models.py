"""What the tests of all formats need: networks, files, and what tables can tell of a network."""

import numpy as np

from conftest import random_network
from noisyor import NoisyOrNetwork


def written(folder, text, name, encoding="utf-8"):
    """Write a file; return its path."""
    path = folder / name
    path.write_text(text, encoding=encoding)
    return path


def connected_network(rng):
    """A network in which no disease is without symptoms: other software cannot tell those."""
    while True:
        network = random_network(rng, extremes=True)
        if len(np.unique(network.structure.edges[:, 0])) == network.structure.n_diseases:
            return network


def told_by_tables(network):
    """What tables tell of a network: where the leak is 1 failures are read as 1."""
    structure = network.structure
    untold = network.leaks[structure.edges[:, 1]] == 1
    failures = np.where(untold, 1.0, network.failures)
    return NoisyOrNetwork(structure, network.priors, failures, network.leaks)


def assert_close(one, other):
    assert one.structure == other.structure
    for name in ("priors", "failures", "leaks"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=1e-12)
