"""Clusters of Dask on this machine, for tests; they skip where the extra is not there."""

import functools
import operator
from collections import deque
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from noisyor.cluster import Cluster, repeated
from noisyor.errors import collected_notices

distributed = pytest.importorskip("distributed", reason="the extra noisyor[cluster] is not there")

# Dask's own loops, sockets and files are not ours to close.
CLUSTER_MARKS = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*large graph.*:UserWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def local_cluster(**options):
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", **options
    )


@contextmanager
def local_client(**options):
    with local_cluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def write_groups(findings, path, n_rows):
    """Write Parquet in row groups of a size that is no multiple of 64."""
    pq.write_table(findings.to_arrow(), path, row_group_size=n_rows)
    return path


# --- a cluster without Dask: the same jobs, one after the other, in this thread ---


class Done:
    """What a job gave, or the error that it raised."""

    def __init__(self, work, *arguments):
        self.value, self.error, self.status = None, None, "finished"
        try:
            self.value = work(*map(_resolved, arguments))
        except Exception as error:  # whatever a worker would send back
            self.error, self.status = error, "error"

    def exception(self):
        return self.error


def _resolved(argument):
    if isinstance(argument, list):
        return [_resolved(each) for each in argument]
    if isinstance(argument, Done):
        if argument.error is not None:
            raise argument.error
        return argument.value
    return argument


class HereCluster(Cluster):
    """Does each job at once: thousands of files are tried in the time that Dask takes for some."""

    n_threads = 2

    def __init__(self):
        self._notices, self._told = [], set()
        self._distributed = distributed
        self._client = SimpleNamespace(cancel=lambda *_, **__: None)

    def share(self, value):
        return Done(lambda: value)

    def keep(self, work, *arguments):
        with collected_notices() as notices:
            done = Done(functools.partial(repeated, work), *arguments)
        self._notices += notices
        return done

    def fetch(self, kept):
        with self._working():
            return [_resolved(each) for each in kept]

    def pick(self, kept, number):
        return Done(operator.getitem, kept, number)

    def as_completed(self, kept=()):
        waiting = deque(kept)
        return SimpleNamespace(add=waiting.append, next=waiting.popleft)

    def completed(self, finished):
        return finished.next()

    def _merge(self, merge, shared, futures):
        return futures[0] if len(futures) == 1 else Done(merge, *shared, futures)


def commands_do_without_dask(monkeypatch):
    """Have commands work on a cluster that does its jobs here."""
    # The last one last: modules that are imported here for the first time take its name.
    for module in "cli.count", "cli.record_files", "cluster":
        monkeypatch.setattr(f"noisyor.{module}.connected", lambda _: nullcontext(object()))
    for module in "cli.count", "learning.sources", "inference.posteriors_on_cluster":
        monkeypatch.setattr(f"noisyor.{module}.Cluster", lambda _: HereCluster())


def client_of_small_jobs(monkeypatch):
    """Return what takes the place of a Dask client where records are learned from."""
    monkeypatch.setattr("noisyor.learning.sources.Cluster", lambda _: HereCluster())
    monkeypatch.setattr("noisyor.findings.cluster_reading.FEWEST_ROWS", 300)
    monkeypatch.setattr("noisyor.findings.cluster_reading.JOBS_PER_THREAD", 10)
    return object()
