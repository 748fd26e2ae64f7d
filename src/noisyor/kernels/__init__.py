"""Compiled loops: a decorator that makes them.

A kernel is compiled when Python first calls it, and then comes from a cache on disk. Kernels call
kernels. By itself numba makes machine code of each of them, optimised together with all that it
calls, and wrappers for Python and C: a chain of ten is optimised ten times. But only what Python
calls needs that. Here a kernel that others call is translated once, and optimised as a part of
them (`compiling.py`).

>>> from noisyor.kernels import kernel
>>> @kernel
... def square(x: float) -> float:
...     return x * x
>>> @kernel
... def sum_of_squares(x: float, y: float) -> float:
...     return square(x) + square(y)
>>> sum_of_squares(3.0, 4.0)
25.0
"""

import functools
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")

IS_COMPILING = threading.Event()
"""Set while a kernel is being compiled."""
_MAKING = threading.RLock()


class Kernel:
    """A function that is compiled when Python calls it, or with a kernel that calls it."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.options = function, options
        self._outer: Any = None
        self._inner: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code."""
        return (self._outer or self.outer)(*arguments)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__

    @property
    def outer(self) -> Any:
        """What Python calls: machine code, kept in the cache."""
        from noisyor.kernels.compiling import outer_dispatcher

        with _MAKING:
            self._outer = self._outer or outer_dispatcher(self)
        return self._outer

    @property
    def inner(self) -> Any:
        """What kernels call: code that becomes a part of theirs."""
        from noisyor.kernels.compiling import inner_dispatcher

        with _MAKING:
            self._inner = self._inner or inner_dispatcher(self)
        return self._inner

    @property
    def _numba_type_(self) -> Any:
        return self.inner._numba_type_


@overload
def kernel(function: Callable[P, R]) -> Callable[P, R]: ...
@overload
def kernel(**options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a function a kernel: compiled, without Python's lock, with division as numpy has it.

    Options, such as `fastmath`, are those of `numba.njit`.
    """
    if function is None:
        return functools.partial(Kernel, options=options)
    return Kernel(function, options)
