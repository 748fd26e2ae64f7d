"""repair: mend a structure step by step, as records ask for it.

In every step the structure is fitted anew, all edges are tested, and changes are made that do not
get in each other's way: of those that share a disease or a symptom only the best. A step that BIC
does not gain by is not made. Diseases that seem to be missing come first, since otherwise edges of
other diseases would stand in for them; edges go when no more come.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa

from noisyor.discovery.fitting import Fitted, Fitter, carried_over
from noisyor.discovery.scores import PairScorer
from noisyor.discovery.suggestions import (
    ADD,
    ADD_DISEASE,
    DROP,
    Suggestion,
    changed,
    diseases_to_add,
    doubtful_diseases,
    edges_to_add,
    edges_to_drop,
    read_records,
)
from noisyor.errors import ParameterError, quoted
from noisyor.findings import Findings
from noisyor.findings.reading import ReadOptions
from noisyor.immutable import EqualByValue
from noisyor.learning import EMSettings, Estimate, fit
from noisyor.names import Name
from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import as_seed
from noisyor.parameters import Floats
from noisyor.structure import Structure

CRITERIA = ("bic", "held_out")
LEVEL = 0.05
MOST_STEPS = 30
Edges = Iterable[tuple[Name, Name]]


class RepairStep(NamedTuple):
    """What one step has changed, and how well the structure describes the records since."""

    changes: tuple[Suggestion, ...]
    network: NoisyOrNetwork
    log_likelihood: float
    bic: float
    held_out: float | None
    """The mean log likelihood of a record that was not learned from."""
    errors: Floats
    """Standard errors of the network's failures."""

    @property
    def structure(self) -> Structure:
        """The structure since this step."""
        return self.network.structure


@dataclass(frozen=True, eq=False)
class RepairPath(EqualByValue):
    """The way from a structure to a better one; the first step is the structure that was given."""

    steps: tuple[RepairStep, ...]
    best: int
    """The number of the step that the criterion wants."""
    is_complete: bool
    """False if it was interrupted, or stopped by `max_changes`."""

    @property
    def structure(self) -> Structure:
        """The structure that the criterion wants."""
        return self.steps[self.best].structure

    @property
    def network(self) -> NoisyOrNetwork:
        """The network that was fitted with it, to the records that were not held out."""
        return self.steps[self.best].network

    @property
    def changes(self) -> tuple[Suggestion, ...]:
        """All changes up to the structure that the criterion wants."""
        made = [change for step in self.steps[: self.best + 1] for change in step.changes]
        return tuple(made)

    def table(self) -> pa.Table:
        """Return a row per change, as an Arrow table: its step, and how well that fits."""
        rows = [
            {
                "step": number, "kind": change.kind, "disease": change.disease,
                "symptoms": ", ".join(change.symptoms), "gain": change.gain,
                "strength": change.strength, "log_likelihood": step.log_likelihood,
                "bic": step.bic, "held_out": step.held_out, "sentence": change.sentence,
            }
            for number, step in enumerate(self.steps)
            for change in step.changes
        ]  # fmt: skip
        schema = pa.schema([
            ("step", pa.int64()), ("kind", pa.string()), ("disease", pa.string()),
            ("symptoms", pa.string()), ("gain", pa.float64()), ("strength", pa.float64()),
            ("log_likelihood", pa.float64()), ("bic", pa.float64()), ("held_out", pa.float64()),
            ("sentence", pa.string()),
        ])  # fmt: skip
        return pa.Table.from_pylist(rows, schema=schema)

    def __repr__(self) -> str:
        counts = {kind: sum(each.kind == kind for each in self.changes) for kind in KINDS}
        words = ", ".join(f"{counts[kind]} {KINDS[kind]}" for kind in KINDS)
        first, last = self.steps[0].bic, self.steps[self.best].bic
        more = "" if self.is_complete else "; not complete"
        return f"RepairPath({words}; BIC {first:,.1f} -> {last:,.1f}{more})"


KINDS = {ADD: "edges added", DROP: "dropped", ADD_DISEASE: "diseases added"}


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
    settings = settings or RepairSettings()
    graph = structure if isinstance(structure, Structure) else structure.structure
    _check(graph, max_changes, criterion)
    kept, barred = (_named(edges, graph) for edges in (certain, forbidden))
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

    def run(
        self, structure: Structure, start: NoisyOrNetwork | Estimate | None,
        max_changes: int | None, criterion: str,
    ) -> RepairPath:  # fmt: skip
        """Make steps until nothing is gained any more, or Ctrl-C."""
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
            step.held_out if criterion == "held_out" and step.held_out is not None else -step.bic
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
        """Return the next step, if there is one that BIC gains by.

        Edges that come and a disease that comes may explain the same: the better one is taken.
        """
        structure, n_jobs = last.structure, self._settings.n_jobs
        findings = self._training.with_structure(structure)
        diseases = self._diseases(last.network, findings)
        scorer = PairScorer(last.network, findings, seed=self._seed, n_jobs=n_jobs)
        sums = scorer.sums()
        added = edges_to_add(scorer.absent_edges(sums), structure, self._n, LEVEL)
        steps = [self._gaining(last, changes, n_left) for changes in (diseases, added)]
        found = [step for step in steps if step is not None]
        if found:
            return min(found, key=lambda step: step.bic)
        dropped = edges_to_drop(
            scorer.present_edges(sums), last.errors, structure, self._n, self._doubtful
        )
        return self._gaining(last, dropped, n_left)

    def _diseases(self, network: NoisyOrNetwork, findings: Findings) -> list[Suggestion]:
        """Return the disease whose absence shows most."""
        if not self._settings.diseases:
            return []
        found = diseases_to_add(network, None, findings, self._settings.n_jobs)
        return sorted(found, key=lambda row: -row.gain)[:1]

    def _gaining(
        self, last: RepairStep, changes: list[Suggestion], n_left: float
    ) -> RepairStep | None:
        """Return a step with as many changes as BIC gains by together, or none."""
        chosen = compatible([each for each in changes if self._is_open(each)])
        chosen = chosen[: int(min(n_left, len(chosen)))]
        while chosen:
            step = self._tried(last, chosen)
            if step.bic < last.bic:
                return step
            self._refused.add(_key(chosen[-1]))
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
        edges = {(change.disease, symptom) for symptom in change.symptoms}
        taboo = {ADD: self._barred, DROP: self._kept}.get(change.kind, set())
        return not edges & taboo and _key(change) not in self._refused


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


def _check(structure: Structure, max_changes: int | None, criterion: str) -> None:
    if criterion not in CRITERIA:
        raise ParameterError(f"criterion must be 'bic' or 'held_out', not {quoted(criterion)}.")
    is_number = isinstance(max_changes, int) and not isinstance(max_changes, bool)
    if max_changes is not None and (not is_number or max_changes < 0):
        raise ParameterError(
            f"max_changes must be a whole number from 0 on, not {quoted(max_changes)}."
        )


def _named(edges: Edges, structure: Structure) -> set[tuple[str, str]]:
    """Return edges by names; those must be known."""
    found = set()
    for edge in edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise ParameterError(f"{quoted(edge)} is not an edge: give (disease, symptom).")
        i, j = structure.disease_index(edge[0]), structure.symptom_index(edge[1])
        found.add((structure.diseases[i], structure.symptoms[j]))
    return found


def _network_of(structure: NoisyOrNetwork | Estimate) -> NoisyOrNetwork:
    network = structure.network if isinstance(structure, Estimate) else structure
    network.check_plain("repair")
    return network
