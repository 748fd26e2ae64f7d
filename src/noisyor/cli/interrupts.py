"""Ctrl-C and requests to end: noticed even where a library swallows the exception."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

_requested = threading.Event()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let a request to end (kill) clean up whatever is half-written, as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _requested.clear()
    signals = signal.SIGINT, signal.SIGTERM
    before = [signal.signal(each, _interrupt) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)


def _interrupt(*_: Any) -> NoReturn:
    _requested.set()
    raise KeyboardInterrupt


def check_interrupted() -> None:
    """Raise the exception again that a callback inside a library may have swallowed."""
    if _requested.is_set():
        raise KeyboardInterrupt
