"""Weak networks: whether learning ends at the maximum of the likelihood, and is honest there."""

import math

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import BetaPriors
from noisyor.em.information import information_errors
from noisyor.errors import ParameterError
from noisyor.experiments.learners import fit_sample
from noisyor.experiments.measures import KINDS, coverage
from noisyor.experiments.results import Cell, Floats, Quantities, Results, cells_of
from noisyor.experiments.settings import WEAK, ExperimentSettings
from noisyor.experiments.tables import span
from noisyor.findings import Findings
from noisyor.inference import posteriors
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Parameters

LASTS = "two hours"
NETWORKS = ("figure1", "figure2", "plants", "tcc4e", "ddxplus", *WEAK, "health_knowledge_graph")
METHODS = ("refined", "pooled")
N_SAMPLES = {"figure1": 200, "figure2": 100}
"""Of few parameters five samples, as elsewhere, say little of how many intervals hold the truth."""
N_TESTED = 10_000
"""New records, on which the likelihood is compared, too."""


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List networks, records and methods, five samples each, or more of small ones."""
    names = settings.pick(settings.available(*NETWORKS), ["figure1", WEAK[0]])
    sizes = settings.pick((3000, 10_000, 100_000), (1000,))
    samples = {name: settings.seeds(settings.pick(N_SAMPLES.get(name, 5), 1)) for name in names}
    return [
        cell
        for n_records in sizes
        for name in names
        for cell in cells_of([name], [n_records], samples[name], METHODS)
    ]


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Learn from one sample; compare likelihoods with those of the truth, and intervals with it."""
    network = settings.network(cell.network, cell.seed)
    fit_sample(network, cell.method, 200, seed=0)  # compile
    estimate, found = fit_sample(network, cell.method, cell.n_records, cell.seed + 1)
    learned, n_parameters = estimate.network, network.structure.n_parameters
    records = network.sample(cell.n_records, rng=cell.seed + 1)
    found["gain"] = _gain(learned, network, records)
    others = network.sample(N_TESTED, rng=10**6 + cell.seed)
    # Expected: half the number of parameters over the records, as much as it is above on its own.
    found["test loss"] = loss_of(learned, network, others)
    found["expected"] = n_parameters / 2.0
    found["test loss, expected"] = n_parameters / 2.0 / cell.n_records
    is_small = found["test loss"] <= 1.2 * found["test loss, expected"]
    found["test loss is small"] = float(is_small)
    found |= _unknowable(network, records)
    for kind, part in estimate.parts.items():
        found[f"flagged {kind}"] = float((part.flags != 0).mean())
    return found | coverage(estimate, network)


def _unknowable(truth: NoisyOrNetwork, records: Findings) -> Quantities:
    """Return the shares of the parameters that such records leave uncertain by a third and more.

    By the information at the true network, without weak priors: how small shares of flags could be.
    """
    try:
        information = ExactExpectation(records).information(truth)
    except ParameterError:  # some records are too much work
        return {}
    # With hardly any priors, of a millionth of a case, there is an inverse.
    priors = BetaPriors(truth.parameters, Parameters.full(truth.structure, 1e-6))
    errors = information_errors(truth, information, Beliefs(truth.structure), priors)
    is_known = errors.map(lambda error, value: error <= value / 3.0, truth.parameters)
    return {
        f"unknowable {kind}": float(1.0 - known.mean())
        for kind, known in zip(KINDS, is_known, strict=True)
    }


def _gains(
    learned: NoisyOrNetwork, truth: NoisyOrNetwork, records: Findings
) -> tuple[Floats, Floats, bool]:
    """Return how much more likely distinct records are in what was learned than in truth, as logs.

    And how many there are of each, and whether these are all records.
    """
    try:
        exact = ExactExpectation(records)
        of_learned, of_truth = (exact.counts(each)[1] for each in (learned, truth))
        return of_learned - of_truth, exact.records.weights, True
    except ParameterError:  # some records are too much work: those are left out
        found = [posteriors(each, records, budget=0.02) for each in (learned, truth)]
        is_exact = found[0].is_exact & found[1].is_exact
        of_learned, of_truth = (each.log_evidences[is_exact] for each in found)
        return of_learned - of_truth, np.ones(len(of_truth)), False


def _gain(learned: NoisyOrNetwork, truth: NoisyOrNetwork, records: Findings) -> float:
    """Return how much larger the log likelihood of what was learned is than that of the truth."""
    gains, weights, _ = _gains(learned, truth, records)
    return float(weights @ gains)


def loss_of(learned: NoisyOrNetwork, truth: NoisyOrNetwork, records: Findings) -> float:
    """Return how much lower the log likelihood of a new record is on average than in truth.

    With the ratio r = P(record, learned) / P(record, truth) that is -E[log r]. Since E[r] = 1, it
    is E[r - 1 - log r] as well, of which no term is negative: far fewer records tell it as well.
    """
    gains, weights, is_all = _gains(learned, truth, records)
    losses = np.expm1(gains) - gains if is_all else -gains
    return float(weights @ losses / records.n_records)


def page(results: Results) -> dict[str, object]:
    """Return the tables, and how often learning ends above the truth."""
    runs = results.runs("refined")
    gains = np.concatenate([results.all(*run, "gain") for run in runs])
    shares = {
        kind: [results.mean(*run, f"held {kind} / sound {kind}") for run in runs] for kind in KINDS
    }
    covered = {
        kind: [each for each in found if not math.isnan(each)] for kind, found in shares.items()
    }
    return {
        "n_above": int((gains >= 0).sum()),
        "n_all": len(gains),
        "least": f"{gains.min():+.1f}",
        "covered_priors": span(covered["prior"], "{:.1%}"),
        "covered_failures": span(covered["failure"], "{:.1%}"),
        "covered_leaks": span(covered["leak"], "{:.1%}"),
        "refined": runs,
        "pooled": results.runs("pooled"),
    }
