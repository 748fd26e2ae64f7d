"""What kernels do with whole arrays.

Numpy's own ways (`a[:] = b`, `a /= x`, `np.zeros(n, dtype=...)`) are compiled anew for each kind of
argument, with broadcasting and its messages; that was half of what a first answer waited for.
"""

import numpy as np
from numpy.typing import NDArray

from noisyor.kernels import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@kernel
def new_floats(n: int) -> Floats:
    """Return an array without values."""
    return np.empty(n)


@kernel
def new_table(n: int, m: int) -> Floats:
    """Return a table without values."""
    return np.empty((n, m))


@kernel
def new_zeros(n: int) -> Floats:
    """Return an array of 0."""
    values = new_floats(n)
    fill(values, 0.0)
    return values


@kernel
def new_integers(n: int) -> Integers:
    """Return an array of integers 0."""
    values = np.empty(n, np.int64)
    for index in range(n):
        values[index] = 0
    return values


@kernel
def new_marks(n: int) -> Booleans:
    """Return an array of False."""
    marks = np.empty(n, np.bool_)
    for index in range(n):
        marks[index] = False
    return marks


@kernel
def fill(values: Floats, value: float) -> None:
    """Set all to one value."""
    for index in range(len(values)):
        values[index] = value


@kernel
def copy(values: Floats, into: Floats) -> None:
    """Write values into others."""
    for index in range(len(values)):
        into[index] = values[index]


@kernel
def divide(values: Floats, by: float) -> None:
    """Divide all by a number."""
    for index in range(len(values)):
        values[index] /= by


@kernel
def move(values: Floats, share: float, towards: Floats) -> None:
    """Take (1 - share) of values and a share of others."""
    for index in range(len(values)):
        values[index] = (1.0 - share) * values[index] + share * towards[index]


@kernel
def sum_of(values: Floats) -> float:
    """Return the sum."""
    total = 0.0
    for value in values:
        total += value
    return total


@kernel
def largest_of(values: Floats) -> float:
    """Return the largest value."""
    largest = values[0]
    for value in values:
        largest = max(largest, value)
    return float(largest)
