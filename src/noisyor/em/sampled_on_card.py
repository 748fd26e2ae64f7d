"""CardSampler: expected counts where the card samples diseases, as `RecordSampler` does here.

Records, their candidates and the diseases they have for the moment stay on the card from round to
round. What is sampled depends on a record's number and a seed alone, so both find the same.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noisyor.em.candidate_kernels import MOST_ENUMERATED
from noisyor.em.expected import Counts, ExpectedCounts
from noisyor.em.sampled import RecordSampler, Sums
from noisyor.em.sampling_kernels import Sweeps
from noisyor.errors import give_notice
from noisyor.gpu import Work, is_full, is_simulated, n_multiprocessors
from noisyor.gpu.arrays import from_card, on_card, zeros_on_card
from noisyor.inference.flat import FlatNetwork, flatten
from noisyor.network import NoisyOrNetwork
from noisyor.parallel import one_by_one
from noisyor.structure import Structure

GROUPS = 1 if is_simulated() else 3
"""Groups of lanes in a block of threads, each of which works on a record."""
NEAR_BYTES = 16_000
"""The largest workspace of a group that is near to it: so many fit a multiprocessor that they can
wait for each other's reads. Records that do not fit work far off, in the card's memory."""
MOST_BYTES = 48 * 1024
"""What the groups of a block can have near to them."""
NEAR_BLOCKS, FAR_BLOCKS = 6, 4
"""So many blocks of threads work at a time on each multiprocessor; with less memory fewer far."""
EDGE_SECONDS, CARD_EDGE_SECONDS, N_ROUNDS = 1.6e-10, 1.8e-12, 9
"""What a round takes a record for each edge: on one core, and on an H200 (`reproduce gpu`)."""


def sampling_work(structure: Structure, n_records: int) -> Work:
    """Return what the rounds of EM take."""
    n = float(n_records) * N_ROUNDS * structure.n_edges
    return Work("sampling diseases", EDGE_SECONDS * n, CARD_EDGE_SECONDS * n)


class KeptThere:
    """Records on the card, with what is kept of each, and all that rounds need again and again."""

    def __init__(self, sampler: RecordSampler, n_far: int) -> None:
        from noisyor.em.card_kernels import FarWorkspaces
        from noisyor.em.card_workspace_kernels import CardRecords

        structure = sampler.structure
        listed = list(one_by_one(lambda block: block.listed(), sampler.blocks, sampler._n_jobs))
        sizes = _joined([np.diff(offsets) for offsets, _, _ in listed], np.int64)
        has_unknown = bool((sampler.known < sampler.starts[-1]).any())
        is_unknown = [unknown for _, _, unknown in listed if has_unknown]
        numbers = np.arange(len(sampler.blocks), dtype=np.uint32)
        self.blocks = on_card(np.repeat(numbers, np.diff(sampler.starts)))
        self.records = CardRecords(
            on_card(np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint64)),
            on_card(_joined([symptoms.view(np.uint32) for _, symptoms, _ in listed], np.uint32)),
            on_card(_joined(is_unknown, np.bool_)),
            sampler.first_record, on_card(sampler.states), on_card(sampler.candidates),
            *map(on_card, sampler.clamped),
        )  # fmt: skip
        self.few = on_card(np.array(sampler.negligible_cases).ravel())
        """Cases of diseases that are not candidates, by block."""
        self.is_started = on_card(sampler.is_started)
        self.passes = _passes(structure, int(sizes.max(initial=1)))
        self.n_far = n_far
        n_groups, far = n_far * GROUPS, [each.far for each in self.passes]
        self.far_workspaces = FarWorkspaces(
            zeros_on_card((n_groups, max(each.n_floats for each in far)), np.float64),
            zeros_on_card((n_groups, max(each.n_words for each in far)), np.uint32),
        )
        n_passes = 2 * len(self.passes)
        self.taken, self.n_waiting = (zeros_on_card(n_passes, np.int64) for _ in range(2))
        self.waiting = zeros_on_card((n_passes, len(sizes)), np.uint32)
        self.counts = ExpectedCounts(*map(on_card, ExpectedCounts.zeros(structure)))
        self._network: Any = None

    def network(self, net: FlatNetwork) -> Any:
        """Return a network on the card, where the one before was."""
        from noisyor.em.card_workspace_kernels import CardNetwork

        def short(values: NDArray[Any]) -> NDArray[np.uint32]:
            return values.astype(np.uint32)

        found = CardNetwork(
            net.failures, net.leaks, short(net.child_offsets), short(net.edge_symptoms),
            short(net.parent_offsets), short(net.parent_diseases), net.inverse_failures,
            net.log_failures, net.log_odds, net.odds,
        )  # fmt: skip
        if self._network is None:
            self._network = CardNetwork(*map(on_card, found))
        else:
            for there, here in zip(self._network, found, strict=True):
                there.copy_to_device(np.ascontiguousarray(here))
        return self._network

    def sample(self, net: FlatNetwork, n_blocks: int, n_records: int, sweeps: Sweeps) -> None:
        """Sample the diseases of the first records; set the counts."""
        from noisyor.em.card_kernels import SCREENING, Turns, add_negligible, sampling_kernel
        from noisyor.gpu.fill_kernels import fill_zeros
        from noisyor.gpu.lane_kernels import LANES

        n_few, n_processors = n_blocks * len(net.odds), n_multiprocessors()
        is_screened = sweeps.must_screen or sweeps.is_start
        for each in (*self.counts, self.taken, self.n_waiting):
            fill_zeros[n_processors, LANES](each)
        if sweeps.must_screen:
            fill_zeros[n_processors, LANES](self.few[:n_few])
        turns = Turns(
            n_records,
            LANES,
            self.blocks,
            self.is_started,
            self.taken,
            self.n_waiting,
            self.waiting,
        )
        given = (self.network(net), self.records, turns, sweeps)
        rest = (self.far_workspaces, self.counts, self.few)
        for number, (near, far) in enumerate(self.passes):
            if number == SCREENING and not is_screened:
                continue
            is_near = near.n_bytes <= MOST_BYTES // GROUPS
            if is_near:
                shape = NEAR_BLOCKS * n_processors, GROUPS * LANES, 0, GROUPS * near.n_bytes
                sampling_kernel(number, True, True)[shape](*given, near, *rest)
            if not is_near or near != far:
                grid = self.n_far, GROUPS * LANES
                sampling_kernel(number, False, not is_near)[grid](*given, far, *rest)
        add_negligible[n_processors, LANES](self.few, n_blocks, self.counts.cases)


class Pass(NamedTuple):
    """How much is in a workspace that is near, and in one that has room for all records."""

    near: Any
    far: Any


def _passes(structure: Structure, most_findings: int) -> list[Pass]:
    """Return the passes over the records: screening, summing up, drawing."""
    from noisyor.em.card_workspace_kernels import Sizes

    n_children = np.sort(np.diff(structure.child_offsets))[-MOST_ENUMERATED:]
    most_entries = max(int(np.minimum(n_children, most_findings).sum()), 1)
    found = []
    for has_entries, n_odds in ((0, structure.n_diseases), (1, 0), (0, 0)):
        near = far = Sizes.of(most_findings, has_entries * most_entries, n_odds, structure)
        findings, limit = most_findings, NEAR_BYTES if has_entries else MOST_BYTES // GROUPS
        while near.n_bytes > limit and findings > 1:
            findings -= max(findings // 16, 1)
            entries = has_entries * min(most_entries, 1 + 3 * findings // 2)
            near = Sizes.of(findings, entries, n_odds, structure)
        found.append(Pass(near, far))
    return found


class CardSampler(RecordSampler):
    """Keeps records and their sampled diseases on the card."""

    _there: KeptThere | None = None
    _is_newer_there = False
    """What was sampled there is not here..."""
    _is_newer_here = False
    """... or what was sampled here is not there."""
    _may_fit = True

    def expect(
        self, network: NoisyOrNetwork, n_blocks: int, *, must_screen: bool, n_sweeps: int, seed: int
    ) -> Counts:
        """Sample the diseases of the first blocks; return the expected counts."""
        there = self._sent()
        n_blocks = min(n_blocks, len(self.blocks))
        if there is None or not n_blocks:
            return super().expect(
                network, n_blocks, must_screen=must_screen, n_sweeps=n_sweeps, seed=seed
            )
        is_start = not self.is_started[:n_blocks].all()
        sweeps = Sweeps(self.least_odds, is_start, must_screen, n_sweeps, seed)
        there.sample(flatten(network), n_blocks, int(self.starts[n_blocks]), sweeps)
        if is_start:
            self.is_started[:n_blocks] = True
            there.is_started.copy_to_device(self.is_started)
        self._is_newer_there = True
        return ExpectedCounts(*(from_card(each) for each in there.counts))

    def _sent(self) -> KeptThere | None:
        """Return the records on the card; None where they do not fit."""
        n_far = FAR_BLOCKS * n_multiprocessors()
        while self._there is None and self._may_fit:
            try:
                self._there = KeptThere(self, n_far)
            except Exception as error:
                if not is_full(error):
                    raise
                n_far //= 2
                if not n_far:
                    self._may_fit = False
                    give_notice(
                        "the card's memory does not suffice for these records and their diseases: "
                        "they are sampled on the processor."
                    )
        if self._there is not None and self._is_newer_here:
            self._there.records.states.copy_to_device(self.states)
            self._is_newer_here = False
        return self._there

    def bring_here(self) -> None:
        """Bring what was sampled here."""
        if self._there is not None and self._is_newer_there:
            records = self._there.records
            self.states, self.candidates = from_card(records.states), from_card(records.candidates)
            few = from_card(self._there.few)
            self.negligible_cases = list(few.reshape(len(self.blocks), -1))
            self._is_newer_there = False

    def share_enumerated(self) -> float:
        """Return the share of the records whose candidates are few enough to be summed up."""
        self.bring_here()
        return super().share_enumerated()

    def _gathered(self, kind: type[Sums], *arguments: Any, **more: Any) -> Sums:
        """Gather here, from what was sampled there; sampling goes on here meanwhile."""
        self.bring_here()
        found = super()._gathered(kind, *arguments, **more)
        self._is_newer_here = True
        return found

    def copied(self) -> Self:
        """Return a sampler that goes on from here and leaves this one as it is."""
        self.bring_here()
        other = super().copied()
        other._there = None
        return other


def _joined(parts: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=dtype), *parts])
