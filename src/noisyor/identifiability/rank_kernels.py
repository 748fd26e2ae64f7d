"""Compiled arithmetic modulo a prime: exact, and as fast as floating point.

The Jacobian's entries are quotients of polynomials in the parameters. At random parameters modulo
a large prime its rank is the generic rank, but for a chance of about one in the prime; no
tolerance is needed to tell a small number from 0.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.kernels import kernel

Residues = NDArray[np.uint64]
Integers = NDArray[np.int64]

PRIME = np.uint64(2_147_483_647)
"""2^31 - 1: products of two residues fit 64 bits."""
COPIES = 3
"""Rows of a sketch that each row is added to."""


class Sketch(NamedTuple):
    """The Jacobian, or random combinations of its rows."""

    rows: Residues
    is_whole: bool
    """True if each row is one of the Jacobian's."""
    seed: int


class DiseaseColumns(NamedTuple):
    """A disease's prior and edges, and the columns of its unknowns: -1 for what is fixed."""

    edge_of: Integers
    """For each symptom its edge from the disease, or -1."""
    prior: np.uint64
    prior_column: int
    edge_columns: Integers
    """Of all edges."""


@kernel
def inverse(value: np.uint64) -> np.uint64:
    """Return 1 / value, by Fermat's little theorem."""
    result, base, exponent = np.uint64(1), value, PRIME - np.uint64(2)
    while exponent:
        if exponent & np.uint64(1):
            result = result * base % PRIME
        base = base * base % PRIME
        exponent >>= np.uint64(1)
    return result


@kernel
def hashed(x: np.uint64) -> np.uint64:
    """Return a well-mixed number (splitmix64)."""
    x += np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def add_rows(
    sets: Integers, first_row: int, disease: DiseaseColumns, failures: Residues, sketch: Sketch
) -> None:
    """Add one disease's derivatives of log R(S) to a sketch of the Jacobian, for many sets.

    With F the product of the failures over S, I = 1 - p + p F and I_j = 1 - p + p f_j:

        d/dp    = (F - 1) / I - sum_j (f_j - 1) / I_j
        d/df_j  = p F / (f_j I) - p / I_j
    """
    one, p = np.uint64(1), np.uint64(disease.prior)
    without = (one + PRIME - p) % PRIME
    members = np.empty(sets.shape[1], dtype=np.int64)
    for number in range(len(sets)):
        n, product = 0, one
        for symptom in sets[number]:
            if disease.edge_of[symptom] >= 0:
                members[n] = disease.edge_of[symptom]
                product = product * failures[members[n]] % PRIME
                n += 1
        if n < 2:  # a disease with one symptom in S cancels out
            continue
        row = first_row + number
        whole = inverse((without + p * product) % PRIME)
        by_prior = (product + PRIME - one) % PRIME * whole % PRIME
        for edge in members[:n]:
            f = failures[edge]
            alone = inverse((without + p * f) % PRIME)
            by_prior += PRIME - (f + PRIME - one) % PRIME * alone % PRIME
            if disease.edge_columns[edge] >= 0:
                others = product * inverse(f) % PRIME * whole % PRIME
                value = p * ((others + PRIME - alone) % PRIME) % PRIME
                put(row, disease.edge_columns[edge], value, sketch)
        if disease.prior_column >= 0:
            put(row, disease.prior_column, by_prior % PRIME, sketch)


@kernel
def put(row: int, column: int, value: np.uint64, sketch: Sketch) -> None:
    """Add an entry of the Jacobian to its row, or times random numbers to some of a sketch."""
    rows = sketch.rows
    if sketch.is_whole:
        rows[row, column] = (rows[row, column] + value) % PRIME
        return
    for copy in range(COPIES):
        key = hashed(hashed(np.uint64(sketch.seed)) + np.uint64(COPIES * row + copy))
        target = key % np.uint64(len(rows))
        factor = hashed(key) % (PRIME - np.uint64(1)) + np.uint64(1)
        rows[target, column] = (rows[target, column] + factor * value) % PRIME


@kernel
def eliminate(matrix: Residues, pivots: Integers) -> int:
    """Bring a matrix to row echelon form in place, with leading 1; return its rank.

    `pivots` gets the column of each row's leading 1.
    """
    rank = 0
    for column in range(matrix.shape[1]):
        row = rank
        while row < len(matrix) and matrix[row, column] % PRIME == 0:
            row += 1
        if row == len(matrix):
            continue
        scale = inverse(matrix[row, column] % PRIME)
        for k in range(column, matrix.shape[1]):
            pivot = matrix[row, k] % PRIME * scale % PRIME
            matrix[row, k] = matrix[rank, k]
            matrix[rank, k] = pivot
        for other in range(rank + 1, len(matrix)):
            take_off(matrix[other, column:], matrix[rank, column:])
        pivots[rank] = column
        rank += 1
        if rank == len(matrix):
            break
    return rank


@kernel
def take_off(row: Residues, pivot_row: Residues) -> None:
    """Subtract a row that begins with 1 from another, so that that begins with 0.

    2^31 is 1 modulo the prime: that makes numbers small without a division. They stay below 2^33,
    not below the prime, which is enough for the next product.
    """
    first = row[0] % PRIME
    if first:
        minus, bits = PRIME - first, np.uint64(31)
        for k in range(len(row)):
            value = row[k] + minus * pivot_row[k]
            row[k] = (value & PRIME) + (value >> bits)
    row[0] = 0


@kernel
def reduce_upwards(matrix: Residues, pivots: Integers) -> None:
    """Bring a matrix in row echelon form to the reduced form: 0 above every leading 1."""
    for rank in range(len(pivots) - 1, -1, -1):
        for k in range(pivots[rank], matrix.shape[1]):
            matrix[rank, k] %= PRIME
        for other in range(rank):
            take_off(matrix[other, pivots[rank] :], matrix[rank, pivots[rank] :])
