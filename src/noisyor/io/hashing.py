"""Hashes of record ids, numbers or texts."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def hash_ids(ids: Any) -> NDArray[np.uint64]:
    """Return a hash of each id of an Arrow array; a missing one counts as 0 or as empty.

    >>> numbers, texts = hash_ids(pa.array([1, 2, 1])), hash_ids(pa.array(["a", "b", "a"]))
    >>> bool(numbers[0] == numbers[2] != numbers[1]), bool(texts[0] == texts[2] != texts[1])
    (True, True)
    """
    from noisyor.io.kernels import hash_numbers, hash_texts

    if pa.types.is_integer(ids.type):
        return hash_numbers(ids.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64))
    texts = ids.cast(pa.large_string()).fill_null("")
    _, offsets, characters = texts.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[texts.offset :][: len(texts) + 1]
    return hash_texts(bounds, np.frombuffer(characters or b"", dtype=np.uint8))
