"""Steps of a repair that change several edges at once, which only together are gained by.

What may be tried stands in `rearranging`.
"""

from collections.abc import Collection
from typing import Any

import numpy as np

from noisyor.discovery.changes import ADD, DROP, changed, changes_between, compatible, key_of
from noisyor.discovery.fitting import carried_over
from noisyor.discovery.rearranging import (
    edges_to_try,
    given_back,
    shared_out,
    starving,
    taken_over,
    with_disease_of,
    with_edges,
)
from noisyor.discovery.repair_path import RepairStep
from noisyor.discovery.repair_steps import LEVEL, Steps
from noisyor.discovery.scores import EdgeScores, PairScorer
from noisyor.discovery.suggestions import edges_to_add
from noisyor.structure import Structure

IDLE = 1.0
"""Log likelihood below which edges that came are dropped all at once."""
MOST_DOUBTED = 10.0
"""So many times what an edge costs it must seem to be worth, or it is tried without it."""
FEW_STEPS = 12
"""Towards the maximum with all edges that may be missing: most of them go at once."""
LEAST_REARRANGED = 2.0
"""What a rearrangement must gain at least: it is chosen from many."""
MODERATE = 0.3
"""1 - f that an edge begins with of which nothing is known."""

Edge = tuple[int, int]


class RearrangingSteps(Steps):
    """Makes rearrangements."""

    def _accepted(self, last: RepairStep, step: RepairStep, n_left: float) -> RepairStep | None:
        """Return a step with what it changes, if these are not too many and enough is gained."""
        changes = changes_between(last.structure, step.structure)
        if len(changes) > n_left or self._cost(step) >= self._cost(last) - LEAST_REARRANGED:
            return None
        self._refused.clear()
        self._known_errors.clear()
        return step._replace(changes=tuple(changes))

    def _open_edges(self, last: RepairStep, absent: EdgeScores) -> dict[Edge, float]:
        """Return edges that may be missing, and may come, with strengths to begin with."""
        diseases, symptoms = last.structure.diseases, last.structure.symptoms
        return {
            (i, j): float(np.clip(strength, 0.02, 0.9))
            for (i, j), strength in edges_to_try(last.network, absent).items()
            if (diseases[i], symptoms[j]) not in self._barred
        }

    def _gone_edges(self, structure: Structure) -> dict[Edge, float]:
        """Return edges that were given, or came, and went for others, with strengths to begin with.

        Those that records contradicted are not among them.
        """
        names = {(name, symptom) for name, given in self._given.items() for symptom in given}
        names |= {(disease, symptoms[0]) for _, disease, _, symptoms, _ in self._n_taken_back}
        names -= {(disease, symptoms[0]) for _, disease, _, symptoms, _ in self._contradicted_keys}
        known = set(structure.diseases)
        edges = {
            (structure.disease_index(disease), structure.symptom_index(symptom))
            for disease, symptom in names
            if disease in known
        }
        return {edge: MODERATE for edge in sorted(edges) if not structure.has_edge(*edge)}

    def _revived(self, last: RepairStep, absent: EdgeScores, n_left: float) -> RepairStep | None:
        """Return a step in which diseases have cases again that others had taken, or none.

        A disease that lacks an edge, or has a false one, may lose its cases to a near-duplicate.
        With hardly any left, no test tells what is wrong with it. So it gets cases back, and edges
        that it may lack; where fitting anew takes long, all such diseases at once, and only once.
        """
        structure = last.structure
        starved = starving(last.network)
        pairs = [each for each in starved if structure.diseases[each[0]] in self._given]
        if not pairs:
            return None
        edges = self._gone_edges(structure) | self._open_edges(last, absent)
        is_exact = self._fitter.is_exact(structure)
        for group in [[pair] for pair in pairs] if is_exact else [pairs]:
            families = [tuple(structure.children(i).tolist()) for pair in group for i in pair]
            key = tuple(group), tuple(families) if is_exact else None
            if key in self._revived_with:
                continue
            self._revived_with.add(key)
            diseases = {i for i, _ in group}
            own = {edge: value for edge, value in edges.items() if edge[0] in diseases}
            step = self._accepted(last, self._with_cases(last, group, own), n_left)
            if step is not None:
                return step
        return None

    def _with_cases(
        self, last: RepairStep, pairs: list[tuple[int, int]], edges: dict[Edge, float]
    ) -> RepairStep:
        """Return a fit in which diseases begin with cases of others, and with some more edges."""
        start = given_back(last.network, pairs)
        step = self._step((), self._fitter.fit(with_edges(start, edges)))
        gain = step.log_likelihood - last.log_likelihood
        if gain < LEAST_REARRANGED / 2.0:
            return step
        if edges and gain < 0.5 * np.log(self._n):  # not even one of them is worth it
            return self._step((), self._fitter.fit(start))
        step = self._pruned(step, edges)
        came = [edge for edge in edges if step.structure.has_edge(*edge)]
        if len(pairs) == 1 and len(came) > 1:  # with all of them it would be another disease
            tried = (with_edges(start, {edge: edges[edge]}) for edge in came)
            step = min((self._step((), self._fitter.fit(each)) for each in tried), key=self._cost)
        return step

    def _rearranged(self, last: RepairStep, absent: EdgeScores, n_left: float) -> RepairStep | None:
        """Return a step of several edges that only together are gained by, or none.

        Where diseases share symptoms, others take up what an edge that is missing would explain:
        they are fitted with too many cases, and a test in which they stay near what they are does
        not see it. So all edges that may be missing come at once, and then those go that are not
        needed, the least needed first.
        """
        structure = last.structure
        came = self._came(structure)
        if came == self._rearranged_with or not self._fitter.is_exact(structure):
            return None
        self._rearranged_with = came
        edges = self._open_edges(last, absent)
        if not edges:
            return None
        start = with_edges(shared_out(last.network, came), edges)
        step = self._pruned(self._step((), self._fitter.fit(start, FEW_STEPS)))
        step = self._restored(step, last)
        return self._accepted(last, step, n_left)

    def _pruned(self, step: RepairStep, others: Collection[Edge] = ()) -> RepairStep:
        """Drop edges that came, or others, the least needed first, as long as that is gained by.

        Tests think too well of edges that others could stand in for: those that they speak for are
        left out one by one, and all else fitted anew, if that does not take long.
        """
        is_exact = self._fitter.is_exact(step.structure)
        needed = set[tuple[Any, ...]]()
        while True:
            present = self._present(step)
            doubted = self._not_needed(present, step.structure, MOST_DOUBTED, others)
            rows = [each for each in doubted if key_of(each) not in needed and self._is_open(each)]
            idle = [each for each in rows if -each.gain < IDLE]
            weak = compatible([each for each in rows if each.gain_bic > 0.0])
            least = sorted(rows, key=lambda each: -each.gain)[: int(is_exact)]
            chosen = idle or weak or least
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
            accepted = self._accepted(last, step, n_left)
            if accepted is not None:
                return accepted
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
