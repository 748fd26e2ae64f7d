"""Kernels of the card for exact posteriors: a group of lanes solves a record with few findings.

As elimination does (piece_kernels.py), disease after disease is summed over which of the findings
are already explained; here all findings of the record are open at once, so that a state is a set of
them and each lane has some states. Forward, `ahead` has the probability of each state before a
disease; back, that of all findings being explained from each state on. A disease with one present
finding acts on it as a leak does, and is merged with it before. All terms are positive.

Most diseases with several findings have two of them. States that differ in these two alone are four
numbers, which a lane reads, changes and writes at once; what is left of more findings comes before.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float64

from noisyor.gpu.lane_kernels import (
    device_function,
    global_function,
    lanes_where,
    popcount,
    sum_of_lanes,
    wait_for_lanes,
)
from noisyor.gpu.translating import Translator
from noisyor.inference import record_kernels
from noisyor.inference.piece_kernels import SMALLEST_NORMAL

MOST_REGISTERS = 80
"""Of a thread: with more, fewer groups work at a time."""


class CardRecords(NamedTuple):
    """Records as `Records` has them, and which of them are to be solved."""

    offsets: Any
    symptoms: Any
    is_present: Any
    others_unknown: Any
    chosen: Any
    order: Any
    """In which the chosen ones are taken."""


class Space(NamedTuple):
    """What groups work in: a row for each group."""

    log_absent: Any
    """Of each disease: the log probability of the absent findings."""
    on: Any
    """P(disease | absent findings), then P(disease | all findings)."""
    masks: Any
    """Of each disease: the record's findings that it can cause, as bits."""
    failures: Any
    """By finding of the record and disease."""
    present: Any
    """The record's findings."""
    several: Any
    """Diseases with several of them..."""
    bits: Any
    """... two of these, four bits each, and above them a mask of all others..."""
    numbers: Any
    """... P(disease | absent findings), and the failures of these two."""
    before: Any
    """By disease of several: the states before it, one after the other."""
    chances: Any
    """By finding and its parents: P(the disease causes it), if it was merged with the leak."""
    behind: Any
    """Two rows for each finding: what the merged diseases behind each do."""


class SolvedRecords(NamedTuple):
    """What is found of each record."""

    probabilities: Any
    log_evidences: Any
    roundings: Any
    is_solved: Any


class Constants(NamedTuple):
    """Numbers of a network."""

    log_silent: float
    """The log probability that no leak fires."""
    roundings: float
    """How often a posterior is rounded where no finding is present."""


# --- what the findings say ---


@device_function
def list_findings(net, records, record, group, lane, n_lanes, space):
    """Write what findings say of each disease; return how many are present."""
    log_absent, others_unknown = space.log_absent[group], records.others_unknown[record]
    masks, n_present = space.masks[group], 0
    sign = 1.0 if others_unknown else -1.0
    for disease in range(lane, len(net.priors), n_lanes):
        log_absent[disease] = 0.0 if others_unknown else net.log_absent[disease]
        masks[disease] = 0
    wait_for_lanes()
    for x in range(records.offsets[record], records.offsets[record + 1]):
        j, is_present = records.symptoms[x], records.is_present[x]
        for index in range(net.parent_offsets[j] + lane, net.parent_offsets[j + 1], n_lanes):
            edge, disease = net.parent_edges[index], net.parent_diseases[index]
            if not (others_unknown and is_present):
                log_absent[disease] += sign * net.log_failures[edge]
            if is_present and net.failures[edge] < 1.0:
                masks[disease] |= 1 << n_present
                space.failures[group, n_present, disease] = net.failures[edge]
        if is_present:
            if lane == 0:
                space.present[group, n_present] = j
            n_present += 1
        wait_for_lanes()
    return n_present


@device_function
def list_several(group, lane, n_lanes, space):
    """List the diseases with several present findings; return how many there are."""
    masks, n_several = space.masks[group], 0
    for first in range(0, len(masks), n_lanes):
        disease = first + lane
        mask = masks[disease] if disease < len(masks) else 0
        votes = lanes_where(popcount(mask) > 1)
        if popcount(mask) > 1:
            at = n_several + popcount(votes & ((1 << lane) - 1))
            low = popcount((mask & -mask) - 1)
            rest = mask & (mask - 1)
            high = popcount((rest & -rest) - 1)
            space.several[group, at] = disease
            space.bits[group, at] = low | high << 4 | (rest & (rest - 1)) << 8
            space.numbers[group, at, 0] = space.on[group, disease]
            space.numbers[group, at, 1] = space.failures[group, low, disease]
            space.numbers[group, at, 2] = space.failures[group, high, disease]
        n_several += popcount(votes)
    return n_several


@device_function
def merge_single(net, group, n_present, lane, n_lanes, leaks, space):
    """Merge the diseases that have one present finding with its leak.

    `leaks` has for each finding P(neither its leak nor a merged disease causes it), and P(one of
    them does).
    """
    masks, chances = space.masks[group], space.chances[group]
    for bit in range(n_present):
        j = space.present[group, bit]
        first = net.parent_offsets[j]
        for index in range(first + lane, net.parent_offsets[j + 1], n_lanes):
            disease, chance = net.parent_diseases[index], 0.0
            if masks[disease] == 1 << bit:
                failure = net.failures[net.parent_edges[index]]
                chance = space.on[group, disease] * (1.0 - failure)
            chances[bit, index - first] = chance
    wait_for_lanes()
    for bit in range(lane, n_present, n_lanes):
        j = space.present[group, bit]
        absent, present = 1.0 - net.leaks[j], net.leaks[j]
        for x in range(net.parent_offsets[j + 1] - net.parent_offsets[j]):
            chance = chances[bit, x]
            present += absent * chance
            absent *= 1.0 - chance
        leaks[2 * bit], leaks[2 * bit + 1] = absent, present


# --- sums over states ---


@device_function
def weight_of(leaks, state, n_present, left_out):
    """Return the probability that leaks explain just these findings, one of them left out."""
    weight = 1.0
    for bit in range(n_present):
        if bit != left_out:
            weight *= leaks[2 * bit + (state >> bit & 1)]
    return weight


@device_function
def with_zero(number, bit):
    """Return a number into whose bits a 0 is inserted."""
    below = (np.uint32(1) << np.uint32(bit)) - np.uint32(1)
    return np.uint32(number + (number & ~below))


@device_function
def fire(one, other, failure, is_back):
    """Let a finding be explained with a chance of 1 - failure; back: what follows from that.

    Of two states, the second of which has the finding explained.
    """
    if is_back:
        return failure * one + (1.0 - failure) * other, other
    return failure * one, other + (1.0 - failure) * one


@device_function
def fire_others(source, target, rest, failures, disease, n_states, is_back, lane, n_lanes):
    """Write what states become by the findings of a disease that stand in a mask."""
    bit = 0
    while rest != 0:
        if rest & 1:
            failure = failures[bit, disease]
            for half in range(lane, n_states >> 1, n_lanes):
                state = with_zero(half, bit)
                other = state | (1 << bit)
                target[state], target[other] = fire(source[state], source[other], failure, is_back)
            wait_for_lanes()
            source = target
        rest >>= 1
        bit += 1


@device_function
def pass_disease(t, is_back, n_states, group, lane, n_lanes, vector, other, space):
    """Let states be changed by a disease, which may be there.

    Forward, the states before it are kept. Back, return each lane's part of how probable all is if
    the disease is not there, and if it is.
    """
    disease, bits = space.several[group, t], space.bits[group, t]
    p, f, g = space.numbers[group, t, 0], space.numbers[group, t, 1], space.numbers[group, t, 2]
    # Numbers without a sign are indices as they are: others might count from the end.
    low, high, rest = np.uint32(bits & 15), np.uint32(bits >> 4 & 15), bits >> 8
    if rest != 0:
        fire_others(
            vector, other, rest, space.failures[group], disease, n_states, is_back, lane, n_lanes
        )
    within, without, step = 0.0, 0.0, np.uint32(n_states >> 2)
    two_steps, three, before = step + step, step + step + step, space.before[group]
    first_bit, second_bit = np.uint32(1) << low, np.uint32(1) << high
    for quarter in range(np.uint32(lane), step, np.uint32(n_lanes)):
        none = np.uint32(with_zero(with_zero(quarter, low), high))
        one, two = np.uint32(none | first_bit), np.uint32(none | second_bit)
        both = np.uint32(one | second_bit)
        a, b, c, d = vector[none], vector[one], vector[two], vector[both]
        w, x, y, z = a, b, c, d
        if rest != 0:
            w, x, y, z = other[none], other[one], other[two], other[both]
        w, x = fire(w, x, f, is_back)
        y, z = fire(y, z, f, is_back)
        w, y = fire(w, y, g, is_back)
        x, z = fire(x, z, g, is_back)
        at = np.uint32(t * n_states + quarter)
        if is_back:
            i, j, k, m = before[at], before[at + step], before[at + two_steps], before[at + three]
            without += i * a + j * b + k * c + m * d
            within += i * w + j * x + k * y + m * z
        else:
            before[at], before[at + step], before[at + two_steps], before[at + three] = a, b, c, d
        vector[none], vector[one] = (1.0 - p) * a + p * w, (1.0 - p) * b + p * x
        vector[two], vector[both] = (1.0 - p) * c + p * y, (1.0 - p) * d + p * z
    wait_for_lanes()
    return (1.0 - p) * without, p * within


# --- what was merged ---


@device_function
def close_findings(net, group, n_present, if_caused, if_not, lane, n_lanes, space):
    """Find the posteriors of merged diseases, as `close_finding` does: of each finding by a lane.

    `if_caused` and `if_not` have a number for each finding, as in a piece.
    """
    for bit in range(lane, n_present, n_lanes):
        j = space.present[group, bit]
        chances, behind = space.chances[group, bit], space.behind[group, bit]
        n = net.parent_offsets[j + 1] - net.parent_offsets[j]
        absent, present = 1.0, 0.0
        for back in range(n):
            x = n - 1 - back
            behind[0, x], behind[1, x] = absent, present
            present += absent * chances[x]
            absent *= 1.0 - chances[x]
        absent, present = 1.0 - net.leaks[j], net.leaks[j]
        for x in range(n):
            others = present + absent * behind[1, x]
            behind[0, x] = others * if_caused[bit] + absent * behind[0, x] * if_not[bit]
            present += absent * chances[x]
            absent *= 1.0 - chances[x]
    wait_for_lanes()
    on = space.on[group]
    for bit in range(n_present):
        j = space.present[group, bit]
        first = net.parent_offsets[j]
        for index in range(first + lane, net.parent_offsets[j + 1], n_lanes):
            chance, disease = space.chances[group, bit, index - first], net.parent_diseases[index]
            if chance > 0.0:
                failure = net.failures[net.parent_edges[index]]
                not_caused = space.behind[group, bit, 0, index - first]
                on[disease] = min(on[disease] * failure * not_caused + chance * if_caused[bit], 1.0)
    wait_for_lanes()


@device_function
def weigh_leaks(ahead, leaks, n_states, n_present, evidence, lane, n_lanes, if_caused, if_not):
    """Find how probable all is if a finding is caused by its leak, and if not, of each finding.

    `ahead` has how probable it is that diseases explain all from each state on.
    """
    for bit in range(n_present):
        caused, not_caused = 0.0, 0.0
        for half in range(lane, n_states >> 1, n_lanes):
            state = with_zero(half, bit)
            weight = weight_of(leaks, state, n_present, bit)
            caused += weight * ahead[state | (1 << bit)]
            not_caused += weight * ahead[state]
        caused, not_caused = sum_of_lanes(caused), sum_of_lanes(not_caused)
        if lane == 0:
            if_caused[bit], if_not[bit] = caused / evidence, not_caused / evidence
    wait_for_lanes()


@functools.cache
def solving_kernel(most_present: int) -> Any:
    """Return the kernel that solves records one by one, each by a group of lanes."""
    weigh = Translator({}).function(record_kernels.weigh)

    @global_function(MOST_REGISTERS)
    def solve_records(net, records, width, constants, space, solved):
        """Solve the chosen records, which have at most `width` states each.

        `constants` are those of the network.
        """
        # As large as who launches it says: two vectors of states, and numbers of each finding.
        near = cuda.shared.array(0, float64)
        ahead, other, of_findings = near[:width], near[width : 2 * width], near[2 * width :]
        leaks, if_caused = of_findings[: 2 * most_present], of_findings[2 * most_present :]
        if_not = if_caused[most_present:]
        group, lane, n_lanes = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        on, masks = space.on[group], space.masks[group]
        for turn in range(group, len(records.order), cuda.gridDim.x):
            at = records.order[turn]
            record = records.chosen[at]
            n_present = list_findings(net, records, record, group, lane, n_lanes, space)
            log_sum = 0.0
            for disease in range(lane, len(on), n_lanes):
                chance, log_total = weigh(net.priors[disease], space.log_absent[group, disease])
                on[disease] = chance
                log_sum += log_total
                if chance <= 0.0:
                    masks[disease] = 0
            log_evidence = sum_of_lanes(log_sum)
            wait_for_lanes()
            n_several = list_several(group, lane, n_lanes, space)
            merge_single(net, group, n_present, lane, n_lanes, leaks, space)
            wait_for_lanes()
            n_states = 1 << n_present
            is_solved = n_several * n_states <= space.before.shape[1]
            for state in range(lane, n_states, n_lanes):
                ahead[state] = weight_of(leaks, state, n_present, -1)
            wait_for_lanes()
            for t in range(n_several if is_solved else 0):
                pass_disease(t, False, n_states, group, lane, n_lanes, ahead, other, space)
            evidence = ahead[n_states - 1]
            wait_for_lanes()
            is_solved = is_solved and evidence >= SMALLEST_NORMAL
            if lane == 0:
                solved.is_solved[at] = is_solved
            if not is_solved:
                continue
            for state in range(lane, n_states, n_lanes):
                ahead[state] = 1.0 if state == n_states - 1 else 0.0
            wait_for_lanes()
            for back in range(n_several):
                t = n_several - 1 - back
                without, within = pass_disease(
                    t, True, n_states, group, lane, n_lanes, ahead, other, space
                )
                without, within = sum_of_lanes(without), sum_of_lanes(within)
                if lane == 0:
                    on[space.several[group, t]] = within / (without + within)
            weigh_leaks(
                ahead, leaks, n_states, n_present, evidence, lane, n_lanes, if_caused, if_not
            )
            close_findings(net, group, n_present, if_caused, if_not, lane, n_lanes, space)
            listed, n_parents, unknown = 0.0, 0, records.others_unknown[record]
            for x in range(records.offsets[record], records.offsets[record + 1]):
                j = records.symptoms[x]
                if records.is_present[x]:
                    n_parents += net.parent_offsets[j + 1] - net.parent_offsets[j]
                if not (unknown and records.is_present[x]):
                    listed += net.log_silent[j]
            log_evidence += listed if unknown else constants.log_silent - listed
            for disease in range(lane, len(on), n_lanes):
                solved.probabilities[at, disease] = on[disease]
            if lane == 0:
                solved.log_evidences[at] = log_evidence + np.log(evidence)
                several_roundings = n_several * (n_states + 6.0 * n_present)
                solved.roundings[at] = constants.roundings + 6.0 * n_parents + several_roundings
            wait_for_lanes()

    return solve_records
