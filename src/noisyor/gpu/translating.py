"""Kernels of the processor as functions of the card: one algorithm, compiled for both.

A kernel (`noisyor.kernels`) names other kernels, directly or through their modules. The card gets
the same functions with every kernel among their globals translated in the same way. What must be
done differently there is given as a replacement: sums that many threads add to at once. Functions
of the card cannot return parts of arrays, so those that do become a part of who calls them.
"""

import math
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any, cast, get_origin

import numpy as np
from numpy.typing import NDArray

from noisyor.gpu.card import is_simulated
from noisyor.kernels import Kernel

OF_NUMBERS = {"exp", "expm1", "log1p", "sqrt"}
"""Functions of numpy that the card has for numbers alone, as Python's own."""
Replacements = Mapping[Any, Callable[..., Any]]
"""Of kernels, and of what only the processor has."""


class Translator:
    """Translates kernels, each once."""

    def __init__(self, replacements: Replacements) -> None:
        self._done: dict[int, Any] = {}
        for kernel, function in replacements.items():
            self._done[id(kernel)] = _device_function(function)

    def function(self, kernel: Any) -> Any:
        """Return what kernels of the card call in place of a kernel of the processor."""
        if id(kernel) not in self._done:
            self._done[id(kernel)] = _device_function(
                self._rebuilt(cast(FunctionType, kernel.py_func))
            )
        return self._done[id(kernel)]

    def _rebuilt(self, function: FunctionType) -> FunctionType:
        """Return a function whose globals name functions of the card."""
        named = _names_of(function)
        found = {
            name: self._translated(value, named)
            for name, value in function.__globals__.items()
            if name in named or name == "__builtins__"
        }
        found["__name__"] = function.__module__
        rebuilt = FunctionType(function.__code__, found, function.__name__, function.__defaults__)
        rebuilt.__annotations__ = function.__annotations__
        rebuilt.__module__, rebuilt.__qualname__ = function.__module__, function.__qualname__
        return rebuilt

    def _translated(self, value: Any, named: set[str]) -> Any:
        if isinstance(value, Kernel) or id(value) in self._done:
            return self.function(value)
        if isinstance(value, ModuleType) and value.__name__.endswith("_kernels"):
            there = named & vars(value).keys()
            return _module_of(
                value, {name: self._translated(getattr(value, name), named) for name in there}
            )
        if value is np and not is_simulated():
            return _module_of(np, {name: getattr(math, name) for name in named & OF_NUMBERS})
        return value


def _module_of(module: ModuleType, others: Mapping[str, Any]) -> ModuleType:
    """Return a module like another, with some other values."""
    found = ModuleType(module.__name__)
    vars(found).update(vars(module))
    vars(found).update(others)
    return found


def _names_of(function: FunctionType) -> set[str]:
    """Return the names of globals and attributes that a function has in it."""
    return set(function.__code__.co_names)


def _device_function(function: Callable[..., Any]) -> Any:
    from numba import cuda

    returned = function.__annotations__.get("return")
    # Since NumPy 2.5 the origin of an NDArray is the alias itself.
    inline = "always" if get_origin(returned) in (np.ndarray, NDArray) else "never"
    return cuda.jit(device=True, inline=inline)(function)
