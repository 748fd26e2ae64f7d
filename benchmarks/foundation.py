"""Sampling, reading and starting: what every other job waits for."""

import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measuring import command_seconds, in_new_process, print_table, seconds
from noisyor import datasets

READ = """
from noisyor import Findings, datasets
structure = datasets.qmr_shaped(0).structure
def work():
    return Findings.read({path!r}, structure)
"""


def run(scale: float) -> None:
    records = int(1_000_000 * scale)
    network = datasets.qmr_shaped(0)
    network.sample(1000, seed=0)  # compile
    rows = [("what", "seconds", "a record", "beside it")]

    def add(title, elapsed, beside=""):
        rows.append((title, f"{elapsed:.2f}", f"{elapsed / records * 1e6:.2f} us", beside))

    sampling = seconds(lambda: network.sample(records, seed=1))
    cells = seconds(lambda: one_number_per_cell(network, 2000), 1) / 2000 * records
    ratio = f"{cells / sampling:.0f} times as fast as one random number per cell in numpy"
    add(f"sample {records:,} records of qmr_shaped", sampling, ratio)
    findings = network.sample(records, seed=1)
    packed = records * network.structure.n_symptoms / 8e9
    with tempfile.TemporaryDirectory() as folder:
        for layout in "long", "wide":
            path = Path(folder) / f"{layout}.parquet"
            writing = seconds(lambda p=path, a=layout: findings.to_parquet(p, layout=a), 1)
            add(f"write {layout} Parquet", writing, f"{path.stat().st_size / 1e6:.0f} MB")
            reading, peak = in_new_process(READ.format(path=str(path)))
            memory = f"peak memory {peak:.2f} GB, of it {packed:.2f} GB findings"
            add(f"read {layout} Parquet", reading, memory)
            path.unlink()
    per_record = findings.count_present().sum() / records
    print_table(f"Records ({per_record:.0f} findings each)", rows)
    start_up()
    large_structures()


def one_number_per_cell(network, records):
    """The obvious sampler: a matrix of random numbers per disease and per symptom."""
    rng = np.random.default_rng(0)
    structure = network.structure
    log_failures = np.zeros((structure.n_diseases, structure.n_symptoms))
    log_failures[tuple(structure.edges.T)] = np.log(network.failures)
    diseases = rng.random((records, structure.n_diseases)) < network.priors
    absent = (1 - network.leaks) * np.exp(diseases @ log_failures)
    return rng.random(absent.shape) >= absent


def start_up() -> None:
    python = [sys.executable, "-c"]
    noisyor = str(Path(sys.executable).parent / "noisyor")
    bare = command_seconds([*python, "pass"])
    rows = [("what", "seconds", "of it Python itself")]
    for title, command in (
        ("import noisyor", [*python, "import noisyor"]),
        ("from noisyor import NoisyOrNetwork", [*python, "from noisyor import NoisyOrNetwork"]),
        ("noisyor --help", [noisyor, "--help"]),
        ("noisyor info clinic", [noisyor, "info", "clinic"]),
    ):
        rows.append((title, f"{command_seconds(command):.3f}", f"{bare:.3f}"))
    print_table("Starting", rows)


def large_structures() -> None:
    import scipy.sparse

    from noisyor import Structure

    rows = [("what", "seconds")]
    with tempfile.TemporaryDirectory() as folder:
        for edges in 70, 45_000, 300_000:
            n_diseases, n_symptoms = max(7, edges // 100), max(20, edges // 30)
            matrix = scipy.sparse.random_array(
                (n_diseases, n_symptoms), density=edges / (n_diseases * n_symptoms), rng=0
            )
            path = Path(folder) / "edges.csv"
            elapsed = seconds(lambda m=matrix: Structure.from_matrix(m))
            rows.append((f"structure of {edges:,} edges from a matrix", f"{elapsed:.3f}"))
            Structure.from_matrix(matrix).to_csv(path)
            elapsed = seconds(lambda p=path: Structure.from_csv(p))
            rows.append((f"structure of {edges:,} edges from CSV", f"{elapsed:.3f}"))
    rows.append(("qmr_shaped", f"{seconds(lambda: datasets.qmr_shaped(0)):.3f}"))
    print_table("Structures", rows)
