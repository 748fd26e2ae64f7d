"""What many tests need: strategies for random networks and records, and the real structures."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from noisyor import Findings, NoisyOrNetwork, Structure

settings.register_profile("house", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("house")

STRUCTURES = Path(__file__).parents[2] / "shared" / "structures"


@pytest.fixture
def real_structures():
    """The folder of real networks beside the project; it is not part of it."""
    return find_structures()


def find_structures():
    """Return the folder of real networks; skip the test that asks where it is missing."""
    if not STRUCTURES.is_dir():
        pytest.skip(f"the real structures are not at {STRUCTURES}")
    return STRUCTURES


@pytest.fixture
def rng():
    """Random numbers, other ones in each run; pytest-randomly prints the seed that repeats them."""
    return np.random.default_rng(random.getrandbits(64))


@pytest.fixture
def flu():
    """A structure of two diseases and three symptoms, with names."""
    return Structure.from_edges(
        [("flu", "fever"), ("flu", "cough"), ("cold", "cough"), ("cold", "runny nose")]
    )


def random_network(rng, n_diseases=None, n_symptoms=None, extremes=False):
    """A network with random edges; with `extremes` some parameters are 0 or 1."""
    n_diseases = n_diseases or int(rng.integers(1, 7))
    n_symptoms = n_symptoms or int(rng.integers(1, 7))
    structure = Structure.from_matrix(rng.random((n_diseases, n_symptoms)) < 0.6)
    sizes = structure.n_diseases, structure.n_edges, structure.n_symptoms
    parameters = [rng.random(size) for size in sizes]
    if extremes:
        for values in parameters:
            chosen = rng.random(len(values)) < 0.2
            values[chosen] = rng.integers(0, 2, chosen.sum())
    return NoisyOrNetwork(structure, *parameters)


def network_on(structure, rng, priors=(0.05, 0.5), failures=(0.1, 0.9), leaks=(0.01, 0.1)):
    """A network with a given structure; its parameters are drawn between bounds."""
    return NoisyOrNetwork(
        structure,
        rng.uniform(*priors, structure.n_diseases),
        rng.uniform(*failures, structure.n_edges),
        rng.uniform(*leaks, structure.n_symptoms),
    )


def as_lists(network):
    """The parameters of a network in the form that tests/naive.py takes."""
    matrix = np.ones((network.structure.n_diseases, network.structure.n_symptoms))
    matrix[tuple(network.structure.edges.T)] = network.failures
    return network.priors.tolist(), matrix.tolist(), network.leaks.tolist()


def random_records(rng, n_records, n_symptoms, unknown=0.0):
    """Records as an array of 0, 1 and NaN, of random density."""
    records = (rng.random((n_records, n_symptoms)) < rng.random()).astype(float)
    records[rng.random(records.shape) < unknown] = np.nan
    return records


def with_unknown(findings, rng, share=0.1):
    """The same records, with some findings unknown."""
    rows = findings.to_numpy().astype(float)
    rows[rng.random(rows.shape) < share] = np.nan
    return Findings.from_numpy(rows, findings.structure)


def as_rows(records):
    """Records, an array or findings, in the form that tests/naive.py takes: None is unknown."""
    array = records.to_numpy() if isinstance(records, Findings) else records
    return [
        [None if np.isnan(value) else int(value) for value in row]
        for row in array.astype(float).tolist()
    ]
