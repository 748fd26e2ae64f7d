"""The graphics card of this machine: is there one, and is a piece of work worth it?"""

import functools
import importlib
import importlib.util
import os
import warnings
from contextlib import suppress
from typing import Any, NamedTuple

from noisyor.errors import CardError, ParameterError, give_notice, quoted
from noisyor.parallel import n_threads

DEVICES = ("cpu", "gpu", "auto")
CARD_START_SECONDS = 5.0
"""What it takes to wake the card and to compile its kernels, which processors have done before."""


class Work(NamedTuple):
    """Some work, and how long it takes here and there: the cost model of `device="auto"`."""

    what: str
    core_seconds: float
    """On one core..."""
    card_seconds: float
    """... and on the card, once it is awake."""


def check_device_name(device: Any) -> None:
    """Refuse what is no device.

    >>> check_device_name("tpu")
    Traceback (most recent call last):
    noisyor.errors.ParameterError: device must be 'cpu', 'gpu' or 'auto', not 'tpu'.
    """
    if not isinstance(device, str) or device not in DEVICES:
        raise ParameterError(f"device must be 'cpu', 'gpu' or 'auto', not {quoted(device)}.")


def check_device(device: Any) -> None:
    """Refuse what is no device, and a card that is not there.

    >>> check_device("cpu")
    """
    check_device_name(device)
    reason = why_no_card() if device == "gpu" else None
    if reason is not None:
        raise CardError(
            f"device 'gpu' (--device gpu) cannot be used: {reason}. Take 'cpu', or 'auto', which "
            "takes a card where there is one."
        )


def prefers_card(device: str, work: Work, n_jobs: int | None = None) -> bool:
    """Return True if work is to be done on the card; with "auto", say what was chosen.

    Nothing is said where there is no card to choose.
    """
    check_device(device)
    if device != "auto":
        return device == "gpu"
    if why_no_card() is not None:
        return False
    here = work.core_seconds / n_threads(n_jobs)
    there = CARD_START_SECONDS + work.card_seconds
    chosen = f"the card ({card_name()})" if there < here else "the processor"
    give_notice(
        f"device 'auto': {work.what} on {chosen}; about {here:.2g} s here, {there:.2g} s there."
    )
    return there < here


@functools.cache
def why_no_card() -> str | None:
    """Return what is missing for work on a card, in words; None if nothing is."""
    if not is_simulated() and importlib.util.find_spec("numba_cuda") is None:
        return "the extra is not installed (pip install 'noisyor[gpu]')"
    with warnings.catch_warnings():
        # Of what numba-cuda does to numpy when it is first loaded: nothing that users do.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            from numba import cuda
        except (ImportError, AttributeError) as error:
            # As where numpy has no longer what numba-cuda takes from it (row_stack, with 2.5).
            return (
                f"numba-cuda does not work with the other packages here ({error}): take a newer "
                "one, or an older NumPy"
            )

    if is_simulated() or cuda.is_available():
        _without_advice()
        return None
    return "there is no NVIDIA card, or no driver for it (nvidia-smi says which)"


def _without_advice() -> None:
    """Let numba not warn of small grids: small data have them, and users can do nothing about it.

    With the extra installed its settings are others than those of numba.
    """
    for name in "numba.core.config", "numba.cuda.core.config":
        with suppress(ImportError):
            vars(importlib.import_module(name))["CUDA_LOW_OCCUPANCY_WARNINGS"] = 0


def is_simulated() -> bool:
    """Return True where numba runs kernels of the card as Python (NUMBA_ENABLE_CUDASIM=1)."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def card_name() -> str:
    """Return the name of the card."""
    if is_simulated():
        return "simulated"
    from numba import cuda

    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def n_multiprocessors() -> int:
    """Return how many multiprocessors the card has."""
    if is_simulated():
        return 1
    from numba import cuda

    return int(cuda.get_current_device().MULTIPROCESSOR_COUNT)


def card_memory() -> int:
    """Return the bytes that are free on the card."""
    if is_simulated():
        return 1 << 28
    from numba import cuda

    return int(cuda.current_context().get_memory_info().free)


def is_full(error: Exception) -> bool:
    """Return True if an error says that the card's memory does not suffice."""
    return isinstance(error, MemoryError) or "OUT_OF_MEMORY" in str(error)
