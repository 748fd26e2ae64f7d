"""Bits of words, against Python's own."""

import numpy as np

from noisyor.kernels import kernel
from noisyor.kernels.word_kernels import lowest_bit, popcount


@kernel
def bits_of(word):
    return popcount(word), lowest_bit(word)


def test_bits_are_those_of_python(rng):
    words = [0, 1, 1 << 63, (1 << 64) - 1, *map(int, rng.integers(1, 1 << 63, 50))]
    for word in words:
        lowest = (word & -word).bit_length() - 1 if word else 64
        assert bits_of(np.uint64(word)) == (word.bit_count(), lowest)
