"""Content: what a page tells, whatever it was made from.

An estimate knows everything. A network with the summary that `fit` wrote knows values, errors,
depths and flags. A network alone has values; its depths are those of the schedule that its
structure has.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError, StructureError
from noisyor.evaluation import in_order_of
from noisyor.io.paths import PathLike
from noisyor.learning import Estimate
from noisyor.learning.estimate import (
    NEUTRAL_VALUES,
    Flag,
    leak_depths,
)
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Parameters
from noisyor.report.summaries import FlagSets, Summary
from noisyor.report.unexplained import Unexplained, unexplained_by
from noisyor.schedule import Schedule, find_schedule
from noisyor.structure import Structure

Floats = NDArray[np.float64]

ESTIMATE, SUMMARY, NETWORK = "estimate", "summary", "network"
"""What a page was made from."""
NEUTRAL = (
    f"What was not learned holds a neutral value: {NEUTRAL_VALUES[0]} for priors, "
    f"{NEUTRAL_VALUES[1]} for failures, {NEUTRAL_VALUES[2]:f} for leaks."
)


@dataclass(frozen=True)
class Part:
    """The parameters of one kind, in the structure's order."""

    values: Floats
    standard_errors: Floats
    """NaN where unknown."""
    depths: Indices
    """-1 where it was not learned."""
    marks: Indices
    """For each the number of its set of flags; 0 is the empty one."""
    is_learned: NDArray[np.bool_]
    true_values: Floats | None = None

    @property
    def is_flagged(self) -> NDArray[np.bool_]:
        """Whether each has a flag."""
        return np.asarray(self.marks > 0)

    def intervals(self) -> tuple[Floats, Floats]:
        """Return 95% intervals, cut at 0 and 1."""
        margin = 1.96 * self.standard_errors
        return np.maximum(self.values - margin, 0.0), np.minimum(self.values + margin, 1.0)


@dataclass(frozen=True)
class Content:
    """Everything that a page shows."""

    title: str
    made_from: str
    """ESTIMATE, SUMMARY or NETWORK."""
    structure: Structure
    parts: Mapping[str, Part]
    """By the names prior, failure and leak."""
    flag_sets: FlagSets
    """The reasons of each set of flags; the first is empty."""
    schedule: Schedule
    estimate: Estimate | None = None
    unexplained: Unexplained | None = None
    """What the network does not explain; None where that is not known."""

    @property
    def knows_errors(self) -> bool:
        """Whether there is any standard error."""
        return any(bool(np.isfinite(part.standard_errors).any()) for part in self.parts.values())

    @property
    def knows_flags(self) -> bool:
        """Whether flags would be known if there were any."""
        return self.made_from != NETWORK

    @property
    def has_truth(self) -> bool:
        """Whether the true values are known."""
        return self.parts["prior"].true_values is not None

    @property
    def n_learned(self) -> int:
        """How many parameters were learned or given."""
        return sum(int(part.is_learned.sum()) for part in self.parts.values())

    @property
    def n_flagged(self) -> int:
        """How many parameters have a flag."""
        return sum(int(part.is_flagged.sum()) for part in self.parts.values())

    def reason_counts(self) -> dict[str, dict[str, int]]:
        """Return for each reason how many parameters of each kind are flagged with it."""
        counts: dict[str, dict[str, int]] = {}
        for name, part in self.parts.items():
            of_sets = np.bincount(part.marks, minlength=len(self.flag_sets)).tolist()
            for reasons, n in zip(self.flag_sets, of_sets, strict=True):
                for reason in reasons if n else ():
                    of_kind = counts.setdefault(reason, {})
                    of_kind[name] = of_kind.get(name, 0) + n
        return counts


def content_of(
    source: Estimate | NoisyOrNetwork,
    *,
    errors: Parameters | PathLike | None = None,
    misfits: Any = None,
    truth: NoisyOrNetwork | None = None,
    title: str | None = None,
) -> Content:
    """Gather what is known; see `write_report`."""
    if not isinstance(source, Estimate | NoisyOrNetwork):
        raise ParameterError(
            f"a report is made of an Estimate or a NoisyOrNetwork, not of {type(source).__name__}."
        )
    if isinstance(source, Estimate) and errors is not None:
        raise ParameterError("an Estimate has its own standard errors; leave errors out.")
    structure = source.structure
    truth = _ordered_truth(truth, structure)
    estimate = source if isinstance(source, Estimate) else None
    schedule = estimate.schedule if estimate else find_schedule(structure)
    made_from = NETWORK
    if isinstance(source, Estimate):
        made_from, summary = ESTIMATE, _summary_of(source)
    elif isinstance(errors, str | os.PathLike):
        made_from, summary = SUMMARY, Summary.load(errors, source)
    else:
        summary = _summary_without_flags(source, schedule, errors)
    return Content(
        title or _default_title(structure),
        made_from,
        structure,
        _parts(source if isinstance(source, NoisyOrNetwork) else source.network, summary, truth),
        summary.flag_sets,
        schedule,
        estimate,
        unexplained_by(source, misfits),
    )


def _default_title(structure: Structure) -> str:
    return f"Noisy-or network of {structure.n_diseases:,} diseases"


def _ordered_truth(truth: NoisyOrNetwork | None, structure: Structure) -> NoisyOrNetwork | None:
    """Return the truth in the order of the network."""
    if truth is None:
        return None
    if not isinstance(truth, NoisyOrNetwork):
        raise ParameterError(f"the truth must be a NoisyOrNetwork, not {type(truth).__name__}.")
    try:
        return in_order_of(truth, structure)
    except StructureError as error:
        raise StructureError(f"the truth has another structure than the network: {error}") from None


def _summary_of(estimate: Estimate) -> Summary:
    """Return what an estimate knows of its parameters."""
    parts = list(estimate.parts.values())
    numbers, places = np.unique(np.concatenate([part.flags for part in parts]), return_inverse=True)
    # The empty set comes first also where no parameter has it.
    sets = [(), *(_reasons(int(each)) for each in numbers if each)]
    marks = places + (0 if numbers.size and numbers[0] == 0 else 1)
    cuts = np.cumsum([len(part.flags) for part in parts])[:-1]
    return Summary(
        estimate.standard_errors,
        tuple(part.depths for part in parts),
        tuple(np.split(marks.astype(np.int64), cuts)),
        tuple(sets),
    )


def _reasons(flags: int) -> tuple[str, ...]:
    return tuple(Flag(flags).reasons.split("; "))


def _summary_without_flags(
    network: NoisyOrNetwork, schedule: Schedule, errors: Parameters | None
) -> Summary:
    """Return what is known without a summary: the depths, from the structure alone."""
    structure = network.structure
    sizes = structure.n_diseases, structure.n_edges, structure.n_symptoms
    if errors is None:
        errors = Parameters(*(np.full(n, np.nan) for n in sizes))
    lengths = tuple(len(np.atleast_1d(each)) for each in errors)
    if lengths != sizes:
        raise ParameterError(
            f"the standard errors are {lengths} in number; the network has {sizes} priors, "
            "failures and leaks."
        )
    leaks = leak_depths(structure, schedule.depths)
    leaks[structure.edges[schedule.depths < 0, 1]] = -1
    depths = schedule.prior_depths, schedule.depths, leaks
    return Summary(
        Parameters(*(np.asarray(each, dtype=np.float64) for each in errors)),
        depths,
        tuple(np.zeros(n, dtype=np.int64) for n in sizes),
        ((),),
    )


def _parts(
    network: NoisyOrNetwork, summary: Summary, truth: NoisyOrNetwork | None
) -> dict[str, Part]:
    not_learned = np.array(
        [any(reason.startswith("not learned") for reason in each) for each in summary.flag_sets]
    )
    parts = {}
    for place, name in enumerate(("prior", "failure", "leak")):
        marks = summary.marks[place]
        parts[name] = Part(
            getattr(network, f"{name}s"),
            getattr(summary.standard_errors, f"{name}s"),
            summary.depths[place],
            marks,
            ~not_learned[marks],
            None if truth is None else getattr(truth, f"{name}s"),
        )
    return parts
