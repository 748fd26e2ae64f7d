"""The steps of a schedule: from which symptoms an edge is learned, and what is removed first."""

from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ScheduleError
from noisyor.names import Indices
from noisyor.parameters import Fixed
from noisyor.structure import Structure

Key = TypeVar("Key")


class FixedMasks(NamedTuple):
    """What need not be learned: fixed priors, and edges whose failure and prior are fixed."""

    priors: NDArray[np.bool_]
    edges: NDArray[np.bool_]

    @classmethod
    def of(cls, fixed: Fixed) -> Self:
        """Return which priors and edges have fixed values."""
        return cls(fixed.mask.priors, fixed.edges)

    @classmethod
    def from_lists(cls, structure: Structure, listed: Any) -> Self:
        """Return what a file lists as {"priors": [...], "edges": [...]}, by indices."""
        masks = cls(
            np.zeros(structure.n_diseases, dtype=np.bool_),
            np.zeros(structure.n_edges, dtype=np.bool_),
        )
        lists = listed if isinstance(listed, dict) else {}
        for mask, numbers in zip(masks, (lists.get("priors"), lists.get("edges")), strict=True):
            if not isinstance(numbers, list) or not all(
                type(number) is int and 0 <= number < len(mask) for number in numbers
            ):
                raise ScheduleError("what the schedule takes as fixed does not exist.")
            mask[numbers] = True
        if not masks.priors[structure.edges[masks.edges, 0]].all():
            raise ScheduleError("an edge is fixed without the prior of its disease.")
        return masks

    def to_lists(self) -> dict[str, list[int]]:
        """Return what `from_lists` reads."""
        return {name: np.flatnonzero(mask).tolist() for name, mask in self._asdict().items()}


class StepArrays(NamedTuple):
    """All steps of a schedule, in order of rounds."""

    rounds: Indices
    """One per step."""
    diseases: Indices
    """One per step."""
    symptoms: Indices
    """Three per step, increasing; or two and -1 for a pair, the learned symptom first."""
    edge_steps: Indices
    """For each edge in canonical order the step that teaches it, or -1."""
    removed: Indices
    """Rows (step, disease), in order of steps: which diseases are removed before a step."""


class Step(NamedTuple, Generic[Key]):
    """One step, by the indices of diseases and symptoms, or by their names."""

    round: int
    disease: Key
    symptoms: tuple[Key, ...]
    """Three for a triplet. Two for a pair: the one that is learned, then the other."""
    learned: tuple[Key, ...]
    """The symptoms whose edges from the disease this step teaches."""
    removed: tuple[Key, ...]
    """Diseases whose influence is removed first."""

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


def read_step(listed: Any, structure: Structure) -> Step[int]:
    """Return a step of a file, or raise an error where it is not made of indices that exist."""
    if not isinstance(listed, list) or len(listed) != len(Step._fields):
        raise ScheduleError(f"the step {listed!r} is not a list of {', '.join(Step._fields)}.")
    round_, disease, *lists = listed
    if not all(isinstance(each, list) for each in lists):
        raise ScheduleError(f"the step {listed} has no lists.")
    symptoms, learned, removed = lists
    if len(symptoms) not in (2, 3):
        raise ScheduleError(f"the step {listed} has neither two nor three symptoms.")
    limits = (
        ([round_], structure.n_edges),
        ([disease, *removed], structure.n_diseases),
        ([*symptoms, *learned], structure.n_symptoms),
    )
    for indices, limit in limits:
        if not all(type(index) is int and 0 <= index < limit for index in indices):
            raise ScheduleError(f"the step {listed} names what does not exist.")
    return Step(round_, disease, tuple(symptoms), tuple(learned), tuple(removed))


def _listed(names: tuple[object, ...]) -> str:
    return ", ".join(map(repr, names))
