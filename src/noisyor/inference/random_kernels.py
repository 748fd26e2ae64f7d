"""Random numbers for compiled loops: each record has a stream of its own, whoever works on it."""

import numba
import numpy as np

SEED_STEP = np.uint64(0x9E3779B97F4A7C15)
SEED_OF_RUN = np.uint64(0xD1342543DE82EF95)
SEED_OF_RECORD = np.uint64(0x2545F4914F6CDD1D)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def seed_of(seed: int, record: int) -> np.uint64:
    """Return where the random numbers of a record start."""
    return np.uint64(seed) * SEED_OF_RUN + np.uint64(record) * SEED_OF_RECORD


@numba.njit(nogil=True, cache=True, error_model="numpy")
def next_uniform(state: np.uint64) -> tuple[np.uint64, float]:
    """Return the next state of splitmix64 and a number in [0, 1)."""
    state += SEED_STEP
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return state, float(z >> np.uint64(11)) / 9007199254740992.0
