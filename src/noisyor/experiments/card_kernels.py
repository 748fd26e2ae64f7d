"""A kernel that keeps a card at counting bits: what counting of moments can reach at most."""

import numpy as np
from numba import cuda

from noisyor.gpu.lane_kernels import popcount

CHAINS = 4
"""Words whose bits are counted at a time: none of them waits for another."""


@cuda.jit
def count_bits(n_times, found):
    """Count the bits of words that change all the time; write the sums, so that they are needed."""
    at = cuda.grid(1)
    word, last = np.uint32(at), np.uint32(at + n_times)
    one = two = three = four = np.uint32(0)
    while word != last:
        one = np.uint32(one + popcount(word))
        two = np.uint32(two + popcount(np.uint32(word ^ np.uint32(5))))
        three = np.uint32(three + popcount(np.uint32(word ^ np.uint32(77))))
        four = np.uint32(four + popcount(np.uint32(word ^ np.uint32(1234))))
        word = np.uint32(word + np.uint32(1))
    found[at] = np.uint32(one + two + three + four)
