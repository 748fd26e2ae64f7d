"""Moments: integer counts for a plan, split into groups of records, that add up."""

import functools
import hashlib
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import FileError, ParameterError, StructureError, quoted
from noisyor.io.documents import ArrowSaved, write_arrow_document
from noisyor.io.paths import PathLike
from noisyor.moments.labelled import LabelledCounts
from noisyor.moments.min_count import QUARTET_SUBSETS, has_small_cell
from noisyor.moments.plan import MomentPlan
from noisyor.moments.values import (
    Floats,
    Integers,
    SetValues,
    check_valued,
    pair_excesses,
    pair_excesses_among,
    values_from_counts,
    values_of_network,
)
from noisyor.network import NoisyOrNetwork
from noisyor.parallel import in_threads

Counts = NDArray[Any]


class Margins(NamedTuple):
    """Counts over the records in which all symptoms of a set are known, groups x sets.

    The last axis of `pairs` has: known, a, b. That of `triplets`: known, a, b, c, ab, ac, bc. That
    of `quartets`: all subsets but the whole, in this order too (`QUARTET_SUBSETS`).
    """

    symptoms: Counts
    pairs: Counts
    triplets: Counts
    quartets: Counts


class Moments(ArrowSaved):
    """Counts of a plan's sets over records, or the exact values of a population.

    Parameters
    ----------
    plan
        What was counted.
    group_records
        How many records each group has.
    present
        Arrays, groups x symptoms, pairs, triplets, quartets: records in which all of a set is
        present. A plan without quartets needs no array of them.
    margins
        The same for subsets and known records, where some findings are unknown; else None.
    hidden
        Arrays of booleans: sets whose counts were suppressed as too small; else None.
    labelled
        Counts of those records in which diseases were looked for; None where there are none.

    Examples
    --------
    >>> from noisyor import datasets, MomentPlan, count_moments
    >>> network = datasets.figure1(rng=0)
    >>> plan = MomentPlan.coupled(network.structure)
    >>> one, other = (count_moments(network.sample(1000, rng=seed), plan) for seed in (1, 2))
    >>> (one + other).n_records
    2000
    >>> one + other == other + one
    True
    """

    FORMAT, VERSION = "noisyor.moments", 3
    is_exact = False
    """Whether these are the values of a population, without sampling noise."""

    def __init__(
        self,
        plan: MomentPlan,
        group_records: Integers,
        present: tuple[Counts, ...],
        margins: Margins | None = None,
        hidden: tuple[NDArray[np.bool_], ...] | None = None,
        labelled: LabelledCounts | None = None,
    ) -> None:
        self.plan = plan
        self.group_records = np.asarray(group_records, dtype=np.int64)
        dtype = counter_type(int(self.group_records.max(initial=0)))
        if len(present) == N_ORDERS - 1 and not len(plan.quartets):
            present = (*present, np.zeros((len(self.group_records), 0), dtype=dtype))
        self.present = tuple(_sealed(counts, dtype) for counts in present)
        self.margins = margins and Margins(*(_sealed(counts, dtype) for counts in margins))
        self.hidden = hidden
        self.labelled = labelled
        self._check_shapes()

    def _check_shapes(self) -> None:
        """Raise an error if the counts do not fit the plan, or are more than the records."""
        shapes = shapes_of(self.plan, self.n_groups)
        for kind, wanted in shapes.items():
            arrays = getattr(self, kind)
            if arrays is not None and [each.shape for each in arrays] != wanted:
                raise ParameterError("the counts do not have the shape of the plan.")
        if (self.group_records < 0).any() or any(
            (counts.max(axis=1, initial=0) > self.group_records).any() for counts in self.present
        ):
            raise ParameterError("a count is larger than the number of its records.")
        if self.labelled is not None and (self.labelled.records > self.group_records).any():
            raise ParameterError("more records are labelled than there are.")

    @property
    def n_records(self) -> int:
        """The number of records that were counted."""
        return int(self.group_records.sum())

    @property
    def n_groups(self) -> int:
        """Into how many groups the records were split."""
        return len(self.group_records)

    # --- values ---

    def counts(self, order: int, *, without: int | None = None) -> Integers:
        """Return in how many records each set is present; `without` leaves a group out."""
        self.plan.sets(order)
        return self._present_total(order - 1, without)

    def negative_moments(self, order: int, *, without: int | None = None) -> Floats:
        """Return P(all of the set absent) for each symptom, pair, triplet or quartet (Eq. 3)."""
        if order == 4:
            tables = self._tables(without)
            with np.errstate(invalid="ignore"):
                found = tables[:, 0, 0, 0, 0] / tables.sum(axis=(1, 2, 3, 4))
            return np.where(False if self.hidden is None else self.hidden[3], np.nan, found)
        return self.values(order, without=without).absent

    def quartet_tables(self, *, without: int | None = None) -> Integers:
        """Return the tables of the quartets: x 2 x 2 x 2 x 2, absent before present.

        Records in which one of the four is unknown are left out; a hidden quartet has no table.
        """
        if self.hidden is not None and self.hidden[3].any():
            raise ParameterError("some quartets are hidden as too small: they have no tables.")
        return self._tables(without)

    def _tables(self, without: int | None) -> Integers:
        shape = 2, 2, 2, 2, len(self.plan.quartets)
        events = np.empty(shape, dtype=np.int64)  # known, or present
        for subset, counts in zip(QUARTET_SUBSETS, self._quartet_margins(without), strict=True):
            events[tuple(int(k in subset) for k in range(4))] = counts
        events[1, 1, 1, 1] = self._present_total(3, without)
        for axis in range(4):
            if_known, if_present = np.moveaxis(events, axis, 0)
            events = np.stack([if_known - if_present, if_present], axis=axis)
        return np.moveaxis(events, -1, 0)

    def _quartet_margins(self, without: int | None) -> list[Integers]:
        if self.margins is not None:
            return list(np.moveaxis(self._total(self.margins.quartets, without), -1, 0))
        totals = [self._present_total(each, without) for each in range(N_ORDERS)]
        return self._complete_margins(4, self._total(self.group_records, without), totals)

    def ratios(self, order: int, *, without: int | None = None) -> Floats:
        """Return R(S), the negative moment over the product of its symptoms' own."""
        return self.values(order, without=without).ratios()

    def ratio_variances(self, order: int) -> Floats:
        """Return the sampling variance of each R(S); infinite where a symptom is always present."""
        if order == 1:
            return np.zeros(len(self.plan.symptoms))
        return self.values(order).ratio_variances()

    def excesses(self, order: int, *, without: int | None = None) -> Floats:
        """Return c = R - 1 of pairs, or k = R_abc - R_ab - R_ac - R_bc + 2 of triplets."""
        if order == 1:
            raise ParameterError("single symptoms have no excess; ask for order 2 or 3.")
        if order != 2 or self.is_exact:
            values = self.values(order, without=without)
            return values.pair_excesses[:, 0] if order == 2 else values.triplet_excess
        if self.margins is None:
            excesses = self._pair_excesses(without)
        else:
            n, singles, pairs = self._subsets(order, without)
            excesses = pair_excesses(n, *singles, *pairs)
        if self.hidden is not None:
            excesses[self.hidden[1]] = np.nan
        return excesses

    def _pair_excesses(self, without: int | None) -> Floats:
        """Return the excess of each pair, where no finding is unknown."""
        singles, pairs = (self._present_total(each, without) for each in (0, 1))
        n_records = int(self._total(self.group_records, without))
        return pair_excesses_among(n_records, singles, self.plan.pair_rows, pairs)

    def values(self, order: int, *, without: int | None = None) -> SetValues:
        """Return all values of an order at once; `without` leaves a group of records out."""
        check_valued(self.plan, order)
        n, singles, pairs = self._subsets(order, without)
        all_three = self._present_total(2, without) if order == 3 else None
        excesses = None
        if self.margins is None and order > 1:
            among = self._pair_excesses(without)
            excesses = among[:, np.newaxis] if order == 2 else among[self.plan.triplet_rows]
        values = values_from_counts(n, singles, pairs, all_three, excesses)
        if self.hidden is not None:
            hide = self.hidden[order - 1]
            for array in values.odds, values.pair_excesses, values.triplet_excess, values.absent:
                array[hide] = np.nan
        return values

    def _subsets(
        self, order: int, without: int | None
    ) -> tuple[Integers, list[Integers], list[Integers]]:
        """Return, for each set, the records, and those with each of its symptoms and pairs."""
        totals = [self._present_total(each, without) for each in range(order)]
        if self.margins is None:
            n_records = self._total(self.group_records, without)
            known, *subsets = self._complete_margins(order, n_records, totals)
        else:
            margins = self._total(self.margins[order - 1], without)
            known, *subsets = [margins] if order == 1 else np.moveaxis(margins, -1, 0)
        singles = totals if order == 1 else subsets[:order]
        return known, singles, totals[1:] if order == 2 else subsets[3:]

    def _complete_margins(self, order: int, known: Any, counts: Sequence[Counts]) -> list[Counts]:
        """Return the margins of sets as they are where no finding is unknown."""
        plan, of_symptoms, of_pairs = self.plan, [], []
        if order == 4:
            sizes = (counts[len(subset) - 1] for subset in QUARTET_SUBSETS[1:])
            subsets = zip(sizes, plan.quartet_subset_rows(), strict=True)
            shape = *counts[0].shape[:-1], plan.sizes[3]
            return [np.broadcast_to(known, shape), *(each[..., rows] for each, rows in subsets)]
        if order > 1:
            rows = plan.pair_rows if order == 2 else plan.triplet_symptom_rows
            of_symptoms = [counts[0][..., row] for row in rows.T]
        if order == 3:
            of_pairs = [counts[1][..., row] for row in plan.triplet_rows.T]
        shape = *counts[0].shape[:-1], plan.sizes[order - 1]
        return [np.broadcast_to(known, shape), *of_symptoms, *of_pairs]

    @functools.cached_property
    def _present_totals(self) -> list[Integers]:
        """The counts over all groups, kept because a jackknife asks for them group by group."""
        return [self._total(counts, None) for counts in self.present]

    def _present_total(self, position: int, without: int | None) -> Integers:
        total = self._present_totals[position]
        if without is None:
            return total.copy()
        self._check_group(without)
        return np.asarray(total - self.present[position][without])

    def _check_group(self, group: int) -> None:
        if not 0 <= group < self.n_groups:
            raise ParameterError(f"there is no group {group}: there are {self.n_groups}.")

    def _total(self, counts: Counts, without: int | None) -> Integers:
        if without is not None:
            self._check_group(without)
        # A sum in the counts' own type is several times as fast.
        has_room = counter_type(self.n_records) == counts.dtype
        total = counts.sum(axis=0, dtype=counts.dtype if has_room else np.int64)
        total = total.astype(np.int64, copy=False)
        return total if without is None else np.asarray(total - counts[without])

    # --- merging ---

    def __add__(self, other: "Moments") -> "Moments":
        """Merge the counts of two sets of records, exactly."""
        if not isinstance(other, Moments):
            return NotImplemented
        return sum_moments([self, other])

    def __radd__(self, other: object) -> "Moments":
        return self if other == 0 else NotImplemented  # so that sum() works

    def _hiding(self, hidden: tuple[NDArray[np.bool_], ...]) -> "Moments":
        """Return the counts without those of hidden sets, which become 0 and are marked."""
        present = tuple(
            np.where(hide, 0, counts) for hide, counts in zip(hidden, self.present, strict=True)
        )
        margins = None
        if self.margins is not None:
            wide = hidden[0], *(each[:, np.newaxis] for each in hidden[1:])
            pairs = zip(wide, self.margins, strict=True)
            margins = Margins(*(np.where(hide, 0, counts) for hide, counts in pairs))
        return Moments(self.plan, self.group_records, present, margins, hidden, self.labelled)

    def with_labelled(self, labelled: LabelledCounts | None) -> "Moments":
        """Return the counts with those of labelled records."""
        return Moments(
            self.plan, self.group_records, self.present, self.margins, self.hidden, labelled
        )

    def _check_mergeable(self, other: "Moments") -> None:
        if self.is_exact or other.is_exact:
            raise ParameterError("exact moments cannot be merged with others.")
        if self.plan.structure != other.plan.structure:
            raise StructureError(
                "these moments belong to different structures "
                f"({self.plan.structure!r} {self.plan.structure.fingerprint[:8]} and "
                f"{other.plan.structure!r} {other.plan.structure.fingerprint[:8]}); "
                "count all records with the same structure file."
            )
        if self.plan != other.plan:
            raise ParameterError(
                f"these moments were counted for different plans ({self.plan!r} and "
                f"{other.plan!r}); count all records with the same plan file."
            )
        if self.n_groups != other.n_groups:
            raise ParameterError(
                f"these moments have {self.n_groups} and {other.n_groups} groups of records; count "
                "both with the same --groups, and with --min-count at every site or at none."
            )

    def with_margins(self) -> Margins:
        """Return the margins; where all findings are known they follow from the other counts."""
        if self.margins is not None:
            return self.margins
        known = self.group_records[:, np.newaxis].astype(self.present[0].dtype)
        orders = range(1, N_ORDERS + 1)
        columns = [self._complete_margins(order, known, self.present) for order in orders]
        return Margins(columns[0][0].copy(), *(np.stack(each, axis=-1) for each in columns[1:]))

    def in_groups(self, n_groups: int, *, n_jobs: int | None = 1) -> "Moments":
        """Return the same counts in fewer groups: group g joins group g modulo `n_groups`."""
        if not 1 <= n_groups <= self.n_groups:
            raise ParameterError(f"n_groups must be 1 to {self.n_groups}, not {quoted(n_groups)}.")
        if n_groups == self.n_groups:
            return self

        dtype = counter_type(self.n_records)

        def joined(counts: Counts) -> Counts:
            parts = np.zeros((n_groups, *counts.shape[1:]), dtype=dtype)

            def add_up(into: int) -> None:
                for group in range(into, self.n_groups, n_groups):
                    parts[into] += counts[group].astype(dtype, copy=False)

            in_threads(add_up, range(n_groups), n_jobs)
            return parts

        present = tuple(joined(counts) for counts in self.present)
        margins = self.margins and Margins(*(joined(counts) for counts in self.margins))
        records = joined(self.group_records).astype(np.int64)
        labelled = self.labelled and self.labelled.in_groups(n_groups)
        return Moments(self.plan, records, present, margins, self.hidden, labelled)

    def suppressed(self, min_count: int) -> "Moments":
        """Return the counts fit for export: no cell that describes 1 to `min_count` - 1 records.

        The groups are merged, because they would split the cells. A set is hidden, its count 0 and
        its values NaN, if any cell of its table (present, absent or unknown for each symptom) is
        small, or if one of its subsets is hidden.
        """
        if min_count < 1:
            raise ParameterError(f"min_count must be at least 1, not {min_count}.")
        whole = self.in_groups(1)
        present, known = (
            [each[0].astype(np.int64) for each in part]
            for part in (whole.present, whole.with_margins())
        )
        is_hidden = [
            has_small_cell(self.plan, whole.n_records, present, known, order, min_count)
            for order in range(1, N_ORDERS + 1)
        ]
        is_hidden[1] |= is_hidden[0][self.plan.pair_rows].any(axis=1)
        is_hidden[2] |= is_hidden[1][self.plan.triplet_rows].any(axis=1)
        is_hidden[3] |= is_hidden[2][self.plan.quartet_rows].any(axis=1)
        if whole.hidden is not None:
            is_hidden = [now | before for now, before in zip(is_hidden, whole.hidden, strict=True)]
        labelled = whole.labelled and whole.labelled.suppressed(self.plan.structure, min_count)
        return whole._hiding(tuple(is_hidden)).with_labelled(labelled)

    # --- populations ---

    @staticmethod
    def exact(
        network: NoisyOrNetwork, plan: MomentPlan, n_records: float = np.inf
    ) -> "PopulationMoments":
        """Return the exact moments of a network; with `n_records` the variances that many give."""
        return PopulationMoments(network, plan, n_records)

    # --- files ---

    def to_columns(self) -> dict[str, Any]:
        """Return the arrays of a file that holds these counts and their plan."""
        columns = self.plan.to_columns() | {
            "fingerprint": [self.plan.fingerprint],
            "group_records": self.group_records,
        }
        for kind in shapes_of(self.plan, self.n_groups):
            for name, array in zip(_NAMES, getattr(self, kind) or (), strict=False):
                columns[f"{name}_{kind}"] = array.ravel()
        columns |= self.labelled.to_columns() if self.labelled is not None else {}
        columns["digest"] = [_digest(columns)]
        return columns

    def save(self, path: PathLike) -> None:
        """Write an Arrow file; without labels one that older versions read, too."""
        version = 1 if self.labelled is None else 2
        version = self.VERSION if len(self.plan.quartets) else version
        write_arrow_document(path, self.FORMAT, version, self.to_columns())

    @classmethod
    def from_columns(cls, columns: dict[str, Any], path: PathLike) -> Self:
        """Build from the arrays of a file."""
        plan = MomentPlan.from_columns(columns, path)
        try:
            records = columns["group_records"]
            arrays: dict[str, Any] = {}
            for kind, shapes in shapes_of(plan, len(records)).items():
                if kind == "present" or f"symptoms_{kind}" in columns:
                    nothing = {f"quartets_{kind}": np.zeros(0, dtype=np.int64)}  # version 1
                    found = [(nothing | columns)[f"{name}_{kind}"] for name in _NAMES]
                    pairs = zip(found, shapes, strict=True)
                    arrays[kind] = tuple(array.reshape(shape) for array, shape in pairs)
            if columns["digest"].tolist() != [_digest(columns)]:
                raise FileError(f"{path} is damaged: its counts are not those that were written.")
            if columns["fingerprint"].tolist() != [plan.fingerprint]:
                raise FileError(f"{path} is damaged: its counts do not belong to its plan.")
            margins = Margins(*arrays["margins"]) if "margins" in arrays else None
            hidden = tuple(each.astype(np.bool_) for each in arrays.get("hidden", ())) or None
            labelled = LabelledCounts.from_columns(columns, plan.structure, len(records))
            return cls(plan, records, arrays["present"], margins, hidden, labelled)
        except FileError:
            raise
        except (ValueError, TypeError, IndexError) as error:
            raise FileError(f"{path} does not hold valid moments: {error}") from None

    # --- what it is ---

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        if self.plan != other.plan or not np.array_equal(self.group_records, other.group_records):
            return False
        mine: list[Any] = [*self.present]
        theirs: list[Any] = [*other.present]
        if self.margins is not None or other.margins is not None:
            mine, theirs = [*mine, *self.with_margins()], [*theirs, *other.with_margins()]
        mine += self.hidden or [None]
        theirs += other.hidden or [None]
        same = len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))
        return same and self.labelled == other.labelled

    __hash__ = None  # type: ignore[assignment]  # millions of counts make no key

    def __repr__(self) -> str:
        more = ", some findings unknown" if self.margins is not None else ""
        if self.labelled is not None:
            more += f", {self.labelled.n_records:,} records with a label"
        return f"Moments({self.n_records:,} records in {self.n_groups} groups, {self.plan}{more})"


class PopulationMoments(Moments):
    """The exact moments of a network: what counting would give with infinitely many records."""

    is_exact = True

    def __init__(self, network: NoisyOrNetwork, plan: MomentPlan, n_records: float) -> None:
        if network.structure.symptoms != plan.structure.symptoms:
            raise StructureError("the network and the plan have different symptoms.")
        none = np.zeros(1, dtype=np.int64)
        super().__init__(plan, none, tuple(np.zeros((1, size)) for size in plan.sizes))
        self._network = network
        self._n_records = n_records

    def values(self, order: int, *, without: int | None = None) -> SetValues:
        """Return all values of an order at once."""
        return values_of_network(self._network, self.plan, order, self._n_records)

    def negative_moments(self, order: int, *, without: int | None = None) -> Floats:
        """Return P(all of the set absent) for each symptom, pair, triplet or quartet (Eq. 3)."""
        return np.asarray(self._network.negative_moments(self.plan.sets(order)))

    def counts(self, order: int, *, without: int | None = None) -> Integers:
        """Refuse: a population has no counts."""
        raise ParameterError("exact moments have no counts; ask for negative_moments.")

    def quartet_tables(self, *, without: int | None = None) -> Integers:
        """Refuse: a population has no counts."""
        return self.counts(4)

    def __radd__(self, other: object) -> Moments:
        raise ParameterError("exact moments cannot be merged with others.")

    def suppressed(self, min_count: int) -> Moments:
        """Refuse: a population has no small cells."""
        raise ParameterError("exact moments have no cells to hide.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PopulationMoments):
            return NotImplemented
        return self.plan == other.plan and self._network == other._network

    __hash__ = None

    def save(self, path: PathLike) -> None:
        """Refuse: save the network instead."""
        raise ParameterError("exact moments are not saved; save the network they come from.")

    def __repr__(self) -> str:
        return f"PopulationMoments({self._network!r}, {self.plan})"


def sum_moments(parts: Sequence[Moments]) -> Moments:
    """Merge the counts of many sets of records, exactly; in place, so with little memory."""
    first, *others = parts
    if not others:
        return first
    for other in others:
        first._check_mergeable(other)
    records = np.sum([each.group_records for each in parts], axis=0)
    dtype = counter_type(int(records.max(initial=0)))

    def added(arrays: list[tuple[Counts, ...]]) -> tuple[Counts, ...]:
        total = tuple(counts.astype(dtype) for counts in arrays[0])
        for each in arrays[1:]:
            for counts, more in zip(total, each, strict=True):
                np.add(counts, more, out=counts)
        return total

    margins = None
    if any(each.margins is not None for each in parts):
        margins = Margins(*added([each.with_margins() for each in parts]))
    counts = [each.labelled for each in parts if each.labelled is not None]
    labelled = functools.reduce(operator.add, counts) if counts else None
    present = added([each.present for each in parts])
    merged = Moments(first.plan, records, present, margins, labelled=labelled)
    all_hidden = [each.hidden for each in parts if each.hidden is not None]
    if not all_hidden:
        return merged
    return merged._hiding(
        tuple(np.logical_or.reduce(each) for each in zip(*all_hidden, strict=True))
    )


_NAMES = ("symptoms", "pairs", "triplets", "quartets")
N_ORDERS = len(_NAMES)


def shapes_of(plan: MomentPlan, n_groups: int) -> dict[str, list[tuple[int, ...]]]:
    """Return the shapes of the arrays of counts, of margins, and of marks of hidden sets."""
    symptoms, pairs, triplets, quartets = ((n_groups, size) for size in plan.sizes)
    wide = (*pairs, 3), (*triplets, 7), (*quartets, len(QUARTET_SUBSETS))
    return {
        "present": [symptoms, pairs, triplets, quartets],
        "margins": [symptoms, *wide],
        "hidden": [(size,) for size in plan.sizes],
    }


def counter_type(n_records: int) -> Any:
    """Return the smallest type that holds any count over so many records."""
    return np.uint32 if n_records < 1 << 32 else np.uint64


def _digest(columns: dict[str, Any]) -> str:
    """Return a text that changes with any count, for files that were damaged."""
    digest = hashlib.sha256()
    for kind in "present", "margins", "hidden":
        for name in _NAMES:
            if f"{name}_{kind}" in columns:
                digest.update(np.ascontiguousarray(columns[f"{name}_{kind}"]).tobytes())
    digest.update(np.asarray(columns["group_records"], dtype="<i8").tobytes())
    for name in sorted(columns):
        if name.startswith("labelled_"):
            digest.update(np.ascontiguousarray(columns[name]).tobytes())
    return digest.hexdigest()[:32]


def _sealed(counts: Counts, dtype: Any) -> Counts:
    """Return the counts in a type, as an array that cannot be written to."""
    view = counts.astype(dtype, copy=False).view()
    view.flags.writeable = False
    return view
