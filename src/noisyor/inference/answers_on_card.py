"""CardSolver: exact posteriors of many records with few findings, on the graphics card.

It solves what it can and says what that was; the rest is for the processor.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import give_notice
from noisyor.gpu import Work, is_full, is_simulated, n_multiprocessors, prefers_card
from noisyor.gpu.arrays import from_card, on_card, zeros_on_card
from noisyor.inference.flat import FlatNetwork, Records, flat_network
from noisyor.inference.record_kernels import EXACT, Answers, Workspace
from noisyor.network import NoisyOrNetwork

MOST_PRESENT = 10
"""Records with more present findings are for the processor."""
MOST_SEVERAL = 256
"""So are those with more diseases that could explain several of them."""
LEAST_OPERATIONS = 3.0 * 2.0**MOST_PRESENT * MOST_PRESENT
"""What a record may take on the processor so that none of these is refused there."""
BLOCKS_OF_MULTIPROCESSOR = 8
THREADS = 128 if not is_simulated() else 2
DISEASE_SECONDS, RECORD_SECONDS = 1e-7, 1e-7
"""What a record takes: for each disease on one core; on a card, expected of an H200."""


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
        self._net = flat_network(network)
        self._there: Any = None
        self._space: Any = None
        self._may_fit = True

    def solve(self, records: Records, max_operations: float, answers: Answers) -> NDArray[np.bool_]:
        """Fill in the answers of records that the card can solve; return which these are."""
        n_present = np.add.reduceat(
            np.append(records.is_present, False).astype(np.int64), records.offsets[:-1]
        ) * (np.diff(records.offsets) > 0)
        is_done = np.asarray(n_present <= MOST_PRESENT)
        if max_operations < LEAST_OPERATIONS or not is_done.any() or not self._has_room():
            return np.zeros(len(n_present), dtype=np.bool_)
        chosen = np.flatnonzero(is_done)
        found = self._solve(records, chosen)
        is_done[chosen] = is_solved = found.is_solved.astype(np.bool_)
        solved, rows = chosen[is_solved], np.flatnonzero(is_solved)
        errors = found.roundings[rows] * 2.0**-53
        answers.probabilities[solved] = found.probabilities[rows]
        answers.log_evidences[solved] = answers.log_uppers[solved] = found.log_evidences[rows]
        answers.errors[solved], answers.methods[solved] = errors, EXACT
        if len(answers.lower):
            margin = errors[:, np.newaxis]
            answers.lower[solved] = np.maximum(answers.probabilities[solved] - margin, 0.0)
            answers.upper[solved] = np.minimum(answers.probabilities[solved] + margin, 1.0)
        return is_done

    def _solve(self, records: Records, chosen: NDArray[np.int64]) -> Any:
        """Return what the card finds of the chosen records."""
        from noisyor.inference.card_kernels import Constants, SolvedRecords, solving_kernel

        net = self._net
        constants = Constants(
            float(net.log_silent.sum()),
            8.0 + float(np.max(-net.log_absent, initial=0.0)) * len(net.leaks),
        )
        n = len(chosen)
        solved = SolvedRecords(
            zeros_on_card((n, len(net.priors)), np.float64), zeros_on_card(n, np.float64),
            zeros_on_card(n, np.float64), zeros_on_card(n, np.bool_),
        )  # fmt: skip
        solving_kernel()[len(self._space.n_several), THREADS](
            self._there, Records(*(on_card(each) for each in records)), on_card(chosen), constants,
            self._space, solved,
        )  # fmt: skip
        return SolvedRecords(*(from_card(each) for each in solved))

    def _has_room(self) -> bool:
        """Return True if the card has the network and the room to work; with less, fewer work."""
        n_blocks = BLOCKS_OF_MULTIPROCESSOR * n_multiprocessors()
        while self._space is None and self._may_fit:
            try:
                self._there = FlatNetwork(*map(on_card, self._net))
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
        rows(min(MOST_SEVERAL, n), dtype=np.int32), zeros_on_card(n_blocks, np.int64),
        rows(k, 2), rows(min(MOST_SEVERAL, n), 1 << k), rows(k, 2, most_parents),
        zeros_on_card(n_blocks * THREADS, np.float64),
    )  # fmt: skip
