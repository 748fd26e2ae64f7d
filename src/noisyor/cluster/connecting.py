"""Connecting to a cluster, or starting one on this machine."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from noisyor.errors import ClusterError

INSTALL = "pip install 'noisyor[cluster]'"


def imported() -> Any:
    """Return Dask's package `distributed`, or say how to get it."""
    try:
        import distributed
    except ImportError:
        raise ClusterError(f"a cluster needs Dask, which is not installed: {INSTALL}") from None
    return distributed


def is_client(candidate: object) -> bool:
    """Return True if something is a Dask client, without importing Dask."""
    return hasattr(candidate, "submit") and hasattr(candidate, "scheduler_info")


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Give a client of the cluster at an address; `local` or `local:4` starts one here."""
    distributed = imported()
    if address == "local" or address.startswith("local:"):
        with _local(distributed, address) as cluster, distributed.Client(cluster) as client:
            yield client
        return
    try:
        client = distributed.Client(address, timeout="5s")
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"there is no cluster at {address!r} ({error}). Give the address of a Dask scheduler, "
            "such as tcp://10.0.0.1:8786, or local:4 for four processes on this machine."
        ) from None
    with client:
        yield client


def _local(distributed: Any, address: str) -> Any:
    wanted = address.partition(":")[2]
    if wanted and (not wanted.isdigit() or int(wanted) < 1):
        raise ClusterError(f"{address!r}: after local: comes the number of workers, as in local:4.")
    return distributed.LocalCluster(
        n_workers=int(wanted) if wanted else os.cpu_count(), threads_per_worker=1,
        processes=True, dashboard_address=":0", silence_logs=logging.CRITICAL,
    )  # fmt: skip
