"""Beliefs: what is known of parameters beforehand, a value and how many cases it is worth.

A belief of weight w is the Beta distribution that w cases would have led to, a share `value` of
them true; one of infinite weight is a value that learning keeps: it is fixed.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from noisyor.cause_beliefs import (
    CAUSE_KINDS,
    CauseBelief,
    cause_beliefs,
    check_once,
    read_cause_beliefs,
)
from noisyor.errors import FileError, NoisyOrError, ParameterError, quoted
from noisyor.flags import Flag
from noisyor.immutable import Immutable
from noisyor.io.columns import ColumnKind
from noisyor.io.paths import PathLike
from noisyor.io.tables import RowLocation, check_unread, open_table
from noisyor.miss_rates import MissRates
from noisyor.names import Name
from noisyor.parameters import (
    KINDS,
    MARGIN,
    SUMMARY_COLUMNS,
    Booleans,
    Floats,
    Parameters,
    index_of,
    no_values,
    parameter_rows,
    sizes_of,
)
from noisyor.structure import Structure

Given = tuple[Floats, Floats]
"""Values, NaN where nothing is known, and their weights."""


READ_COLUMNS = "parameter", "disease", "symptom", "value", "name", "error"
"""What is read of a table of beliefs, besides weights."""
MOST_CASES = 1e12
"""Beyond it nothing but rounding errors would be left of what records say."""
FEWEST_CASES = 5.0
"""Cases from which on something counts as known; of fewer, a disease's parameters are a guess."""


class Beliefs(Immutable):
    """What is believed of some parameters: values and weights in cases; immutable.

    Parameters
    ----------
    structure
        The diseases, symptoms and edges.
    priors, failures, leaks
        Mappings from names to (value, weight), or to a value alone, which is then fixed: a belief
        of infinite weight. A failure's name is disease and symptom. Or an array of fixed values
        for each in the structure's order, NaN where it is to be learned.
    loadings, effects
        Of diseases that depend on traits and covariates: mappings to (value, standard error), or
        to a value alone, which is then fixed. The name of a loading is its disease, or disease and
        trait ("trait 2"); that of an effect is disease and covariate ("age", "sex=f").
    shares
        Of a joint distribution: a mapping from the diseases that are present, `("flu", "cold")`, or
        "none", to (value, weight), or to a value that is fixed.

    Examples
    --------
    >>> from noisyor import Beliefs, Structure
    >>> structure = Structure.from_edges([("flu", "fever"), ("flu", "cough")])
    >>> Beliefs(structure, priors={"flu": (0.02, 100)}, leaks={"fever": 0.001})
    Beliefs(1 of 1 priors, 0 of 2 failures, 1 of 2 leaks; 1 of them fixed)
    """

    __slots__ = ("given", "mask", "of_causes", "rates", "structure", "values", "weights")

    structure: Structure
    given: Parameters
    """All values, fixed ones too; NaN where nothing is known."""
    weights: Parameters
    """In cases: 0 where nothing is known, infinite where a value is fixed."""
    values: Parameters
    """The fixed values; NaN where a parameter is to be learned."""
    mask: Parameters
    """True where a parameter is fixed."""
    rates: MissRates
    """The codes of which a sensitivity is known: what stands for their failures is
    1 - sensitivity."""
    of_causes: tuple[CauseBelief, ...]
    """What is known of how diseases occur together, and depend on covariates."""

    def __init__(
        self,
        structure: Structure,
        *,
        priors: Mapping[Name, Any] | Any = None,
        failures: Mapping[tuple[Name, Name], Any] | Any = None,
        leaks: Mapping[Name, Any] | Any = None,
        loadings: Mapping[Any, Any] | None = None,
        effects: Mapping[tuple[Name, str], Any] | None = None,
        shares: Mapping[Any, Any] | None = None,
    ) -> None:
        if not isinstance(structure, Structure):
            raise ParameterError(f"expected a Structure, not {type(structure).__name__}.")
        given = zip(KINDS, (priors, failures, leaks), strict=True)
        checked = [_checked(structure, kind, each) for kind, each in given]
        more = zip(CAUSE_KINDS, (loadings, effects, shares), strict=True)
        of_causes = [found for kind, each in more for found in cause_beliefs(structure, kind, each)]
        values, weights = (Parameters(*each) for each in zip(*checked, strict=True))
        self._put(structure, values, weights, of_causes=tuple(of_causes))

    @classmethod
    def weighted(
        cls,
        structure: Structure,
        given: Parameters,
        weights: Parameters,
        rates: Booleans | None = None,
        of_causes: tuple[CauseBelief, ...] = (),
    ) -> "Beliefs":
        """Return beliefs from values, NaN where there is none, and weights of all parameters.

        `rates` are the edges to codes whose miss rates are given, in place of failures.
        """
        found = Beliefs.__new__(Beliefs)
        found._put(structure, given, weights, rates, of_causes)
        return found

    def _put(
        self,
        structure: Structure,
        given: Parameters,
        weights: Parameters,
        rates: Booleans | None = None,
        of_causes: tuple[CauseBelief, ...] = (),
    ) -> None:
        check_once(of_causes)
        self.structure, self.given, self.weights = structure, given, weights
        self.of_causes = of_causes
        none = np.zeros(structure.n_edges, dtype=np.bool_)
        self.rates = MissRates.of(structure, none if rates is None else rates)
        self.mask = weights.map(np.isinf)
        self.values = self.mask.map(lambda here, value: np.where(here, value, np.nan), given)
        self._seal()

    @classmethod
    def of(cls, network: Any, *kinds: str) -> Self:
        """Fix all "priors", "failures" or "leaks" at the values of a network."""
        if not isinstance(getattr(network, "parameters", None), Parameters):
            raise ParameterError(f"expected a NoisyOrNetwork, not {type(network).__name__}.")
        if not kinds:
            raise ParameterError(f"say what to fix: {', '.join(KINDS)}.")
        if set(kinds) & set(CAUSE_KINDS):
            raise ParameterError(
                "loadings, effects and shares are fixed one by one, by a mapping or by the rows of "
                "a summary."
            )
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
    def load(cls, path: PathLike, structure: Structure) -> "Beliefs":
        """Read a table with the columns parameter, disease, symptom, value and, perhaps, weight.

        Without a weight a value is fixed. It is a part of what `Estimate.save_summary` writes: the
        rows that are known (docs/formats.md). Rows of loadings, effects and shares have a column
        name, and those of loadings and effects an error in place of a weight.
        """
        values, weights = no_values(structure), no_values(structure)
        columns = {"value": ColumnKind.NUMBER}
        check_unread(open_table(path), ["weight"], READ_COLUMNS, SUMMARY_COLUMNS)
        for name in {"weight", "error"} & set(open_table(path).column_names):
            columns[name] = ColumnKind.NUMBER
        for row in parameter_rows(path, structure, columns):
            if row.flags & Flag.NOT_LEARNED:
                raise FileError(
                    f"{row.location}: the value was not learned, but is a neutral one; leave the "
                    "row out."
                )
            if row.cells.get("error") is not None:
                raise FileError(
                    f"{row.location}: what is believed of a probability has a weight, how many "
                    "cases it is worth, and no error."
                )
            value, weight = row.cells["value"], row.cells.get("weight")
            pair = value if weight is None else (value, weight)
            found = _located(row.location, row.kind, row.name, pair)
            values[row.kind][row.index], weights[row.kind][row.index] = found
        given, known = Parameters(**values), Parameters(**weights).map(_or_zero)
        of_causes = read_cause_beliefs(path, structure, known.priors > 0.0)
        if not np.isfinite(given.vector).any() and not of_causes:
            raise FileError(f"{path} has no row: there is nothing to fix.")
        return cls.weighted(structure, given, known, of_causes=of_causes)

    @classmethod
    def of_edges(cls, path: PathLike, structure: Structure) -> "Beliefs":
        """Read beliefs from a table of edges: disease, symptom, probability and weight.

        The probability of the symptom, caused by the disease alone, is 1 - failure.
        """
        values = no_values(structure)["failures"]
        weights = np.zeros(structure.n_edges)
        table, row = open_table(path), 0
        columns = {"disease": ColumnKind.NAME, "symptom": ColumnKind.NAME}
        numbers = {"probability": ColumnKind.NUMBER, "weight": ColumnKind.NUMBER}
        for batch in table.batches({**columns, **numbers}):
            for cells in batch.to_pylist():
                location, row = RowLocation(table, row), row + 1
                if cells["weight"] is None:
                    continue
                edge = cells["disease"], cells["symptom"]
                pair = cells["probability"], cells["weight"]
                probability, weight = _located(location, "probability", edge, pair)
                index = structure.edge_index(*edge)
                values[index], weights[index] = 1.0 - probability, weight
        nothing = Parameters.full(structure, 0.0)
        return cls.weighted(
            structure,
            Parameters(nothing.priors * np.nan, values, nothing.leaks * np.nan),
            Parameters(nothing.priors, weights, nothing.leaks),
        )

    @property
    def has_weighted(self) -> bool:
        """True if something is believed and not fixed."""
        return bool(self.cases.vector.any()) or any(not each.is_fixed for each in self.of_causes)

    @property
    def cases(self) -> Parameters:
        """The weights of what is not fixed, in cases."""
        return self.weights.map(lambda weight: np.where(np.isinf(weight), 0.0, weight))

    @property
    def means(self) -> Parameters:
        """What is believed of what is not fixed; 0.5 where nothing is."""
        return self.given.map(lambda value, cases: np.where(cases > 0.0, value, 0.5), self.cases)

    @property
    def edges(self) -> Booleans:
        """Which edges are fixed altogether: their failure and the prior of their disease."""
        owners = self.structure.edges[:, 0]
        return np.asarray(self.mask.failures & self.mask.priors[owners])

    def of_diseases(self, structure: Structure, kept: Any) -> "Beliefs":
        """Return the beliefs for a structure with some of the diseases and all of the edges."""
        given, weights = (
            Parameters(each.priors[kept], each.failures, each.leaks)
            for each in (self.given, self.weights)
        )
        return Beliefs.weighted(structure, given, weights, self.is_rate)

    @property
    def is_rate(self) -> Booleans:
        """Which edges have a miss rate in place of a failure."""
        found = np.zeros(self.structure.n_edges, dtype=np.bool_)
        found[self.rates.edges] = True
        return found

    def at_leaks(self, leaks: Floats) -> "Beliefs":
        """Return the same, with the failures that go with miss rates and these leaks."""
        if not self.rates.any:
            return self
        whole = Parameters(self.given.priors, self.given.failures, leaks)
        failures = self.rates.taken_out(whole).failures
        given = Parameters(self.given.priors, failures, self.given.leaks)
        return Beliefs.weighted(self.structure, given, self.weights)

    def knowing(self, labelled: Booleans, least: float = FEWEST_CASES) -> "Beliefs":
        """Return what need not be told by findings, as if it was fixed, whatever the values.

        What is fixed or believed, by so many cases at least, and all parameters of diseases that
        are labelled: in labelled records P(disease) and P(absent | disease) / P(absent | no
        disease) can be counted.
        """
        told = Parameters.of_diseases(self.structure, labelled, leaks=False)
        known = self.weights.map(lambda weight: weight >= least).map(np.logical_or, told)
        if known == self.mask:
            return self
        return Beliefs.weighted(
            self.structure,
            known.map(
                lambda here, value: np.where(here, np.nan_to_num(value, nan=0.5), np.nan),
                self.given,
            ),
            known.map(lambda here: np.where(here, np.inf, 0.0)),
        )

    def and_also(self, other: "Beliefs") -> "Beliefs":
        """Return these beliefs and others, about other parameters."""
        both = (self.weights.vector > 0.0) & (other.weights.vector > 0.0)
        if both.any():
            names = self.structure.parameter_sentences()
            raise ParameterError(
                f"{names[int(np.argmax(both))]} is given twice: as fixed and as a belief, or in "
                "two tables; give it once."
            )
        is_other = other.weights.map(lambda weight: weight > 0.0)
        return Beliefs.weighted(
            self.structure,
            is_other.map(np.where, other.given, self.given),
            is_other.map(np.where, other.weights, self.weights),
            self.is_rate | other.is_rate,
            self.of_causes + other.of_causes,
        )

    def apply(self, kind: str, values: Floats) -> Floats:
        """Return values of a kind with the fixed ones put in, a little inside of 0 and 1.

        Miss rates stay what they are: `apply_to` knows the leaks.
        """
        inner = np.clip(getattr(self.values, kind), MARGIN, 1.0 - MARGIN)
        return np.where(getattr(self.mask, kind), inner, values)

    def apply_to(self, values: Parameters) -> Parameters:
        """Return all values with the fixed ones put in."""
        rates = self.rates.put_in(values)
        found = Parameters(*(self.apply(kind, getattr(rates, kind)) for kind in KINDS))
        return self.rates.taken_out(found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Beliefs):
            return NotImplemented
        same = self.given == other.given and self.weights == other.weights
        same = same and np.array_equal(self.rates.edges, other.rates.edges)
        same = same and set(self.of_causes) == set(other.of_causes)
        return self.structure == other.structure and same

    def __hash__(self) -> int:
        return hash((self.structure, self.given, self.weights, frozenset(self.of_causes)))

    def __reduce__(self) -> tuple[Any, ...]:
        given = self.structure, self.given, self.weights, self.is_rate, self.of_causes
        return Beliefs.weighted, given

    def __repr__(self) -> str:
        n_fixed = int(self.mask.vector.sum()) + sum(each.is_fixed for each in self.of_causes)
        return f"Beliefs({self._counted()}; {n_fixed:,} of them fixed)"

    def _counted(self) -> str:
        found = [
            f"{int(np.count_nonzero(weights)):,} of {len(weights):,} {kind}"
            for kind, weights in zip(KINDS, self.weights, strict=True)
        ]
        kinds = [each.parameter for each in self.of_causes]
        return ", ".join(
            found
            + [f"{kinds.count(one):,} {kind}" for kind, one in CAUSE_KINDS.items() if one in kinds]
        )


class Fixed(Beliefs):
    """Values of some parameters, which learning keeps: beliefs of infinite weight.

    Parameters
    ----------
    structure
        The diseases, symptoms and edges.
    priors, failures, leaks
        Mappings from names to values (a failure's name is disease and symptom), or an array with
        a value for each in the structure's order, NaN where it is to be learned.
    loadings, effects, shares
        Mappings from names to values, as `Beliefs` takes them: a loading of 0 says that a disease
        does not depend on the trait.

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

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Fixed({self._counted()})"


def as_beliefs(given: Any, structure: Structure, more: Any = None) -> Beliefs:
    """Return what a caller gave as `fixed`, and as `beliefs`: nothing, Beliefs, or a mapping."""
    found = _as_beliefs(given, structure)
    if more is None:
        return found
    believed = _as_beliefs(more, structure)
    if isinstance(more, Mapping):
        _check_weighted(more)
    return found.and_also(believed)


def _as_beliefs(given: Any, structure: Structure) -> Beliefs:
    if given is None:
        return Beliefs(structure)
    if isinstance(given, Mapping):
        _check_kinds(given, (*KINDS, *CAUSE_KINDS))
        return Beliefs(structure, **given)
    if not isinstance(given, Beliefs):
        raise ParameterError(
            "fixed and beliefs must be Beliefs or a mapping of priors, failures and leaks, not "
            f"{type(given).__name__}."
        )
    if given.structure != structure:
        raise ParameterError("fixed belongs to another structure than the one to be learned.")
    return given


def _check_weighted(beliefs: Mapping[str, Any]) -> None:
    """Refuse a value without a weight among beliefs: it would be fixed."""
    for kind, each in beliefs.items():
        values = each if isinstance(each, Mapping) else {} if each is None else {"all": None}
        bare = [name for name, value in values.items() if not isinstance(value, tuple | list)]
        if bare:
            pair = "error" if kind in ("loadings", "effects") else "weight"
            raise ParameterError(
                f"beliefs, {kind} of {quoted(bare[0])}: a value alone would be fixed. Give (value, "
                f"{pair}); or fixed={{{kind!r}: ...}} where it is to stay as it is."
            )


def _check_kinds(kinds: Iterable[str], known: Iterable[str] = KINDS) -> None:
    for kind in kinds:
        if kind not in known:
            more = ""
            if kind == "intercepts":
                more = " Intercepts follow from P(disease) over all people: fix 'priors'."
            raise ParameterError(
                f"there is no kind {quoted(kind)} to fix; known are {', '.join(known)}.{more}"
            )


def _checked(structure: Structure, kind: str, given: Any) -> Given:
    """Return values, NaN where nothing is given, and weights."""
    size = sizes_of(structure)[KINDS.index(kind)]
    values, weights = np.full(size, np.nan), np.zeros(size)
    if isinstance(given, Mapping):
        for name, value in given.items():
            index = index_of(structure, kind, name)
            values[index], weights[index] = _pair(kind, name, value)
        return values, weights
    if given is None:
        return values, weights
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
    return values, np.where(np.isnan(values), 0.0, np.inf)


def _located(location: RowLocation, kind: str, name: Any, pair: Any) -> tuple[float, float]:
    try:
        return _pair(kind, name, pair)
    except NoisyOrError as error:
        raise FileError(f"{location}: {error}") from None


def _pair(kind: str, name: Any, given: Any) -> tuple[float, float]:
    """Return a value and its weight, from both or from a fixed value."""
    if not isinstance(given, tuple | list):
        return _probability(kind, name, given), np.inf
    if len(given) != 2:
        raise ParameterError(
            f"a belief is (value, weight), and that of {quoted(name)} is {quoted(given)}."
        )
    value, weight = _probability(kind, name, given[0]), check_weight(name, given[1])
    if weight < np.inf and not 0.0 < value < 1.0:
        raise ParameterError(
            f"a belief of {weight:g} cases must lie between 0 and 1, and that of {quoted(name)} is "
            f"{value:g}: say 1 / (2 * cases) from it, or fix it."
        )
    return value, weight


def check_weight(name: Any, given: Any) -> float:
    """Return a number of cases; refuse what is none."""
    weight = _number(given)
    if not weight > 0.0 or MOST_CASES < weight < np.inf:
        raise ParameterError(
            f"the weight of a belief is a number of cases above 0 and up to {MOST_CASES:g}; that "
            f"of {quoted(name)} is given as {quoted(given)}; inf fixes it."
        )
    return weight


def _or_zero(weights: Floats) -> Floats:
    return np.where(np.isnan(weights), 0.0, weights)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _probability(kind: str, name: Any, value: Any) -> float:
    number = _number(value)
    if not 0.0 <= number <= 1.0:
        raise ParameterError(
            f"{kind} must lie between 0 and 1; that of {quoted(name)} is given as {quoted(value)}."
        )
    return number
