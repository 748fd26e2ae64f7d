"""Compiled loops over bits. A column of bits has record r at bit `r % 64` of word `r // 64`.

Loaded only when used: importing numba takes longer than all else in the package.
"""

import numpy as np
from numpy.typing import NDArray

from noisyor.kernels import kernel
from noisyor.kernels.word_kernels import lowest_bit

Words = NDArray[np.uint64]


@kernel
def set_bits(plane: Words, symptoms: NDArray[np.int32], records: NDArray[np.int64]) -> None:
    """Set the bit of (symptom, record) for each entry; negative symptoms are passed over."""
    one = np.uint64(1)
    for entry in range(len(symptoms)):
        symptom = symptoms[entry]
        if symptom >= 0:
            record = records[entry]
            plane[symptom, record >> 6] |= one << np.uint64(record & 63)


@kernel
def copy_bits(source: Words, n_bits: int, target: Words, position: int) -> None:
    """OR the first `n_bits` of each row of `source` into `target` from bit `position` on.

    Bits of `source` beyond `n_bits` must be 0.
    """
    shift = np.uint64(position & 63)
    back = np.uint64(64) - shift
    first = position >> 6
    n_words = (n_bits + 63) >> 6
    for row in range(source.shape[0]):
        for word in range(n_words):
            bits = source[row, word]
            target[row, first + word] |= bits << shift
            # A shift by 64 is undefined, and the bits above may lie past the end of the target.
            if shift != 0 and (bits >> back) != 0:
                target[row, first + word + 1] |= bits >> back


@kernel
def unpack_bits(plane: Words, flags: NDArray[np.bool_]) -> None:
    """Set `flags[record, symptom]`, all False before, where the bit is set."""
    for symptom in range(plane.shape[0]):
        for word in range(plane.shape[1]):
            bits = plane[symptom, word]
            while bits != 0:
                flags[(word << 6) + lowest_bit(bits), symptom] = True
                bits &= bits - np.uint64(1)


@kernel
def list_bits(plane: Words, n_records: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the set bits as offsets per record and symptoms, record after record, both sorted."""
    offsets = np.zeros(n_records + 1, dtype=np.int64)
    for symptom in range(plane.shape[0]):
        for word in range(plane.shape[1]):
            bits = plane[symptom, word]
            while bits != 0:
                offsets[(word << 6) + lowest_bit(bits) + 1] += 1
                bits &= bits - np.uint64(1)
    for record in range(n_records):
        offsets[record + 1] += offsets[record]
    symptoms = np.empty(offsets[n_records], dtype=np.int32)
    fill = offsets[:-1].copy()
    for symptom in range(plane.shape[0]):
        for word in range(plane.shape[1]):
            bits = plane[symptom, word]
            while bits != 0:
                record = (word << 6) + lowest_bit(bits)
                symptoms[fill[record]] = symptom
                fill[record] += 1
                bits &= bits - np.uint64(1)
    return offsets, symptoms
