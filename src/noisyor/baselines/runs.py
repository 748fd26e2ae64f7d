"""What the baselines share: random starts, the best of several runs, and its estimate."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError, StructureError
from noisyor.findings import Findings
from noisyor.identifiability import check_identifiability
from noisyor.learning.cleanup import Cleaned
from noisyor.learning.estimate import Estimate, Flag, Trace
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Fixed, Parameters
from noisyor.schedule import find_schedule
from noisyor.structure import Structure

Floats = NDArray[np.float64]
Flags = NDArray[np.uint16]
Progress = Callable[[int], None]

SMALLEST = 1e-6
"""Parameters stay so far from 0 and 1: EM could not leave them again."""
SMALLEST_LEAK = 1e-9
AT_BOUND = 1e-5
"""Nearer to 0 or 1 a value is at its bound: the likelihood has no maximum inside."""


class Run(NamedTuple):
    """One run, from one start."""

    network: NoisyOrNetwork
    values: list[float]
    """What is maximised, after each step."""
    is_settled: bool
    """Whether it ended because nothing changed any more, not because of its last step."""


def check_input(
    findings: Findings,
    structure: Structure,
    *,
    restarts: int = 1,
    seed: int = 0,
    tolerance: float = 0.0,
    max_steps: int = 1,
) -> None:
    """Refuse findings of other symptoms, no records, and options without sense."""
    if findings.structure.symptoms != structure.symptoms:
        raise StructureError("the findings belong to a structure with other symptoms.")
    if not findings.n_records:
        raise ParameterError("there is nothing to learn from: there are no records.")
    for name, value, least in (
        ("restarts", restarts, 1),
        ("seed", seed, 0),
        ("max_steps", max_steps, 1),
    ):
        if not isinstance(value, int | np.integer) or value < least:
            raise ParameterError(f"{name} must be a whole number from {least} on, not {value!r}.")
    if not isinstance(tolerance, int | float) or not 0.0 <= tolerance < 1.0:
        raise ParameterError(f"tolerance must be in [0, 1), not {tolerance!r}.")


def starts(
    findings: Findings, structure: Structure, fixed: Fixed, restarts: int, seed: int
) -> list[NoisyOrNetwork]:
    """Return networks with random parameters; leaks are a part of what is seen."""
    known = np.maximum(findings.n_records - findings.count_unknown(), 1)
    frequencies = findings.count_present() / known
    found = []
    for number in range(restarts):
        rng = np.random.default_rng([seed, number])
        network = NoisyOrNetwork(
            structure,
            rng.uniform(0.05, 0.5, structure.n_diseases),
            rng.uniform(0.2, 0.8, structure.n_edges),
            np.clip(frequencies * rng.uniform(0.1, 0.5, structure.n_symptoms), 1e-3, 0.5),
        )
        found.append(network.with_fixed(fixed))
    return found


def inside(structure: Structure, priors: Floats, failures: Floats, leaks: Floats) -> NoisyOrNetwork:
    """Return a network whose parameters keep off 0 and 1."""
    return NoisyOrNetwork(
        structure,
        np.clip(priors, SMALLEST, 1.0 - SMALLEST),
        np.clip(failures, SMALLEST, 1.0 - SMALLEST),
        np.clip(leaks, SMALLEST_LEAK, 1.0 - SMALLEST),
    )


def to_log_odds(network: NoisyOrNetwork) -> Floats:
    """Return the log odds of all priors, failures and leaks."""
    values = np.concatenate([network.priors, network.failures, network.leaks])
    values = np.clip(values, 1e-12, 1.0 - 1e-12)
    return np.asarray(np.log(values) - np.log1p(-values))


def from_log_odds(structure: Structure, log_odds: Floats) -> NoisyOrNetwork:
    """Return the network with these log odds, off 0 and 1."""
    values = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -30.0, 30.0)))
    cuts = structure.n_diseases, structure.n_diseases + structure.n_edges
    priors, failures, leaks = np.split(values, cuts)
    return inside(structure, priors, failures, leaks)


def best_run(runs: list[Run], quantity: str) -> tuple[NoisyOrNetwork, Trace]:
    """Return the network of the run that ends highest, and how it got there."""
    best = max(runs, key=lambda run: run.values[-1])
    assert np.isfinite(best.values[-1])
    ends = np.array([run.values[-1] for run in runs])
    return best.network, Trace(quantity, np.array(best.values), ends, best.is_settled)


def to_estimate(
    method: str,
    network: NoisyOrNetwork,
    errors: Parameters,
    n_records: int,
    fixed: Fixed,
    trace: Trace | None = None,
    *,
    flags: tuple[Flags, Flags, Flags] | None = None,
) -> Estimate:
    """Return an estimate, with flags.

    By default on what the findings alone cannot tell. Values at a bound are flagged always, and
    have no standard errors.
    """
    structure = network.structure
    schedule = find_schedule(structure, fixed=fixed)
    values = network.priors, network.failures, network.leaks
    swaps: list[tuple[int, ...]] = []
    if flags is None:
        checked = check_identifiability(structure, fixed=fixed, schedule=schedule)
        priors_flags, failure_flags, leak_flags = (
            np.where(orders < 0, Flag.UNCERTIFIED, 0).astype(np.uint16) for orders in checked.orders
        )
        flags = priors_flags, failure_flags, leak_flags
        swaps = checked.swaps
    parts = []
    for each, error, own in zip(values, errors, flags, strict=True):
        at_bound = (each < AT_BOUND) | (each > 1.0 - AT_BOUND)
        found = np.where(at_bound & (own == 0), own | np.uint16(Flag.CLIPPED), own)
        parts.append((np.where(found == 0, error, np.nan), found))
    errors, all_flags = (Parameters(*each) for each in zip(*parts, strict=True))
    estimate = Estimate(
        structure, method, n_records, network.parameters, errors,
        Parameters.full(structure, -1), all_flags, schedule,
        sources=Parameters.full(structure, "records", object), trace=trace,
    )  # fmt: skip
    return Cleaned.nothing(structure, swaps).marked(estimate).fixing(fixed)


def no_errors(structure: Structure) -> Parameters:
    """Return that no standard errors are known."""
    sizes = structure.n_diseases, structure.n_edges, structure.n_symptoms
    return Parameters(*(np.full(size, np.nan) for size in sizes))
