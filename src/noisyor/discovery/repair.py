"""repair: mend a structure step by step, as records ask for it.

In every step the structure is fitted anew, all edges are tested, and changes are made that do not
stand in for each other: of those that concern the same symptom only the best. A step that is
not gained by, by BIC with a price for the choice from so many edges, is not made. Diseases that
seem to be missing come first, since otherwise edges of other diseases would stand in for them.
When no more come, what came for nothing goes, diseases too; then edges are tried that only together
are gained by (`rearranging`), and others in place of one that came; at last those go that were
given and that records contradict. Diseases that have changed their roles get each other's names.
What a step costs stands in `repair_steps`.
"""

from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np

from noisyor.discovery.changes import (
    ADD,
    DROP,
    DROP_DISEASE,
    Suggestion,
    changed,
    changes_between,
    compatible,
    key_of,
)
from noisyor.discovery.checking import check_edges, check_settings, is_number, named_edges
from noisyor.discovery.contradictions import FoundEdges, weakest_right
from noisyor.discovery.fitting import carried_over
from noisyor.discovery.rearranging import (
    edges_to_try,
    nearest_roles,
    shared_out,
    taken_over,
    with_disease_of,
    with_edges,
    with_roles,
)
from noisyor.discovery.repair_path import RepairPath, RepairStep
from noisyor.discovery.repair_steps import RepairSettings, Steps
from noisyor.discovery.scores import EdgeScores, PairScorer
from noisyor.discovery.simplify import ACTIVE
from noisyor.discovery.suggested_diseases import diseases_to_add, misfits_of, split_of, swapped
from noisyor.discovery.suggestions import (
    doubtful_diseases,
    edges_in_place_of,
    edges_to_add,
    edges_to_drop,
    read_records,
)
from noisyor.errors import ParameterError, quoted
from noisyor.findings import Findings
from noisyor.findings.reading import ReadOptions
from noisyor.learning import EMSettings, Estimate, fit
from noisyor.names import Name
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Floats
from noisyor.structure import Structure

CRITERIA = ("bic", "held_out")
LEVEL = 0.05
MOST_STEPS = 30
IDLE = 1.0
"""Log likelihood below which edges that came are dropped all at once."""
MOST_DOUBTED = 10.0
"""So many times what an edge costs it must seem to be worth, or it is tried without it."""
MOST_TAKEN_BACK = 2
"""So many times an edge that came may go again."""
SURE = 4.0
"""Standard errors from which on they need not be checked by the likelihood."""
FEW_STEPS = 12
"""Towards the maximum with all edges that may be missing: most of them go at once."""
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
    settings: RepairSettings | None = None,
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


class _Search(Steps):
    """Looks for changes, and makes them."""

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

    def _next(self, last: RepairStep, n_left: float) -> RepairStep | None:
        """Return the next step, if there is one that is gained by.

        Edges that come and a disease that comes may explain the same: the best of them is taken,
        also of all edges that would give a disease what the one that comes has.
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
        added = self._to_add(absent, structure)
        new = self._diseases(last.network, findings)
        steps = [self._gaining(last, compatible(changes), n_left) for changes in (new, added)]
        for block in new:
            edges = edges_in_place_of(block, absent, structure, self._n)
            steps.append(self._gaining(last, edges, n_left, set()))
            steps.append(self._divided(last, block, n_left))
        gaining = [step for step in steps if step is not None]
        if gaining:
            return min(gaining, key=self._cost)
        present = scorer.present_edges(sums)
        return (
            self._taken_back(last, self._not_needed(present, structure), n_left)
            or self._without_disease(last, n_left)
            or self._rearranged(last, absent, n_left)
            or self._exchanged(last, n_left)
            or self._contradicted(last, present, n_left)
        )

    def _divided(self, last: RepairStep, block: Suggestion, n_left: float) -> RepairStep | None:
        """Return a step in which a disease is split; edges that are certain stay its own."""
        split = split_of(block, last.network, self._fitter)
        if split is None:
            return None
        ways = [each for each in (split, swapped(split, last.structure)) if self._is_allowed(each)]
        step = self._gaining(last, ways[:1], n_left)
        if step is None:
            return None
        [made], gain = step.changes, step.log_likelihood - last.log_likelihood
        by_bic = (self._cost(last) - self._cost(step)) / 2.0
        return step._replace(changes=(made._replace(gain=gain, gain_bic=by_bic),))

    def _to_add(self, absent: EdgeScores, structure: Structure) -> list[Suggestion]:
        found = edges_to_add(absent, structure, self._n, LEVEL)
        return [each for each in found if self._n_taken_back[key_of(each)] < MOST_TAKEN_BACK]

    def _taken_back(
        self, last: RepairStep, drops: list[Suggestion], n_left: float
    ) -> RepairStep | None:
        """Return a step without edges that came and are not needed any more, or none.

        They may come again, since what has stood in for them may go, but not for ever: tests of an
        edge that is there and of one that is not may differ a little.
        """
        step = self._gaining(last, drops, n_left)
        if step is not None:
            self._n_taken_back.update(key_of(each._replace(kind=ADD)) for each in step.changes)
        return step

    def _without_disease(self, last: RepairStep, n_left: float) -> RepairStep | None:
        """Return a step without a disease that came, if edges have made it superfluous, or none.

        No other comes then: what asks for it may be the same.
        """
        structure, nan = last.structure, float("nan")
        for name in structure.diseases:
            if name not in self._given:
                own = tuple(structure.symptoms[j] for j in structure.children(name))
                drop = Suggestion(DROP_DISEASE, name, own, nan, nan, nan, nan, nan)
                step = self._gaining(last, [drop], n_left)
                if step is not None:
                    self._has_dropped_disease = True
                    return step
        return None

    def _renamed(self, last: RepairStep, n_left: float) -> RepairStep | None:
        """Return a step that gives diseases each other's names, if less has changed with these.

        What the records say is the same. Edges that are next to none do not count: a disease that
        has taken the place of another leaves it with its edges, but idle.
        """
        whole = last.structure
        is_active = last.network.failures < 1.0 - ACTIVE
        active = Structure(whole.diseases, whole.symptoms, whole.edges[is_active])
        roles = nearest_roles(active, self._given)
        if (roles == np.arange(len(roles))).all():
            return None
        old = last.network
        structure, edges = with_roles(last.structure, roles)
        changes = changes_between(last.structure, structure)
        if len(changes) > n_left or not all(map(self._is_allowed, changes)):
            return None
        network = NoisyOrNetwork(structure, old.priors[roles], old.failures[edges], old.leaks)
        return last._replace(changes=tuple(changes), network=network, errors=last.errors[edges])

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
        step = self._pruned(self._step((), self._fitter.fit(start, FEW_STEPS)))
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
            rows = [each for each in doubted if key_of(each) not in needed and self._is_open(each)]
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
                start = carried_over(step.network, structure, {}, self._fitter.marginals)
                start = with_disease_of(start, last.network, disease)
                less = self._step((), self._fitter.fit(start))
                step = min(step, less, key=self._cost)
        return step

    def _exchanged(self, last: RepairStep, n_left: float) -> RepairStep | None:
        """Return a step with others in place of an edge that came, or none.

        An edge of a disease that has taken over the cases of near-duplicates may stand in for
        several of theirs. Each that is not worth too much is left out, with cases shared out anew,
        to see what is missing then.
        """
        structure = last.structure
        came = self._came(structure)
        if came == self._exchanged_with or not self._fitter.is_exact(structure):
            return None
        self._exchanged_with = came
        shared = shared_out(last.network, came)
        for edge in sorted(taken_over(structure, came)):
            left = [other for other in structure.edges.tolist() if tuple(other) != edge]
            less = Structure(structure.diseases, structure.symptoms, left)
            start = carried_over(shared, less, {}, self._fitter.marginals)
            step = self._step((), self._fitter.fit(start))
            if self._cost(step) > self._cost(last) + MOST_DOUBTED * self._price:
                continue
            step = self._pruned(self._completed(step, edge))
            changes = changes_between(structure, step.structure)
            is_better = self._cost(step) < self._cost(last) - LEAST_REARRANGED
            if changes and len(changes) <= n_left and is_better:
                self._refused.clear()
                self._known_errors.clear()
                return step._replace(changes=tuple(changes))
        return None

    def _completed(self, step: RepairStep, without: tuple[int, int]) -> RepairStep:
        """Add edges that tests ask for, but one, as long as they are gained by."""
        names = step.structure.diseases[without[0]], (step.structure.symptoms[without[1]],)
        while True:
            findings = self._training.with_structure(step.structure)
            n_jobs = self._settings.n_jobs
            scorer = PairScorer(step.network, findings, seed=self._seed, n_jobs=n_jobs)
            absent = scorer.absent_edges(scorer.sums())
            added = edges_to_add(absent, step.structure, self._n, LEVEL)
            others = [each for each in added if (each.disease, each.symptoms) != names]
            more = self._gaining(step, compatible(others), np.inf, set())
            if more is None:
                return step
            step = more

    def _contradicted(
        self, last: RepairStep, present: EdgeScores, n_left: float
    ) -> RepairStep | None:
        """Return a step without edges that were given and that records contradict, or none.

        Tests may think too well of an edge. Those that only they speak for are tried one by one, or
        together where fitting anew takes long.
        """
        lost = np.fmin(present.gains, (present.strengths / last.errors) ** 2 / 2.0)
        errors = self._errors(last, present, lost)
        drops = edges_to_drop(present, errors, last.network, self._n, lost=lost)
        drops = sorted(filter(self._is_open, drops), key=lambda each: each.q_value)
        sure = [each for each in drops if each.gain_bic > 0.0]
        others = [each for each in drops if each.gain_bic <= 0.0]
        is_exact = self._fitter.is_exact(last.structure)
        tries = [sure, *([each] for each in others)] if is_exact else [sure, others]
        steps = (self._gaining(last, changes, n_left) for changes in tries if changes)
        return next((step for step in steps if step is not None), None)

    def _errors(self, last: RepairStep, present: EdgeScores, lost: Floats) -> Floats:
        """Return standard errors of the failures of edges that BIC does not want.

        Where they leave open whether an edge is as strong as the weakest right ones, or belong to
        a disease that is doubtful, the likelihood itself is asked: with that strength it falls by
        half the square of the distance, in standard errors. NaN: it does not say.
        """
        structure, n, errors = last.structure, self._n, last.errors.copy()
        weakest = weakest_right(FoundEdges.of(present, errors, last.network, n, lost))
        if np.isnan(weakest):
            return errors
        doubtful = np.array([name in self._doubtful for name in structure.diseases])
        is_doubtful = doubtful[present.edges[:, 0]]
        away = weakest - present.strengths
        is_open = (is_doubtful | (away < SURE * errors)) & (lost < 0.5 * np.log(n))
        for edge in np.flatnonzero(is_open).tolist():
            asked = float("nan")
            if away[edge] > errors[edge]:
                asked = self._asked(last, edge, weakest)
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
        if not self._settings.diseases or self._has_dropped_disease:
            return []
        misfits = misfits_of(network, None, findings, self._settings.n_jobs)
        found = diseases_to_add(misfits, network.structure, self._n)
        return sorted(found, key=lambda row: -row.gain)[:1]


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
    if criterion == "held_out" and share == 0.0:
        raise ParameterError(
            "criterion 'held_out' needs records that are held out, and their share, held_out "
            "(--held-out), is 0: give one, such as 0.1, or take criterion 'bic'."
        )
    is_whole = isinstance(max_changes, int) and not isinstance(max_changes, bool)
    if max_changes is not None and (not is_whole or max_changes < 0):
        raise ParameterError(
            f"max_changes must be a whole number from 0 on, not {quoted(max_changes)}."
        )


def _network_of(structure: NoisyOrNetwork | Estimate) -> NoisyOrNetwork:
    network = structure.network if isinstance(structure, Estimate) else structure
    network.check_plain("repair")
    return network
