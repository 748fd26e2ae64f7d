"""CardSolver: exact posteriors of many records with few findings, on the graphics card.

It solves what it can and says what that was; the rest is for the processor.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import give_notice
from noisyor.gpu import Work, is_full, is_simulated, n_multiprocessors, prefers_card
from noisyor.gpu.arrays import copy_in_threads, on_card, zeros_on_card
from noisyor.inference.flat import FlatNetwork, Records, flat_network
from noisyor.inference.record_kernels import EXACT, Answers, Workspace
from noisyor.network import NoisyOrNetwork

MOST_PRESENT = 10
"""Records with more present findings are for the processor."""
MOST_CELLS = 1 << 18
"""So are those with more than this: states, times diseases that could explain several findings."""
LEAST_OPERATIONS = 3.0 * 2.0**MOST_PRESENT * MOST_PRESENT
"""What a record may take on the processor so that none of these is refused there."""
BLOCKS_OF_MULTIPROCESSOR = 18
"""As many as its registers are enough for: a record waits for memory most of the time..."""
THREADS = 32 if not is_simulated() else 2
"""... and its threads for each other, unless they are one warp."""
RECORDS_TOGETHER, BYTES_TOGETHER = 8192, 1 << 26
"""What is solved at a time at most, while what was found of those before is brought here."""
DISEASE_SECONDS, RECORD_SECONDS = 1e-7, 2e-6
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
        self._may_fit = True

    def solve(self, records: Records, max_operations: float, answers: Answers) -> NDArray[np.bool_]:
        """Fill in the answers of records that the card can solve; return which these are."""
        n_present = _sums_by_record(records.is_present, records)
        is_done = np.asarray(n_present <= MOST_PRESENT)
        if max_operations < LEAST_OPERATIONS or not is_done.any() or not self._has_room():
            return np.zeros(len(n_present), dtype=np.bool_)
        chosen = np.flatnonzero(is_done)
        found = self._solve(records, chosen, n_present[chosen], answers.probabilities)
        is_done[chosen] = is_solved = found.is_solved.astype(np.bool_)
        answers.probabilities[chosen[~is_solved]] = np.nan
        solved, rows = chosen[is_solved], np.flatnonzero(is_solved)
        errors = found.roundings[rows] * 2.0**-53
        answers.log_evidences[solved] = answers.log_uppers[solved] = found.log_evidences[rows]
        answers.errors[solved], answers.methods[solved] = errors, EXACT
        if len(answers.lower):
            margin = errors[:, np.newaxis]
            answers.lower[solved] = np.maximum(answers.probabilities[solved] - margin, 0.0)
            answers.upper[solved] = np.minimum(answers.probabilities[solved] + margin, 1.0)
        return is_done

    def _costs(self, records: Records) -> NDArray[np.int64]:
        """Return about what records take: the diseases that could explain their findings."""
        n_parents = np.diff(self._net.parent_offsets)[records.symptoms] * records.is_present
        return _sums_by_record(n_parents, records)

    def _solve(
        self,
        records: Records,
        chosen: NDArray[np.int64],
        n_present: NDArray[np.int64],
        probabilities: NDArray[np.float64],
    ) -> "SolvedNumbers":
        """Fill in probabilities of the chosen records; return what else the card finds of them."""
        from noisyor.inference.card_kernels import Constants, solving_kernel

        net = self._net
        constants = Constants(
            float(net.log_silent.sum()),
            8.0 + float(np.max(-net.log_absent, initial=0.0)) * len(net.leaks),
        )
        there = Records(*(on_card(each) for each in records))
        found = SolvedNumbers.of(len(chosen))
        costs, width = self._costs(records), 1 << int(n_present.max())
        together = self._batches[0].n_records
        for number, first in enumerate(range(0, len(chosen), together)):
            part = slice(first, min(first + together, len(chosen)))
            batch = self._batches[number % len(self._batches)]
            batch.finish()  # if it is still under way
            # What takes longest comes first: all others can be solved meanwhile.
            order = np.argsort(-costs[chosen[part]], kind="stable")
            near_bytes = 8 * (2 * width + THREADS)
            solving_kernel()[len(self._space.masks), THREADS, self._stream, near_bytes](
                self._there, there, on_card(chosen[part], self._stream),
                on_card(order, self._stream), width, constants, self._space, batch.there,
            )  # fmt: skip
            batch.bring(self._stream, chosen[part], probabilities, found.rows(part))
        for batch in self._batches:
            batch.finish()
        return found

    def _has_room(self) -> bool:
        """Return True if the card has the network and the room to work; with less, fewer work."""
        n_blocks = BLOCKS_OF_MULTIPROCESSOR * n_multiprocessors()
        while self._space is None and self._may_fit:
            try:
                self._there = FlatNetwork(*map(on_card, self._net))
                self._batches = [Batch(len(self._net.priors)) for _ in range(2)]
                self._space = new_space(self._net, n_blocks)
            except Exception as error:
                if not is_full(error):
                    raise
                n_blocks //= 2
                self._may_fit = n_blocks > 0
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


class SolvedNumbers(NamedTuple):
    """What is found of records besides probabilities."""

    log_evidences: NDArray[np.float64]
    roundings: NDArray[np.float64]
    is_solved: NDArray[np.bool_]

    @classmethod
    def of(cls, n_records: int) -> "SolvedNumbers":
        """Return room for so many records."""
        return cls(np.empty(n_records), np.empty(n_records), np.empty(n_records, np.bool_))

    def rows(self, part: slice) -> "SolvedNumbers":
        """Return some of the records."""
        return SolvedNumbers(self.log_evidences[part], self.roundings[part], self.is_solved[part])


class Batch:
    """Records that are solved together, on their way here."""

    def __init__(self, n_diseases: int) -> None:
        from numba import cuda

        from noisyor.inference.card_kernels import SolvedRecords

        self.n_records = max(1, min(RECORDS_TOGETHER, BYTES_TOGETHER // (8 * n_diseases)))
        shapes = [(self.n_records, n_diseases), *3 * [(self.n_records,)]]
        kinds = 3 * [np.float64] + [np.bool_]
        sizes = list(zip(shapes, kinds, strict=True))
        self.there = SolvedRecords(*(cuda.device_array(*each) for each in sizes))
        self._here = SolvedRecords(*(cuda.pinned_array(*each) for each in sizes))
        self._stream, self._is_solved, self._is_here = cuda.stream(), cuda.event(), cuda.event()
        self._rows: tuple[NDArray[np.int64], NDArray[np.float64], SolvedNumbers] | None = None

    def bring(
        self, stream: Any, records: NDArray[np.int64], probabilities: NDArray[np.float64],
        found: SolvedNumbers,
    ) -> None:  # fmt: skip
        """Begin to bring here what is found of records, once a stream has solved them."""
        self._is_solved.record(stream)
        self._is_solved.wait(self._stream)
        n = len(records)
        for here, there in zip(self._here, self.there, strict=True):
            there[:n].copy_to_host(here[:n], stream=self._stream)
        self._is_here.record(self._stream)
        self._rows = records, probabilities, found

    def finish(self) -> None:
        """Wait until it is here, and write it where it stays."""
        if self._rows is None:
            return
        (records, probabilities, found), self._rows = self._rows, None
        self._is_here.synchronize()
        n = len(records)
        here = self._here.probabilities[:n]
        for target, source in zip(found, self._here[1:], strict=True):
            target[:] = source[:n]
        first, last = int(records[0]), int(records[-1]) + 1
        if last - first == n:  # they stand together, as mostly all do
            copy_in_threads(probabilities[first:last], here)
        else:
            probabilities[records] = here


def new_space(net: FlatNetwork, n_blocks: int) -> Any:
    """Return what so many blocks of threads work in."""
    from noisyor.inference.card_kernels import Space

    n, m, k = len(net.priors), len(net.leaks), MOST_PRESENT
    most_parents = int(np.diff(net.parent_offsets).max(initial=0)) + 1

    def rows(*shape: int, dtype: Any = np.float64) -> Any:
        return zeros_on_card((n_blocks, *shape), dtype)

    workspace = Workspace(
        rows(n), rows(n), rows(n, dtype=np.int64), rows(1, dtype=np.int64),
        rows(len(net.failures)), rows(m), rows(1), rows(1), rows(m), rows(m),
        zeros_on_card(1, np.float64), rows(n, dtype=np.bool_),
    )  # fmt: skip
    return Space(
        workspace, rows(n, dtype=np.int32), rows(k, n), rows(k, dtype=np.int32),
        rows(n, dtype=np.int32), rows(k, 2), rows(min(MOST_CELLS, n << k)),
        rows(k, 2, most_parents),
        zeros_on_card(n_blocks * THREADS, np.float64),
    )  # fmt: skip
