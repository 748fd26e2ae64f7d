"""How far a learned network is from the truth, and what learning it took."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from noisyor.evaluation import compare_posteriors
from noisyor.learning import Estimate
from noisyor.network import NoisyOrNetwork

Floats = NDArray[np.float64]
Result = TypeVar("Result")


def sums_of_errors(truth: NoisyOrNetwork, learned: NoisyOrNetwork) -> dict[str, float]:
    """Return the sum of absolute errors of priors and failures, and that with the leaks."""
    error = float(
        np.abs(learned.priors - truth.priors).sum()
        + np.abs(learned.failures - truth.failures).sum()
    )
    return {"l1": error, "l1_with_leaks": error + float(np.abs(learned.leaks - truth.leaks).sum())}


def coverage(truth: NoisyOrNetwork, estimate: Estimate) -> dict[str, float]:
    """Return how many 95% intervals without a flag hold the truth, and how many have a flag."""
    held = known = flagged = total = 0
    for part, values in zip(
        estimate.parts.values(), (truth.priors, truth.failures, truth.leaks), strict=True
    ):
        lower, upper = part.intervals()
        is_sound = np.isfinite(lower) & (part.flags == 0)
        known += int(is_sound.sum())
        held += int(((lower <= values) & (values <= upper))[is_sound].sum())
        flagged += int((part.flags != 0).sum())
        total += len(values)
    found = {"flagged": flagged / total}
    if known:
        found["covered"] = held / known
    return found


def posterior_error(
    truth: NoisyOrNetwork, learned: NoisyOrNetwork, n_records: int, seed: int, budget: float
) -> dict[str, float]:
    """Return how far posteriors of new records differ under the learned and the true network."""
    found = compare_posteriors(learned, truth, n_records, seed, budget)
    return {} if found is None else {"posterior": found.mean, "same_top": found.same_top}


def timed(work: Callable[[], Result]) -> tuple[Result, dict[str, float]]:
    """Return the result of work, its seconds, and the megabytes it needed at most."""
    before = _restart_peak()
    start = time.perf_counter()
    result = work()
    found = {"seconds": time.perf_counter() - start}
    if before is not None:
        found["megabytes"] = max(_memory("VmHWM") - before, 0.0)
    return result, found


def _restart_peak() -> float | None:
    """Let Linux forget the peak memory so far; return what is in use, or None elsewhere."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        return _memory("VmRSS")
    except OSError:
        return None


def _memory(what: str) -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split(f"{what}:")[1].split()[0]) / 1024.0
