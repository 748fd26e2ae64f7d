"""MomentPlan: which symptoms, pairs, triplets and quartets are to be counted.

A plan is closed: a quartet brings its four triplets, a triplet its three pairs, a pair its two
symptoms, because a negative moment needs the counts of all subsets (inclusion and exclusion).
"""

import hashlib
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisyor.errors import FileError, ParameterError, StructureError, quoted
from noisyor.immutable import Immutable
from noisyor.io.documents import ArrowSaved
from noisyor.io.paths import PathLike
from noisyor.memory import announce
from noisyor.names import Indices, sorted_sets
from noisyor.structure import Structure


class MomentPlan(ArrowSaved, Immutable):
    """The sets of symptoms to count; immutable, without repeats, in canonical order.

    Each row is sorted, and the rows are sorted among each other.

    Parameters
    ----------
    structure
        Whose symptoms are meant.
    symptoms, pairs, triplets, quartets
        Indices: one to four a row, in any order. Symptoms of pairs, pairs of triplets and triplets
        of quartets need not be given; they are added.

    Examples
    --------
    >>> from noisyor import Structure
    >>> structure = Structure.from_matrix([[1, 1, 1, 0], [0, 0, 1, 1]])
    >>> MomentPlan(structure, triplets=[[2, 1, 0], [0, 1, 2]])
    MomentPlan(3 symptoms, 3 pairs, 1 triplet)
    >>> MomentPlan.coupled(structure).pairs.tolist()
    [[0, 1], [0, 2], [1, 2], [2, 3]]
    """

    __slots__ = ("_fingerprint", "pair_rows", "pairs", "quartet_rows", "quartets", "structure",
                 "symptoms", "triplet_rows", "triplet_symptom_rows", "triplets")  # fmt: skip

    FORMAT, VERSION = "noisyor.plan", 2
    structure: Structure
    symptoms: Indices
    pairs: Indices
    triplets: Indices
    quartets: Indices
    pair_rows: Indices
    """For each pair, the rows of its two symptoms in `symptoms`."""
    triplet_rows: Indices
    """For each triplet (a, b, c), the rows of its pairs ab, ac and bc in `pairs`."""
    triplet_symptom_rows: Indices
    """For each triplet, the rows of its three symptoms in `symptoms`."""
    quartet_rows: Indices
    """For each quartet (a, b, c, d), the rows of abc, abd, acd and bcd in `triplets`."""

    def __init__(
        self,
        structure: Structure,
        symptoms: ArrayLike = (),
        pairs: ArrayLike = (),
        triplets: ArrayLike = (),
        quartets: ArrayLike = (),
    ) -> None:
        self.structure = structure
        n_symptoms = structure.n_symptoms
        fours = _rows(quartets, 4)
        if len(fours) and n_symptoms > MOST_QUARTET_SYMPTOMS:
            raise ParameterError(
                f"quartets are counted of up to {MOST_QUARTET_SYMPTOMS:,} symptoms, not "
                f"{n_symptoms:,}."
            )
        self.quartets = _canonical([fours], n_symptoms)
        of_quartets = [self.quartets[:, columns] for columns in combinations(range(4), 3)]
        self.triplets = _canonical([_rows(triplets, 3), *of_quartets], n_symptoms)
        of_triplets = [self.triplets[:, columns] for columns in ([0, 1], [0, 2], [1, 2])]
        self.pairs = _canonical([_rows(pairs, 2), *of_triplets], n_symptoms)
        is_counted = np.zeros(n_symptoms, dtype=np.bool_)
        is_counted[_canonical([_rows(symptoms, 1)], n_symptoms)] = True
        is_counted[self.pairs] = True
        self.symptoms = np.flatnonzero(is_counted)
        rows = np.empty(n_symptoms, dtype=np.int64)
        rows[self.symptoms] = np.arange(len(self.symptoms))
        self.pair_rows = rows[self.pairs]
        keys = _keys(self.pairs, n_symptoms)
        self.triplet_rows = np.column_stack(
            [np.searchsorted(keys, _keys(part, n_symptoms)) for part in of_triplets]
        )
        self.triplet_symptom_rows = rows[self.triplets]
        keys = _keys(self.triplets, n_symptoms)
        self.quartet_rows = np.column_stack(
            [np.searchsorted(keys, _keys(part, n_symptoms)) for part in of_quartets]
        )
        self._fingerprint: str | None = None
        for name in set(self.__slots__) - {"_fingerprint", "structure"}:
            getattr(self, name).flags.writeable = False
        self._seal()

    @classmethod
    def coupled(cls, structure: Structure) -> Self:
        """Return the plan of all symptoms and all pairs that share a parent."""
        degrees = np.diff(structure.child_offsets).astype(np.float64)
        most = min(float(degrees @ (degrees - 1)), float(structure.n_symptoms) ** 2) / 2
        announce(
            _PAIR_BYTES * most,
            f"listing up to {most:,.0f} pairs of symptoms that share a disease",
            "leave out diseases that have nearly all symptoms, or symptoms",
        )
        matrix = structure.sparse_matrix()
        # It is symmetric, and this way its indices are sorted, in a quarter of the time.
        shared = (matrix @ matrix.T).tocsc()
        first = np.repeat(np.arange(structure.n_symptoms), np.diff(shared.indptr))
        is_pair = shared.indices > first
        pairs = np.column_stack([first[is_pair], shared.indices[is_pair]])
        return cls(structure, symptoms=np.arange(structure.n_symptoms), pairs=pairs)

    @classmethod
    def all_pairs(cls, structure: Structure) -> Self:
        """Return the plan of all symptoms and all pairs, also of those that share no parent."""
        pairs = np.column_stack(np.triu_indices(structure.n_symptoms, 1))
        return cls(structure, symptoms=np.arange(structure.n_symptoms), pairs=pairs)

    def sets(self, order: int) -> Indices:
        """Return the symptoms (as a column), pairs, triplets or quartets."""
        if order not in (1, 2, 3, 4):
            raise ParameterError(f"moments have the orders 1, 2, 3 and 4, not {quoted(order)}.")
        return (self.symptoms[:, np.newaxis], self.pairs, self.triplets, self.quartets)[order - 1]

    def quartet_subset_rows(self) -> list[Indices]:
        """Return, for a, ..., d, ab, ..., cd, abc, ..., bcd of the quartets, their rows."""
        found = []
        for order in (1, 2, 3):
            for columns in combinations(range(4), order):
                found.append(self.rows_of(order, self.quartets[:, columns]))
        return found

    def rows_of(self, order: int, sets: Indices) -> Indices:
        """Return the index in the plan of each set (a row of increasing indices); -1 if missing."""
        n_symptoms = self.structure.n_symptoms
        keys, wanted = _keys(self.sets(order), n_symptoms), _keys(sets, n_symptoms)
        rows = np.searchsorted(keys, wanted)
        return np.where(np.append(keys, -1)[rows] == wanted, rows, -1)

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """How many symptoms, pairs, triplets and quartets there are."""
        return len(self.symptoms), len(self.pairs), len(self.triplets), len(self.quartets)

    @property
    def fingerprint(self) -> str:
        """A text that two plans share exactly when they are equal, on any machine."""
        if self._fingerprint is None:
            digest = hashlib.sha256(self.structure.fingerprint.encode())
            # Plans without quartets have the fingerprint that they had before there were any.
            more = (self.quartets,) if len(self.quartets) else ()
            for sets in (self.symptoms, self.pairs, self.triplets, *more):
                digest.update(len(sets).to_bytes(8, "little"))
                digest.update(np.ascontiguousarray(sets, dtype="<i8").tobytes())
            object.__setattr__(self, "_fingerprint", digest.hexdigest()[:32])
        return str(self._fingerprint)

    def __or__(self, other: "MomentPlan") -> "MomentPlan":
        """Return the union of two plans of one structure."""
        if not isinstance(other, MomentPlan):
            return NotImplemented
        if self.structure != other.structure:
            raise StructureError("plans of different structures have no union.")
        return MomentPlan(
            self.structure,
            np.concatenate([self.symptoms, other.symptoms]),
            np.concatenate([self.pairs, other.pairs]),
            np.concatenate([self.triplets, other.triplets]),
            np.concatenate([self.quartets, other.quartets]),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MomentPlan):
            return NotImplemented
        return self is other or self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        sets = self.symptoms, self.pairs, self.triplets, self.quartets
        return type(self), (self.structure, *sets)

    def __repr__(self) -> str:
        words = ("symptom", "pair", "triplet", "quartet")
        sizes = self.sizes if len(self.quartets) else self.sizes[:3]
        counted = ", ".join(
            f"{n:,} {word}{'' if n == 1 else 's'}" for n, word in zip(sizes, words, strict=False)
        )
        return f"MomentPlan({counted})"

    def to_columns(self) -> dict[str, Any]:
        """Return the arrays of a file that holds this plan and its structure."""
        return {
            "diseases": list(self.structure.diseases),
            "symptom_names": list(self.structure.symptoms),
            "edges": self.structure.edges.ravel(),
            "symptoms": self.symptoms,
            "pairs": self.pairs.ravel(),
            "triplets": self.triplets.ravel(),
            "quartets": self.quartets.ravel(),
        }

    @classmethod
    def from_columns(cls, columns: dict[str, Any], path: PathLike) -> Self:
        """Build from the arrays of a file."""
        try:
            structure = Structure(
                columns["diseases"].tolist(),
                columns["symptom_names"].tolist(),
                columns["edges"].reshape(-1, 2),
            )
            return cls(
                structure,
                columns["symptoms"],
                columns["pairs"].reshape(-1, 2),
                columns["triplets"].reshape(-1, 3),
                columns.get("quartets", np.empty(0, dtype=np.int64)).reshape(-1, 4),  # version 1
            )
        except FileError:
            raise
        except (ValueError, TypeError, OverflowError) as error:
            raise FileError(f"{path} does not hold a valid plan: {error}") from None


MOST_QUARTET_SYMPTOMS = 55_000
"""Of more, four indices do not fit the number that quartets are sorted by."""
_PAIR_BYTES = 60
"""What listing a pair takes."""


def _rows(sets: ArrayLike, order: int) -> NDArray[Any]:
    array = np.asarray(sets)
    if array.size == 0:
        return np.empty((0, order), dtype=np.int64)
    if order == 1:
        array = array.reshape(-1, 1) if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] != order or not np.issubdtype(array.dtype, np.integer):
        raise ParameterError(
            f"sets of {order} symptoms are rows of {order} indices; got {array.dtype} of shape "
            f"{array.shape}."
        )
    return array


def _canonical(parts: list[NDArray[Any]], n_symptoms: int) -> Indices:
    """Return the distinct rows of all parts, each sorted, in lexicographic order."""
    rows = np.concatenate([part.astype(np.int64) for part in parts])
    rows = sorted_sets(rows, n_symptoms)
    keys = _keys(rows, n_symptoms)
    if (keys[1:] > keys[:-1]).all():
        return np.ascontiguousarray(rows)
    order = np.argsort(keys)
    keys = keys[order]
    is_first = np.append(True, keys[1:] > keys[:-1])
    return np.ascontiguousarray(rows[order[is_first]])


def _keys(rows: Indices, n_symptoms: int) -> Indices:
    """Return one number per row that sorts like the row; 2 million symptoms fit."""
    keys = np.zeros(len(rows), dtype=np.int64)
    for column in range(rows.shape[1]):
        keys = keys * max(n_symptoms, 1) + rows[:, column]
    return keys
