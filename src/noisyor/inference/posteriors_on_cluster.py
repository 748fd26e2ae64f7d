"""Diagnosis on a cluster: each worker writes the posteriors of its records to a file of its own."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from noisyor.cluster import Cluster, Job
from noisyor.errors import FileError, ParameterError
from noisyor.findings.cluster_reading import job_blocks, split_records, with_counted_rows
from noisyor.findings.reading import RecordFormat
from noisyor.inference.posterior_tables import MethodCounts, PosteriorWriter
from noisyor.io.parts import Part
from noisyor.io.tables import write_batches
from noisyor.network import NoisyOrNetwork

Settings = tuple[NoisyOrNetwork, RecordFormat, int | None, dict[str, Any]]


def diagnose_on_cluster(
    client: Any,
    network: NoisyOrNetwork,
    source: Any,
    folder: Path,
    form: RecordFormat,
    *,
    top: int | None = None,
    progress: Callable[[int], None] | None = None,
    **request: Any,
) -> MethodCounts:
    """Write the posteriors of files of records into a folder that all workers can reach.

    A file for each job, in the order of the records; together the rows that one machine writes.
    """
    cluster = Cluster(client)
    split = split_records(cluster, source, network.structure, form, skip_broken=False)
    if split.is_long:
        raise ParameterError(
            "records with a row per finding are not diagnosed on a cluster: do it on one machine, "
            "or write them with a column per symptom."
        )
    _make_folder(folder)
    shared = [cluster.share((network, form, top, request))]
    numbered = list(_numbered(with_counted_rows(cluster, split.jobs), folder.resolve()))
    total = MethodCounts()
    for job, counts in cluster.in_order(_diagnose, numbered, shared):
        total.add(counts)
        if progress is not None:
            progress(job.size)
    _remove_halves(folder)
    return total


def _remove_halves(folder: Path) -> None:
    """Remove what workers that were killed have left behind."""
    for half in folder.glob(".part-*.part"):
        half.unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        _remove_halves(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileError(f"{folder} exists: on a cluster a new or empty folder is written to.")
    folder.mkdir(parents=True, exist_ok=True)


def _numbered(jobs: list[Job], folder: Path) -> Iterator[Job]:
    """Give each job the number of its first record, and its file."""
    first = 0
    for number, job in enumerate(jobs):
        path = folder / f"part-{number:05}.parquet"
        yield job._replace(arguments=(*job.arguments, first, str(path)))
        first += job.size


def _diagnose(settings: Settings, parts: list[Part], first: int, path: str) -> dict[str, int]:
    """Write the posteriors of some parts; return how many were found in which way."""
    network, form, top, request = settings
    counts = MethodCounts()
    blocks = job_blocks(network.structure, form, parts)
    start = next(blocks, None)
    ids = None if start is None or start.record_ids is None else start.record_ids.type
    writer = PosteriorWriter(network, ids, top)
    remaining = blocks if start is None else itertools.chain([start], blocks)
    batches = writer.batches(remaining, counts, first, n_jobs=1, **request)
    write_batches(path, writer.schema, batches, "parquet")
    return dict(counts.counts)
