"""Kernels: compiled with what they call, once, and kept."""

import pickle

import numpy as np
import pytest
from numba.core import compiler

from noisyor.inference import record_kernels
from noisyor.kernels import IS_COMPILING, Kernel, kernel


@pytest.fixture(autouse=True)
def nothing_is_cached(monkeypatch):
    """What an earlier run has left in the cache would not be compiled."""
    monkeypatch.setattr("noisyor.kernels.compiling.cache_of", lambda _: None)


@kernel
def inverse(x: float) -> float:
    return 1.0 / x


@kernel
def sum_of_inverses(values: np.ndarray) -> float:
    total = 0.0
    for value in values:
        total += inverse(value)
    return total


def test_kernels_call_kernels():
    assert sum_of_inverses(np.array([1.0, 2.0, 4.0])) == 1.75


def test_what_a_kernel_calls_can_be_called_by_python_too():
    sum_of_inverses(np.array([1.0]))
    assert inverse(4.0) == 0.25
    assert sum_of_inverses(np.array([4.0, 4.0])) == 0.5


def test_division_is_that_of_numpy():
    assert inverse(0.0) == np.inf


def test_what_is_called_has_no_machine_code_of_its_own():
    sum_of_inverses(np.array([1.0]))
    (inner,) = (each for each in inverse.inner.overloads.values())
    assert inner.library.get_pointer_to_function(inner.fndesc.llvm_func_name) == 0
    (outer,) = sum_of_inverses.outer.overloads.values()
    assert outer.library.get_pointer_to_function(outer.fndesc.llvm_cpython_wrapper_name) != 0


def test_options_reach_the_compiler():
    @kernel(boundscheck=True)
    def second(values: np.ndarray) -> float:
        return values[1]

    with pytest.raises(IndexError):
        second(np.zeros(1))


def test_compiling_is_told_while_it_lasts(monkeypatch):
    told = []

    @kernel
    def twice(x: float) -> float:
        return 2.0 * x

    compile_extra = compiler.Compiler.compile_extra

    def compiling(self, function):
        told.append(IS_COMPILING.is_set())
        return compile_extra(self, function)

    monkeypatch.setattr(compiler.Compiler, "compile_extra", compiling)
    assert twice(1.0) == 2.0
    assert told[0]
    assert not IS_COMPILING.is_set()


def test_kernels_travel_by_name():
    """Workers of a cluster get functions by pickle."""
    found = pickle.loads(pickle.dumps(record_kernels.weigh))  # noqa: S301
    assert isinstance(found, Kernel)
    assert found is record_kernels.weigh
