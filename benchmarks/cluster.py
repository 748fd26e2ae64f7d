"""A cluster on this machine against plain threads, on the same records; merging many counts."""

import os
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measuring import print_table
from noisyor import MomentPlan, Moments, count_moments, datasets, find_schedule
from noisyor.findings.writing import RecordWriter
from noisyor.moments.moments import sum_moments

REPEATS = 3
N_FILES = 8


def run(scale):
    counting(int(10_000_000 * scale))
    wide_files(int(200_000 * scale))
    merging(max(10, int(1000 * scale)))


def counting(n_records):
    """Count the clinic's records from Parquet with threads, and with a worker for each core."""
    from distributed import Client, LocalCluster

    network = datasets.clinic()
    plan = MomentPlan.all_pairs(network.structure)
    rows = [["records", "threads, s", "cluster, s", "times"]]
    with tempfile.TemporaryDirectory() as folder:
        files = write(network, Path(folder), n_records)
        n_workers = os.cpu_count()
        with (
            LocalCluster(n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            assert count_moments(files, plan, client=client) == count_moments(files, plan)
            seconds = np.array(
                [
                    [timed(files, plan, client=each) for each in (None, client)]
                    for _ in range(REPEATS)
                ]
            ).min(axis=0)
    cells = [f"{each:.2f}" for each in seconds]
    rows.append([f"{n_records:,}", *cells, f"{seconds[1] / seconds[0]:.2f}"])
    print_table(f"Counting from Parquet, the best of {REPEATS}, {n_workers} cores", rows)


def write(network, folder, n_records):
    """Write records in several files."""
    files = []
    for number in range(N_FILES):
        blocks = (each.block for each in network.iter_sample(n_records // N_FILES, number))
        files.append(folder / f"{number}.parquet")
        RecordWriter(network.structure.symptoms).write(files[-1], "parquet", blocks)
    return files


def timed(files, plan, client):
    start = time.perf_counter()
    count_moments(files, plan, client=client)
    return time.perf_counter() - start


def wide_files(n_records):
    """Measure what a core does with wide Parquet of QMR's size: the figures of docs/cluster.md."""
    network = datasets.qmr_shaped(0)
    plans = {
        "of a schedule": find_schedule(network.structure).plan(),
        "all coupled pairs": MomentPlan.coupled(network.structure),
    }
    rows = [["plan", "records", "bytes a record", "us a record, one core", "megabytes of counts"]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.parquet"
        network.sample(n_records, seed=1).to_parquet(path)
        size = path.stat().st_size / n_records
        for name, plan in plans.items():
            seconds, moments = min(
                (one_core(path, plan) for _ in range(REPEATS)), key=lambda each: each[0]
            )
            counts = sum(each.nbytes for each in moments.present) / 2**20
            cells = [f"{size:.0f}", f"{1e6 * seconds / n_records:.1f}", f"{counts:.0f}"]
            rows.append([name, f"{n_records:,}", *cells])
    print_table("Wide Parquet of QMR's size (4,075 columns), read and counted by one core", rows)


def one_core(path, plan):
    start = time.perf_counter()
    moments = count_moments(path, plan, n_jobs=1)
    return time.perf_counter() - start, moments


def merging(n_parts):
    """Merge partial counts of the plan of a schedule of QMR's size, eight at a time."""
    network = datasets.qmr_shaped(0)
    plan = find_schedule(network.structure).plan()
    one = count_moments(network.sample(2000, seed=1), plan)
    parts = [
        Moments(plan, one.group_records, tuple(counts.copy() for counts in one.present))
        for _ in range(8)
    ]
    start = time.perf_counter()
    level, n_left = parts, n_parts
    while n_left > 1:
        # The same eight stand for all: what is added is as much.
        for _ in range(-(-n_left // 8)):
            total = sum_moments(level)
        n_left = -(-n_left // 8)
    seconds = time.perf_counter() - start
    size = sum(counts.nbytes for counts in total.present) / 2**20
    rows = [
        ["plan", "partial counts", "megabytes each", "seconds"],
        [str(plan), f"{n_parts:,}", f"{size:.0f}", f"{seconds:.1f}"],
    ]
    print_table("Merging partial counts as a tree, eight at a time, on one core", rows)
