"""The first minute: what compiling costs before the first answer, from an empty cache."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from noisyor.experiments.results import Cell, Quantities, Results
from noisyor.experiments.settings import ExperimentSettings

LASTS = "4 minutes"
N_RECORDS = 2000

BEFORE = """
import contextlib, io, json, sys, time
from numba.core import event

class Counter(event.Listener):
    n = 0
    def on_start(self, event):
        self.n += 1
    def on_end(self, event):
        pass

counter = Counter()
event.register("numba:compile", counter)
import noisyor
from noisyor import datasets
network, start, n_before = datasets.clinic(), 0.0, 0

def mark():
    global start, n_before
    start, n_before = time.process_time(), counter.n

def run(*words):
    from noisyor.cli import main
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(list(words))

def learner(method):
    return noisyor.NoisyOrLearner(network.structure, method=method, random_state=0)
"""
AFTER = """
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "functions": counter.n - n_before}))
"""
WORK = {
    "count a file": "run('count', 'clinic.json', 'records.parquet', '-o', 'all.moments')",
    "posterior": "noisyor.posterior(network, ['fever', 'cough'])",
    "explain and best_questions": "noisyor.explain(network, ['fever', 'cough'])\n"
    "noisyor.best_questions(network, ['fever', 'cough'])",
    "diagnose a file": "run('diagnose', 'clinic.json', 'records.parquet', '-o', 'answers.parquet')",
    "fit, pooled": "learner('pooled').fit('records.parquet')",
    "fit, refined": "learner('refined').fit('records.parquet')",
    "predict_proba after fit": "fitted = learner('refined').fit('records.parquet')\nmark()\n"
    "fitted.predict_proba('records.parquet')",
}
"""What a newcomer may ask for first, as the code of a process of its own."""


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List what is asked for."""
    return [Cell("clinic", N_RECORDS, 0, work) for work in WORK]


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Ask twice, each time in a new process: with an empty cache, then with a full one."""
    network = settings.network(cell.network)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network.save(folder / "clinic.json")
        network.sample(cell.n_records, rng=1).to_parquet(folder / "records.parquet")
        first, second = (_asked(WORK[cell.method], folder) for _ in range(2))
    return {"functions": first["functions"], "empty, s": first["seconds"],
            "full, s": second["seconds"], "again": second["functions"]}  # fmt: skip


def _asked(code: str, folder: Path) -> Quantities:
    """Return processor seconds, and functions compiled, of a process with a cache of its own."""
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
    }
    script = "\n".join((BEFORE, code, AFTER))
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    found: Quantities = json.loads(done.stdout.splitlines()[-1])
    return found


def page(results: Results) -> dict[str, object]:
    """Return what was asked for, in its order."""
    return {"n_records": results.sizes()[0], "asked": results.runs(*WORK)}
