"""The Jacobian of a network's moments, and what its null space says.

Every negative moment is a product over diseases (Eq. 3). In the logarithm of R(S), the moment over
those of S's single symptoms, leaks cancel out, and so does every disease with one child in S. So
the unknown priors and failures have the equations log R(S), and each leak its own symptom's moment;
where a leak is fixed, that moment is an equation for the others too.

A set S says more than its subsets only if some disease has all of it as children.
"""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.names import Indices
from noisyor.parameters import Booleans
from noisyor.structure import Structure

Residues = NDArray[np.uint64]


class Unknowns(NamedTuple):
    """Diseases of a structure, and which of their parameters are unknown."""

    structure: Structure
    diseases: Indices
    priors: Booleans
    """Of all diseases of the structure."""
    edges: Booleans
    """Of all edges of the structure."""
    leaks: Booleans
    """Of all symptoms of the structure."""

    @property
    def prior_columns(self) -> Indices:
        """The column of each prior; -1 where it is fixed."""
        mask = np.isin(np.arange(len(self.priors)), self.diseases) & self.priors
        return np.where(mask, np.cumsum(mask) - 1, -1)

    @property
    def edge_columns(self) -> Indices:
        """The column of each edge; -1 where it is fixed. They follow those of the priors."""
        mask = np.isin(self.structure.edges[:, 0], self.diseases) & self.edges
        return np.where(mask, np.cumsum(mask) - 1 + int((self.prior_columns >= 0).sum()), -1)

    @property
    def n_columns(self) -> int:
        """How many unknowns there are."""
        return int((self.prior_columns >= 0).sum() + (self.edge_columns >= 0).sum())


class NullSpace(NamedTuple):
    """What the moments leave open: directions in which parameters can move unnoticed."""

    basis: Residues
    """A row for each direction, a column for each unknown, modulo a prime."""
    leak_moves: Booleans
    """A row for each direction, a column for each symptom: True if it moves the leak."""

    @property
    def is_open(self) -> Booleans:
        """True where an unknown can move."""
        return np.asarray((self.basis != 0).any(axis=0))

    @property
    def moved_leaks(self) -> Booleans:
        """True where a leak can move."""
        return np.asarray(self.leak_moves.any(axis=0))


def null_space(unknowns: Unknowns, order: int, seed: int = 0) -> NullSpace:
    """Return what moments up to an order leave open, at random parameters.

    Where they leave anything open a second draw of parameters is asked as well.
    """
    found = _null_space_of_draw(unknowns, order, seed)
    if not len(found.basis):
        return found
    another = _null_space_of_draw(unknowns, order, seed + 1)
    return min(found, another, key=lambda each: len(each.basis))


def _null_space_of_draw(unknowns: Unknowns, order: int, seed: int) -> NullSpace:
    from noisyor.identifiability.rank_kernels import PRIME

    structure = unknowns.structure
    rng = np.random.default_rng(seed)
    priors = rng.integers(1, int(PRIME), structure.n_diseases, dtype=np.uint64)
    failures = rng.integers(1, int(PRIME), structure.n_edges, dtype=np.uint64)
    single_rows = _single_rows(unknowns, priors, failures)
    matrix = _sketch(unknowns, order, priors, failures, seed)
    # Where the leak is fixed, a symptom's own frequency is one more equation.
    matrix = np.vstack([matrix, single_rows[~unknowns.leaks]])
    basis = nulls_of(matrix)
    moves = _leak_moves(basis, single_rows)
    moves[:, ~unknowns.leaks] = False
    return NullSpace(basis, moves)


def nulls_of(matrix: Residues) -> Residues:
    """Return a basis of all that each row is orthogonal to, a row each; the matrix is used up."""
    from noisyor.identifiability.rank_kernels import PRIME, eliminate, reduce_upwards

    n, pivots = matrix.shape[1], np.empty(min(matrix.shape), dtype=np.int64)
    pivots = pivots[: eliminate(matrix, pivots)]
    if len(pivots) < n:
        reduce_upwards(matrix, pivots)
    free = np.setdiff1d(np.arange(n), pivots)
    basis = np.zeros((len(free), n), dtype=np.uint64)
    basis[np.arange(len(free)), free] = 1
    basis[:, pivots] = (PRIME - matrix[: len(pivots), free]).T % PRIME
    return basis


def _sketch(
    unknowns: Unknowns, order: int, priors: Residues, failures: Residues, seed: int
) -> Residues:
    """Return the Jacobian, or, where it has many rows, random combinations of them."""
    from noisyor.identifiability.rank_kernels import DiseaseColumns, Sketch, add_rows

    structure = unknowns.structure
    groups = list(_sets(unknowns, order, seed))
    n_rows, n_columns = sum(map(len, groups)), unknowns.n_columns
    # With four times more equations than unknowns, a sketch of some more rows is reduced instead.
    is_whole = n_rows <= 4 * n_columns
    rows = np.zeros((n_rows if is_whole else n_columns + 50, n_columns), dtype=np.uint64)
    sketch = Sketch(rows, is_whole, seed)
    prior_columns, edge_columns = unknowns.prior_columns, unknowns.edge_columns
    for disease in unknowns.diseases:
        edges = structure.edges_of(int(disease))
        edge_of = np.full(structure.n_symptoms, -1, dtype=np.int64)
        edge_of[structure.edges[edges, 1]] = np.arange(edges.start, edges.stop)
        columns = DiseaseColumns(edge_of, priors[disease], prior_columns[disease], edge_columns)
        first = 0
        for sets in groups:
            add_rows(sets, first, columns, failures, sketch)
            first += len(sets)
    return rows


def _sets(unknowns: Unknowns, order: int, seed: int) -> Iterator[Indices]:
    """Yield, order by order, all sets of symptoms that one of the diseases has as children."""
    n = unknowns.structure.n_symptoms
    rng = np.random.default_rng(seed)
    for size in range(2, order + 1):
        found = [
            subsets(unknowns.structure.children(int(disease)), size, 20_000, rng)
            for disease in unknowns.diseases
        ]
        sets = np.concatenate([np.empty((0, size), dtype=np.int64), *found])
        if n**size < 2**62:  # numbers are compared faster than rows
            keys = sets @ n ** np.arange(size - 1, -1, -1, dtype=np.int64)
            sets = sets[np.unique(keys, return_index=True)[1]]
        yield np.ascontiguousarray(sets)


def subsets(children: Indices, size: int, most: int, rng: np.random.Generator) -> Indices:
    """Return all sets of a size, or where there are more than `most` a random sample of them."""
    if math.comb(len(children), size) > most:
        drawn = np.sort(rng.integers(0, len(children), (most, size)), axis=1)
        drawn = drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)]
    else:
        every = list(itertools.combinations(range(len(children)), size))
        drawn = np.array(every, dtype=np.int64).reshape(-1, size)
    return np.asarray(children[drawn])


def _single_rows(unknowns: Unknowns, priors: Residues, failures: Residues) -> Residues:
    """Return the derivatives of log M_j for each symptom: (f - 1) / I_j and p / I_j."""
    from noisyor.identifiability.rank_kernels import PRIME, inverse

    prime, structure = int(PRIME), unknowns.structure
    rows = np.zeros((structure.n_symptoms, unknowns.n_columns), dtype=np.uint64)
    prior_columns, edge_columns = unknowns.prior_columns, unknowns.edge_columns
    for disease in unknowns.diseases:
        p, column = int(priors[disease]), prior_columns[disease]
        edges = structure.edges_of(int(disease))
        for edge in range(edges.start, edges.stop):
            f, symptom = int(failures[edge]), structure.edges[edge, 1]
            alone = int(inverse(np.uint64((1 - p + p * f) % prime)))
            if column >= 0:
                rows[symptom, column] = (f - 1) * alone % prime
            if edge_columns[edge] >= 0:
                rows[symptom, edge_columns[edge]] = p * alone % prime
    return rows


def _leak_moves(basis: Residues, rows: Residues) -> Booleans:
    """Return which leaks each direction moves, to keep their symptoms as frequent as they are."""
    from noisyor.identifiability.rank_kernels import PRIME

    changes = np.zeros((len(basis), len(rows)), dtype=np.uint64)
    for column in np.flatnonzero((basis != 0).any(axis=0)):
        changes += basis[:, column, np.newaxis] * rows[:, column] % PRIME
        changes %= PRIME
    return np.asarray(changes != 0)
