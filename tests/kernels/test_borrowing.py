"""Arguments are borrowed: nobody counts them, and nothing is freed too early or too late."""

from typing import NamedTuple

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from noisyor.kernels import kernel


@pytest.fixture(autouse=True)
def nothing_is_cached(monkeypatch):
    """What an earlier run has left in the cache would not be compiled."""
    monkeypatch.setattr("noisyor.kernels.compiling.cache_of", lambda _: None)


class Pair(NamedTuple):
    first: np.ndarray
    second: np.ndarray


class Nested(NamedTuple):
    pair: Pair
    third: np.ndarray


@kernel
def is_in(pair: Pair, index: int) -> bool:
    return bool(pair.first[index] > 0.0 and pair.second[index] < 1.0)


@kernel
def count_in(nested: Nested) -> int:
    total = 0
    for index in range(len(nested.third)):
        total += 1 if is_in(nested.pair, index) else 0
    return total


@kernel
def returned(nested: Nested, which: int) -> np.ndarray:
    """An argument's part, by several ways, or a new array."""
    first = nested.pair.first
    if which == 0:
        return first
    if which == 1:
        return nested.pair[1]
    other = nested.third
    for _ in range(which):
        other = other + first
    return other


@kernel
def swapped(pair: Pair) -> Pair:
    for _ in range(3):
        pair = Pair(pair.second, pair.first)
    return pair


@kernel
def chosen(values: np.ndarray, others: np.ndarray, is_other: bool) -> np.ndarray:
    """A name for one argument, which becomes the other."""
    if is_other:
        values = others
    return values[1:]


@kernel
def looped(nested: Nested, n: int) -> float:
    """Parts that are taken again in each round, and used after it."""
    total = 0.0
    for index in range(n):
        part = nested.pair.first
        other = nested.pair
        if index % 2:
            continue
        total += part[index] + other.second[index]
    return total + part[0] + other.first[1]


@kernel
def kept(nested: Nested) -> list[np.ndarray]:
    return [nested.third, nested.pair.first, nested.third]


def new_nested(n: int = 5) -> Nested:
    return Nested(Pair(np.arange(n) * 1.0, np.linspace(0, 2, n)), np.ones(n))


def test_no_reference_is_counted():
    count_in(new_nested())
    (code,) = count_in.outer.inspect_llvm().values()
    body = code[code.index("define") : code.index("define", code.index("define") + 1)]
    assert "NRT_incref" not in body
    assert "NRT_decref" not in body


def test_by_itself_numba_counts(monkeypatch):
    """The negative control: else the test above would prove nothing."""
    monkeypatch.setattr("noisyor.kernels.compiling.with_borrowing", lambda pipeline: pipeline)

    @kernel
    def is_inside(pair: Pair, index: int) -> bool:
        return bool(pair.first[index] > 0.0 and pair.second[index] < 1.0)

    is_inside(new_nested().pair, 0)
    (code,) = is_inside.outer.inspect_llvm().values()
    assert "NRT_incref" in code


def test_values_are_right():
    nested = new_nested()
    assert count_in(nested) == 1
    assert returned(nested, 0).tolist() == nested.pair.first.tolist()
    assert returned(nested, 1).tolist() == nested.pair.second.tolist()
    assert returned(nested, 2).tolist() == (nested.third + 2 * nested.pair.first).tolist()
    assert looped(nested, 5) == 6.0 + 3.0 + 1.0
    assert swapped(nested.pair).first.tolist() == nested.pair.second.tolist()
    assert chosen(nested.third, nested.pair.first, False).tolist() == [1.0] * 4
    assert chosen(nested.third, nested.pair.first, True).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_what_is_returned_outlives_the_arguments():
    found = []
    for _ in range(50):
        nested = new_nested(1000)
        found += [returned(nested, which) for which in range(3)]
        found += [*swapped(nested.pair), chosen(nested.third, nested.pair.first, True)]
        found += kept(nested)
        for _ in range(100):
            looped(nested, 1000)
        del nested
        np.full(1000, np.nan)  # where something was freed too early, this may come to lie
    assert all(np.isfinite(each).all() for each in found)
    assert all(each[-1] == 999.0 for each in found[::9])


def test_nothing_leaks():
    _nrt_python.memsys_enable_stats()
    nested = new_nested()
    for repeat in range(2):  # the first compiles
        before = rtsys.get_allocation_stats()
        for which in range(4):
            returned(nested, which)
            chosen(nested.third, nested.pair.first, bool(which % 2))
            count_in(nested)
            looped(nested, 5)
            swapped(nested.pair)
            kept(nested)
        after = rtsys.get_allocation_stats()
        if repeat:
            assert after.alloc > before.alloc
            assert after.alloc - before.alloc == after.free - before.free
            assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free
