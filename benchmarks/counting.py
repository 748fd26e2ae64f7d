"""Counting moments: seconds a record, and how near the machine's own limits that is."""

import functools
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.measuring import in_new_process, print_table, seconds
from noisyor import Findings, MomentPlan, count_moments, datasets
from noisyor.moments import count_kernels as kernels
from noisyor.moments import counting, tally

PAPER_SECONDS = 2.5e-4
"""A record, for 36,506 triplets, 7,682 pairs and 4,013 singles (Section 4.2)."""

COUNT_FILE = """
from noisyor import MomentPlan, count_moments, datasets
structure = datasets.qmr_shaped(0).structure
plan = MomentPlan.load({plan!r})
def work():
    moments = count_moments({path!r}, plan)
    assert moments.n_records == {records}
"""


def run(scale: float) -> None:
    records = int(1_000_000 * scale)
    network = datasets.qmr_shaped(0)
    paper = paper_plan(network.structure)
    coupled = MomentPlan.coupled(network.structure)
    findings = network.sample(records, seed=1)
    count_moments(network.sample(1000, seed=0), coupled)  # compile
    in_memory(findings, paper, coupled)
    linear_in_records(network, paper, scale)
    sparse_or_dense(coupled)
    with tempfile.TemporaryDirectory() as folder:
        from_files(network, Path(folder), coupled, paper, records)


def paper_plan(structure):
    """As many triplets, pairs and symptoms as the paper counted, among children of one disease.

    A triplet is counted with its three pairs, as its joint distribution needs.
    """
    rng = np.random.default_rng(0)
    children = [structure.children(i) for i in range(structure.n_diseases)]

    def draw(order, n):
        drawn = set()
        while len(drawn) < n:
            disease = rng.integers(structure.n_diseases)
            drawn.add(tuple(sorted(rng.choice(children[disease], order, replace=False).tolist())))
        return sorted(drawn)

    return MomentPlan(
        structure, symptoms=np.arange(4013), pairs=draw(2, 7682), triplets=draw(3, 36_506)
    )


def machine_limits():
    """Measure what bounds the kernels: words combined in level-1 caches, bytes from memory."""
    rng = np.random.default_rng(0)
    small = rng.integers(0, 2**63, (8, 128)).astype(np.uint64)
    pairs = rng.integers(0, 8, (200_000, 2)).astype(np.int32)
    cores = os.cpu_count() or 1
    counts = [np.zeros(len(pairs), dtype=np.uint32) for _ in range(cores)]

    def all_cores():
        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(lambda c: kernels.count_pairs(small, 0, 128, pairs, c), counts))

    all_cores()
    words = cores * len(pairs) * 128 / seconds(all_cores, 60)
    large = np.ones(1 << 27, dtype=np.uint64)  # 1 GB, read once
    bandwidth = large.nbytes / seconds(large.sum, 3)
    return words, bandwidth


def in_memory(findings, paper, coupled) -> None:
    words_per_second, bandwidth = machine_limits()
    n = findings.n_records
    data_bytes = sum(block.present.nbytes for block in findings.blocks)
    plans = {"as large as the paper's": paper, "all coupled pairs": coupled}
    times = {
        title: seconds(lambda p=plan: count_moments(findings, p), 7)
        for title, plan in plans.items()
    }
    words_per_second = max(words_per_second, machine_limits()[0])  # the machine is not always free
    rows = [("plan", "seconds", "a record", "of the peak of word operations", "beside it")]
    for title, plan in plans.items():
        elapsed = times[title]
        operations = (len(plan.pairs) + len(plan.triplets) + len(plan.symptoms)) * n / 64
        fraction = operations / words_per_second / elapsed
        ratio = PAPER_SECONDS * n / elapsed
        slower = f"the paper: {PAPER_SECONDS:.1e} s a record, {ratio:,.0f} times as long"
        memory = f"to read {data_bytes / 1e9:.2f} GB once: {data_bytes / bandwidth:.2f} s"
        rows.append(
            (
                f"{title}: {plan}",
                f"{elapsed:.2f}",
                f"{elapsed / n * 1e6:.2f} us",
                f"{fraction:.0%}",
                slower if plan is paper else memory,
            )
        )
    print_table(f"In memory, {n:,} records of qmr_shaped", rows)
    print(
        f"\nPeak, all cores together: {words_per_second / 1e9:.1f} words a nanosecond combined and "
        f"counted in the level-1 caches. Memory: {bandwidth / 1e9:.1f} GB/s on one core."
    )


def linear_in_records(network, plan, scale) -> None:
    rows = [("records", "seconds", "a record")]
    for records in 10_000, 100_000, 1_000_000, 10_000_000:
        n = int(records * scale)
        counter = counting.MomentCounter(plan, 50)
        elapsed = 0.0
        # Ten million records are counted a million at a time: all at once they take 5 GB.
        for start in range(0, n, 1_000_000):
            findings = network.sample(min(1_000_000, n - start), seed=start)
            add = functools.partial(counter.add_blocks, str(start), findings.blocks)
            elapsed += seconds(add, 1)
        elapsed += seconds(counter.take, 1)
        rows.append((f"{n:,}", f"{elapsed:.3f}", f"{elapsed / n * 1e6:.2f} us"))
    print_table("Cost grows with the records (a plan as large as the paper's)", rows)


def sparse_or_dense(plan) -> None:
    """Count records with few findings both ways, to see where the choice should fall."""
    rows = [("findings a record", "listing", "columns", "chosen")]
    rng = np.random.default_rng(0)
    structure = plan.structure
    before = tally.LISTED_PAIR_SECONDS
    for mean in 5, 10, 20, 40, 80:
        present = rng.random((65_536, structure.n_symptoms), dtype=np.float32) < mean / 4075
        findings = Findings.from_numpy(present, structure)
        times = []
        for cost in 0.0, 1.0:
            tally.LISTED_PAIR_SECONDS = cost
            times.append(seconds(lambda f=findings: count_moments(f, plan, n_groups=8), 2))
        tally.LISTED_PAIR_SECONDS = before
        chosen = tally.Tally(plan, 8, 2)
        listed = chosen.listing_is_cheaper(int(present[:8192].sum()), 8192, 128)
        rows.append((f"{mean}", *(f"{t:.2f} s" for t in times), "listing" if listed else "columns"))
    print_table("Sparse records: listing findings or combining columns (65,536 records)", rows)


def from_files(network, folder, coupled, paper, records) -> None:
    rows = [("file", "plan", "seconds", "peak memory")]
    paths = {}
    for n in records, 10 * records:
        paths[n] = folder / f"{n}.parquet"
        from noisyor.findings.writing import RecordWriter

        blocks = (each.block for each in network.iter_sample(n, seed=1))
        RecordWriter(network.structure.symptoms, layout="long").write(paths[n], "parquet", blocks)
    for name, plan in ("coupled", coupled), ("paper", paper):
        plan.save(folder / f"{name}.plan")
    for name, n in ("coupled", records), ("coupled", 10 * records), ("paper", records):
        code = COUNT_FILE.format(plan=str(folder / f"{name}.plan"), path=str(paths[n]), records=n)
        elapsed, peak = in_new_process(code)
        rows.append((f"long Parquet, {n:,} records", name, f"{elapsed:.1f}", f"{peak:.2f} GB"))
    print_table("From files", rows)
