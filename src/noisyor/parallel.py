"""Work shared by threads: compiled kernels and numpy let other threads run meanwhile."""

import functools
import os
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from numbers import Integral
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from noisyor.errors import ParameterError

Item = TypeVar("Item")
Result = TypeVar("Result")


def n_threads(n_jobs: Any) -> int:
    """Return how many threads `n_jobs` means: None and -1 as many as cores may be used.

    >>> n_threads(3)
    3
    """
    is_whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is None or (is_whole and n_jobs == -1):
        return n_cores()
    if not is_whole or n_jobs < 1:
        raise ParameterError(
            f"n_jobs must be a whole number from 1 on, or None or -1 for all cores, not {n_jobs!r}."
        )
    return int(n_jobs)


@functools.cache
def n_cores() -> int:
    """Return how many cores this process may use: of a shared machine not all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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

    Threads take the items by themselves, so that the one that waits has nothing to do for each. If
    work on some of them fails, the error is that of the first of these.

    >>> in_threads(abs, [-1, 2, -3], n_jobs=2)
    [1, 2, 3]
    """
    n_workers = min(n_threads(n_jobs), len(items))
    if n_workers < 2:
        return [work(item) for item in items]
    results: dict[int, Result] = {}
    errors: dict[int, BaseException] = {}
    left = iter(range(len(items)))

    def work_on_some() -> None:
        for index in left:
            try:
                results[index] = work(items[index])
            except BaseException as error:
                errors[index] = error
                deque(left, maxlen=0)  # the others are not begun

    with _pool_of(n_workers) as pool:
        try:
            for working in [pool.submit(work_on_some) for _ in range(n_workers)]:
                working.result()
        finally:
            deque(left, maxlen=0)
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in range(len(items))]


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
    pending = deque[Future[Result]]()
    with _pool_of(n_workers) as pool:
        for item in items:
            if len(pending) > most:
                yield pending.popleft().result()
            pending.append(pool.submit(work, item))
        while pending:
            yield pending.popleft().result()


@contextmanager
def meanwhile(
    work: Callable[[], Result], n_jobs: int | None = None
) -> Iterator[Callable[[], Result]]:
    """Let a thread work beside the caller's; give a function that waits for its result.

    Ask for the result, or its error is lost. With one job the work is done at once.

    >>> with meanwhile(lambda: 2 + 2, n_jobs=2) as result:
    ...     result()
    4
    """
    if n_threads(n_jobs) < 2:
        found = work()
        yield lambda: found
        return
    with _pool_of(1) as pool:
        future = pool.submit(copy_context().run, work)  # notices go where they would
        yield future.result
        wait([future])  # a pool is given back without work


_IDLE: defaultdict[int, list[ThreadPoolExecutor]] = defaultdict(list)
"""Pools that nobody uses, by their threads: these take as long to begin as small work does."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.clear)  # threads do not come along


def take_pool(n_workers: int) -> ThreadPoolExecutor:
    """Take a pool that nobody else has meanwhile: work may itself ask for threads.

    Who has no work left in it gives it back (`return_pool`), or lets go of it.
    """
    try:
        return _IDLE[n_workers].pop()
    except IndexError:
        return ThreadPoolExecutor(n_workers)


def return_pool(pool: ThreadPoolExecutor, n_workers: int) -> None:
    """Give back a pool without work, for whoever is next."""
    _IDLE[n_workers].append(pool)


@contextmanager
def _pool_of(n_workers: int) -> Iterator[ThreadPoolExecutor]:
    pool = take_pool(n_workers)
    try:
        yield pool
    except BaseException:
        # Without waiting: after an error or Ctrl-C nobody needs what is left.
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    return_pool(pool, n_workers)
