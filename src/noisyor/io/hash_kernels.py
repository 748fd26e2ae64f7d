"""Compiled hashes of ids; the same on every machine and in every version."""

import numpy as np
from numpy.typing import NDArray

from noisyor.kernels import kernel


@kernel
def _mixed(x: np.uint64) -> np.uint64:
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def hash_numbers(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Hash whole numbers."""
    hashes = np.empty(len(numbers), dtype=np.uint64)
    for k in range(len(numbers)):
        hashes[k] = _mixed(np.uint64(numbers[k]) + np.uint64(0x9E3779B97F4A7C15))
    return hashes


@kernel
def hash_texts(bounds: NDArray[np.int64], characters: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Hash texts (FNV-1a, then scrambled); text k is `characters[bounds[k] : bounds[k + 1]]`."""
    hashes = np.empty(len(bounds) - 1, dtype=np.uint64)
    for k in range(len(bounds) - 1):
        x = np.uint64(0xCBF29CE484222325)
        for position in range(bounds[k], bounds[k + 1]):
            x = (x ^ np.uint64(characters[position])) * np.uint64(0x100000001B3)
        hashes[k] = _mixed(x)
    return hashes
