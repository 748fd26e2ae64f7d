"""What lanes tell each other in the simulator, where a group of them is a block of threads."""

from typing import Any

import numpy as np


def _context() -> Any:
    from numba.cuda.simulator.kernel import _get_kernel_context

    return _get_kernel_context()


def _told(value: Any) -> list[Any]:
    """Return the values of all lanes."""
    context = _context()
    n_lanes = context.blockDim.x
    if n_lanes == 1:
        return [value]
    told = context.__dict__.setdefault("told", [None] * n_lanes)
    told[context.threadIdx.x] = value
    context.syncthreads()
    found = list(told)
    context.syncthreads()
    return found


def wait_for_lanes() -> None:
    """Wait until all lanes are here."""
    if _context().blockDim.x > 1:
        _context().syncthreads()


def sum_of_lanes(value: Any) -> Any:
    """Return the sum of the values of all lanes."""
    first, *others = _told(value)
    return sum(others, first)


def largest_of_lanes(value: Any) -> Any:
    """Return the largest value."""
    return max(_told(value))


def lanes_where(is_true: bool) -> int:
    """Return the lanes whose value is true, a bit each."""
    return sum(1 << lane for lane, each in enumerate(_told(is_true)) if each)


def first_lanes(value: Any) -> Any:
    """Return the value of the first lane."""
    return _told(value)[0]


def popcount(word: Any) -> int:
    """Return the number of set bits."""
    return int(word).bit_count()


def add_at_once(sums: Any, index: int, value: Any) -> Any:
    """Add to one of some sums; return what it was."""
    return _context().atomic.add(sums, index, value)


def set_at_once(words: Any, index: int, bits: Any) -> None:
    """Set bits of a word of 32."""
    _context().atomic.or_(words, index, np.uint32(bits))
