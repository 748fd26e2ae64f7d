"""check_identifiability: what can be known of a network's parameters, from which moments.

What a schedule learns is identifiable, and the schedule is the certificate (Theorem 1). Of what it
leaves, the Jacobian of the moments says whether it is *locally* identifiable: whether no small
change of the parameters leaves all moments as they are (Section 3.3, Table 1).
"""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import pyarrow as pa

from noisyor.beliefs import Beliefs, as_beliefs
from noisyor.errors import ParameterError, quoted
from noisyor.identifiability.dependence import DependentIdentifiability, check_dependent
from noisyor.identifiability.jacobian import NullSpace, Unknowns, null_space
from noisyor.identifiability.repairs import Repair, find_repairs
from noisyor.immutable import equal_by_entries
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.names import Indices, Name
from noisyor.network.causes import KINDS_OF_CAUSES
from noisyor.parameters import KINDS, Parameters
from noisyor.schedule import Schedule, find_schedule
from noisyor.schedule.schedule import FixedMasks, StepArrays
from noisyor.structure import Structure


@equal_by_entries
class Tradeoff(NamedTuple):
    """Parameters that can move together without any moment noticing."""

    priors: Indices
    """Numbers of diseases."""
    failures: Indices
    """Numbers of edges."""
    leaks: Indices
    """Numbers of symptoms."""
    freedom: int
    """In how many independent ways: so many of them would have to be known."""
    diseases: Indices
    """All diseases whose moments depend on these too."""


class Identifiability(ShownAsTable):
    """What can be known of each parameter.

    Attributes
    ----------
    orders
        The order of the moments that show each parameter: 0 where it is fixed, -1 where none up to
        `max_order` does. For what the schedule learns it is 3, though with fixed values pairs might
        do.
    order
        The smallest order that shows all of them; -1 if there is none up to `max_order`.
    schedule
        The certificate for what it learns.
    tradeoffs
        What is not identifiable, in sets that trade off against each other.
    swaps
        Groups of diseases with the same children, whose parameters are known only up to which of
        them is which.

    Examples
    --------
    >>> from noisyor import Structure, check_identifiability
    >>> result = check_identifiability(Structure.from_edges([("flu", "fever"), ("flu", "cough")]))
    >>> result.orders.priors.tolist()  # -1: it cannot be known
    [-1]
    >>> result.tradeoffs[0].freedom
    2

    >>> from noisyor import check_identifiability, datasets
    >>> print(check_identifiability(datasets.figure2(rng=0).structure).table()[:3])
    parameter  disease  symptom  verdict  order  tradeoff  swap
    prior      A                 local        3
    prior      B                 local        3
    failure    A        a        local        3
    """

    def __init__(
        self, structure: Structure, max_order: int, schedule: Schedule, fixed: Beliefs
    ) -> None:
        self.structure, self.max_order = structure, max_order
        self.labelled = np.zeros(structure.n_diseases, dtype=np.bool_)
        """Diseases that labels tell of..."""
        self.beliefs = fixed
        """... and what is fixed and believed: for both `fixed` has some value."""
        self.schedule, self.fixed = schedule, fixed
        # With fixed values a schedule may do with pairs.
        learned = 2 if schedule.is_pair.all() else 3
        orders = (
            np.where(schedule.prior_depths >= 0, learned, -1),
            np.where(schedule.depths >= 0, learned, -1),
            np.full(structure.n_symptoms, learned),
        )
        self.tradeoffs: list[Tradeoff] = []
        for piece in pieces_left(schedule, fixed):
            left = _fill_orders(piece, max_order, *orders)
            self.tradeoffs += _tradeoffs(piece, left)
        for of_kind, is_fixed in zip(orders, fixed.mask, strict=True):
            of_kind[is_fixed] = 0
        self.orders = Parameters(*orders)
        self.swaps = _equal_diseases(schedule, self.orders.priors, fixed)

    def __eq__(self, other: object) -> bool:
        """Compare what was asked; the same question has the same answer."""
        if not isinstance(other, Identifiability):
            return NotImplemented
        mine, theirs = ((each.structure, each.max_order, each.schedule, each.fixed)
                        for each in (self, other))  # fmt: skip
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]

    def repairs(self, tradeoff: Tradeoff) -> list[Repair]:
        """Return the smallest changes that would make a set identifiable, each verified."""
        return find_repairs(self, tradeoff, check_identifiability)

    @property
    def order(self) -> int:
        """The smallest order of moments that shows all parameters; -1 if there is none."""
        orders = self.orders.vector
        return -1 if (orders < 0).any() else int(orders.max(initial=0))

    @property
    def is_identifiable(self) -> bool:
        """True if all parameters are, at least locally."""
        return self.order >= 0

    def verdicts(self) -> ResultTable:
        """Return one row per parameter.

        The columns: parameter, disease, symptom, verdict (fixed; believed; labelled; certified: by
        the schedule; local: from moments of the order; not identifiable), order, tradeoff (the
        number of the set it trades off in), swap (the number of its group of diseases with the same
        children).
        """
        orders, certified = self.orders.vector, self.schedule.certified.vector
        verdicts = np.select(
            [orders == 0, certified, orders > 0], ["fixed", "certified", "local"],
            "not identifiable",
        )  # fmt: skip
        is_given = orders == 0
        verdicts[is_given & (self.beliefs.cases.vector > 0.0)] = "believed"
        told = Parameters.of_diseases(self.structure, self.labelled, leaks=False).vector
        verdicts[is_given & told & (self.beliefs.weights.vector == 0.0)] = "labelled"
        numbers, swaps = np.full((2, len(orders)), -1)
        indices = Parameters.split(self.structure, np.arange(len(orders)))
        for number, tradeoff in enumerate(self.tradeoffs):
            for of_kind, is_open in zip(indices, tradeoff[:3], strict=True):
                numbers[of_kind[is_open]] = number
        for number, diseases in enumerate(self.swaps):
            is_in = np.isin(np.arange(self.structure.n_diseases), diseases)
            swaps[Parameters.of_diseases(self.structure, is_in, leaks=False).vector] = number
        return ResultTable(
            {
                **self.structure.parameter_names(),
                "verdict": verdicts.tolist(),
                "order": pa.array(orders, mask=orders < 0),
                "tradeoff": pa.array(numbers, mask=numbers < 0),
                "swap": pa.array(swaps, mask=swaps < 0),
            },
            ("parameter", "disease", "symptom"),
        )

    def table(self) -> ResultTable:
        """Return the verdicts."""
        return self.verdicts()

    def __repr__(self) -> str:
        parts = (
            f"{int((part >= 0).sum()):,} of {len(part):,} {kind}"
            for kind, part in zip(KINDS, self.orders, strict=True)
        )
        order = f"from moments of order {self.order}" if self.is_identifiable else "not all"
        return f"Identifiability({', '.join(parts)}, {order})"


@overload
def check_identifiability(
    structure: Structure, *, causes: Literal["independent"] = ..., max_order: int | None = None,
    fixed: Any = None, labelled: Iterable[Name] = ..., schedule: Schedule | None = None,
) -> Identifiability: ...  # fmt: skip


@overload
def check_identifiability(
    structure: Structure, *, causes: str, max_order: int | None = None, fixed: Any = None,
    labelled: Iterable[Name] = ..., schedule: Schedule | None = None,
) -> Identifiability | DependentIdentifiability: ...  # fmt: skip


def check_identifiability(
    structure: Structure, *, causes: str = "independent", max_order: int | None = None,
    fixed: Any = None, labelled: Iterable[Name] = (), schedule: Schedule | None = None,
) -> Identifiability | DependentIdentifiability:  # fmt: skip
    """Find out of every parameter whether it can be known, and from moments of which order.

    Parameters
    ----------
    structure
        All that is needed: no data, no guess at the parameters.
    causes
        How diseases occur together: "independent", "joint" or "trait" (one), as for
        `NoisyOrLearner`. Where they are not independent a `DependentIdentifiability` is returned:
        no schedule certifies anything then.
    max_order
        The highest order of moments to look at, 2 to 10; by default 3, and with a joint
        distribution one more than there are diseases.
    fixed
        Parameters whose values are fixed or believed: `Beliefs`, or a mapping as for
        `NoisyOrLearner.fit`.
    labelled
        Diseases that were seen, and seen to be absent, in some records: then all of their
        parameters are known, whatever the structure.
    schedule
        From `find_schedule`, if it is at hand; of independent diseases.

    Examples
    --------
    >>> from noisyor import check_identifiability, datasets
    >>> result = check_identifiability(datasets.figure2(rng=0).structure)
    >>> result.order
    3
    >>> result
    Identifiability(2 of 2 priors, 8 of 8 failures, 5 of 5 leaks, from moments of order 3)

    Two skills, each with items of its own, whatever their joint distribution is:

    >>> needs = Structure.from_matrix(np.repeat(np.eye(2), [2, 3], axis=0).T)
    >>> check_identifiability(needs, causes="joint")
    DependentIdentifiability(joint: 14 of 14 parameters, from moments of order 3)
    """
    if not isinstance(structure, Structure):
        raise ParameterError(f"expected a Structure, not {type(structure).__name__}.")
    if causes not in KINDS_OF_CAUSES:
        raise ParameterError(
            f"causes must be one of {', '.join(KINDS_OF_CAUSES)}, not {quoted(causes)}."
        )
    if max_order is None:
        max_order = min(max(3, structure.n_diseases + 1), 10) if causes == "joint" else 3
    if max_order not in range(2, 11):
        raise ParameterError(f"max_order must be 2 to 10, not {quoted(max_order)}.")
    fixed = as_beliefs(fixed, structure)
    is_labelled = np.zeros(structure.n_diseases, dtype=np.bool_)
    is_labelled[[structure.disease_index(name) for name in labelled]] = True
    if causes != "independent":
        if is_labelled.any():
            raise ParameterError(
                f"with causes={causes!r} labels are not looked at: leave them out."
            )
        return check_dependent(structure, causes, max_order, fixed)
    known = fixed.knowing(is_labelled)
    if max_order < 3:
        schedule = _empty_schedule(structure, known)  # a schedule needs more than may be looked at
    elif schedule is None or known is not fixed:
        schedule = find_schedule(structure, fixed=known)
    result = Identifiability(structure, max_order, schedule, known)
    result.labelled, result.beliefs = is_labelled, fixed
    return result


def _empty_schedule(structure: Structure, fixed: Beliefs) -> Schedule:
    none = np.empty(0, dtype=np.int64)
    sets, edge_steps = none.reshape(0, 3), np.full(structure.n_edges, -1)
    steps = StepArrays(none, none, sets, edge_steps, none.reshape(0, 2))
    return Schedule(structure, steps, pairs=True, choice="first", fixed=FixedMasks.of(fixed))


def pieces_left(schedule: Schedule, fixed: Beliefs) -> list[Unknowns]:
    """Return what a schedule leaves, in parts whose moments do not depend on each other.

    Two diseases meet in the moments only if they share two symptoms, or one whose leak is fixed.
    """
    from scipy.sparse.csgraph import connected_components

    structure = schedule.structure
    owners, symptoms = structure.edges.T
    edges = (schedule.depths < 0) & ~fixed.mask.failures
    priors = (schedule.prior_depths < 0) & ~fixed.mask.priors
    left = priors.copy()
    left[owners[edges]] = True
    # One symptom is enough if its leak is fixed: then it counts twice.
    counts = np.where(fixed.mask.leaks[symptoms], 2, 1) * left[owners]
    matrix = structure.sparse_matrix(counts.astype(np.int32))
    matrix.eliminate_zeros()
    part_of = connected_components((matrix.T @ matrix) > 1, directed=False)[1]
    diseases = np.flatnonzero(left)
    return [
        Unknowns(structure, diseases[part_of[diseases] == part], priors, edges, ~fixed.mask.leaks)
        for part in np.unique(part_of[diseases])
    ]


def _fill_orders(
    piece: Unknowns, max_order: int, priors: Indices, failures: Indices, leaks: Indices
) -> NullSpace:
    """Fill in the orders of a piece's parameters; return what is open at the highest."""
    structure = piece.structure
    unknown = [
        (np.flatnonzero(columns >= 0), columns, orders)
        for columns, orders in ((piece.prior_columns, priors), (piece.edge_columns, failures))
    ]
    touched = np.unique(structure.edges[np.isin(structure.edges[:, 0], piece.diseases), 1])
    leak_orders = np.full(len(touched), -1)
    # Pairs alone show no prior, and no failure without it.
    is_low = not len(unknown[0][0]) or max_order < 3 or not piece.leaks.all()
    for order in range(2 if is_low else 3, max_order + 1):
        left = null_space(piece, order)
        for indices, columns, orders in unknown:
            is_new = ~left.is_open[columns[indices]] & (orders[indices] < 0)
            orders[indices[is_new]] = order
        leak_orders[~left.moved_leaks[touched] & (leak_orders < 0)] = order
        if not len(left.basis):
            break
    # A leak rests on all diseases of its symptom, of other pieces too.
    before = leaks[touched]
    is_open = (before < 0) | (leak_orders < 0)
    leaks[touched] = np.where(is_open, -1, np.maximum(before, leak_orders))
    return left


def _tradeoffs(piece: Unknowns, left: NullSpace) -> list[Tradeoff]:
    """Split what is open into sets that share no direction."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if not len(left.basis):
        return []
    moves = np.hstack([left.basis != 0, left.leak_moves])
    part_of = connected_components(csr_array(moves @ moves.T), directed=False)[1]
    found = []
    for part in np.unique(part_of):
        is_open = np.append((left.basis[part_of == part] != 0).any(axis=0), False)
        priors, edges = (
            np.flatnonzero((columns >= 0) & is_open[columns])
            for columns in (piece.prior_columns, piece.edge_columns)
        )
        leaks = np.flatnonzero(left.leak_moves[part_of == part].any(axis=0))
        found.append(Tradeoff(priors, edges, leaks, int((part_of == part).sum()), piece.diseases))
    return found


def _equal_diseases(
    schedule: Schedule, prior_orders: Indices, fixed: Beliefs
) -> list[tuple[int, ...]]:
    """Return groups of diseases that no moment can distinguish: same children, nothing fixed."""
    structure = schedule.structure
    groups: dict[bytes, list[int]] = {}
    for disease in np.flatnonzero(schedule.prior_depths < 0).tolist():
        edges = structure.edges_of(disease)
        is_distinct = fixed.mask.priors[disease] or fixed.mask.failures[edges].any()
        if not is_distinct and prior_orders[disease] >= 0 and edges.stop > edges.start:
            groups.setdefault(structure.children(disease).tobytes(), []).append(disease)
    return [tuple(group) for group in groups.values() if len(group) > 1]


# --- Table 1 of the paper: fully connected networks ---


def identifiability_table(
    n_diseases: int, n_symptoms: int, max_order: int | None = None
) -> Indices:
    """Return the orders of moments that identify fully connected networks.

    Entry (i, j) is for i + 1 diseases and j + 1 symptoms; -1: not even the highest order does, or
    `max_order`.

    >>> identifiability_table(2, 4).tolist()
    [[-1, -1, 3, 3], [-1, -1, -1, 3]]
    """
    if n_diseases < 1 or n_symptoms < 1 or (max_order is not None and max_order < 1):
        raise ParameterError("diseases, symptoms and max_order must be at least 1.")
    table = np.full((n_diseases, n_symptoms), -1)
    for i in range(n_diseases):
        for j in range(n_symptoms):
            table[i, j] = smallest_order(i + 1, j + 1, min(max_order or j + 1, j + 1))
    return table


def smallest_order(n_diseases: int, n_symptoms: int, max_order: int) -> int:
    """Return the smallest order that identifies one fully connected network; -1: none does."""
    structure = Structure.from_matrix(np.ones((n_diseases, n_symptoms)))
    masks = Parameters.full(structure, True)
    everything = Unknowns(structure, np.arange(n_diseases), *masks)
    for order in range(2, max_order + 1):
        if not len(null_space(everything, order).basis):
            return order
    return -1
