"""Lanes: threads of the card that work on one thing together, in step, and what they tell each other.

All lanes of a group must call these functions, each with a value of its own; all get the same
answer. In the simulator a group is a block of few threads, and these are functions of Python.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from noisyor.gpu.card import is_simulated

LANES = 1 if is_simulated() else 32
"""Threads of a group; 32 are in step by themselves."""
ALL = 0xFFFFFFFF


def device_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let kernels of the card call a function: it becomes a part of them.

    The simulator runs it as it is, so it must name `cuda` nowhere: what it needs of it stands here.
    """
    if is_simulated():
        return function
    from numba import cuda

    compiled: Callable[..., Any] = cuda.jit(device=True, forceinline=True)(function)
    return compiled


def global_function(most_registers: int) -> Callable[..., Any]:
    """Return what makes a kernel of a function, whose threads have so many registers at most."""
    from numba import cuda

    options = {} if is_simulated() else {"max_registers": most_registers}
    made: Callable[..., Any] = cuda.jit(**options)
    return made


if is_simulated():
    exp, log = np.exp, np.log

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
        """Wait until all lanes are here: what they have written can be read then."""
        if _context().blockDim.x > 1:
            _context().syncthreads()

    def sum_of_lanes(value: float) -> float:
        """Return the sum of the values of all lanes."""
        first, *others = _told(value)
        return sum(others, first)

    def largest_of_lanes(value: float) -> float:
        """Return the largest value."""
        return max(_told(value))

    def smallest_of_lanes(value: int) -> int:
        """Return the smallest value."""
        return min(_told(value))

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
        """Add to one of some sums that others add to as well; return what it was."""
        return _context().atomic.add(sums, index, value)

    def set_at_once(words: Any, index: int, bits: Any) -> None:
        """Set bits of a word of 32 in which others set bits as well."""
        _context().atomic.or_(words, index, np.uint32(bits))

else:
    from numba import cuda

    exp, log = math.exp, math.log

    @device_function
    def wait_for_lanes():
        """Wait until all lanes are here: what they have written can be read then."""
        cuda.syncwarp()

    @device_function
    def sum_of_lanes(value):
        """Return the sum of the values of all lanes."""
        value += cuda.shfl_xor_sync(ALL, value, 16)
        value += cuda.shfl_xor_sync(ALL, value, 8)
        value += cuda.shfl_xor_sync(ALL, value, 4)
        value += cuda.shfl_xor_sync(ALL, value, 2)
        value += cuda.shfl_xor_sync(ALL, value, 1)
        return value

    @device_function
    def largest_of_lanes(value):
        """Return the largest value."""
        value = max(value, cuda.shfl_xor_sync(ALL, value, 16))
        value = max(value, cuda.shfl_xor_sync(ALL, value, 8))
        value = max(value, cuda.shfl_xor_sync(ALL, value, 4))
        value = max(value, cuda.shfl_xor_sync(ALL, value, 2))
        value = max(value, cuda.shfl_xor_sync(ALL, value, 1))
        return value

    @device_function
    def smallest_of_lanes(value):
        """Return the smallest value."""
        value = min(value, cuda.shfl_xor_sync(ALL, value, 16))
        value = min(value, cuda.shfl_xor_sync(ALL, value, 8))
        value = min(value, cuda.shfl_xor_sync(ALL, value, 4))
        value = min(value, cuda.shfl_xor_sync(ALL, value, 2))
        value = min(value, cuda.shfl_xor_sync(ALL, value, 1))
        return value

    @device_function
    def lanes_where(is_true):
        """Return the lanes whose value is true, a bit each."""
        return np.int64(cuda.ballot_sync(ALL, is_true)) & ALL

    @device_function
    def first_lanes(value):
        """Return the value of the first lane."""
        return cuda.shfl_sync(ALL, value, 0)

    @device_function
    def popcount(word):
        """Return the number of set bits."""
        return cuda.popc(word)

    @device_function
    def add_at_once(sums, index, value):
        """Add to one of some sums that others add to as well; return what it was."""
        return cuda.atomic.add(sums, index, value)

    @device_function
    def set_at_once(words, index, bits):
        """Set bits of a word of 32 in which others set bits as well."""
        cuda.atomic.or_(words, index, np.uint32(bits))
