"""Fixed: parameters whose values are known, held at them in learning."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import FileError, NoisyOrError, ParameterError
from noisyor.flags import FLAG_COLUMNS, Flag, flags_of_row
from noisyor.immutable import Immutable
from noisyor.io.paths import PathLike
from noisyor.names import Name
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

KINDS = ("priors", "failures", "leaks")
MARGIN = 1e-6
"""In learning 0 and 1 are held at this distance, so that no logarithm is infinite."""


class Fixed(Immutable):
    """Values of some parameters; immutable.

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

    __slots__ = ("failures", "leaks", "priors", "structure")

    priors: Floats
    failures: Floats
    leaks: Floats

    def __init__(
        self,
        structure: Structure,
        *,
        priors: Mapping[Name, float] | Any = None,
        failures: Mapping[tuple[Name, Name], float] | Any = None,
        leaks: Mapping[Name, float] | Any = None,
    ) -> None:
        if not isinstance(structure, Structure):
            raise ParameterError(f"a Structure is wanted, not {type(structure).__name__}.")
        self.structure = structure
        self.priors = _values(structure, "priors", priors)
        self.failures = _values(structure, "failures", failures)
        self.leaks = _values(structure, "leaks", leaks)
        self._seal()

    @classmethod
    def of(cls, network: NoisyOrNetwork, *kinds: str) -> Self:
        """Hold all "priors", "failures" or "leaks" at the values of a network."""
        if not isinstance(network, NoisyOrNetwork):
            raise ParameterError(f"a NoisyOrNetwork is wanted, not {type(network).__name__}.")
        if not kinds:
            raise ParameterError(f"say what to hold: {', '.join(KINDS)}.")
        unknown = [kind for kind in kinds if kind not in KINDS]
        if unknown:
            raise ParameterError(f"there is no kind {unknown[0]!r}; known: {', '.join(KINDS)}.")
        return cls(network.structure, **{kind: getattr(network, kind) for kind in kinds})

    @classmethod
    def load(cls, path: PathLike, structure: Structure) -> Self:
        """Read a table with the columns parameter, disease, symptom and value (docs/formats.md).

        It is a part of what `Estimate.save_summary` writes: the rows that are to be held.
        """
        found: dict[str, dict[Any, float]] = {kind: {} for kind in KINDS}
        for place, kind, name, value in parameter_rows(path, "value"):
            if name in found[kind]:
                raise FileError(f"{place}: the same parameter was given before.")
            found[kind][name] = value
            try:
                parameter_index(structure, kind, name)
                _probability(kind, name, value)
            except NoisyOrError as error:
                raise FileError(f"{place}: {error}") from None
        if not any(found.values()):
            raise FileError(f"{path} has no row: there is nothing to be held.")
        return cls(structure, **found)

    def holds(self, kind: str) -> Booleans:
        """Return which "priors", "failures" or "leaks" are held."""
        return np.asarray(np.isfinite(getattr(self, kind)))

    @property
    def given_edges(self) -> Booleans:
        """Which edges are known altogether: their failure and the prior of their disease."""
        owners = self.structure.edges[:, 0]
        return np.asarray(self.holds("failures") & self.holds("priors")[owners])

    def apply(self, kind: str, values: Floats) -> Floats:
        """Return values with those that are held in their places, a little inside of 0 and 1."""
        held = np.clip(getattr(self, kind), MARGIN, 1.0 - MARGIN)
        return np.where(self.holds(kind), held, values)

    def applied_to(self, network: NoisyOrNetwork) -> NoisyOrNetwork:
        """Return a network with the values that are held in their places."""
        return NoisyOrNetwork(
            network.structure, *(self.apply(kind, getattr(network, kind)) for kind in KINDS)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fixed):
            return NotImplemented
        return self.structure == other.structure and all(
            np.array_equal(getattr(self, kind), getattr(other, kind), equal_nan=True)
            for kind in KINDS
        )

    def __hash__(self) -> int:
        return hash((self.structure, *(getattr(self, kind).tobytes() for kind in KINDS)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.structure, self.priors, self.failures, self.leaks)

    def __repr__(self) -> str:
        parts = (
            f"{int(self.holds(kind).sum()):,} of {len(getattr(self, kind)):,} {kind}"
            for kind in KINDS
        )
        return f"Fixed({', '.join(parts)})"


def as_fixed(fixed: Any, structure: Structure) -> Fixed:
    """Return what a caller gave as `fixed`: nothing, a Fixed, or a mapping of kinds."""
    if fixed is None:
        return Fixed(structure)
    if isinstance(fixed, Mapping):
        unknown = [kind for kind in fixed if kind not in KINDS]
        if unknown:
            raise ParameterError(f"fixed has the key {unknown[0]!r}; known are {', '.join(KINDS)}.")
        return Fixed(structure, **fixed)
    if not isinstance(fixed, Fixed):
        raise ParameterError(
            f"fixed must be a Fixed or a mapping of priors, failures and leaks, not "
            f"{type(fixed).__name__}."
        )
    if fixed.structure != structure:
        raise ParameterError("fixed belongs to another structure than the one to be learned.")
    return fixed


def _rebuild(structure: Structure, priors: Floats, failures: Floats, leaks: Floats) -> Fixed:
    return Fixed(structure, priors=priors, failures=failures, leaks=leaks)


def _values(structure: Structure, kind: str, given: Any) -> Floats:
    """Return an array with NaN where nothing is given; sealed."""
    sizes = structure.n_diseases, structure.n_edges, structure.n_symptoms
    size = sizes[KINDS.index(kind)]
    values = np.full(size, np.nan)
    if isinstance(given, Mapping):
        for name, value in given.items():
            values[parameter_index(structure, kind, name)] = _probability(kind, name, value)
    elif given is not None:
        try:
            values = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError(f"the {kind} to be held must be numbers.") from None
        if values.shape != (size,):
            raise ParameterError(
                f"{size} {kind} are wanted (NaN where they are to be learned), not an array of the "
                f"shape {values.shape}."
            )
        for wrong in np.flatnonzero((values < 0.0) | (values > 1.0)):
            _probability(kind, int(wrong), float(values[wrong]))
    values.flags.writeable = False
    return values


def parameter_index(structure: Structure, kind: str, name: Any) -> int:
    """Return the number of a prior's disease, a leak's symptom or a failure's edge."""
    if kind == "priors":
        return structure.disease_index(name)
    if kind == "leaks":
        return structure.symptom_index(name)
    if not isinstance(name, tuple | list) or len(name) != 2:
        raise ParameterError(f"a failure's name is (disease, symptom), not {name!r}.")
    return structure.edge_index(*name)


def _probability(kind: str, name: Any, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not 0.0 <= number <= 1.0:
        raise ParameterError(
            f"{kind} must lie between 0 and 1; that of {name!r} is given as {value!r}."
        )
    return number


def parameter_rows(path: PathLike, wanted: str) -> Any:
    """Give place, kind, name and a value of each row of a table of parameters."""
    from noisyor.io.columns import ColumnKind
    from noisyor.io.tables import Place, need_columns, open_table

    table = open_table(path)
    columns = {
        "parameter": ColumnKind.TEXT,
        "disease": ColumnKind.NAME,
        "symptom": ColumnKind.NAME,
        wanted: ColumnKind.NUMBER,
    }
    need_columns(table, columns)
    flag_columns = [
        name for name in FLAG_COLUMNS if wanted == "value" and name in table.column_names
    ]
    columns |= dict.fromkeys(flag_columns, ColumnKind.TEXT)
    row = 0
    for batch in table.batches(columns):
        for parameter, disease, symptom, value, *flags in zip(
            *(column.to_pylist() for column in batch.columns), strict=True
        ):
            place = Place(table, row)
            names = {"prior": disease, "failure": (disease, symptom), "leak": symptom}
            unneeded = {"prior": symptom, "leak": disease}.get(parameter)
            if unneeded:
                raise FileError(f"{place}: a {parameter} has nothing to do with {unneeded!r}.")
            found, _ = flags_of_row(place, dict(zip(flag_columns, flags, strict=True)))
            if found & Flag.NOT_LEARNED:
                raise FileError(
                    f"{place}: the value was not learned, but is a neutral one; leave the row out."
                )
            if parameter not in names:
                raise FileError(
                    f"{place}, column 'parameter': {parameter!r} is not prior, failure or leak."
                )
            yield place, f"{parameter}s", names[parameter], value
            row += 1
