"""Answers for records: exactly where that is possible, else by bounds or sampling."""

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError
from noisyor.inference.answer_kernels import (
    AUTO,
    EXACT,
    GIBBS,
    IMPOSSIBLE,
    MEAN_FIELD,
    REFUSED,
    VARIATIONAL,
    Answers,
    solve_records,
    write_causes,
)
from noisyor.inference.bounds import Bounded, Settings, bound_record
from noisyor.inference.flat import FlatNetwork, Records, flat_network
from noisyor.inference.record_kernels import is_possible, listed, new_workspace
from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import Rng, as_seed
from noisyor.parallel import in_threads

Floats = NDArray[np.float64]

METHODS = {
    "auto": AUTO,
    "exact": EXACT,
    "variational": VARIATIONAL,
    "mean_field": MEAN_FIELD,
    "gibbs": GIBBS,
}
METHOD_NAMES = {code: name for name, code in METHODS.items()} | {
    IMPOSSIBLE: "impossible",
    REFUSED: "refused",
}
OPERATIONS_PER_SECOND = 3e8
ENTRIES_PER_SECOND = 5e5
"""About what one core does; the same budget gives the same answers on any machine."""
LEAF_OPERATIONS = 1e4
MOST_LEAVES = 1000
TOLERANCE = 1e-3
POOR = 0.05
"""Where bounds leave more than this open, "auto" samples as well."""
DRAWN_PER_SECOND = 2e7
"""Edges that sampling looks at."""
N_CHAINS, N_BATCHES = 8, 4
FEWEST_SWEEPS, MOST_SWEEPS = 20, 100
"""Of a batch."""
CLEAR = 0.01
"""Diseases that are less in doubt do not count for the effective sample size."""
NORMAL_95 = 1.96
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


def make_request(method: str, budget: float, rng: Rng, first: int = 0) -> Request:
    """Return what is asked for, its parts checked."""
    if not isinstance(method, str) or method not in METHODS:
        raise ParameterError(f"there is no method {method!r}; known: {', '.join(METHODS)}.")
    if not _is_number(budget) or not 0.0 < budget <= LARGEST_BUDGET:
        raise ParameterError(
            f"budget must be a number of seconds above 0 and at most {LARGEST_BUDGET:g}, not "
            f"{budget!r}."
        )
    return Request(METHODS[method], budget, as_seed(rng), first)


def _is_number(value: object) -> bool:
    is_number = isinstance(value, int | float | np.integer | np.floating)
    return is_number and not isinstance(value, bool)


class AllAnswers(NamedTuple):
    """Answers, and the bounds on each posterior where they were asked for."""

    answers: Answers
    lower: Floats
    upper: Floats
    n_effective: Floats
    """Of records that were sampled: as many independent draws would tell as much; else NaN."""


def answer_all(
    network: NoisyOrNetwork,
    records: Records,
    request: Request,
    *,
    with_bounds: bool = False,
    with_causes: bool = False,
    n_jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> AllAnswers:
    """Let threads answer all records."""
    structure, n = network.structure, len(records.weights)
    n_causes, n_bounds = n if with_causes else 0, n if with_bounds else 0
    answers = Answers(
        np.full((n, structure.n_diseases), np.nan),
        np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan),
        np.full(n, REFUSED, dtype=np.int8),
        np.zeros((n_causes, structure.n_edges)),
        np.zeros((n_causes, structure.n_symptoms)),
    )  # fmt: skip
    bounds = [np.full((n_bounds, structure.n_diseases), np.nan) for _ in range(2)]
    found = AllAnswers(answers, bounds[0], bounds[1], np.full(n, np.nan))
    work = Answering(flat_network(network), records, request, found)

    def answer_chunk(first: int) -> None:
        last = min(first + ANSWERED_TOGETHER, n)
        work.answer(first, last)
        if progress is not None:
            progress(last - first)

    try:
        starts = range(0, n, ANSWERED_TOGETHER)
        in_threads(answer_chunk, starts, n_jobs)
    except BaseException:
        work.is_stopped.set()  # threads end with the record they are at
        raise
    return found


class Answering:
    """Answers some records of many."""

    def __init__(
        self, net: FlatNetwork, records: Records, request: Request, found: AllAnswers
    ) -> None:
        self._net, self._records, self._request = net, records, request
        self.is_stopped = threading.Event()
        self._answers, self._lower, self._upper, self._n_effective = found

    def answer(self, first: int, last: int) -> None:
        """Fill in the answers of a run of records."""
        answers, request = self._answers, self._request
        if request.method in (AUTO, EXACT):
            operations = request.budget * OPERATIONS_PER_SECOND
            solve_records(self._net, self._records, first, last, operations, answers)
            if len(self._lower):
                here = slice(first, last)
                margin = answers.errors[here, np.newaxis]
                self._lower[here] = np.maximum(answers.probabilities[here] - margin, 0.0)
                self._upper[here] = np.minimum(answers.probabilities[here] + margin, 1.0)
        if request.method != EXACT:
            for record in range(first, last):
                if answers.methods[record] == REFUSED and not self.is_stopped.is_set():
                    self._approximate(record)

    def _approximate(self, record: int) -> None:
        """Bound a record, or sample it."""
        request, answers = self._request, self._answers
        symptoms, is_present = listed(self._records, record)
        others_unknown = bool(self._records.others_unknown[record])
        if not is_possible(
            self._net, symptoms, is_present, others_unknown, new_workspace(self._net)
        ):
            answers.methods[record] = IMPOSSIBLE
            answers.log_evidences[record] = answers.log_uppers[record] = -np.inf
            return
        settings = self._settings(symptoms[is_present])
        found = bound_record(self._net, symptoms, is_present, others_unknown, settings)
        answers.log_evidences[record] = found.log_lower
        answers.log_uppers[record] = found.log_upper
        method = VARIATIONAL if request.method == AUTO else request.method
        is_poor = found.error > POOR or len(answers.caused)
        if method == GIBBS or (request.method == AUTO and is_poor):
            sampled, n_effective = self._sample(record, found)
            if method == GIBBS or sampled.error < found.error:
                method, found = GIBBS, sampled
                self._n_effective[record] = n_effective
        answers.methods[record] = method
        answers.probabilities[record] = found.probabilities
        answers.errors[record] = np.nan if method == MEAN_FIELD else found.error
        if len(self._lower):
            self._lower[record], self._upper[record] = found.lower, found.upper

    def _settings(self, present: NDArray[np.int32]) -> Settings:
        """Return how far to go for bounds: the more edges, the more costs a leaf."""
        if self._request.method in (MEAN_FIELD, GIBBS):
            return Settings(n_leaves=1, leaf_operations=-1.0, tolerance=1.0)
        n_leaves = self._request.budget * ENTRIES_PER_SECOND / self._n_entries(present)
        return Settings(int(np.clip(n_leaves, 2, MOST_LEAVES)), LEAF_OPERATIONS, TOLERANCE)

    def _n_entries(self, present: NDArray[np.int32]) -> int:
        """Return how many edges lead to present findings."""
        n_parents = self._net.parent_offsets[present + 1] - self._net.parent_offsets[present]
        return max(int(n_parents.sum()), 1)

    def _n_sweeps(self, present: NDArray[np.int32]) -> int:
        """Return how long a batch is: as the budget allows, within reason."""
        n_all = self._request.budget * DRAWN_PER_SECOND / self._n_entries(present)
        return int(np.clip(n_all / (1.25 * N_CHAINS * N_BATCHES), FEWEST_SWEEPS, MOST_SWEEPS))

    def _sample(self, record: int, bounded: Bounded) -> tuple[Bounded, float]:
        """Sample a record, within its bounds; return also the effective sample size."""
        from noisyor.inference.gibbs_kernels import Sampling, sample_record
        from noisyor.inference.random_kernels import seed_of

        net, answers = self._net, self._answers
        symptoms, is_present = listed(self._records, record)
        others_unknown = bool(self._records.others_unknown[record])
        workspace = new_workspace(net)
        random = np.uint64(seed_of(self._request.seed, self._request.first + record))
        row, errors = np.empty(len(net.priors)), np.empty(len(net.priors))
        sampling = Sampling(N_CHAINS, N_BATCHES, self._n_sweeps(symptoms[is_present]))
        sample_record(
            net, symptoms, is_present, others_unknown, sampling, random, workspace, row, errors
        )
        if len(answers.caused):
            present = symptoms[is_present]
            write_causes(net, present, workspace.caused, workspace.leaked, record, answers)
        in_doubt = (row > CLEAR) & (row < 1.0 - CLEAR)
        draws = (row * (1.0 - row))[in_doubt] / errors[in_doubt] ** 2
        n_effective = float(draws.min()) if in_doubt.any() else np.nan
        row = np.clip(row, bounded.lower, bounded.upper)
        lower = np.maximum(row - NORMAL_95 * errors, bounded.lower)
        upper = np.minimum(row + NORMAL_95 * errors, bounded.upper)
        return bounded._replace(probabilities=row, lower=lower, upper=upper), n_effective
