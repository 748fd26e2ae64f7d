"""Compiled loops that bring the records of a group together."""

import numpy as np
from numpy.typing import NDArray

from noisyor.kernels import kernel
from noisyor.kernels.word_kernels import lowest_bit

Words = NDArray[np.uint64]


@kernel
def deal_records(
    plane: Words, first_word: int, n_words: int, positions: NDArray[np.int64], dealt: Words
) -> None:
    """Set the bits of some words of a plane in another one, at each record's position there."""
    one = np.uint64(1)
    for symptom in range(plane.shape[0]):
        for word in range(n_words):
            bits = plane[symptom, first_word + word]
            while bits != 0:
                position = positions[(word << 6) + lowest_bit(bits)]
                dealt[symptom, position >> 6] |= one << np.uint64(position & 63)
                bits &= bits - one


@kernel
def add_dealt(dealt: Words, first_word: int, n_bits: int, plane: Words, position: int) -> None:
    """Set so many bits of each row, from a word on, in another plane, from a position on.

    Bits beyond these must be 0 in the last of their words.
    """
    shift = np.uint64(position & 63)
    back = np.uint64(64) - shift
    target = position >> 6
    for row in range(dealt.shape[0]):
        for word in range((n_bits + 63) >> 6):
            bits = dealt[row, first_word + word]
            plane[row, target + word] |= bits << shift
            # A shift by 64 is undefined, and the bits above may lie past the end of the plane.
            if shift != 0 and (bits >> back) != 0:
                plane[row, target + word + 1] |= bits >> back
