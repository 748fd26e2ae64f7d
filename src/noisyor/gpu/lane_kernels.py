"""Lanes: threads of the card that work on one thing together, and what they tell each other.

All lanes of a group must call these functions, each with a value of its own; all get the same
answer. In the simulator functions of Python take their place.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from noisyor.gpu import simulated_lanes as simulated
from noisyor.gpu.card import is_simulated

LANES = 1 if is_simulated() else 32
"""Threads of a group."""
ALL = 0xFFFFFFFF

exp, log = (np.exp, np.log) if is_simulated() else (math.exp, math.log)


class Lane(NamedTuple):
    """One of a group of threads, which takes every so many of what they share.

    The step is unknown to the compiler, which would otherwise write loops several times in a row:
    they are short, but the kernels become too long to be kept near.
    """

    number: Any
    step: Any


def device_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let kernels of the card call a function: it becomes a part of them.

    The simulator runs it as it is, so it must name `cuda` nowhere: what it needs of it stands here.
    """
    if is_simulated():
        return function
    compiled: Callable[..., Any] = cuda.jit(device=True, forceinline=True)(function)
    return compiled


def global_function(most_registers: int) -> Callable[..., Any]:
    """Return what makes a kernel of a function, whose threads have so many registers at most."""
    options = {} if is_simulated() else {"max_registers": most_registers}
    made: Callable[..., Any] = cuda.jit(**options)
    return made


def _simulated_by(other: Callable[..., Any]) -> Callable[..., Any]:
    """Return what lets another function take the place of one in the simulator."""
    return lambda function: other if is_simulated() else device_function(function)


@device_function
def after(number, lane):
    """Return the next number that is a lane's."""
    return np.uint32(number + lane.step)


@_simulated_by(simulated.wait_for_lanes)
def wait_for_lanes():
    """Wait until all lanes are here: what they have written can be read then."""
    cuda.syncwarp()


@_simulated_by(simulated.sum_of_lanes)
def sum_of_lanes(value):
    """Return the sum of the values of all lanes."""
    value += cuda.shfl_xor_sync(ALL, value, 16)
    value += cuda.shfl_xor_sync(ALL, value, 8)
    value += cuda.shfl_xor_sync(ALL, value, 4)
    value += cuda.shfl_xor_sync(ALL, value, 2)
    return value + cuda.shfl_xor_sync(ALL, value, 1)


@_simulated_by(simulated.largest_of_lanes)
def largest_of_lanes(value):
    """Return the largest value."""
    value = max(value, cuda.shfl_xor_sync(ALL, value, 16))
    value = max(value, cuda.shfl_xor_sync(ALL, value, 8))
    value = max(value, cuda.shfl_xor_sync(ALL, value, 4))
    value = max(value, cuda.shfl_xor_sync(ALL, value, 2))
    return max(value, cuda.shfl_xor_sync(ALL, value, 1))


@_simulated_by(simulated.lanes_where)
def lanes_where(is_true):
    """Return the lanes whose value is true, a bit each."""
    return np.int64(cuda.ballot_sync(ALL, is_true)) & ALL


@_simulated_by(simulated.first_lanes)
def first_lanes(value):
    """Return the value of the first lane."""
    return cuda.shfl_sync(ALL, value, 0)


@_simulated_by(simulated.popcount)
def popcount(word):
    """Return the number of set bits."""
    return cuda.popc(word)


@_simulated_by(simulated.add_at_once)
def add_at_once(sums, index, value):
    """Add to one of some sums that others add to as well; return what it was."""
    return cuda.atomic.add(sums, index, value)


@_simulated_by(simulated.set_at_once)
def set_at_once(words, index, bits):
    """Set bits of a word of 32 in which others set bits as well."""
    cuda.atomic.or_(words, index, np.uint32(bits))
