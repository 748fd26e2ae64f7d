"""The diseases that a record may have, found on the card as `candidate_kernels` finds them."""

import numpy as np

from noisyor.em.card_workspace_kernels import (
    gather,
    has_bit,
    label_of,
    lowest_of,
    store_bits,
    turn,
    turn_bit,
)
from noisyor.em.sampling_kernels import NOTHING
from noisyor.gpu.lane_kernels import (
    LANES,
    add_at_once,
    after,
    device_function,
    lanes_where,
    largest_of_lanes,
    set_at_once,
    wait_for_lanes,
)

AFTER_ALL = 1 << 30
"""More than there are diseases."""


@device_function
def find_odds(net, records, record, n_findings, lane, workspace):
    """Find the odds of all diseases that are not on: finding after finding, of all its parents."""
    number = lane.number
    while number < len(net.odds):
        workspace.odds[number] = 1.0
        number = after(number, lane)
    wait_for_lanes()
    first = records.offsets[record]
    for number in range(n_findings):
        x = np.uint32(number)
        symptom = records.listed[first + x]
        w = workspace.w[x]
        h = workspace.absent[x] * w
        last = net.parent_offsets[symptom + 1]
        index = np.uint32(net.parent_offsets[symptom] + lane.number)
        while index < last:
            workspace.odds[net.parent_diseases[index]] *= net.inverse_failures[index] * w - h
            index = after(index, lane)
        wait_for_lanes()
    number = lane.number
    while number < len(net.odds):
        workspace.odds[number] *= net.odds[number]
        number = after(number, lane)
    wait_for_lanes()


@device_function
def explain(net, records, record, n_findings, lane, workspace):
    """Start a record: turn on the most probable disease while one is more probable than not."""
    if len(records.known):
        for number in range(len(net.odds)):
            disease = np.uint32(number)
            if label_of(records, record, disease) == 1 and not has_bit(workspace.on, disease):
                wait_for_lanes()
                turn_bit(workspace.on, disease, True, lane)
                turn(net, disease, True, lane, workspace)
    for _ in range(len(net.odds)):
        find_odds(net, records, record, n_findings, lane, workspace)
        best, best_odds = AFTER_ALL, 1.0
        disease = lane.number
        while disease < len(net.odds):
            odds = workspace.odds[disease]
            is_off = not has_bit(workspace.on, disease)
            if odds > best_odds and is_off and label_of(records, record, disease) == 0:
                best, best_odds = disease, odds
            disease = after(disease, lane)
        if best_odds < largest_of_lanes(best_odds):
            best = AFTER_ALL
        best = -largest_of_lanes(-np.int64(best))  # the first of those that are as probable
        if best == AFTER_ALL:
            return
        turn_bit(workspace.on, np.uint32(best), True, lane)
        turn(net, np.uint32(best), True, lane, workspace)


@device_function
def screen(net, records, record, n_findings, negligible, lane, workspace):
    """Let the diseases that are on or not negligible be candidates; set the odds of those to 0."""
    find_odds(net, records, record, n_findings, lane, workspace)
    number = lane.number
    while number < len(workspace.candidates):
        workspace.candidates[number] = 0
        number = after(number, lane)
    wait_for_lanes()
    disease = lane.number
    while disease < len(net.odds):
        is_candidate = has_bit(workspace.on, disease) or not workspace.odds[disease] < negligible
        is_absent = label_of(records, record, disease) == -1
        if is_candidate or is_absent:
            workspace.odds[disease] = 0.0
            if not is_absent:
                set_at_once(workspace.candidates, disease >> 5, 1 << (disease & 31))
        disease = after(disease, lane)
    wait_for_lanes()
    store_bits(workspace.candidates, records.candidates, record, lane)


@device_function
def gather_negligible(net, lane, workspace, counts, few, few_at):
    """Add what diseases are expected to have caused that are not candidates."""
    n_diseases = len(net.odds)
    for first in range(0, n_diseases, LANES):
        number, is_some = first + lane.number, False
        if number < n_diseases:
            odds = workspace.odds[np.uint32(number)]
            if odds != 0.0:
                add_at_once(few, few_at + np.uint32(number), odds)
            is_some = odds > NOTHING
        left = lanes_where(is_some)
        while left != 0:
            other = np.uint32(first + lowest_of(left))
            gather(net, other, workspace.odds[other], False, lane, workspace, counts)
            left &= left - 1
    wait_for_lanes()
