"""CardSolver: exact posteriors of many records with few findings, on the graphics card.

It solves what it can and says what that was; the rest is for the processor.
"""

import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import give_notice
from noisyor.gpu import Work, is_full, is_simulated, n_multiprocessors, prefers_card
from noisyor.gpu.arrays import copy_in_threads, on_card, zeros_on_card
from noisyor.inference.flat import FlatNetwork, Records, flat_network
from noisyor.inference.record_kernels import EXACT, Answers
from noisyor.network import NoisyOrNetwork

MOST_PRESENT = 10
"""Records with more present findings are for the processor."""
MOST_CELLS = 1 << 18
"""So are those with more than this: states, times diseases that could explain several findings."""
LEAST_OPERATIONS = 3.0 * 2.0**MOST_PRESENT * MOST_PRESENT
"""What a record may take on the processor so that none of these is refused there."""
GROUPS_OF_MULTIPROCESSOR = 32
"""As many as its registers are enough for: a record waits for memory most of the time..."""
THREADS = 32 if not is_simulated() else 2
"""... and its threads, which are one warp, for each other."""
RECORDS_TOGETHER, BYTES_TOGETHER = 8192, 1 << 26
"""What is solved at a time at most, while what was found of those before is brought here."""
AHEAD = 2
"""Blocks of records that are under way while one is taken: the card solves one, another comes."""
DISEASE_SECONDS, RECORD_SECONDS = 1e-7, 1.2e-6
"""What a record takes: for each disease on one core; on an H200."""


def card_for(
    network: NoisyOrNetwork, device: str, n_records: int | None, n_jobs: int | None = None
) -> "CardSolver | None":
    """Return the card, where it is to solve records of a network; None: the processor does."""
    n = 1e6 if n_records is None else float(n_records)
    core_seconds = DISEASE_SECONDS * network.structure.n_diseases * n
    work = Work("exact posteriors", core_seconds, RECORD_SECONDS * n)
    if not prefers_card(device, work, n_jobs):
        return None
    if not network.is_independent or not is_regular(flat_network(network)):
        give_notice(
            "posteriors are found on the processor: the card is for networks of independent "
            "diseases in which nothing is certain (failures of 0, leaks and priors of 1)."
        )
        return None
    return CardSolver(network)


def is_regular(net: FlatNetwork) -> bool:
    """Return True if nothing is certain in a network."""
    return bool((net.failures > 0.0).all() and (net.leaks < 1.0).all() and (net.priors < 1.0).all())


class CardSolver:
    """Solves records of a network on the card."""

    def __init__(self, network: NoisyOrNetwork) -> None:
        from numba import cuda

        self._net, self._stream = flat_network(network), cuda.stream()
        self._there: Any = None
        self._space: Any = None
        self._batches: list[Batch] = []
        self._n_begun = 0
        self._may_fit = True

    def begin(self, records: Records, max_operations: float, answers: Answers) -> "Solving":
        """Begin to solve the records that the card can solve."""
        n_present = _sums_by_record(records.is_present, records)
        is_chosen = np.asarray(n_present <= MOST_PRESENT)
        if max_operations < LEAST_OPERATIONS or not is_chosen.any() or not self._has_room():
            is_chosen[:] = False
        solving = Solving(np.flatnonzero(is_chosen), answers)
        costs = self._costs(records)
        for first in range(0, len(solving.chosen), self._n_together):
            part = slice(first, min(first + self._n_together, len(solving.chosen)))
            batch = self._batches[self._n_begun % len(self._batches)]
            self._n_begun += 1
            # What takes longest comes first: all others can be solved meanwhile.
            order = np.argsort(-costs[solving.chosen[part]], kind="stable")
            given = batch.send(records, solving.chosen[part], order)
            self._launch(given, int(n_present[solving.chosen[part]].max()), batch)
            solving.parts.append(batch.bring(self._stream, solving, part))
        return solving

    @property
    def _n_together(self) -> int:
        """How many records are solved at a time; of no consequence where none are."""
        return self._batches[0].n_records if self._batches else 1

    def _costs(self, records: Records) -> NDArray[np.int64]:
        """Return about what records take: the diseases that could explain their findings."""
        n_parents = np.diff(self._net.parent_offsets)[records.symptoms] * records.is_present
        return _sums_by_record(n_parents, records)

    def _launch(self, given: Any, most_present: int, batch: "Batch") -> None:
        """Let the card solve records that were sent, once they are there."""
        from noisyor.gpu.fill_kernels import fill_zeros
        from noisyor.inference.card_kernels import Constants, solving_kernel

        net, width = self._net, 1 << most_present
        constants = Constants(
            float(net.log_silent.sum()),
            8.0 + float(np.max(-net.log_absent, initial=0.0)) * len(net.leaks),
        )
        batch.is_there.wait(self._stream)
        fill_zeros[1, THREADS, self._stream](self._space.taken)
        near_bytes = 8 * (2 * width + 4 * MOST_PRESENT)
        shape = len(self._space.masks), THREADS, self._stream, near_bytes
        solving_kernel(MOST_PRESENT)[shape](
            self._there, given, width, constants, self._space, batch.there
        )

    def _has_room(self) -> bool:
        """Return True if the card has the network and the room to work; with less, fewer work."""
        n_groups = GROUPS_OF_MULTIPROCESSOR * n_multiprocessors()
        while self._space is None and self._may_fit:
            try:
                self._there = FlatNetwork(*map(on_card, self._net))
                self._batches = [Batch(len(self._net.priors)) for _ in range(AHEAD + 1)]
                self._space = new_space(self._net, n_groups)
            except Exception as error:
                if not is_full(error):
                    raise
                n_groups //= 2
                self._may_fit = n_groups > 0
                if not self._may_fit:
                    give_notice(
                        "the card's memory does not suffice for this network: posteriors are found "
                        "on the processor."
                    )
        return self._may_fit


def _sums_by_record(values: NDArray[Any], records: Records) -> NDArray[np.int64]:
    """Return the sum of something over the findings that are listed of each record."""
    totals = np.append(0, np.cumsum(values, dtype=np.int64))
    return np.diff(totals[records.offsets])


class Solving:
    """Records that the card was given to solve, and where the answers go."""

    def __init__(self, chosen: NDArray[np.int64], answers: Answers) -> None:
        self.chosen = chosen
        self.parts: list[SolvedPart] = []
        self._answers = answers

    def finish(self) -> NDArray[np.bool_]:
        """Fill in the answers; return True for the records that are solved."""
        for part in self.parts:
            part.finish()
        return np.asarray(self._answers.methods == EXACT)

    def take(self, chosen: NDArray[np.int64], found: Any) -> None:
        """Fill in answers that are here."""
        answers, n = self._answers, len(chosen)
        is_solved = found.is_solved[:n]
        first, last = int(chosen[0]), int(chosen[-1]) + 1
        if last - first == n:  # they stand together, as mostly all do
            copy_in_threads(answers.probabilities[first:last], found.probabilities[:n])
        else:
            answers.probabilities[chosen] = found.probabilities[:n]
        answers.probabilities[chosen[~is_solved]] = np.nan
        solved, rows = chosen[is_solved], np.flatnonzero(is_solved)
        errors = found.roundings[rows] * 2.0**-53
        answers.log_evidences[solved] = answers.log_uppers[solved] = found.log_evidences[rows]
        answers.errors[solved], answers.methods[solved] = errors, EXACT
        if len(answers.lower):
            margin = errors[:, np.newaxis]
            answers.lower[solved] = np.maximum(answers.probabilities[solved] - margin, 0.0)
            answers.upper[solved] = np.minimum(answers.probabilities[solved] + margin, 1.0)


class SolvedPart:
    """Some of these records, on their way here in a batch.

    A thread waits for them and writes them where they stay: meanwhile more can be sent.
    """

    def __init__(self, batch: "Batch", solving: Solving, chosen: NDArray[np.int64]) -> None:
        self._batch, self._solving, self._chosen = batch, solving, chosen
        self._taken = _taking_thread().submit(self._take)

    def finish(self) -> None:
        """Wait until they are where they stay."""
        self._taken.result()

    def _take(self) -> None:
        from numba import cuda

        cuda.current_context()  # which each thread has to ask for before it waits for the card
        self._batch.is_here.synchronize()
        self._solving.take(self._chosen, self._batch.here)


@functools.cache
def _taking_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1)


class Batch:
    """Room for records that are solved together, there and here."""

    def __init__(self, n_diseases: int) -> None:
        from numba import cuda

        from noisyor.inference.card_kernels import SolvedRecords

        self.n_records = max(1, min(RECORDS_TOGETHER, BYTES_TOGETHER // (8 * n_diseases)))
        shapes = [(self.n_records, n_diseases), *3 * [(self.n_records,)]]
        kinds = 3 * [np.float64] + [np.bool_]
        sizes = list(zip(shapes, kinds, strict=True))
        self.there = SolvedRecords(*(cuda.device_array(*each) for each in sizes))
        self.here = SolvedRecords(*(cuda.pinned_array(*each) for each in sizes))
        self.is_there, self.is_here = cuda.event(), cuda.event()
        self._is_solved, self._stream = cuda.event(), cuda.stream()
        self._given: dict[int, Any] = {}
        self._part: SolvedPart | None = None

    def send(self, records: Records, chosen: NDArray[np.int64], order: NDArray[np.int64]) -> Any:
        """Begin to send records to the card, once those before are here; return them there."""
        from noisyor.inference.card_kernels import GivenRecords

        if self._part is not None:
            self._part.finish()
        given = GivenRecords(*records[:4], chosen, order)
        there = GivenRecords(*(self._send(*each) for each in enumerate(given)))
        self.is_there.record(self._stream)
        return there

    def _send(self, number: int, array: NDArray[Any]) -> Any:
        """Send an array to where others were before: the card waits for all where it makes one."""
        from numba import cuda

        if number not in self._given or self._given[number].size < array.size:
            self._given[number] = cuda.device_array(array.size + array.size // 4 + 1, array.dtype)
        there = self._given[number][: array.size]
        if array.size:
            there.copy_to_device(np.ascontiguousarray(array), stream=self._stream)
        return there

    def bring(self, stream: Any, solving: Solving, part: slice) -> SolvedPart:
        """Begin to bring here what is found of records, once a stream has solved them."""
        self._is_solved.record(stream)
        self._is_solved.wait(self._stream)
        n = part.stop - part.start
        for here, there in zip(self.here, self.there, strict=True):
            there[:n].copy_to_host(here[:n], stream=self._stream)
        self.is_here.record(self._stream)
        self._part = SolvedPart(self, solving, solving.chosen[part])
        return self._part


def new_space(net: FlatNetwork, n_groups: int) -> Any:
    """Return what so many groups of threads work in."""
    from noisyor.inference.card_kernels import Space

    n, k = len(net.priors), MOST_PRESENT
    most_parents = int(np.diff(net.parent_offsets).max(initial=0)) + 1

    def rows(*shape: int, dtype: Any = np.float64) -> Any:
        return zeros_on_card((n_groups, *shape), dtype)

    return Space(
        rows(n), rows(n), rows(n, dtype=np.int32), rows(k, n), rows(k, dtype=np.int32),
        rows(n, dtype=np.int32), rows(n, dtype=np.int32), rows(n, 3),
        rows(min(MOST_CELLS, n << k)), rows(k, most_parents), rows(k, 2, most_parents),
        zeros_on_card(1, np.int64),
    )  # fmt: skip
