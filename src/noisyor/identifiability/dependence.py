"""Identifiability where diseases occur together: more columns in the same Jacobian.

A negative moment is then a mean over the components of a mixture (`network.causes`),

    M(S) = prod over S of (1 - l_j)  sum over k of w_k  prod over i of (1 - p_ik + p_ik F_i(S)),

where F_i(S) is the product of a disease's failures. Of a joint distribution the weights are
unknown, and each p_ik is 0 or 1. Of a trait they follow from a_i and b_i; with A = exp(a) and B =
exp(b h), h being the distance of the trait's values, the odds of a disease are A B^k: a rational
function, so that the Jacobian can be had modulo a prime. The weights of the trait's values are
drawn at random, symmetric as they are.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from noisyor.beliefs import Beliefs
from noisyor.errors import ParameterError, count_of, quoted
from noisyor.identifiability.jacobian import Residues, nulls_of, subsets
from noisyor.identifiability.repairs import Repair
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.names import Indices
from noisyor.network.causes import MOST_JOINT, N_NODES
from noisyor.parameters import Booleans
from noisyor.structure import Structure

MOST_COLUMNS = 700
"""Parameters of all kinds."""
MOST_SETS = 10_000
"""Sets of symptoms of an order; of more, so many are drawn."""
ROWS_AT_ONCE = 1 << 22
"""Rows x components that are worked on at a time."""


class DependentTradeoff(NamedTuple):
    """Parameters that can move together without any moment noticing."""

    names: tuple[str, ...]
    freedom: int
    """In how many independent ways."""


class DependentIdentifiability(ShownAsTable):
    """What can be known of each parameter where diseases occur together.

    Attributes
    ----------
    orders
        The order of the moments that show each parameter; 0 where it is fixed, -1 where none up to
        `max_order` does. In the order of `names`.
    names
        Kind, disease, symptom and name of each parameter: shares, or intercepts and loadings, then
        failures and leaks.
    tradeoffs
        What is not identifiable, in sets that trade off against each other.
    swaps
        Groups of diseases with the same children, whose parameters are known only up to which of
        them is which.

    >>> from noisyor import check_identifiability, datasets
    >>> print(check_identifiability(datasets.figure1(rng=0).structure, causes="joint"))
    DependentIdentifiability(joint: 16 of 16 parameters, from moments of order 3)
    parameter  disease  symptom  name   verdict  order  tradeoff
    share                        none   local        3
    share                        B      local        3
    share                        A      local        3
    share                        A + B  local        3
    failure    A        a               local        3
    failure    A        b               local        3
    failure    A        c               local        3
    failure    B        b               local        3
    failure    B        c               local        3
    failure    B        d               local        3
    ... and 6 more rows
    """

    def __init__(self, structure: Structure, causes: str, max_order: int, fixed: Beliefs) -> None:
        self.structure, self.causes, self.max_order = structure, causes, max_order
        self.fixed = fixed
        self.names = _cause_names(structure, causes) + _item_names(structure)
        is_fixed = np.concatenate([fixed.mask.failures, fixed.mask.leaks])
        n_causes = len(self.names) - len(is_fixed)
        is_fixed = np.concatenate([np.zeros(n_causes, dtype=np.bool_), is_fixed])
        self.orders = np.where(is_fixed, 0, -1)
        basis = np.zeros((0, len(self.orders)), dtype=np.bool_)
        for order in range(2, min(max_order, structure.n_symptoms) + 1):
            basis = _moves(structure, causes, order, is_fixed)
            is_new = ~basis.any(axis=0) & (self.orders < 0)
            self.orders[is_new] = order
            if not len(basis):
                break
        self.tradeoffs = self._tradeoffs(basis)
        self.swaps = _same_children(structure, fixed)

    def __eq__(self, other: object) -> bool:
        """Compare what was asked; the same question has the same answer."""
        if not isinstance(other, DependentIdentifiability):
            return NotImplemented
        mine, theirs = ((each.structure, each.causes, each.max_order, each.fixed)
                        for each in (self, other))  # fmt: skip
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]

    @property
    def order(self) -> int:
        """The smallest order of moments that shows all parameters; -1 if there is none."""
        return -1 if (self.orders < 0).any() else int(self.orders.max(initial=0))

    @property
    def is_identifiable(self) -> bool:
        """True if all parameters are, at least locally."""
        return self.order >= 0

    def verdicts(self) -> ResultTable:
        """Return one row per parameter.

        The columns: parameter, disease, symptom, name (of a share: the diseases that are present),
        verdict (fixed; local: from moments of the order; not identifiable), order, and tradeoff
        (the number of the set it trades off in).
        """
        numbers = np.full(len(self.orders), -1)
        sentences = list(map(_sentence, self.names))
        for number, tradeoff in enumerate(self.tradeoffs):
            numbers[np.isin(sentences, tradeoff.names)] = number
        kinds, diseases, symptoms, names = zip(*self.names, strict=True)
        verdicts = np.select([self.orders == 0, self.orders > 0], ["fixed", "local"],
                             "not identifiable")  # fmt: skip
        return ResultTable(
            {
                "parameter": list(kinds),
                "disease": pa.array(diseases, pa.string()),
                "symptom": pa.array(symptoms, pa.string()),
                "name": pa.array(names, pa.string()),
                "verdict": verdicts.tolist(),
                "order": pa.array(self.orders, mask=self.orders < 0),
                "tradeoff": pa.array(numbers, mask=numbers < 0),
            },
            ("parameter", "disease", "symptom", "name"),
        )

    def table(self) -> ResultTable:
        """Return the verdicts."""
        return self.verdicts()

    def repairs(self, tradeoff: DependentTradeoff) -> list[Repair]:
        """Return the fewest symptoms, up to three, of one disease alone that would show the set."""
        for count in (1, 2, 3):
            for disease in self.structure.diseases:
                found = self._with_symptoms(disease, count)
                orders = dict(zip(map(_sentence, found.names), found.orders, strict=True))
                if all(orders[name] >= 0 for name in tradeoff.names):
                    return [Repair("add", ((disease,),), count)]
        return []

    def _with_symptoms(self, disease: str, count: int) -> "DependentIdentifiability":
        """Return what could be known if a disease had more symptoms."""
        here, mask = self.structure, self.fixed.mask
        new = [f"{disease}: new symptom {number}" for number in range(count)]
        edges = here.edges.tolist()
        edges += [[here.disease_index(disease), here.n_symptoms + n] for n in range(count)]
        failures = [here.edges[e].tolist() for e in np.flatnonzero(mask.failures).tolist()]
        fixed = Beliefs(  # which values do not matter
            more := Structure(here.diseases, [*here.symptoms, *new], edges),
            failures={(here.diseases[i], here.symptoms[j]): 0.5 for i, j in failures},
            leaks={here.symptoms[j]: 0.5 for j in np.flatnonzero(mask.leaks).tolist()},
        )
        return DependentIdentifiability(more, self.causes, self.max_order, fixed)

    def _tradeoffs(self, basis: Booleans) -> list[DependentTradeoff]:
        """Split what is open into sets that share no direction."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        if not len(basis):
            return []
        shared = csr_array(basis.astype(np.int64) @ basis.T.astype(np.int64))
        part_of = connected_components(shared, directed=False)[1]
        found = []
        for part in np.unique(part_of):
            is_open = basis[part_of == part].any(axis=0)
            names = tuple(_sentence(self.names[j]) for j in np.flatnonzero(is_open).tolist())
            found.append(DependentTradeoff(names, int((part_of == part).sum())))
        return found

    def __repr__(self) -> str:
        n_known = int((self.orders >= 0).sum())
        order = f"from moments of order {self.order}" if self.is_identifiable else "not all"
        return (
            f"DependentIdentifiability({self.causes}: {n_known:,} of {len(self.orders):,} "
            f"parameters, {order})"
        )


def check_dependent(
    structure: Structure, causes: str, max_order: int, fixed: Beliefs
) -> DependentIdentifiability:
    """Find out what can be known where diseases occur together; see `check_identifiability`."""
    n = structure.n_diseases
    if fixed.mask.priors.any():
        name = structure.diseases[int(np.argmax(fixed.mask.priors))]
        raise ParameterError(
            f"the prior of {quoted(name)} is fixed: where diseases occur together only failures "
            "and leaks can be."
        )
    if causes == "joint" and n > MOST_JOINT:
        raise ParameterError(
            f"a joint distribution is of up to {MOST_JOINT} diseases; the structure has {n}."
        )
    size = (2**n if causes == "joint" else 2 * n) + structure.n_edges + structure.n_symptoms
    if not n or size > MOST_COLUMNS:
        raise ParameterError(
            f"{count_of(n, 'disease')} with causes={causes!r} have {size:,} parameters; of 1 to "
            f"{MOST_COLUMNS} it can be told whether they are identifiable. Look at a part of the "
            "structure."
        )
    return DependentIdentifiability(structure, causes, max_order, fixed)


def _same_children(structure: Structure, fixed: Beliefs) -> list[tuple[int, ...]]:
    groups: dict[bytes, list[int]] = {}
    for disease in range(structure.n_diseases):
        if not fixed.mask.failures[structure.edges_of(disease)].any():
            groups.setdefault(structure.children(disease).tobytes(), []).append(disease)
    return [tuple(group) for group in groups.values() if len(group) > 1]


ParameterName = tuple[str, str | None, str | None, str | None]


def _cause_names(structure: Structure, causes: str) -> list[ParameterName]:
    diseases = structure.diseases
    if causes == "trait":
        return [(kind, each, None, None) for each in diseases for kind in ("intercept", "loading")]
    found: list[ParameterName] = []
    for state in range(2 ** len(diseases)):
        on = [each for i, each in enumerate(diseases[::-1]) if state >> i & 1][::-1]
        found.append(("share", None, None, " + ".join(on) or "none"))
    return found


def _item_names(structure: Structure) -> list[ParameterName]:
    found: list[ParameterName] = [
        ("failure", structure.diseases[i], structure.symptoms[j], None)
        for i, j in structure.edges.tolist()
    ]
    return found + [("leak", None, symptom, None) for symptom in structure.symptoms]


def _sentence(name: ParameterName) -> str:
    kind, disease, symptom, state = name
    if kind == "share":
        return f"share of {quoted(state)}"
    if disease is None:
        return f"leak of {quoted(symptom)}"
    return f"{kind} of {quoted(disease)}" + (f" to {quoted(symptom)}" if symptom else "")


# --- the Jacobian ---


class _Draw(NamedTuple):
    """Parameters at random, modulo a prime."""

    weights: Residues
    priors: Residues
    """Components x diseases."""
    slopes: Residues
    """Derivatives of the priors by A and B: 2 x components x diseases; none of a joint
    distribution."""
    failures: Residues
    absents: Residues
    """1 - leak of each symptom."""


def _moves(structure: Structure, causes: str, order: int, is_fixed: Booleans) -> Booleans:
    """Return which parameters move in each direction that the moments up to an order leave open."""
    sets = _all_sets(structure, order)
    found = [_moves_of_draw(structure, causes, sets, is_fixed, seed) for seed in (0, 1)]
    return min(found, key=len)


def _moves_of_draw(
    structure: Structure, causes: str, sets: list[Indices], is_fixed: Booleans, seed: int
) -> Booleans:
    from noisyor.identifiability.rank_kernels import PRIME

    draw = _drawn(structure, causes, seed)
    size = max(ROWS_AT_ONCE // (len(draw.weights) * max(structure.n_diseases, 1)), 16)
    parts = [
        _rows(structure, causes, draw, each[start : start + size])
        for each in sets
        for start in range(0, len(each), size)
    ]
    free = np.flatnonzero(~is_fixed)
    is_base = free[0] == 0 and causes == "joint"  # the first share is what the others leave
    columns = free[1:] if is_base else free
    basis = nulls_of(np.ascontiguousarray(np.concatenate(parts)[:, columns]))
    moves = np.zeros((len(basis), len(is_fixed)), dtype=np.bool_)
    moves[:, columns] = basis != 0
    if is_base:
        n_shares = 2**structure.n_diseases
        moves[:, 0] = basis[:, : n_shares - 1].sum(axis=1) % PRIME != 0
    return moves


def _all_sets(structure: Structure, order: int) -> list[Indices]:
    """Return the sets of symptoms, by their order, with those that one disease has as children."""
    rng, found = np.random.default_rng(0), []
    everything = np.arange(structure.n_symptoms)
    for size in range(1, order + 1):
        parts = [subsets(everything, size, MOST_SETS, rng)]
        parts += [
            subsets(structure.children(disease), size, MOST_SETS // structure.n_diseases + 1, rng)
            for disease in range(structure.n_diseases)
        ]
        found.append(np.unique(np.concatenate(parts), axis=0))
    return found


def _drawn(structure: Structure, causes: str, seed: int) -> _Draw:
    from noisyor.identifiability.rank_kernels import PRIME

    prime, rng, n = int(PRIME), np.random.default_rng(seed), structure.n_diseases

    def residues(*shape: int) -> Residues:
        return rng.integers(2, prime, shape, dtype=np.uint64)

    failures, absents = residues(structure.n_edges), residues(structure.n_symptoms)
    if causes == "joint":
        bits = np.arange(2**n)[:, np.newaxis] >> np.arange(n)[::-1] & 1
        none = np.empty((0, 2**n, n), dtype=np.uint64)
        return _Draw(residues(2**n), bits.astype(np.uint64), none, failures, absents)
    n_nodes = N_NODES[1]
    half = residues(n_nodes // 2 + 1)
    weights = np.concatenate([half, half[-2::-1]])
    priors = np.empty((n_nodes, n), dtype=np.uint64)
    slopes = np.empty((2, n_nodes, n), dtype=np.uint64)
    for i, (a, b) in enumerate(residues(n, 2).tolist()):
        for k in range(n_nodes):
            power, below = pow(b, k, prime), pow(b, max(k - 1, 0), prime)
            inverse = pow(1 + a * power, -1, prime)
            priors[k, i] = a * power * inverse % prime
            slopes[0, k, i] = power * inverse**2 % prime
            slopes[1, k, i] = k * a * below * inverse**2 % prime
    return _Draw(weights, priors, slopes, failures, absents)


def _rows(structure: Structure, causes: str, draw: _Draw, sets: Indices) -> Residues:
    """Return the derivatives of M(S) for some sets of equal size, a column for each parameter."""
    from noisyor.identifiability.rank_kernels import PRIME, inverse

    p, n = PRIME, structure.n_diseases
    table = np.ones((n, structure.n_symptoms), dtype=np.uint64)
    owners, symptoms = structure.edges.T
    table[owners, symptoms] = draw.failures
    products, silent = np.ones((len(sets), n), dtype=np.uint64), np.ones(len(sets), dtype=np.uint64)
    for members in sets.T:
        products = products * table[:, members].T % p
        silent = silent * draw.absents[members] % p
    whole, others = _influences(draw, products)
    is_in = np.zeros((len(sets), structure.n_symptoms), dtype=np.bool_)
    np.put_along_axis(is_in, sets, True, axis=1)
    columns: list[Residues] = []
    if causes == "joint":
        columns += list((whole * silent[:, np.newaxis] % p).T)
        base = columns[0]
        columns = [(each + p - base) % p for each in columns]
    weighted = [each * draw.weights % p for each in others]
    for i, part in enumerate(weighted):
        for slope in draw.slopes:
            moved = (part * slope[:, i] % p).sum(axis=1) % p
            columns.append(moved * ((products[:, i] + p - 1) % p) % p * silent % p)
    present = [
        (part * draw.priors[:, i] % p).sum(axis=1) % p * products[:, i] % p * silent % p
        for i, part in enumerate(weighted)
    ]
    for (i, j), failure in zip(structure.edges.tolist(), draw.failures, strict=True):
        columns.append(np.where(is_in[:, j], present[i] * inverse(failure) % p, 0))
    moments = (whole * draw.weights % p).sum(axis=1) % p * silent % p
    for j, absent in enumerate(draw.absents):
        columns.append(np.where(is_in[:, j], moments * inverse(absent) % p, 0))
    return np.column_stack(columns).astype(np.uint64)


def _influences(draw: _Draw, products: Residues) -> tuple[Residues, list[Residues]]:
    """Return the product of all diseases' influences, and those of all but each, by component."""
    from noisyor.identifiability.rank_kernels import PRIME

    n = products.shape[1]
    each = [
        (1 + PRIME - q + q * products[:, i, np.newaxis] % PRIME) % PRIME
        for i, q in enumerate(draw.priors.T)
    ]
    ones = np.ones((len(products), len(draw.weights)), dtype=np.uint64)
    before, after = [ones], [ones]
    for i in range(n):
        before.append(before[-1] * each[i] % PRIME)
        after.append(after[-1] * each[n - 1 - i] % PRIME)
    return before[-1], [before[i] * after[n - 1 - i] % PRIME for i in range(n)]
