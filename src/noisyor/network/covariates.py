"""What is known of a person besides the findings: numbers (age) and categories (sex, site)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import (
    FileError,
    ParameterError,
    give_notice,
    nearest_name,
    quoted,
    some_of,
)

Floats = NDArray[np.float64]


class Covariate(NamedTuple):
    """A number, counted from a centre in units of a scale, or a category with its levels."""

    name: str
    levels: tuple[str, ...] = ()
    """Of a category; a number has none."""
    centre: float = 0.0
    scale: float = 1.0
    lowest: float | None = None
    highest: float | None = None
    """Of a number: what it was learned from reaches from the one to the other."""

    @property
    def width(self) -> int:
        """How many columns of a design it takes: one, or one for each level."""
        return len(self.levels) or 1

    @property
    def column_names(self) -> list[str]:
        """The names of these columns."""
        return [f"{self.name}={level}" for level in self.levels] or [self.name]

    def columns(self, value: Any) -> Floats:
        """Return what a value puts into the design; NaN where it is unknown."""
        if is_unknown(value):
            return np.full(self.width, np.nan)
        return self._level(value) if self.levels else np.array([self._number(value)])

    def _level(self, value: Any) -> Floats:
        text = level_name(value)
        if text not in self.levels:
            raise ParameterError(
                f"the covariate {quoted(self.name)} is {quoted(text)}, a category that was not "
                f"learned from; known are {some_of(self.levels, most=10)}, and unknown (leave it "
                "out)."
            )
        return np.array([float(level == text) for level in self.levels])

    def _number(self, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = np.inf
        if not np.isfinite(number) or isinstance(value, bool):
            raise ParameterError(
                f"the covariate {quoted(self.name)} is {quoted(value)}, not a number."
            )
        return (number - self.centre) / self.scale

    def to_document(self) -> dict[str, Any]:
        """Return it as a part of a JSON document."""
        if self.levels:
            return {"name": self.name, "levels": list(self.levels)}
        found: dict[str, Any] = {"name": self.name, "centre": self.centre, "scale": self.scale}
        if self.lowest is not None:
            found |= {"lowest": self.lowest, "highest": self.highest}
        return found

    @classmethod
    def from_document(cls, content: Any, path: Any) -> "Covariate":
        """Read what `to_document` gave."""
        match content:
            case {"name": str(name), "levels": [*levels]} if levels and all(
                isinstance(level, str) for level in levels
            ):
                return cls(name, tuple(levels))
            case {"name": str(name), "centre": int() | float(), "scale": int() | float()}:
                centre, scale = float(content["centre"]), float(content["scale"])
                ends = [content.get(key) for key in ("lowest", "highest")]
                is_range = ends == [None, None] or all(
                    isinstance(x, int | float) and np.isfinite(x) for x in ends
                )
                if np.isfinite(centre) and 0.0 < scale < np.inf and is_range:
                    return cls(name, (), centre, scale, *(x and float(x) for x in ends))
        raise FileError(f"{path}: {quoted(content)} does not describe a covariate.")


def is_unknown(value: Any) -> bool:
    """Return True for what stands for a value that is not known: None, NaN, pandas' NA."""
    is_missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    return is_missing or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def level_name(value: Any) -> str:
    """Return the name of a category: whole numbers without a fraction, whatever their type."""
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if is_whole else str(value)


class Effects:
    """How the log odds of diseases depend on covariates, and what covariates people have.

    Parameters
    ----------
    covariates
        The numbers and categories.
    coefficients
        By how much each column of the design raises the log odds, diseases x columns.
    cells, weights
        Rows of the design that stand for the people who were learned from, and their shares: whose
        covariates are unknown is taken for one of them.

    Examples
    --------
    >>> age = Covariate("age", centre=50.0, scale=20.0)
    >>> effects = Effects([age], [[1.0]], [[-1.0], [1.0]], [0.5, 0.5])
    >>> effects.row({"age": 70})
    array([1.])
    """

    __slots__ = ("cells", "coefficients", "covariates", "weights")

    def __init__(
        self, covariates: Sequence[Covariate], coefficients: Any, cells: Any, weights: Any
    ) -> None:
        self.covariates = tuple(covariates)
        width = sum(each.width for each in self.covariates)
        self.coefficients = finite_array(coefficients, "the coefficients", 2)
        self.cells = finite_array(cells, "the cells", 2)
        self.weights = finite_array(weights, "the weights of cells", 1)
        if self.coefficients.shape[1] != width or self.cells.shape != (len(self.weights), width):
            raise ParameterError(
                f"the covariates take {width} columns; there are "
                f"{self.coefficients.shape[1]} columns of coefficients, {self.cells.shape} cells "
                f"and {len(self.weights)} weights of them."
            )
        if not len(self.weights) or not (self.weights >= 0.0).all() or not self.weights.sum() > 0.0:
            raise ParameterError("the weights of cells must be shares of people.")

    @property
    def names(self) -> list[str]:
        """The names of the columns of the design."""
        return [name for each in self.covariates for name in each.column_names]

    def row(self, values: Mapping[str, Any]) -> Floats:
        """Return the row of the design of a person; NaN where something is unknown."""
        known = [each.name for each in self.covariates]
        for name in values:
            if name not in known:
                raise ParameterError(
                    f"there is no covariate {quoted(name)}; the network has "
                    f"{some_of(known, most=10)}{nearest_name(str(name), known) or '.'}"
                )
        return np.concatenate([each.columns(values.get(each.name)) for each in self.covariates])

    def tell_outside(self, rows: Floats) -> None:
        """Give a notice of numbers that lie outside of those that were learned from."""
        at = 0
        for each in self.covariates:
            _tell_outside(each, rows[:, at])
            at += each.width

    def cells_like(self, row: Floats) -> tuple[Floats, Floats]:
        """Return the rows that a person can have, and their shares: one, if all is known."""
        is_known = ~np.isnan(row)
        if is_known.all():
            return row[np.newaxis], np.ones(1)
        filled = np.where(is_known, row, self.cells)
        return filled, self.weights / self.weights.sum()

    def with_coefficients(self, coefficients: Floats) -> "Effects":
        """Return the same with other coefficients."""
        return Effects(self.covariates, coefficients, self.cells, self.weights)

    def to_document(self) -> dict[str, Any]:
        """Return it as a part of a JSON document."""
        return {
            "covariates": [each.to_document() for each in self.covariates],
            "coefficients": self.coefficients.tolist(),
            "cells": self.cells.tolist(),
            "weights": self.weights.tolist(),
        }

    @classmethod
    def from_document(cls, content: Any, path: Any) -> "Effects":
        """Read what `to_document` gave."""
        keys = ("covariates", "coefficients", "cells", "weights")
        if not isinstance(content, dict) or not all(
            isinstance(content.get(key), list) for key in keys
        ):
            raise FileError(f"{path}: 'effects' must have the lists {', '.join(keys)}.")
        columns = [Covariate.from_document(each, path) for each in content["covariates"]]
        try:
            return cls(columns, *(content[key] for key in keys[1:]))
        except ParameterError as error:
            raise FileError(f"{path}, 'effects': {error}") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Effects):
            return NotImplemented
        return self.covariates == other.covariates and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("coefficients", "cells", "weights")
        )

    def __hash__(self) -> int:
        return hash((self.covariates, self.coefficients.tobytes()))

    def __repr__(self) -> str:
        return f"Effects({', '.join(each.name for each in self.covariates)})"


def _tell_outside(covariate: Covariate, column: Floats) -> None:
    lowest, highest = covariate.lowest, covariate.highest
    if lowest is None or highest is None:
        return
    values = column * covariate.scale + covariate.centre
    slack = 1e-9 * max(abs(lowest), abs(highest), covariate.scale)
    outside = values[(values < lowest - slack) | (values > highest + slack)]
    if not len(outside):
        return
    told = " to ".join(f"{x:g}" for x in dict.fromkeys([outside.min(), outside.max()]))
    of_whom = f" in {len(outside):,} of {len(values):,} records" if len(values) > 1 else ""
    give_notice(
        f"the covariate {quoted(covariate.name)} is {told}{of_whom}, outside of what was learned "
        f"from, {lowest:g} to {highest:g}: probabilities of such people are extrapolated."
    )


def finite_array(values: Any, what: str, n_axes: int) -> Floats:
    """Return a read-only copy; raise an error where it is not finite numbers with so many axes."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{what} must be numbers.") from None
    if array.ndim != n_axes or not np.isfinite(array).all():
        raise ParameterError(f"{what} must be finite numbers with {n_axes} axes.")
    array.flags.writeable = False
    return array
