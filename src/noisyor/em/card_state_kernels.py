"""Sums over all states of a record's candidates on the card, as `state_kernels` has them.

States follow each other as on the processor; lanes share the findings of the candidate that is
flipped. Candidates that are present whatever the others are stay on, and findings of these alone
have the same probability in all states: sums are made for the findings of the others. Of a finding
x with w = 1 / P(x present | D), the sum of w over all states so far is known at any time. That over
the states with a candidate is what it grew by while the candidate was on: minus the sum when that
was turned on, plus the sum when it was turned off.
"""

import numpy as np

from noisyor.em.candidate_kernels import CERTAIN, MOST_ENUMERATED
from noisyor.em.card_workspace_kernels import edges_of, label_of, lowest_of, slot_of
from noisyor.em.state_kernels import SURE
from noisyor.gpu.lane_kernels import (
    LANES,
    add_at_once,
    after,
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
        left = np.int64(workspace.candidates[np.uint32(word)])
        while left != 0:
            if lane.number == 0 and n_chosen < MOST_ENUMERATED:
                workspace.chosen[np.uint32(n_chosen)] = 32 * word + lowest_of(left)
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
    scale_sums(n_doubted, n_touched, 1.0 / total, lane, workspace)
    gather_sums(net, records, record, n_chosen, in_doubt, lane, workspace, counts)
    number = lane.number
    while number < len(workspace.on):
        bits = np.uint32(0)
        for index in range(n_chosen):
            disease = workspace.chosen[np.uint32(index)]
            if disease >> 5 == number and (best >> index) & 1 == 1:
                bits |= np.uint32(1) << np.uint32(disease & 31)
        workspace.on[number] = bits
        number = after(number, lane)
    wait_for_lanes()
    return True


@device_function
def list_entries(net, records, record, n_chosen, lane, workspace):
    """List the present findings of the candidates; return how many there are, or more than fit.

    The log odds of candidates are those without these.
    """
    n_entries = 0
    for number in range(n_chosen):
        index = np.uint32(number)
        disease, explained = workspace.chosen[index], 0.0
        if lane.number == 0:
            workspace.entry_offsets[index] = n_entries
        last = np.int64(net.child_offsets[disease + 1])
        for start in range(np.int64(net.child_offsets[disease]), last, LANES):
            slot, is_entry = -1, False
            if start + lane.number < last:
                slot = slot_of(net.edge_symptoms[np.uint32(start + lane.number)], workspace)
                if slot >= 0:
                    explained += net.log_failures[np.uint32(start + lane.number)]
                    is_entry = workspace.absent[np.uint32(slot)] > 0.0
            there = lanes_where(is_entry)
            at = n_entries + popcount(there & ((np.int64(1) << np.int64(lane.number)) - 1))
            if is_entry and at < len(workspace.entry_edges):
                workspace.entry_edges[np.uint32(at)] = start + lane.number
                workspace.entry_findings[np.uint32(at)] = slot
            n_entries += popcount(there)
        explained = sum_of_lanes(explained)
        if lane.number == 0:
            label = label_of(records, record, disease)
            workspace.log_odds[index] = net.log_odds[disease] + CERTAIN * label - explained
    if lane.number == 0:
        workspace.entry_offsets[np.uint32(n_chosen)] = n_entries
    wait_for_lanes()
    return n_entries


@device_function
def entries_of(index, lane, workspace):
    """Return the first of the entries of a candidate that are a lane's, and where they end."""
    first = np.uint32(workspace.entry_offsets[index] + lane.number)
    return first, workspace.entry_offsets[index + 1]


@device_function
def n_entries_of(index, workspace):
    """Return how many present findings a candidate has: what a flip of it costs."""
    last = np.int64(workspace.entry_offsets[index + 1])
    return last - np.int64(workspace.entry_offsets[index])


@device_function
def reset_absent(net, records, first, n_findings, lane, workspace):
    """Let the findings' probabilities be those without any disease."""
    x = lane.number
    while x < n_findings:
        if workspace.absent[x] > 0.0:
            absent = 1.0 - net.leaks[records.listed[first + x]]
            workspace.absent[x], workspace.w[x] = absent, 1.0 / (1.0 - absent)
        x = after(x, lane)
    wait_for_lanes()


@device_function
def find_doubted(net, n_chosen, lane, workspace):
    """Return the candidates that may be on or off, a bit each; list them, few findings first.

    The odds of each are smallest where all others are on.
    """
    for number in range(n_chosen):
        entry, last = entries_of(np.uint32(number), lane, workspace)
        while entry < last:
            x = workspace.entry_findings[entry]
            workspace.absent[x] *= net.failures[workspace.entry_edges[entry]]
            entry = after(entry, lane)
        wait_for_lanes()
    in_doubt, n_found = 0, 0
    for number in range(n_chosen):
        index, change = np.uint32(number), 0.0
        entry, last = entries_of(index, lane, workspace)
        while entry < last:
            absent = workspace.absent[workspace.entry_findings[entry]]
            without = absent / net.failures[workspace.entry_edges[entry]]
            change += log((1.0 - without) / (1.0 - absent))
            entry = after(entry, lane)
        if workspace.log_odds[index] - sum_of_lanes(change) < SURE:
            in_doubt |= 1 << number
            if lane.number == 0:
                put_in_order(index, n_found, workspace)
            n_found += 1
    wait_for_lanes()
    return in_doubt


@device_function
def put_in_order(index, n_found, workspace):
    """Put a candidate among those in doubt, before those with more findings."""
    at = np.int64(n_found)
    while at > 0:
        other = workspace.in_doubt[np.uint32(at - 1)]
        if n_entries_of(other, workspace) <= n_entries_of(index, workspace):
            break
        workspace.in_doubt[np.uint32(at)] = other
        at -= 1
    workspace.in_doubt[np.uint32(at)] = index


@device_function
def begin_sums(n_findings, n_chosen, n_doubted, lane, workspace):
    """Let all sums be 0; list the findings of candidates in doubt, and return how many there are.

    Of the others `inverses` is negative.
    """
    number = lane.number
    while number < n_findings:
        workspace.inverses[number] = -1.0
        number = after(number, lane)
    number = lane.number
    while number < n_chosen:
        workspace.probabilities[number] = 0.0
        number = after(number, lane)
    wait_for_lanes()
    n_touched = 0
    for number in range(n_doubted):
        index = workspace.in_doubt[np.uint32(number)]
        last = np.int64(workspace.entry_offsets[index + 1])
        for start in range(np.int64(workspace.entry_offsets[index]), last, LANES):
            x, is_new = np.uint32(0), False
            if start + lane.number < last:
                x = workspace.entry_findings[np.uint32(start + lane.number)]
                workspace.with_disease[np.uint32(start + lane.number)] = 0.0
                is_new = workspace.inverses[x] < 0.0
            there = lanes_where(is_new)
            if is_new:
                workspace.inverses[x] = 0.0
                before = popcount(there & ((np.int64(1) << np.int64(lane.number)) - 1))
                workspace.touched[np.uint32(n_touched + before)] = x
            n_touched += popcount(there)
        wait_for_lanes()
    return n_touched


@device_function
def sum_states(net, n_chosen, in_doubt, n_doubted, n_touched, lane, workspace):
    """Sum over all states, one flip after the other (Gray code); return the best, and their sum.

    First those are turned on that are not in doubt, then in all states the others.
    """
    n_sure = n_chosen - n_doubted
    sure, on = ((1 << n_chosen) - 1) ^ in_doubt, np.int64(0)
    log_weight, reference, total, best, best_weight = 0.0, 0.0, 0.0, np.int64(0), NOTHING_YET
    for number in range(n_sure + (1 << n_doubted)):
        is_state = number >= n_sure
        if number != n_sure:
            if is_state:
                index = workspace.in_doubt[lowest_of(number - n_sure)]
            else:
                index = lowest_of(sure)
                sure &= sure - 1
            bit = np.int64(1) << np.int64(index)
            on ^= bit
            turned_on = on & bit != 0
            log_weight += workspace.log_odds[index] if turned_on else -workspace.log_odds[index]
            change = flip(net, index, turned_on, is_state, total, lane, workspace)
            log_weight += sum_of_lanes(change)
            wait_for_lanes()
        if number == n_sure:
            reference = log_weight
        if not is_state:
            continue
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
            at = lane.number
            while at < n_touched:
                x = workspace.touched[at]
                workspace.inverses[x] += weight * workspace.w[x]
                at = after(at, lane)
            wait_for_lanes()
    return best, total


@device_function
def flip(net, index, turned_on, is_summed, total, lane, workspace):
    """Turn a candidate on or off; return this lane's part of the change of the log probability.

    While it is on, the sums over states with it grow as those over all states.
    """
    change, sign = 0.0, -1.0 if turned_on else 1.0
    if is_summed and lane.number == 0:
        workspace.probabilities[index] += sign * total
    entry, last = entries_of(index, lane, workspace)
    while entry < last:
        x = workspace.entry_findings[entry]
        f, absent = net.failures[workspace.entry_edges[entry]], workspace.absent[x]
        absent = absent * f if turned_on else absent / f
        present = 1.0 - absent
        change += log(present * workspace.w[x])
        workspace.absent[x], workspace.w[x] = absent, 1.0 / present
        if is_summed:
            workspace.with_disease[entry] += sign * workspace.inverses[x]
        entry = after(entry, lane)
    return change


@device_function
def scale_sums(n_doubted, n_touched, scale, lane, workspace):
    """Multiply all sums."""
    number = lane.number
    while number < n_touched:
        workspace.inverses[workspace.touched[number]] *= scale
        number = after(number, lane)
    for number in range(n_doubted):
        index = workspace.in_doubt[np.uint32(number)]
        if lane.number == 0:
            workspace.probabilities[index] *= scale
        entry, last = entries_of(index, lane, workspace)
        while entry < last:
            workspace.with_disease[entry] *= scale
            entry = after(entry, lane)
    wait_for_lanes()


@device_function
def gather_sums(net, records, record, n_chosen, in_doubt, lane, workspace, counts):
    """Add the expected counts over all states of the candidates.

    The last state has the last of those in doubt on, and no other: its sums end here.
    """
    first, has_unknown = records.offsets[record], False
    n_findings = records.offsets[record + 1] - first
    x = lane.number
    while x < n_findings:
        if workspace.absent[x] > 0.0:
            symptom, inverse = records.listed[first + x], workspace.inverses[x]
            inverse = workspace.w[x] if inverse < 0.0 else inverse
            workspace.inverses[x] = inverse
            add_at_once(counts.leaked, symptom, net.leaks[symptom] * inverse)
        else:
            has_unknown = True
        x = after(x, lane)
    has_unknown = lanes_where(has_unknown) != 0
    last_on = np.int64(-1)
    if in_doubt != 0:
        last_on = np.int64(workspace.in_doubt[np.uint32(popcount(in_doubt) - 1)])
    wait_for_lanes()
    for number in range(n_chosen):
        index = np.uint32(number)
        disease, is_doubted = workspace.chosen[index], (in_doubt >> number) & 1 == 1
        more = 1.0 if not is_doubted or number == last_on else 0.0
        probability = more
        if is_doubted:
            probability += workspace.probabilities[index]
        if lane.number == 0:
            add_at_once(counts.cases, disease, probability)
        entry, last = entries_of(index, lane, workspace)
        while entry < last:
            edge = workspace.entry_edges[entry]
            chance = more * workspace.inverses[workspace.entry_findings[entry]]
            if is_doubted:
                chance += workspace.with_disease[entry]
            add_at_once(counts.caused, edge, (1.0 - net.failures[edge]) * chance)
            entry = after(entry, lane)
        if has_unknown:
            at, last = edges_of(net, disease, lane)
            while at < last:
                slot = slot_of(net.edge_symptoms[at], workspace)
                if slot >= 0 and workspace.absent[np.uint32(slot)] == 0.0:
                    add_at_once(counts.unknown, at, probability)
                at = after(at, lane)
