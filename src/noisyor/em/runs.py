"""Runs from several random starts, of which the best is kept: settings, starts and the trace."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.beliefs import Beliefs
from noisyor.drawing import axes_for, draw_trace
from noisyor.errors import ParameterError, count_of, quoted
from noisyor.findings import Findings
from noisyor.gpu import check_device_name
from noisyor.immutable import EqualByValue
from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import as_seed
from noisyor.parallel import n_threads
from noisyor.structure import Structure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MAX_OPERATIONS = 2.0**24
"""For one record, exactly: about a tenth of a second."""


@dataclass(frozen=True)
class EMSettings:
    """Settings of methods that climb the likelihood.

    Parameters
    ----------
    max_iter
        Steps of a run at most; None: as many as suit the method.
    tol
        A run ends when the likelihood rises by less than this part of it; None: as suits the
        method.
    n_init
        Runs from different random starts, of which the best is kept (the paper makes 4, and 64 of
        variational EM).
    rng
        A seed, or a numpy Generator to draw one from; the same seed gives the same estimate.
    n_jobs
        Threads; None: as many as there are cores.
    max_operations
        Exact methods refuse records that need more: exact inference is exponential.
    robust
        Standard errors that hold even if the network does not describe the records.
    device
        Where diseases are sampled: "cpu"; "gpu", the graphics card; or "auto".
    is_start
        True: where records are sampled nothing is refined, because others go on from the start.
    """

    max_iter: int | None = None
    tol: float | None = None
    n_init: int = 4
    rng: Any = 0
    n_jobs: int | None = None
    max_operations: float = MAX_OPERATIONS
    robust: bool = False
    device: str = "cpu"
    is_start: bool = False

    def __post_init__(self) -> None:
        _check_number("max_iter", 1 if self.max_iter is None else self.max_iter, Integral, 1)
        _check_number("n_init", self.n_init, Integral, 1)
        _check_number("tol", 0.0 if self.tol is None else self.tol, Real, 0, below=1)
        _check_number("max_operations", self.max_operations, Real, 1)
        n_threads(self.n_jobs)
        check_device_name(self.device)
        # Kernels count on from a thousand times the seed.
        object.__setattr__(self, "rng", as_seed(self.rng) % 2**52)

    def limits(self, max_iter: int, tol: float) -> "Limits":
        """Return when a run ends, with a method's own values for what was left open."""
        return Limits(
            max_iter if self.max_iter is None else self.max_iter,
            tol if self.tol is None else self.tol,
        )


def _check_number(name: str, value: Any, kind: type, least: int, below: float = np.inf) -> None:
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if not is_number or not least <= float(value) < below:
        what = "whole number" if kind is Integral else "number"
        most = "" if below == np.inf else f" and below {below}"
        raise ParameterError(f"{name} must be a {what} from {least} on{most}, not {quoted(value)}.")


class Limits(NamedTuple):
    """When a run ends."""

    max_iter: int
    tol: float


class Run(NamedTuple):
    """One run, from one start."""

    network: NoisyOrNetwork
    values: list[float]
    """What is maximised, after each step."""
    is_settled: bool
    """True if it ended because nothing changed any more, not because of its last step."""
    n_before: int = 0
    """Steps before these, that led to their start."""
    steps: list[int] | None = None
    """After how many steps each value was found; None: 0, 1, 2 and so on."""


@dataclass(frozen=True, eq=False)
class Trace(EqualByValue):
    """How an iterative method got to its result."""

    quantity: str
    """What was maximised, in words."""
    values: Floats
    """Its value after each step of the run that was kept."""
    ends: Floats
    """Its last value in each run, from different starts."""
    is_settled: bool
    """True if the run that was kept ended because nothing changed any more."""
    n_before: int = 0
    """Steps before these, that led to their start."""
    steps: Integers | None = None
    """After how many steps each value was found; None: 0, 1, 2 and so on."""

    @property
    def n_steps(self) -> int:
        """Steps of the run that was kept, over all records."""
        return len(self.values) - 1 if self.steps is None else int(self.steps[-1])

    def plot(self, ax: Any = None) -> Any:
        """Draw how it rose step by step, and where other starts ended; return the axes."""
        steps = np.arange(len(self.values)) if self.steps is None else self.steps
        with axes_for(ax, 5.6, 3.4) as axes:
            draw_trace(axes, steps, self.values, self.ends, label=self.quantity,
                       is_settled=bool(self.is_settled))  # fmt: skip
        return axes

    def facts(self) -> dict[str, object]:
        """Return what is to be known of it, for JSON."""
        return {
            "quantity": self.quantity,
            "value": float(self.values[-1]),
            "steps": self.n_steps,
            "steps_before": self.n_before,
            "is_settled": bool(self.is_settled),
            "ends": self.ends.tolist(),
        }

    def __str__(self) -> str:
        steps = f"after {count_of(self.n_steps, 'step')}"
        if self.n_before:
            steps += f" over all records, and {self.n_before:,} before them to come near"
        ending = "settled" if self.is_settled else "has not settled"
        text = f"The {self.quantity} {ending} at {self.values[-1]:,.2f} {steps}."
        worst = float(self.ends.min())
        if len(self.ends) > 1 and worst < self.ends.max() - 0.01:
            text += f" {len(self.ends)} starts ended between {worst:,.2f} and that."
        elif len(self.ends) > 1:
            text += f" All {len(self.ends)} starts ended there."
        return text


def best_run(runs: list[Run], quantity: str) -> tuple[NoisyOrNetwork, Trace]:
    """Return the network of the run that ends highest, and how it got there."""
    best = max(runs, key=lambda run: run.values[-1])
    assert np.isfinite(best.values[-1])
    ends = np.array([run.values[-1] for run in runs])
    values = np.array(best.values)
    steps = None if best.steps is None else np.array(best.steps)
    return best.network, Trace(quantity, values, ends, best.is_settled, best.n_before, steps)


def random_starts(
    findings: Findings, structure: Structure, fixed: Beliefs, settings: EMSettings
) -> list[NoisyOrNetwork]:
    """Return networks with random parameters; leaks are a part of what is seen."""
    known = np.maximum(findings.n_records - findings.count_unknown(), 1)
    frequencies = findings.count_present() / known
    found = []
    for number in range(settings.n_init):
        rng = np.random.default_rng([settings.rng, number])
        network = NoisyOrNetwork(
            structure,
            rng.uniform(0.05, 0.5, structure.n_diseases),
            rng.uniform(0.2, 0.8, structure.n_edges),
            np.clip(frequencies * rng.uniform(0.1, 0.5, structure.n_symptoms), 1e-3, 0.5),
        )
        found.append(network.with_fixed(fixed))
    return found
