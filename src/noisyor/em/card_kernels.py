"""Kernels of the card for the expectations of EM: the processor's work on a record, by threads.

Each thread takes one record after the other, in a workspace of its own; the first axis of its
arrays is that of their elements, so that threads side by side read and write side by side.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from noisyor.em import sampling_kernels
from noisyor.em.candidate_kernels import OpenRecord
from noisyor.em.sampling_kernels import Sweeps
from noisyor.gpu.translating import Translator
from noisyor.inference import gibbs_kernels
from noisyor.kernels.word_kernels import lowest_bit


class Turns(NamedTuple):
    """Which records are sampled, and in which order."""

    order: Any
    blocks: Any
    """The block of each record."""
    is_started: Any
    """Of each block."""


class Threads(NamedTuple):
    """What threads have of their own: a column each."""

    workspaces: OpenRecord
    randoms: Any
    """The state of a stream of random numbers of each."""


def add_at_once(sums, index, value):
    """Add to one of some sums that other threads add to as well."""
    cuda.atomic.add(sums, index, value)


def lowest_on_card(word):
    """Return the number of the lowest set bit: as many as there are 0 below it."""
    return cuda.popc(~word & (word - np.uint64(1)))


@functools.cache
def sampling_kernel() -> Any:
    """Return the kernel that samples records as `sampling_kernels.sample_records` does."""
    translator = Translator({sampling_kernels.add_to: add_at_once, lowest_bit: lowest_on_card})
    sample_record = translator.function(sampling_kernels.sample_record)
    start_random = translator.function(gibbs_kernels.start_random)

    @cuda.jit
    def sample_records(net, records, turns, sweeps, threads, counts, few):
        """Sample records, each in its turn; `few` has sums for each block of records."""
        thread, workspaces = cuda.grid(1), threads.workspaces
        workspace = OpenRecord(
            workspaces.slots[:, thread], workspaces.is_on[:, thread], workspaces.labels[:, thread],
            workspaces.odds[:, thread], workspaces.chosen[:, thread], workspaces.absent[:, thread],
            workspaces.w[:, thread], workspaces.h[:, thread], workspaces.scores[:, thread],
            workspaces.entry_offsets[:, thread], workspaces.entry_edges[:, thread],
            workspaces.entry_findings[:, thread], workspaces.probabilities[:, thread],
            workspaces.with_disease[:, thread], workspaces.inverses[:, thread],
            workspaces.log_odds[:, thread], workspaces.in_doubt[:, thread],
        )  # fmt: skip
        random = threads.randoms[thread : thread + 1]
        for at in range(thread, len(turns.order), cuda.gridsize(1)):
            record = turns.order[at]
            block = turns.blocks[record]
            is_start = not turns.is_started[block]
            own = Sweeps(
                sweeps.least_odds, is_start, sweeps.must_screen or is_start, sweeps.n_sweeps,
                sweeps.seed, sweeps.must_draw, sweeps.most_enumerated,
            )  # fmt: skip
            start_random(random, sweeps.seed, records.first + record)
            sample_record(net, records, record, own, random, workspace, counts, few[block])

    return sample_records


@cuda.jit
def count_candidates(candidates, n_candidates):
    """Write how many candidates each record has."""
    for record in range(cuda.grid(1), len(n_candidates), cuda.gridsize(1)):
        found = 0
        for word in range(candidates.shape[1]):
            found += cuda.popc(candidates[record, word])
        n_candidates[record] = found
