"""Schedule: how Algorithm 1 learns a structure, step by step; a certificate of Theorem 1.

A step takes a triplet or a pair of symptoms, removes the diseases that couple them besides the
step's own, and teaches edges of that disease. Steps stand in the order of their rounds; steps of
one round do not need each other.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
import pyarrow as pa

from noisyor.beliefs import Beliefs
from noisyor.errors import FileError, NoisyOrError, ScheduleError
from noisyor.immutable import Immutable
from noisyor.io.documents import field_of, read_document, write_document
from noisyor.io.paths import PathLike
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.moments import MomentPlan
from noisyor.names import Indices, Name
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Parameters
from noisyor.schedule.complexity import SampleComplexity, sample_complexity
from noisyor.schedule.unlearned import Subnetwork, unlearned_subnetworks
from noisyor.schedule.validity import check_valid
from noisyor.structure import SCHEDULE_FORMAT, SCHEDULE_VERSION, Structure

Key = TypeVar("Key")

_NAMES = pa.list_(pa.string())
STEP_COLUMNS = pa.schema(
    {"round": pa.int64(), "disease": pa.string()}
    | dict.fromkeys(("symptoms", "teaches", "removed"), _NAMES)
)
"""The columns of a schedule's table."""


class FixedMasks(NamedTuple):
    """What need not be learned: fixed priors, and edges whose failure and prior are fixed."""

    priors: Booleans
    edges: Booleans

    @classmethod
    def of(cls, fixed: Beliefs) -> Self:
        """Return which priors and edges have fixed values."""
        return cls(fixed.mask.priors, fixed.edges)

    @classmethod
    def from_lists(cls, structure: Structure, listed: Any) -> Self:
        """Return what a file lists as {"priors": [...], "edges": [...]}, by indices."""
        sizes = structure.n_diseases, structure.n_edges
        masks = cls(*(np.zeros(size, dtype=np.bool_) for size in sizes))
        lists = listed if isinstance(listed, dict) else {}
        for name, mask in masks._asdict().items():
            numbers = lists.get(name)
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

    step_rounds: Indices
    step_diseases: Indices
    step_symptoms: Indices
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
        learned, removed = (", ".join(map(repr, names)) for names in self[3:])
        without = f" without {removed}" if removed else ""
        what = f"{self.kind} {self.symptoms} of {self.disease!r}"
        return f"round {self.round}: {what}{without} teaches {learned}"


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


class Schedule(ShownAsTable, Immutable):
    """Which steps teach which edges; immutable, and independent of data.

    Parameters
    ----------
    structure
        What is to be learned.
    steps
        Which symptoms of which diseases are used, and what they teach.
    pairs, choice
        How it was searched for.
    fixed
        Which priors and edges need not be learned; none by default.

    Examples
    --------
    >>> from noisyor import datasets, find_schedule
    >>> schedule = find_schedule(datasets.figure2(rng=0).structure)
    >>> schedule.is_complete
    False
    >>> print(schedule.unlearned()[0].reason)
    No three of the 4 symptoms of 'A' are coupled by it alone; in the way: 'B' (shares 3 of 4). No
    three of the 4 symptoms of 'B' are coupled by it alone; in the way: 'A' (shares 3 of 4).
    """

    __slots__ = ("choice", "depths", "edge_steps", "fixed", "pairs", "prior_depths", "prior_steps",
                 "removed", "step_diseases", "step_rounds", "step_symptoms",
                 "structure")  # fmt: skip

    depths: Indices
    """The round in which each edge is learned, counted from 0; -1 where it is not (Def. 2). What
    is fixed has depth 0."""
    prior_steps: Indices
    """The first triplet of each disease, which teaches its prior; -1 where there is none."""
    prior_depths: Indices
    """The round in which each prior is learned; -1 where it is not."""

    def __init__(
        self,
        structure: Structure,
        steps: StepArrays,
        *,
        pairs: bool,
        choice: str,
        fixed: FixedMasks | None = None,
    ) -> None:
        self.structure, self.pairs, self.choice = structure, pairs, choice
        self.step_rounds, self.step_diseases, self.step_symptoms = steps[:3]
        self.edge_steps, self.removed = steps[3:]
        self.fixed = fixed or FixedMasks.of(Beliefs(structure))
        self.prior_steps = _first_triplets(structure.n_diseases, steps)
        rounds = np.append(self.step_rounds, -1)  # the last for what no step teaches, -1
        self.depths = np.where(self.fixed.edges, 0, rounds[self.edge_steps])
        self.prior_depths = np.where(self.fixed.priors, 0, rounds[self.prior_steps])
        for name in self.__slots__:
            if isinstance(getattr(self, name), np.ndarray):
                getattr(self, name).flags.writeable = False
        self._seal()

    # --- what it learns ---

    @property
    def certified(self) -> Parameters:
        """True for what is fixed or learned, and for leaks of which all edges are (Theorem 1)."""
        leaks = np.ones(self.structure.n_symptoms, dtype=np.bool_)
        leaks[self.structure.edges[self.depths < 0, 1]] = False
        return Parameters(self.prior_depths >= 0, self.depths >= 0, leaks)

    @property
    def n_steps(self) -> int:
        """The number of steps."""
        return len(self.step_rounds)

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return int(self.step_rounds.max(initial=-1)) + 1

    @property
    def edges_per_round(self) -> list[int]:
        """How many edges each round learns."""
        return self._per_round(self.edge_steps >= 0)

    @property
    def pairs_per_round(self) -> list[int]:
        """How many edges each round learns from pairs."""
        is_pair = np.append(self.is_pair, False)  # the last for edges without a step, -1
        return self._per_round(is_pair[self.edge_steps])

    def _per_round(self, chosen: Any) -> list[int]:
        counts: list[int] = np.bincount(self.depths[chosen], minlength=self.n_rounds).tolist()
        return counts

    @property
    def is_pair(self) -> Booleans:
        """True where a step is a pair."""
        return np.asarray(self.step_symptoms[:, 2] < 0)

    @property
    def is_complete(self) -> bool:
        """True if every prior and failure is learned: then all are identifiable (Theorem 1)."""
        return bool(self.certified.vector.all())

    def steps(self) -> Iterator[Step[int]]:
        """Yield all steps in order."""
        learned = _grouped(self.edge_steps, self.structure.edges[:, 1], self.n_steps)
        removed = _grouped(self.removed[:, 0], self.removed[:, 1], self.n_steps)
        arrays = self.step_rounds, self.step_diseases, self.step_symptoms
        columns = zip(*(array.tolist() for array in arrays), learned, removed, strict=True)
        for round_, disease, (a, b, c), taught, without in columns:
            yield Step(round_, disease, (a, b) if c < 0 else (a, b, c), taught, without)

    def step(self, disease: Name, symptom: Name) -> Step[str] | None:
        """Return the step that teaches an edge, in names; None if the edge is not learned."""
        number = int(self.edge_steps[self.structure.edge_index(disease, symptom)])
        return None if number < 0 else self.named_step(number)

    def named_step(self, number: int) -> Step[str]:
        """Return a step in names."""
        symptoms, diseases = self.structure.symptoms, self.structure.diseases
        edges = np.flatnonzero(self.edge_steps == number)
        removed = self.removed[self.removed[:, 0] == number, 1]
        return Step(
            int(self.step_rounds[number]),
            diseases[self.step_diseases[number]],
            tuple(symptoms[j] for j in self.step_symptoms[number] if j >= 0),
            tuple(symptoms[j] for j in self.structure.edges[edges, 1]),
            tuple(diseases[i] for i in removed),
        )

    def table(self) -> ResultTable:
        """Return one row per step, in names: what is used, what it teaches, what is removed."""
        symptoms, diseases = self.structure.symptoms, self.structure.diseases
        columns: dict[str, list[Any]] = {name: [] for name in STEP_COLUMNS.names}
        for step in self.steps():
            columns["round"].append(step.round)
            columns["disease"].append(diseases[step.disease])
            columns["symptoms"].append([symptoms[j] for j in step.symptoms])
            columns["teaches"].append([symptoms[j] for j in step.learned])
            columns["removed"].append([diseases[i] for i in step.removed])
        return ResultTable(pa.table(columns, schema=STEP_COLUMNS), ("round", "disease"))

    def unlearned(self) -> list[Subnetwork]:
        """Return what is not learned, in connected parts, each with the reason in words."""
        return unlearned_subnetworks(self)

    # --- what it asks for ---

    def plan(self) -> MomentPlan:
        """Return the moments it needs: its triplets and pairs, and all symptoms for the leaks."""
        return MomentPlan(
            self.structure,
            symptoms=np.arange(self.structure.n_symptoms),
            pairs=self.step_symptoms[self.is_pair, :2],
            triplets=self.step_symptoms[~self.is_pair],
        )

    def sample_complexity(
        self, network: NoisyOrNetwork, *, epsilon: float = 0.01, delta: float = 0.05
    ) -> SampleComplexity:
        """Return how many records Theorem 2 asks for, given a guess at the parameters."""
        return sample_complexity(self, network, epsilon, delta)

    def validate(self) -> None:
        """Check every step against the definition of a valid schedule (Section 3.4).

        Raises a ScheduleError that names the first step which is not singly coupled after
        removal, or which uses a parameter that no earlier round has learned.
        """
        check_valid(self)

    # --- files ---

    def save(self, path: PathLike) -> None:
        """Write as a JSON document (docs/formats.md)."""
        content = {
            "pairs": self.pairs,
            "choice": self.choice,
            "diseases": self.structure.diseases,
            "symptoms": self.structure.symptoms,
            "edges": self.structure.edges.tolist(),
            "steps": list(self.steps()),
        }
        if any(mask.any() for mask in self.fixed):
            content["given"] = self.fixed.to_lists()
        write_document(path, SCHEDULE_FORMAT, SCHEDULE_VERSION, content)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote; a schedule that is not valid is refused."""
        document = read_document(path, {SCHEDULE_FORMAT: SCHEDULE_VERSION})
        structure = Structure.from_document(document, path)
        try:
            schedule = cls.from_steps(structure, field_of(document, "steps", path), document)
            schedule.validate()
        except FileError:
            raise
        except (NoisyOrError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise FileError(f"{path} does not hold a valid schedule: {error}") from None
        return schedule

    @classmethod
    def from_steps(
        cls, structure: Structure, listed: list[Any], document: Mapping[str, Any]
    ) -> Self:
        """Return the schedule of steps in a document, which are not checked against each other."""
        steps = [read_step(step, structure) for step in listed]
        edge_steps = np.full(structure.n_edges, -1, dtype=np.int64)
        for number, step in enumerate(steps):
            for symptom in step.learned:
                edge_steps[structure.edge_index(step.disease, symptom)] = number
        symptoms = [(*step.symptoms, -1)[:3] for step in steps]
        removed = [(number, i) for number, step in enumerate(steps) for i in step.removed]
        arrays = StepArrays(
            np.array([step.round for step in steps], dtype=np.int64),
            np.array([step.disease for step in steps], dtype=np.int64),
            np.array(symptoms, dtype=np.int64).reshape(-1, 3),
            edge_steps,
            np.array(removed, dtype=np.int64).reshape(-1, 2),
        )
        fixed = None
        if "given" in document:  # the key's name since version 0.1.0
            fixed = FixedMasks.from_lists(structure, document["given"])
        pairs, choice = document.get("pairs", True), document.get("choice", "first")
        return cls(structure, arrays, pairs=bool(pairs), choice=str(choice), fixed=fixed)

    # --- what it is ---

    def _arrays(self) -> StepArrays:
        return StepArrays(*(getattr(self, name) for name in StepArrays._fields))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        mine, theirs = (*self._arrays(), *self.fixed), (*other._arrays(), *other.fixed)
        return self.structure == other.structure and all(map(np.array_equal, mine, theirs))

    def __hash__(self) -> int:
        return hash((self.structure, self.step_symptoms.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = partial(Schedule, pairs=self.pairs, choice=self.choice, fixed=self.fixed)
        return rebuild, (self.structure, self._arrays())

    def __repr__(self) -> str:
        n_learned = int((self.depths >= 0).sum())
        return (
            f"Schedule({self.n_rounds} rounds, {n_learned:,} of {len(self.depths):,} edges "
            f"learned by {int((~self.is_pair).sum()):,} triplets and {int(self.is_pair.sum()):,} "
            "pairs)"
        )


def _first_triplets(n_diseases: int, steps: StepArrays) -> Indices:
    first = np.full(n_diseases, -1, dtype=np.int64)
    triplets = np.flatnonzero(steps.step_symptoms[:, 2] >= 0)
    diseases, where = np.unique(steps.step_diseases[triplets], return_index=True)
    first[diseases] = triplets[where]
    return first


def _grouped(keys: Indices, values: Indices, n: int) -> list[tuple[int, ...]]:
    """Return the values of each key from 0 to n - 1, in their order."""
    groups: list[list[int]] = [[] for _ in range(n)]
    for key, value in zip(keys.tolist(), values.tolist(), strict=True):
        if key >= 0:
            groups[key].append(value)
    return [tuple(group) for group in groups]
