"""Values that cannot be changed once they are made; results that are equal if their parts are."""

from dataclasses import fields
from typing import Any, NoReturn, Self, TypeVar

import numpy as np

Kind = TypeVar("Kind")


class Immutable:
    """Refuses to set or delete attributes after `_seal` was called at the end of `__init__`."""

    __slots__ = ("_is_sealed",)

    def _seal(self) -> None:
        object.__setattr__(self, "_is_sealed", True)

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_is_sealed", False):
            self._refuse(name)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse(name)

    def _refuse(self, name: str) -> NoReturn:
        kind = type(self).__name__
        raise AttributeError(
            f"a {kind} cannot be changed: make a new one instead of setting {name}"
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class EqualByValue:
    """Makes a dataclass (with eq=False) equal to another if all fields are, arrays entry by entry.

    NaN equals NaN. Fields with compare=False do not count. What has arrays in it cannot be the key
    of a dictionary.
    """

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = (field.name for field in fields(self) if field.compare)  # type: ignore[arg-type]
        return all(are_equal(getattr(self, name), getattr(other, name)) for name in names)


def equal_by_entries(kind: type[Kind]) -> type[Kind]:
    """Make a named tuple with arrays in it equal to another if all entries are, as `EqualByValue`.

    Tuples compare arrays by `==`, which says nothing of them as a whole, and raise an error.
    """

    def is_equal(self: Any, other: Any) -> Any:
        entries = other
        if type(other) is not kind:
            return NotImplemented
        return all(map(are_equal, self, entries))

    def is_different(self: Any, other: Any) -> Any:
        return not is_equal(self, other) if type(other) is kind else NotImplemented

    for name, value in (("__eq__", is_equal), ("__ne__", is_different), ("__hash__", None)):
        setattr(kind, name, value)
    return kind


def are_equal(one: Any, other: Any) -> bool:
    """Return True if two values are equal, arrays entry by entry and NaN to NaN."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        one, other = np.asarray(one), np.asarray(other)
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f" == other.dtype.kind))
    if isinstance(one, tuple | list) and type(one) is type(other):
        return len(one) == len(other) and all(map(are_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(are_equal(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float) and one != one:  # noqa: PLR0124
        return other != other  # noqa: PLR0124
    return bool(one == other)
