"""A kernel that keeps a card at counting bits: what counting of moments can reach at most."""

import numpy as np
from numba import cuda

from noisyor.gpu.lane_kernels import popcount

CHAINS = 4
"""Sums of a thread that do not wait for each other."""


@cuda.jit
def count_bits(n_times, found):
    """Count the bits of words of 32 that change all the time; write the sums, for them to count."""
    at = cuda.grid(1)
    word, one, two, three, four = np.uint32(at), 0, 0, 0, 0
    for number in range(n_times):
        here = np.uint32(word + np.uint32(number))
        one += popcount(here)
        two += popcount(np.uint32(here ^ np.uint32(1)))
        three += popcount(np.uint32(here ^ np.uint32(2)))
        four += popcount(np.uint32(here ^ np.uint32(4)))
    found[at] = one + two + three + four
