"""All cores: counting, pooled and refined with 1 to 16 threads, and the machine's own limits."""

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from noisyor import parallel
from noisyor.experiments.machine import arithmetic, copying
from noisyor.experiments.results import Cell, Quantities, Results, Run
from noisyor.experiments.settings import ExperimentSettings
from noisyor.experiments.speed import plan_named
from noisyor.experiments.tables import markdown_table
from noisyor.findings import Findings
from noisyor.learner import NoisyOrLearner
from noisyor.moments import MomentPlan
from noisyor.moments.counter import MomentCounter
from noisyor.moments.groups import N_GROUPS
from noisyor.network import NoisyOrNetwork

LASTS = "five minutes"
THREADS = (1, 2, 4, 8, 16)
LARGE = "qmr_shaped"
COMPARED_WITH = 2
"""Threads that all other numbers of them are compared with."""
REFINED_SHARE = 0.1
"""So many of the records are enough for refined, which takes long."""
REPEATS = {"pooled": 2, "refined": 1}
"""Of longer work."""
MACHINE = {"the machine: arithmetic": arithmetic, "the machine: copying memory": copying}
"""What it can do by itself, and how."""
GOALS = {
    "count, the paper's plan": 6, "count, all coupled pairs": 6, "pooled": 4, "refined": 5
}  # fmt: skip
"""So many times as fast should the most threads be as those that they are compared with."""
KINDS = (*MACHINE, *GOALS)


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List each kind of work, with as many threads as there are cores.

    The most threads and those compared with come first, for who has little time.
    """
    n, n_here = settings.pick(1_000_000, 20_000), parallel.n_cores()
    sizes = (
        dict.fromkeys(KINDS, n) | {"refined": int(REFINED_SHARE * n)} | dict.fromkeys(MACHINE, 0)
    )
    threads = [each for each in THREADS if each <= max(n_here, COMPARED_WITH)]
    ordered = sorted(threads, key=lambda each: (each not in (threads[-1], COMPARED_WITH), -each))
    return [
        Cell(LARGE, sizes[kind], 0, f"{kind}, {each} threads") for each in ordered for kind in KINDS
    ]


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Work with a number of threads: wall clock, processor seconds, and those of the main thread.

    With several threads the main one does what is serial, hands out records, and otherwise waits.
    """
    kind, threads = parts_of(cell.method)
    if kind in MACHINE:
        work = MACHINE[kind](threads)
        work()
    else:
        _compile(kind, cell.network, min(cell.n_records, 5000), settings)
        findings = _sampled(cell.network, cell.n_records, settings)
        work = functools.partial(_work(kind, settings.network(cell.network), threads), findings)
    found = [_timed(work) for _ in range(REPEATS.get(kind, 3))]
    return min(found, key=lambda each: each["wall, s"])


@functools.cache
def _compile(kind: str, name: str, n_records: int, settings: ExperimentSettings) -> None:
    """Do the work once with few records, so that it is compiled."""
    _work(kind, settings.network(name), COMPARED_WITH)(_sampled(name, n_records, settings))


def parts_of(method: str) -> tuple[str, int]:
    """Return the kind of work and the number of threads that a method names."""
    kind, _, threads = method.rpartition(", ")
    return kind, int(threads.removesuffix(" threads"))


@functools.lru_cache(maxsize=3)
def _sampled(name: str, n_records: int, settings: ExperimentSettings) -> Findings:
    return settings.network(name).sample(n_records, rng=1)


def _work(kind: str, network: NoisyOrNetwork, n_jobs: int) -> Callable[[Findings], Any]:
    structure = network.structure
    if kind in ("pooled", "refined"):
        learner = NoisyOrLearner(structure, method=kind, n_jobs=n_jobs, random_state=0)
        return learner.fit
    plan = plan_named(kind.removeprefix("count, "), structure)
    return functools.partial(_count, plan, n_jobs)


def _count(plan: MomentPlan, n_jobs: int, findings: Findings) -> Quantities:
    """Count, and return how long records were handed out if others count meanwhile."""
    counter = MomentCounter(plan, N_GROUPS, n_jobs)
    start = time.thread_time()
    counter.add_blocks(findings.blocks)
    handing_out = time.thread_time() - start
    counter.take()
    return {"handing out, s": handing_out} if n_jobs > 1 else {}


def _timed(work: Callable[[], Any]) -> Quantities:
    clocks = time.perf_counter, time.process_time, time.thread_time
    before = [clock() for clock in clocks]
    told = work()
    wall, processor, main = (clock() - start for clock, start in zip(clocks, before, strict=True))
    handed_out: Quantities = told if isinstance(told, dict) else {}
    serial = main - sum(handed_out.values())
    return {
        "wall, s": wall, "processor, s": processor, "main thread, s": main,
        "serial share": serial / processor, **handed_out,
    }  # fmt: skip


def page(results: Results) -> dict[str, object]:
    """Return the rows of all kinds, and those of what can be said of each."""
    runs = _runs(results)
    measured = [kind for kind in GOALS if _of(kind, runs)]
    return {
        "short": _short(results, measured, runs),
        "measured": markdown_table(
            [
                ["work", "records", "threads", "wall clock, s", "processor, s",
                 f"times as fast as {COMPARED_WITH}", "of what arithmetic gains",
                 "main thread of processor", "of this handing out"],
                *(_row(results, run, runs) for run in runs),
            ]
        ),
        "serial": markdown_table(
            [
                ["work", "by the main thread", "by two wall clocks (threads)",
                 f"{THREADS[-1]} threads against {COMPARED_WITH}, at most", "measured", "goal"],
                *([*_serial(results, kind, runs), _bound(results, kind, runs),
                   _worded(_gain(results, kind, THREADS[-1], runs)), str(goal)]
                  for kind, goal in GOALS.items() if _of(kind, runs)),
            ]
        ),
    }  # fmt: skip


def _short(results: Results, kinds: list[str], runs: list[Run]) -> str:
    """Return what more threads bring, or where so many were not there, what bounds it."""
    gains = {kind: _gain(results, kind, THREADS[-1], runs) for kind in (*kinds, *MACHINE)}
    if not kinds:
        return "not measured yet"
    if any(gains[kind] is None for kind in kinds):
        shares = ", ".join(" ".join(_serial(results, kind, runs)[:2]) for kind in kinds)
        return (
            "the part of the work that one thread does alone, and that bounds what more cores "
            f"bring: {shares}"
        )
    said = ", ".join(f"{kind} {_worded(gain)}" for kind, gain in gains.items())
    return f"{THREADS[-1]} threads against {COMPARED_WITH}, times as fast: {said}"


def _gain(results: Results, kind: str, threads: int, runs: list[Run]) -> float | None:
    """Return how many times as fast so many threads are as those compared with."""
    of_kind = _of(kind, runs)
    if COMPARED_WITH not in of_kind or threads not in of_kind:
        return None
    few, many = (results.mean(*of_kind[each], "wall, s") for each in (COMPARED_WITH, threads))
    return few / many


def _worded(gain: float | None) -> str:
    return "-" if gain is None else f"{gain:.1f}"


def _runs(results: Results) -> list[Run]:
    methods = [f"{kind}, {threads} threads" for kind in KINDS for threads in THREADS]
    return sorted(results.runs(*methods), key=lambda run: methods.index(run[2]))


def _of(kind: str, runs: list[Run]) -> dict[int, Run]:
    """Return the runs of a kind by their threads."""
    return {parts_of(run[2])[1]: run for run in runs if parts_of(run[2])[0] == kind}


def _row(results: Results, run: Run, runs: list[Run]) -> list[str]:
    kind, threads = parts_of(run[2])
    wall, processor, main, handing_out = (
        results.mean(*run, name)
        for name in ("wall, s", "processor, s", "main thread, s", "handing out, s")
    )
    gain, most = (_gain(results, each, threads, runs) for each in (kind, next(iter(MACHINE))))
    is_compared = gain is not None and most is not None and threads > COMPARED_WITH
    return [
        kind, f"{run[1]:,}" if run[1] else "-", str(threads), f"{wall:.2f}", f"{processor:.2f}",
        "-" if gain is None else f"{gain:.2f}",
        f"{(gain or 0.0) / (most or 1.0):.0%}" if is_compared else "-",
        f"{main / processor:.1%}" if kind in GOALS else "-",
        f"{handing_out / processor:.1%}" if np.isfinite(handing_out) else "-",
    ]  # fmt: skip


def _serial(results: Results, kind: str, runs: list[Run]) -> list[str]:
    """Return what is serial: by the main thread of the most threads; by two wall clocks.

    T(n) = serial + parallel / n, of the fewest and of the most threads.
    """
    of_kind, share = _of(kind, runs), _share(results, kind, runs)
    fewest, most = min(of_kind), max(of_kind)
    if fewest == most:
        return [kind, f"{share:.1%}", "-"]
    first, last = (results.mean(*of_kind[each], "wall, s") for each in (fewest, most))
    parallel = (first - last) / (1.0 / fewest - 1.0 / most)
    serial = (first - parallel / fewest) / (first - parallel / fewest + parallel)
    # Other work on the machine can make any number of it.
    by_law = f"{serial:.1%} ({fewest} and {most})" if 0.0 <= serial <= 1.0 else "-"
    return [kind, f"{share:.1%}", by_law]


def _share(results: Results, kind: str, runs: list[Run]) -> float:
    """Return the serial part of the processor seconds, with the most threads."""
    of_kind = _of(kind, runs)
    return results.mean(*of_kind[max(of_kind)], "serial share")


def _bound(results: Results, kind: str, runs: list[Run]) -> str:
    """Return how many times as fast the most threads can be as those compared with: Amdahl."""
    share = _share(results, kind, runs)
    few, many = (share + (1.0 - share) / n for n in (COMPARED_WITH, THREADS[-1]))
    return f"{few / many:.1f}"
