"""Work shared by threads: compiled kernels and numpy let other threads run meanwhile."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from numbers import Integral
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from noisyor.errors import ParameterError

Item = TypeVar("Item")
Result = TypeVar("Result")


def n_threads(n_jobs: Any) -> int:
    """Return how many threads `n_jobs` means: None and -1 as many as there are cores.

    >>> n_threads(3)
    3
    """
    is_whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is None or (is_whole and n_jobs == -1):
        return os.cpu_count() or 1
    if not is_whole or n_jobs < 1:
        raise ParameterError(
            f"n_jobs must be a whole number from 1 on, or None or -1 for all cores, not {n_jobs!r}."
        )
    return int(n_jobs)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Let BLAS work in one thread meanwhile: threads for small matrices cost more than they bring.

    On a busy machine they wait for each other ten times as long as the work takes.
    """
    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limits


def in_threads(
    work: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None = None
) -> list[Result]:
    """Return the results of work on each item, in their order.

    >>> in_threads(abs, [-1, 2, -3], n_jobs=2)
    [1, 2, 3]
    """
    return list(one_by_one(work, items, n_jobs))


def one_by_one(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    n_jobs: int | None = None,
    n_waiting: int | None = None,
) -> Iterator[Result]:
    """Give the results of work on each item, in their order, of which few are kept at a time.

    Items may be made as they are needed. No work is begun while more than `n_waiting` results
    wait to be taken; None: as many as there are threads.

    >>> list(one_by_one(abs, [-1, 2, -3], n_jobs=2))
    [1, 2, 3]
    """
    n_workers = n_threads(n_jobs)
    if isinstance(items, Sized):
        n_workers = min(n_workers, len(items))
    if n_workers < 2:
        yield from map(work, items)
        return
    most = n_workers + (n_workers if n_waiting is None else n_waiting)
    pool, pending = ThreadPoolExecutor(n_workers), deque[Future[Result]]()
    try:
        for item in items:
            if len(pending) > most:
                yield pending.popleft().result()
            pending.append(pool.submit(work, item))
        while pending:
            yield pending.popleft().result()
    finally:
        # Without waiting: after an error or Ctrl-C nobody needs what is left.
        pool.shutdown(wait=False, cancel_futures=True)
