"""DiagnosisEvaluation: what was found of diagnoses against labels, in tables, words and files."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa

from noisyor.errors import FileError, ParameterError, count_of, quoted, some_of
from noisyor.evaluation.scores import (
    LEAST,
    N_BINS,
    THRESHOLDS,
    Auc,
    Calibration,
    Floats,
    Integers,
)
from noisyor.immutable import EqualByValue
from noisyor.inference.answers import METHOD_NAMES
from noisyor.io.documents import field_of, is_finite_number, read_document, write_document
from noisyor.io.paths import PathLike
from noisyor.io.result_tables import ResultTable, ShownAsTable

EVALUATION_FORMAT, EVALUATION_VERSION = "noisyor.evaluation", 1
TOP = (1, 3, 5)
"""Of how many of the most probable diseases it is told whether those seen are among them."""


@dataclass(frozen=True, eq=False)
class LabelScores(EqualByValue):
    """How well the probabilities of one disease, or of all together, agree with labels.

    What labels say nothing of is NaN.
    """

    disease: str | None
    """None: all diseases, whose labels count one by one."""
    n_labels: int
    n_present: int
    auc: Auc
    """How often a record with the disease has a larger probability of it than one without."""
    brier: float
    """The mean squared distance of the probability from the label: 0 is best."""
    log_score: float
    """The mean log of the probability of what was seen: 0 is best, and -0.69 that of a coin."""
    n_contradicted: int
    """Labels whose probability was 0: to the log score each is one of 2e-16."""
    n_in_top: Integers
    """Cases in which the disease is among the 1, 3 and 5 most probable ones."""
    mean_probability: float
    calibration: Calibration
    calibration_by_chance: float
    """The calibration error to expect of so many labels if all probabilities are right."""
    net_benefits: Floats
    """Of acting where the probability is not below 0.01, 0.02, ..., 0.99."""

    @property
    def prevalence(self) -> float:
        """The share of the labels that say present."""
        return self.n_present / self.n_labels if self.n_labels else math.nan

    @property
    def top_shares(self) -> Floats:
        """In which share of its cases the disease is among the 1, 3 and 5 most probable ones."""
        return self.n_in_top / self.n_present if self.n_present else np.full(len(TOP), np.nan)

    @property
    def calibration_error(self) -> float:
        """The mean distance of probabilities from shares, over ten bins."""
        return self.calibration.error

    @property
    def why_no_auc(self) -> str:
        """Why there is no AUC; empty where there is one."""
        if not self.n_labels:
            return "no labels"
        if self.n_present == 0:
            return "no label says present"
        return "no label says absent" if self.n_present == self.n_labels else ""

    def treat_all(self) -> Floats:
        """Return the net benefit of acting whatever the probability; that of never acting is 0."""
        odds = THRESHOLDS / (1.0 - THRESHOLDS)
        return np.asarray(self.prevalence - (1.0 - self.prevalence) * odds)


@dataclass(frozen=True, eq=False)
class DiagnosisEvaluation(ShownAsTable, EqualByValue):
    """What a network says of records against the diseases that were seen in them.

    >>> from noisyor import datasets, evaluate_diagnoses
    >>> network = datasets.figure1(rng=0)
    >>> records, labels = network.sample(500, rng=0, return_diseases=True)
    >>> found = evaluate_diagnoses(network, records, labels)
    >>> print(found.table().select(["disease", "labels", "auc"]))
    disease  labels     auc
              1,000  0.9341
    A           500  0.9279
    B           500  0.9309
    """

    n_records: int
    """Records with labels and posteriors: all numbers are of these."""
    n_unlabelled: int
    """Records without any label."""
    methods: dict[str, int]
    """How the posteriors of the labelled records were found; those that are "impossible" under the
    network, or "refused" as too much work, have none and are left out."""
    overall: LabelScores
    """Of all labels; intervals know that those of a record go together."""
    mean_auc: Auc
    """The mean over the diseases that have an AUC."""
    diseases: tuple[LabelScores, ...]
    """In the network's order."""

    def of(self, disease: str) -> LabelScores:
        """Return the scores of a disease."""
        for each in self.diseases:
            if each.disease == disease:
                return each
        raise ParameterError(
            f"there is no disease {disease!r}: {some_of(each.disease for each in self.diseases)}."
        )

    @property
    def n_without_posterior(self) -> int:
        """Labelled records that are left out: impossible under the network, or too much work."""
        return self.methods.get("impossible", 0) + self.methods.get("refused", 0)

    @property
    def without_auc(self) -> dict[str, str]:
        """The diseases that have no AUC, and why."""
        return {str(each.disease): each.why_no_auc for each in self.diseases if each.why_no_auc}

    @property
    def _all(self) -> tuple[LabelScores, ...]:
        return self.overall, *self.diseases

    def table(self) -> ResultTable:
        """Return a row of all diseases together, whose name is null, and one for each."""
        return _table(map(_score_row, self._all), SCORE_COLUMNS)

    def calibration_table(self) -> ResultTable:
        """Return the calibration curves: a row for each bin that has labels."""
        return _table((row for each in self._all for row in _bin_rows(each)), BIN_COLUMNS)

    def decision_table(self) -> ResultTable:
        """Return the decision curves: a row for each threshold."""
        rows = (row for each in self._all for row in _threshold_rows(each))
        return _table(rows, THRESHOLD_COLUMNS)

    def plot(self, ax: Any = None, *, disease: str | None = None) -> Any:
        """Draw the calibration of all diseases together, or of one; return the axes."""
        scores = self.overall if disease is None else self.of(disease)
        axes = scores.calibration.plot(ax)
        if disease is not None:
            axes.set_title(disease)
        return axes

    def sentences(self) -> list[str]:
        """Return in words what was evaluated, and what could not be."""
        return [*_of_records(self), *_of_scores(self)]

    def save(self, path: PathLike) -> None:
        """Write everything as a JSON document, which `load` and `noisyor report` read."""
        content = {
            "records": self.n_records,
            "unlabelled": self.n_unlabelled,
            "methods": self.methods,
            "mean_auc": _plain(self.mean_auc),
            "overall": _as_document(self.overall),
            "diseases": [_as_document(each) for each in self.diseases],
        }
        write_document(path, EVALUATION_FORMAT, EVALUATION_VERSION, content)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote."""
        document = read_document(path, {EVALUATION_FORMAT: EVALUATION_VERSION})
        read = _CheckedObject(document, str(path))
        methods = read.of("methods", dict)
        if not set(methods) <= set(METHOD_NAMES):
            raise FileError(f"{path}: 'methods' must have names among {', '.join(METHOD_NAMES)}.")
        counts = _CheckedObject(methods, f"{path}: 'methods'")
        return cls(
            read.count("records"),
            read.count("unlabelled"),
            {name: counts.count(name) for name in methods},
            _read_scores(read.inside("overall")),
            Auc(*read.numbers("mean_auc", 3).tolist()),
            tuple(map(_read_scores, read.listed("diseases"))),
        )

    def __repr__(self) -> str:
        auc, mean = self.overall.auc, self.mean_auc
        values = (
            f"AUC {auc.value:.3f}, mean {mean.value:.3f}"
            if not self.overall.why_no_auc
            else "no AUC"
        )
        return (
            f"DiagnosisEvaluation({count_of(self.overall.n_labels, 'label')} of "
            f"{count_of(self.n_records, 'record')}; {values}; Brier {self.overall.brier:.3g}, "
            f"log score {self.overall.log_score:.3g}, "
            f"calibration error {self.overall.calibration_error:.2g})"
        )


# --- tables: all are made here ---

SCORE_COLUMNS = {
    "disease": pa.string(), "labels": pa.int64(), "present": pa.int64(), "auc": pa.float64(),
    "auc_lower": pa.float64(), "auc_upper": pa.float64(), "brier": pa.float64(),
    "log_score": pa.float64(), "prevalence": pa.float64(), "mean_probability": pa.float64(),
    "calibration_error": pa.float64(), "calibration_by_chance": pa.float64(),
    **{f"top_{k}": pa.float64() for k in TOP}, "note": pa.string(),
}  # fmt: skip
BIN_COLUMNS = {
    "disease": pa.string(), "from": pa.float64(), "to": pa.float64(), "labels": pa.int64(),
    "present": pa.int64(), "mean_probability": pa.float64(), "share": pa.float64(),
    "lower": pa.float64(), "upper": pa.float64(),
}  # fmt: skip
THRESHOLD_COLUMNS = {
    "disease": pa.string(), "threshold": pa.float64(), "net_benefit": pa.float64(),
    "treat_all": pa.float64(),
}  # fmt: skip


def _table(rows: Iterable[tuple[Any, ...]], columns: Mapping[str, pa.DataType]) -> ResultTable:
    """Return rows as a table, with null for NaN."""
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [
        pa.array(list(each), kind, from_pandas=True)
        for each, kind in zip(values, columns.values(), strict=True)
    ]
    return ResultTable(pa.table(arrays, names=list(columns)), "disease")


def _score_row(scores: LabelScores) -> tuple[Any, ...]:
    why = f"no AUC: {scores.why_no_auc}" if scores.why_no_auc else ""
    return (
        scores.disease, scores.n_labels, scores.n_present, *scores.auc, scores.brier,
        scores.log_score, scores.prevalence, scores.mean_probability, scores.calibration_error,
        scores.calibration_by_chance, *scores.top_shares.tolist(), why,
    )  # fmt: skip


def _bin_rows(scores: LabelScores) -> Iterator[tuple[Any, ...]]:
    curve = scores.calibration
    columns = (*curve, curve.shares, *curve.intervals())
    for k, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        if row[0]:
            yield scores.disease, k / N_BINS, (k + 1) / N_BINS, *row


def _threshold_rows(scores: LabelScores) -> Iterator[tuple[Any, ...]]:
    columns = THRESHOLDS, scores.net_benefits, scores.treat_all()
    for row in zip(*(column.tolist() for column in columns), strict=True):
        yield scores.disease, *row


# --- in words ---


def _of_records(found: DiagnosisEvaluation) -> Iterator[str]:
    scores, n_labelled = found.overall, sum(found.methods.values())
    yield (
        f"{count_of(scores.n_labels, 'label')} of {count_of(found.n_records, 'record')}, of which "
        f"{scores.n_present:,} say present."
    )
    if found.n_unlabelled:
        yield f"{_are(found.n_unlabelled, 'record')} without a label and not asked about."
    n_exact = found.methods.get("exact", 0)
    for method, words in APPROXIMATE.items():
        if found.methods.get(method):
            yield f"Of {count_of(found.methods[method], 'record')} the posteriors {words}."
    if n_exact == n_labelled:
        yield "All posteriors are exact."
    for method, words in WITHOUT.items():
        if found.methods.get(method):
            yield f"{_are(found.methods[method], 'labelled record')} {words}, and left out."


APPROXIMATE = {
    "variational": "are not exact, but between bounds",
    "mean_field": "are not exact, and of unknown error (mean field)",
    "gibbs": "are sampled, and not exact",
}
WITHOUT = {
    "impossible": "impossible under the network",
    "refused": "too much work for exact inference",
}


def _are(n: int, noun: str) -> str:
    return f"{count_of(n, noun)} {'is' if n == 1 else 'are'}"


def _of_scores(found: DiagnosisEvaluation) -> Iterator[str]:
    scores, none = found.overall, found.without_auc
    n = len(found.diseases) - len(none)
    if not scores.why_no_auc:
        yield f"The AUC of all labels is {_in_words(scores.auc)}."
    if n:
        yield f"The mean AUC of {count_of(n, 'disease')} is {_in_words(found.mean_auc)}."
    for reason in dict.fromkeys(none.values()):
        names = [name for name, why in none.items() if why == reason]
        have = "has" if len(names) == 1 else "have"
        yield f"{count_of(len(names), 'disease')} {have} no AUC ({reason}): {some_of(names)}."
    yield (
        f"Brier score {scores.brier:.3g}, log score {scores.log_score:.3g}. Calibration error "
        f"{scores.calibration_error:.2g}; with right probabilities it would be about "
        f"{scores.calibration_by_chance:.2g}."
    )
    if scores.n_present:
        shares = ", ".join(
            f"{k}: {share:.1%}" for k, share in zip(TOP, scores.top_shares.tolist(), strict=True)
        )
        yield f"How often a disease that was seen is among the k most probable ones: {shares}."
    if scores.n_contradicted:
        yield (
            f"{count_of(scores.n_contradicted, 'label')} had a probability of 0: the log score "
            "takes each for 2e-16."
        )


def _in_words(auc: Auc) -> str:
    return f"{auc.value:.3f} (95% interval {auc.lower:.3f} to {auc.upper:.3f})"


# --- files ---


def _as_document(scores: LabelScores) -> dict[str, Any]:
    return {
        "disease": scores.disease, "labels": scores.n_labels, "present": scores.n_present,
        "auc": _plain(scores.auc), "brier": _plain([scores.brier])[0],
        "log_score": _plain([scores.log_score])[0], "contradicted": scores.n_contradicted,
        "in_top": scores.n_in_top.tolist(),
        "mean_probability": _plain([scores.mean_probability])[0],
        "bin_labels": scores.calibration.n_labels.tolist(),
        "bin_present": scores.calibration.n_present.tolist(),
        "bin_probabilities": _plain(scores.calibration.mean_probabilities),
        "calibration_by_chance": _plain([scores.calibration_by_chance])[0],
        "net_benefits": _plain(scores.net_benefits),
    }  # fmt: skip


def _plain(values: Iterable[float]) -> list[float | None]:
    """Return numbers as JSON has them: null for NaN."""
    return [None if math.isnan(value) else float(value) for value in values]


class _CheckedObject:
    """An object of a document, whose values are checked as they are asked for."""

    def __init__(self, content: Mapping[str, Any], where: str) -> None:
        self.content, self.where = content, where

    def of(self, key: str, kind: type) -> Any:
        """Return a value of a kind."""
        value = self.content.get(key)
        if not isinstance(value, kind):
            problem = f"is {quoted(value)}" if key in self.content else "is missing"
            raise FileError(f"{self.where}: '{key}' {problem}; expected a {NAMES_OF_KINDS[kind]}.")
        return value

    def inside(self, key: str) -> "_CheckedObject":
        """Return an object within this one."""
        return _CheckedObject(self.of(key, dict), f"{self.where}: '{key}'")

    def listed(self, key: str) -> Iterator["_CheckedObject"]:
        """Give the objects of a list."""
        for number, each in enumerate(field_of(self.content, key, self.where)):
            where = f"{self.where}: '{key}' entry {number}"
            if not isinstance(each, dict):
                raise FileError(f"{where} is {quoted(each)}, not an object.")
            yield _CheckedObject(each, where)

    def count(self, key: str) -> int:
        """Return a whole number from 0."""
        return int(self._counts([self.content.get(key)], key)[0])

    def counts(self, key: str, n: int) -> Integers:
        """Return so many whole numbers from 0."""
        return self._counts(self._list(key, n), key)

    def _counts(self, values: list[Any], key: str) -> Integers:
        if not all(type(value) is int and 0 <= value < 2**53 for value in values):
            raise FileError(
                f"{self.where}: '{key}' must be a whole number from 0, or such numbers."
            )
        return np.array(values, dtype=np.int64)

    def number(self, key: str, lowest: float = 0.0) -> float:
        """Return a number from the lowest to 1; NaN for null."""
        return float(self._numbers([self.content.get(key)], key, lowest)[0])

    def numbers(self, key: str, n: int, lowest: float = 0.0) -> Floats:
        """Return so many numbers from the lowest to 1; NaN for null."""
        return self._numbers(self._list(key, n), key, lowest)

    def _numbers(self, values: list[Any], key: str, lowest: float) -> Floats:
        known = [value for value in values if value is not None]
        if not all(is_finite_number(value) and lowest <= value <= 1.0 for value in known):
            raise FileError(
                f"{self.where}: '{key}' must be a number from {lowest:g} to 1 or null, or such "
                "values."
            )
        return np.array([math.nan if value is None else value for value in values], np.float64)

    def _list(self, key: str, n: int) -> list[Any]:
        values = field_of(self.content, key, self.where)
        if len(values) != n:
            raise FileError(f"{self.where}: '{key}' has {len(values):,} entries, not {n}.")
        return values


LOWEST_LOG_SCORE, LOWEST_BENEFIT = math.log(LEAST), -99.0
"""Where every label is contradicted; where all are false positives at the highest threshold."""
NAMES_OF_KINDS: dict[type, str] = {dict: "JSON object", str: "text"}


def _read_scores(read: _CheckedObject) -> LabelScores:
    name = None if read.content.get("disease") is None else read.of("disease", str)
    curve = Calibration(
        read.counts("bin_labels", N_BINS), read.counts("bin_present", N_BINS),
        read.numbers("bin_probabilities", N_BINS),
    )  # fmt: skip
    found = LabelScores(
        name, read.count("labels"), read.count("present"), Auc(*read.numbers("auc", 3).tolist()),
        read.number("brier"), read.number("log_score", LOWEST_LOG_SCORE),
        read.count("contradicted"), read.counts("in_top", len(TOP)),
        read.number("mean_probability"), curve, read.number("calibration_by_chance"),
        read.numbers("net_benefits", len(THRESHOLDS), LOWEST_BENEFIT),
    )  # fmt: skip
    sums = int(curve.n_labels.sum()), int(curve.n_present.sum())
    if sums != (found.n_labels, found.n_present) or (curve.n_present > curve.n_labels).any():
        raise FileError(f"{read.where}: the labels of the bins are not those that are counted.")
    if found.n_in_top.max() > found.n_present:
        raise FileError(f"{read.where}: 'in_top' has more cases than 'present' says.")
    return found
