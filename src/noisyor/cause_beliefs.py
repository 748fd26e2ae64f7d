"""CauseBelief: what is known beforehand of how diseases occur together, and depend on covariates.

Loadings of traits and effects of covariates are numbers on the scale of log odds: a belief of one
is a value and its standard error, a normal distribution. A share of a joint distribution is
believed as probabilities are: a value and how many cases it is worth.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from noisyor.errors import FileError, NoisyOrError, ParameterError, quoted
from noisyor.io.columns import ColumnKind
from noisyor.io.paths import PathLike
from noisyor.io.tables import RowLocation, open_table
from noisyor.names import Name
from noisyor.structure import Structure

CAUSE_KINDS = {"loadings": "loading", "effects": "effect", "shares": "share"}
"""What can be known of how diseases occur together, and what one of each is called."""
FOLLOWING = ("intercept", "prevalence")
"""Rows of a summary that follow from P(disease) and the others."""
THE_TRAIT, NONE = "trait", "none"
"""The names of the only trait, and of the share of people who have no disease."""
MOST_LOADING = 30.0


class CauseBelief(NamedTuple):
    """What is known of a loading, of an effect of a covariate, or of a share."""

    parameter: str
    """loading, effect or share."""
    disease: str | None
    """None of a share."""
    name: str
    """The trait, the covariate (with its level, `sex=f`), or the diseases of a share."""
    value: float
    weight: float
    """Cases that a share is worth; 1 / error^2 of a loading or an effect; infinite: it is fixed."""

    @property
    def is_fixed(self) -> bool:
        """True if it keeps its value."""
        return bool(np.isinf(self.weight))

    @property
    def error(self) -> float | None:
        """The standard error of what is believed of a loading or effect."""
        return None if self.parameter == "share" else float(1.0 / np.sqrt(self.weight))

    @property
    def key(self) -> tuple[str, str | None, str]:
        """What it is about."""
        return self.parameter, self.disease, self.name

    @classmethod
    def from_document(cls, content: Mapping[str, Any]) -> "CauseBelief":
        """Read it from a model file."""
        disease, weight = content["disease"], float(content["weight"])
        value = float(content["value"])
        if content["parameter"] not in CAUSE_KINDS.values() or not weight > 0.0:
            raise ValueError("'beliefs' has causes that are no loadings, effects or shares")
        disease = None if disease is None else str(disease)
        return cls(str(content["parameter"]), disease, str(content["name"]), value, weight)

    def __str__(self) -> str:
        if self.parameter == "share":
            return f"the share {quoted(self.name)}"
        return f"the {self.parameter} of {quoted(self.disease)} on {quoted(self.name)}"


def cause_beliefs(structure: Structure, kind: str, given: Any) -> Iterator[CauseBelief]:
    """Return what a mapping from names says of a kind: loadings, effects or shares.

    >>> structure = Structure.from_edges([("flu", "fever"), ("flu", "cough")])
    >>> next(cause_beliefs(structure, "loadings", {"flu": (1.0, 0.5)}))
    CauseBelief(parameter='loading', disease='flu', name='trait', value=1.0, weight=4.0)
    """
    if given is None:
        return
    parameter = CAUSE_KINDS[kind]
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"{kind} are a mapping from names to values, not {type(given).__name__}."
        )
    for name, value in given.items():
        yield _checked(parameter, *_named(structure, parameter, name), value)


def read_cause_beliefs(
    path: PathLike, structure: Structure, has_prior: Iterable[bool]
) -> tuple[CauseBelief, ...]:
    """Read the rows of a table of beliefs that say how diseases occur together.

    Their name stands in a column `name`. Intercepts and prevalences follow from the priors of
    their diseases, which must stand there, too; they are passed over.
    """
    table = open_table(path)
    kinds = {"parameter": ColumnKind.TEXT, "disease": ColumnKind.NAME, "value": ColumnKind.NUMBER}
    more = {"name": ColumnKind.TEXT, "weight": ColumnKind.NUMBER, "error": ColumnKind.NUMBER}
    wanted = kinds | {each: more[each] for each in more if each in table.column_names}
    found, row = [], 0
    priors = dict(zip(structure.diseases, has_prior, strict=True))
    for batch in table.batches(wanted):
        for cells in batch.to_pylist():
            location, row = RowLocation(table, row), row + 1
            if cells["parameter"] in FOLLOWING and not priors.get(cells["disease"]):
                raise FileError(
                    f"{location}: this {cells['parameter']} follows from P(disease), the loadings "
                    "and the effects: give a row of the prior instead."
                )
            if cells["parameter"] in CAUSE_KINDS.values():
                found.append(_of_row(location, structure, cells))
    return tuple(found)


def check_once(beliefs: Iterable[CauseBelief]) -> None:
    """Refuse what is given twice."""
    seen = set()
    for each in beliefs:
        if each.key in seen:
            raise ParameterError(
                f"{each} is given twice: as fixed and as a belief, or in two rows; give it once."
            )
        seen.add(each.key)


def _of_row(location: RowLocation, structure: Structure, cells: Mapping[str, Any]) -> CauseBelief:
    parameter, disease, name = cells["parameter"], cells["disease"] or None, cells.get("name")
    weight, error = cells.get("weight"), cells.get("error")
    is_share = parameter == "share"
    if (error if is_share else weight) is not None:
        raise FileError(
            f"{location}: the belief of a {parameter} has "
            + ("a weight, how many cases it is worth, and no error."
               if is_share else "an error, its standard deviation, and no weight.")
        )  # fmt: skip
    if is_share and disease is not None:
        raise FileError(f"{location}: the diseases of a share stand in the column 'name'.")
    if (not is_share and disease is None) or (parameter != "loading" and not name):
        what = "the diseases, parted by ' + '" if is_share else "a disease, and a covariate as name"
        raise FileError(f"{location}: this {parameter} needs {what}.")
    given = weight if is_share else error
    value = cells["value"] if given is None else (cells["value"], given)
    try:
        full = name if is_share else (disease, name or THE_TRAIT)
        return _checked(parameter, *_named(structure, parameter, full), value)
    except NoisyOrError as problem:
        raise FileError(f"{location}: {problem}") from None


def _named(structure: Structure, parameter: str, name: Any) -> tuple[str | None, str]:
    """Return the disease and the name of a loading, an effect or a share."""
    if parameter == "share":
        return None, _name_of_share(structure, name)
    if parameter == "loading" and not isinstance(name, tuple | list):
        name = name, THE_TRAIT
    if not isinstance(name, tuple | list) or len(name) != 2 or not isinstance(name[1], str):
        second = "covariate" if parameter == "effect" else "trait"
        raise ParameterError(f"the name of each {parameter} is (disease, {second}), not {name!r}.")
    return structure.diseases[structure.disease_index(name[0])], name[1]


def _name_of_share(structure: Structure, name: Any) -> str:
    """Return the diseases of a share as tables name them: in the structure's order."""
    if isinstance(name, str):
        parts: list[Name] = [name]
        if name not in structure.diseases:
            parts = list(name.split(" + "))
        if name == NONE or name.startswith(f"{NONE} of "):
            return name
    elif isinstance(name, tuple | list | frozenset):
        parts = list(name)
    else:
        parts = [name]
    indices = sorted({structure.disease_index(each) for each in parts})
    return " + ".join(structure.diseases[i] for i in indices) or NONE


def _checked(parameter: str, disease: str | None, name: str, given: Any) -> CauseBelief:
    value, second = given if _is_pair(given) else (given, None)
    found = CauseBelief(parameter, disease, name, _number(value), np.inf)
    if isinstance(given, tuple | list) and not _is_pair(given):
        what = "weight" if parameter == "share" else "error"
        raise ParameterError(f"a belief of {found} is (value, {what}), not {quoted(given)}.")
    _check_value(found, value)
    if second is None:
        return found
    if parameter == "share":
        return found._replace(weight=_weight(found, second))
    error = _number(second)
    if not 0.0 < error < np.inf:
        raise ParameterError(
            f"the error of {found}, its standard deviation, is a number above 0, not "
            f"{quoted(second)}; the value alone fixes it."
        )
    return found._replace(weight=1.0 / error**2)


def _check_value(found: CauseBelief, given: Any) -> None:
    if found.parameter == "share":
        is_wrong, what = not 0.0 <= found.value <= 1.0, "a number from 0 to 1"
    elif found.parameter == "loading":
        is_wrong = not abs(found.value) <= MOST_LOADING
        what = f"a number of log odds, from {-MOST_LOADING:g} to {MOST_LOADING:g}"
    else:
        is_wrong, what = not np.isfinite(found.value), "a number of log odds"
    if is_wrong:
        raise ParameterError(f"{found} must be {what}, not {quoted(given)}.")


def _weight(found: CauseBelief, given: Any) -> float:
    weight = _number(given)
    if not 0.0 < weight <= 1e12 and not np.isposinf(weight):
        raise ParameterError(
            f"the weight of {found} is a number of cases above 0, not {quoted(given)}; inf fixes "
            "it."
        )
    if weight < np.inf and not 0.0 < found.value < 1.0:
        raise ParameterError(
            f"a belief of {weight:g} cases must lie between 0 and 1, and {found} is "
            f"{found.value:g}: say 1 / (2 * cases) from it, or fix it."
        )
    return weight


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple | list) and len(given) == 2


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
