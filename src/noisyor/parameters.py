"""Parameters: one entry per prior, failure and leak, in this order; and which of them are fixed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisyor.errors import FileError, NoisyOrError, ParameterError, count_of, quoted
from noisyor.flags import FLAG_COLUMNS, Flag, flags_of_row
from noisyor.immutable import Immutable
from noisyor.io.columns import ColumnKind
from noisyor.io.paths import PathLike
from noisyor.io.tables import RowLocation, need_columns, open_table
from noisyor.names import Name
from noisyor.structure import Structure

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

KINDS = ("priors", "failures", "leaks")
MARGIN = 1e-6
"""Learning keeps fixed values this far from 0 and 1, so that no logarithm is infinite."""


class Parameters(Immutable):
    """Something for every parameter of a structure: values, log odds, errors, flags or masks.

    Parameters
    ----------
    priors, failures, leaks
        An entry per disease, per edge in the structure's edge order, and per symptom.

    Examples
    --------
    >>> from noisyor import datasets
    >>> from noisyor.parameters import Parameters
    >>> figure = datasets.figure1(rng=0)
    >>> errors = Parameters.full(figure.structure, 0.1)
    >>> errors.vector.shape, errors.leaks
    ((14,), array([0.1, 0.1, 0.1, 0.1, 0.1]))
    """

    __slots__ = KINDS

    priors: NDArray[Any]
    failures: NDArray[Any]
    leaks: NDArray[Any]

    def __init__(self, priors: ArrayLike, failures: ArrayLike, leaks: ArrayLike) -> None:
        for kind, values in zip(KINDS, (priors, failures, leaks), strict=True):
            array = np.asarray(values)
            if array.flags.writeable:
                array = array.copy()  # what the caller writes later is not ours
                array.flags.writeable = False
            setattr(self, kind, array)
        self._seal()

    @classmethod
    def full(cls, structure: Structure, value: Any, dtype: Any = None) -> Self:
        """Return the same entry everywhere, or one for each kind where three are given."""
        each = value if isinstance(value, tuple) else (value,) * len(KINDS)
        sizes = sizes_of(structure)
        return cls(*(np.full(n, x, dtype) for n, x in zip(sizes, each, strict=True)))

    @classmethod
    def split(cls, structure: Structure, vector: NDArray[Any]) -> Self:
        """Return the parts of a vector with an entry per parameter."""
        return cls(*np.split(vector, np.cumsum(sizes_of(structure))[:-1]))

    @classmethod
    def of_diseases(cls, structure: Structure, is_marked: Booleans, *, leaks: bool = True) -> Self:
        """Return True for all that depends on some diseases: priors, failures and, if asked, leaks.

        A leak is what the diseases of its symptom do not explain, so it depends on all of them.
        """
        owners, symptoms = structure.edges.T
        of_leaks = np.zeros(structure.n_symptoms, dtype=np.bool_)
        of_leaks[symptoms[is_marked[owners]]] = leaks
        return cls(is_marked, is_marked[owners], of_leaks)

    @property
    def vector(self) -> NDArray[Any]:
        """All entries as one array: priors, failures, leaks."""
        return np.concatenate(list(self))

    def map(self, function: Callable[..., Any], *others: "Parameters") -> "Parameters":
        """Return a function of the entries, and of those of others, kind by kind."""
        return Parameters(*(function(*each) for each in zip(self, *others, strict=True)))

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.priors, self.failures, self.leaks))

    def __len__(self) -> int:
        return sum(len(part) for part in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameters):
            return NotImplemented
        return all(
            np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
            for mine, theirs in zip(self, other, strict=True)
        )

    def __hash__(self) -> int:
        # Equal values have equal hashes, whatever their type.
        return hash(tuple(tuple(part.tolist()) for part in self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self)

    def __repr__(self) -> str:
        return f"Parameters(priors={self.priors}, failures={self.failures}, leaks={self.leaks})"


def sizes_of(structure: Structure) -> tuple[int, int, int]:
    """Return how many priors, failures and leaks there are."""
    return structure.n_diseases, structure.n_edges, structure.n_symptoms


def log_odds(values: Floats, margin: float = MARGIN) -> Floats:
    """Return log(x / (1 - x)), values within a margin of 0 and 1 moved to it."""
    inner = np.clip(values, margin, 1.0 - margin)
    return np.asarray(np.log(inner) - np.log1p(-inner))


def from_log_odds(positions: Floats, most: float = 700.0) -> Floats:
    """Return the probabilities that have these log odds, none of which is above `most`."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(positions, -most, most))))


# --- what is fixed ---


class Fixed(Immutable):
    """Values of some parameters, which learning keeps; immutable.

    Parameters
    ----------
    structure
        The diseases, symptoms and edges.
    priors, failures, leaks
        Mappings from names to values (a failure's name is disease and symptom), or an array with
        a value for each in the structure's order, NaN where it is to be learned.

    Examples
    --------
    >>> from noisyor import Fixed, datasets
    >>> clinic = datasets.clinic()
    >>> Fixed.of(clinic, "failures", "leaks")  # relearn the priors for another hospital
    Fixed(0 of 20 priors, 120 of 120 failures, 60 of 60 leaks)
    >>> disease, symptom = clinic.structure.diseases[0], clinic.structure.symptoms[0]
    >>> Fixed(clinic.structure, priors={disease: 0.02}, leaks={symptom: 0.001})
    Fixed(1 of 20 priors, 0 of 120 failures, 1 of 60 leaks)
    """

    __slots__ = ("mask", "structure", "values")

    structure: Structure
    values: Parameters
    """NaN where a parameter is to be learned."""
    mask: Parameters
    """True where a parameter is fixed."""

    def __init__(
        self,
        structure: Structure,
        *,
        priors: Mapping[Name, float] | Any = None,
        failures: Mapping[tuple[Name, Name], float] | Any = None,
        leaks: Mapping[Name, float] | Any = None,
    ) -> None:
        if not isinstance(structure, Structure):
            raise ParameterError(f"expected a Structure, not {type(structure).__name__}.")
        given = zip(KINDS, (priors, failures, leaks), strict=True)
        self.structure = structure
        self.values = Parameters(*(_checked(structure, kind, values) for kind, values in given))
        self.mask = self.values.map(np.isfinite)
        self._seal()

    @classmethod
    def of(cls, network: Any, *kinds: str) -> Self:
        """Fix all "priors", "failures" or "leaks" at the values of a network."""
        if not isinstance(getattr(network, "parameters", None), Parameters):
            raise ParameterError(f"expected a NoisyOrNetwork, not {type(network).__name__}.")
        if not kinds:
            raise ParameterError(f"say what to fix: {', '.join(KINDS)}.")
        _check_kinds(kinds)
        for kind in kinds if getattr(network, "flags", None) is not None else ():
            n_missing = np.count_nonzero(getattr(network.flags, kind) & Flag.NOT_LEARNED)
            if n_missing:
                raise ParameterError(
                    f"{n_missing:,} {kind} of the network were not learned, but are neutral "
                    "values; fix the others by a table of them, or by a mapping."
                )
        return cls(network.structure, **{kind: getattr(network, kind) for kind in kinds})

    @classmethod
    def load(cls, path: PathLike, structure: Structure) -> Self:
        """Read a table with the columns parameter, disease, symptom and value (docs/formats.md).

        It is a part of what `Estimate.save_summary` writes: the rows that are to be fixed.
        """
        values = _no_values(structure)
        for row in parameter_rows(path, structure, {"value": ColumnKind.NUMBER}):
            if row.flags & Flag.NOT_LEARNED:
                raise FileError(
                    f"{row.location}: the value was not learned, but is a neutral one; leave the "
                    "row out."
                )
            try:
                values[row.kind][row.index] = _probability(row.kind, row.name, row.cells["value"])
            except NoisyOrError as error:
                raise FileError(f"{row.location}: {error}") from None
        if not any(np.isfinite(each).any() for each in values.values()):
            raise FileError(f"{path} has no row: there is nothing to fix.")
        return cls(structure, **values)

    @property
    def edges(self) -> Booleans:
        """Which edges are fixed altogether: their failure and the prior of their disease."""
        owners = self.structure.edges[:, 0]
        return np.asarray(self.mask.failures & self.mask.priors[owners])

    def apply(self, kind: str, values: Floats) -> Floats:
        """Return values of a kind with the fixed ones put in, a little inside of 0 and 1."""
        inner = np.clip(getattr(self.values, kind), MARGIN, 1.0 - MARGIN)
        return np.where(getattr(self.mask, kind), inner, values)

    def apply_to(self, values: Parameters) -> Parameters:
        """Return all values with the fixed ones put in."""
        return Parameters(*(self.apply(kind, getattr(values, kind)) for kind in KINDS))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fixed):
            return NotImplemented
        return self.structure == other.structure and self.values == other.values

    def __hash__(self) -> int:
        return hash((self.structure, self.values))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.structure, *self.values)

    def __repr__(self) -> str:
        parts = (
            f"{int(mask.sum()):,} of {len(mask):,} {kind}"
            for kind, mask in zip(KINDS, self.mask, strict=True)
        )
        return f"Fixed({', '.join(parts)})"


def as_fixed(fixed: Any, structure: Structure) -> Fixed:
    """Return what a caller gave as `fixed`: nothing, a Fixed, or a mapping of kinds."""
    if fixed is None:
        return Fixed(structure)
    if isinstance(fixed, Mapping):
        _check_kinds(fixed)
        return Fixed(structure, **fixed)
    if not isinstance(fixed, Fixed):
        raise ParameterError(
            "fixed must be a Fixed or a mapping of priors, failures and leaks, not "
            f"{type(fixed).__name__}."
        )
    if fixed.structure != structure:
        raise ParameterError("fixed belongs to another structure than the one to be learned.")
    return fixed


def _check_kinds(kinds: Iterable[str]) -> None:
    for kind in kinds:
        if kind not in KINDS:
            raise ParameterError(
                f"there is no kind {quoted(kind)} to fix; known are {', '.join(KINDS)}."
            )


def _rebuild(structure: Structure, priors: Floats, failures: Floats, leaks: Floats) -> Fixed:
    return Fixed(structure, priors=priors, failures=failures, leaks=leaks)


def _checked(structure: Structure, kind: str, given: Any) -> Floats:
    """Return an array with NaN where nothing is given."""
    size = sizes_of(structure)[KINDS.index(kind)]
    values = np.full(size, np.nan)
    if isinstance(given, Mapping):
        for name, value in given.items():
            values[_index_of(structure, kind, name)] = _probability(kind, name, value)
        return values
    if given is None:
        return values
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"the fixed {kind} must be numbers.") from None
    if values.shape != (size,):
        raise ParameterError(
            f"expected {size} {kind} (NaN where they are to be learned), not an array of shape "
            f"{values.shape}."
        )
    for wrong in np.flatnonzero((values < 0.0) | (values > 1.0)):
        _probability(kind, int(wrong), float(values[wrong]))
    return values


def _index_of(structure: Structure, kind: str, name: Any) -> int:
    """Return the index of a prior's disease, a leak's symptom or a failure's edge."""
    if kind == "priors":
        return structure.disease_index(name)
    if kind == "leaks":
        return structure.symptom_index(name)
    if not isinstance(name, tuple | list) or len(name) != 2:
        raise ParameterError(f"a failure's name is (disease, symptom), not {quoted(name)}.")
    return structure.edge_index(*name)


def _probability(kind: str, name: Any, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not 0.0 <= number <= 1.0:
        raise ParameterError(
            f"{kind} must lie between 0 and 1; that of {quoted(name)} is given as {quoted(value)}."
        )
    return number


def _no_values(structure: Structure) -> dict[str, Floats]:
    return {kind: np.full(n, np.nan) for kind, n in zip(KINDS, sizes_of(structure), strict=True)}


# --- tables with a row per parameter ---

OF_CAUSES = ("share", "intercept", "loading", "effect", "prevalence")
"""What a summary says besides of how diseases occur together, and depend on covariates."""


@dataclass(frozen=True, slots=True)
class ParameterRow:
    """A row of a table of parameters."""

    location: RowLocation
    kind: str
    name: Any
    index: int
    """Among the parameters of its kind."""
    cells: Mapping[str, Any]
    """Of the columns that were asked for; None where one is empty."""

    @property
    def flags(self) -> Flag:
        """The flags of the parameter; none where the table has no columns of flags."""
        return flags_of_row(self.location, self.cells)[0]


def parameter_rows(
    path: PathLike, structure: Structure, columns: Mapping[str, ColumnKind]
) -> Iterator[ParameterRow]:
    """Read columns, and flags, of a table with a row per parameter, such as a summary.

    A parameter that stands there twice is an error: nobody knows which row is right. Rows that say
    how diseases occur together are passed over.
    """
    table = open_table(path)
    names = {"parameter": ColumnKind.TEXT, "disease": ColumnKind.NAME, "symptom": ColumnKind.NAME}
    needed = {**names, **columns}
    need_columns(table, needed)
    flags = {name: ColumnKind.TEXT for name in FLAG_COLUMNS if name in table.column_names}
    row, first = 0, dict[tuple[str, int], RowLocation]()
    for batch in table.batches({**needed, **flags}):
        for cells in batch.to_pylist():
            location = RowLocation(table, row)
            row += 1
            if cells["parameter"] in OF_CAUSES:
                continue
            kind, name = _parameter_name(location, *(cells[column] for column in names))
            try:
                index = _index_of(structure, kind, name)
            except NoisyOrError as error:
                raise FileError(f"{location}: {error}") from None
            before = first.setdefault((kind, index), location)
            if before is not location:
                raise FileError(f"{location}: the same parameter was given before ({before}).")
            yield ParameterRow(location, kind, name, index, cells)


def _parameter_name(
    location: RowLocation, parameter: str, disease: str | None, symptom: str | None
) -> tuple[str, Any]:
    """Return kind and name of a parameter, or say what is wrong with them."""
    names = {"prior": disease, "failure": (disease, symptom), "leak": symptom}
    if parameter not in names:
        raise FileError(
            f"{location}, column 'parameter': {quoted(parameter)} is not prior, failure or leak."
        )
    unneeded = {"prior": symptom, "leak": disease}.get(parameter)
    if unneeded:
        raise FileError(f"{location}: a {parameter} has nothing to do with {quoted(unneeded)}.")
    return f"{parameter}s", names[parameter]


def read_standard_errors(path: PathLike, structure: Structure) -> Parameters:
    """Read standard errors from what `Estimate.save_summary` wrote; NaN where a row has none."""
    errors = _no_values(structure)
    for row in parameter_rows(path, structure, {"standard_error": ColumnKind.NUMBER}):
        error = row.cells["standard_error"]
        if error is not None and not 0.0 <= error < np.inf:
            raise FileError(
                f"{row.location}, column 'standard_error': {quoted(error)} is not a number from 0; "
                "leave the cell empty where there is none."
            )
        errors[row.kind][row.index] = np.nan if error is None else error
    return Parameters(**errors)


def check_summary(path: PathLike, structure: Structure, values: Parameters) -> None:
    """Raise an error unless a summary is that of the network that has these values.

    Errors of another network would look like those of this one. A table without values, which is
    no summary, can only be compared by its names.
    """
    if "value" not in open_table(path).column_names:
        return
    seen = {kind: np.zeros(len(part), np.bool_) for kind, part in _no_values(structure).items()}
    for row in parameter_rows(path, structure, {"value": ColumnKind.NUMBER}):
        value, here = row.cells["value"], float(getattr(values, row.kind)[row.index])
        if value is not None and not abs(value - here) <= 1e-6:
            raise FileError(
                f"{row.location}: the value is {value:g}, but {here:g} in the network; give the "
                "summary that was written with this network."
            )
        seen[row.kind][row.index] = True
    n_missing = sum(int((~each).sum()) for each in seen.values())
    if n_missing:
        raise FileError(
            f"{path} has no row for {count_of(n_missing, 'parameter')} of the network; give the "
            "summary that was written with this network."
        )


def read_parameter_flags(path: PathLike, structure: Structure) -> Parameters:
    """Read flags from what `Estimate.save_summary` wrote; none for parameters without a row."""
    flags = {kind: np.zeros(len(part), np.uint16) for kind, part in _no_values(structure).items()}
    for row in parameter_rows(path, structure, {}):
        found, unknown = flags_of_row(row.location, row.cells)
        if unknown:
            raise FileError(f"{row.location}, column 'flags': {quoted(unknown[0])} is not a flag.")
        flags[row.kind][row.index] = found
    return Parameters(**flags)
