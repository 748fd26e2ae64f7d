"""compare_models: which of several models describes records best."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa
from sklearn.base import clone

from noisyor.errors import ParameterError, collected_notices, give_notice, quoted
from noisyor.findings import Findings
from noisyor.findings.findings import findings_of
from noisyor.findings.reading import ReadOptions, RecordFormat, record_format
from noisyor.immutable import EqualByValue, equal_by_entries
from noisyor.inference.flat import Floats
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.learner import NoisyOrLearner
from noisyor.learning.together import Together
from noisyor.learning.together_estimate import UNTOLD
from noisyor.moments import MomentPlan, Moments, count_moments
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.network.design import covariates_in_order
from noisyor.parameters import REACH
from noisyor.structure import Structure

WITH = ", with covariates"
"""Behind the name of a model that was learned with covariates."""


@dataclass(frozen=True, eq=False)
class ModelComparison(ShownAsTable, EqualByValue):
    """Several models of the same records, the one with the smallest BIC first.

    >>> from noisyor import NoisyOrLearner, compare_models, datasets
    >>> network = datasets.figure1(rng=0)
    >>> methods = ("refined", "pooled")
    >>> models = {name: NoisyOrLearner(network.structure, method=name) for name in methods}
    >>> compared = compare_models(models, network.sample(500, rng=0), held_out=0.0)
    >>> print(compared.table().select(["model", "parameters"]))
    model    parameters
    refined          14
    pooled           14
    """

    rows: tuple[dict[str, Any], ...]

    @property
    def best(self) -> str:
        """The name of the model with the smallest BIC."""
        return str(self.rows[0]["model"])

    @property
    def recommendation(self) -> str:
        """Which model to take, and whether the records that were held out say the same."""
        first = f"The smallest BIC has: {self.best}."
        if len(self.rows) == 1 or self.rows[0]["held_out"] is None:
            return first
        row = max(self.rows, key=lambda row: float(row["held_out"]))
        gain = float(row["held_out"]) - float(self.rows[0]["held_out"])
        if row is self.rows[0]:
            return f"{first} It describes the records that were held out best, too."
        error = REACH * float(row["held_out_error"])
        said = f"by {gain:.2g} ± {error:.2g} a record"
        if gain <= error:
            return (
                f"{first} Of the records that were held out {row['model']} says more, but {said}, "
                "which is no more than chance: they do not speak against it."
            )
        return (
            f"{first} But the records that were held out are described better by {row['model']}, "
            f"{said}: take that one to diagnose with, unless these records are few or its "
            "parameters are flagged. BIC asks for more evidence before it allows a parameter."
        )

    def table(self) -> ResultTable:
        """Return a row per model."""
        return ResultTable.of_rows(self.rows, "model")

    def __repr__(self) -> str:
        parts = ", ".join(f"{row['model']} {row['bic']:,.1f}" for row in self.rows)
        return f"ModelComparison(BIC: {parts})"


def compare_models(
    models: Mapping[str, NoisyOrLearner],
    records: Any,
    *,
    covariates: Any = None,
    unknown_covariates: str = "refuse",
    held_out: float = 0.2,
    rng: int = 0,
    **options: Unpack[ReadOptions],
) -> ModelComparison:
    """Learn several models from the same records, and compare how well they describe them.

    Parameters
    ----------
    models
        Learners by name; they are not changed. Their structures must have the same symptoms.
    records
        As `NoisyOrLearner.fit` takes them.
    covariates, unknown_covariates
        As `NoisyOrLearner.fit` takes them. Each model is learned without them, and all but joint
        distributions, which have none, once more with them.
    held_out
        The share of the records that a second fit of each model does not see, on which its
        log likelihood is measured; 0: none.
    rng
        Which records these are.
    options
        How records are read, as in `NoisyOrLearner.fit`.

    Returns
    -------
    ModelComparison
        A row per model: log likelihood, number of parameters, AIC, BIC, held-out log likelihood a
        record, the standard error of how much that differs from the model with the smallest BIC,
        SRMSR (the root mean square of the residuals of all correlations of two symptoms) and the
        largest residual of a pair in standard deviations. `recommendation` says which to take.

    Examples
    --------
    >>> from noisyor import NoisyOrLearner, compare_models, datasets
    >>> network = datasets.figure1(rng=0)
    >>> models = {
    ...     "independent": NoisyOrLearner(network.structure),
    ...     "joint": NoisyOrLearner(network.structure, causes="joint"),
    ... }
    >>> compare_models(models, network.sample(2000, rng=1), held_out=0.0).best
    'independent'
    """
    _check(models, held_out)
    structure = _structure(next(iter(models.values())))
    known = Together(covariates=covariates, unknown_covariates=unknown_covariates)
    data = _read(records, structure, known, record_format(options))
    moments = count_moments(data.findings, MomentPlan.all_pairs(structure))
    rows = [
        _measured(f"{name}{WITH if has_people else ''}", learner, each, moments, held_out, rng)
        for name, learner in models.items()
        for has_people, each in ((False, data.bare()), (True, data))
        if not has_people or (data.people is not None and learner.causes != "joint")
    ]
    rows.sort(key=lambda row: float(row["bic"]))
    return ModelComparison(tuple(_with_held_out(rows)))


def _with_held_out(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with the means of held-out log likelihoods in place of those of each record.

    Models are compared on the same records: what these have in common cancels out of the error.
    """
    first = rows[0]["held_out"]
    if first is None:
        return [{**row, "held_out_error": None} for row in rows]
    found = []
    for row in rows:
        difference = row["held_out"] - first
        error = float(difference.std() / np.sqrt(len(difference)))
        found.append({**row, "held_out": float(row["held_out"].mean()), "held_out_error": error})
    return found


class _Data(NamedTuple):
    """Records, and the covariates of their people."""

    findings: Findings
    people: pa.Table | None = None
    names: tuple[str, ...] = ()
    """Of the covariates, as `fit` takes them."""
    unknown: str = "refuse"

    def bare(self) -> "_Data":
        """Return the records alone."""
        return _Data(self.findings)

    def at(self, rows: Indices) -> "_Data":
        """Return some of the records."""
        array = self.findings.to_numpy()[rows]
        findings = Findings.from_numpy(array, self.findings.structure)
        people = None if self.people is None else self.people.take(rows)
        return self._replace(findings=findings, people=people)

    def fitted(self, learner: NoisyOrLearner) -> NoisyOrLearner:
        """Learn a model."""
        records = self.findings.with_structure(_structure(learner))
        fresh: NoisyOrLearner = clone(learner)
        if self.people is None:
            with _told_by_the_table():
                return fresh.fit(records)
        # In one table with the records a column of numbers can be called a category.
        table = records.to_arrow()
        for name in self.people.column_names:
            table = table.append_column(name, self.people[name])
        with _told_by_the_table():
            return fresh.fit(table, covariates=list(self.names), unknown_covariates=self.unknown)

    def score(self, learner: NoisyOrLearner) -> float:
        """Return the mean log likelihood of the records."""
        records = self.findings.with_structure(_structure(learner))
        return float(learner.score(records, covariates=self.people))

    def scores(self, learner: NoisyOrLearner) -> Floats:
        """Return the log likelihood of each record."""
        records = self.findings.with_structure(_structure(learner))
        return np.asarray(learner.posteriors(records, covariates=self.people).log_evidences)


def _read(records: Any, structure: Structure, known: Together, form: RecordFormat) -> _Data:
    """Read records, and covariates where there are some."""
    known.check_records(records)
    form = replace(form, passed_over=known.bare_columns)
    joined_by = () if known.covariates is None else ("record",)
    findings = findings_of(records, structure, form, joined_by)
    if known.covariates is None:
        return _Data(findings)
    source = known.covariates
    if known.columns is not None:
        source = records[0] if isinstance(records, list | tuple) else records
    people = covariates_in_order(source, findings, known.columns, form.record)
    taken = set(people.column_names) & {"record", *structure.symptoms}
    if taken:
        raise ParameterError(
            f"the covariate {quoted(min(taken))} has the name of a column of the records: name it "
            "otherwise."
        )
    names = known.columns or tuple(people.column_names)
    findings = Findings.from_numpy(findings.to_numpy(), structure)  # both are in order: no ids
    return _Data(findings, people, names, known.unknown_covariates)


def _check(models: Mapping[str, NoisyOrLearner], held_out: float) -> None:
    if not isinstance(models, Mapping) or not models:
        raise ParameterError("give the models as a mapping of names to learners.")
    symptoms = None
    for name, learner in models.items():
        if not isinstance(learner, NoisyOrLearner) or learner.structure is None:
            raise ParameterError(f"the model {quoted(name)} is no NoisyOrLearner with a structure.")
        if symptoms not in (None, learner.structure.symptoms):
            raise ParameterError(
                f"the structure of {quoted(name)} has other symptoms than the first one: models "
                "of different records cannot be compared."
            )
        symptoms = learner.structure.symptoms
    if isinstance(held_out, bool) or not 0.0 <= held_out < 1.0:
        raise ParameterError(f"held_out must be a share from 0 to 1, not {quoted(held_out)}.")


@contextmanager
def _told_by_the_table() -> Iterator[None]:
    """Leave out that a trait cannot be told from none, which a comparison tells by itself."""
    with collected_notices() as notices:
        yield
    for notice in notices:
        if UNTOLD not in notice:
            give_notice(notice)


def _structure(learner: NoisyOrLearner) -> Structure:
    assert learner.structure is not None
    return learner.structure


def _measured(
    name: str, learner: NoisyOrLearner, data: _Data, moments: Moments, held_out: float, rng: int
) -> dict[str, Any]:
    """Learn a model, and measure how well it describes the records."""
    n, fitted = data.findings.n_records, data.fitted(learner)
    network = fitted.network_
    log_likelihood = n * data.score(fitted)
    size = network.causes.n_parameters + network.structure.n_edges + network.structure.n_symptoms
    fit = pair_residuals(network, moments)
    return {
        "model": name,
        "log_likelihood": log_likelihood,
        "parameters": size,
        "aic": 2.0 * size - 2.0 * log_likelihood,
        "bic": size * np.log(n) - 2.0 * log_likelihood,
        "held_out": _held_out(learner, data, held_out, rng) if held_out > 0.0 else None,
        "srmsr": fit.srmsr,
        "largest_residual": float(np.nanmax(fit.deviations, initial=0.0)),
    }


def _held_out(learner: NoisyOrLearner, data: _Data, share: float, rng: int) -> Floats:
    """Return the log likelihoods of records that were not learned from."""
    order = np.random.default_rng(rng).permutation(data.findings.n_records)
    n_test = max(round(share * len(order)), 1)
    return data.at(order[:n_test]).scores(data.at(order[n_test:]).fitted(learner))


@equal_by_entries
class PairResiduals(NamedTuple):
    """How well a network describes each two symptoms."""

    pairs: Indices
    residuals: Floats
    """Of the correlation, observed less expected; NaN where a symptom never varies."""
    deviations: Floats
    """Of how often both are absent, in standard deviations."""
    x2: Floats
    """Pearson's statistic of the table of both: n times (observed - expected)^2 / expected."""

    @property
    def srmsr(self) -> float:
        """The root mean square of the residuals of all correlations."""
        known = self.residuals[np.isfinite(self.residuals)]
        return float(np.sqrt(np.mean(known**2))) if len(known) else 0.0


def pair_residuals(network: NoisyOrNetwork, moments: Moments) -> PairResiduals:
    """Compare the counts of pairs with what a network expects of people of whom nothing is known.

    Parameters
    ----------
    network
        Of the symptoms of the counts.
    moments
        Counts of pairs, each of the records in which both symptoms are known.
    """
    pairs, seen = moments.plan.pairs, moments.values(2)
    observed = _tables(1.0 / (1.0 + seen.odds), seen.absent)
    expected = _tables((1.0 - network.marginals())[pairs], network.pair_moments(pairs))
    n, both = seen.n_records, expected[:, 0, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(observed == expected, 0.0, (observed - expected) ** 2 / expected)
        spread = np.sqrt(np.maximum(both * (1.0 - both), 1e-300) / n)
        deviations = np.abs(observed[:, 0, 0] - both) / spread
    residuals = _correlations(observed) - _correlations(expected)
    return PairResiduals(pairs, residuals, deviations, n * terms.sum(axis=(1, 2)))


def _tables(each: Floats, both: Floats) -> Floats:
    """Return P(states) of two symptoms, from how often each of them, and both, are absent."""
    one, other = each[:, 0], each[:, 1]
    cells = np.array([[both, one - both], [other - both, 1.0 - one - other + both]])
    return np.moveaxis(np.maximum(cells, 0.0), -1, 0)


def _correlations(tables: Floats) -> Floats:
    one, other = tables.sum(axis=2)[:, 0], tables.sum(axis=1)[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.sqrt(one * (1.0 - one) * other * (1.0 - other))
        return np.asarray((tables[:, 0, 0] - one * other) / scale)
