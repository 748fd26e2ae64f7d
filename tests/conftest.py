"""What many tests need: random networks and records, real structures, the command."""

import os
import random
import sys
from pathlib import Path

# Before numpy and scipy load theirs: workers of pytest share the cores already, and threads of
# linear algebra that wait for each other on a busy machine take ten times the work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

import naive
from noisyor import Findings, MomentPlan, NoisyOrNetwork, Structure, count_moments, datasets
from noisyor.cli import main

settings.register_profile("house", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("house")

STRUCTURES = Path(__file__).parents[2] / "shared" / "structures"


LONGEST_FILES = {
    "test_docs.py", "test_degenerate.py", "test_together.py", "test_refined.py", "test_misfits.py",
}  # fmt: skip


@pytest.hookimpl(trylast=True)  # pytest-randomly has mixed them
def pytest_collection_modifyitems(items):
    """Begin with the files that take longest: at the end one worker would wait for the other."""
    items.sort(key=lambda item: item.path.name not in LONGEST_FILES)


@pytest.fixture
def real_structures():
    """The folder of real networks beside the project; it is not part of it."""
    return find_structures()


def find_structures():
    """Return the folder of real networks; skip the test that asks where it is missing."""
    if not STRUCTURES.is_dir():
        pytest.skip(f"the real structures are not at {STRUCTURES}")
    return STRUCTURES


@pytest.fixture(autouse=True)
def close_figures():
    """Close what a test drew: figures that stay open add up to a warning in another test."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


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


def random_structure(rng):
    """Up to 8 diseases, from sparse to full, some with equal or no children."""
    n_diseases, n_symptoms = int(rng.integers(1, 9)), int(rng.integers(1, 15))
    matrix = rng.random((n_diseases, n_symptoms)) < rng.choice([0.15, 0.3, 0.5, 0.8])
    if rng.random() < 0.2:
        matrix[-1] = matrix[0]
    return Structure.from_matrix(matrix)


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


def learnable_rounds(structure, pairs=True):
    """The edges that each round learns and those that are left, the obvious way."""
    return naive.learnable_rounds([tuple(edge) for edge in structure.edges.tolist()], pairs)


@pytest.fixture
def run(capsys):
    """Run a command line; return exit code, standard output and standard error."""

    def call(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main([str(argument) for argument in arguments])
        output = capsys.readouterr()
        return exit_.value.code or 0, output.out, output.err

    return call


@pytest.fixture
def sites(tmp_path):
    """Return a folder with the clinic's network and four files of records."""
    network = datasets.clinic()
    network.save(tmp_path / "clinic.json")
    for number in range(4):
        findings = network.sample(3000, rng=number)
        findings.to_parquet(tmp_path / f"part{number}.parquet")
    return tmp_path


def parts(folder):
    """Return the files of records in a folder."""
    return sorted(folder.glob("part*.parquet"))


def whole(folder):
    """Return what counting the clinic's files in Python gives."""
    return count_moments(parts(folder), MomentPlan.coupled(datasets.clinic().structure))


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


@pytest.fixture(scope="module")
def threads():
    """A cluster in this process: what tests change here, its workers see."""
    from clusters import local_client

    with local_client(processes=False) as client:
        yield client


@pytest.fixture
def small_jobs(monkeypatch):
    """Have a few thousand rows make many jobs on a cluster."""
    from noisyor.findings import cluster_reading

    monkeypatch.setattr(cluster_reading, "FEWEST_ROWS", 500)
    monkeypatch.setattr(cluster_reading, "JOBS_PER_THREAD", 10)
