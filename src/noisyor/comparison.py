"""compare_models: which of several models describes records best."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sklearn.base import clone

from noisyor.errors import ParameterError, quoted
from noisyor.findings import Findings
from noisyor.findings.findings import as_source, read_findings
from noisyor.findings.reading import RecordFormat
from noisyor.immutable import EqualByValue
from noisyor.inference.flat import Floats
from noisyor.learner import NoisyOrLearner
from noisyor.moments import MomentPlan, Moments, count_moments
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure


@dataclass(frozen=True, eq=False)
class ModelComparison(EqualByValue):
    """Several models of the same records, the one with the smallest BIC first."""

    rows: tuple[dict[str, Any], ...]

    @property
    def best(self) -> str:
        """The name of the model with the smallest BIC."""
        return str(self.rows[0]["model"])

    def table(self) -> pa.Table:
        """Return a row per model, as an Arrow table."""
        return pa.Table.from_pylist(list(self.rows))

    def __repr__(self) -> str:
        parts = ", ".join(f"{row['model']} {row['bic']:,.1f}" for row in self.rows)
        return f"ModelComparison(BIC: {parts})"


def compare_models(
    models: Mapping[str, NoisyOrLearner],
    records: Any,
    *,
    covariates: Any = None,
    held_out: float = 0.2,
    rng: int = 0,
) -> ModelComparison:
    """Learn several models from the same records, and compare how well they describe them.

    Parameters
    ----------
    models
        Learners by name; they are not changed. Their structures must have the same symptoms.
    records
        As `NoisyOrLearner.fit` takes them.
    covariates
        A table of covariates, which all models learn with.
    held_out
        The share of the records that a second fit of each model does not see, on which its
        log likelihood is measured; 0: none.
    rng
        Which records these are.

    Returns
    -------
    ModelComparison
        A row per model: log likelihood, number of parameters, AIC, BIC, held-out log likelihood a
        record, SRMSR (the root mean square of the residuals of all correlations of two symptoms)
        and the largest residual of a pair in standard deviations.

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
    findings = as_source(records, structure)
    if not isinstance(findings, Findings):
        findings = read_findings(findings, structure, RecordFormat())
    moments = count_moments(findings, MomentPlan.all_pairs(structure))
    rows = [
        _measured(name, learner, findings, moments, covariates, held_out, rng)
        for name, learner in models.items()
    ]
    return ModelComparison(tuple(sorted(rows, key=lambda row: float(row["bic"]))))


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


def _structure(learner: NoisyOrLearner) -> Structure:
    assert learner.structure is not None
    return learner.structure


def _measured(
    name: str, learner: NoisyOrLearner, findings: Findings, moments: Moments, covariates: Any,
    held_out: float, rng: int,
) -> dict[str, Any]:  # fmt: skip
    """Learn a model, and measure how well it describes the records."""
    n, records = findings.n_records, findings.with_structure(_structure(learner))
    known = {} if covariates is None else {"covariates": covariates}
    fitted = clone(learner).fit(records, **known)
    network = fitted.network_
    log_likelihood = n * fitted.score(records, **known)
    size = network.causes.n_parameters + network.structure.n_edges + network.structure.n_symptoms
    fit = pair_residuals(network, moments)
    row = {
        "model": name,
        "log_likelihood": log_likelihood,
        "parameters": size,
        "aic": 2.0 * size - 2.0 * log_likelihood,
        "bic": size * np.log(n) - 2.0 * log_likelihood,
        "held_out": None,
        "srmsr": fit.srmsr,
        "largest_residual": float(np.nanmax(fit.deviations, initial=0.0)),
    }
    if held_out > 0.0:
        row["held_out"] = _held_out(learner, findings, covariates, held_out, rng)
    return row


def _held_out(
    learner: NoisyOrLearner, findings: Findings, covariates: Any, share: float, rng: int
) -> float:
    """Return the mean log likelihood of records that were not learned from."""
    import pandas as pd

    order = np.random.default_rng(rng).permutation(findings.n_records)
    n_test = max(round(share * len(order)), 1)
    array, structure = findings.to_numpy().astype(np.float64), _structure(learner)
    frame = None if covariates is None else pd.DataFrame(covariates).reset_index(drop=True)
    parts = []
    for chosen in (order[n_test:], order[:n_test]):
        some = Findings.from_numpy(array[chosen], findings.structure).with_structure(structure)
        people = {}
        if frame is not None:
            people = {"covariates": frame.iloc[chosen].reset_index(drop=True)}
        parts.append((some, people))
    (train, train_people), (test, test_people) = parts
    fitted = clone(learner).fit(train, **train_people)
    return float(fitted.score(test, **test_people))


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
