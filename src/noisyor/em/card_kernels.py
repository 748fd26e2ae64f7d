"""Kernels of the card for the expectations of EM: a group of lanes works on one record.

What is done is what `sampling_kernels` does, in the same order of findings, diseases and states;
lanes share the parents of a finding, the findings of a disease, or the diseases. First candidates
are looked for, then records with few are summed up, then those with many are sampled, each by a
kernel of its own: what groups do side by side is then short enough to be kept near to them. So are
the workspaces of records; those that are too large for that are left to workspaces that are far.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float64, uint32, uint64

from noisyor.em.candidate_kernels import MOST_ENUMERATED
from noisyor.em.card_screening_kernels import explain, gather_negligible, screen
from noisyor.em.card_state_kernels import expect_states, list_chosen
from noisyor.em.card_workspace_kernels import (
    edges_of,
    gather,
    has_bit,
    label_of,
    lowest_of,
    open_record,
    slot_of,
    store_bits,
    turn,
    turn_bit,
    workspace_in,
)
from noisyor.gpu.lane_kernels import (
    LANES,
    Lane,
    add_at_once,
    after,
    device_function,
    exp,
    first_lanes,
    global_function,
    log,
    sum_of_lanes,
    wait_for_lanes,
)
from noisyor.gpu.translating import Translator
from noisyor.inference import gibbs_kernels

SCREENING, SUMMING, DRAWING = 0, 1, 2
N_PASSES = 3
MOST_REGISTERS = 128
"""Of a thread: with more, fewer groups work at a time."""

start_random = Translator({}).function(gibbs_kernels.start_random)
next_uniform = Translator({}).function(gibbs_kernels.next_uniform)


class Turns(NamedTuple):
    """Which records are worked on, and how far that is."""

    n_records: int
    step: int
    """The number of lanes."""
    blocks: Any
    """The block of each record."""
    is_started: Any
    """Of each block."""
    taken: Any
    """By pass, and then for what each has left: the number of records that were taken..."""
    n_waiting: Any
    """... of so many that wait for it..."""
    waiting: Any
    """... and are these; those that all wait for are not written down."""


class FarWorkspaces(NamedTuple):
    """Workspaces in the card's memory: a row for each group."""

    floats: Any
    words: Any


@functools.cache
def sampling_kernel(which: int, is_near: bool, is_first: bool) -> Any:
    """Return the kernel of a pass, in workspaces that are near or far.

    First it goes over all records, or those that wait to be drawn; then over what this has left.
    """
    is_screening, is_summing = which == SCREENING, which == SUMMING
    left_pass = N_PASSES + which
    this_pass = which if is_first else left_pass
    is_of_all = is_first and which != DRAWING

    @global_function(MOST_REGISTERS)
    def sample_records(net, records, turns, sweeps, sizes, far, counts, few):
        """Sample records, each in its turn; `few` has sums for each block of records."""
        lane = Lane(np.uint32(cuda.threadIdx.x % LANES), np.uint32(turns.step))
        group = cuda.threadIdx.x // LANES
        if is_near:
            at = group * (sizes.n_bytes >> 3)
            floats = cuda.shared.array(0, float64)[at : at + sizes.n_floats]
            at = 2 * (at + sizes.n_floats)
            words = cuda.shared.array(0, uint32)[at : at + sizes.n_words]
        else:
            number = cuda.grid(1) // LANES
            floats, words = far.floats[number], far.words[number]
        workspace = workspace_in(floats, words, sizes)
        random = cuda.local.array(1, uint64)
        n_records = turns.n_records if is_of_all else turns.n_waiting[this_pass]
        while True:
            taken = 0
            if lane.number == 0:
                taken = add_at_once(turns.taken, this_pass, 1)
            taken = first_lanes(taken)
            if taken >= n_records:
                break
            record = np.uint32(taken) if is_of_all else turns.waiting[this_pass, taken]
            n_findings = np.int64(records.offsets[record + 1] - records.offsets[record])
            next_pass = -1
            if is_screening:
                block = turns.blocks[record]
                is_start = not turns.is_started[block]
                if not sweeps.must_screen and not is_start:
                    pass
                elif n_findings > sizes.findings:
                    next_pass = left_pass
                else:
                    open_record(net, records, record, n_findings, lane, workspace)
                    if is_start:
                        explain(net, records, record, n_findings, lane, workspace)
                        store_bits(workspace.on, records.states, record, lane)
                    screen(net, records, record, n_findings, sweeps.least_odds, lane, workspace)
                    few_at = block * np.uint32(len(net.odds))
                    gather_negligible(net, lane, workspace, counts, few, few_at)
            elif n_findings > sizes.findings:
                next_pass = left_pass
            else:
                open_record(net, records, record, n_findings, lane, workspace)
                if is_summing:
                    n_chosen = list_chosen(lane, workspace)
                    if n_chosen > MOST_ENUMERATED:
                        next_pass = DRAWING
                    elif not expect_states(
                        net, records, record, n_findings, n_chosen, lane, workspace, counts
                    ):
                        next_pass = left_pass
                else:
                    start_random(random, sweeps.seed, records.first + record)
                    draw_diseases(
                        net, records, record, sweeps.n_sweeps, random, lane, workspace, counts
                    )
                    gather_leaked(net, records, record, n_findings, lane, workspace, counts)
                if next_pass < 0:
                    store_bits(workspace.on, records.states, record, lane)
            if next_pass >= 0 and lane.number == 0:
                at = add_at_once(turns.n_waiting, next_pass, 1)
                turns.waiting[next_pass, at] = record
            wait_for_lanes()

    return sample_records


@device_function
def draw_diseases(net, records, record, n_sweeps, random, lane, workspace, counts):
    """Draw each candidate some times; add what is expected in the last sweep."""
    for sweep in range(n_sweeps):
        for word in range(len(workspace.candidates)):
            left = np.int64(workspace.candidates[np.uint32(word)])
            while left != 0:
                disease = np.uint32(32 * word + lowest_of(left))
                left &= left - 1
                is_on = has_bit(workspace.on, disease)
                probability = probability_of(
                    net, disease, is_on, label_of(records, record, disease), lane, workspace
                )
                if sweep == n_sweeps - 1:
                    if lane.number == 0:
                        add_at_once(counts.cases, disease, probability)
                    gather(net, disease, probability, is_on, lane, workspace, counts)
                if (next_uniform(random) < probability) != is_on:
                    wait_for_lanes()
                    turn_bit(workspace.on, disease, not is_on, lane)
                    turn(net, disease, not is_on, lane, workspace)


@device_function
def probability_of(net, disease, is_on, label, lane, workspace):
    """Return the probability of a disease given all others, and whether it was seen."""
    if label != 0:
        return 1.0 if label == 1 else 0.0
    log_odds = 0.0
    edge, last = edges_of(net, disease, lane)
    while edge < last:
        slot = slot_of(net.edge_symptoms[edge], workspace)
        if slot >= 0:
            f, absent, ratio = net.failures[edge], workspace.absent[np.uint32(slot)], 1.0
            if absent == 0.0:
                ratio = 1.0 / f
            elif is_on:
                ratio = (1.0 - absent) / (f - absent)
            else:
                w = workspace.w[np.uint32(slot)]
                ratio = w / f - absent * w
            log_odds += log(ratio)
        edge = after(edge, lane)
    log_odds = net.log_odds[disease] + sum_of_lanes(log_odds)
    return 1.0 / (1.0 + exp(-log_odds))


@device_function
def gather_leaked(net, records, record, n_findings, lane, workspace, counts):
    """Add how many findings are expected to have come by themselves, given the diseases."""
    first = records.offsets[record]
    x = lane.number
    while x < n_findings:
        if workspace.absent[x] > 0.0:
            symptom = records.listed[first + x]
            add_at_once(counts.leaked, symptom, net.leaks[symptom] * workspace.w[x])
        x = after(x, lane)


@cuda.jit
def add_negligible(few, n_blocks, cases):
    """Add the cases of diseases that are not candidates of the first blocks of records."""
    for disease in range(cuda.grid(1), len(cases), cuda.gridsize(1)):
        found = 0.0
        for block in range(n_blocks):
            found += few[block * len(cases) + disease]
        cases[disease] += found
