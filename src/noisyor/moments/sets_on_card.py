"""The sets of a plan on a graphics card, and their counts, which stay there until fetched."""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.gpu import is_simulated
from noisyor.gpu.arrays import from_card, on_card, zeros_on_card
from noisyor.moments.moments import Margins, shapes_of
from noisyor.moments.plan import MomentPlan
from noisyor.moments.tally import visited_sets

TILE = 256
"""Symptoms that stand near each other: sets of the same tiles are counted together."""
LANES = 32 if not is_simulated() else 2
WARPS = 8 if not is_simulated() else 2
SETS_OF_WARP = {1: 8, 2: 16, 3: 4, 4: 4}
"""By order: how many sets a warp counts at a time."""
FEWEST_RUNS, WORDS = 32, 32
"""Runs of a plane, if they need not be shorter than so many words."""
MOST_WORDS = 992
"""Words of a run: counts of a run, of which two share a number, stay below 65,536."""
THREADS = 512 if not is_simulated() else 4
"""Of a block that counts with margins."""
MARGINS = [
    [
        sum(1 << k for k in subset)
        for size in range(order)
        for subset in combinations(range(order), size)
    ]
    for order in (1, 2, 3, 4)
]
"""By order, the subsets whose counts are margins, as bits: in the order of `Margins`."""


class WordRun(NamedTuple):
    """Words of a plane whose records belong to one group."""

    first: int
    last: int
    group: int


def cut_runs(runs: list[WordRun]) -> NDArray[np.int32]:
    """Return runs as rows, cut where they are long or few, so that all of the card has work.

    >>> cut_runs([WordRun(0, 1000, 7)])[:2].tolist()
    [[0, 32, 7], [32, 64, 7]]
    """
    parts = -(-FEWEST_RUNS // max(len(runs), 1))
    return np.array(
        [
            (first, min(first + length, run.last), run.group)
            for run in runs
            for length in [min(-(-(run.last - run.first) // (parts * WORDS)) * WORDS, MOST_WORDS)]
            for first in range(run.first, run.last, length)
        ],
        np.int32,
    ).reshape(-1, 3)


class CardPlane(NamedTuple):
    """Records on the card: a row per symptom, a word per 64 records."""

    present: Any
    unknown: Any
    """None where all findings are known."""
    valid: Any
    """Which bits are records."""
    runs: Any
    """Rows of three: the first word of a run, the one past its last, and its group."""


class CardSets:
    """Sets of one order on the card, for records of which all findings are known."""

    def __init__(self, sets: NDArray[Any], targets: NDArray[Any]) -> None:
        """`targets`: where counts go; those of a triplet's pairs, too, below 0: nowhere."""
        from noisyor.moments.card_kernels import set_kernel

        self.order, self._n_sets = sets.shape[1], len(sets)
        sets_of_block = WARPS * SETS_OF_WARP[self.order]
        self._n_blocks = -(-self._n_sets // sets_of_block)
        self._kernel = set_kernel(self.order, WARPS, LANES, SETS_OF_WARP[self.order])
        self._sets = on_card(sets.astype(np.int32))
        self._targets = on_card(targets.astype(np.int32).reshape(self._n_sets, -1))

    def count(self, plane: CardPlane, counts: Any, pair_counts: Any, stream: Any = 0) -> None:
        """Add the counts over the records of a plane, those of pairs of triplets apart."""
        n_symptoms, n_words = plane.present.shape
        self._kernel[(self._n_blocks, len(plane.runs)), WARPS * LANES, stream](
            plane.present.reshape(n_symptoms * n_words), np.int64(n_words), plane.runs, self._sets,
            self._targets, counts, pair_counts,
        )  # fmt: skip


class Chunks(NamedTuple):
    """Sets of symptoms in the order in which they are counted: in chunks with few symptoms."""

    bounds: NDArray[np.int32]
    """Of each chunk its first set, how many it has, and the same of its symptoms in the list."""
    listed: NDArray[np.int32]
    """Of each set its index in the plan; then the symptoms of all chunks, one after the other."""
    sets: NDArray[np.uint16]
    """A row for each member: its index among the symptoms of its chunk."""

    @classmethod
    def arranged(cls, sets: NDArray[Any], most_sets: int, most_symptoms: int) -> "Chunks":
        """Arrange sets in chunks: sets whose symptoms stand near each other are counted together.

        >>> Chunks.arranged(np.array([[0, 1], [300, 301], [0, 2]]), 2, 9).listed
        array([  0,   2,   1,   0,   1,   2, 300, 301], dtype=int32)
        """
        tiles = np.zeros(len(sets), dtype=np.int64)
        for members in sets.T // TILE:
            tiles = tiles * (int(sets.max(initial=0)) // TILE + 1) + members
        numbers = np.argsort(tiles, kind="stable")
        sets = sets[numbers]
        firsts = range(0, len(sets), most_sets)
        waiting = [(first, min(first + most_sets, len(sets))) for first in firsts][::-1]
        bounds, listed, n_listed = [], [numbers], len(numbers)
        members = np.empty(sets.shape, dtype=np.uint16)
        while waiting:
            first, last = waiting.pop()
            found, index = np.unique(sets[first:last], return_inverse=True)
            if len(found) > most_symptoms:
                middle = (first + last) // 2
                waiting += [(middle, last), (first, middle)]
                continue
            members[first:last] = index.reshape(last - first, -1)
            bounds.append((first, last - first, n_listed, len(found)))
            listed.append(found)
            n_listed += len(found)
        return cls(
            np.array(bounds, np.int32), np.concatenate(listed).astype(np.int32),
            np.ascontiguousarray(members.T),
        )  # fmt: skip


class MarginSets:
    """Sets of one order on the card, for records of which some findings are unknown."""

    def __init__(self, sets: NDArray[Any]) -> None:
        from noisyor.moments import card_kernels as kernels

        self.order = sets.shape[1]
        chunks = Chunks.arranged(sets, THREADS, kernels.most_near(kernels.FEW_ROWS))
        self.n_chunks, widest = len(chunks.bounds), int(chunks.bounds[:, 3].max())
        has_room = widest <= kernels.most_near(kernels.MANY_ROWS)
        n_rows = kernels.MANY_ROWS if has_room else kernels.FEW_ROWS
        self._kernel = kernels.margin_kernel(self.order, n_rows)
        self._arrays = tuple(on_card(array) for array in chunks)

    def count(self, plane: CardPlane, counts: Any, stream: Any = 0) -> None:
        """Add the counts over the records of a plane."""
        self._kernel[(self.n_chunks, len(plane.runs)), THREADS, stream](
            plane.present, plane.unknown, plane.valid, plane.runs, *self._arrays, counts
        )


class CardCounts:
    """Counts of a plan by group that stay on the card until they are fetched."""

    def __init__(self, plan: MomentPlan, n_groups: int) -> None:
        self._n_groups, self._plan = n_groups, plan
        visited = visited_sets(plan)
        lone = visited.lone_pairs
        triplets = np.column_stack([np.arange(len(plan.triplets)), visited.owned_pairs])
        self._sets = [
            CardSets(sets, targets)
            for sets, targets in (
                (plan.symptoms[:, np.newaxis], np.arange(len(plan.symptoms))),
                (plan.pairs[lone], lone), (plan.triplets, triplets),
                (plan.quartets, np.arange(len(plan.quartets))),
            )
            if len(sets)
        ]  # fmt: skip
        self.start()

    def start(self) -> None:
        """Begin with no counts."""
        self._counts = [
            zeros_on_card(shape, np.uint32)
            for shape in shapes_of(self._plan, self._n_groups)["present"]
        ]

    def add(self, plane: CardPlane, stream: Any = 0) -> None:
        """Count the records of a plane."""
        for sets in self._sets:
            sets.count(plane, self._counts[sets.order - 1], self._counts[1], stream)

    def fetch(self) -> tuple[tuple[NDArray[np.uint32], ...], None]:
        """Return the counts, and start with none."""
        found = tuple(from_card(counts) for counts in self._counts)
        self.start()
        return found, None


class CardMargins:
    """Counts with margins by group that stay on the card until they are fetched."""

    def __init__(self, plan: MomentPlan, n_groups: int) -> None:
        self._shapes = shapes_of(plan, n_groups)
        self._sets = {
            order: MarginSets(plan.sets(order)) for order in (1, 2, 3, 4) if plan.sizes[order - 1]
        }
        self.start()

    def start(self) -> None:
        """Begin with no counts."""
        self._counts = {
            order: zeros_on_card((*self._shapes["present"][order - 1], 1 << order), np.uint32)
            for order in self._sets
        }

    def add(self, plane: CardPlane, stream: Any = 0) -> None:
        """Count the records of a plane."""
        for order, sets in self._sets.items():
            sets.count(plane, self._counts[order], stream)

    def fetch(self) -> tuple[tuple[NDArray[np.uint32], ...], Margins]:
        """Return the counts, and start with none."""
        present, margins = [], []
        for order in (1, 2, 3, 4):
            shape = self._shapes["present"][order - 1]
            found = np.zeros((*shape, 1 << order), np.uint32)
            if order in self._counts:
                found = from_card(self._counts[order])
            present.append(found[..., -1])
            wanted = self._shapes["margins"][order - 1]
            margins.append(found[..., MARGINS[order - 1]].reshape(wanted))
        self.start()
        return tuple(present), Margins(*margins)
