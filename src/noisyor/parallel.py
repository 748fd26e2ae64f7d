"""Work shared by threads: compiled kernels and numpy let other threads run meanwhile."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(
    work: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None = None
) -> list[Result]:
    """Return the results of work on each item, in their order; `n_jobs` None: all cores.

    >>> in_threads(abs, [-1, 2, -3], n_jobs=2)
    [1, 2, 3]
    """
    n_threads = min(n_jobs or os.cpu_count() or 1, len(items))
    if n_threads < 2:
        return [work(item) for item in items]
    pool = ThreadPoolExecutor(n_threads)
    try:
        return list(pool.map(work, items))
    finally:
        # Without waiting: after an error or Ctrl-C nobody needs what is left.
        pool.shutdown(wait=False, cancel_futures=True)
