"""Records to look for structures in, on a cluster: the same result as of the same files here."""

import numpy as np
import pytest

from clusters import HereCluster, write_groups
from noisyor import NoisyOrNetwork, Structure
from noisyor.discovery import DiscoverySettings, RepairSettings, discover, repair, suggest
from noisyor.discovery.reading import read_records
from noisyor.errors import ClusterError, ParameterError
from noisyor.findings import cluster_reading
from noisyor.learning import sources

TRUTH = NoisyOrNetwork(
    Structure.from_matrix([[1, 1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1, 1]]),
    [0.2, 0.1], [0.3] * 9, [0.02] * 7,
)  # fmt: skip
WRONG = Structure(TRUTH.structure.diseases, TRUTH.structure.symptoms, TRUTH.structure.edges[1:])
LACKING = NoisyOrNetwork(WRONG, TRUTH.priors, TRUTH.failures[1:], TRUTH.leaks)


@pytest.fixture
def client(monkeypatch):
    """What takes the place of a Dask client, and gives small jobs."""
    monkeypatch.setattr(sources, "Cluster", lambda _: HereCluster())
    monkeypatch.setattr(cluster_reading, "FEWEST_ROWS", 300)
    monkeypatch.setattr(cluster_reading, "JOBS_PER_THREAD", 10)
    return object()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    records = TRUTH.sample(2000, rng=0)
    return str(write_groups(records, tmp_path_factory.mktemp("records") / "a.parquet", 350))


def test_records_of_a_cluster_are_those_of_the_file(path, client):
    there, here = (read_records(path, WRONG, {}, each) for each in (client, None))
    np.testing.assert_array_equal(there.to_numpy(), here.to_numpy())
    in_memory = read_records(here, WRONG, {}, client)  # stays as it is
    np.testing.assert_array_equal(in_memory.to_numpy(), here.to_numpy())


def test_what_is_found_is_the_same(path, client):
    settings = RepairSettings(diseases=False)
    starts = DiscoverySettings(n_init=1, standard_errors=False)
    for look in (
        lambda **where: suggest(LACKING, path, **where).table(),
        lambda **where: repair(WRONG, path, settings=settings, **where).structure,
        lambda **where: discover(path, 3, settings=starts, **where).network,
    ):
        assert look(client=client) == look()


def test_no_records_are_refused(tmp_path, client):
    empty = tmp_path / "empty.csv"
    empty.write_text("record," + ",".join(TRUTH.structure.symptoms) + "\n")
    with pytest.raises(ParameterError, match="there are no records"):
        read_records(str(empty), WRONG, {}, client)


def test_a_client_must_be_one(path):
    with pytest.raises(ClusterError, match="client must be"):
        suggest(TRUTH, path, client=3)
