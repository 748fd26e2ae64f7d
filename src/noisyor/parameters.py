"""Parameters: one entry per prior, failure and leak, in this order."""

from collections.abc import Callable, Iterator, Mapping
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
from noisyor.structure import Structure

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

KINDS = ("priors", "failures", "leaks")
REACH = 1.96
"""Standard errors from a value to each end of its 95% interval."""
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


def intervals_of(
    values: Floats, errors: Floats, *, by_log_odds: bool = False
) -> tuple[Floats, Floats]:
    """Return 95% intervals, of equal length on both sides and cut at 0 and 1, or by log odds.

    The likelihood of priors is skewed: small ones are known up to a factor.

    >>> intervals_of(np.array([0.1]), np.array([0.1]))[0]
    array([0.])
    >>> intervals_of(np.array([0.1]), np.array([0.1]), by_log_odds=True)[0].round(3)
    array([0.012])
    """
    margin = REACH * errors
    if not by_log_odds:
        return np.maximum(values - margin, 0.0), np.minimum(values + margin, 1.0)
    center, margin = log_odds(values, 1e-12), margin / np.maximum(values * (1.0 - values), 1e-12)
    ends = from_log_odds(center - margin, 700.0), from_log_odds(center + margin, 700.0)
    # What is certain stays as it is, to the last digit.
    lower, upper = (np.where(errors == 0.0, values, end) for end in ends)
    return lower, upper


def parameter_intervals(values: Parameters, errors: Parameters) -> tuple[Parameters, Parameters]:
    """Return the ends of 95% intervals of all parameters, from their standard errors alone.

    Those of priors are by log odds, those of failures and leaks of equal length.
    """
    ends = [
        intervals_of(value, error, by_log_odds=kind == "priors")
        for kind, value, error in zip(KINDS, values, errors, strict=True)
    ]
    lower, upper = zip(*ends, strict=True)
    return Parameters(*lower), Parameters(*upper)


def index_of(structure: Structure, kind: str, name: Any) -> int:
    """Return the index of a prior's disease, a leak's symptom or a failure's edge."""
    if kind == "priors":
        return structure.disease_index(name)
    if kind == "leaks":
        return structure.symptom_index(name)
    if not isinstance(name, tuple | list) or len(name) != 2:
        raise ParameterError(f"a failure's name is (disease, symptom), not {quoted(name)}.")
    return structure.edge_index(*name)


def no_values(structure: Structure) -> dict[str, Floats]:
    """Return NaN for every parameter, by kind."""
    return {kind: np.full(n, np.nan) for kind, n in zip(KINDS, sizes_of(structure), strict=True)}


# --- tables with a row per parameter ---

OF_CAUSES = ("share", "intercept", "loading", "effect", "prevalence")
"""What a summary says besides of how diseases occur together, and depend on covariates."""

SUMMARY_COLUMNS = (
    "standard_error", "lower", "upper", "depth", "moments", *FLAG_COLUMNS,
    "belief", "belief_error", "weight", "records_alone", "records_alone_error", "is_contradicted",
)  # fmt: skip
"""What a summary has besides names and values."""


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
                index = index_of(structure, kind, name)
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
    errors = no_values(structure)
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
    seen = {kind: np.zeros(len(part), np.bool_) for kind, part in no_values(structure).items()}
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
    flags = {kind: np.zeros(len(part), np.uint16) for kind, part in no_values(structure).items()}
    for row in parameter_rows(path, structure, {}):
        found, unknown = flags_of_row(row.location, row.cells)
        if unknown:
            raise FileError(f"{row.location}, column 'flags': {quoted(unknown[0])} is not a flag.")
        flags[row.kind][row.index] = found
    return Parameters(**flags)
