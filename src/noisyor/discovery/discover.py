"""discover: causes, their number, their symptoms and parameters, from records alone.

Too many causes, each with all symptoms, begin where a factorisation of the counts of pairs leaves
them (`pair_factors`); EM over some of the records follows; dead causes are dropped, near-duplicates
merged, and what is not explained is tried with new ones (`simplify`). This is done several times
from random starts. The best one, by BIC, goes on with all records: edges go and come as they are
tested (`scores`), until BIC gains no more. Up to 12 causes are summed up exactly (`dense_em`); of
more the diseases of each record are sampled (`many_causes`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa

from noisyor.discovery.changes import new_name
from noisyor.discovery.checking import check_settings
from noisyor.discovery.contradictions import bic_of_adding
from noisyor.discovery.dense_em import MOST_CAUSES, CauseMatrix, DenseEM, DenseRecords
from noisyor.discovery.many_causes import SampledCauses
from noisyor.discovery.pair_factors import MAX_ITER, PairRatios, causes_of, factorise, residuals
from noisyor.discovery.quartet_start import QuartetStart
from noisyor.discovery.reading import FEWEST_SYMPTOMS, read_unstructured
from noisyor.discovery.scores import PairScorer
from noisyor.discovery.simplify import ACTIVE, ALIKE, bic_of, cosines, n_parameters, simplified
from noisyor.em.runs import EMSettings
from noisyor.errors import ParameterError, quoted
from noisyor.findings import Findings
from noisyor.findings.reading import ReadOptions
from noisyor.immutable import EqualByValue
from noisyor.learning import Estimate, learn_refined
from noisyor.moments import MomentPlan, count_moments
from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import as_seed
from noisyor.parallel import in_threads, one_blas_thread
from noisyor.parameters import Booleans, Floats
from noisyor.schedule import find_schedule
from noisyor.structure import Structure

STARTS = ("pairs", "quartets", "random")
FIRST_CAUSES = 10
FIRST_RECORDS = 2000
"""Random starts look at so many records."""
FIRST_STEPS, MORE_STEPS, ALL_STEPS = 8, 15, 40
NEW_CAUSES = 2
"""Tried for what the causes that were found do not explain."""
FEW_ROUNDS, MOST_ROUNDS = 2, 8
"""Rounds in which edges go and come: before causes are judged, and at the end."""
TESTED_RECORDS = 20_000


@dataclass(frozen=True, eq=False)
class Discovery(EqualByValue):
    """Causes that were found in records, and how surely."""

    network: NoisyOrNetwork
    """With names made of each cause's strongest symptoms."""
    log_likelihood: float
    bic: float
    stability: Floats
    """Of each cause: the share of the random starts that have found it; NaN of a single start."""
    is_given: Booleans
    """True where the cause was in the structure that was given."""
    n_starts: int
    is_complete: bool
    """False if it was interrupted."""
    estimate: Estimate | None
    """With standard errors, where these were asked for and nothing was interrupted."""

    @property
    def structure(self) -> Structure:
        """The causes, symptoms and edges."""
        return self.network.structure

    def table(self) -> pa.Table:
        """Return a row per cause, as an Arrow table."""
        structure, rows = self.structure, []
        for i, name in enumerate(structure.diseases):
            edges = structure.edges_of(i)
            failures = self.network.failures[edges]
            symptoms = structure.edges[edges, 1][np.argsort(failures)]
            rows.append({
                "cause": name, "prior": float(self.network.priors[i]), "n_symptoms": len(symptoms),
                "symptoms": ", ".join(structure.symptoms[j] for j in symptoms),
                "strongest": float(1.0 - failures.min(initial=1.0)),
                "stability": float(self.stability[i]) if self.n_starts > 1 else None,
                "is_given": bool(self.is_given[i]),
            })  # fmt: skip
        schema = pa.schema([
            ("cause", pa.string()), ("prior", pa.float64()), ("n_symptoms", pa.int64()),
            ("symptoms", pa.string()), ("strongest", pa.float64()), ("stability", pa.float64()),
            ("is_given", pa.bool_()),
        ])  # fmt: skip
        return pa.Table.from_pylist(rows, schema=schema)

    def __repr__(self) -> str:
        structure = self.structure
        return (
            f"Discovery({structure.n_diseases} causes, {structure.n_edges} edges; "
            f"BIC {self.bic:,.1f}{'' if self.is_complete else '; not complete'})"
        )


class DiscoverySettings(NamedTuple):
    """How `discover` works."""

    n_init: int = 3
    """Random starts."""
    start: str = "pairs"
    """Where EM begins: at a factorisation of the pairs; at "quartets" of symptoms that one cause
    couples alone; or "random", at small random strengths."""
    standard_errors: bool = True
    """Also learn the network that was found by "refined", which gives an estimate."""
    n_jobs: int | None = None
    progress: Callable[[int], None] | None = None
    """Called with numbers of starts that are finished."""


def discover(
    records: Any,
    max_causes: int | None = None,
    *,
    structure: Structure | None = None,
    rng: Any = 0,
    settings: DiscoverySettings | None = None,
    client: Any = None,
    **options: Unpack[ReadOptions],
) -> Discovery:
    """Find causes in records, without a structure or with a part of it.

    Parameters
    ----------
    records
        An array, a frame, findings, or a file with a column for each symptom; with `structure`
        anything that `NoisyOrLearner.fit` takes.
    max_causes
        At most so many, those that are given counted; None: 10, and more if all of them are used.
    structure
        Causes that are known, with all of their edges; others are looked for beside them.
    rng
        A seed, or a numpy Generator; the same gives the same.
    settings
        Random starts, threads, progress; see `DiscoverySettings`.
    client
        Of a Dask cluster, whose workers read the records and send them here as bits; the names of
        symptoms are read here.
    options
        How records are read, as in `NoisyOrLearner.fit`.

    Examples
    --------
    >>> from noisyor import NoisyOrNetwork, Structure
    >>> from noisyor.discovery import DiscoverySettings, discover
    >>> truth = Structure.from_matrix([[1, 1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1, 1]])
    >>> network = NoisyOrNetwork(truth, [0.2, 0.1], [0.2] * 9, [0.02] * 7)
    >>> records = network.sample(3000, rng=0).to_numpy()
    >>> found = discover(records, 4, rng=0)
    >>> sorted(found.structure.children(i).tolist() for i in range(2))
    [[0, 1, 2, 3], [2, 3, 4, 5, 6]]
    """
    settings = DiscoverySettings() if settings is None else settings
    check_settings(settings, DiscoverySettings)
    _check(max_causes, structure, settings)
    findings = read_unstructured(records, structure, options, client)
    finder = _Finder(findings, structure, as_seed(rng) % 2**31, settings)
    return finder.run(max_causes)


def _check(
    max_causes: int | None, structure: Structure | None, settings: DiscoverySettings
) -> None:
    is_number = isinstance(max_causes, int) and not isinstance(max_causes, bool)
    if max_causes is not None and (not is_number or max_causes < 1):
        raise ParameterError(
            f"max_causes must be a whole number from 1 on, not {quoted(max_causes)}."
        )
    if structure is not None and not isinstance(structure, Structure):
        raise ParameterError(f"structure must be a Structure, not {type(structure).__name__}.")
    n_known = 0 if structure is None else structure.n_diseases
    if max_causes is not None and max_causes < n_known:
        raise ParameterError(
            f"max_causes is {max_causes}, but the structure has {n_known} causes already."
        )
    if settings.start not in STARTS:
        raise ParameterError(
            f"start must be 'pairs', 'quartets' or 'random', not {quoted(settings.start)}."
        )
    if settings.n_init < 1:
        raise ParameterError(f"n_init must be at least 1, not {quoted(settings.n_init)}.")


class _Start(NamedTuple):
    """What a random start has led to."""

    causes: CauseMatrix
    is_given: Booleans
    bic: float


def _bic(start: _Start) -> float:
    return start.bic


class _Finder:
    """Looks for causes in some records."""

    def __init__(
        self, findings: Findings, structure: Structure | None, seed: int,
        settings: DiscoverySettings,
    ) -> None:  # fmt: skip
        self._findings, self._settings, self._seed = findings, settings, seed
        self._symptoms = findings.structure.symptoms
        self._given = () if structure is None else structure.diseases
        self._mask = np.zeros((len(self._given), len(self._symptoms)), dtype=np.bool_)
        if structure is not None:
            self._mask[structure.edges[:, 0], structure.edges[:, 1]] = True
        bare = Structure((), self._symptoms, np.empty((0, 2), int))
        plain = Findings(bare, findings.blocks)
        moments = count_moments(plain, MomentPlan.all_pairs(bare), n_jobs=settings.n_jobs)
        self._ratios, self._records = PairRatios.of(moments), DenseRecords(plain)
        self._quartets = QuartetStart(plain, self._ratios, 1)
        self._frequencies = self._records.frequencies()

    def run(self, max_causes: int | None) -> Discovery:
        """Start several times, and finish the best one; with more causes if all were used."""
        n_causes = max_causes or max(FIRST_CAUSES, len(self._given) + 4)
        starts, is_complete = self._starts(n_causes)
        self._best = min(starts, key=_bic)
        try:
            while max_causes is None and is_complete and len(self._best.causes.priors) == n_causes:
                n_causes = MOST_CAUSES if n_causes < MOST_CAUSES else 2 * n_causes
                starts, is_complete = self._starts(n_causes)
                self._best = min(starts, key=_bic)
            if is_complete:
                # Starts that have used all causes whose states can be summed up do not tell how
                # many there are.
                are_many = max_causes is None and n_causes >= MOST_CAUSES
                self._finish(n_causes, len(self._symptoms) if are_many else n_causes)
        except KeyboardInterrupt:
            is_complete = False
        return self._result(self._best, starts, is_complete)

    def _starts(self, n_causes: int) -> tuple[list[_Start], bool]:
        """Return what random starts lead to, several at a time; with Ctrl-C those that were made.

        Where diseases are sampled, threads share the records of one start instead.
        """
        found: dict[int, _Start] = {}

        def make(number: int) -> None:
            found[number] = self._started(n_causes, np.random.default_rng([self._seed, number]))
            if self._settings.progress is not None:
                self._settings.progress(1)

        is_complete = True
        n_jobs = self._settings.n_jobs if n_causes <= MOST_CAUSES else 1
        try:
            with one_blas_thread():
                in_threads(make, range(self._settings.n_init), n_jobs)
        except KeyboardInterrupt:
            if not found:
                raise
            is_complete = False
        made = dict(found)  # threads that were interrupted may still add to the other
        return [made[number] for number in sorted(made)], is_complete

    def _started(self, n_causes: int, rng: np.random.Generator) -> _Start:
        """Begin with many causes, and simplify."""
        is_allowed = self._allowed(n_causes)
        start = np.full(is_allowed.shape, np.nan)  # random
        if self._settings.start == "quartets":
            found = self._quartets.strengths(n_causes - len(self._given), rng)
            start[len(self._given) : len(self._given) + len(found)] = found
        max_iter = MAX_ITER if self._settings.start == "pairs" else 0
        strengths, _ = factorise(self._ratios, is_allowed, rng, start, max_iter)
        causes = causes_of(strengths, is_allowed, self._frequencies)
        is_given = np.arange(n_causes) < len(self._given)
        if n_causes > MOST_CAUSES:
            return self._sampled(causes, is_given, rng)
        em = DenseEM(self._records.thinned(FIRST_RECORDS, rng))
        climbed, kept = simplified(em, em.climb(causes, FIRST_STEPS, tol=1e-5), is_given)
        climbed, kept = simplified(em, em.climb(climbed.causes, MORE_STEPS, tol=1e-5), kept)
        n = em.records.n_records  # the same for all starts, so that their BIC can be compared
        return _Start(climbed.causes, kept, bic_of(climbed.causes, climbed.log_likelihood, n) / n)

    def _allowed(self, n_causes: int) -> Booleans:
        hidden = np.ones((n_causes - len(self._given), len(self._symptoms)), dtype=np.bool_)
        return np.concatenate([self._mask, hidden])

    def _refilled(
        self, start: _Start, n_causes: int, rng: np.random.Generator
    ) -> tuple[CauseMatrix, Booleans]:
        """Return the causes that were found, and new ones for the pairs that they leave."""
        n_found = len(start.causes.priors)
        n_new = min(n_causes - n_found, max(NEW_CAUSES, n_found // 4))
        is_allowed = np.ones((n_new, len(self._symptoms)), dtype=np.bool_)
        left = residuals(self._ratios, start.causes)
        strengths, _ = factorise(left, is_allowed, rng, max_iter=100)
        new = causes_of(strengths, is_allowed, self._frequencies, prior=0.05)
        both = CauseMatrix(
            np.concatenate([start.causes.priors, new.priors]),
            np.concatenate([start.causes.failures, new.failures]),
            start.causes.leaks,
        )
        return both, np.concatenate([start.is_given, np.zeros(n_new, dtype=np.bool_)])

    def _sampled(self, causes: CauseMatrix, is_given: Booleans, rng: np.random.Generator) -> _Start:
        """Do the same where there are many causes, by sampling."""
        sampled = SampledCauses(self._findings, int(rng.integers(2**31)), self._settings.n_jobs)
        found, kept, log_likelihood = sampled.simplified(causes, is_given)
        return _Start(found, kept, bic_of(found, log_likelihood, self._findings.n_records))

    # --- all records ---

    def _finish(self, n_causes: int, most: int) -> None:
        """Fit all records; try new causes for what is left, as long as BIC gains by them.

        Up to `n_causes` while all may still have all symptoms, so that wrong ones can change; up to
        `most` when edges that count for nothing have gone: where diseases are sampled, BIC would
        not have causes with all symptoms.
        """
        self._best = self._fitted(self._best.causes, self._best.is_given)
        rng = np.random.default_rng([self._seed, self._settings.n_init])
        self._grow(n_causes, 0, rng)
        if most > n_causes:
            self._best = self._settled(self._best, FEW_ROUNDS)
            self._grow(most, FEW_ROUNDS, rng)
        self._best = self._settled(self._best, MOST_ROUNDS, is_pruned=most > n_causes)

    def _grow(self, most: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Try new causes, judged when their edges have gone and come for some rounds."""
        while len(self._best.causes.priors) < most:
            tried = self._fitted(*self._refilled(self._best, most, rng))
            if n_rounds and len(tried.causes.priors) <= len(self._best.causes.priors):
                break
            tried = self._settled(tried, n_rounds)
            if tried.bic >= self._best.bic:
                break
            self._best = tried

    def _settled(self, found: _Start, n_rounds: int, *, is_pruned: bool = False) -> _Start:
        """Let edges go and come until BIC gains no more, or for some rounds.

        Where causes still have all symptoms, edges that count for nothing go in any case.
        """
        for _ in range(n_rounds):
            if not len(found.causes.priors):
                break
            after = self._fitted(*self._with_better_edges(found.causes, found.is_given))
            if is_pruned and after.bic >= found.bic:
                break
            found, is_pruned = after, True
        return found

    def _fitted(self, causes: CauseMatrix, is_given: Booleans) -> _Start:
        """Fit causes to all records, those that BIC can do without left out."""
        n = float(self._findings.n_records)
        if len(causes.priors) > MOST_CAUSES:
            sampled = SampledCauses(self._findings, self._seed, self._settings.n_jobs)
            found, kept, log_likelihood = sampled.fitted(causes, is_given)
            return _Start(found, kept, bic_of(found, log_likelihood, n))
        em = DenseEM(self._records)
        climbed, kept = simplified(em, em.climb(causes, FIRST_STEPS, tol=1e-6), is_given)
        climbed = em.climb(climbed.causes, ALL_STEPS, tol=1e-6)
        return _Start(climbed.causes, kept, bic_of(climbed.causes, climbed.log_likelihood, n))

    def _with_better_edges(
        self, causes: CauseMatrix, is_given: Booleans
    ) -> tuple[CauseMatrix, Booleans]:
        """Let edges go that BIC does not want, and come that it wants; of causes that are found."""
        is_edge = (causes.strengths > ACTIVE / 2.0) | self._full(is_given)
        failures = np.where(is_edge, causes.failures, 1.0)
        network = CauseMatrix(causes.priors, failures, causes.leaks).network(
            [f"{i}" for i in range(len(causes.priors))], self._symptoms
        )
        findings = self._some().with_structure(network.structure)
        scorer = PairScorer(network, findings, seed=self._seed, n_jobs=self._settings.n_jobs)
        sums, n = scorer.sums(), findings.n_records
        present, absent = scorer.present_edges(sums), scorer.absent_edges(sums)
        # All edges were chosen from all pairs, and pay for it.
        kept_by = bic_of_adding(present.gains, n, len(present.edges) + len(absent.edges))
        goes = (kept_by < 0.0) & ~is_given[present.edges[:, 0]]
        failures[tuple(present.edges[goes].T)] = 1.0
        gains = bic_of_adding(absent.gains, n, len(present.edges) + len(absent.edges))
        comes = (gains > 0.0) & ~is_given[absent.edges[:, 0]]
        failures[tuple(absent.edges[comes].T)] = 1.0 - np.clip(absent.strengths[comes], 0.05, 0.9)
        is_left = ((failures < 1.0).sum(axis=1) >= FEWEST_SYMPTOMS) | is_given
        kept = np.flatnonzero(is_left)
        return CauseMatrix(causes.priors, failures, causes.leaks).at(kept), is_given[kept]

    def _full(self, is_given: Booleans) -> Booleans:
        """Return the edges that were given: causes x symptoms."""
        found = np.zeros((len(is_given), len(self._symptoms)), dtype=np.bool_)
        found[: len(self._given)] = self._mask
        return found

    def _some(self) -> Findings:
        """Return the first records, as many as tests need."""
        blocks, n = [], 0
        for block in self._findings.blocks:
            if n >= TESTED_RECORDS:
                break
            blocks.append(block)
            n += block.n_records
        bare = Structure((), self._symptoms, np.empty((0, 2), int))
        return Findings(bare, blocks)

    # --- the result ---

    def _result(self, best: _Start, starts: Sequence[_Start], is_complete: bool) -> Discovery:
        stability = stability_of(best.causes, [start.causes for start in starts])
        order = np.lexsort((-best.causes.priors, ~best.is_given))
        causes, is_given = best.causes.at(order), best.is_given[order]
        network = causes.network(self._names(causes), self._symptoms)
        size, n = float(n_parameters(causes).sum()) + len(causes.leaks), self._findings.n_records
        log_likelihood = (size * float(np.log(n)) - best.bic) / 2.0
        # Who has interrupted does not wait for standard errors.
        estimate = self._estimate(network) if is_complete else None
        return Discovery(
            estimate.network if estimate is not None else network, log_likelihood, best.bic,
            stability[order], is_given, len(starts), is_complete, estimate,
        )  # fmt: skip

    def _names(self, causes: CauseMatrix) -> list[str]:
        """Name causes that are found after their strongest symptoms."""
        names = list(self._given)
        for failures in causes.failures[len(self._given) :]:
            order = np.argsort(failures, kind="stable")[: max(int((failures < 1.0).sum()), 1)]
            names.append(new_name([self._symptoms[j] for j in order], names))
        return names

    def _estimate(self, network: NoisyOrNetwork) -> Estimate | None:
        if not network.structure.n_diseases or not self._settings.standard_errors:
            return None
        settings = EMSettings(rng=self._seed, n_jobs=self._settings.n_jobs)
        findings = self._findings.with_structure(network.structure)
        schedule = find_schedule(network.structure)
        return learn_refined(findings, schedule, network, settings=settings)


def stability_of(causes: CauseMatrix, starts: Sequence[CauseMatrix]) -> Floats:
    """Return for each cause the share of starts that have one like it.

    Alike are causes whose strengths have a cosine of at least `ALIKE`. The start that goes on is
    among them, so one alone says nothing.
    """
    if len(starts) < 2:
        return np.full(len(causes.priors), np.nan)
    found = np.zeros(len(causes.priors))
    for start in starts:
        if len(start.priors):
            found += cosines(causes.strengths, start.strengths).max(axis=1) >= ALIKE
    return np.asarray(found / len(starts))
