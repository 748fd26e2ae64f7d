"""Arrays on the card."""

import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.gpu.card import is_simulated, n_multiprocessors
from noisyor.parallel import n_threads

STAGE_BYTES = 1 << 24
"""So many bytes are brought here at a time, where arrays are large."""
MOST_COPYING = 8
"""Threads that copy what was brought here to where it stays."""


def on_card(array: NDArray[Any], stream: Any = 0) -> Any:
    """Return a copy of an array on the card."""
    from numba import cuda

    return cuda.to_device(np.ascontiguousarray(array), stream=stream)


def from_card(array: Any) -> NDArray[Any]:
    """Return a copy of an array that is on the card."""
    n_bytes = array.size * array.dtype.itemsize
    if is_simulated() or n_bytes < 4 * STAGE_BYTES or not array.is_c_contiguous():
        return np.asarray(array.copy_to_host())
    from numba import cuda

    cuda.synchronize()  # whoever fills the array may do so in another stream
    found = np.empty(array.shape, array.dtype)
    here, there = found.reshape(-1).view(np.uint8), array.reshape(array.size).view(np.uint8)
    stages = [_Stage(), _Stage()]
    for number, first in enumerate(range(0, n_bytes, STAGE_BYTES)):
        part, stage = slice(first, min(first + STAGE_BYTES, n_bytes)), stages[number % 2]
        stage.finish()
        stage.bring(there[part], here[part])
    for stage in stages:
        stage.finish()
    return found


class _Stage:
    """A place that the card can write to, where bytes rest on their way to where they stay."""

    def __init__(self) -> None:
        from numba import cuda

        self._bytes, self._stream = cuda.pinned_array(STAGE_BYTES, np.uint8), cuda.stream()
        self._target: NDArray[np.uint8] | None = None

    def bring(self, there: Any, target: NDArray[np.uint8]) -> None:
        """Begin to bring bytes here."""
        there.copy_to_host(self._bytes[: len(target)], stream=self._stream)
        self._target = target

    def finish(self) -> None:
        """Wait until they are here, and copy them to where they stay."""
        if self._target is not None:
            self._stream.synchronize()
            copy_in_threads(self._target, self._bytes[: len(self._target)])
            self._target = None


def copy_in_threads(target: NDArray[Any], source: NDArray[Any]) -> None:
    """Copy the rows of an array: memory that nobody has written to is slow at first."""
    step = max(1, -(-len(target) // MOST_COPYING))

    def copy(first: int) -> None:
        target[first : first + step] = source[first : first + step]

    list(_copying_threads().map(copy, range(0, len(target), step)))


@functools.cache
def _copying_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(n_threads(None), MOST_COPYING))


def zeros_on_card(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """Return an array of 0 that is made there: sending one takes longer."""
    from numba import cuda

    if is_simulated():
        return on_card(np.zeros(shape, dtype))
    from noisyor.gpu.fill_kernels import fill_zeros

    found = cuda.device_array(shape, dtype)
    if found.size:
        fill_zeros[8 * n_multiprocessors(), 256](found.ravel())
    return found
