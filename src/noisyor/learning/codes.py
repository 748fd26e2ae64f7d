"""Codes: columns that say of one disease whether a record has it, and can be wrong.

A billing code, a positive test, a word in a letter is a noisy sign of one disease: a symptom with
that disease as its only parent. With its failure f and leak l it has

    sensitivity = P(code | disease) = 1 - f (1 - l)
    specificity = P(no code | no disease) = 1 - l

which are learned with all else, or believed. A code without false positives, l = 0, is an anchor
(Halpern, Choi, Horng and Sontag 2014).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from noisyor.beliefs import Beliefs, check_weight
from noisyor.errors import FileError, NoisyOrError, ParameterError, quoted
from noisyor.flags import Flag
from noisyor.io.columns import ColumnKind
from noisyor.io.paths import PathLike
from noisyor.io.result_tables import ResultTable
from noisyor.io.tables import RowLocation, check_unread, need_columns, open_table
from noisyor.learning.estimate import Estimate
from noisyor.names import Name
from noisyor.parameters import Floats, intervals_of
from noisyor.structure import Structure


class Code(NamedTuple):
    """A noisy sign of a disease; its rates are (value, weight in cases), or fixed values."""

    disease: Name
    sensitivity: Any = None
    """P(code | disease), whatever else makes it present; None: it is to be learned."""
    specificity: Any = None
    """None: it is to be learned; 1: it is an anchor."""


class Codes:
    """Codes of some diseases, beside the symptoms of a structure.

    Parameters
    ----------
    structure
        The diseases, symptoms and edges, without the codes, or with some of them.
    codes
        From the name of each code, a column of the records, to its disease, or to a `Code` with
        what is believed of its sensitivity and specificity.

    Attributes
    ----------
    structure
        The structure with a symptom more for each code.
    beliefs
        What is believed of the codes.

    Examples
    --------
    >>> from noisyor import Structure
    >>> from noisyor.learning import Code, Codes
    >>> structure = Structure.from_edges([("asthma", "wheeze"), ("asthma", "cough")])
    >>> codes = Codes(structure, {"J45": Code("asthma", sensitivity=(0.8, 50), specificity=1)})
    >>> codes.structure.symptoms
    ('wheeze', 'cough', 'J45')
    >>> codes.beliefs
    Beliefs(0 of 1 priors, 1 of 3 failures, 1 of 3 leaks; 1 of them fixed)
    """

    def __init__(self, structure: Structure, codes: Mapping[Name, Name | Code]) -> None:
        self.codes = {
            name: code if isinstance(code, Code) else Code(code) for name, code in codes.items()
        }
        if not self.codes:
            raise ParameterError("there are no codes: give a disease for each of some columns.")
        self.structure = _extended(structure, self.codes)
        self.beliefs = _beliefs_of(self.structure, self.codes)

    @classmethod
    def load(cls, path: PathLike, structure: Structure) -> "Codes":
        """Read a table with the columns code and disease, and perhaps sensitivity, specificity.

        And weight: in cases, that what is said of both is worth; without, it is fixed. A
        specificity of 1 is fixed in any case: the code is an anchor.
        """
        table, row = open_table(path), 0
        names = {"code": ColumnKind.NAME, "disease": ColumnKind.NAME}
        need_columns(table, names)
        rates = ("sensitivity", "specificity", "weight")
        check_unread(table, rates, names)
        numbers = {name: ColumnKind.NUMBER for name in rates if name in table.column_names}
        codes: dict[Name, Code] = {}
        for batch in table.batches({**names, **numbers}):
            for cells in batch.to_pylist():
                location, row = RowLocation(table, row), row + 1
                if cells["code"] in codes:
                    raise FileError(f"{location}: the code {quoted(cells['code'])} stands twice.")
                said = _said(
                    cells.get("sensitivity"), cells.get("specificity"), cells.get("weight")
                )
                if cells.get("weight") is not None and said == (None, None):
                    raise FileError(
                        f"{location}: there is a weight, but neither sensitivity nor specificity "
                        "to which it belongs."
                    )
                codes[cells["code"]] = Code(cells["disease"], *said)
                try:
                    _check_rates(cells["code"], codes[cells["code"]])
                except NoisyOrError as error:
                    raise FileError(f"{location}: {error}") from None
        try:
            return cls(structure, codes)
        except NoisyOrError as error:
            raise FileError(f"{table.name}: {error}") from None

    def summary(self, estimate: Estimate) -> ResultTable:
        """Return a row per code: its sensitivity and specificity with standard errors, intervals.

        Both are functions of the code's failure and leak, whose errors count together. The interval
        of a specificity is that of the leak, 1 - specificity.
        """
        structure, rows, miss_errors = estimate.structure, [], self._miss_errors(estimate)
        for name, code in self.codes.items():
            edge = structure.edge_index(code.disease, name)
            index = structure.symptom_index(name)
            leak, leak_error = estimate.values.leaks[index], estimate.standard_errors.leaks[index]
            missed = estimate.values.failures[edge] * (1.0 - leak)
            if self.beliefs.mask.failures[edge] and miss_errors[edge] == 0.0:  # to the last digit
                missed = self.beliefs.values.failures[edge]
            rows.append([1.0 - missed, miss_errors[edge], 1.0 - leak, leak_error])
        sensitivity, s_error, specificity, p_error = np.array(rows).T
        leaks = [structure.symptom_index(name) for name in self.codes]
        lowest, highest = (ends.leaks[leaks] for ends in estimate.intervals())
        columns: dict[str, Any] = {
            "code": list(self.codes),
            "disease": [code.disease for code in self.codes.values()],
        }
        for kind, values, errors, (lower, upper) in (
            ("sensitivity", sensitivity, s_error, _intervals(sensitivity, s_error)),
            ("specificity", specificity, p_error, (1.0 - highest, 1.0 - lowest)),
        ):
            columns |= {
                kind: values,
                f"{kind}_error": pa.array(errors, from_pandas=True),
                f"{kind}_lower": pa.array(lower, from_pandas=True),
                f"{kind}_upper": pa.array(upper, from_pandas=True),
            }
        return ResultTable(columns, "code")

    def _miss_errors(self, estimate: Estimate) -> Floats:
        """Return the standard errors of 1 - sensitivity: 0 where it is fixed, NaN where flagged."""
        is_fixed = self.beliefs.mask.failures & ((estimate.flags.failures & Flag.CLIPPED) == 0)
        has_none = np.isnan(estimate.standard_errors.failures) | self.beliefs.mask.failures
        found = np.where(has_none, np.nan, estimate.errors_of_misses())
        return np.where(is_fixed, 0.0, found)


def _intervals(values: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Return 95% intervals by log odds, but near 0 and 1 of equal length.

    There log odds have errors above 1, and their intervals hold nearly everything.

    >>> lower, upper = _intervals(np.array([0.9, 0.9999]), np.array([0.02, 0.001]))
    >>> lower.round(3), upper.round(3)
    (array([0.853, 0.998]), array([0.933, 1.   ]))
    """
    by_log_odds = intervals_of(values, errors, by_log_odds=True)
    is_near = errors > values * (1.0 - values)
    even = intervals_of(values, errors)
    lower, upper = (np.where(is_near, *each) for each in zip(even, by_log_odds, strict=True))
    return lower, upper


def _said(sensitivity: Any, specificity: Any, weight: Any) -> tuple[Any, Any]:
    """Return what a row of a table says of both rates, with its weight."""
    if weight is None:
        return sensitivity, specificity
    is_anchor = specificity == 1.0
    return (
        None if sensitivity is None else (sensitivity, weight),
        specificity if specificity is None or is_anchor else (specificity, weight),
    )


def _check_rates(name: Name, code: Code) -> None:
    """Refuse rates that are no probabilities, and beliefs at 0 or 1."""
    for kind in "sensitivity", "specificity":
        given = getattr(code, kind)
        if given is None:
            continue
        value, weight = _rate(name, kind, given)
        if weight is not None and not 0.0 < value < 1.0:
            raise ParameterError(
                f"the {kind} of {quoted(name)}, a belief of {weight:g} cases, must lie between 0 "
                f"and 1, and is {value:g}: say 1 / (2 * cases) from it, or fix it (no weight)."
            )


def as_codes(codes: Any, structure: Structure) -> Codes | None:
    """Return what a caller gave as codes: nothing, Codes or a mapping."""
    if codes is None or isinstance(codes, Codes):
        return codes
    if not isinstance(codes, Mapping):
        raise ParameterError(
            f"codes must be a mapping from columns to diseases, not {type(codes).__name__}."
        )
    return Codes(structure, codes)


def _extended(structure: Structure, codes: Mapping[Name, Code]) -> Structure:
    """Return the structure with a symptom for each code that it does not have already."""
    new = [name for name in codes if name not in structure.symptoms]
    edges = structure.edges.tolist()
    for number, name in enumerate(new):
        disease = structure.disease_index(codes[name].disease)
        edges.append([disease, structure.n_symptoms + number])
    found = Structure(structure.diseases, [*structure.symptoms, *map(str, new)], edges)
    for name, code in codes.items():
        parents = found.parents(found.symptom_index(name)).tolist()
        if parents != [found.disease_index(code.disease)]:
            raise ParameterError(
                f"{quoted(name)} is a symptom already, and not of {quoted(code.disease)} alone: a "
                "code is a sign of one disease."
            )
    return found


def _beliefs_of(structure: Structure, codes: Mapping[Name, Code]) -> Beliefs:
    """Return what sensitivities and specificities say of failures and leaks.

    A sensitivity is 1 - the miss rate, f (1 - l); where l is 0, that is the failure.
    """
    failures: dict[Any, Any] = {}
    leaks: dict[Any, Any] = {}
    is_rate = np.zeros(structure.n_edges, dtype=np.bool_)
    for name, code in codes.items():
        _check_rates(name, code)
        silent = 1.0
        if code.specificity is not None:
            silent, weight = _rate(name, "specificity", code.specificity)
            leaks[name] = 1.0 - silent if weight is None else (1.0 - silent, weight)
        if code.sensitivity is not None:
            sensitivity, weight = _rate(name, "sensitivity", code.sensitivity)
            if sensitivity < 1.0 - silent:
                raise ParameterError(
                    f"code {quoted(name)} has a sensitivity of {sensitivity:g} and a specificity "
                    f"of {silent:g}: it would be there more often without {quoted(code.disease)} "
                    "than with it, which a noisy-or cannot be. Correct them, or invert the column."
                )
            missed = 1.0 - sensitivity
            failures[code.disease, name] = missed if weight is None else (missed, weight)
            is_anchor = code.specificity is not None and leaks[name] == 0.0
            is_rate[structure.edge_index(code.disease, name)] = not is_anchor
    found = Beliefs(structure, failures=failures, leaks=leaks)
    return Beliefs.weighted(structure, found.given, found.weights, is_rate)


def _rate(name: Name, kind: str, given: Any) -> tuple[float, float | None]:
    """Return a rate, and its weight or None where it is fixed."""
    value, weight = given if isinstance(given, tuple | list) and len(given) == 2 else (given, None)
    if not isinstance(value, int | float | np.number) or not 0.0 <= value <= 1.0:
        raise ParameterError(
            f"the {kind} of {quoted(name)} must lie between 0 and 1, or be such a value and its "
            f"weight in cases; it is given as {quoted(given)}."
        )
    if weight is not None:
        check_weight(name, weight)
    return float(value), weight
