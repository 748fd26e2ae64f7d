"""Counting moments: one pass over records of any amount, here or on a cluster."""

from typing import Any, Unpack

import numpy as np

from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.findings.findings import as_source, open_records
from noisyor.findings.reading import ReadOptions, RecordFormat
from noisyor.moments.cluster_counting import CountRequest, count_on_cluster
from noisyor.moments.counter import MomentCounter, Progress
from noisyor.moments.groups import N_GROUPS
from noisyor.moments.moments import Moments
from noisyor.moments.plan import MomentPlan

MOST_GROUPS = 1000
"""Each group has counts of its own; more would take memory and tell no more about errors."""


def count_moments(
    source: Any,
    plan: MomentPlan,
    *,
    n_groups: int = N_GROUPS,
    progress: Progress | None = None,
    n_jobs: int | None = None,
    client: Any = None,
    skip_broken: bool = False,
    **options: Unpack[ReadOptions],
) -> Moments:
    """Count a plan's sets over records: findings, an array, a table, a path, or a list of these.

    Where some findings are unknown, each set is counted over the records in which all of its
    symptoms are known, with margins of its own. The options are those of
    `noisyor.findings.reading.RecordFormat`. Records without ids are put into groups by the name of
    their file and their row, also where they were read into memory before; those that never were
    in a file count as one file with an empty name.

    `n_jobs` threads count at a time; None: as many as there are cores. With a `client` (a
    `distributed.Client` of Dask) files, or a Dask DataFrame, are counted on its cluster: the same
    integers. With `skip_broken`, files that cannot be read there are left out, each as a whole,
    and a warning names them.

    >>> from noisyor import datasets
    >>> network = datasets.figure1(rng=0)
    >>> moments = count_moments(network.sample(1000, rng=1), MomentPlan.coupled(network.structure))
    >>> moments
    Moments(1,000 records in 50 groups, MomentPlan(5 symptoms, 8 pairs, 0 triplets))
    """
    return count_records(
        source, plan, RecordFormat(**options), n_groups=n_groups, n_jobs=n_jobs, progress=progress,
        client=client, skip_broken=skip_broken,
    )  # fmt: skip


def count_records(
    source: Any, plan: MomentPlan, form: RecordFormat, *, n_groups: int, n_jobs: int | None,
    progress: Progress | None, client: Any, skip_broken: bool,
) -> Moments:  # fmt: skip
    """Do as `count_moments`, with the options of reading as one value."""
    if not isinstance(n_groups, int | np.integer) or not 1 <= n_groups <= MOST_GROUPS:
        raise ParameterError(f"n_groups must be at least 1 and at most {MOST_GROUPS}.")
    if n_jobs is not None and (not isinstance(n_jobs, int | np.integer) or n_jobs < 1):
        raise ParameterError(f"n_jobs must be a whole number from 1, not {n_jobs!r}.")
    source = as_source(source, plan.structure)
    is_here = isinstance(source, Findings) or hasattr(source, "__arrow_c_stream__")
    if client is not None and not is_here:
        request = CountRequest(plan, form, n_groups)
        moments, _ = count_on_cluster(
            client, source, request, progress=progress, skip_broken=skip_broken
        )
        return moments
    if skip_broken:
        raise ParameterError("skip_broken is for work on a cluster: give a client.")
    counter = MomentCounter(plan, n_groups, n_jobs)
    for stream in open_records(source, plan.structure, form):
        counter.add_blocks(stream.blocks, progress)
    return counter.take()
