"""Kernels of the card that fill arrays."""

from numba import cuda


@cuda.jit
def fill_zeros(values):
    """Set all to 0."""
    for index in range(cuda.grid(1), len(values), cuda.gridsize(1)):
        values[index] = 0
