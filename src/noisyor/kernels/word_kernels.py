"""What kernels do with the bits of a word, by instructions of the processor."""

from typing import Any

from numba import types
from numba.extending import intrinsic


def _popcount(typing_context: Any, word: Any) -> Any:
    """Return the number of set bits; LLVM turns loops over it into vector instructions."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


def _lowest_bit(typing_context: Any, word: Any) -> Any:
    """Return the index of the lowest bit that is set; 64 where none is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), generate


popcount: Any = intrinsic(_popcount)
lowest_bit: Any = intrinsic(_lowest_bit)
