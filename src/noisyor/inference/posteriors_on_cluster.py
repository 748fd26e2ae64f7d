"""Diagnosis on a cluster: each worker writes the posteriors of its records to a file of its own."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from noisyor.cluster import Cluster, Job
from noisyor.errors import FileError
from noisyor.findings.cluster_reading import Reading, job_blocks, split_records, with_counted_rows
from noisyor.findings.notes import Notes
from noisyor.findings.reading import RecordFormat
from noisyor.inference.answers import make_request
from noisyor.inference.posterior_tables import MethodCounts, PosteriorWriter
from noisyor.io.parts import Part
from noisyor.io.replacing import replaced_folder
from noisyor.io.tables import write_batches
from noisyor.network import NoisyOrNetwork

Settings = tuple[NoisyOrNetwork, int | None, dict[str, Any]]
WIDE_ONLY = (
    "records with a row per finding are not diagnosed on a cluster: do it on one machine, or write "
    "them with a column per symptom."
)


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
    They are written beside the folder, which has all of them, or none.
    """
    cluster = Cluster(client)
    _check_folder(folder)
    records = split_records(cluster, source, network.structure, form, must_be_wide=WIDE_ONLY)
    shared = [cluster.share((network, top, request)), records.shared]
    jobs = with_counted_rows(cluster, records.jobs)
    total, notes = MethodCounts(), Notes()
    with replaced_folder(folder) as beside:
        for job, (counts, noted) in cluster.in_order(_diagnose, _numbered(jobs, beside), shared):
            total.add(counts)
            notes.add(noted)
            if progress is not None:
                progress(job.size)
        records.end_pass(total.n_records, notes=notes)
        for half in beside.glob(".part-*.part"):  # of workers that were killed
            half.unlink(missing_ok=True)
    return total


def _check_folder(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileError(f"{folder} exists: on a cluster a new or empty folder is written to.")


def _numbered(jobs: list[Job], folder: Path) -> Iterator[Job]:
    """Give each job the number of its first record, and its file."""
    first = 0
    for number, job in enumerate(jobs):
        path = folder / f"part-{number:05}.parquet"
        yield job._replace(arguments=(*job.arguments, first, str(path)))
        first += job.size


def _diagnose(
    settings: Settings, reading: Reading, parts: list[Part], first: int, path: str
) -> tuple[dict[str, int], Notes]:
    """Write the posteriors of some parts; return how many were found in which way."""
    network, top, request = settings
    counts, notes = MethodCounts(), Notes()
    blocks = job_blocks(reading, notes, parts)
    start = next(blocks, None)
    ids = None if start is None or start.record_ids is None else start.record_ids.type
    writer = PosteriorWriter(network, ids, top)
    remaining = blocks if start is None else itertools.chain([start], blocks)
    asked = make_request(**request, first=first)
    batches = writer.batches(remaining, counts, asked, n_jobs=1)
    write_batches(path, writer.schema, batches, "parquet")
    return dict(counts.counts), notes
