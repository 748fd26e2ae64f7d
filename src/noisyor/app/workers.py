"""Workers: threads that answer questions, as many as there are cores; the others wait their turn.

There are as many again for what takes long, so that a posterior need not wait until the next best
questions of the case before it are found. Compiled kernels let other threads run meanwhile. A
question whose asker is gone is dropped before its turn comes; one that is being answered is told to
stop, which those do that are many at once.
"""

import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.to_thread

from noisyor.parallel import n_cores

LONGEST_WAIT = 30.0
"""Seconds that a question waits for its turn."""


class BusyError(Exception):
    """There are more questions than can be answered in time."""


class GoneError(Exception):
    """Whoever asked did not wait."""


class Workers:
    """Runs work in threads: a few at a time that take little, and a few that may take long."""

    def __init__(self, n_workers: int | None = None, longest_wait: float = LONGEST_WAIT) -> None:
        self._n_workers, self._longest_wait = n_workers or n_cores(), longest_wait
        self._limiters: dict[bool, anyio.CapacityLimiter] = {}

    async def run(
        self,
        work: Callable[[threading.Event], Any],
        gone: Callable[[], Awaitable[None]],
        takes_long: bool = False,
    ) -> Any:
        """Return the result of work, unless `gone` returns before, or the wait is too long."""
        stop, result, errors = threading.Event(), [], []
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                await gone()
                stop.set()
                group.cancel_scope.cancel()

            group.start_soon(watch)
            try:
                result.append(await self._in_turn(work, stop, takes_long))
            except Exception as error:  # raised below, not as a group of errors
                errors.append(error)
            group.cancel_scope.cancel()
        if stop.is_set():
            raise GoneError
        if errors:
            raise errors[0]
        return result[0]

    async def _in_turn(
        self, work: Callable[[threading.Event], Any], stop: threading.Event, takes_long: bool
    ) -> Any:
        if not self._limiters:  # they belong to a running loop
            self._limiters = {
                each: anyio.CapacityLimiter(self._n_workers) for each in (False, True)
            }
        place, limiter = object(), self._limiters[takes_long]
        with anyio.move_on_after(self._longest_wait) as waiting:
            await limiter.acquire_on_behalf_of(place)
        if waiting.cancelled_caught:
            raise BusyError
        try:
            return await anyio.to_thread.run_sync(work, stop)
        finally:
            limiter.release_on_behalf_of(place)
