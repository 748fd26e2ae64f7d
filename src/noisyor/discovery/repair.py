"""repair: mend a structure step by step, as records ask for it.

In every step the structure is fitted anew, all edges are tested, and changes are made that do not
stand in for each other: of those that concern the same symptom only the best. A step that is
not gained by, by BIC with a price for the choice from so many edges, is not made. Diseases that
seem to be missing come first, since otherwise edges of other diseases would stand in for them.
When no more come, what came for nothing goes, diseases too; then edges are tried that only together
are gained by, others in place of one that came, and diseases that have lost their cases get some
back (`rearranging_steps`); at last those go that were given and that records contradict. Diseases
that have changed their roles get each other's names. What a step costs stands in `repair_steps`.
"""

from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np

from noisyor.discovery.changes import (
    ADD,
    DROP_DISEASE,
    Suggestion,
    changes_between,
    compatible,
    key_of,
)
from noisyor.discovery.checking import check_edges, check_settings, is_number, named_edges
from noisyor.discovery.contradictions import FoundEdges, weakest_right
from noisyor.discovery.reading import read_records
from noisyor.discovery.rearranging import nearest_roles, with_roles
from noisyor.discovery.rearranging_steps import RearrangingSteps
from noisyor.discovery.repair_path import RepairPath, RepairStep
from noisyor.discovery.repair_steps import LEVEL, RepairSettings
from noisyor.discovery.scores import EdgeScores, PairScorer
from noisyor.discovery.simplify import ACTIVE
from noisyor.discovery.suggested_diseases import diseases_to_add, misfits_of, split_of, swapped
from noisyor.discovery.suggestions import (
    doubtful_diseases,
    edges_in_place_of,
    edges_to_add,
    edges_to_drop,
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
MOST_STEPS = 30
MOST_TAKEN_BACK = 2
"""So many times an edge that came may go again."""
SURE = 4.0
"""Standard errors from which on they need not be checked by the likelihood."""
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
    client: Any = None,
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
    client
        Of a Dask cluster, whose workers read the records and send them here as bits.
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
    findings = read_records(records, graph, options, client)
    search = _Search(findings, settings, kept, barred)
    start = None if isinstance(structure, Structure) else structure
    return search.run(graph, start, max_changes, criterion)


class _Search(RearrangingSteps):
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
                if step.changes:
                    steps.append(step)
                else:  # a better fit of the same structure
                    steps[-1] = step._replace(changes=steps[-1].changes)
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
            or self._revived(last, absent, n_left)
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
        for changes in filter(None, tries):
            step = self._gaining(last, changes, n_left)
            if step is not None:
                self._contradicted_keys.update(map(key_of, step.changes))
                return step
        return None

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
