"""How numba compiles kernels: once, with all that they call.

A library is numba's word for the code of one function and of those that it calls. That of a kernel
which Python calls is optimised and turned into machine code. That of a function which only other
kernels call stays as it is, to be linked into theirs. Numba's own functions (`np.empty`) are
treated in the same way while a kernel is compiled.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import codegen, compiler

from noisyor.kernels import IS_COMPILING, Kernel
from noisyor.kernels.borrowing import with_borrowing
from noisyor.kernels.cache import cache_of
from noisyor.kernels.turns import end_turn

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def outer_dispatcher(kernel: Kernel) -> Any:
    """Return what compiles a kernel for Python, or finds it in the cache."""
    options = OPTIONS | kernel.options | {"no_cfunc_wrapper": True}
    dispatcher = numba.njit(**options, pipeline_class=OuterCompiler)(kernel.py_func)
    cache = cache_of(kernel)
    if cache is not None:
        dispatcher._cache = cache
    return dispatcher


def inner_dispatcher(kernel: Kernel) -> Any:
    """Return what compiles a kernel for other kernels, as a part of them: they are in the cache."""
    options = OPTIONS | kernel.options | INNER
    return numba.njit(**options, pipeline_class=InnerCompiler)(kernel.py_func)


class KernelCompiler(compiler.Compiler):
    """Compiles functions whose arguments are borrowed."""

    def define_pipelines(self) -> list[Any]:
        """Return the steps."""
        return [with_borrowing(pipeline) for pipeline in super().define_pipelines()]


class OuterCompiler(KernelCompiler):
    """Compiles a kernel; what it calls stays a part of it."""

    def compile_extra(self, function: Any) -> Any:
        """Compile a function."""
        target = self.state.targetctx.codegen()
        library = target.create_library(function.__qualname__)
        library.enable_object_caching()
        self.state.library = library
        try:
            with _inner_libraries(target):
                return super().compile_extra(function)
        except BaseException:
            end_turn()  # nothing will be kept, with which it would end
            raise


class InnerCompiler(KernelCompiler):
    """Compiles what is to be a part of a kernel."""

    def compile_extra(self, function: Any) -> Any:
        """Compile a function."""
        target = self.state.targetctx.codegen()
        self.state.library = InnerLibrary(target, function.__qualname__)
        return super().compile_extra(function)


@contextmanager
def _inner_libraries(target: Any) -> Iterator[None]:
    """Let what is compiled meanwhile, all of it for one kernel, be a part of that.

    Numba compiles one function at a time, under a lock. The collector of garbage would look through
    millions of objects in vain.
    """
    was_collecting = gc.isenabled()
    gc.disable()
    IS_COMPILING.set()
    target._library_class = InnerLibrary
    try:
        yield
    finally:
        del target._library_class
        IS_COMPILING.clear()
        if was_collecting:
            gc.enable()


class InnerLibrary(codegen.JITCodeLibrary):
    """Code that is neither optimised by itself nor turned into machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """Return what is told the environment of a function, of which it has no need."""
        return _NoEnvironment


class _NoEnvironment:
    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Do nothing."""
