"""Arrays on the card."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.gpu.card import is_simulated, n_multiprocessors


def on_card(array: NDArray[Any], stream: Any = 0) -> Any:
    """Return a copy of an array on the card."""
    from numba import cuda

    return cuda.to_device(np.ascontiguousarray(array), stream=stream)


def from_card(array: Any) -> NDArray[Any]:
    """Return a copy of an array that is on the card."""
    return np.asarray(array.copy_to_host())


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
