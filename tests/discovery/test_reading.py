"""Records to look for structures in, on a cluster: the same result as of the same files here."""

from types import SimpleNamespace

import numpy as np
import pytest

from clusters import client_of_small_jobs, write_groups
from noisyor import NoisyOrNetwork, Structure
from noisyor.discovery import DiscoverySettings, RepairSettings, discover, repair, suggest
from noisyor.discovery.reading import _columns_of, read_records
from noisyor.errors import ClusterError, FindingsError, NoisyOrError, ParameterError
from noisyor.findings.reading import RecordFormat

TRUTH = NoisyOrNetwork(
    Structure.from_matrix([[1, 1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1, 1]]),
    [0.2, 0.1], [0.3] * 9, [0.02] * 7,
)  # fmt: skip
WRONG = Structure(TRUTH.structure.diseases, TRUTH.structure.symptoms, TRUTH.structure.edges[1:])
LACKING = NoisyOrNetwork(WRONG, TRUTH.priors, TRUTH.failures[1:], TRUTH.leaks)


@pytest.fixture
def client(monkeypatch):
    """What takes the place of a Dask client, and gives small jobs."""
    return client_of_small_jobs(monkeypatch)


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


def test_long_tables_are_refused_before_they_are_read(tmp_path, client):
    path = tmp_path / "long.csv"
    path.write_text("record,symptom\n1,S0\n1,S1\n2,S3\n")
    with pytest.raises(ParameterError, match="a column per symptom: leave out --cluster"):
        repair(WRONG, str(path), client=client)


def test_all_files_have_ids_or_none(tmp_path, client):
    header, rows = ",".join(TRUTH.structure.symptoms), "1,0,1,0,0,0,0\n"
    with_ids, without = tmp_path / "a.csv", tmp_path / "b.csv"
    with_ids.write_text(f"record,{header}\n7,{rows}")
    without.write_text(f"{header}\n{rows}")
    files = [str(with_ids), str(without)]
    for where in (client, None):
        with pytest.raises(FindingsError, match="column of record ids and .* has none"):
            read_records(files, WRONG, {}, where)


@pytest.mark.parametrize("records", [None, 5, []])
def test_what_is_no_file_is_refused_as_without_a_cluster(records, client):
    for where in (client, None):
        with pytest.raises(NoisyOrError):
            suggest(LACKING, records, client=where)
        with pytest.raises(NoisyOrError):
            discover(records, client=where)


def test_a_frame_of_a_cluster_has_names():
    frame = SimpleNamespace(to_delayed=None, columns=["record", "a", "b"])
    assert _columns_of(frame, RecordFormat()) == ["a", "b"]
