"""Speed: sampling, files, starting, counting against the machine's own limits, a cluster."""

import functools
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import run as run_command
from typing import Any

import numpy as np

from noisyor.experiments.drawing import curve, picture, records_axis
from noisyor.experiments.measures import in_new_process, seconds
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import Settings
from noisyor.experiments.tables import Run, markdown_table, shown, table
from noisyor.findings import Findings
from noisyor.findings.writing import RecordWriter
from noisyor.moments import MomentPlan, Moments, count_moments
from noisyor.moments.moments import sum_moments
from noisyor.network import NoisyOrNetwork
from noisyor.schedule import find_schedule
from noisyor.structure import Structure

LASTS = "six minutes"
LARGE = "qmr_shaped"
PAPER_SECONDS = 2.5e-4
"""A record, for 36,506 triplets, 7,682 pairs and 4,013 singles (Section 4.2)."""
CHUNK = 1_000_000
"""Records that are held at once."""
STARTS = ("import noisyor", "from noisyor import NoisyOrNetwork", "noisyor --help",
          "noisyor info clinic")  # fmt: skip
EDGES = (70, 45_000, 300_000)
PER_RECORD = (5, 10, 20, 40, 80)
PLANS = ("as the paper", "of a schedule", "all coupled pairs")
N_FILES = 8
IN_A_PROCESS = """
from noisyor import Findings, MomentPlan, count_moments, datasets
structure = datasets.qmr_shaped(0).structure
def work():
    return {}
"""


def cells(settings: Settings) -> list[Cell]:
    """List what is timed, room by room."""
    n = settings.pick(1_000_000, 20_000)
    found = [Cell("clinic", 0, 0, start) for start in STARTS]
    found += [Cell(f"{edges:,} edges", 0, 0, "structure") for edges in EDGES]
    found += [Cell(LARGE, n, 0, "sample")]
    found += [Cell(LARGE, n // 4, 0, f"{layout} Parquet") for layout in ("long", "wide")]
    sizes = (n // 100, n // 10, n, 4 * n)
    found += [Cell(LARGE, size, 0, "count: as the paper") for size in sizes]
    found += [Cell(LARGE, n, 0, "count: all coupled pairs")]
    found += [Cell(LARGE, n // 16, 0, f"count: {k} findings a record") for k in PER_RECORD]
    found += [Cell(LARGE, size, 0, "count a file: all coupled pairs") for size in (n // 10, n)]
    found += [Cell(LARGE, n // 10, 0, f"one core: {plan}") for plan in PLANS[1:]]
    found += [Cell(LARGE, 0, 0, f"merge {settings.pick(1000, 20)}")]
    return [*found, Cell("clinic", settings.pick(8_000_000, 80_000), 0, "cluster")]


def measure(cell: Cell, settings: Settings) -> dict[str, float]:
    """Time one piece of work."""
    if cell.method in STARTS:
        return _start(cell.method)
    if cell.method == "structure":
        return _structure(int(cell.network.split()[0].replace(",", "")))
    network = settings.network(cell.network)
    with tempfile.TemporaryDirectory() as folder:
        kind, _, what = cell.method.partition(": ")
        if kind == "sample":
            return _sample(network, cell.n_records)
        if kind.endswith("Parquet"):
            return _files(network, cell.n_records, kind.split()[0], Path(folder))
        if kind == "count a file":
            return _count_file(network, cell.n_records, what, Path(folder))
        if kind == "one core":
            return _one_core(network, cell.n_records, what, Path(folder))
        if kind == "cluster":
            return _cluster(network, cell.n_records, Path(folder))
        if kind.startswith("merge"):
            return _merge(network, int(kind.split()[1]))
        if what in PLANS:
            return _count(network, cell.n_records, what)
        return _count_sparse(network, cell.n_records, int(what.split()[0]))


def _start(what: str) -> dict[str, float]:
    """Time a command or an import in a process of its own, beside Python that does nothing."""
    python = [sys.executable, "-c"]
    is_command = what.startswith("noisyor")
    command = [sys.executable, "-m", *what.split()] if is_command else [*python, what]

    def elapsed(arguments: list[str]) -> float:
        return seconds(lambda: run_command(arguments, check=True, capture_output=True), 5)

    return {"seconds": elapsed(command), "python": elapsed([*python, "pass"])}


def _structure(n_edges: int) -> dict[str, float]:
    """Make a structure of a sparse matrix, and read it from a file."""
    import scipy.sparse

    shape = max(7, n_edges // 100), max(20, n_edges // 30)
    matrix = scipy.sparse.random_array(shape, density=n_edges / np.prod(shape), rng=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.csv"
        Structure.from_matrix(matrix).to_csv(path)
        return {
            "matrix": seconds(lambda: Structure.from_matrix(matrix)),
            "file": seconds(lambda: Structure.from_csv(path)),
        }


def _sample(network: NoisyOrNetwork, n_records: int) -> dict[str, float]:
    """Sample, beside the obvious sampler that draws a random number for each cell."""
    structure, n_plain = network.structure, 2000

    def plainly() -> Any:
        rng = np.random.default_rng(0)
        log_failures = np.zeros((structure.n_diseases, structure.n_symptoms))
        log_failures[tuple(structure.edges.T)] = np.log(network.failures)
        diseases = rng.random((n_plain, structure.n_diseases)) < network.priors
        absent = (1 - network.leaks) * np.exp(diseases @ log_failures)
        return rng.random(absent.shape) >= absent

    network.sample(1000, seed=0)  # compile
    return {
        "seconds": seconds(lambda: network.sample(n_records, seed=1)),
        "plainly": seconds(plainly, 1) / n_plain * n_records,
        "findings": float(network.sample(n_plain, seed=1).count_present().sum() / n_plain),
    }


def _files(network: NoisyOrNetwork, n_records: int, layout: Any, folder: Path) -> dict[str, float]:
    """Write records, and read them in a process of its own, compiled code included."""
    path = folder / "records.parquet"
    findings = network.sample(n_records, seed=1)
    writing = seconds(lambda: findings.to_parquet(path, layout=layout), 1)
    work = IN_A_PROCESS.format(f"Findings.from_arrow({str(path)!r}, structure)")
    reading, peak = in_new_process(work)
    size = path.stat().st_size / 1e6
    return {"write": writing, "read": reading, "megabytes": size, "peak": peak}


def plan_named(name: str, structure: Structure) -> MomentPlan:
    """Return a plan; that of the paper's size has sets drawn among children of one disease.

    A triplet is counted with its three pairs, as its joint distribution needs.
    """
    if name == "of a schedule":
        return find_schedule(structure).plan()
    if name == "all coupled pairs":
        return MomentPlan.coupled(structure)
    rng = np.random.default_rng(0)
    children = [structure.children(i) for i in range(structure.n_diseases)]

    def draw_sets(order: int, n: int) -> list[tuple[int, ...]]:
        drawn: set[tuple[int, ...]] = set()
        while len(drawn) < n:
            disease = rng.integers(structure.n_diseases)
            drawn.add(tuple(sorted(rng.choice(children[disease], order, replace=False).tolist())))
        return sorted(drawn)

    return MomentPlan(
        structure, symptoms=np.arange(4013), pairs=draw_sets(2, 7682), triplets=draw_sets(3, 36_506)
    )


def _count(network: NoisyOrNetwork, n_records: int, name: str) -> dict[str, float]:
    """Count in memory; compare with words that the cores combine in their level-1 caches."""
    plan = plan_named(name, network.structure)
    count_moments(network.sample(1000, seed=0), plan)  # compile
    elapsed = 0.0
    for first in range(0, n_records, CHUNK):
        findings = network.sample(min(CHUNK, n_records - first), seed=first)
        elapsed += seconds(functools.partial(count_moments, findings, plan))
    n_sets = len(plan.pairs) + len(plan.triplets) + len(plan.symptoms)
    operations = n_sets * n_records / 64
    return {
        "seconds": elapsed, "share of peak": operations / _words_per_second() / elapsed,
        "pairs": float(len(plan.pairs)), "triplets": float(len(plan.triplets)),
    }  # fmt: skip


def _words_per_second() -> float:
    """Return how many words all cores combine and count in a second, from the level-1 caches."""
    from noisyor.moments import kernels

    rng = np.random.default_rng(0)
    small = rng.integers(0, 2**63, (8, 128)).astype(np.uint64)
    pairs = rng.integers(0, 8, (200_000, 2)).astype(np.int32)
    cores = os.cpu_count() or 1
    counts = [np.zeros(len(pairs), dtype=np.uint32) for _ in range(cores)]
    with ThreadPoolExecutor(cores) as pool:

        def work() -> None:
            list(pool.map(lambda c: kernels.count_pairs(small, 0, 128, pairs, c), counts))

        work()
        return cores * len(pairs) * 128 / seconds(work, 30)


def _count_sparse(network: NoisyOrNetwork, n_records: int, per_record: int) -> dict[str, float]:
    """Count random records with few findings, whose pairs are looked up instead."""
    rng = np.random.default_rng(0)
    structure = network.structure
    shape = n_records, structure.n_symptoms
    present = rng.random(shape, dtype=np.float32) < per_record / structure.n_symptoms
    findings = Findings.from_numpy(present, structure)
    plan = plan_named("all coupled pairs", structure)
    return {"seconds": seconds(lambda: count_moments(findings, plan, n_groups=8))}


def _blocks(network: NoisyOrNetwork, n_records: int, seed: int) -> Iterator[Any]:
    return (each.block for each in network.iter_sample(n_records, seed=seed))


def _count_file(network: NoisyOrNetwork, n_records: int, name: str, folder: Path) -> dict[str, float]:
    """Count a long file in a process of its own, compiled code included."""
    records, plan = folder / "records.parquet", folder / "moments.plan"
    writer = RecordWriter(network.structure.symptoms, layout="long")
    writer.write(records, "parquet", _blocks(network, n_records, 1))
    plan_named(name, network.structure).save(plan)
    work = f"count_moments({str(records)!r}, MomentPlan.load({str(plan)!r}))"
    elapsed, peak = in_new_process(IN_A_PROCESS.format(work))
    return {"seconds": elapsed, "peak": peak}


def _one_core(network: NoisyOrNetwork, n_records: int, name: str, folder: Path) -> dict[str, float]:
    """Read and count a wide file on one core."""
    path, plan = folder / "records.parquet", plan_named(name, network.structure)
    network.sample(n_records, seed=1).to_parquet(path)
    moments = count_moments(path, plan, threads=1)
    elapsed = seconds(lambda: count_moments(path, plan, threads=1), 2)
    counts = sum(each.nbytes for each in moments.present) / 2**20
    size = path.stat().st_size / n_records
    return {"seconds": elapsed, "bytes a record": size, "megabytes of counts": counts}


def _cluster(network: NoisyOrNetwork, n_records: int, folder: Path) -> dict[str, float]:
    """Count files with threads, and with a cluster's worker for each core."""
    from distributed import Client, LocalCluster

    plan = MomentPlan.all_pairs(network.structure)
    files = [folder / f"{number}.parquet" for number in range(N_FILES)]
    for number, file in enumerate(files):
        writer = RecordWriter(network.structure.symptoms)
        writer.write(file, "parquet", _blocks(network, n_records // N_FILES, number))
    with (
        LocalCluster(os.cpu_count(), threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        if count_moments(files, plan, client=client) != count_moments(files, plan):
            raise AssertionError("a cluster counted something else than threads")
        times = [
            [seconds(lambda c=each: count_moments(files, plan, client=c), 1)
             for each in (None, client)]
            for _ in range(3)
        ]  # fmt: skip
    return dict(zip(("threads", "cluster"), np.min(times, axis=0).tolist(), strict=True))


def _merge(network: NoisyOrNetwork, n_parts: int) -> dict[str, float]:
    """Merge partial counts as a tree, eight at a time, on one core."""
    plan = plan_named("of a schedule", network.structure)
    one = count_moments(network.sample(2000, seed=1), plan)
    # The same eight stand for all: what is added is as much.
    parts = [
        Moments(plan, one.group_records, tuple(counts.copy() for counts in one.present))
        for _ in range(8)
    ]

    def work() -> None:
        n_left = n_parts
        while n_left > 1:
            n_left = -(-n_left // 8)
            for _ in range(n_left):
                sum_moments(parts)

    size = sum(counts.nbytes for counts in one.present) / 2**20
    return {"seconds": seconds(work, 1), "megabytes": size}


def draw(results: Results, folder: Path) -> list[str]:
    """Draw microseconds a record: the fixed costs wear off."""
    with picture(folder / "speed", 1, (5.0, 3.0)) as (axis,):
        method = "count: as the paper"
        at = [n for n in results.sizes(LARGE) if results.all(LARGE, n, method, "seconds").size]
        times = [results.mean(LARGE, n, method, "seconds") / n * 1e6 for n in at]
        curve(axis, at, times, "refined")
        axis.set(yscale="log", ylabel="microseconds a record", title="a plan as large as the paper's")
        records_axis(axis, at)
    return ["speed"]


def page(results: Results) -> list[str]:
    """Return the tables and what they show."""
    runs: dict[str, list[Run]] = {}
    for cell in results.cells:
        runs.setdefault(cell.method, []).append((cell.network, cell.n_records, cell.method))

    def a_record(method: str, *names: str, quantity: str = "seconds") -> list[list[str]]:
        """Return rows of records, seconds, and microseconds a record."""
        rows = []
        for run in runs.get(method, []):
            elapsed = results.mean(*run, quantity)
            rows.append([*names, f"{run[1]:,}", shown(elapsed), shown(elapsed / run[1] * 1e6, "{:.2f}")])
        return rows

    [sampled] = runs["sample"]
    times = results.mean(*sampled, "plainly") / results.mean(*sampled, "seconds")
    rows = [["what", "records", "seconds", "us a record"], *a_record("sample", "sample")]
    for layout in "long", "wide":
        for what in "write", "read":
            rows += a_record(f"{layout} Parquet", f"{what} {layout} Parquet", quantity=what)
    counted = [["plan", "records", "seconds", "us a record", "of the peak"]]
    for name in PLANS:
        for row, run in zip(a_record(f"count: {name}", name), runs.get(f"count: {name}", []),
                            strict=True):  # fmt: skip
            counted.append([*row, shown(results.mean(*run, "share of peak"), "{:.0%}")])
    sparse = [["findings a record", "records", "seconds", "us a record"]]
    for k in PER_RECORD:
        sparse += a_record(f"count: {k} findings a record", str(k))
    [paper] = [run for run in runs["count: as the paper"] if run[1] == sampled[1]]
    ratio = PAPER_SECONDS * paper[1] / results.mean(*paper, "seconds")
    pairs, triplets = (results.mean(*paper, what) for what in ("pairs", "triplets"))
    files = runs["count a file: all coupled pairs"]
    [cluster] = runs["cluster"]
    overhead = results.mean(*cluster, "cluster") / results.mean(*cluster, "threads")
    return [
        "# Speed",
        "The shortest of several runs where they are short, so that other work on the machine "
        "counts least; ratios are of times taken in the same minute. Reading files and counting "
        "them runs in a process of its own and includes loading the compiled code.",
        "## Starting",
        table(results, ["what"], {
            "seconds": ("seconds", "{:.3f}"), "Python alone": ("python", "{:.3f}"),
        }, [([each], ("clinic", 0, each)) for each in STARTS]),
        "Goals: 0.3 s for the import, 0.5 s for `noisyor --help`.",
        table(results, ["structure of"], {
            "from a matrix, s": ("matrix", "{:.4f}"), "from CSV, s": ("file", "{:.4f}"),
        }, [([run[0]], run) for run in runs["structure"]]),
        f"## Records of {LARGE} ({results.mean(*sampled, 'findings'):.0f} findings each)",
        f"Sampling is {times:.0f} times as fast as one random number per cell in numpy. Goals for a "
        "million: 12 s to sample, 10 s to read from long Parquet.",
        markdown_table(rows),
        "## Counting in memory",
        f"A plan as large as the paper's ({pairs:,.0f} pairs with those of its {triplets:,.0f} "
        f"triplets), on all cores: the paper takes {ratio:,.0f} times as long, on one. *Of the "
        "peak*: of the words that the cores can combine and count in their level-1 caches. Goals, "
        "on an idle machine: 0.5 us a record, 3 us for all coupled pairs; 40% of the peak. "
        "The scattered triplets touch columns all over a block, which lies in the level-3 cache.",
        markdown_table(counted),
        "All coupled pairs of random records with fewer findings: where they are few, the pairs of "
        "each record are looked up instead of combining columns.",
        markdown_table(sparse),
        "## Counting files",
        "Long Parquet, all coupled pairs; the memory does not grow with the records (goal: 1.5 GB).",
        table(results, ["records"], {
            "seconds": ("seconds", "{:.1f}"), "peak memory, MB": ("peak", "{:,.0f}"),
        }, [([f"{run[1]:,}"], run) for run in files]),
        "Wide Parquet of QMR's size (4,075 columns), read and counted by one core; reading and "
        "decoding is nearly all of it:",
        _core_table(results, [runs[f"one core: {name}"][0] for name in PLANS[1:]]),
        "## A cluster",
        f"{cluster[1]:,} records of the clinic in {N_FILES} files, all pairs of its symptoms: a "
        "local cluster with a process for each core takes "
        f"{overhead:.2f} times as long as plain threads (goal: 1.3), starting it left out. The "
        "counts are equal, integer by integer.",
        table(results, ["records"], {
            "threads, s": ("threads", "{:.2f}"), "cluster, s": ("cluster", "{:.2f}"),
        }, [([f"{cluster[1]:,}"], cluster)]),
        "Merging partial counts of a schedule's plan as a tree, eight at a time, on one core (goal "
        "for 1,000: 20 s):",
        table(results, ["partial counts"], {
            "megabytes each": ("megabytes", "{:.0f}"), "seconds": ("seconds", "{:.1f}"),
        }, [([method.split()[1]], run) for method, found in runs.items()
            if method.startswith("merge") for run in found]),
    ]  # fmt: skip


def _core_table(results: Results, runs: list[Run]) -> str:
    rows = [["plan", "records", "bytes a record", "us a record", "megabytes of counts"]]
    for run in runs:
        size, elapsed, counts = (
            results.mean(*run, what)
            for what in ("bytes a record", "seconds", "megabytes of counts")
        )
        cells_of_row = [f"{size:.0f}", f"{elapsed / run[1] * 1e6:.1f}", f"{counts:.0f}"]
        rows.append([run[2].partition(": ")[2], f"{run[1]:,}", *cells_of_row])
    return markdown_table(rows)
