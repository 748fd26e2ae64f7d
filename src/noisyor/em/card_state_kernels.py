"""Sums over all states of a record's candidates on the card, as `state_kernels` has them.

States follow each other as on the processor; lanes share the findings of the candidate that is
flipped. Candidates that are present whatever the others are stay on, and findings of these alone
have the same probability in all states: sums are made for the findings of the others.
"""

import numpy as np

from noisyor.em.candidate_kernels import CERTAIN, HUGE, MOST_ENUMERATED
from noisyor.em.card_workspace_kernels import edges_of, entries_of, label_of, lowest_of, slot_of
from noisyor.em.state_kernels import SURE
from noisyor.gpu.lane_kernels import (
    LANES,
    add_at_once,
    device_function,
    exp,
    lanes_where,
    log,
    popcount,
    sum_of_lanes,
    wait_for_lanes,
)

NOTHING_YET = -1e300
"""The log weight of no state."""


@device_function
def list_chosen(lane, workspace):
    """Write down the candidates where they are few; return how many there are."""
    n_chosen = 0
    for word in range(len(workspace.candidates)):
        left = np.int64(workspace.candidates[word])
        while left != 0:
            if lane == 0 and n_chosen < MOST_ENUMERATED:
                workspace.chosen[n_chosen] = 32 * word + lowest_of(left)
            n_chosen += 1
            left &= left - 1
    wait_for_lanes()
    return n_chosen


@device_function
def expect_states(net, records, record, n_findings, n_chosen, lane, workspace, counts):
    """Add what a record is expected to contain; return False if its entries do not fit."""
    n_entries = list_entries(net, records, record, n_chosen, lane, workspace)
    if n_entries > len(workspace.entry_edges):
        return False
    first = records.offsets[record]
    reset_absent(net, records, first, n_findings, lane, workspace)
    in_doubt = find_doubted(net, n_chosen, lane, workspace)
    n_doubted = popcount(in_doubt)
    reset_absent(net, records, first, n_findings, lane, workspace)
    n_touched = begin_sums(n_findings, n_chosen, n_doubted, lane, workspace)
    best, total = sum_states(net, n_chosen, in_doubt, n_doubted, n_touched, lane, workspace)
    # Findings of none in doubt have the same probability in all states.
    for x in range(lane, n_findings, LANES):
        inverse = workspace.inverses[x]
        workspace.inverses[x] = workspace.w[x] if inverse < 0.0 else inverse / total
    wait_for_lanes()
    gather_sums(net, records, first, n_findings, n_chosen, in_doubt, total, lane, workspace, counts)
    for word in range(lane, len(workspace.on), LANES):
        bits = np.uint32(0)
        for index in range(n_chosen):
            disease = np.int64(workspace.chosen[index])
            if disease >> 5 == word and (best >> index) & 1 == 1:
                bits |= np.uint32(1) << np.uint32(disease & 31)
        workspace.on[word] = bits
    wait_for_lanes()
    return True


@device_function
def list_entries(net, records, record, n_chosen, lane, workspace):
    """List the present findings of the candidates; return how many there are, or more than fit.

    The log odds of candidates are those without these.
    """
    n_entries = 0
    for index in range(n_chosen):
        disease, explained = np.int64(workspace.chosen[index]), 0.0
        if lane == 0:
            workspace.entry_offsets[index] = n_entries
        last = np.int64(net.child_offsets[disease + 1])
        for start in range(np.int64(net.child_offsets[disease]), last, LANES):
            edge, x, is_entry = start + lane, -1, False
            if edge < last:
                x = slot_of(net.edge_symptoms[edge], workspace)
                if x >= 0:
                    explained += net.log_failures[edge]
                    is_entry = workspace.absent[x] > 0.0
            there = lanes_where(is_entry)
            at = n_entries + popcount(there & ((np.int64(1) << lane) - 1))
            if is_entry and at < len(workspace.entry_edges):
                workspace.entry_edges[at], workspace.entry_findings[at] = edge, x
            n_entries += popcount(there)
        explained = sum_of_lanes(explained)
        if lane == 0:
            label = label_of(records, record, disease)
            workspace.log_odds[index] = net.log_odds[disease] + CERTAIN * label - explained
    if lane == 0:
        workspace.entry_offsets[n_chosen] = n_entries
    wait_for_lanes()
    return n_entries


@device_function
def reset_absent(net, records, first, n_findings, lane, workspace):
    """Let the findings' probabilities be those without any disease."""
    for x in range(lane, n_findings, LANES):
        if workspace.absent[x] > 0.0:
            absent = 1.0 - net.leaks[records.listed[first + x]]
            workspace.absent[x], workspace.w[x] = absent, 1.0 / (1.0 - absent)
    wait_for_lanes()


@device_function
def find_doubted(net, n_chosen, lane, workspace):
    """Return the candidates that may be on or off, a bit each, and list those with few findings
    first.

    The odds of each are smallest where all others are on.
    """
    for index in range(n_chosen):
        flip(net, index, True, lane, workspace)
    in_doubt, n_found = 0, 0
    for index in range(n_chosen):
        least = workspace.log_odds[index] - sum_of_lanes(
            change_of(net, index, False, False, lane, workspace)
        )
        if least < SURE:
            in_doubt |= 1 << index
            if lane == 0:
                at, n = n_found, n_entries_of(index, workspace)
                while at > 0 and n_entries_of(workspace.in_doubt[at - 1], workspace) > n:
                    workspace.in_doubt[at] = workspace.in_doubt[at - 1]
                    at -= 1
                workspace.in_doubt[at] = index
            n_found += 1
    wait_for_lanes()
    return in_doubt


@device_function
def n_entries_of(index, workspace):
    """Return how many present findings a candidate has: what a flip of it costs."""
    return workspace.entry_offsets[index + 1] - workspace.entry_offsets[index]


@device_function
def flip(net, index, turned_on, lane, workspace):
    """Turn a candidate on or off; return this lane's part of the change of the log probability."""
    change = change_of(net, index, turned_on, True, lane, workspace)
    wait_for_lanes()
    return change


@device_function
def change_of(net, index, turned_on, is_kept, lane, workspace):
    """Return this lane's part of the change of the log probability of a candidate's findings."""
    change, ratio = 0.0, 1.0
    for entry in entries_of(index, lane, workspace):
        x = workspace.entry_findings[entry]
        f = net.failures[workspace.entry_edges[entry]]
        absent = workspace.absent[x] * f if turned_on else workspace.absent[x] / f
        ratio *= (1.0 - absent) * workspace.w[x]
        if is_kept:
            workspace.absent[x], workspace.w[x] = absent, 1.0 / (1.0 - absent)
        if ratio > HUGE or ratio < 1.0 / HUGE:
            change += log(ratio)
            ratio = 1.0
    return change + log(ratio)


@device_function
def begin_sums(n_findings, n_chosen, n_doubted, lane, workspace):
    """Let all sums be 0; list the findings of candidates in doubt, and return how many there are.

    Of the others `inverses` is negative.
    """
    for x in range(lane, n_findings, LANES):
        workspace.inverses[x] = -1.0
    for index in range(lane, n_chosen, LANES):
        workspace.probabilities[index] = 0.0
    wait_for_lanes()
    n_touched = 0
    for number in range(n_doubted):
        index = np.int64(workspace.in_doubt[number])
        last = np.int64(workspace.entry_offsets[index + 1])
        for start in range(np.int64(workspace.entry_offsets[index]), last, LANES):
            entry, x, is_new = start + lane, 0, False
            if entry < last:
                x = workspace.entry_findings[entry]
                workspace.with_disease[entry] = 0.0
                is_new = workspace.inverses[x] < 0.0
            there = lanes_where(is_new)
            if is_new:
                workspace.inverses[x] = 0.0
                before = popcount(there & ((np.int64(1) << lane) - 1))
                workspace.touched[n_touched + before] = x
            n_touched += popcount(there)
        wait_for_lanes()
    return n_touched


@device_function
def sum_states(net, n_chosen, in_doubt, n_doubted, n_touched, lane, workspace):
    """Sum over all states, one flip after the other (Gray code); return the best, and their sum."""
    log_weight, total = 0.0, 0.0
    on = ((1 << n_chosen) - 1) ^ in_doubt
    for index in range(n_chosen):
        if (on >> index) & 1 == 1:
            change = sum_of_lanes(flip(net, index, True, lane, workspace))
            log_weight += workspace.log_odds[index] + change
    reference, best, best_weight = log_weight, on, NOTHING_YET
    for number in range(1 << n_doubted):
        if number > 0:
            index = np.int64(workspace.in_doubt[lowest_of(number)])
            on ^= 1 << index
            turned_on = (on >> index) & 1 == 1
            log_weight += workspace.log_odds[index] if turned_on else -workspace.log_odds[index]
            log_weight += sum_of_lanes(flip(net, index, turned_on, lane, workspace))
        if log_weight > best_weight:
            best, best_weight = on, log_weight
        if log_weight > reference + 20.0:
            # What was summed so far is small beside this: bring it to the new scale.
            scale = exp(reference - log_weight)
            total *= scale
            scale_sums(n_doubted, n_touched, scale, lane, workspace)
            reference = log_weight
        weight = exp(log_weight - reference)
        if weight >= 1e-12 * total:
            total += weight
            add_state(on, n_doubted, n_touched, weight, lane, workspace)
    return best, total


@device_function
def add_state(on, n_doubted, n_touched, weight, lane, workspace):
    """Add a state, given as bits of the candidates, to the sums."""
    for number in range(lane, n_touched, LANES):
        x = workspace.touched[number]
        workspace.inverses[x] += weight * workspace.w[x]
    for number in range(n_doubted):
        index = np.int64(workspace.in_doubt[number])
        if (on >> index) & 1 == 1:
            if lane == 0:
                workspace.probabilities[index] += weight
            for entry in entries_of(index, lane, workspace):
                x = workspace.entry_findings[entry]
                workspace.with_disease[entry] += weight * workspace.w[x]
    wait_for_lanes()


@device_function
def scale_sums(n_doubted, n_touched, scale, lane, workspace):
    """Multiply all sums."""
    for number in range(lane, n_touched, LANES):
        workspace.inverses[workspace.touched[number]] *= scale
    for number in range(n_doubted):
        index = np.int64(workspace.in_doubt[number])
        if lane == 0:
            workspace.probabilities[index] *= scale
        for entry in entries_of(index, lane, workspace):
            workspace.with_disease[entry] *= scale
    wait_for_lanes()


@device_function
def gather_sums(
    net, records, first, n_findings, n_chosen, in_doubt, total, lane, workspace, counts
):
    """Add the expected counts over all states of the candidates."""
    has_unknown = False
    for x in range(lane, n_findings, LANES):
        if workspace.absent[x] > 0.0:
            symptom = records.listed[first + x]
            add_at_once(counts.leaked, symptom, net.leaks[symptom] * workspace.inverses[x])
        else:
            has_unknown = True
    has_unknown = lanes_where(has_unknown) != 0
    for index in range(n_chosen):
        disease, is_doubted = np.int64(workspace.chosen[index]), (in_doubt >> index) & 1 == 1
        probability = workspace.probabilities[index] / total if is_doubted else 1.0
        if lane == 0:
            add_at_once(counts.cases, disease, probability)
        for entry in entries_of(index, lane, workspace):
            edge = workspace.entry_edges[entry]
            if is_doubted:
                chance = workspace.with_disease[entry] / total
            else:
                chance = workspace.inverses[workspace.entry_findings[entry]]
            add_at_once(counts.caused, edge, (1.0 - net.failures[edge]) * chance)
        if has_unknown:
            for edge in edges_of(net, disease, lane):
                x = slot_of(net.edge_symptoms[edge], workspace)
                if x >= 0 and workspace.absent[x] == 0.0:
                    add_at_once(counts.unknown, edge, probability)
