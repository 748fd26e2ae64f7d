"""Steps of a repair: what changes of a structure bring, and what they cost."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from noisyor.discovery.changes import ADD, DROP, SPLIT, Suggestion, key_of
from noisyor.discovery.fitting import Fitted, Fitter, started_with
from noisyor.discovery.repair_path import RepairStep
from noisyor.discovery.scores import EdgeScores, PairScorer
from noisyor.discovery.suggested_diseases import log_choices
from noisyor.discovery.suggestions import additions_to_drop
from noisyor.findings import Findings
from noisyor.network.sampling import as_seed
from noisyor.structure import Structure

LEVEL = 0.05
"""The share of false ones that is allowed among edges that come."""


class RepairSettings(NamedTuple):
    """How `repair` works."""

    held_out: float = 0.1
    """The share of the records that are not learned from; 0: none."""
    diseases: bool = True
    """Also look for diseases that are missing, and for those that are two."""
    rng: Any = 0
    n_jobs: int | None = None
    progress: Callable[[int], None] | None = None
    """Called with the number of records looked at since the last call."""


class Steps:
    """Makes changes, fits anew, and says what is gained."""

    def __init__(
        self, findings: Findings, settings: RepairSettings, kept: set[tuple[str, str]],
        barred: set[tuple[str, str]],
    ) -> None:  # fmt: skip
        self._settings, self._kept, self._barred = settings, kept, barred
        self._seed = as_seed(settings.rng) % 2**31
        self._training, self._tested = split(findings, settings.held_out, self._seed)
        self._n = self._training.n_records
        n_jobs, progress = settings.n_jobs, settings.progress
        self._fitter = Fitter(self._training, seed=self._seed, n_jobs=n_jobs, progress=progress)
        self._judge = None
        if self._tested is not None:
            self._judge = Fitter(self._tested, seed=self._seed, n_jobs=n_jobs)
        self._refused: set[tuple[Any, ...]] = set()
        self._contradicted_keys: set[tuple[Any, ...]] = set()
        self._n_taken_back: Counter[tuple[Any, ...]] = Counter()
        self._doubtful: set[str] = set()
        self._has_dropped_disease = False
        self._known_errors: dict[tuple[int, ...], float] = {}
        self._rearranged_with: set[tuple[int, int]] | None = None
        self._revived_with: set[tuple[Any, ...]] = set()
        self._exchanged_with: set[tuple[int, int]] = set()
        self._given: dict[str, set[str]] = {}
        self._n_choices = 1

    def _step(self, changes: Sequence[Suggestion], fitted: Fitted) -> RepairStep:
        size = fitted.network.structure.n_parameters
        bic = size * np.log(self._n) - 2.0 * fitted.log_likelihood
        held_out = None
        if self._judge is not None and self._tested is not None:
            held_out = self._judge.log_likelihood(fitted.network) / self._tested.n_records
        return RepairStep(
            tuple(changes), fitted.network, fitted.log_likelihood, bic, held_out, fitted.errors
        )

    def _cost(self, step: RepairStep) -> float:
        """Return BIC, and twice the log of how many edges, or diseases, there were to choose from.

        Otherwise the best of many false edges would often be gained by.
        """
        structure = step.structure
        n_symptoms, cost = structure.n_symptoms, step.bic
        for i, name in enumerate(structure.diseases):
            symptoms = {structure.symptoms[j] for j in structure.children(i)}
            if name in self._given:
                n_new = len(symptoms - self._given[name])
                cost += 2.0 * n_new * np.log(self._n_choices)
            else:
                cost += 2.0 * log_choices(len(symptoms), n_symptoms)
        return float(cost)

    @property
    def _price(self) -> float:
        """What an edge that comes costs, as `_cost` has it."""
        return float(np.log(self._n) + 2.0 * np.log(self._n_choices))

    def _not_needed(
        self, present: EdgeScores, structure: Structure, factor: float = 1.0,
        others: Collection[tuple[int, int]] = (),
    ) -> list[Suggestion]:  # fmt: skip
        """Return edges that came, or others, and are not worth it, or not so many times."""
        came = self._came(structure).union(others)
        is_added = np.array([edge in came for edge in map(tuple, present.edges.tolist())])
        return additions_to_drop(present, is_added, structure, self._n, self._n_choices, factor)

    def _came(self, structure: Structure) -> set[tuple[int, int]]:
        """Return the edges of diseases that were given, that were not given themselves."""
        return {
            (i, j)
            for i, j in structure.edges.tolist()
            if structure.symptoms[j]
            not in self._given.get(structure.diseases[i], {structure.symptoms[j]})
        }

    def _present(self, step: RepairStep) -> EdgeScores:
        findings = self._training.with_structure(step.structure)
        scorer = PairScorer(step.network, findings, seed=self._seed, n_jobs=self._settings.n_jobs)
        return scorer.present_edges(scorer.sums())

    def _gaining(
        self,
        last: RepairStep,
        changes: list[Suggestion],
        n_left: float,
        refused: set[tuple[Any, ...]] | None = None,
    ) -> RepairStep | None:
        """Return a step with as many changes as are gained by together, or none."""
        chosen = [each for each in changes if self._is_open(each)]
        chosen = chosen[: int(min(n_left, len(chosen)))]
        while chosen:
            step = self._tried(last, chosen)
            if self._cost(step) < self._cost(last):
                return step
            (self._refused if refused is None else refused).add(key_of(chosen[-1]))
            chosen = chosen[: len(chosen) // 2]
        return None

    def _tried(self, last: RepairStep, changes: list[Suggestion]) -> RepairStep:
        start = started_with(last.network, changes, self._fitter.marginals)
        return self._step(changes, self._fitter.fit(start))

    def _is_open(self, change: Suggestion) -> bool:
        return self._is_allowed(change) and key_of(change) not in self._refused

    def _is_allowed(self, change: Suggestion) -> bool:
        edges = {(change.disease, name) for name in change.symptoms if name not in change.shared}
        held = {ADD: self._barred, DROP: self._kept, SPLIT: self._kept}
        return not edges & held.get(change.kind, set())


def split(findings: Findings, share: float, seed: int) -> tuple[Findings, Findings | None]:
    """Return records to learn from, and some that are held out, chosen at random."""
    n_out = round(share * findings.n_records)
    if n_out < 1 or n_out >= findings.n_records:
        return findings, None
    is_out = np.zeros(findings.n_records, dtype=np.bool_)
    is_out[np.random.default_rng([seed, 1]).permutation(findings.n_records)[:n_out]] = True
    return findings.chosen(~is_out), findings.chosen(is_out)
