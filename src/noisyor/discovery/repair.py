"""repair: mend a structure step by step, as records ask for it.

In every step the structure is fitted anew, all edges are tested, and changes are made that do not
get in each other's way: of those that share a disease or a symptom only the best. A step that is
not gained by, by BIC with a price for the choice from so many edges, is not made. Diseases that
seem to be missing come first, since otherwise edges of other diseases would stand in for them.
When no more come, what came for nothing goes; then edges are tried that only together are gained
by (`rearranging`); at last those go that were given and that records contradict. Diseases that have
changed their roles get each other's names.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from noisyor.discovery.checking import check_edges, check_settings, is_number, named_edges
from noisyor.discovery.contradictions import right_strengths
from noisyor.discovery.fitting import Fitted, Fitter, carried_over
from noisyor.discovery.rearranging import (
    edges_to_try,
    nearest_roles,
    shared_out,
    with_disease_of,
    with_edges,
    with_roles,
)
from noisyor.discovery.repair_path import RepairPath, RepairStep
from noisyor.discovery.scores import EdgeScores, PairScorer
from noisyor.discovery.suggestions import (
    ADD,
    DROP,
    Suggestion,
    additions_to_drop,
    changed,
    changes_between,
    diseases_to_add,
    doubtful_diseases,
    edges_to_add,
    edges_to_drop,
    log_choices,
    read_records,
)
from noisyor.errors import ParameterError, quoted
from noisyor.findings import Findings
from noisyor.findings.reading import ReadOptions
from noisyor.learning import EMSettings, Estimate, fit
from noisyor.names import Name
from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import as_seed
from noisyor.parameters import Floats
from noisyor.structure import Structure

CRITERIA = ("bic", "held_out")
LEVEL = 0.05
MOST_STEPS = 30
IDLE = 1.0
"""Log likelihood below which edges that came are dropped all at once."""
MOST_DOUBTED = 10.0
"""So many times what an edge costs it must seem to be worth, or it is tried without it."""
SURE = 4.0
"""Standard errors from which on they need not be checked by the likelihood."""
LEAST_REARRANGED = 2.0
"""What a rearrangement must gain at least: it is chosen from many."""
Edges = Iterable[tuple[Name, Name]]


def repair(
    structure: Structure | NoisyOrNetwork | Estimate,
    records: Any,
    *,
    max_changes: int | None = None,
    criterion: str = "bic",
    certain: Edges = (),
    forbidden: Edges = (),
    settings: "RepairSettings | None" = None,
    **options: Unpack[ReadOptions],
) -> RepairPath:
    """Mend a structure step by step; the steps are the result, to stop at any of them.

    Parameters
    ----------
    structure
        To begin with; a network or an estimate of these records saves the first fit.
    records
        As `NoisyOrLearner.fit` takes them.
    max_changes
        Edges and diseases that come or go at most; None: as many as BIC gains by.
    criterion
        "bic", or "held_out": which step is the best one. Changes are chosen by BIC in any case.
    certain
        Edges (disease, symptom) that never go.
    forbidden
        Edges that never come.
    settings
        Held-out records, `rng`, threads, progress; see `RepairSettings`.
    options
        How records are read, as in `NoisyOrLearner.fit`.

    Examples
    --------
    >>> from noisyor import NoisyOrNetwork, Structure
    >>> from noisyor.discovery import repair
    >>> truth = Structure.from_matrix([[1, 1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1, 1]])
    >>> network = NoisyOrNetwork(truth, [0.2, 0.1], [0.4] * 9, [0.02] * 7)
    >>> wrong = Structure(truth.diseases, truth.symptoms, truth.edges[1:])  # without D0 -> S0
    >>> repair(wrong, network.sample(3000, rng=0)).structure == truth
    True
    """
    settings = RepairSettings() if settings is None else settings
    _check(structure, max_changes, criterion, settings)
    graph = structure if isinstance(structure, Structure) else structure.structure
    kept, barred = (named_edges(edges, graph) for edges in (certain, forbidden))
    check_edges(graph, kept, barred)
    findings = read_records(records, graph, options)
    search = _Search(findings, settings, kept, barred)
    start = None if isinstance(structure, Structure) else structure
    return search.run(graph, start, max_changes, criterion)


class RepairSettings(NamedTuple):
    """How `repair` works."""

    held_out: float = 0.1
    """The share of the records that are not learned from; 0: none."""
    diseases: bool = True
    """Also look for diseases that are missing."""
    rng: Any = 0
    n_jobs: int | None = None
    progress: Callable[[int], None] | None = None
    """Called with the number of records looked at since the last call."""


class _Search:
    """Looks for changes, and makes them."""

    def __init__(
        self, findings: Findings, settings: RepairSettings, kept: set[tuple[str, str]],
        barred: set[tuple[str, str]],
    ) -> None:  # fmt: skip
        self._settings, self._kept, self._barred = settings, kept, barred
        self._seed = as_seed(settings.rng) % 2**31
        self._training, self._tested = split(findings, settings.held_out, self._seed)
        self._n = self._training.n_records
        self._marginals = self._training.count_present() / max(self._n, 1)
        n_jobs, progress = settings.n_jobs, settings.progress
        self._fitter = Fitter(self._training, seed=self._seed, n_jobs=n_jobs, progress=progress)
        self._judge = None
        if self._tested is not None:
            self._judge = Fitter(self._tested, seed=self._seed, n_jobs=n_jobs)
        self._refused: set[tuple[Any, ...]] = set()
        self._doubtful: set[str] = set()
        self._known_errors: dict[tuple[int, ...], float] = {}
        self._rearranged_with: set[tuple[int, int]] | None = None
        self._given: dict[str, set[str]] = {}
        self._n_choices = 1

    def run(
        self, structure: Structure, start: NoisyOrNetwork | Estimate | None,
        max_changes: int | None, criterion: str,
    ) -> RepairPath:  # fmt: skip
        """Make steps until nothing is gained any more, or Ctrl-C."""
        self._given = {
            name: {structure.symptoms[j] for j in structure.children(i)}
            for i, name in enumerate(structure.diseases)
        }
        n_pairs = structure.n_diseases * structure.n_symptoms
        self._n_choices = max(n_pairs - structure.n_edges, 1)
        steps = [self._first(structure, start)]
        n_left, is_complete = np.inf if max_changes is None else max_changes, True
        try:
            while len(steps) <= MOST_STEPS and n_left > 0:
                step = self._next(steps[-1], n_left)
                if step is None:
                    break
                steps.append(step)
                n_left -= len(step.changes)
            else:
                is_complete = False
        except KeyboardInterrupt:
            is_complete = False
        values = [
            step.held_out
            if criterion == "held_out" and step.held_out is not None
            else -self._cost(step)
            for step in steps
        ]
        return RepairPath(tuple(steps), int(np.argmax(values)), is_complete)

    def _first(self, structure: Structure, start: NoisyOrNetwork | Estimate | None) -> RepairStep:
        if start is None:
            em = EMSettings(rng=self._seed, n_jobs=self._settings.n_jobs)
            start = fit(self._training.with_structure(structure), structure, settings=em)
        self._doubtful = doubtful_diseases(structure, start.flags)
        return self._step((), self._fitter.fit(_network_of(start)))

    def _step(self, changes: Sequence[Suggestion], fitted: Fitted) -> RepairStep:
        size = fitted.network.structure.n_parameters
        bic = size * np.log(self._n) - 2.0 * fitted.log_likelihood
        held_out = None
        if self._judge is not None and self._tested is not None:
            held_out = self._judge.log_likelihood(fitted.network) / self._tested.n_records
        return RepairStep(
            tuple(changes), fitted.network, fitted.log_likelihood, bic, held_out, fitted.errors
        )

    def _next(self, last: RepairStep, n_left: float) -> RepairStep | None:
        """Return the next step, if there is one that is gained by.

        Edges that come and a disease that comes may explain the same: the better one is taken.
        Then what came and is not needed any more goes, what came may be rearranged, and at last
        edges go that were given.
        """
        renamed = self._renamed(last, n_left)
        if renamed is not None:
            return renamed
        structure, n_jobs = last.structure, self._settings.n_jobs
        findings = self._training.with_structure(structure)
        scorer = PairScorer(last.network, findings, seed=self._seed, n_jobs=n_jobs)
        sums = scorer.sums()
        absent = scorer.absent_edges(sums)
        added = edges_to_add(absent, structure, self._n, LEVEL)
        new = self._diseases(last.network, findings), added
        steps = [self._gaining(last, compatible(changes), n_left) for changes in new]
        found = [step for step in steps if step is not None]
        if found:
            return min(found, key=self._cost)
        present = scorer.present_edges(sums)
        return (
            self._gaining(last, self._not_needed(present, structure), n_left)
            or self._rearranged(last, absent, n_left)
            or self._contradicted(last, present, n_left)
        )

    def _renamed(self, last: RepairStep, n_left: float) -> RepairStep | None:
        """Return a step that gives diseases each other's names, if less has changed with these.

        What the records say is the same.
        """
        roles = nearest_roles(last.structure, self._given)
        if (roles == np.arange(len(roles))).all():
            return None
        old = last.network
        structure, edges = with_roles(last.structure, roles)
        changes = changes_between(last.structure, structure)
        if len(changes) > n_left or not all(map(self._is_allowed, changes)):
            return None
        network = NoisyOrNetwork(structure, old.priors[roles], old.failures[edges], old.leaks)
        return last._replace(changes=tuple(changes), network=network, errors=last.errors[edges])

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

    def _not_needed(
        self, present: EdgeScores, structure: Structure, factor: float = 1.0
    ) -> list[Suggestion]:
        """Return edges that came and are not worth it any more, or not so many times."""
        came = self._came(structure)
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

    def _rearranged(self, last: RepairStep, absent: EdgeScores, n_left: float) -> RepairStep | None:
        """Return a step of several edges that only together are gained by, or none.

        Where diseases share symptoms, others take up what an edge that is missing would explain:
        they are fitted with too many cases, and a test in which they stay near what they are does
        not see it. So all edges that may be missing come at once, and then those go that are not
        needed, the least needed first.
        """
        structure = last.structure
        came, names = self._came(structure), (structure.diseases, structure.symptoms)
        if came == self._rearranged_with or not self._fitter.is_exact(structure):
            return None
        self._rearranged_with = came
        edges = {
            (i, j): float(np.clip(strength, 0.02, 0.9))
            for (i, j), strength in edges_to_try(last.network, absent).items()
            if (names[0][i], names[1][j]) not in self._barred
        }
        if not edges:
            return None
        start = with_edges(shared_out(last.network, came), edges)
        step = self._pruned(self._step((), self._fitter.fit(start)))
        step = self._restored(step, last)
        changes = changes_between(structure, step.structure)
        is_better = self._cost(step) < self._cost(last) - LEAST_REARRANGED
        if not changes or len(changes) > n_left or not is_better:
            return None
        self._refused.clear()
        self._known_errors.clear()
        return step._replace(changes=tuple(changes))

    def _pruned(self, step: RepairStep) -> RepairStep:
        """Drop edges that came, the least needed first, as long as that is gained by.

        Tests think too well of edges that others could stand in for: those that they speak for are
        left out one by one, and all else fitted anew.
        """
        needed = set[tuple[Any, ...]]()
        while True:
            present = self._present(step)
            doubted = self._not_needed(present, step.structure, MOST_DOUBTED)
            rows = [each for each in doubted if _key(each) not in needed and self._is_open(each)]
            idle = [each for each in rows if -each.gain < IDLE]
            weak = compatible([each for each in rows if each.gain_bic > 0.0])
            chosen = idle or weak or sorted(rows, key=lambda each: -each.gain)[:1]
            if not chosen:
                return step
            step = self._gaining(step, chosen, np.inf, needed) or step

    def _restored(self, step: RepairStep, last: RepairStep) -> RepairStep:
        """Make diseases what they were before several edges of theirs came, if that is better.

        With all of its new edges a disease may have become another one, for which each is needed.
        """
        before = changes_between(last.structure, step.structure)
        added = [each for each in before if each.kind == ADD]
        for disease in sorted({each.disease for each in added}):
            drops = [each._replace(kind=DROP) for each in added if each.disease == disease]
            if len(drops) > 1:
                structure = changed(step.structure, drops)
                start = carried_over(step.network, structure, {}, self._marginals)
                start = with_disease_of(start, last.network, disease)
                less = self._step((), self._fitter.fit(start))
                step = min(step, less, key=self._cost)
        return step

    def _present(self, step: RepairStep) -> EdgeScores:
        findings = self._training.with_structure(step.structure)
        scorer = PairScorer(step.network, findings, seed=self._seed, n_jobs=self._settings.n_jobs)
        return scorer.present_edges(scorer.sums())

    def _contradicted(
        self, last: RepairStep, present: EdgeScores, n_left: float
    ) -> RepairStep | None:
        """Return a step without edges that were given and that records contradict, or none.

        Tests may think too well of an edge. Those that only they speak for are tried one by one.
        """
        n = self._n
        lost = np.fmin(present.gains, (present.strengths / last.errors) ** 2 / 2.0)
        errors = self._errors(last, present, lost)
        drops = edges_to_drop(present, errors, last.network, n, lost=lost)
        drops = [each for each in drops if self._is_open(each)]
        sure = [each for each in drops if each.gain_bic > 0.0]
        tries = [sure, *([each] for each in drops if each.gain_bic <= 0.0)]
        steps = (self._gaining(last, changes, n_left) for changes in tries if changes)
        return next((step for step in steps if step is not None), None)

    def _errors(self, last: RepairStep, present: EdgeScores, lost: Floats) -> Floats:
        """Return standard errors of the failures of edges that BIC does not want.

        Where they leave open whether an edge is as strong as the weakest right ones, or belong to
        a disease that is doubtful, the likelihood itself is asked: with that strength it falls by
        half the square of the distance, in standard errors. NaN: it does not say.
        """
        structure, n, errors = last.structure, self._n, last.errors.copy()
        strengths = right_strengths(present, n)
        if not len(strengths):
            return errors
        doubtful = np.array([name in self._doubtful for name in structure.diseases])
        is_doubtful = doubtful[present.edges[:, 0]]
        away = strengths[0] - present.strengths
        is_open = (is_doubtful | (away < SURE * errors)) & (lost < 0.5 * np.log(n))
        for edge in np.flatnonzero(is_open).tolist():
            asked = float("nan")
            if away[edge] > errors[edge]:
                asked = self._asked(last, edge, float(strengths[0]))
            if is_doubtful[edge] or np.isfinite(asked):
                errors[edge] = asked
        return errors

    def _asked(self, last: RepairStep, edge: int, strength: float) -> float:
        """Return the standard error of a failure by the likelihood with another strength."""
        key = tuple(last.structure.edges[edge].tolist())
        if key not in self._known_errors:
            value = self._fitter.likelihood_with(last.network, edge, 1.0 - strength)
            fall = np.nan if value is None else max(last.log_likelihood - value, 1e-9)
            away = strength - 1.0 + last.network.failures[edge]
            self._known_errors[key] = float(away / np.sqrt(2.0 * fall))
        return self._known_errors[key]

    def _diseases(self, network: NoisyOrNetwork, findings: Findings) -> list[Suggestion]:
        """Return the disease whose absence shows most."""
        if not self._settings.diseases:
            return []
        found = diseases_to_add(network, None, findings, self._settings.n_jobs)
        return sorted(found, key=lambda row: -row.gain)[:1]

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
            (self._refused if refused is None else refused).add(_key(chosen[-1]))
            chosen = chosen[: len(chosen) // 2]
        return None

    def _tried(self, last: RepairStep, changes: list[Suggestion]) -> RepairStep:
        structure = changed(last.structure, changes)
        strengths = {
            (each.disease, each.symptoms[0]): float(np.clip(each.strength, 0.02, 0.9))
            for each in changes
            if each.kind == ADD
        }
        start = carried_over(last.network, structure, strengths, self._marginals)
        return self._step(changes, self._fitter.fit(start))

    def _is_open(self, change: Suggestion) -> bool:
        return self._is_allowed(change) and _key(change) not in self._refused

    def _is_allowed(self, change: Suggestion) -> bool:
        edges = {(change.disease, symptom) for symptom in change.symptoms}
        return not edges & {ADD: self._barred, DROP: self._kept}.get(change.kind, set())


def _key(change: Suggestion) -> tuple[Any, ...]:
    return change.kind, change.disease, change.symptoms


def compatible(changes: Sequence[Suggestion]) -> list[Suggestion]:
    """Return the best changes of which no two share a disease or a symptom, the best first."""
    found, taken = [], set[tuple[str, str]]()
    for change in sorted(changes, key=lambda each: -each.gain_bic):
        names = {("symptom", name) for name in change.symptoms}
        if change.disease:
            names.add(("disease", change.disease))
        if not names & taken:
            found.append(change)
        taken |= names
    return found


def split(findings: Findings, share: float, seed: int) -> tuple[Findings, Findings | None]:
    """Return records to learn from, and some that are held out, chosen at random."""
    n_out = round(share * findings.n_records)
    if n_out < 1 or n_out >= findings.n_records:
        return findings, None
    order = np.random.default_rng([seed, 1]).permutation(findings.n_records)
    array = findings.to_numpy()
    rest, out = np.sort(order[n_out:]), np.sort(order[:n_out])
    return tuple(Findings.from_numpy(array[rows], findings.structure) for rows in (rest, out))  # type: ignore[return-value]


def _check(
    structure: Any, max_changes: int | None, criterion: str, settings: RepairSettings
) -> None:
    if not isinstance(structure, Structure | NoisyOrNetwork | Estimate):
        raise ParameterError(
            f"expected a Structure, a network or an Estimate, not {type(structure).__name__}."
        )
    check_settings(settings, RepairSettings)
    share = settings.held_out
    if not is_number(share) or not 0.0 <= share < 1.0:
        raise ParameterError(f"held_out must be a share from 0 to below 1, not {quoted(share)}.")
    if criterion not in CRITERIA:
        raise ParameterError(f"criterion must be 'bic' or 'held_out', not {quoted(criterion)}.")
    is_whole = isinstance(max_changes, int) and not isinstance(max_changes, bool)
    if max_changes is not None and (not is_whole or max_changes < 0):
        raise ParameterError(
            f"max_changes must be a whole number from 0 on, not {quoted(max_changes)}."
        )


def _network_of(structure: NoisyOrNetwork | Estimate) -> NoisyOrNetwork:
    network = structure.network if isinstance(structure, Estimate) else structure
    network.check_plain("repair")
    return network
