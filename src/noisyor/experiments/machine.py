"""What the machine itself can do with some threads: that of which other work can only be a part.

Sixteen "cores" may be eight with two threads each, and all of them share the memory.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from noisyor.parallel import in_threads

N_PARTS = 64
"""So many are handed out, whatever the number of threads."""
N_WORDS, N_COLUMNS, N_PAIRS = 128, 8, 200_000
"""Columns fit into the level-1 cache; each part combines some of them so many times."""
PIECE = 1 << 20
"""Words of a piece that is copied: all of them together fit into no cache."""


def arithmetic(n_jobs: int) -> Callable[[], Any]:
    """Return work without memory: columns in the level-1 caches are combined and counted."""
    from noisyor.moments.count_kernels import count_pairs

    rng = np.random.default_rng(0)
    columns = rng.integers(0, 2**63, (N_COLUMNS, N_WORDS)).astype(np.uint64)
    pairs = rng.integers(0, N_COLUMNS, (N_PAIRS, 2)).astype(np.int32)
    rows = np.arange(N_PAIRS, dtype=np.int32)
    counts = [np.zeros(N_PAIRS, dtype=np.uint32) for _ in range(N_PARTS)]

    def count(found: Any) -> None:
        count_pairs(columns, 0, N_WORDS, pairs, rows, found)

    return lambda: in_threads(count, counts, n_jobs)


WORDS_OF_ARITHMETIC = N_PARTS * N_PAIRS * N_WORDS
"""So many pairs of words are combined by `arithmetic`."""


def copying(n_jobs: int) -> Callable[[], Any]:
    """Return work that is nothing but memory: half a gigabyte is read and written."""
    pieces = [np.zeros((2, PIECE), dtype=np.uint64) for _ in range(N_PARTS)]
    for piece in pieces:
        piece[:] = 1  # so that it is there

    def copy(piece: Any) -> None:
        np.copyto(piece[0], piece[1])

    return lambda: in_threads(copy, pieces, n_jobs)
