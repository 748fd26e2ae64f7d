"""Speed: starting, sampling, files, counting against the machine's own limits, a cluster."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from noisyor.experiments.drawing import curve, picture, records_axis
from noisyor.experiments.learners import sample_plainly
from noisyor.experiments.machine import WORDS_OF_ARITHMETIC, arithmetic
from noisyor.experiments.measures import best_of, in_new_process, seconds
from noisyor.experiments.results import Cell, Quantities, Results
from noisyor.experiments.settings import ExperimentSettings
from noisyor.findings.writing import RecordWriter
from noisyor.moments import MomentPlan, Moments, count_moments
from noisyor.moments.moments import sum_moments
from noisyor.network import NoisyOrNetwork
from noisyor.parallel import n_cores
from noisyor.schedule import find_schedule
from noisyor.structure import Structure

LASTS = "fifteen minutes"
LARGE = "qmr_shaped"
PAPER_SECONDS = 2.5e-4
"""A record, for 36,506 triplets, 7,682 pairs and 4,013 singles (Section 4.2)."""
CHUNK = 1_000_000
"""Records that are in memory at once."""
STARTS = ("import noisyor", "from noisyor import NoisyOrNetwork", "noisyor --help",
          "noisyor info clinic")  # fmt: skip
N_FILES = 8
IN_A_PROCESS = """
from noisyor import Findings, MomentPlan, count_moments, datasets
structure = datasets.qmr_shaped(0).structure
def work():
    return {}
"""


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List what is timed."""
    n = settings.pick(1_000_000, 20_000)
    sizes = {
        "sample": [n], "Parquet, long": [n], "Parquet, wide": [n],
        "count, as the paper": [n // 100, n // 10, n, 10 * n], "count, all coupled pairs": [n],
        "count a file, all coupled pairs": [n, 10 * n],
        "one core, of a schedule": [n // 5], "one core, all coupled pairs": [n // 5],
        f"merge, {settings.pick(1000, 20)} parts": [0],
    }  # fmt: skip
    return [
        *(Cell("clinic", 0, 0, start) for start in STARTS),
        *(Cell(LARGE, size, 0, method) for method, found in sizes.items() for size in found),
        Cell("clinic", settings.pick(10_000_000, 80_000), 0, "cluster"),
    ]


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Time one piece of work."""
    if cell.method in STARTS:
        return _start(cell.method)
    work, _, what = cell.method.partition(", ")
    with tempfile.TemporaryDirectory() as folder:
        network = settings.network(cell.network)
        found = WORK[work](network, cell.n_records, what, Path(folder))
    if cell.n_records and "seconds" in found:
        found["us a record"] = found["seconds"] / cell.n_records * 1e6
    return found


def _start(what: str) -> Quantities:
    """Time a command or an import in a process of its own, beside Python that does nothing."""
    python = [sys.executable, "-c"]
    is_command = what.startswith("noisyor")
    command = [sys.executable, "-m", *what.split()] if is_command else [*python, what]

    def elapsed(arguments: list[str]) -> float:
        return best_of(5, subprocess.run, arguments, check=True, capture_output=True)

    return {"seconds": elapsed(command), "Python alone": elapsed([*python, "pass"])}


def _sample(network: NoisyOrNetwork, n_records: int, what: str, folder: Path) -> Quantities:
    """Sample, beside the obvious sampler that draws a random number for each cell."""
    n_plain, rng = 2000, np.random.default_rng(0)

    def plainly() -> Any:
        diseases = rng.random((n_plain, network.structure.n_diseases)) < network.priors
        return sample_plainly(network, diseases, rng)

    network.sample(1000, rng=0)  # compile
    return {
        "seconds": best_of(3, network.sample, n_records, rng=1),
        "plainly": seconds(plainly) / n_plain * n_records,
        "findings": float(network.sample(n_plain, rng=1).count_present().sum() / n_plain),
    }


def _file(network: NoisyOrNetwork, n_records: int, layout: Any, folder: Path) -> Quantities:
    """Write records, and read them in a process of its own, compiled code included."""
    findings = network.sample(n_records, rng=1)
    path = folder / "records.parquet"
    writing = seconds(findings.to_parquet, path, layout=layout)
    work = IN_A_PROCESS.format(f"Findings.read({str(path)!r}, structure)")
    reading, peak = in_new_process(work)
    size = path.stat().st_size / 1e6
    return {"write, s": writing, "read, s": reading, "MB": size, "peak memory, MB": peak}


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


def _count(network: NoisyOrNetwork, n_records: int, name: str, folder: Path) -> Quantities:
    """Count in memory; compare with words that the cores combine in their level-1 caches."""
    plan = plan_named(name, network.structure)
    count_moments(network.sample(1000, rng=0), plan)  # compile
    elapsed = 0.0
    for first in range(0, n_records, CHUNK):
        findings = network.sample(min(CHUNK, n_records - first), rng=first)
        elapsed += best_of(3, count_moments, findings, plan)
    n_sets = len(plan.pairs) + len(plan.triplets) + len(plan.symptoms)
    operations = n_sets * n_records / 64
    return {
        "seconds": elapsed, "of the peak": operations / _words_per_second() / elapsed,
        "pairs": float(len(plan.pairs)), "triplets": float(len(plan.triplets)),
    }  # fmt: skip


def _words_per_second() -> float:
    """Return how many words all cores combine and count in a second, from the level-1 caches."""
    work = arithmetic(n_cores())
    work()
    return WORDS_OF_ARITHMETIC / best_of(10, work)


def write_records(
    path: Path, network: NoisyOrNetwork, n_records: int, seed: int, layout: Any
) -> None:
    """Sample records into a Parquet file, some at a time."""
    blocks = (each.block for each in network.iter_sample(n_records, rng=seed))
    RecordWriter(network.structure.symptoms, layout=layout).write(path, "parquet", blocks)


def _count_file(network: NoisyOrNetwork, n_records: int, name: str, folder: Path) -> Quantities:
    """Count a long file in a process of its own, compiled code included."""
    records, plan = folder / "records.parquet", folder / "moments.plan"
    write_records(records, network, n_records, 1, "long")
    plan_named(name, network.structure).save(plan)
    work = f"count_moments({str(records)!r}, MomentPlan.load({str(plan)!r}))"
    elapsed, peak = in_new_process(IN_A_PROCESS.format(work))
    return {"seconds": elapsed, "peak memory, MB": peak}


def _one_core(network: NoisyOrNetwork, n_records: int, name: str, folder: Path) -> Quantities:
    """Read and count a wide file on one core."""
    path, plan = folder / "records.parquet", plan_named(name, network.structure)
    network.sample(n_records, rng=1).to_parquet(path)
    moments = count_moments(path, plan, n_jobs=1)
    elapsed = best_of(2, count_moments, path, plan, n_jobs=1)
    counts = sum(each.nbytes for each in moments.present) / 2**20
    size = path.stat().st_size / n_records
    return {"seconds": elapsed, "bytes a record": size, "megabytes of counts": counts}


def _cluster(network: NoisyOrNetwork, n_records: int, what: str, folder: Path) -> Quantities:
    """Count files with threads, and with a cluster's worker for each core."""
    import distributed

    cluster_of: Any = distributed.LocalCluster
    plan = MomentPlan.all_pairs(network.structure)
    files = [folder / f"{number}.parquet" for number in range(N_FILES)]
    for number, file in enumerate(files):
        write_records(file, network, n_records // N_FILES, number, "wide")
    with (
        # Its pages are for this machine alone.
        cluster_of(n_cores(), threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        cluster.get_client() as client,
    ):
        if count_moments(files, plan, client=client) != count_moments(files, plan):
            raise AssertionError("a cluster counted something else than threads")
        ways = {"threads, s": None, "cluster, s": client}
        return {
            what: best_of(3, count_moments, files, plan, client=each) for what, each in ways.items()
        }


def _merge(network: NoisyOrNetwork, n_records: int, what: str, folder: Path) -> Quantities:
    """Merge partial counts as a tree, eight at a time, on one core."""
    plan = plan_named("of a schedule", network.structure)
    one = count_moments(network.sample(2000, rng=1), plan)
    # The same eight stand for all: what is added is as much.
    parts = [
        Moments(plan, one.group_records, tuple(counts.copy() for counts in one.present))
        for _ in range(8)
    ]

    def work() -> None:
        n_left = int(what.partition(" ")[0])
        while n_left > 1:
            n_left = -(-n_left // 8)
            for _ in range(n_left):
                sum_moments(parts)

    size = sum(counts.nbytes for counts in one.present) / 2**20
    return {"seconds": seconds(work), "MB each": size}


Work = Callable[[NoisyOrNetwork, int, str, Path], Quantities]
WORK: dict[str, Work] = {
    "sample": _sample, "Parquet": _file, "count": _count,
    "count a file": _count_file, "one core": _one_core, "cluster": _cluster, "merge": _merge,
}  # fmt: skip


def draw(results: Results, folder: Path) -> list[str]:
    """Draw microseconds a record: the fixed costs wear off."""
    with picture(folder / "speed", 1, (5.0, 3.0)) as (axis,):
        runs = results.runs("count, as the paper")
        at = [n_records for _, n_records, _ in runs]
        curve(axis, at, [results.mean(*run, "us a record") for run in runs], "refined")
        axis.set(yscale="log", ylabel="microseconds a record")
        axis.set_title("a plan as large as the paper's")
        records_axis(axis, at)
    return ["speed"]


def page(results: Results) -> dict[str, object]:
    """Return the tables and what they show."""
    [sampled], [cluster] = results.runs("sample"), results.runs("cluster")
    counts = results.runs("count, as the paper")
    [paper] = [run for run in counts if run[1] == sampled[1]]
    return {
        "starts": results.runs(*STARTS),
        "findings": results.mean(*sampled, "findings"),
        "plainly": results.mean(*sampled, "plainly / seconds"),
        "sampled": [sampled],
        "written": results.runs(*results.methods("Parquet")),
        "pairs": results.mean(*paper, "pairs"),
        "triplets": results.mean(*paper, "triplets"),
        "paper": PAPER_SECONDS * paper[1] / results.mean(*paper, "seconds"),
        "counted": counts + results.runs("count, all coupled pairs"),
        "files": results.runs("count a file, all coupled pairs"),
        "one_core": results.runs(*results.methods("one core")),
        "n_files": N_FILES,
        "overhead": results.mean(*cluster, "cluster, s / threads, s"),
        "cluster": [cluster],
        "merged": results.runs(*results.methods("merge")),
    }
