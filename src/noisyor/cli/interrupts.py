"""Ctrl-C and requests to end: noticed at once, wherever the work is, and nothing is left behind."""

import multiprocessing
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from noisyor.io.unfinished import remove_unfinished

PATIENCE = 0.6
"""Seconds that compiled code, in which no exception can be raised, may go on."""
INTERRUPTED = 130
"""The exit code."""
_requested = threading.Event()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let a request to end (Ctrl-C, kill) clean up whatever is half-written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _requested.clear()
    signals = signal.SIGINT, signal.SIGTERM
    before = [signal.signal(each, _interrupt) for each in signals]
    try:
        with _watched():
            yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)


def _interrupt(*_: Any) -> NoReturn:
    _requested.set()
    raise KeyboardInterrupt


@contextmanager
def _watched() -> Iterator[None]:
    """Have a thread end the program where the main thread does not notice a signal."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    done = threading.Event()
    thread = threading.Thread(target=_watch, args=(reading, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        done.set()
        os.close(writing)  # ends the thread
        thread.join()
        os.close(reading)


def _watch(reading: int, done: threading.Event) -> None:
    while not done.is_set():
        select.select([reading], [], [])
        numbers = os.read(reading, 64)
        if done.is_set() or not numbers:
            return
        if not {signal.SIGINT, signal.SIGTERM} & set(numbers):
            continue
        if not _requested.wait(PATIENCE) and not done.is_set():
            end_at_once()


def was_interrupted() -> bool:
    """Say whether a signal, and not only an exception, asked for the end."""
    return _requested.is_set()


def end_at_once() -> NoReturn:
    """End without waiting for threads, whose work nobody needs any more."""
    remove_unfinished()
    for process in multiprocessing.active_children():
        process.kill()
    sys.stderr.write("noisyor: interrupted\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def check_interrupted() -> None:
    """Raise the exception again that a callback inside a library may have swallowed."""
    if _requested.is_set():
        raise KeyboardInterrupt
