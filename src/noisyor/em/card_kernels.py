"""Kernels of the card for the expectations of EM: a group of lanes works on one record.

What is done is what `sampling_kernels` does, in the same order of findings, diseases and states;
lanes share the parents of a finding, the findings of a disease, or the diseases. What they need
of the open record lies in a workspace near to them, where many groups have room at once. The few
records that are too large for it are left to a second pass, whose workspaces are far and large.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float64, uint32, uint64

from noisyor.em import card_state_kernels as states
from noisyor.em.candidate_kernels import HUGE, MOST_ENUMERATED
from noisyor.em.card_workspace_kernels import (
    edges_of,
    has_bit,
    label_of,
    load_bits,
    lowest_of,
    slot_of,
    store_bits,
    turn,
    turn_bit,
    workspace_in,
)
from noisyor.em.sampling_kernels import NOTHING
from noisyor.gpu.lane_kernels import (
    LANES,
    add_at_once,
    device_function,
    exp,
    first_lanes,
    global_function,
    lanes_where,
    largest_of_lanes,
    log,
    set_at_once,
    smallest_of_lanes,
    sum_of_lanes,
    wait_for_lanes,
)
from noisyor.gpu.translating import Translator
from noisyor.inference import gibbs_kernels

NEXT, N_LEFT, NEXT_LEFT = 0, 1, 2
"""What is counted: records that were taken, that were left, and that of these were taken."""
MOST_REGISTERS = 128
"""Of a thread: with more, fewer groups work at a time."""
AFTER_ALL = 1 << 30
"""More than there are diseases."""


start_random = Translator({}).function(gibbs_kernels.start_random)
next_uniform = Translator({}).function(gibbs_kernels.next_uniform)


class Turns(NamedTuple):
    """Which records are sampled, and how far that is."""

    n_records: int
    blocks: Any
    """The block of each record."""
    is_started: Any
    """Of each block."""
    counters: Any
    left: Any
    """Records that did not fit: twice their number, and 1 more where they are already screened."""


class FarWorkspaces(NamedTuple):
    """Workspaces in the card's memory: a row for each group."""

    floats: Any
    words: Any


@functools.cache
def sampling_kernel(*, is_near: bool, is_first: bool) -> Any:
    """Return the kernel that samples records as `sampling_kernels.sample_records` does.

    In workspaces that are near or far; all records, or those that a first pass has left.
    """

    @global_function(MOST_REGISTERS)
    def sample_records(net, records, turns, sweeps, sizes, far, counts, few):
        """Sample records, each in its turn; `few` has sums for each block of records."""
        lane, group = cuda.threadIdx.x & (LANES - 1), cuda.threadIdx.x // LANES
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
        while True:
            taken = 0
            if lane == 0:
                taken = add_at_once(turns.counters, NEXT if is_first else NEXT_LEFT, 1)
            taken = first_lanes(taken)
            if is_first:
                if taken >= turns.n_records:
                    break
                record, is_screened = taken, False
            else:
                if taken >= turns.counters[N_LEFT]:
                    break
                record, is_screened = turns.left[taken] >> 1, turns.left[taken] & 1 == 1
            n_findings = records.offsets[record + 1] - records.offsets[record]
            fits = n_findings <= sizes.findings
            if fits:
                block = turns.blocks[record]
                is_start = not turns.is_started[block] and not is_screened
                must_screen = (sweeps.must_screen or is_start) and not is_screened
                start_random(random, sweeps.seed, records.first + record)
                open_record(net, records, record, n_findings, lane, workspace)
                if is_start:
                    explain(net, records, record, n_findings, lane, workspace)
                if must_screen:
                    screen(net, records, record, n_findings, sweeps.least_odds, lane, workspace)
                    few_at = block * len(net.odds)
                    gather_negligible(net, lane, workspace, counts, few, few_at)
                is_screened = is_screened or must_screen
                fits = expect_record(
                    net,
                    records,
                    record,
                    n_findings,
                    sweeps.n_sweeps,
                    random,
                    lane,
                    workspace,
                    counts,
                )
                store_bits(workspace.on, records.states, record, lane)
            if not fits and lane == 0:
                at = add_at_once(turns.counters, N_LEFT, 1)
                turns.left[at] = 2 * record + (1 if is_screened else 0)
            wait_for_lanes()

    return sample_records


@device_function
def open_record(net, records, record, n_findings, lane, workspace):
    """Open a record with the diseases that it has."""
    first = records.offsets[record]
    for word in range(lane, len(workspace.bits), LANES):
        workspace.bits[word] = 0
    load_bits(records.states, record, workspace.on, lane)
    load_bits(records.candidates, record, workspace.candidates, lane)
    wait_for_lanes()
    for x in range(lane, n_findings, LANES):
        symptom = records.listed[first + x]
        word = symptom >> 5
        set_at_once(workspace.bits, word, 1 << (symptom & 31))
        if x == 0 or records.listed[first + x - 1] >> 5 != word:
            workspace.ranks[word] = x
        absent = 1.0 - net.leaks[symptom]
        if len(records.is_unknown) and records.is_unknown[first + x]:
            absent = 0.0
        workspace.absent[x] = absent
        workspace.w[x] = 1.0 / (1.0 - absent)
    wait_for_lanes()
    for word in range(len(workspace.on)):
        left = np.int64(workspace.on[word])
        while left != 0:
            turn(net, 32 * word + lowest_of(left), True, lane, workspace)
            left &= left - 1


# --- all diseases at once ---


@device_function
def find_odds(net, records, record, n_findings, lane, workspace):
    """Find the odds of all diseases that are not on: finding after finding, of all its parents."""
    for disease in range(lane, len(net.odds), LANES):
        workspace.odds[disease] = 1.0
    wait_for_lanes()
    first = records.offsets[record]
    for x in range(n_findings):
        symptom = records.listed[first + x]
        w = workspace.w[x]
        h = workspace.absent[x] * w
        last = np.int64(net.parent_offsets[symptom + 1])
        for index in range(np.int64(net.parent_offsets[symptom]) + lane, last, LANES):
            workspace.odds[net.parent_diseases[index]] *= net.inverse_failures[index] * w - h
        wait_for_lanes()
    for disease in range(lane, len(net.odds), LANES):
        workspace.odds[disease] *= net.odds[disease]
    wait_for_lanes()


@device_function
def explain(net, records, record, n_findings, lane, workspace):
    """Start a record: turn on the most probable disease while one is more probable than not."""
    if len(records.known):
        for disease in range(len(net.odds)):
            if label_of(records, record, disease) == 1 and not has_bit(workspace.on, disease):
                wait_for_lanes()
                turn_bit(workspace.on, disease, True, lane)
                turn(net, disease, True, lane, workspace)
    for _ in range(len(net.odds)):
        find_odds(net, records, record, n_findings, lane, workspace)
        best, best_odds = AFTER_ALL, 1.0
        for disease in range(lane, len(net.odds), LANES):
            odds = workspace.odds[disease]
            is_off = not has_bit(workspace.on, disease)
            if odds > best_odds and is_off and label_of(records, record, disease) == 0:
                best, best_odds = disease, odds
        if best_odds < largest_of_lanes(best_odds):
            best = AFTER_ALL
        best = smallest_of_lanes(best)
        if best == AFTER_ALL:
            return
        turn_bit(workspace.on, best, True, lane)
        turn(net, best, True, lane, workspace)


@device_function
def screen(net, records, record, n_findings, negligible, lane, workspace):
    """Let the diseases that are on or not negligible be candidates; set the odds of those to 0."""
    find_odds(net, records, record, n_findings, lane, workspace)
    for word in range(lane, len(workspace.candidates), LANES):
        workspace.candidates[word] = 0
    wait_for_lanes()
    for disease in range(lane, len(net.odds), LANES):
        is_candidate = has_bit(workspace.on, disease) or not workspace.odds[disease] < negligible
        is_absent = label_of(records, record, disease) == -1
        if is_candidate or is_absent:
            workspace.odds[disease] = 0.0
            if not is_absent:
                set_at_once(workspace.candidates, disease >> 5, 1 << (disease & 31))
    wait_for_lanes()
    store_bits(workspace.candidates, records.candidates, record, lane)


@device_function
def gather_negligible(net, lane, workspace, counts, few, few_at):
    """Add what diseases are expected to have caused that are not candidates."""
    n_diseases = len(net.odds)
    for first in range(0, n_diseases, LANES):
        disease, is_some = first + lane, False
        if disease < n_diseases:
            odds = workspace.odds[disease]
            if odds != 0.0:
                add_at_once(few, few_at + disease, odds)
            is_some = odds > NOTHING
        left = lanes_where(is_some)
        while left != 0:
            other = first + lowest_of(left)
            gather(net, other, workspace.odds[other], False, lane, workspace, counts)
            left &= left - 1
    wait_for_lanes()


# --- the expectations of one record ---


@device_function
def expect_record(net, records, record, n_findings, n_sweeps, random, lane, workspace, counts):
    """Add what a record with these candidates is expected to contain; False if it does not fit."""
    n_chosen = states.list_chosen(lane, workspace)
    if n_chosen <= MOST_ENUMERATED:
        return states.expect_states(
            net, records, record, n_findings, n_chosen, lane, workspace, counts
        )
    for sweep in range(n_sweeps):
        is_last = sweep == n_sweeps - 1
        for word in range(len(workspace.candidates)):
            left = np.int64(workspace.candidates[word])
            while left != 0:
                disease = 32 * word + lowest_of(left)
                left &= left - 1
                is_on = has_bit(workspace.on, disease)
                probability = probability_of(
                    net, disease, is_on, label_of(records, record, disease), lane, workspace
                )
                if is_last:
                    if lane == 0:
                        add_at_once(counts.cases, disease, probability)
                    gather(net, disease, probability, is_on, lane, workspace, counts)
                if (next_uniform(random) < probability) != is_on:
                    wait_for_lanes()
                    turn_bit(workspace.on, disease, not is_on, lane)
                    turn(net, disease, not is_on, lane, workspace)
    first = records.offsets[record]
    for x in range(lane, n_findings, LANES):
        if workspace.absent[x] > 0.0:
            symptom = records.listed[first + x]
            add_at_once(counts.leaked, symptom, net.leaks[symptom] * workspace.w[x])
    return True


@device_function
def probability_of(net, disease, is_on, label, lane, workspace):
    """Return the probability of a disease given all others, and whether it was seen."""
    if label != 0:
        return 1.0 if label == 1 else 0.0
    product, log_odds = 1.0, 0.0
    for edge in edges_of(net, disease, lane):
        x = slot_of(net.edge_symptoms[edge], workspace)
        if x >= 0:
            f, absent = net.failures[edge], workspace.absent[x]
            if absent == 0.0:
                product /= f
            elif is_on:
                product *= (1.0 - absent) / (f - absent)
            else:
                product *= workspace.w[x] / f - absent * workspace.w[x]
            if product > HUGE:
                log_odds += log(product)
                product = 1.0
    log_odds = net.log_odds[disease] + sum_of_lanes(log_odds + log(product))
    return 1.0 / (1.0 + exp(-log_odds))


@device_function
def gather(net, disease, chance, is_on, lane, workspace, counts):
    """Add what a disease is expected to have caused: P(present) (1 - f) / P(finding present)."""
    for edge in edges_of(net, disease, lane):
        x = slot_of(net.edge_symptoms[edge], workspace)
        if x >= 0:
            absent = workspace.absent[x]
            if absent == 0.0:
                add_at_once(counts.unknown, edge, chance)
            else:
                f = net.failures[edge]
                with_disease = absent if is_on else absent * f
                add_at_once(counts.caused, edge, chance * (1.0 - f) / (1.0 - with_disease))


@cuda.jit
def add_negligible(few, n_blocks, cases):
    """Add the cases of diseases that are not candidates of the first blocks of records."""
    for disease in range(cuda.grid(1), len(cases), cuda.gridsize(1)):
        found = 0.0
        for block in range(n_blocks):
            found += few[block * len(cases) + disease]
        cases[disease] += found
