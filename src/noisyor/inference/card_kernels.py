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
    Lane,
    add_at_once,
    after,
    device_function,
    first_lanes,
    global_function,
    lanes_where,
    log,
    popcount,
    sum_of_lanes,
    wait_for_lanes,
)
from noisyor.gpu.translating import Translator
from noisyor.inference import record_kernels
from noisyor.inference.piece_kernels import SMALLEST_NORMAL

MOST_REGISTERS = 64
"""Of a thread: with more, fewer groups work at a time."""


weigh = Translator({}).function(record_kernels.weigh)


class GivenRecords(NamedTuple):
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
    taken: Any
    """One number: the records that groups have taken."""


class Several(NamedTuple):
    """Diseases with several of a record's findings: a group's rows of what `Space` has of them."""

    diseases: Any
    bits: Any
    numbers: Any


class Near(NamedTuple):
    """What lies next to a group: two vectors of states, and numbers of each finding."""

    ahead: Any
    other: Any
    leaks: Any
    """P(neither its leak nor a merged disease causes a finding), and P(one of them does)."""
    if_caused: Any
    """As in a piece..."""
    if_not: Any


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
def parents_of(net, symptom, lane):
    """Return the first of the parents of a symptom that are a lane's, and where they end."""
    first = np.uint32(net.parent_offsets[symptom])
    return np.uint32(first + lane.number), np.uint32(net.parent_offsets[symptom + 1])


@device_function
def list_findings(net, records, record, lane, log_absent, masks, failures, present):
    """Write what findings say of each disease; return how many are present."""
    others_unknown, n_present = records.others_unknown[record], np.uint32(0)
    sign = 1.0 if others_unknown else -1.0
    disease = lane.number
    while disease < len(net.priors):
        log_absent[disease] = 0.0 if others_unknown else net.log_absent[disease]
        masks[disease] = 0
        disease = after(disease, lane)
    wait_for_lanes()
    for x in range(records.offsets[record], records.offsets[record + 1]):
        symptom, is_present = np.uint32(records.symptoms[np.uint32(x)]), records.is_present[x]
        index, last = parents_of(net, symptom, lane)
        while index < last:
            edge = np.uint32(net.parent_edges[index])
            disease = np.uint32(net.parent_diseases[index])
            if not (others_unknown and is_present):
                log_absent[disease] += sign * net.log_failures[edge]
            failure = net.failures[edge]
            if is_present and failure < 1.0:
                masks[disease] |= np.uint32(1) << n_present
                failures[n_present, disease] = failure
            index = after(index, lane)
        if is_present:
            if lane.number == 0:
                present[n_present] = symptom
            n_present = np.uint32(n_present + 1)
        wait_for_lanes()
    return n_present


@device_function
def weigh_diseases(net, log_absent, on, masks, lane):
    """Write P(disease | absent findings); return the lane's part of the log probability of those.

    Diseases that are not possible have no findings.
    """
    log_sum, disease = 0.0, lane.number
    while disease < len(net.priors):
        chance, log_total = weigh(net.priors[disease], log_absent[disease])
        on[disease] = chance
        log_sum += log_total
        if chance <= 0.0:
            masks[disease] = 0
        disease = after(disease, lane)
    return log_sum


@device_function
def lowest_of(mask):
    """Return the number of the lowest bit that is set."""
    return np.uint32(popcount(np.uint32(np.uint32(mask & (~mask + np.uint32(1))) - np.uint32(1))))


@device_function
def list_several(on, masks, failures, lane, several):
    """List the diseases with several present findings; return how many there are."""
    n_several, first = np.uint32(0), np.uint32(0)
    while first < len(masks):
        disease = np.uint32(first + lane.number)
        mask = np.uint32(masks[disease]) if disease < len(masks) else np.uint32(0)
        rest = np.uint32(mask & np.uint32(mask - np.uint32(1)))  # without the lowest
        votes = np.uint32(lanes_where(rest != 0))
        if rest != 0:
            before = np.uint32(votes & np.uint32((np.uint32(1) << lane.number) - np.uint32(1)))
            at = np.uint32(n_several + popcount(before))
            low, high = lowest_of(mask), lowest_of(rest)
            others = np.uint32(rest & np.uint32(rest - np.uint32(1)))
            several.diseases[at] = disease
            several.bits[at] = np.uint32(low | high << np.uint32(4) | others << np.uint32(8))
            several.numbers[at, 0] = on[disease]
            several.numbers[at, 1] = failures[low, disease]
            several.numbers[at, 2] = failures[high, disease]
        n_several = np.uint32(n_several + popcount(votes))
        first = np.uint32(first + lane.step)
    return n_several


@device_function
def merge_single(net, present, n_present, on, masks, lane, leaks, chances):
    """Merge the diseases that have one present finding with its leak."""
    bit = np.uint32(0)
    while bit < n_present:
        first, last = parents_of(net, present[bit], lane)
        index, x = first, lane.number
        while index < last:
            disease, chance = np.uint32(net.parent_diseases[index]), 0.0
            if np.uint32(masks[disease]) == np.uint32(1) << bit:
                chance = on[disease] * (1.0 - net.failures[np.uint32(net.parent_edges[index])])
            chances[bit, x] = chance
            index, x = after(index, lane), after(x, lane)
        bit = np.uint32(bit + 1)
    wait_for_lanes()
    bit = lane.number
    while bit < n_present:
        symptom, x = present[bit], np.uint32(0)
        n = np.uint32(net.parent_offsets[symptom + 1] - net.parent_offsets[symptom])
        no, yes = 1.0 - net.leaks[symptom], net.leaks[symptom]
        while x < n:
            chance = chances[bit, x]
            yes += no * chance
            no *= 1.0 - chance
            x = np.uint32(x + 1)
        leaks[2 * bit], leaks[2 * bit + 1] = no, yes
        bit = after(bit, lane)
    wait_for_lanes()


# --- sums over states ---


@device_function
def weight_of(leaks, state, n_present, left_out):
    """Return the probability that leaks explain just these findings, one of them left out."""
    weight, bit = 1.0, np.uint32(0)
    while bit < n_present:
        if bit != left_out:
            weight *= leaks[np.uint32(np.uint32(2) * bit + ((state >> bit) & np.uint32(1)))]
        bit = np.uint32(bit + 1)
    return weight


@device_function
def with_zero(number, bit):
    """Return a number into whose bits a 0 is inserted."""
    below = np.uint32((np.uint32(1) << bit) - np.uint32(1))
    return np.uint32(number + (number & np.uint32(~below)))


@device_function
def fire(one, other, failure, is_back):
    """Let a finding be explained with a chance of 1 - failure; back: what follows from that.

    Of two states, the second of which has the finding explained.
    """
    if is_back:
        return failure * one + (1.0 - failure) * other, other
    return failure * one, other + (1.0 - failure) * one


@device_function
def fire_others(source, target, rest, failures, disease, n_states, is_back, lane):
    """Write what states become by the findings of a disease that stand in a mask."""
    bit = np.uint32(0)
    while rest != 0:
        if rest & np.uint32(1):
            failure, half = failures[bit, disease], lane.number
            while half < n_states >> 1:
                state = with_zero(half, bit)
                other = np.uint32(state | np.uint32(1) << bit)
                target[state], target[other] = fire(source[state], source[other], failure, is_back)
                half = after(half, lane)
            wait_for_lanes()
            source = target
        rest = np.uint32(rest >> np.uint32(1))
        bit = np.uint32(bit + 1)


@device_function
def pass_disease(t, is_back, n_states, lane, near, several, failures, before):
    """Let states be changed by a disease, which may be there.

    Forward, the states before it are kept. Back, return each lane's part of how probable all is if
    the disease is not there, and if it is.
    """
    vector, other, numbers = near.ahead, near.other, several.numbers
    p, f, g, word = numbers[t, 0], numbers[t, 1], numbers[t, 2], np.uint32(several.bits[t])
    low, high = np.uint32(word & np.uint32(15)), np.uint32((word >> np.uint32(4)) & np.uint32(15))
    rest = np.uint32(word >> np.uint32(8))
    if rest != 0:
        disease = np.uint32(several.diseases[t])
        fire_others(vector, other, rest, failures, disease, n_states, is_back, lane)
    within, without = 0.0, 0.0
    step, quarter = np.uint32(n_states >> np.uint32(2)), lane.number
    first_bit, second_bit = np.uint32(1) << low, np.uint32(1) << high
    at = np.uint32(t * n_states + quarter)
    while quarter < step:
        none = with_zero(with_zero(quarter, low), high)
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
        second, third = np.uint32(at + step), np.uint32(at + step + step)
        fourth = np.uint32(third + step)
        if is_back:
            i, j, k, m = before[at], before[second], before[third], before[fourth]
            without += i * a + j * b + k * c + m * d
            within += i * w + j * x + k * y + m * z
        else:
            before[at], before[second], before[third], before[fourth] = a, b, c, d
        vector[none], vector[one] = (1.0 - p) * a + p * w, (1.0 - p) * b + p * x
        vector[two], vector[both] = (1.0 - p) * c + p * y, (1.0 - p) * d + p * z
        quarter, at = after(quarter, lane), after(at, lane)
    wait_for_lanes()
    return (1.0 - p) * without, p * within


@device_function
def weigh_leaks(n_states, n_present, evidence, lane, near):
    """Find how probable all is if a finding is caused by its leak, and if not, of each finding.

    `near.ahead` has how probable it is that diseases explain all from each state on.
    """
    bit = np.uint32(0)
    while bit < n_present:
        caused, not_caused, half = 0.0, 0.0, lane.number
        while half < n_states >> 1:
            state = with_zero(half, bit)
            weight = weight_of(near.leaks, state, n_present, bit)
            caused += weight * near.ahead[np.uint32(state | np.uint32(1) << bit)]
            not_caused += weight * near.ahead[state]
            half = after(half, lane)
        caused, not_caused = sum_of_lanes(caused), sum_of_lanes(not_caused)
        if lane.number == 0:
            near.if_caused[bit], near.if_not[bit] = caused / evidence, not_caused / evidence
        bit = np.uint32(bit + 1)
    wait_for_lanes()


@device_function
def close_findings(net, present, n_present, on, near, lane, chances, behind):
    """Find the posteriors of merged diseases as `close_finding` does, a lane for each finding."""
    bit = lane.number
    while bit < n_present:
        symptom = present[bit]
        n = np.uint32(net.parent_offsets[symptom + 1] - net.parent_offsets[symptom])
        no, yes, x = 1.0, 0.0, n
        while x > 0:
            x = np.uint32(x - 1)
            behind[bit, 0, x], behind[bit, 1, x] = no, yes
            yes += no * chances[bit, x]
            no *= 1.0 - chances[bit, x]
        no, yes = 1.0 - net.leaks[symptom], net.leaks[symptom]
        caused, not_caused = near.if_caused[bit], near.if_not[bit]
        while x < n:
            others = yes + no * behind[bit, 1, x]
            behind[bit, 0, x] = others * caused + no * behind[bit, 0, x] * not_caused
            yes += no * chances[bit, x]
            no *= 1.0 - chances[bit, x]
            x = np.uint32(x + 1)
        bit = after(bit, lane)
    wait_for_lanes()
    bit = np.uint32(0)
    while bit < n_present:
        first, last = parents_of(net, present[bit], lane)
        index, x = first, lane.number
        while index < last:
            chance = chances[bit, x]
            if chance > 0.0:
                disease = np.uint32(net.parent_diseases[index])
                failure = net.failures[np.uint32(net.parent_edges[index])]
                value = on[disease] * failure * behind[bit, 0, x] + chance * near.if_caused[bit]
                on[disease] = min(value, 1.0)
            index, x = after(index, lane), after(x, lane)
        bit = np.uint32(bit + 1)
    wait_for_lanes()


@device_function
def log_silent_of(net, records, record, constants, lane):
    """Return the lane's part of the log probability that leaks of absent findings are silent."""
    unknown = records.others_unknown[record]
    found = constants.log_silent if lane.number == 0 and not unknown else 0.0
    x = np.uint32(records.offsets[record] + lane.number)
    while x < records.offsets[record + 1]:
        if not (unknown and records.is_present[x]):
            silent = net.log_silent[np.uint32(records.symptoms[x])]
            found += silent if unknown else -silent
        x = after(x, lane)
    return found


@functools.cache
def solving_kernel(most_present: int) -> Any:
    """Return the kernel that solves records one by one, each by a group of lanes."""

    @global_function(MOST_REGISTERS)
    def solve_records(net, records, width, constants, space, solved):
        """Solve the chosen records, which have at most `width` states each.

        `constants` are those of the network.
        """
        # As large as who launches it says: two vectors of states, and numbers of each finding.
        floats = cuda.shared.array(0, float64)
        of_findings, ahead = floats[2 * width :], floats[:width]
        near = Near(
            ahead, floats[width : 2 * width], of_findings[: 2 * most_present],
            of_findings[2 * most_present : 3 * most_present], of_findings[3 * most_present :],
        )  # fmt: skip
        group = np.uint32(cuda.blockIdx.x)
        lane = Lane(np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x))
        on, masks, failures = space.on[group], space.masks[group], space.failures[group]
        present, before, chances = space.present[group], space.before[group], space.chances[group]
        several = Several(space.several[group], space.bits[group], space.numbers[group])
        while True:
            taken = 0
            if lane.number == 0:
                taken = add_at_once(space.taken, 0, 1)
            taken = first_lanes(taken)
            if taken >= len(records.order):
                break
            at = records.order[taken]
            record = records.chosen[at]
            log_absent = space.log_absent[group]
            n_present = list_findings(
                net, records, record, lane, log_absent, masks, failures, present
            )
            log_evidence = weigh_diseases(net, log_absent, on, masks, lane)
            log_evidence += log_silent_of(net, records, record, constants, lane)
            log_evidence = sum_of_lanes(log_evidence)
            wait_for_lanes()
            n_several = list_several(on, masks, failures, lane, several)
            merge_single(net, present, n_present, on, masks, lane, near.leaks, chances)
            n_states = np.uint32(1) << n_present
            is_solved = n_several * n_states <= len(before)
            state = lane.number
            while state < n_states:
                ahead[state] = weight_of(near.leaks, state, n_present, n_present)
                state = after(state, lane)
            wait_for_lanes()
            t = np.uint32(0)
            while is_solved and t < n_several:
                pass_disease(t, False, n_states, lane, near, several, failures, before)
                t = np.uint32(t + 1)
            evidence = ahead[np.uint32(n_states - 1)]
            wait_for_lanes()
            is_solved = is_solved and evidence >= SMALLEST_NORMAL
            if lane.number == 0:
                solved.is_solved[at] = is_solved
            if not is_solved:
                continue
            state = lane.number
            while state < n_states:
                ahead[state] = 1.0 if state == n_states - 1 else 0.0
                state = after(state, lane)
            wait_for_lanes()
            while t > 0:
                t = np.uint32(t - 1)
                without, within = pass_disease(
                    t, True, n_states, lane, near, several, failures, before
                )
                without, within = sum_of_lanes(without), sum_of_lanes(within)
                if lane.number == 0:
                    on[np.uint32(several.diseases[t])] = within / (without + within)
            weigh_leaks(n_states, n_present, evidence, lane, near)
            behind = space.behind[group]
            close_findings(net, present, n_present, on, near, lane, chances, behind)
            disease = lane.number
            while disease < len(on):
                solved.probabilities[at, disease] = on[disease]
                disease = after(disease, lane)
            if lane.number == 0:
                solved.log_evidences[at] = log_evidence + log(evidence)
                # Each merged disease is rounded with its finding's other parents.
                merged = 6.0 * n_present * chances.shape[1]
                several_roundings = n_several * (n_states + 6.0 * n_present)
                solved.roundings[at] = constants.roundings + merged + several_roundings
            wait_for_lanes()

    return solve_records
