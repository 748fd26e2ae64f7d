"""Ctrl-C and requests to end: noticed at once, wherever the work is, and nothing is left behind."""

import multiprocessing
import os
import select
import signal
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from noisyor.io.replacing import remove_unfinished

PATIENCE = 0.6
"""Seconds that compiled code, in which no exception can be raised, may go on."""
INTERRUPTED, TERMINATED = 130, 143
"""Exit codes: after Ctrl-C, and after a request to end (kill, a closed terminal)."""
SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
_requested = threading.Event()
_code = INTERRUPTED


@contextmanager
def interruptible() -> Iterator[None]:
    """Let a request to end (Ctrl-C, kill) clean up whatever is half-written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _requested.clear()
    # What whoever started us wants to be ignored (nohup, a script's background job) stays ignored.
    heeded = [each for each in SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    before = [signal.signal(each, _interrupt) for each in heeded]
    try:
        with _watched(heeded):
            yield
    finally:
        for each, handler in zip(heeded, before, strict=True):
            signal.signal(each, handler)


def _interrupt(number: int, _: Any) -> NoReturn:
    _keep_code([number])
    _requested.set()
    raise KeyboardInterrupt


def _keep_code(numbers: Collection[int]) -> None:
    """Remember the exit code that the first signals of a request to end call for."""
    global _code  # noqa: PLW0603
    if not _requested.is_set():
        _code = INTERRUPTED if signal.SIGINT in numbers else TERMINATED


@contextmanager
def _watched(heeded: list[signal.Signals]) -> Iterator[None]:
    """Have a thread end the program where the main thread does not notice a signal."""
    if os.name != "posix":  # pipes cannot be waited for elsewhere
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    done = threading.Event()
    thread = threading.Thread(target=_watch, args=(reading, done, heeded), daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        done.set()
        os.close(writing)  # ends the thread
        thread.join()
        os.close(reading)


def _watch(reading: int, done: threading.Event, heeded: list[signal.Signals]) -> None:
    while not done.is_set():
        select.select([reading], [], [])
        numbers = os.read(reading, 64)
        if done.is_set() or not numbers:
            return
        asked = set(heeded) & set(numbers)
        if not asked:
            continue
        _keep_code(asked)  # the handler runs only when compiled code has returned
        # Where it was asked for before, cleaning up takes too long for whoever asks again.
        is_asked_again = _requested.is_set()
        is_noticed = _requested.wait(PATIENCE) and not is_asked_again
        if not is_noticed and not done.wait(PATIENCE if is_asked_again else 0.0):
            end_at_once()


def was_interrupted() -> bool:
    """Return True if a signal, and not only an exception, asked for the end."""
    return _requested.is_set()


def end_at_once() -> NoReturn:
    """End without waiting for threads, whose work nobody needs any more."""
    remove_unfinished()
    for process in multiprocessing.active_children():
        process.kill()
    sys.stderr.write("noisyor: interrupted\n")
    sys.stderr.flush()
    os._exit(_code)


def check_interrupted() -> None:
    """Raise the exception again that a callback inside a library may have swallowed."""
    if _requested.is_set():
        raise KeyboardInterrupt
