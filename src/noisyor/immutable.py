"""Values that cannot be changed once they are made."""

from typing import Any, NoReturn, Self


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
