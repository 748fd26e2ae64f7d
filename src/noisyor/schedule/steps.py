"""The steps of a schedule: from which symptoms an edge is learned, and what is removed first."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ScheduleError
from noisyor.parameters import Fixed
from noisyor.structure import Structure


class Given(NamedTuple):
    """What need not be learned: priors, and edges whose failure and prior are given."""

    priors: NDArray[np.bool_]
    edges: NDArray[np.bool_]

    @classmethod
    def of(cls, fixed: Fixed) -> Self:
        """Return which priors and edges have fixed values."""
        return cls(fixed.mask.priors.copy(), fixed.edges)

    @classmethod
    def from_lists(cls, structure: Structure, listed: Any) -> Self:
        """Return what a file lists as {"priors": [...], "edges": [...]}, by numbers."""
        given = cls.of(Fixed(structure))
        for mask, numbers in zip(given, (listed.get("priors"), listed.get("edges")), strict=True):
            if not isinstance(numbers, list) or not all(
                type(number) is int and 0 <= number < len(mask) for number in numbers
            ):
                raise ScheduleError("what the schedule takes as given does not exist.")
            mask[numbers] = True
        if not given.priors[structure.edges[given.edges, 0]].all():
            raise ScheduleError("an edge is given without the prior of its disease.")
        return given

    def to_lists(self) -> dict[str, list[int]]:
        """Return what `from_lists` reads."""
        return {name: np.flatnonzero(mask).tolist() for name, mask in self._asdict().items()}


class Step(NamedTuple):
    """One step, by numbers of diseases and symptoms."""

    round: int
    disease: int
    symptoms: tuple[int, ...]
    """Three for a triplet. Two for a pair: first the one that is learned, then the known one."""
    learned: tuple[int, ...]
    """The symptoms whose edges from the disease this step teaches."""
    removed: tuple[int, ...]
    """Diseases whose influence is removed first."""


class NamedStep(NamedTuple):
    """One step, by names."""

    round: int
    disease: str
    symptoms: tuple[str, ...]
    learned: tuple[str, ...]
    removed: tuple[str, ...]

    @property
    def kind(self) -> str:
        """Return "triplet" or "pair"."""
        return "triplet" if len(self.symptoms) == 3 else "pair"

    def __str__(self) -> str:
        without = f" without {_listed(self.removed)}" if self.removed else ""
        return (
            f"round {self.round}: {self.kind} {self.symptoms} of {self.disease!r}{without} "
            f"teaches {_listed(self.learned)}"
        )


def step_from_list(listed: Any) -> Step:
    """Return a step of a file, whose numbers are still to be checked."""
    if not isinstance(listed, list) or len(listed) != len(Step._fields):
        raise ScheduleError(f"the step {listed!r} is no list of {', '.join(Step._fields)}.")
    return Step(*listed)


def check_numbers(step: Step, structure: Structure) -> None:
    """Raise an error if a step from a file holds anything but numbers that exist."""
    lists = (step.symptoms, step.learned, step.removed)
    if not all(isinstance(each, list) for each in lists):
        raise ScheduleError(f"the step {list(step)} holds no lists.")
    if len(step.symptoms) not in (2, 3):
        raise ScheduleError(f"the step {list(step)} has neither two nor three symptoms.")
    limits = (
        ([step.round], structure.n_edges),
        ([step.disease, *step.removed], structure.n_diseases),
        ([*step.symptoms, *step.learned], structure.n_symptoms),
    )
    for numbers, limit in limits:
        if not all(type(number) is int and 0 <= number < limit for number in numbers):
            raise ScheduleError(f"the step {list(step)} names what does not exist.")


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names))
