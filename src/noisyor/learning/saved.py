"""What a model file holds of an estimate beside its network: the key `learned` (docs/formats.md).

Counts and draws stay out, since they can be larger than the network by far; what misfits found in
the counts is kept as a `Verdict`. A schedule is kept where it is not the one that its structure and
its options give.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.beliefs import Beliefs
from noisyor.cause_beliefs import CauseBelief
from noisyor.em.runs import Trace
from noisyor.errors import FileError, NoisyOrError
from noisyor.flags import Flag
from noisyor.io.paths import PathLike
from noisyor.learning.doubtful_labels import LabelCheck
from noisyor.learning.learned_causes import LearnedCauses
from noisyor.learning.verdicts import Lineage, Verdict
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import KINDS, Floats, Parameters, sizes_of
from noisyor.schedule import Schedule, find_schedule
from noisyor.structure import Structure

DAMAGED = (NoisyOrError, AttributeError, KeyError, TypeError, ValueError, IndexError, OverflowError)


def learned_document(estimate: Any, verdict: Verdict | None) -> dict[str, Any]:
    """Return what is known of an estimate beside its network, for JSON."""
    found: dict[str, Any] = {
        "method": estimate.method,
        "n_records": int(estimate.n_records),
        "n_iter": int(estimate.n_iter),
        "standard_errors": _by_kind(estimate.standard_errors, _numbers),
        "depths": _by_kind(estimate.depths, np.ndarray.tolist),
        "schedule": _schedule_document(estimate.schedule, estimate.flags),
    }
    if not np.array_equal(estimate.values.priors, estimate.network.priors):
        found["priors"] = estimate.values.priors.tolist()
    if estimate.interval_ends is not None:
        lower, upper = estimate.interval_ends
        found["lower"], found["upper"] = _by_kind(lower, _numbers), _by_kind(upper, _numbers)
    for name in ("steps", "partners"):
        if getattr(estimate, name) is not None:
            found[name] = _by_kind(getattr(estimate, name), np.ndarray.tolist)
    if estimate.sources is not None:
        found["sources"] = _texts_document(estimate.sources)
    beliefs = estimate.beliefs
    if beliefs is not None and (beliefs.weights.vector.any() or beliefs.of_causes):
        found["beliefs"] = _beliefs_document(estimate)
    if estimate.explained:
        found["explained"] = [_plain(part._asdict()) for part in estimate.explained]
    if estimate.trace is not None:
        found["trace"] = _plain(vars(estimate.trace))
    if estimate.learned_causes is not None:
        known = vars(estimate.learned_causes)
        found["causes"] = {key: _plain(known[key]) for key in known if key != "causes"}
    parts = {"misfits": verdict, "labels": estimate.label_check}
    found |= {name: _plain(x.to_document()) for name, x in parts.items() if x is not None}
    if estimate.lineage is not None:
        found["lineage"] = _plain(estimate.lineage._asdict())
    if estimate.draws is not None:
        found["draws"] = _plain(estimate.draws.facts())
    return found


def _beliefs_document(estimate: Any) -> dict[str, Any]:
    beliefs = estimate.beliefs
    found: dict[str, Any] = {
        "values": _by_kind(beliefs.given, _numbers),
        "weights": _by_kind(beliefs.weights, _plain),
        "causes": [_plain(each._asdict()) for each in beliefs.of_causes],
    }
    if beliefs.rates.any:
        found["is_miss_rate"] = beliefs.is_rate.tolist()
        found["miss_errors"] = _numbers(estimate.errors_of_misses())
    return found


def learned_fields(
    learned: Any, network: NoisyOrNetwork, order: Indices, path: PathLike
) -> dict[str, Any]:
    """Return the fields of an estimate; `order` sorts the edges of the file.

    Parts of the clean-up come as mappings of their fields.
    """
    try:
        if not isinstance(learned, dict):
            raise TypeError("it must be an object")
        return _Reader(learned, network, order).fields()
    except DAMAGED as error:
        raise FileError(f"{path}: 'learned' is damaged: {error}.") from None


class _Reader:
    """Reads the key `learned` of one file."""

    def __init__(self, learned: Mapping[str, Any], network: NoisyOrNetwork, order: Indices) -> None:
        self._learned, self._network, self._order = learned, network, order
        self._structure = network.structure

    def fields(self) -> dict[str, Any]:
        learned, network = self._learned, self._network
        flags = network.flags or Parameters.full(self._structure, 0, np.uint16)
        priors = np.array(learned.get("priors", network.priors), dtype=np.float64)
        self._check_size("priors", priors, self._structure.n_diseases)
        ends = None
        if "lower" in learned:
            ends = self._floats(learned["lower"]), self._floats(learned["upper"])
        causes, verdict = learned.get("causes"), learned.get("misfits")
        made, trace = learned.get("lineage"), learned.get("trace")
        labels = learned.get("labels")
        return {
            "structure": self._structure,
            "method": str(learned["method"]),
            "n_records": int(learned["n_records"]),
            "n_iter": int(learned.get("n_iter", 1)),
            "values": Parameters(priors, network.failures, network.leaks),
            "standard_errors": self._floats(learned["standard_errors"]),
            "depths": self._integers(learned["depths"]),
            "flags": flags,
            "schedule": _read_schedule(learned["schedule"], self._structure, flags),
            "steps": self._integers(learned["steps"]) if "steps" in learned else None,
            "partners": self._integers(learned["partners"]) if "partners" in learned else None,
            "sources": self._texts(learned["sources"]) if "sources" in learned else None,
            "explained": tuple(learned.get("explained", ())),
            "trace": None if trace is None else _read_trace(trace),
            "learned_causes": None if causes is None else _read_causes(causes, network),
            "interval_ends": ends,
            "beliefs": self._beliefs(learned["beliefs"]) if "beliefs" in learned else None,
            "miss_errors": self._of_edges(learned.get("beliefs", {}), "miss_errors", np.float64),
            "verdict_of_file": None if verdict is None else Verdict.from_document(verdict),
            "lineage": None if made is None else Lineage.from_document(made),
            "label_check": None if labels is None else LabelCheck.from_document(labels),
        }

    def _check_size(self, name: str, values: Any, size: int) -> None:
        if len(values) != size:
            raise ValueError(f"{name!r} has {len(values)} entries, not {size}")

    def _parts(self, listed: Any) -> list[Any]:
        """Return the lists of priors, failures and leaks."""
        parts = [listed[kind] for kind in KINDS]
        for kind, part, size in zip(KINDS, parts, sizes_of(self._structure), strict=True):
            self._check_size(kind, part, size)
        return parts

    def _sorted(self, parts: list[NDArray[Any]]) -> Parameters:
        """Return parameters whose failures follow the structure's edges."""
        return Parameters(parts[0], parts[1][self._order], parts[2])

    def _floats(self, listed: Any) -> Parameters:
        return self._sorted([np.array(part, dtype=np.float64) for part in self._parts(listed)])

    def _integers(self, listed: Any) -> Parameters:
        parts = self._parts(listed)
        if not all(type(each) is int for part in parts for each in part):
            raise TypeError("an entry is not a whole number")
        return self._sorted([np.array(part, dtype=np.int64) for part in parts])

    def _beliefs(self, listed: Any) -> Beliefs:
        """Return what was believed: values, and weights, of which infinite ones are texts."""
        values, weights = self._floats(listed["values"]), self._floats(listed["weights"])
        is_given, value = weights.vector > 0.0, values.vector
        if not ((weights.vector >= 0.0) & ((value >= 0.0) & (value <= 1.0) == is_given)).all():
            raise ValueError("'beliefs' has values that are no probabilities, or no weights")
        rates = self._of_edges(listed, "is_miss_rate", np.bool_)
        of_causes = tuple(map(CauseBelief.from_document, listed.get("causes", ())))
        return Beliefs.weighted(self._structure, values, weights, rates, of_causes)

    def _of_edges(self, listed: Any, name: str, kind: Any) -> Any:
        """Return something of each edge, in the structure's order; None where there is nothing."""
        if name not in listed:
            return None
        self._check_size(name, listed[name], self._structure.n_edges)
        return np.array(listed[name], dtype=kind)[self._order]

    def _texts(self, listed: Any) -> Parameters:
        texts = np.array([*map(_text_or_none, listed["texts"])], dtype=object)
        return self._integers(listed).map(lambda numbers: texts[numbers])


def _text_or_none(text: Any) -> str | None:
    if not (text is None or isinstance(text, str)):
        raise TypeError("a source is not a text")
    return text


def _by_kind(parameters: Parameters, listed: Any) -> dict[str, Any]:
    return dict(zip(KINDS, map(listed, parameters), strict=True))


def _numbers(values: Floats) -> list[float | None]:
    """Return numbers for JSON, None for NaN."""
    return [None if value != value else value for value in values.tolist()]  # noqa: PLR0124


def _texts_document(sources: Parameters) -> dict[str, Any]:
    """Return texts, each once, and the number of each parameter's."""
    numbers: dict[str | None, int] = {}
    listed = [[numbers.setdefault(text, len(numbers)) for text in part] for part in sources]
    return {"texts": list(numbers), **dict(zip(KINDS, listed, strict=True))}


def _plain(value: Any) -> Any:
    """Return a value in types of JSON; NaN and infinities become texts that `float` reads."""
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


# --- the parts that are values of their own ---


def _fixed_in(structure: Structure, flags: Parameters) -> Beliefs:
    """Return which parameters were fixed, by their flags."""
    values = flags.map(lambda part: np.where(part & Flag.FIXED, 0.5, np.nan))
    return Beliefs(structure, priors=values.priors, failures=values.failures, leaks=values.leaks)


def _schedule_document(schedule: Schedule, flags: Parameters) -> dict[str, Any]:
    options = {"pairs": bool(schedule.pairs), "choice": str(schedule.choice)}
    again = _read_schedule(options, schedule.structure, flags)
    if again == schedule:
        return options
    return options | {
        "steps": _plain(list(schedule.steps())),
        "given": schedule.fixed.to_lists(),
    }


def _read_schedule(listed: Mapping[str, Any], structure: Structure, flags: Parameters) -> Schedule:
    pairs, choice = bool(listed["pairs"]), listed["choice"]
    if "steps" not in listed:
        fixed = _fixed_in(structure, flags)
        return find_schedule(structure, pairs=pairs, choice=choice, fixed=fixed)
    schedule = Schedule.from_steps(structure, listed["steps"], listed)
    schedule.validate()
    return schedule


def _read_trace(listed: Mapping[str, Any]) -> Trace:
    steps = listed.get("steps")
    return Trace(
        str(listed["quantity"]),
        np.array(listed["values"], dtype=np.float64),
        np.array(listed["ends"], dtype=np.float64),
        bool(listed["is_settled"]),
        int(listed.get("n_before", 0)),
        None if steps is None else np.array(steps, dtype=np.int64),
    )


def _read_causes(listed: Mapping[str, Any], network: NoisyOrNetwork) -> LearnedCauses:
    names = tuple((str(kind), disease, str(name)) for kind, disease, name in listed["names"])
    values, errors = (np.array(listed[key], np.float64) for key in ("values", "standard_errors"))
    covariance = np.array(listed["covariance"], dtype=np.float64).reshape(len(values), len(values))
    if not len(names) == len(values) == len(errors):
        raise ValueError("'causes' has lists of different lengths")
    likelihood = listed.get("log_likelihood")
    return LearnedCauses(
        network.causes, names, values, errors, covariance,
        None if likelihood is None else float(likelihood),
        np.array(listed.get("flags", np.zeros(len(values))), dtype=np.uint16),
        tuple(map(str, listed.get("cautions", ()))),
    )  # fmt: skip
