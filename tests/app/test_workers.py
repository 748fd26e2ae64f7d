"""Work waits for its turn, and is dropped when nobody waits for it."""

import threading
import time

import anyio
import pytest

from noisyor.app.workers import BusyError, GoneError, Workers


async def never():
    await anyio.sleep_forever()


def in_loop(main):
    return anyio.run(main)


def test_results_and_errors_come_back():
    async def main():
        workers = Workers(1)
        assert await workers.run(lambda stop: 7, never) == 7
        with pytest.raises(ZeroDivisionError):
            await workers.run(lambda stop: 1 / 0, never)
        return await workers.run(lambda stop: None, never)

    assert in_loop(main) is None


def test_no_more_work_at_a_time_than_workers():
    running, most, lock = [0], [0], threading.Lock()

    def work(stop):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.01)
        with lock:
            running[0] -= 1

    async def main():
        workers = Workers(2)
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(workers.run, work, never)

    in_loop(main)
    assert most[0] == 2


def test_what_takes_long_does_not_hold_up_the_rest():
    release = threading.Event()

    async def main():
        workers = Workers(1)
        async with anyio.create_task_group() as group:
            group.start_soon(workers.run, lambda stop: release.wait(10.0), never, True)
            await anyio.sleep(0.05)
            with anyio.fail_after(5.0):
                found = await workers.run(lambda stop: 7, never)
            release.set()
        return found

    assert in_loop(main) == 7


def test_work_that_nobody_waits_for_is_never_begun():
    begun, release = [], threading.Event()

    async def gone_soon():
        await anyio.sleep(0.05)

    async def main():
        workers = Workers(1)

        async def drop():
            with pytest.raises(GoneError):
                await workers.run(lambda stop: begun.append("dropped"), gone_soon)
            release.set()

        async with anyio.create_task_group() as group:
            group.start_soon(workers.run, lambda stop: release.wait(5), never)
            await anyio.sleep(0.02)
            group.start_soon(drop)
        await workers.run(lambda stop: begun.append("after"), never)

    in_loop(main)
    assert begun == ["after"]


def test_work_that_is_under_way_is_told_to_stop():
    async def gone_soon():
        await anyio.sleep(0.05)

    async def main():
        with pytest.raises(GoneError):
            await Workers(1).run(lambda stop: told.append(stop.wait(5)), gone_soon)

    told = []
    start = time.monotonic()
    in_loop(main)
    assert told == [True]
    assert time.monotonic() - start < 3


def test_whoever_waits_too_long_is_told():
    release = threading.Event()

    async def main():
        workers = Workers(1, longest_wait=0.05)
        async with anyio.create_task_group() as group:
            group.start_soon(workers.run, lambda stop: release.wait(5), never)
            await anyio.sleep(0.02)
            with pytest.raises(BusyError):
                await workers.run(lambda stop: None, never)
            release.set()
        assert await workers.run(lambda stop: 3, never) == 3

    in_loop(main)
