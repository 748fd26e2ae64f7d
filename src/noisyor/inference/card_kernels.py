"""Kernels of the card for exact posteriors: a block of threads solves a record with few findings.

As elimination does (piece_kernels.py), disease after disease is summed over which of the findings
are already explained; here all findings of the record are open at once, so that a state is a set of
them and each thread has some states. Forward, `ahead` has the probability of each state before a
disease; back, `behind` that of all findings being explained from each state on. A disease with one
present finding acts on it as a leak does, and is merged with it before. All terms are positive.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float64

from noisyor.gpu.translating import Translator
from noisyor.inference import record_kernels
from noisyor.inference.piece_kernels import SMALLEST_NORMAL
from noisyor.inference.record_kernels import Workspace


class Space(NamedTuple):
    """What blocks of threads work in: a row for each block."""

    workspace: Workspace
    masks: Any
    """Of each disease: the record's findings that it can cause, as bits."""
    failures: Any
    """By finding of the record and disease."""
    present: Any
    """The record's findings."""
    several: Any
    """Diseases with several of them."""
    leaks: Any
    """By finding: P(neither its leak nor a merged disease causes it), and that one does."""
    before: Any
    """By disease of several: the states before it, one after the other."""
    behind: Any
    """Two rows for each finding: what the diseases behind each do."""
    roundings: Any
    """By thread."""


class SolvedRecords(NamedTuple):
    """What is found of each record."""

    probabilities: Any
    log_evidences: Any
    roundings: Any
    is_solved: Any


@cuda.jit(device=True)
def total_of(partial, value):
    """Return the sum of all threads' values, the same to each."""
    thread = cuda.threadIdx.x
    partial[thread] = value
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if thread < half:
            partial[thread] += partial[thread + half]
        cuda.syncthreads()
        half //= 2
    total = partial[0]
    cuda.syncthreads()
    return total


@cuda.jit(device=True)
def fire(vector, n_states, bit, failure, is_back):
    """Let a finding be explained with a chance of 1 - failure; back: what follows from that."""
    for half in range(cuda.threadIdx.x, n_states >> 1, cuda.blockDim.x):
        state = ((half >> bit) << (bit + 1)) | (half & ((1 << bit) - 1))
        other = state | (1 << bit)
        if is_back:
            vector[state] = failure * vector[state] + (1.0 - failure) * vector[other]
        else:
            vector[other] += (1.0 - failure) * vector[state]
            vector[state] *= failure
    cuda.syncthreads()


@cuda.jit(device=True)
def weight_of(leaks, state, n_present, left_out):
    """Return the probability that leaks explain just these findings, one of them left out."""
    weight = 1.0
    for bit in range(n_present):
        if bit != left_out:
            weight *= leaks[bit, (state >> bit) & 1]
    return weight


@cuda.jit(device=True)
def list_findings(net, records, record, block, space):
    """Write what findings say of each disease; return how many are present."""
    log_absent, others_unknown = space.workspace.log_absent[block], records.others_unknown[record]
    masks, n_present = space.masks[block], 0
    sign = 1.0 if others_unknown else -1.0
    for disease in range(cuda.threadIdx.x, len(net.priors), cuda.blockDim.x):
        log_absent[disease] = 0.0 if others_unknown else net.log_absent[disease]
        masks[disease] = 0
    cuda.syncthreads()
    for x in range(records.offsets[record], records.offsets[record + 1]):
        j, is_present = records.symptoms[x], records.is_present[x]
        first, last = net.parent_offsets[j], net.parent_offsets[j + 1]
        for index in range(first + cuda.threadIdx.x, last, cuda.blockDim.x):
            edge, disease = net.parent_edges[index], net.parent_diseases[index]
            if not (others_unknown and is_present):
                log_absent[disease] += sign * net.log_failures[edge]
            if is_present and net.failures[edge] < 1.0:
                masks[disease] |= 1 << n_present
                space.failures[block, n_present, disease] = net.failures[edge]
        if is_present:
            if cuda.threadIdx.x == 0:
                space.present[block, n_present] = j
            n_present += 1
        cuda.syncthreads()
    return n_present


@cuda.jit(device=True)
def list_several(n_open, partial, several):
    """List the diseases with several open findings, of which each thread has some; count them."""
    thread, n_threads = cuda.threadIdx.x, cuda.blockDim.x
    each = (len(n_open) + n_threads - 1) // n_threads
    first, last = thread * each, min((thread + 1) * each, len(n_open))
    n_here = 0
    for disease in range(first, last):
        if n_open[disease] > 1:
            n_here += 1
    partial[thread] = n_here
    cuda.syncthreads()
    at, total = 0, 0
    for other in range(n_threads):
        if other == thread:
            at = total
        total += int(partial[other])
    for disease in range(first, last):
        if n_open[disease] > 1:
            several[at] = disease
            at += 1
    cuda.syncthreads()
    return total


@cuda.jit(device=True)
def merge_single(net, block, n_present, partial, space):
    """List the diseases with several present findings; merge those with one with its leak."""
    on, masks, n_open = (
        space.workspace.on[block], space.masks[block], space.workspace.n_open[block],
    )  # fmt: skip
    n_several = list_several(n_open, partial, space.several[block])
    for bit in range(cuda.threadIdx.x, n_present, cuda.blockDim.x):
        j = space.present[block, bit]
        absent, present = 1.0 - net.leaks[j], net.leaks[j]
        for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            disease = net.parent_diseases[index]
            if n_open[disease] == 1 and masks[disease] >> bit & 1:
                chance = on[disease] * (1.0 - space.failures[block, bit, disease])
                present += absent * chance
                absent *= 1.0 - chance
        space.leaks[block, bit, 0], space.leaks[block, bit, 1] = absent, present
    cuda.syncthreads()
    return n_several


@functools.cache
def solving_kernel() -> Any:
    """Return the kernel that solves records one by one, each by a block of threads."""
    translator = Translator({})
    weigh = translator.function(record_kernels.weigh)
    close_within = translator.function(record_kernels.close_within)

    @cuda.jit
    def solve_records(net, records, chosen, order, width, constants, space, solved):
        """Solve the chosen records, in an order, which have at most `width` states each.

        `constants` are those of the network.
        """
        # As large as who launches it says: two vectors of states, and a number for each thread.
        near = cuda.shared.array(0, float64)
        ahead, other, partial = near[:width], near[width : 2 * width], near[2 * width :]
        block, thread, n_threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        on, masks = space.workspace.on[block], space.masks[block]
        n_open = space.workspace.n_open[block]
        for turn in range(block, len(chosen), cuda.gridDim.x):
            at = order[turn]
            record = chosen[at]
            n_present = list_findings(net, records, record, block, space)
            # P(disease | absent findings)
            log_sum = 0.0
            for disease in range(thread, len(on), n_threads):
                chance, log_total = weigh(
                    net.priors[disease], space.workspace.log_absent[block, disease]
                )
                on[disease] = chance
                log_sum += log_total
                n_open[disease] = cuda.popc(masks[disease]) if chance > 0.0 else 0
            log_evidence = total_of(partial, log_sum)
            n_several = merge_single(net, block, n_present, partial, space)
            n_states = 1 << n_present
            is_solved = n_several * n_states <= space.before.shape[1]
            # forward
            for state in range(thread, n_states, n_threads):
                ahead[state] = weight_of(space.leaks[block], state, n_present, -1)
            cuda.syncthreads()
            for t in range(n_several if is_solved else 0):
                disease = space.several[block, t]
                for state in range(thread, n_states, n_threads):
                    space.before[block, t * n_states + state] = other[state] = ahead[state]
                cuda.syncthreads()
                for bit in range(n_present):
                    if masks[disease] >> bit & 1:
                        fire(other, n_states, bit, space.failures[block, bit, disease], False)
                for state in range(thread, n_states, n_threads):
                    p = on[disease]
                    ahead[state] = (1.0 - p) * ahead[state] + p * other[state]
                cuda.syncthreads()
            evidence = ahead[n_states - 1]
            cuda.syncthreads()
            is_solved = is_solved and evidence >= SMALLEST_NORMAL
            if thread == 0:
                solved.is_solved[at] = is_solved
            if not is_solved:
                continue
            # back
            for state in range(thread, n_states, n_threads):
                ahead[state] = 1.0 if state == n_states - 1 else 0.0
            cuda.syncthreads()
            for back in range(n_several):
                t = n_several - 1 - back
                disease = space.several[block, t]
                p = on[disease]
                for state in range(thread, n_states, n_threads):
                    other[state] = ahead[state]
                cuda.syncthreads()
                for bit in range(n_present):
                    if masks[disease] >> bit & 1:
                        fire(other, n_states, bit, space.failures[block, bit, disease], True)
                without, within = 0.0, 0.0
                for state in range(thread, n_states, n_threads):
                    reached = space.before[block, t * n_states + state]
                    without += reached * ahead[state]
                    within += reached * other[state]
                    ahead[state] = (1.0 - p) * ahead[state] + p * other[state]
                without = (1.0 - p) * total_of(partial, without)
                within = p * total_of(partial, within)
                if thread == 0:
                    on[disease] = within / (without + within)
                cuda.syncthreads()
            # the leaks, and what was merged with them
            for bit in range(n_present):
                caused, not_caused = 0.0, 0.0
                for half in range(thread, n_states >> 1, n_threads):
                    state = ((half >> bit) << (bit + 1)) | (half & ((1 << bit) - 1))
                    weight = weight_of(space.leaks[block], state, n_present, bit)
                    caused += weight * ahead[state | (1 << bit)]
                    not_caused += weight * ahead[state]
                caused, not_caused = total_of(partial, caused), total_of(partial, not_caused)
                if thread == 0:
                    j = space.present[block, bit]
                    space.workspace.if_caused[block, j] = caused / evidence
                    space.workspace.if_not[block, j] = not_caused / evidence
                cuda.syncthreads()
            own = space.roundings[block * n_threads + thread : block * n_threads + thread + 1]
            own[0] = 0.0
            workspace = Workspace(
                space.workspace.log_absent[block], on, n_open, space.workspace.piece_of[block],
                space.workspace.caused[block], space.workspace.leaked[block],
                space.workspace.absent[block], space.workspace.present[block],
                space.workspace.if_caused[block], space.workspace.if_not[block], own,
                space.workspace.is_cut[block],
            )  # fmt: skip
            for bit in range(thread, n_present, n_threads):
                j = space.present[block, bit]
                behind = space.behind[block, bit]
                close_within(net, j, workspace, behind[0], behind[1])
            merged = total_of(partial, own[0])
            listed = 0.0
            for x in range(records.offsets[record], records.offsets[record + 1]):
                if not (records.others_unknown[record] and records.is_present[x]):
                    listed += net.log_silent[records.symptoms[x]]
            unknown = records.others_unknown[record]
            log_evidence += listed if unknown else constants.log_silent - listed
            for disease in range(thread, len(on), n_threads):
                solved.probabilities[at, disease] = on[disease]
            if thread == 0:
                solved.log_evidences[at] = log_evidence + np.log(evidence)
                solved.roundings[at] = (
                    constants.roundings + merged + n_several * (n_states + 6.0 * n_present)
                )
            cuda.syncthreads()

    return solve_records


class Constants(NamedTuple):
    """Numbers of a network."""

    log_silent: float
    """The log probability that no leak fires."""
    roundings: float
    """How often a posterior is rounded where no finding is present."""
