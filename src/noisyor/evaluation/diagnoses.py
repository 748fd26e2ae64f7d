"""evaluate_diagnoses: what a network says of records, against the diseases that were seen."""

import math
from collections import Counter
from typing import Any, NamedTuple, Unpack

import numpy as np

from noisyor.errors import FindingsError, ParameterError
from noisyor.evaluation.evaluated import TOP, DiagnosisEvaluation, LabelScores
from noisyor.evaluation.scores import (
    LEAST,
    Auc,
    Booleans,
    Floats,
    Integers,
    auc_of,
    brier_score,
    calibration_of,
    error_by_chance,
    log_scores,
    mean_auc,
    net_benefits,
    pooled_auc,
    ranks_in_records,
    without_rounding_errors,
)
from noisyor.findings.findings import findings_of
from noisyor.findings.labels import as_labels
from noisyor.findings.reading import ReadOptions, record_format
from noisyor.inference.answers import make_request
from noisyor.inference.intervals import LearnedNetwork, network_of
from noisyor.inference.posterior import Posteriors, effects_of, posteriors_of
from noisyor.io.columns import Words
from noisyor.network import NoisyOrNetwork
from noisyor.network.design import design_rows
from noisyor.network.sampling import Rng


def evaluate_diagnoses(
    network: NoisyOrNetwork | LearnedNetwork,
    records: Any,
    labels: Any,
    *,
    covariates: Any = None,
    method: str = "auto",
    budget: float = 0.1,
    rng: Rng = 0,
    n_jobs: int | None = None,
    **options: Unpack[ReadOptions],
) -> DiagnosisEvaluation:
    """Compare what a network says of records with the diseases that were seen in them.

    Parameters
    ----------
    network
        A network, or an `Estimate`.
    records
        As `posteriors` takes them. Only those with a label are asked about.
    labels
        A file or table with a column for each of some diseases, joined by the records' ids; or an
        array of records x diseases. 1: seen; 0: seen to be absent; missing or NaN: not known.
    covariates, method, budget, rng, n_jobs
        As in `posteriors`.
    options
        How records are read, as in `NoisyOrLearner.fit`.

    Returns
    -------
    DiagnosisEvaluation
        AUC with 95% intervals, calibration, top-k, log score, Brier score and net benefit, of all
        diseases and of each.

    Examples
    --------
    >>> from noisyor import datasets, evaluate_diagnoses
    >>> clinic = datasets.clinic()
    >>> records, diseases = clinic.sample(1000, rng=0, return_diseases=True)
    >>> found = evaluate_diagnoses(clinic, records, diseases)
    >>> found.overall.n_labels, found.overall.auc.value > 0.9
    (20000, True)
    """
    known, form = network_of(network), record_format(options)
    structure = known.structure
    findings = findings_of(records, structure, form, other_uses=("record", "values"))
    if findings.structure.symptoms != structure.symptoms:
        raise FindingsError("these findings belong to another structure than the network.")
    if labels is None:
        raise ParameterError("give the labels: a table joined by ids, or records x diseases.")
    seen = as_labels(labels, findings.with_structure(structure), Words(form.values), form.record)
    is_labelled = seen.is_labelled
    if not is_labelled.any():
        raise ParameterError(
            f"none of the {findings.n_records:,} records has a label, so there is nothing to "
            "evaluate."
        )
    rows = None
    if covariates is not None:
        rows = design_rows(covariates, findings, effects_of(known), form.record)[is_labelled]
    request = make_request(method, budget, rng)
    chosen = findings[is_labelled]
    found = posteriors_of(known, chosen, request, n_jobs=n_jobs, rows=rows)
    is_known, is_present = (each[is_labelled] for each in seen.unpacked())
    return evaluate_posteriors(
        found, is_known, is_present, n_unlabelled=findings.n_records - len(found)
    )


def evaluate_posteriors(
    found: Posteriors, is_known: Booleans, is_present: Booleans, *, n_unlabelled: int = 0
) -> DiagnosisEvaluation:
    """Compare posteriors with labels, records x diseases, of which only some are known."""
    has_posterior = np.isfinite(found.probabilities).all(axis=1)
    n_records = int(has_posterior.sum())
    if not n_records:
        raise ParameterError(
            f"none of the {len(found):,} labelled records has a posterior: all are impossible "
            "under the network, or too much work for the budget."
        )
    probabilities = np.clip(found.probabilities[has_posterior], 0.0, 1.0)
    is_known, is_present = is_known[has_posterior], is_present[has_posterior]
    order = without_rounding_errors(probabilities)
    ranks = ranks_in_records(order)
    parts = [
        _Judged(probabilities[rows, k], order[rows, k], is_present[rows, k], ranks[rows, k], rows)
        for k, rows in enumerate(map(np.flatnonzero, is_known.T))
    ]
    aucs = [auc_of(part.order, part.is_present) for part in parts]
    names = found.structure.diseases
    each = [
        _scores(name, part, auc) for name, part, (auc, _) in zip(names, parts, aucs, strict=True)
    ]
    everything = _Judged(*map(np.concatenate, zip(*parts, strict=True)))
    pooled = pooled_auc(everything.order, everything.is_present, everything.records, n_records)
    mean = mean_auc(
        [auc for auc, _ in aucs], [shares for _, shares in aucs], [part.records for part in parts],
        n_records,
    )  # fmt: skip
    return DiagnosisEvaluation(
        n_records, n_unlabelled, dict(Counter(found.method_names)),
        _scores(None, everything, pooled), mean, tuple(each),
    )  # fmt: skip


class _Judged(NamedTuple):
    """The known labels of a disease, or of all, and what the network says of them."""

    probabilities: Floats
    order: Floats
    """The probabilities by which labels are sorted."""
    is_present: Booleans
    ranks: Integers
    """The disease's among those of its record, by their probabilities."""
    records: Integers


def _scores(name: str | None, part: _Judged, auc: Auc) -> LabelScores:
    probabilities, is_present = part.probabilities, part.is_present
    given = np.where(is_present, probabilities, 1.0 - probabilities)
    n = len(is_present)
    return LabelScores(
        name, n, int(is_present.sum()), auc,
        brier_score(probabilities, is_present),
        float(log_scores(probabilities, is_present).mean()) if n else math.nan,
        int((given < LEAST).sum()),
        np.array([(part.ranks[is_present] <= k).sum() for k in TOP], dtype=np.int64),
        float(probabilities.mean()) if n else math.nan,
        calibration_of(probabilities, is_present), error_by_chance(probabilities),
        net_benefits(probabilities, is_present),
    )  # fmt: skip
