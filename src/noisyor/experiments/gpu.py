"""A graphics card: counting, rounds of EM, fits and files, beside all cores in the same run."""

import functools
import statistics
import tempfile
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from noisyor.em.sampled import RecordSampler
from noisyor.em.sampled_on_card import CardSampler
from noisyor.experiments.diagnosis import records_with
from noisyor.experiments.measures import seconds
from noisyor.experiments.results import Cell, Quantities, Results
from noisyor.experiments.settings import ExperimentSettings
from noisyor.experiments.speed import plan_named, write_records
from noisyor.findings import Findings
from noisyor.findings.blocks import first_bits, words_for
from noisyor.gpu import check_device, is_simulated, n_multiprocessors
from noisyor.gpu.arrays import zeros_on_card
from noisyor.inference.answers import make_request
from noisyor.inference.answers_on_card import CardSolver
from noisyor.inference.posterior import iter_posteriors
from noisyor.learner import NoisyOrLearner
from noisyor.moments import MomentPlan, count_moments
from noisyor.moments.groups import N_GROUPS
from noisyor.moments.sets_on_card import CardCounts, CardPlane
from noisyor.moments.tally import PlaneSlice
from noisyor.moments.tally_on_card import Buffer
from noisyor.network import NoisyOrNetwork

LASTS = "five minutes on a machine with a card"
LARGE = "qmr_shaped"
REPEATS = 5
WARM_UP = 9000
"""Records of a fit before those that are timed."""
CHUNK = 1_000_000
"""Records that are sampled, and sent to the card, at a time."""
PUBLISHED = {"GeForce 2070S, triples of binary variables": 2.0e14, "BitEpi, 16 threads": 1e11}
"""Sets x records a second that the search for epistasis reports (method.md, section 12)."""


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List what is timed."""
    n = settings.pick(1_000_000, 20_000)
    sizes = {
        "peak, copying": [0], "peak, bringing here": [0], "peak, counting bits": [0],
        "kept, as the paper": [10 * n], "kept, all coupled pairs": [n],
        "count, as the paper": [n], "count, all coupled pairs": [n],
        "file, all coupled pairs": [n],
        "rounds, sampled": [n],
    }  # fmt: skip
    asked = [Cell(name, n, 0, "diagnose, 8 present") for name in settings.available("orphanet570")]
    return [
        *(Cell(LARGE, size, 0, method) for method, found in sizes.items() for size in found),
        *asked,  # fits take longest, and come last
        Cell(LARGE, n, 0, "fit, refined"),
        Cell(LARGE, 10 * n, 0, "fit, refined"),
    ]


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Time one piece of work, by the card and, where it has long ended there, by all cores."""
    check_device("gpu")
    work, _, what = cell.method.partition(", ")
    found = WORK[work](settings.network(cell.network), cell.n_records, what)
    if cell.n_records and "card, s" in found:
        found["card, ns a record"] = found["card, s"] / cell.n_records * 1e9
    if "processor, s" in found:
        found["times faster"] = found["processor, s"] / found["card, s"]
    return found


def median_of(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Return the median of some runs, after one that is not counted; the card ends its work."""
    run_once(work)
    return statistics.median(run_once(work) for _ in range(repeats))


def run_once(work: Callable[[], Any]) -> float:
    """Return how long a run takes, until the card has ended its work."""
    from numba import cuda

    def run() -> None:
        work()
        cuda.synchronize()

    return seconds(run)


@functools.lru_cache(maxsize=1)
def sampled(network: NoisyOrNetwork, n_records: int) -> Findings:
    """Return records that several cells are timed with, one after the other."""
    return network.sample(n_records, rng=0)


# --- what bounds it ---


def _peak(network: NoisyOrNetwork, n_records: int, what: str) -> Quantities:
    """Measure what the card does at most."""
    measured = {
        "copying": ("bytes a second", bytes_copied),
        "bringing here": ("bytes a second", bytes_brought),
        "counting bits": ("bits a second", bits_counted),
    }
    quantity, rate = measured[what]
    return {quantity: rate()}


def bytes_copied(n_bytes: int = 1 << 32) -> float:
    """Return the bytes that are read and written a second, copying within the card."""
    from numba import cuda

    n = 1024 if is_simulated() else n_bytes
    one, other = (cuda.device_array(n // 8, np.uint64) for _ in range(2))
    return 2 * n / median_of(lambda: other.copy_to_device(one))


def bytes_brought(n_bytes: int = 1 << 28) -> float:
    """Return the bytes a second that come here, to where the card itself can write."""
    from numba import cuda

    n = 1024 if is_simulated() else n_bytes
    there, here = (make(n // 8, np.uint64) for make in (cuda.device_array, cuda.pinned_array))
    return n / median_of(lambda: there.copy_to_host(here))


def bits_counted() -> float:
    """Return the bits a second that the card looks at where it does nothing but count them."""
    from noisyor.experiments.card_kernels import CHAINS, count_bits

    n_threads, n_times = (1, 2) if is_simulated() else (1024, 100_000)
    n_blocks = 2 * n_multiprocessors()
    found = zeros_on_card(n_blocks * n_threads, np.uint32)
    elapsed = median_of(lambda: count_bits[n_blocks, n_threads](n_times, found))
    return 32.0 * CHAINS * n_times * n_blocks * n_threads / elapsed


# --- counting ---


def kept_planes(network: NoisyOrNetwork, n_records: int) -> tuple[list[Buffer], list[CardPlane]]:
    """Keep records on the card, of more than a million the same again; buffers hold them."""
    buffers, planes = [], []
    for first in range(0, n_records, CHUNK):
        findings = sampled(network, min(CHUNK, n_records - first))
        n_words = sum(words_for(block.n_records) for block in findings.blocks)
        buffer = Buffer(network.structure.n_symptoms, n_words)
        for number, block in enumerate(findings.blocks):
            last = words_for(block.n_records)
            valid = first_bits(block.n_records, last)
            group = number % N_GROUPS
            buffer.take(PlaneSlice(block.present, None, 0, last, valid, group), False)
        buffers.append(buffer)
        planes.append(buffer.send())
    return buffers, planes


def _kept(network: NoisyOrNetwork, n_records: int, name: str) -> Quantities:
    """Count records that are in the card's memory; the counts must be those of the processor."""
    plan = plan_named(name, network.structure)
    _buffers, planes = kept_planes(network, n_records)
    counts = CardCounts(plan, N_GROUPS)

    def work() -> None:
        for plane in planes:
            counts.add(plane)

    elapsed = median_of(work)
    n_here = min(CHUNK, n_records)
    findings = sampled(network, n_here)
    here = median_of(lambda: count_moments(findings, plan)) / n_here * n_records
    _check_counts(plan, planes[0], findings)
    n_sets = sum(plan.sizes)
    rate = n_sets * n_records / elapsed
    return {
        "card, s": elapsed, "processor, s": here, "sets": float(n_sets),
        "sets x records a second": rate, "share of the peak": rate / bits_counted(),
    }  # fmt: skip


def _check_counts(plan: MomentPlan, plane: CardPlane, findings: Findings) -> None:
    """Refuse to go on where the card has counted something else than the processor."""
    moments, counts = count_moments(findings, plan), CardCounts(plan, N_GROUPS)
    counts.add(plane)
    for order, found in enumerate(counts.fetch()[0], start=1):
        if (found.sum(axis=0) != moments.counts(order)).any():
            raise AssertionError("the card counted something else than the processor")


def _count(network: NoisyOrNetwork, n_records: int, name: str) -> Quantities:
    """Count records that are in this machine's memory: they are sent while others are counted."""
    plan, findings = plan_named(name, network.structure), sampled(network, n_records)
    return _on_both(lambda device: count_moments(findings, plan, device=device), REPEATS)


def _file(network: NoisyOrNetwork, n_records: int, name: str) -> Quantities:
    """Count a long file, once; beside it, what reading it takes without counting."""
    plan = plan_named(name, network.structure)
    few = MomentPlan(network.structure, symptoms=[0])
    with tempfile.TemporaryDirectory() as folder:
        small, path = Path(folder, "small.parquet"), Path(folder, "records.parquet")
        write_records(small, network, min(WARM_UP, n_records), 2, "long")
        for device in ("gpu", "cpu"):
            count_moments(small, plan, device=device)
        write_records(path, network, n_records, 1, "long")
        found = _on_both(lambda device: count_moments(path, plan, device=device), 1)
        found["reading alone, s"] = run_once(lambda: count_moments(path, few))
        found["MB"] = path.stat().st_size / 1e6
    return found


# --- learning ---


def _rounds(network: NoisyOrNetwork, n_records: int, what: str) -> Quantities:
    """Make rounds of EM, one in three of which looks for candidates; those of the cores once."""
    findings = sampled(network, n_records)
    samplers = {
        name: kind(network.structure, findings.blocks)
        for name, kind in (("card, s", CardSampler), ("processor, s", RecordSampler))
    }
    n_blocks = len(samplers["card, s"].blocks)  # smaller ones than those of the findings
    found: Quantities = {}
    totals = []
    for name, sampler in samplers.items():
        sums = [
            sampler.expect(network, n_blocks, must_screen=True, n_sweeps=2, seed=0),
            sampler.expect(network, n_blocks, must_screen=False, n_sweeps=2, seed=1),
        ]
        totals.append(np.concatenate([each for part in sums for each in part]))
        for word, must_screen in (("screening, ", True), ("", False)):

            def round_of_em(sampler: Any = sampler, must_screen: bool = must_screen) -> None:
                sampler.expect(network, n_blocks, must_screen=must_screen, n_sweeps=2, seed=2)

            timed = median_of if name == "card, s" else run_once
            found[word + name] = timed(round_of_em)
    found["largest difference"] = float(
        (np.abs(totals[0] - totals[1]) / np.maximum(np.abs(totals[1]), 1e-3)).max()
    )
    found["screening, times faster"] = (
        found["screening, processor, s"] / found["screening, card, s"]
    )
    return found


def _fit(network: NoisyOrNetwork, n_records: int, what: str) -> Quantities:
    """Fit records in memory, once; more than a million by the card alone."""
    findings = sampled(network, n_records)
    found, fitted = {}, {}
    both = (("card, s", "gpu"), ("processor, s", "cpu"))
    for name, device in both if n_records <= CHUNK else both[:1]:
        learner = NoisyOrLearner(network.structure, method=what, device=device)
        learner.fit(network.sample(WARM_UP, rng=1))
        found[name] = seconds(learner.fit, findings)
        fitted[device] = learner.network_.parameters.vector
    if "cpu" in fitted:
        found["largest difference"] = float(np.abs(fitted["gpu"] - fitted["cpu"]).max())
    else:
        found["error"] = float(np.abs(fitted["gpu"] - network.parameters.vector).mean())
    return found


def _diagnose(network: NoisyOrNetwork, n_records: int, what: str) -> Quantities:
    """Find exact posteriors of records with so many findings; a block of them stands for all."""
    n_here = min(n_records, 8192)
    rows = records_with(network, int(what.split(maxsplit=1)[0]), min(n_here, 1024), 0)
    rows = np.resize(rows, (n_here, rows.shape[1]))
    block = Findings.from_numpy(rows, network.structure).blocks[0]
    asked = make_request("exact", 0.1, 0)
    requests = {"gpu": asked._replace(card=CardSolver(network)), "cpu": asked}

    def work(device: str, n_blocks: int) -> Any:
        found = iter_posteriors(network, n_blocks * [block], requests[device])
        return deque(found, maxlen=1)[0]

    n_blocks = n_records // n_here
    there = median_of(lambda: work("gpu", n_blocks))
    here = median_of(lambda: work("cpu", 1)) * n_blocks
    one, other = (work(device, 1).probabilities for device in requests)
    brought = 8.0 * network.structure.n_diseases * n_blocks * n_here / there
    return {
        "card, s": there, "processor, s": here, "share of the peak": brought / bytes_brought(),
        "largest difference": float(np.nanmax(np.abs(one - other))),
    }  # fmt: skip


def _on_both(work: Callable[[str], Any], repeats: int) -> Quantities:
    """Time work on the card and on all cores; the results must be the same.

    With one repeat nothing is run before: who asks has compiled what is needed.
    """
    found, results = {}, []
    for name, device in (("card, s", "gpu"), ("processor, s", "cpu")):
        elapsed = run_once(lambda device=device: results.append(work(device)))  # type: ignore[misc]
        found[name] = elapsed
        if repeats > 1:
            found[name] = median_of(lambda device=device: work(device), repeats)  # type: ignore[misc]
    if results[0] != results[1]:
        raise AssertionError("the card found something else than the processor")
    return found


WORK: dict[str, Callable[[NoisyOrNetwork, int, str], Quantities]] = {
    "peak": _peak, "kept": _kept, "count": _count, "file": _file, "rounds": _rounds, "fit": _fit,
    "diagnose": _diagnose,
}  # fmt: skip


def page(results: Results) -> dict[str, object]:
    """Return the tables."""
    return {
        "peaks": results.runs(*results.methods("peak")),
        "kept": results.runs(*results.methods("kept")),
        "counted": results.runs(*results.methods("count")),
        "files": results.runs(*results.methods("file")),
        "rounds": results.runs("rounds, sampled"),
        "fits": results.runs("fit, refined"),
        "diagnosed": results.runs(*results.methods("diagnose")),
        "repeats": REPEATS,
        **_in_short(results),
        "published": "; ".join(f"{name}: {rate:.2g}" for name, rate in PUBLISHED.items()),
    }


def _in_short(results: Results) -> dict[str, str]:
    """Return the figures of the first sentence; a dash where something was not measured."""

    def figure(method: str, quantity: str, form: str) -> str:
        runs = sorted(results.runs(method), key=lambda run: run[1])  # the fewest records first
        return format(results.mean(*runs[0], quantity), form) if runs else "-"

    return {
        "counted_ns": figure("kept, as the paper", "card, ns a record", ".1f"),
        "round_s": figure("rounds, sampled", "card, s", ".2f"),
        "round_ratio": figure("rounds, sampled", "times faster", ".0f"),
        "fit_s": figure("fit, refined", "card, s", ".1f"),
        "fit_ratio": figure("fit, refined", "times faster", ".1f"),
    }
