"""Answers for records: exactly where that is possible, else by bounds or sampling."""

import threading
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError, quoted
from noisyor.inference import record_kernels
from noisyor.inference.answers_on_card import CardSolver
from noisyor.inference.bounds import Bounded, BoundSettings, bound_record
from noisyor.inference.flat import Evidence, Floats, Records, flat_network
from noisyor.inference.gibbs_kernels import Sampling, random_of, sample_record
from noisyor.inference.mixture_kernels import Mixture, solve_mixed
from noisyor.inference.mixtures import combine_bounds
from noisyor.inference.record_kernels import (
    AUTO,
    EXACT,
    GIBBS,
    IMPOSSIBLE,
    MEAN_FIELD,
    REFUSED,
    VARIATIONAL,
    Answers,
)
from noisyor.network import NoisyOrNetwork
from noisyor.network.causes import Components
from noisyor.network.sampling import Rng, as_seed
from noisyor.parallel import in_threads
from noisyor.parameters import REACH

METHOD_NAMES = (
    "auto", "exact", "variational", "mean_field", "gibbs", "impossible", "refused",
)  # fmt: skip
"""By their codes: AUTO, EXACT, ..."""
METHODS = METHOD_NAMES[:IMPOSSIBLE]
OPERATIONS_PER_SECOND, ENTRIES_PER_SECOND, DRAWN_PER_SECOND = 3e8, 5e5, 2e7
"""About what one core does, exactly, by bounds and by sampling (edges, of the latter two); the same
budget gives the same answers on any machine."""
LEAF_OPERATIONS = 1e4
LARGEST_BUDGET = 1e6
ANSWERED_TOGETHER = 64
"""Records that a thread takes at a time."""


class Request(NamedTuple):
    """What is asked for, and how many seconds a record is worth."""

    method: int
    budget: float
    seed: int
    first: int
    """The number of the first record, from which each gets its random numbers."""
    card: CardSolver | None = None
    """What solves records with few findings, before the processor answers the others."""


def make_request(method: str, budget: float, rng: Rng, first: int = 0) -> Request:
    """Return what is asked for, its parts checked."""
    if not isinstance(method, str) or method not in METHODS:
        raise ParameterError(f"there is no method {quoted(method)}; known: {', '.join(METHODS)}.")
    if not _is_number(budget) or not 0.0 < budget <= LARGEST_BUDGET:
        raise ParameterError(
            f"budget must be a number of seconds above 0 and at most {LARGEST_BUDGET:g}, not "
            f"{quoted(budget)}."
        )
    return Request(METHODS.index(method), budget, as_seed(rng), first)


def _is_number(value: object) -> bool:
    is_number = isinstance(value, int | float | np.integer | np.floating)
    return is_number and not isinstance(value, bool)


def answer_all(
    network: NoisyOrNetwork,
    records: Records,
    request: Request,
    *,
    with_bounds: bool = False,
    with_causes: bool = False,
    n_jobs: int | None = None,
) -> Answers:
    """Answer all records."""
    n = len(records.weights)
    answers = new_answers(network, n, with_bounds=with_bounds, with_causes=with_causes)
    return begin_answers(network, records, request, n_jobs=n_jobs, answers=answers)()


def new_answers(
    network: NoisyOrNetwork, n: int, *, with_bounds: bool = False, with_causes: bool = False
) -> Answers:
    """Return room for the answers to so many records, to be filled in."""
    structure = network.structure
    n_causes, n_bounds = n if with_causes else 0, n if with_bounds else 0
    return Answers(
        np.empty((n, structure.n_diseases)), np.full(n, np.nan), np.full(n, np.nan),
        np.full(n, np.nan), np.full(n, REFUSED, dtype=np.int8), np.full(n, np.nan),
        np.zeros((n_causes, structure.n_edges)), np.zeros((n_causes, structure.n_symptoms)),
        np.full((n_bounds, structure.n_diseases), np.nan),
        np.full((n_bounds, structure.n_diseases), np.nan),
    )  # fmt: skip


def begin_answers(
    network: NoisyOrNetwork,
    records: Records,
    request: Request,
    *,
    n_jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    rows: Floats | None = None,
    answers: Answers | None = None,
) -> Callable[[], Answers]:
    """Let a card begin with the records, where there is one; return what lets threads finish.

    `rows` are the covariates of the people whose records these are, if known; the answers are
    filled in where there is room for them.
    """
    if answers is None:
        answers = new_answers(network, len(records.weights))
    make: Callable[..., Answering] = Answering if network.is_independent else MixedAnswering
    if rows is not None:
        make = partial(MixedAnswering, rows=rows)
    work = make(network, records, request, answers)
    solving = None
    may_solve = make is Answering and not len(answers.caused) and request.method in (AUTO, EXACT)
    if request.card is not None and may_solve:
        solving = request.card.begin(records, request.budget * OPERATIONS_PER_SECOND, answers)

    def finish() -> Answers:
        if solving is not None:
            work.is_done = solving.finish()
        work.answer_all(n_jobs, progress)
        return answers

    return finish


class Answering:
    """Answers some records of many."""

    def __init__(
        self, network: NoisyOrNetwork, records: Records, request: Request, answers: Answers
    ) -> None:
        self._net, self._records = flat_network(network), records
        self._request, self._answers = request, answers
        self.is_done = np.zeros(len(records.weights), dtype=np.bool_)
        """Records that a card has answered."""
        self.is_stopped = threading.Event()

    def answer_all(self, n_jobs: int | None, progress: Callable[[int], None] | None) -> None:
        """Let threads fill in all answers that are not there."""
        n = len(self.is_done)

        def answer_chunk(first: int) -> None:
            last = min(first + ANSWERED_TOGETHER, n)
            self.answer(first, last)
            if progress is not None:
                progress(last - first)

        if self.is_done.all():
            if progress is not None:
                progress(n)
            return
        try:
            in_threads(answer_chunk, range(0, n, ANSWERED_TOGETHER), n_jobs)
        except BaseException:
            self.is_stopped.set()  # threads end with the record they are at
            raise

    def answer(self, first: int, last: int) -> None:
        """Fill in the answers of a run of records."""
        answers, request = self._answers, self._request
        for start, end in runs_of(~self.is_done[first:last]):
            # Here, by many threads: memory that nobody has written to is slow at first.
            answers.probabilities[first + start : first + end] = np.nan
            if request.method in (AUTO, EXACT):
                operations = request.budget * OPERATIONS_PER_SECOND
                self._solve(first + start, first + end, operations)
        if request.method != EXACT:
            for record in range(first, last):
                if answers.methods[record] == REFUSED and not self.is_stopped.is_set():
                    self._approximate(record)

    def _solve(self, first: int, last: int, operations: float) -> None:
        """Solve records exactly that do not take too many operations."""
        record_kernels.solve_records(
            self._net, self._records, first, last, operations, self._answers
        )

    def _approximate(self, record: int) -> None:
        """Bound a record, or sample it."""
        net, request, answers = self._net, self._request, self._answers
        evidence = record_kernels.listed(self._records, record)
        if not record_kernels.is_possible(net, evidence, record_kernels.new_workspace(net)):
            answers.methods[record] = IMPOSSIBLE
            answers.log_evidences[record] = answers.log_uppers[record] = -np.inf
            return
        present = record_kernels.present_of(evidence)
        n_entries = int((net.parent_offsets[present + 1] - net.parent_offsets[present]).sum())
        found = bound_record(net, evidence, self._bound_settings(max(n_entries, 1)))
        answers.log_evidences[record] = found.log_lower
        answers.log_uppers[record] = found.log_upper
        method = VARIATIONAL if request.method == AUTO else request.method
        # Where bounds leave much open, or do not say what is asked for, "auto" samples as well.
        is_poor = found.error > 0.05 or len(answers.caused)
        if method == GIBBS or (request.method == AUTO and is_poor):
            sampled, n_effective = self._sample(record, evidence, max(n_entries, 1), found)
            if method == GIBBS or sampled.error < found.error:
                method, found = GIBBS, sampled
                answers.n_effective[record] = n_effective
        answers.methods[record] = method
        answers.probabilities[record] = found.probabilities
        answers.errors[record] = np.nan if method == MEAN_FIELD else found.error
        if len(answers.lower):
            answers.lower[record], answers.upper[record] = found.lower, found.upper

    def _bound_settings(self, n_entries: int) -> BoundSettings:
        """Return how far to go for bounds: the more edges, the more costs a leaf."""
        if self._request.method in (MEAN_FIELD, GIBBS):
            return BoundSettings(n_leaves=1, leaf_operations=-1.0, tolerance=1.0)
        n_leaves = int(np.clip(self._request.budget * ENTRIES_PER_SECOND / n_entries, 2, 1000))
        return BoundSettings(n_leaves, LEAF_OPERATIONS, tolerance=1e-3)

    def _sample(
        self, record: int, evidence: Evidence, n_entries: int, bounded: Bounded
    ) -> tuple[Bounded, float]:
        """Sample a record, within its bounds; return also the effective sample size."""
        net, answers, request = self._net, self._answers, self._request
        workspace = record_kernels.new_workspace(net)
        n_sweeps = request.budget * DRAWN_PER_SECOND / n_entries / (1.25 * 8 * 4)
        sampling = Sampling(n_chains=8, n_batches=4, n_sweeps=int(np.clip(n_sweeps, 20, 100)))
        random = random_of(request.seed, request.first + record)
        row, errors = sample_record(net, evidence, sampling, random, workspace)
        if len(answers.caused):
            present = record_kernels.present_of(evidence)
            record_kernels.write_causes(net, present, workspace, record, answers)
        in_doubt = (row > 0.01) & (row < 0.99)
        draws = (row * (1.0 - row))[in_doubt] / errors[in_doubt] ** 2
        n_effective = float(draws.min()) if in_doubt.any() else np.nan
        row = np.clip(row, bounded.lower, bounded.upper)
        lower = np.maximum(row - REACH * errors, bounded.lower)
        upper = np.minimum(row + REACH * errors, bounded.upper)
        return bounded._replace(probabilities=row, lower=lower, upper=upper), n_effective


def runs_of(is_wanted: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return where runs of True begin and end.

    >>> runs_of(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_wanted, [False]]).astype(np.int8)))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


class MixedAnswering(Answering):
    """Answers records of people whose diseases occur together, or whose covariates are known."""

    def __init__(
        self,
        network: NoisyOrNetwork,
        records: Records,
        request: Request,
        answers: Answers,
        rows: Floats | None = None,
    ) -> None:
        super().__init__(network.as_independent(), records, request, answers)
        if request.method in (GIBBS, MEAN_FIELD):
            raise ParameterError(
                "the diseases of this network occur together, or have covariates: take 'auto', "
                f"'exact' or 'variational', not {METHOD_NAMES[request.method]!r}."
            )
        self._network, self._rows = network, rows

    def _components(self, record: int) -> Components:
        """Return the components of a record's person."""
        if self._rows is None:
            return self._network.components
        return self._network.causes.components_of(self._rows[record])

    def _solve(self, first: int, last: int, operations: float) -> None:
        net = self._net._replace(priors=np.empty_like(self._net.priors))
        runs = [(first, last)] if self._rows is None else [(x, x + 1) for x in range(first, last)]
        for start, end in runs:
            mixture = Mixture(*self._components(start))
            solve_mixed(net, mixture, self._records, start, end, operations, self._answers)

    def _approximate(self, record: int) -> None:
        """Bound a record in each of its components."""
        answers, evidence = self._answers, record_kernels.listed(self._records, record)
        if len(answers.caused):
            return  # what has caused a finding is not bounded: it stays refused
        weights, priors = self._components(record)
        present = record_kernels.present_of(evidence)
        offsets = self._net.parent_offsets
        n_entries = len(weights) * int((offsets[present + 1] - offsets[present]).sum())
        settings, parts = self._bound_settings(max(n_entries, 1)), []
        for row in priors:
            net = self._net._replace(priors=row.copy())
            if record_kernels.is_possible(net, evidence, record_kernels.new_workspace(net)):
                parts.append(bound_record(net, evidence, settings))
            else:
                nothing = np.zeros(len(row))
                parts.append(Bounded(nothing, nothing, nothing, -np.inf, -np.inf))
        found = combine_bounds(weights, parts)
        answers.log_evidences[record] = found.log_lower
        answers.log_uppers[record] = found.log_upper
        if found.log_upper == -np.inf:
            answers.methods[record] = IMPOSSIBLE
            return
        answers.methods[record] = VARIATIONAL
        answers.probabilities[record] = found.probabilities
        answers.errors[record] = found.error
        if len(answers.lower):
            answers.lower[record], answers.upper[record] = found.lower, found.upper
