"""Clusters of Dask on this machine, for tests; they skip where the extra is not there."""

from contextlib import contextmanager

import pyarrow.parquet as pq
import pytest

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
        n_workers=2, threads_per_worker=1, dashboard_address=":0", **options
    )


@contextmanager
def local_client(**options):
    with local_cluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def write_groups(findings, path, n_rows):
    """Write Parquet in row groups of a size that is no multiple of 64."""
    pq.write_table(findings.to_arrow(), path, row_group_size=n_rows)
    return path
