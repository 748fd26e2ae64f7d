"""Work on a cluster, through Dask: jobs that can be repeated, results that are merged there."""

from noisyor.cluster.connecting import connected, is_client
from noisyor.cluster.jobs import Cluster, Skipped

__all__ = ["Cluster", "Skipped", "connected", "is_client"]
