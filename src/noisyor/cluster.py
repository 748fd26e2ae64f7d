"""Work on a cluster, through Dask: jobs few at a time, repeated where a worker dies, merged there.

A job is a function of small arguments that gives the same result wherever and however often it
runs. Dask runs it again if its worker is lost, and what is lost of merged results too; so nothing
is counted twice, and nothing is missing.
"""

import copy
import functools
import logging
import operator
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from noisyor.errors import ClusterError, FileError, NoisyOrError

FAN_IN = 8
"""Results that are merged at a time."""
AHEAD = 2
"""Jobs for each thread that are given out before earlier ones are finished."""

Progress = Callable[[int], None]
Merge = Callable[[list[Any]], Any]
"""Makes one future of several."""


# --- connecting ---


def imported() -> Any:
    """Return Dask's package `distributed`, or say how to get it."""
    try:
        import distributed
    except ImportError:
        raise ClusterError(
            "a cluster needs Dask, which is not installed: pip install 'noisyor[cluster]'"
        ) from None
    return distributed


def is_client(candidate: object) -> bool:
    """Return True if something is a Dask client, without importing Dask."""
    return hasattr(candidate, "submit") and hasattr(candidate, "scheduler_info")


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Give a client of the cluster at an address; `local` or `local:4` starts one here."""
    distributed = imported()
    if address == "local" or address.startswith("local:"):
        with _local(distributed, address) as cluster, distributed.Client(cluster) as client:
            yield client
        return
    try:
        client = distributed.Client(address, timeout="5s")
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"there is no cluster at {address!r} ({error}). Give the address of a Dask scheduler, "
            "such as tcp://10.0.0.1:8786, or local:4 for four processes on this machine."
        ) from None
    with client:
        yield client


def _local(distributed: Any, address: str) -> Any:
    wanted = address.partition(":")[2]
    if wanted and (not wanted.isdigit() or int(wanted) < 1):
        raise ClusterError(f"{address!r}: after local: comes the number of workers, as in local:4.")
    return distributed.LocalCluster(
        n_workers=int(wanted) if wanted else os.cpu_count(), threads_per_worker=1,
        processes=True, dashboard_address=":0", silence_logs=logging.CRITICAL,
    )  # fmt: skip


# --- jobs ---


class Job(NamedTuple):
    """A piece of work, described by arguments that are small enough to be sent."""

    arguments: tuple[Any, ...]
    size: int
    """Records, for progress."""
    source: str
    """The file that it reads, for messages and for what is skipped."""


class Skipped(NamedTuple):
    """A file that was left out, and why."""

    source: str
    reason: str


class Cluster:
    """A Dask client, and the ways to give work to it."""

    def __init__(self, client: Any) -> None:
        if not is_client(client):
            raise ClusterError(f"client must be a distributed.Client, not {type(client).__name__}.")
        self._distributed = imported()
        self._client = client

    @property
    def n_threads(self) -> int:
        """Jobs that can run at the same time."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        found = sum(int(each["nthreads"]) for each in workers)
        if not found:
            raise ClusterError("the cluster has no workers; start some: dask worker ADDRESS.")
        return found

    def share(self, value: Any) -> Any:
        """Send something large once, for all jobs; a worker that is new gets it, too.

        It travels inside of a task, not as scattered data: that would be lost with its workers.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
            return self._client.submit(_itself, value, pure=False)

    def map(self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return small results, in order."""
        return self.fetch([self.keep(work, *each) for each in arguments])

    def keep(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do something where its arguments are, and leave the result there."""
        # A delayed value (a partition of a frame) is computed now, not with all others at once.
        ready = [
            self._client.compute(each) if hasattr(each, "__dask_graph__") else each
            for each in arguments
        ]
        # A read can fail for a moment: then it is tried again.
        return self._client.submit(work, *ready, pure=False, retries=2)

    def fetch(self, kept: Sequence[Any]) -> list[Any]:
        """Bring small results here."""
        with self._errors_named():
            return list(self._client.gather(list(kept)))

    def tree(self, merge: Callable[..., Any], kept: Sequence[Any]) -> Any:
        """Merge results as a tree, where they are."""
        tree = _Tree(functools.partial(self._merge, merge, ()))
        for each in kept:
            tree.add(each)
        return tree.root()

    def in_order(
        self, work: Callable[..., Any], jobs: Iterable[Job], shared: Sequence[Any] = ()
    ) -> Iterator[tuple[Job, Any]]:
        """Give the results of jobs one after the other; only so many wait to be taken."""
        waiting: deque[tuple[Job, Any]] = deque()
        most = AHEAD * self.n_threads
        with self._errors_named():
            for job in jobs:
                waiting.append((job, self.keep(work, *shared, *job.arguments)))
                if len(waiting) >= most:
                    first, future = waiting.popleft()
                    yield first, future.result()
            for first, future in waiting:
                yield first, future.result()

    def merged(
        self,
        work: Callable[..., Any],
        jobs: Iterable[Job],
        merge: Callable[..., Any],
        *,
        shared: Sequence[Any] = (),
        progress: Progress | None = None,
        skip_broken: bool = False,
    ) -> tuple[Any, list[Skipped]]:
        """Return the results of all jobs merged as a tree; None where there is no job.

        With `skip_broken`, a file that cannot be read is left out as a whole, whatever was counted
        of it before, and is among the files returned.
        """
        start = functools.partial(self.keep, work, *shared)
        merging = _Merging(self, start, functools.partial(self._merge, merge, shared), skip_broken)
        with self._errors_named():
            try:
                total = merging.run(jobs, progress or (lambda _: None))
                return (None if total is None else total.result()), merging.skipped
            finally:
                merging.release()

    def dealt(
        self, work: Callable[..., Any], jobs: Sequence[Job], n: int, *, skip_broken: bool = False
    ) -> tuple[list[list[Any]], list[Skipped]]:
        """Return the n pieces that each job deals its rows into, which stay where they are.

        With `skip_broken`, without files that cannot be read; then each job reads one file only.
        """
        found = [self.keep(work, *job.arguments) for job in jobs]
        kept, skipped = self.without_broken(found, jobs) if skip_broken else (found, [])
        return [[self.pick(each, number) for each in kept] for number in range(n)], skipped

    def pick(self, kept: Any, number: int) -> Any:
        """Return one of several results of a job, which stays where it is."""
        return self._client.submit(operator.getitem, kept, number, pure=False)

    def without_broken(
        self, kept: Sequence[Any], jobs: Sequence[Job]
    ) -> tuple[list[Any], list[Skipped]]:
        """Return the results without those of files of which a job could not read its part."""
        reasons: dict[str, str] = {}
        with self._errors_named():
            self._distributed.wait(list(kept))
            for future, job in zip(kept, jobs, strict=True):
                error = future.exception() if future.status == "error" else None
                if error is not None and not isinstance(error, FileError):
                    raise _copied(error)
                if error is not None:
                    reasons.setdefault(job.source, str(error))
        found = [each for each, job in zip(kept, jobs, strict=True) if job.source not in reasons]
        return found, [Skipped(source, reason) for source, reason in reasons.items()]

    def _merge(self, merge: Callable[..., Any], shared: Sequence[Any], futures: list[Any]) -> Any:
        if len(futures) == 1:
            return futures[0]
        # Before the next jobs, so that results do not pile up.
        return self._client.submit(merge, *shared, futures, pure=False, priority=10)

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        """Say what to do where workers die again and again, or the cluster is gone."""
        try:
            yield
        except NoisyOrError:
            raise
        except self._distributed.KilledWorker as error:
            raise ClusterError(
                "workers died again and again at the same piece of work, most likely because "
                f"memory ran out: give each more, or fewer threads. ({error})"
            ) from None
        except (OSError, TimeoutError, self._distributed.CancelledError) as error:
            reason = (str(error) or type(error).__name__).rstrip(".")
            raise ClusterError(f"the cluster did not answer: {reason}.") from error


class _Merging:
    """Runs jobs a few at a time; merges the results of each file, and those of files."""

    def __init__(
        self, cluster: Cluster, start: Callable[..., Any], merge: Merge, skip_broken: bool
    ) -> None:
        self._cluster, self._start, self._merge = cluster, start, merge
        self._skip_broken = skip_broken
        self._running: dict[Any, Job] = {}
        self._left: dict[str, int] = {}
        """Jobs of a file that are not finished."""
        self._of_file: dict[str, _Tree] = {}
        self._total = _Tree(merge)
        self.skipped: list[Skipped] = []

    def run(self, jobs: Iterable[Job], progress: Progress) -> Any:
        """Return the merged result of all jobs, as a future."""
        waiting = deque(jobs)
        for job in waiting:
            self._left[job.source] = self._left.get(job.source, 0) + 1
        most = AHEAD * self._cluster.n_threads
        finished = self._cluster._distributed.as_completed()
        while waiting or self._running:
            while waiting and len(self._running) < most:
                job = waiting.popleft()
                if job.source in self._left:
                    future = self._start(*job.arguments)
                    self._running[future] = job
                    finished.add(future)
            if not self._running:
                break
            future = next(finished)
            job = self._running.pop(future)
            if job.source in self._left:
                self._take(job, future)
                progress(job.size)
        return self._total.root()

    def release(self) -> None:
        """Let workers forget all that is not needed any more, also after an error."""
        self._cluster._client.cancel(list(self._running), reason="the work has ended")
        self._running.clear()
        self._of_file.clear()
        self._total = _Tree(self._merge)

    def _take(self, job: Job, future: Any) -> None:
        """Add a result to those of its file; leave out a file that cannot be read, if asked to."""
        if future.status not in ("finished", "error"):
            raise ClusterError(f"the cluster gave up a piece of work ({future.status}).")
        if future.status == "error":
            error = future.exception()
            if not self._skip_broken or not isinstance(error, FileError):
                raise _copied(error)
            self.skipped.append(Skipped(job.source, str(error)))
            self._of_file.pop(job.source, None)
            del self._left[job.source]
            return
        self._of_file.setdefault(job.source, _Tree(self._merge)).add(future)
        self._left[job.source] -= 1
        if not self._left[job.source]:
            del self._left[job.source]
            self._total.add(self._of_file.pop(job.source).root())


class _Tree:
    """Results, merged as soon as there are enough of a level."""

    def __init__(self, merge: Merge) -> None:
        self._merge = merge
        self._levels: list[list[Any]] = []

    def add(self, future: Any, level: int = 0) -> None:
        """Add a result; where it completes its level, that is merged into the next."""
        while len(self._levels) <= level:
            self._levels.append([])
        self._levels[level].append(future)
        if len(self._levels[level]) == FAN_IN:
            full, self._levels[level] = self._levels[level], []
            self.add(self._merge(full), level + 1)

    def root(self) -> Any:
        """Return all of it as one result; None where nothing was added."""
        left = [future for level in self._levels for future in level]
        while len(left) > 1:
            left = [self._merge(left[at : at + FAN_IN]) for at in range(0, len(left), FAN_IN)]
        return left[0] if left else None


def _copied(error: BaseException) -> BaseException:
    """Return the same error, but not the one that Dask keeps.

    With a traceback, that one would keep our frames, and so all results they hold, for ever.
    """
    return copy.copy(error).with_traceback(None)


def _itself(value: Any) -> Any:
    return value
