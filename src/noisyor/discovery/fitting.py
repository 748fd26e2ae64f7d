"""Fitting again, from where a network was, after its structure has changed a little."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.discovery.changes import ADD, MERGE, SPLIT, Suggestion, changed, new_name
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import BetaPriors, inside
from noisyor.em.information import MOST_TOGETHER, blas_threads_for, information_errors
from noisyor.em.maximum import PenalisedLikelihood, climb_penalised
from noisyor.em.runs import EMSettings, Limits, Run
from noisyor.em.sampled import RecordSampler
from noisyor.findings import Findings
from noisyor.learning import Estimate, learn_refined
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Floats
from noisyor.schedule import find_schedule
from noisyor.structure import Structure

EM_STEPS, MOST_STEPS = 3, 30
"""Steps of EM, and in all."""
SETTLED, NEARLY = 0.2, 0.3
"""Log likelihood that may be left to gain; where it is only compared with a bound."""
LEAST_SHARE = 0.05
"""Of the weak priors: they are for few records, and would hold back what changes."""


class Fitted(NamedTuple):
    """A network that was fitted to records."""

    network: NoisyOrNetwork
    log_likelihood: float
    """Or nearly so, where records have too many possible diseases to sum over all."""
    errors: Floats
    """Standard errors of the failures; NaN where records say nothing of one."""


class Fitter:
    """Fits networks of changing structures to the same records."""

    def __init__(
        self, findings: Findings, *, seed: int = 0, n_jobs: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        self.findings = findings
        self.marginals = findings.count_present() / max(findings.n_records, 1)
        self._seed, self._n_jobs = seed, n_jobs
        self._progress = progress or (lambda _: None)

    def fit(self, start: NoisyOrNetwork, max_iter: int = MOST_STEPS) -> Fitted:
        """Climb to the maximum near a start; with few steps, towards it."""
        structure = start.structure
        start = start.with_parameters(inside(start.parameters))
        if structure.n_parameters <= MOST_TOGETHER:
            expectation = self._expectation(structure)
            if expectation.is_affordable:
                with blas_threads_for(structure.n_parameters):
                    return self._climb(expectation, start, max_iter)
        estimate = self._refined(start)
        # Sampling may lead a little astray: what is returned is not below the start.
        errors = estimate.standard_errors.failures
        networks = estimate.network, start
        found = (Fitted(each, self.log_likelihood(each), errors) for each in networks)
        return max(found, key=_value)

    def is_exact(self, structure: Structure) -> bool:
        """Return True if the records can be summed up exactly, some dozen times."""
        if structure.n_parameters > MOST_TOGETHER:
            return False
        return self._expectation(structure).is_affordable

    def likelihood_with(self, network: NoisyOrNetwork, edge: int, failure: float) -> float | None:
        """Return the highest log likelihood near a network where one failure is fixed.

        None where it could not be found: that would take too long, or is not settled.
        """
        structure = network.structure
        if not self.is_exact(structure):
            return None
        expectation = self._expectation(structure)
        start = network.with_parameters(inside(network.parameters))
        values = np.full(structure.n_edges, np.nan)
        values[edge] = failure
        fixed = Beliefs(structure, failures=values)
        limits = Limits(MOST_STEPS, 0.0)
        run, priors = self._run(expectation, start.with_fixed(fixed), fixed, limits, NEARLY)
        value = run.values[-1] - priors.log_density(run.network, ~fixed.mask.vector)
        return value if run.is_settled else None

    def failure_errors(self, network: NoisyOrNetwork) -> Floats:
        """Return standard errors of the failures of a network that was fitted."""
        structure = network.structure
        network = network.with_parameters(inside(network.parameters))
        if structure.n_parameters <= MOST_TOGETHER:
            expectation = self._expectation(structure)
            if expectation.is_affordable:
                expectation.cut(network)
                return _errors(expectation, network, BetaPriors.weak(network, LEAST_SHARE))
        return self._refined(network, max_iter=1).standard_errors.failures

    def _refined(self, start: NoisyOrNetwork, max_iter: int | None = None) -> Estimate:
        settings = EMSettings(max_iter=max_iter, rng=self._seed, n_jobs=self._n_jobs)
        findings = self.findings.with_structure(start.structure)
        return learn_refined(
            findings, find_schedule(start.structure), start, settings=settings,
            progress=self._progress,
        )  # fmt: skip

    def log_likelihood(self, network: NoisyOrNetwork) -> float:
        """Return the log likelihood, or a bound that is nearly as high."""
        structure = network.structure
        if structure.n_parameters <= MOST_TOGETHER:
            expectation = self._expectation(structure)
            if expectation.is_affordable:
                expectation.cut(network)
                return expectation.expect(network).log_likelihood
        findings = self.findings.with_structure(structure)
        sampler = RecordSampler(structure, findings.blocks, n_jobs=self._n_jobs)
        inner = network.with_parameters(inside(network.parameters))
        return float(sampler.bound(inner, every=1).total[0])

    def _expectation(self, structure: Structure) -> ExactExpectation:
        findings = self.findings.with_structure(structure)
        return ExactExpectation(findings, may_cut=True, n_jobs=self._n_jobs)

    def _climb(self, expectation: ExactExpectation, start: NoisyOrNetwork, max_iter: int) -> Fitted:
        fixed = Beliefs(start.structure)
        run, priors = self._run(expectation, start, fixed, Limits(max_iter, 0.0), SETTLED)
        value = run.values[-1] - priors.log_density(run.network, ~fixed.mask.vector)
        return Fitted(run.network, value, _errors(expectation, run.network, priors))

    def _run(
        self, expectation: ExactExpectation, start: NoisyOrNetwork, fixed: Beliefs, limits: Limits,
        settled: float,
    ) -> tuple[Run, BetaPriors]:  # fmt: skip
        expectation.cut(start)
        priors = BetaPriors.weak(start, LEAST_SHARE)
        likelihood = PenalisedLikelihood(expectation, priors, fixed, self._progress)
        return climb_penalised(likelihood, start, limits, EM_STEPS, settled=settled), priors


def _errors(expectation: ExactExpectation, network: NoisyOrNetwork, priors: BetaPriors) -> Floats:
    """Return standard errors of the failures, all other parameters being unknown too."""
    information = expectation.information(network)
    return information_errors(network, information, Beliefs(network.structure), priors).failures


def _value(fitted: Fitted) -> float:
    return fitted.log_likelihood


def started_with(
    network: NoisyOrNetwork, changes: Sequence[Suggestion], marginals: Floats
) -> NoisyOrNetwork:
    """Return a start with changes made to the structure of a network.

    A split or a merge stands alone.
    """
    strengths = {
        (each.disease, each.symptoms[0]): float(np.clip(each.strength, 0.02, 0.9))
        for each in changes
        if each.kind == ADD
    }
    start = carried_over(network, changed(network.structure, changes), strengths, marginals)
    for each in changes:
        if each.kind == SPLIT:
            start = _divided(start, network, each)
        elif each.kind == MERGE:
            start = _as_one(start, network, each)
    return start


def _divided(start: NoisyOrNetwork, before: NoisyOrNetwork, split: Suggestion) -> NoisyOrNetwork:
    """Give each part of a disease half of its cases, who have its symptoms twice as often."""
    structure, old = start.structure, before.structure
    i = old.disease_index(split.disease)
    strengths = dict(zip(old.children(i), 1.0 - before.failures[old.edges_of(i)], strict=True))
    new = new_name(split.symptoms, old.diseases)
    priors, failures = start.priors.copy(), start.failures.copy()
    for part in (structure.disease_index(name) for name in (split.disease, new)):
        priors[part] = before.priors[i] / 2.0
        own = [strengths[j] for j in structure.children(part)]
        failures[structure.edges_of(part)] = 1.0 - np.clip(2.0 * np.array(own), 0.02, 0.9)
    return NoisyOrNetwork(structure, priors, failures, start.leaks)


def _as_one(start: NoisyOrNetwork, before: NoisyOrNetwork, merge: Suggestion) -> NoisyOrNetwork:
    """Give the disease that stays the cases of both, and the edges of the one that goes."""
    structure, old = start.structure, before.structure
    stays, goes = (old.disease_index(name) for name in (merge.disease, merge.other))
    i = structure.disease_index(merge.disease)
    priors, failures = start.priors.copy(), start.failures.copy()
    priors[i] = 1.0 - (1.0 - before.priors[stays]) * (1.0 - before.priors[goes])
    share = before.priors[goes] / (before.priors[stays] + before.priors[goes])
    for j in old.children(goes).tolist():
        edge, part = structure.edge_index(i, j), share if old.has_edge(stays, j) else 1.0
        of_other = before.failures[old.edge_index(goes, j)]
        failures[edge] = (1.0 - part) * failures[edge] + part * of_other
    return NoisyOrNetwork(structure, priors, failures, start.leaks)


def carried_over(
    network: NoisyOrNetwork, structure: Structure, strengths: dict[tuple[str, str], float],
    marginals: Floats,
) -> NoisyOrNetwork:  # fmt: skip
    """Return a start on another structure of the same symptoms: what is known of it, and guesses.

    Parameters
    ----------
    network
        What is known.
    structure
        Diseases and edges are found by their names.
    strengths
        1 - f of edges that are new, by names; 0.5 of others.
    marginals
        How often each symptom is present: new diseases are as frequent as a part of the rarest of
        their symptoms.
    """
    old = network.structure
    known = {name: index for index, name in enumerate(old.diseases)}
    failures = dict(
        zip(zip(*old.edge_names().values(), strict=True), network.failures, strict=True)
    )
    priors = np.empty(structure.n_diseases)
    for i, name in enumerate(structure.diseases):
        symptoms = structure.children(i)
        rare = 0.5 * float(marginals[symptoms].min(initial=0.1))
        priors[i] = network.priors[known[name]] if name in known else np.clip(rare, 1e-4, 0.2)
    names = zip(*structure.edge_names().values(), strict=True)
    found = [failures.get(each, 1.0 - strengths.get(each, 0.5)) for each in names]
    return NoisyOrNetwork(structure, priors, np.array(found), network.leaks)
