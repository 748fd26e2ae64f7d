"""`noisyor warm-up`: compile beforehand what the first answers would wait for."""

import multiprocessing
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed

import noisyor
from noisyor.cli import options
from noisyor.cli.output import progress_bar, tell
from noisyor.parallel import n_threads

N_RECORDS = 500
"""As many of the clinic as it takes to call everything once."""


def warm_up(
    jobs: options.Jobs = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Compile what the first answers would wait for, in several processes.

    Compiled code is kept on disk, so this is for once in an installation. What only large networks
    or rare options need is compiled when it is needed.

    Example: noisyor warm-up
    """
    start, n_processes = time.perf_counter(), min(n_threads(jobs or None), len(WORK))
    context = multiprocessing.get_context("spawn")
    with (
        progress_bar("compiling", len(WORK), quiet, unit="of the kinds of work") as advance,
        ProcessPoolExecutor(n_processes, mp_context=context) as pool,
    ):
        for done in as_completed([pool.submit(_do, name) for name in WORK]):
            done.result()
            advance(1)
    seconds = time.perf_counter() - start
    facts = {"work": list(WORK), "processes": n_processes, "seconds": round(seconds, 1)}
    sentence = f"Compiled for {', '.join(WORK)}, in {seconds:.0f} s: first answers come at once."
    tell(sentence, facts, quiet=quiet, as_json=as_json)


def _do(name: str) -> None:
    """Do a kind of work on the clinic, which compiles what it needs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        WORK[name]()


def _ask() -> None:
    network, findings = noisyor.datasets.clinic(), ["fever", "cough", "wheezing"]
    noisyor.posterior(network, findings)
    noisyor.explain(network, findings)
    noisyor.most_probable(network, findings)
    noisyor.best_questions(network, findings)


def _approximate() -> None:
    for method in ("variational", "gibbs"):
        noisyor.posterior(noisyor.datasets.clinic(), ["fever", "cough"], method=method)


def _look_at_structures() -> None:
    structure = noisyor.datasets.clinic().structure
    noisyor.find_schedule(structure)
    noisyor.check_identifiability(structure)


def _learn(*methods: str) -> Callable[[], None]:
    def work() -> None:
        network = noisyor.datasets.clinic()
        records = network.sample(N_RECORDS, rng=0)
        for method in methods:
            learner = noisyor.NoisyOrLearner(network.structure, method=method, random_state=0)
            learner.fit(records).predict_proba(records)

    return work


WORK: dict[str, Callable[[], None]] = {
    "learning": _learn("refined"),
    "asking": _ask,
    "learning from moments": _learn("pooled", "sequential"),
    "bounds and sampling": _approximate,
    "structures": _look_at_structures,
}
"""The longest first."""
