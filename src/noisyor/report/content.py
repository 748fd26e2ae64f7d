"""Content: what a page says, whatever it was made from.

An estimate knows everything. A network with the summary that `fit` wrote knows values, errors,
depths and flags. A network alone has values; its depths are those of the schedule that its
structure has.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.discovery import Suggestions
from noisyor.errors import (
    FileError,
    NoisyOrError,
    ParameterError,
    StructureError,
    count_of,
    give_notice,
    quoted,
    some_of,
)
from noisyor.evaluation import DiagnosisEvaluation, in_order_of
from noisyor.flags import REASONS, Flag, flags_of_row
from noisyor.io.columns import ColumnKind
from noisyor.io.paths import PathLike
from noisyor.io.tables import RowLocation, need_columns, open_table
from noisyor.learning import Estimate
from noisyor.learning.learned import NEUTRAL_VALUES, doubt_about, leak_depths
from noisyor.learning.learned_causes import LearnedCauses
from noisyor.learning.misfits import Misfits
from noisyor.learning.verdicts import MOST_PAIRS, Verdict
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.network.causes import MOST_JOINT
from noisyor.parameters import (
    OF_CAUSES,
    Parameters,
    intervals_of,
    parameter_rows,
    read_standard_errors,
    sizes_of,
)
from noisyor.report.suggestions import suggestion_rows
from noisyor.schedule import Schedule, find_schedule
from noisyor.structure import Structure

Floats = NDArray[np.float64]

ESTIMATE, SUMMARY, NETWORK = "estimate", "summary", "network"
"""What a page was made from."""
NEUTRAL = (
    f"What was not learned has a neutral value: {NEUTRAL_VALUES[0]} for priors, "
    f"{NEUTRAL_VALUES[1]} for failures, {NEUTRAL_VALUES[2]:f} for leaks."
)
MOST_TOGETHER = 20
"""Correlations, and sets of diseases, that a page lists."""


@dataclass(frozen=True)
class Reported:
    """What is known of the parameters of one kind, in the structure's order."""

    values: Floats
    standard_errors: Floats
    """NaN where unknown."""
    depths: Indices
    """-1 where it was not learned."""
    flags: NDArray[np.uint16]
    by_log_odds: bool = False
    """True if intervals have equal lengths on the scale of log odds."""
    interval_ends: tuple[Floats, Floats] | None = None
    """The ends of the intervals, where they do not follow from standard errors but from draws."""
    unknown_flags: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Sentences of a summary that stand for no flag of this version, by index."""
    true_values: Floats | None = None

    @property
    def is_flagged(self) -> NDArray[np.bool_]:
        """True where a parameter has a flag."""
        is_flagged = np.asarray(self.flags != 0)
        is_flagged[list(self.unknown_flags)] = True
        return is_flagged

    @property
    def is_learned(self) -> NDArray[np.bool_]:
        """True where the value was learned or fixed, and is not a neutral one."""
        return np.asarray((self.flags & Flag.NOT_LEARNED) == 0)

    @property
    def depths_in_order(self) -> list[int]:
        """Each depth once; that of what was not learned, -1, comes last."""
        depths: list[int] = np.unique(self.depths).tolist()
        return sorted(depths, key=lambda depth: (depth < 0, depth))

    def reasons(self, index: int) -> tuple[str, ...]:
        """Return why a parameter is flagged, in words."""
        return (*Flag(int(self.flags[index])).sentences, *self.unknown_flags.get(index, ()))

    def reason_counts(self) -> dict[str, int]:
        """Return how many parameters are flagged for each reason."""
        counts = {text: int(np.count_nonzero(self.flags & flag)) for flag, text in REASONS.items()}
        unknown = Counter(text for texts in self.unknown_flags.values() for text in texts)
        return {text: n for text, n in (counts | unknown).items() if n}

    def intervals(self) -> tuple[Floats, Floats]:
        """Return 95% intervals."""
        if self.interval_ends is not None:
            return self.interval_ends
        return intervals_of(self.values, self.standard_errors, by_log_odds=self.by_log_odds)


class Dependence(NamedTuple):
    """How diseases occur together, and depend on covariates."""

    kind: str
    n_parameters: int
    rows: list[dict[str, Any]]
    """With the columns of `LearnedCauses.summary`; none where a network stands alone."""
    correlations: list[tuple[str, str, float]]
    """Of two diseases, the strongest first."""
    states: list[tuple[str, float, float, float]]
    """The most frequent sets of diseases that people have together: the share, and its interval,
    which is NaN where that is not known."""


@dataclass(frozen=True)
class Content:
    """Everything that a page shows."""

    title: str
    made_from: str
    """ESTIMATE, SUMMARY or NETWORK."""
    structure: Structure
    parts: Mapping[str, Reported]
    """By the names prior, failure and leak."""
    schedule: Schedule
    estimate: Estimate | None = None
    unexplained: Verdict | None = None
    """What the network does not explain; None where that is not known."""
    knows_flags: bool = True
    """True if flags would be known if there were any."""
    dependence: Dependence | None = None
    """None where diseases are independent."""
    evaluation: DiagnosisEvaluation | None = None
    """None where there are no labels."""
    suggestions: list[dict[str, Any]] | None = None
    """Changes of the structure that records ask for; None where that was not looked for."""

    @property
    def doubt(self) -> str:
        """A warning where all or nearly all that was to be learned is flagged, else empty."""
        return doubt_about(np.concatenate([part.flags for part in self.parts.values()]))

    @property
    def knows_errors(self) -> bool:
        """True if there is any standard error."""
        return any(bool(np.isfinite(part.standard_errors).any()) for part in self.parts.values())

    @property
    def has_truth(self) -> bool:
        """True if the true values are known."""
        return self.parts["prior"].true_values is not None

    @property
    def n_learned(self) -> int:
        """How many parameters were learned or fixed."""
        return sum(int(part.is_learned.sum()) for part in self.parts.values())

    @property
    def n_flagged(self) -> int:
        """How many parameters have a flag."""
        return sum(int(part.is_flagged.sum()) for part in self.parts.values())


def content_of(
    source: Estimate | NoisyOrNetwork,
    *,
    errors: Parameters | PathLike | None = None,
    misfits: Any = None,
    truth: NoisyOrNetwork | None = None,
    evaluation: DiagnosisEvaluation | PathLike | None = None,
    suggestions: Suggestions | PathLike | None = None,
    title: str | None = None,
) -> Content:
    """Gather what is known; see `write_report`."""
    if not isinstance(source, Estimate | NoisyOrNetwork):
        raise ParameterError(
            f"expected an Estimate or a NoisyOrNetwork to report on, not {type(source).__name__}."
        )
    if isinstance(source, Estimate) and errors is not None:
        raise ParameterError("an Estimate has its own standard errors; leave errors out.")
    structure = source.structure
    truth = _ordered_truth(truth, structure)
    estimate = source if isinstance(source, Estimate) else None
    schedule = estimate.schedule if estimate else find_schedule(structure)
    if isinstance(source, Estimate):
        made_from, parts = ESTIMATE, {kind: Reported(*part) for kind, part in source.parts.items()}
    elif isinstance(errors, str | os.PathLike):
        made_from, parts = SUMMARY, _parts_of_summary(errors, source)
    else:
        made_from, parts = NETWORK, _parts_of_network(source, schedule, errors)
    if truth is not None:
        true = dict(zip(parts, truth.parameters, strict=True))
        parts = {kind: replace(part, true_values=true[kind]) for kind, part in parts.items()}
    say = structure.vocabulary.translator()
    title = title or say(f"Noisy-or network of {structure.n_diseases:,} diseases")
    unexplained = _unexplained_by(source, misfits)
    knows_flags = made_from != NETWORK or source.flags is not None
    summary = errors if made_from == SUMMARY else None
    return Content(
        title, made_from, structure, parts, schedule, estimate, unexplained, knows_flags,
        _dependence_of(source, summary), _evaluation_of(evaluation, structure),
        suggestion_rows(suggestions, structure),
    )  # fmt: skip


def _evaluation_of(
    evaluation: DiagnosisEvaluation | PathLike | None, structure: Structure
) -> DiagnosisEvaluation | None:
    """Return the evaluation that is given, as a value or a file; refuse another network's."""
    if isinstance(evaluation, str | os.PathLike):
        evaluation = DiagnosisEvaluation.load(evaluation)
    if evaluation is None:
        return None
    if not isinstance(evaluation, DiagnosisEvaluation):
        raise ParameterError(
            f"the evaluation must be a DiagnosisEvaluation or its file, not "
            f"{type(evaluation).__name__}."
        )
    others = {str(each.disease) for each in evaluation.diseases} ^ set(structure.diseases)
    if others:
        raise ParameterError(
            f"the evaluation is of other diseases than the network's: {some_of(sorted(others))}."
        )
    return evaluation


def _ordered_truth(truth: NoisyOrNetwork | None, structure: Structure) -> NoisyOrNetwork | None:
    """Return the truth in the order of the network."""
    if truth is None:
        return None
    if not isinstance(truth, NoisyOrNetwork):
        raise ParameterError(f"the truth must be a NoisyOrNetwork, not {type(truth).__name__}.")
    try:
        return in_order_of(truth, structure)
    except StructureError as error:
        raise StructureError(f"the truth has another structure than the network: {error}") from None


def _parts_of_network(
    network: NoisyOrNetwork, schedule: Schedule, errors: Parameters | None
) -> dict[str, Reported]:
    """Return what is known without a summary: the depths, from the structure alone."""
    structure = network.structure
    if errors is None:
        errors = Parameters.full(structure, np.nan)
    lengths, sizes = tuple(len(np.atleast_1d(each)) for each in errors), sizes_of(structure)
    if lengths != sizes:
        raise ParameterError(
            f"the standard errors are {lengths} in number; the network has {sizes} priors, "
            "failures and leaks."
        )
    leaks = leak_depths(structure, schedule.depths)
    leaks[structure.edges[schedule.depths < 0, 1]] = -1
    depths = schedule.prior_depths, schedule.depths, leaks
    return _parts(network, [np.asarray(each, dtype=np.float64) for each in errors], depths)


def _parts(
    network: NoisyOrNetwork, errors: Iterable[Floats], depths: Iterable[Indices]
) -> dict[str, Reported]:
    """Return parameters by kind, with the flags of the network."""
    known = network.flags or Parameters.full(network.structure, 0, np.uint16)
    flags = (part.copy() for part in known)
    parts = map(Reported, network.parameters, errors, depths, flags, (True, False, False))
    return dict(zip(("prior", "failure", "leak"), parts, strict=True))


def _parts_of_summary(path: PathLike, network: NoisyOrNetwork) -> dict[str, Reported]:
    """Read what `Estimate.save_summary` wrote of this network; refuse another's."""
    structure = network.structure
    depths = (np.full(size, -1, dtype=np.int64) for size in sizes_of(structure))
    parts = _parts(network, read_standard_errors(path, structure), depths)
    columns = {"value": ColumnKind.NUMBER, "depth": ColumnKind.NUMBER, "flags": ColumnKind.TEXT}
    has_ends = {"lower", "upper"} <= set(open_table(path).column_names)
    columns |= dict.fromkeys(("lower", "upper"), ColumnKind.NUMBER) if has_ends else {}
    ends_of = {kind: part.intervals() for kind, part in parts.items()}
    seen = set()
    for row in parameter_rows(path, structure, columns):
        part = parts[row.kind.removesuffix("s")]
        _check_value(row.location, row.cells["value"], float(part.values[row.index]))
        part.depths[row.index] = _as_depth(row.location, row.cells["depth"])
        for end, name in zip(ends_of[row.kind.removesuffix("s")], ("lower", "upper"), strict=True):
            end[row.index] = _as_end(row.location, name, row.cells) if has_ends else end[row.index]
        flags, unknown = flags_of_row(row.location, row.cells)
        part.flags[row.index] |= flags
        if unknown:
            part.unknown_flags[row.index] = unknown
        seen.add((row.kind, row.index))
    n_missing = structure.n_parameters - len(seen)
    if n_missing:
        raise FileError(
            f"{path} lacks {n_missing:,} of the network's {structure.n_parameters:,} parameters: "
            "give the summary that was written with it (noisyor fit --summary)."
        )
    return {kind: replace(part, interval_ends=ends_of[kind]) for kind, part in parts.items()}


def _as_end(location: RowLocation, name: str, cells: Mapping[str, Any]) -> float:
    """Return an end of an interval; NaN where the cell is empty."""
    end = cells[name]
    if end is not None and not 0.0 <= end <= 1.0:
        raise FileError(
            f"{location}, column {name!r}: {quoted(end)} is not a number from 0 to 1; leave the "
            "cell empty where there is none."
        )
    return np.nan if end is None else float(end)


def _check_value(location: RowLocation, stated: float | None, value: float) -> None:
    if stated is None or abs(stated - value) > 1e-6:  # files can be rounded
        raise FileError(
            f"{location}, column 'value': {stated} in the summary, {value} in the network. "
            "Give the summary that was written with this network."
        )


def _as_depth(location: RowLocation, depth: float | None) -> int:
    if depth is None:
        return -1
    if not 0 <= depth < 1_000_000 or depth != int(depth):
        raise FileError(f"{location}, column 'depth': {depth!r} is not a whole number from 0.")
    return int(depth)


def _dependence_of(source: Estimate | NoisyOrNetwork, summary: Any) -> Dependence | None:
    """Return how diseases occur together; intervals from the estimate, or the summary."""
    network = source.network if isinstance(source, Estimate) else source
    if network.is_plain:
        return None
    causes, names = network.causes, network.structure.diseases
    learned = source.learned_causes if isinstance(source, Estimate) else None
    rows = [] if learned is None else learned.summary(network.structure).to_pylist()
    if summary is not None:
        rows = _cause_rows(summary)
    values = causes.correlations()
    first, second = np.triu_indices(len(names), 1)
    order = np.argsort(-np.abs(np.nan_to_num(values[first, second])), kind="stable")[:MOST_TOGETHER]
    pairs = zip(first[order].tolist(), second[order].tolist(), strict=True)
    correlations = [(names[i], names[j], float(values[i, j])) for i, j in pairs]
    return Dependence(
        causes.kind, causes.n_parameters, rows, correlations, _states(network, learned)
    )


def _states(
    network: NoisyOrNetwork, learned: LearnedCauses | None
) -> list[tuple[str, float, float, float]]:
    """Return the most frequent sets of diseases, where these are few."""
    names = network.structure.diseases
    if len(names) > MOST_JOINT:
        return []
    if learned is None:
        shares = network.causes.joint(range(len(names))).ravel()
        errors = np.full(len(shares), np.nan)
    else:
        shares, errors = learned.state_shares()
    lower, upper = intervals_of(shares, errors)
    found = []
    for state in np.argsort(-shares, kind="stable")[:MOST_TOGETHER].tolist():
        bits = f"{state:0{len(names)}b}"
        on = [name for name, bit in zip(names, bits, strict=True) if bit == "1"]
        row = " + ".join(on) or "none", float(shares[state])
        found.append((*row, float(lower[state]), float(upper[state])))
    return found


def _cause_rows(path: Any) -> list[dict[str, Any]]:
    """Return the rows of a summary that say how diseases occur together."""
    table = open_table(path)
    numbers = ("value", "standard_error", "lower", "upper")
    columns = dict.fromkeys(("parameter", "disease", "name"), ColumnKind.TEXT)
    columns |= dict.fromkeys(numbers, ColumnKind.NUMBER)
    if not set(columns) <= set(table.column_names):
        return []
    found = (row for batch in table.batches(columns) for row in batch.to_pylist())
    return [row for row in found if row["parameter"] in OF_CAUSES]


def _unexplained_by(source: Estimate | NoisyOrNetwork, misfits: Any) -> Verdict | None:
    """Return the misfits that are given, as a value or a file; else those of the estimate."""
    if isinstance(misfits, Misfits):
        if misfits.network.structure != source.structure:
            raise ParameterError("the misfits belong to another structure than the report.")
        return Verdict.of(misfits)
    known = source.verdict if isinstance(source, Estimate) else None
    if misfits is None:
        return known
    found = _read_unexplained(misfits, source.structure)
    if known is None:
        return found
    if found.n_found != known.n_found:
        give_notice(
            f"{misfits} has {count_of(found.n_found, 'pair')} that deviate, and the model's own "
            f"verdict is of {known.n_found:,}: they are those of another fit. The verdict is the "
            "model's; leave out the misfits to see its pairs."
        )
    return known._replace(n_found=found.n_found, pairs=found.pairs)


def _read_unexplained(path: Any, structure: Structure) -> Verdict:
    table = open_table(path)
    numbers = dict.fromkeys(("observed", "expected", "residual", "q_value"), ColumnKind.NUMBER)
    columns = dict.fromkeys(("first", "second", "shared"), ColumnKind.TEXT) | numbers
    need_columns(table, columns)
    pairs: list[dict[str, Any]] = []
    n_found = 0
    for batch in table.batches(columns):
        n_found += batch.num_rows
        if len(pairs) < MOST_PAIRS:
            pairs += batch.slice(0, MOST_PAIRS - len(pairs)).to_pylist()
    for row, pair in enumerate(pairs):
        try:
            structure.symptom_indices([pair["first"], pair["second"]])
        except NoisyOrError as error:
            raise FileError(f"{RowLocation(table, row)}: {error}") from None
    return Verdict(n_found, tuple(pairs))
