"""Work on a cluster, through Dask: jobs few at a time, repeated where a worker dies, merged there.

A job is a function of small arguments that gives the same result wherever and however often it
runs. Dask runs it again if its worker is lost, and what is lost of merged results too; so nothing
is counted twice, and nothing is missing. Notices that a job gives come back to who asked for it.
"""

import asyncio
import copy
import functools
import logging
import operator
import re
import secrets
import time
import warnings
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

from noisyor.errors import (
    ChangedFileError,
    ClusterError,
    FileAccessError,
    FileError,
    NoisyOrError,
    collected_notices,
    give_notice,
    quoted,
)
from noisyor.io.paths import one_line
from noisyor.parallel import n_cores

FAN_IN = 8
"""Results that are merged at a time."""
AHEAD = 2
"""Jobs for each thread that are given out before earlier ones are finished."""
PAUSES = (0.2, 1.0)
"""Seconds before a file is read again that the system did not give."""
LOOK_EVERY, WORRY_AFTER, GIVE_UP_AFTER = 1.0, 5.0, 300.0
"""Seconds: how often to see that there are workers while waiting for one; how long there may be
none until that is told, and until it is an error."""

ADDRESS = re.compile(r"([a-z]+://)?([^\s:/\[\]]+|\[[0-9a-f:.%]+\]):\d{1,5}|inproc://\S+", re.I)
"""Of a scheduler: a host and its port, perhaps with a protocol."""
WANTED = (
    "Give the address of a Dask scheduler, such as tcp://10.0.0.1:8786, or local:4 for four "
    "processes on this machine."
)
MOST_HERE = 1024
"""Workers on this machine."""

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
    with _silent_logs(), _remote(distributed, address) as client:
        yield client


def connected_if(address: str | None) -> AbstractContextManager[Any]:
    """Give a client of the cluster at an address, or None if there is no address."""
    return nullcontext() if address is None else connected(address)


def _remote(distributed: Any, address: str) -> Any:
    if not ADDRESS.fullmatch(address):  # for what is none Dask would look for ten seconds
        raise ClusterError(f"{quoted(address)} is not the address of a cluster. {WANTED}")
    try:
        return distributed.Client(address, timeout="5s")
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"there is no cluster at {quoted(address)} ({one_line(error)[:200]}). {WANTED}"
        ) from None


@contextmanager
def _silent_logs() -> Iterator[None]:
    """Keep Dask's tracebacks to itself: what goes wrong, we say in a sentence."""
    known = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    before = {name: logging.getLogger(name).level for name in known}
    for name in known:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _local(distributed: Any, address: str) -> Any:
    wanted = address.partition(":")[2]
    if wanted and not (wanted.isdecimal() and len(wanted) < 5 and 1 <= int(wanted) <= MOST_HERE):
        raise ClusterError(
            f"{quoted(address)}: after local: comes the number of workers, as in local:4, at most "
            f"{MOST_HERE:,}."
        )
    # Dask serves pages about itself, by default to all who reach this machine: here to it alone.
    return distributed.LocalCluster(
        n_workers=int(wanted) if wanted else n_cores(), threads_per_worker=1,
        processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
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
        self._alone_since: float | None = None
        self._is_worried = False
        self._told: set[str] = set()
        self._notices: list[str] = []
        self._topic = f"noisyor-notices-{secrets.token_hex(8)}"
        notices = self._notices  # Dask keeps the handler, which must not keep this object
        client.subscribe_topic(self._topic, lambda event: notices.append(event[1]))

    @property
    def n_threads(self) -> int:
        """Jobs that can run at the same time."""
        # Not by scheduler_info: Dask itself asks that for no workers every two seconds, and what
        # both are told is kept in one place.
        found = sum(int(each) for each in self._client.nthreads().values())
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
        return self._client.submit(_do, self._topic, work, *ready, pure=False)

    def fetch(self, kept: Sequence[Any]) -> list[Any]:
        """Bring small results here."""
        with self._working():
            gather = functools.partial(self._client.gather, list(kept), asynchronous=True)
            try:
                return list(self._wait_for(gather))
            except Exception as error:
                raise _copied(error) from None

    def completed(self, finished: Any) -> Any:
        """Return the next result of Dask's `as_completed`, as soon as there is one."""
        return self._wait_for(finished.__anext__)

    def as_completed(self, kept: Sequence[Any] = ()) -> Any:
        """Return what `completed` takes; more can be added."""
        return self._distributed.as_completed(list(kept), loop=self._client.loop)

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
        for job in jobs:
            waiting.append((job, self.keep(work, *shared, *job.arguments)))
            if len(waiting) >= most:
                first, future = waiting.popleft()
                yield first, self.fetch([future])[0]
        for first, future in waiting:
            yield first, self.fetch([future])[0]

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
        with self._working():
            try:
                total = merging.run(jobs, progress or (lambda _: None))
                return (None if total is None else self.fetch([total])[0]), merging.skipped
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
        with self._working():
            finished = self.as_completed(kept)
            job_of = dict(zip(kept, jobs, strict=True))
            for _ in kept:
                future = self.completed(finished)
                error = self.error_of(future)
                if error is not None and not is_of_file(error):
                    raise _copied(error)
                if error is not None:
                    reasons.setdefault(job_of[future].source, str(error))
        found = [each for each, job in zip(kept, jobs, strict=True) if job.source not in reasons]
        return found, [Skipped(source, reason) for source, reason in reasons.items()]

    def _merge(self, merge: Callable[..., Any], shared: Sequence[Any], futures: list[Any]) -> Any:
        if len(futures) == 1:
            return futures[0]
        # Before the next jobs, so that results do not pile up.
        return self._client.submit(merge, *shared, futures, pure=False, priority=10)

    def error_of(self, future: Any) -> Any:
        """Return the error of a job that has ended; None where it went well."""
        if future.status == "finished":
            return None
        if future.status != "error":
            raise ClusterError(
                "the cluster has gone away, or gave up a piece of work: is its scheduler running? "
                f"({future.status})"
            )
        return future.exception()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Say what to do where workers die again and again, or the cluster is gone.

        Whatever happens, notices of workers are given here, each once.
        """
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
            raise ClusterError(f"the cluster did not answer: {reason}.") from None
        finally:
            self._give_notices()

    def _give_notices(self) -> None:
        new = [each for each in dict.fromkeys(self._notices) if each not in self._told]
        self._told.update(new)
        for notice in new:
            give_notice(notice, stacklevel=3)

    def _wait_for(self, start: Callable[[], Awaitable[Any]]) -> Any:
        """Return what comes of something that Dask does, and see to it that it can be done."""
        sync = self._client.sync
        task = sync(_started, start)
        try:
            while not sync(_is_done, task, LOOK_EVERY):
                self._look_for_workers()
            return sync(_result, task)
        finally:
            self._client.loop.add_callback(task.cancel)  # after an error, or Ctrl-C

    def _look_for_workers(self) -> None:
        """Say if there are none, and raise an error if none comes back."""
        if self._client.nthreads():
            self._alone_since, self._is_worried = None, False
            return
        now = time.monotonic()
        self._alone_since = self._alone_since or now
        alone = now - self._alone_since
        if alone >= GIVE_UP_AFTER:
            raise ClusterError(
                f"the cluster has had no workers for {GIVE_UP_AFTER:.0f} seconds: start some (dask "
                "worker ADDRESS), with more memory if that is what the last ones died of, and "
                "start again."
            )
        if alone >= WORRY_AFTER and not self._is_worried:
            self._is_worried = True
            give_notice(
                "the cluster has no workers any more: waiting for new ones, for "
                f"{GIVE_UP_AFTER:.0f} seconds at most."
            )


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
        finished = self._cluster.as_completed()
        while waiting or self._running:
            while waiting and len(self._running) < most:
                job = waiting.popleft()
                if job.source in self._left:
                    future = self._start(*job.arguments)
                    self._running[future] = job
                    finished.add(future)
            if not self._running:
                break
            future = self._cluster.completed(finished)
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
        error = self._cluster.error_of(future)
        if error is not None:
            if not self._skip_broken or not is_of_file(error):
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
    error.with_traceback(None)
    return copy.copy(error).with_traceback(None)


def is_of_file(error: BaseException) -> bool:
    """Return True if an error is one of a file that could be left out."""
    return isinstance(error, FileError) and not isinstance(error, ChangedFileError)


# --- what workers do ---


def _do(topic: str, work: Callable[..., Any], *arguments: Any) -> Any:
    """Do a job; send the notices that it gives to the client, before the result."""
    with collected_notices() as notices:
        try:
            return repeated(work, *arguments)
        finally:
            for notice in dict.fromkeys(notices):
                imported().get_worker().log_event(topic, notice)


def repeated(work: Callable[..., Any], *arguments: Any) -> Any:
    """Do something; try again where the system did not give a file. What is in it stays as it is.

    >>> repeated(max, 1, 2)
    2
    """
    for pause in PAUSES:
        try:
            return work(*arguments)
        except (FileAccessError, OSError):
            time.sleep(pause)
    return work(*arguments)


def _itself(value: Any) -> Any:
    return value


# --- what Dask's loop does ---


async def _started(start: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.ensure_future(start())


async def _is_done(task: Any, seconds: float) -> bool:
    done, _ = await asyncio.wait([task], timeout=seconds)
    return bool(done)


async def _result(task: Any) -> Any:
    return task.result()
