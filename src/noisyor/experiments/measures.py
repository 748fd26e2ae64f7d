"""Quantities of a cell: errors, coverage, seconds and memory."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from noisyor.evaluation import Comparison, Errors, check_intervals
from noisyor.experiments.results import Quantities
from noisyor.learning import Estimate
from noisyor.network import NoisyOrNetwork

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

KINDS = ("prior", "failure", "leak")


def sums_of_errors(found: Comparison) -> Quantities:
    """Return the sum of absolute errors of priors and failures, and that with the leaks."""
    error = _sum(found.priors) + _sum(found.failures)
    return {"l1": error, "l1_with_leaks": error + _sum(found.leaks)}


def _sum(errors: Errors) -> float:
    return errors.mean * errors.n if errors.n else 0.0


def mean_errors(found: Comparison) -> Quantities:
    """Return mean absolute errors by kind, and of failures by the depth a schedule has for them."""
    kinds = {"failures": found.failures, "priors": found.priors, "leaks": found.leaks}
    reached = {depth: errors for depth, errors in found.by_depth.items() if depth >= 0}
    means = {kind: errors.mean for kind, errors in kinds.items()}
    if n := sum(errors.n for errors in reached.values()):
        means["failures reached"] = sum(map(_sum, reached.values())) / n
    return means | {f"failures of depth {d}": errors.mean for d, errors in reached.items()}


def coverage(estimate: Estimate, truth: NoisyOrNetwork) -> Quantities:
    """Return how many 95% intervals without a flag hold the truth, by kind and depth."""
    kinds = check_intervals(estimate, truth)
    flagged = np.concatenate([each.is_flagged for each in kinds.values()])
    found = {"flagged": float(flagged.mean())}
    for kind, each in kinds.items():
        found[f"sound {kind}"] = float(each.is_sound.sum())
        found[f"held {kind}"] = float(each.holds[each.is_sound].sum())
        if each.is_sound.any():
            found[f"covered {kind}"] = float(each.holds[each.is_sound].mean())
        for depth in np.unique(each.depths[each.is_sound]):
            chosen = each.is_sound & (each.depths == depth)
            if chosen.sum() >= 100:  # shares of fewer say little
                found[f"covered {kind} {depth}"] = float(each.holds[chosen].mean())
    held, sound = (sum(found[f"{what} {kind}"] for kind in kinds) for what in ("held", "sound"))
    return found | ({"covered": held / sound} if sound else {})


def timed(
    work: Callable[Arguments, Result], *args: Arguments.args, **options: Arguments.kwargs
) -> tuple[Result, Quantities]:
    """Return the result of work, its seconds, those of processors, and on Linux its megabytes."""
    try:  # let Linux forget the peak so far
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = _memory("VmRSS")
    except OSError:
        before = None
    start, worked = time.perf_counter(), time.process_time()
    result = work(*args, **options)
    found = {"seconds": time.perf_counter() - start, "processor": time.process_time() - worked}
    if before is not None:
        found["megabytes"] = max(_memory("VmHWM") - before, 0.0)
    return result, found


def _memory(what: str) -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split(f"{what}:")[1].split()[0]) / 1024.0


def seconds(
    work: Callable[Arguments, Any], *args: Arguments.args, **options: Arguments.kwargs
) -> float:
    """Return the time of one run."""
    start = time.perf_counter()
    work(*args, **options)
    return time.perf_counter() - start


def best_of(
    n: int, work: Callable[Arguments, Any], *args: Arguments.args, **options: Arguments.kwargs
) -> float:
    """Return the shortest time of some runs: other work on the machine only ever adds."""
    return min(seconds(work, *args, **options) for _ in range(n))


def in_new_process(code: str) -> tuple[float, float]:
    """Run code that defines `work()`; return its seconds and the process's peak megabytes."""
    script = (
        f"{code}\nfrom noisyor.experiments.measures import _memory, seconds\n"
        "print(seconds(work), _memory('VmHWM'))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    elapsed, peak = map(float, done.stdout.split()[-2:])
    return elapsed, peak
