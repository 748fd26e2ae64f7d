"""What groups of lanes on the card work on: networks, records, and the record that is open.

Integers have no sign and 32 bits: an index that cannot be negative need not be looked at whether it
counts from the end.
"""

from typing import Any, NamedTuple

import numpy as np

from noisyor.em.candidate_kernels import MOST_ENUMERATED
from noisyor.gpu.lane_kernels import (
    add_at_once,
    after,
    device_function,
    popcount,
    set_at_once,
    wait_for_lanes,
)


class CardNetwork(NamedTuple):
    """A network on the card (see `FlatNetwork`)."""

    failures: Any
    leaks: Any
    child_offsets: Any
    edge_symptoms: Any
    parent_offsets: Any
    parent_diseases: Any
    inverse_failures: Any
    log_failures: Any
    log_odds: Any
    odds: Any


class CardRecords(NamedTuple):
    """Records on the card with what is kept of each (see `SampledRecords`)."""

    offsets: Any
    listed: Any
    is_unknown: Any
    """Empty where no finding is."""
    first: int
    states: Any
    candidates: Any
    known: Any
    """Diseases that were seen or seen to be absent; no rows where none was."""
    on: Any


class Sizes(NamedTuple):
    """How much a workspace can hold."""

    findings: int
    entries: int
    touched: int
    """Findings for which sums are made: all, or none."""
    symptom_words: int
    disease_words: int
    n_floats: int
    n_words: int
    n_bytes: int

    @classmethod
    def of(cls, findings: int, entries: int, n_odds: int, structure: Any) -> "Sizes":
        """Return the sizes for so many findings, entries of candidates among them, and odds."""
        symptom_words = (structure.n_symptoms + 31) // 32
        disease_words = 2 * ((structure.n_diseases + 63) // 64)
        touched = findings if entries else 0
        n_floats = 2 * MOST_ENUMERATED + 2 * findings + max(n_odds, touched + entries)
        n_words = 3 * MOST_ENUMERATED + 1 + touched + 2 * entries
        n_words += 2 * symptom_words + 2 * disease_words
        n_bytes = 8 * (n_floats + (n_words + 1) // 2)
        return cls(
            findings, entries, touched, symptom_words, disease_words, n_floats, n_words, n_bytes
        )


class CardWorkspace(NamedTuple):
    """The findings and candidates of the record that is worked on (see `OpenRecord`)."""

    log_odds: Any
    """Of each candidate, without its present findings."""
    probabilities: Any
    """P(disease | record) of each candidate."""
    absent: Any
    """P(absent | diseases that are on) of each finding; 0 where it is unknown."""
    w: Any
    """1 / (1 - absent)."""
    inverses: Any
    """E[1 / P(finding present | D)] of each finding that candidates in doubt have."""
    with_disease: Any
    """E[d / P(finding present | D)] of each entry of such candidates."""
    odds: Any
    """Of each disease. They lie where `inverses` and `with_disease` lie: none needs both."""
    chosen: Any
    """The record's candidates, where these are few."""
    in_doubt: Any
    """Those of them that may be on or off."""
    entry_offsets: Any
    """The present findings of candidate c are the entries
    `entry_offsets[c] : entry_offsets[c + 1]`."""
    touched: Any
    """The findings of candidates in doubt."""
    entry_edges: Any
    entry_findings: Any
    ranks: Any
    """Of each word of `bits` that is not 0 the index of its first finding."""
    bits: Any
    """Symptoms that are present or unknown."""
    on: Any
    """Diseases that the record has for the moment."""
    candidates: Any


@device_function
def workspace_in(floats, words, sizes):
    """Return a workspace in some memory."""
    k, f, t, e = MOST_ENUMERATED, sizes.findings, sizes.touched, sizes.entries
    m, n = sizes.symptom_words, sizes.disease_words
    sums, lists, bits = 2 * k + 2 * f, 3 * k + 1, 3 * k + 1 + t + 2 * e
    return CardWorkspace(
        floats[:k], floats[k : 2 * k], floats[2 * k : 2 * k + f], floats[2 * k + f : sums],
        floats[sums : sums + t], floats[sums + t : sums + t + e], floats[sums:],
        words[:k], words[k : 2 * k], words[2 * k : lists],
        words[lists : lists + t], words[lists + t : lists + t + e], words[lists + t + e : bits],
        words[bits : bits + m], words[bits + m : bits + 2 * m],
        words[bits + 2 * m : bits + 2 * m + n], words[bits + 2 * m + n : bits + 2 * m + 2 * n],
    )  # fmt: skip


# --- bits ---


@device_function
def lowest_of(word):
    """Return the number of the lowest set bit."""
    return np.uint32(popcount((word & -word) - 1))


@device_function
def has_bit(words, element):
    """Return True if a set of bits has an element."""
    return (words[element >> 5] >> (element & 31)) & 1 == 1


@device_function
def turn_bit(words, element, value, lane):
    """Put an element into a set of bits, or take it out; all others may read then."""
    if lane.number == 0:
        bit = np.uint32(1) << np.uint32(element & 31)
        if value:
            words[element >> 5] |= bit
        else:
            words[element >> 5] &= ~bit
    wait_for_lanes()


@device_function
def load_bits(rows, record, words, lane):
    """Copy a record's row of bits into words of 32."""
    word = lane.number
    while word < rows.shape[1]:
        bits = rows[record, word]
        words[2 * word] = bits & np.uint64(0xFFFFFFFF)
        words[2 * word + 1] = bits >> np.uint64(32)
        word = after(word, lane)


@device_function
def store_bits(words, rows, record, lane):
    """Copy words of 32 bits into a record's row."""
    word = lane.number
    while word < rows.shape[1]:
        high = np.uint64(words[2 * word + 1]) << np.uint64(32)
        rows[record, word] = high | np.uint64(words[2 * word])
        word = after(word, lane)


@device_function
def label_of(records, record, disease):
    """Return 1 if a record was seen to have a disease, -1 if not to have it, else 0."""
    if not len(records.known):
        return 0
    bit = np.uint64(1) << np.uint64(disease & 63)
    if records.known[record, disease >> 6] & bit == np.uint64(0):
        return 0
    return 1 if records.on[record, disease >> 6] & bit != np.uint64(0) else -1


# --- the open record ---


@device_function
def open_record(net, records, record, n_findings, lane, workspace):
    """Open a record with the diseases that it has."""
    first = records.offsets[record]
    number = lane.number
    while number < len(workspace.bits):
        workspace.bits[number] = 0
        number = after(number, lane)
    load_bits(records.states, record, workspace.on, lane)
    load_bits(records.candidates, record, workspace.candidates, lane)
    wait_for_lanes()
    x = lane.number
    while x < n_findings:
        symptom = records.listed[first + x]
        word = symptom >> 5
        set_at_once(workspace.bits, word, 1 << (symptom & 31))
        if x == 0 or records.listed[first + np.uint32(x - 1)] >> 5 != word:
            workspace.ranks[word] = x
        absent = 1.0 - net.leaks[symptom]
        if len(records.is_unknown) and records.is_unknown[first + x]:
            absent = 0.0
        workspace.absent[x] = absent
        workspace.w[x] = 1.0 / (1.0 - absent)
        x = after(x, lane)
    wait_for_lanes()
    for word in range(len(workspace.on)):
        left = np.int64(workspace.on[np.uint32(word)])
        while left != 0:
            turn(net, np.uint32(32 * word + lowest_of(left)), True, lane, workspace)
            left &= left - 1


@device_function
def slot_of(symptom, workspace):
    """Return the index of a symptom among the record's findings, -1 where it is absent."""
    bits, bit = np.int64(workspace.bits[symptom >> 5]), np.int64(1) << np.int64(symptom & 31)
    if bits & bit == 0:
        return -1
    return np.int64(workspace.ranks[symptom >> 5]) + np.int64(popcount(bits & (bit - 1)))


@device_function
def edges_of(net, disease, lane):
    """Return the first of the edges of a disease that are a lane's, and where they end."""
    first = np.uint32(net.child_offsets[disease] + lane.number)
    return first, net.child_offsets[disease + 1]


@device_function
def turn(net, disease, is_on, lane, workspace):
    """Put a disease that was just turned on or off into the findings' probabilities."""
    edge, last = edges_of(net, disease, lane)
    while edge < last:
        slot = slot_of(net.edge_symptoms[edge], workspace)
        if slot >= 0:
            x = np.uint32(slot)
            f, absent = net.failures[edge], workspace.absent[x]
            if absent > 0.0:
                absent = absent * f if is_on else absent / f
                workspace.absent[x] = absent
                workspace.w[x] = 1.0 / (1.0 - absent)
        edge = after(edge, lane)
    wait_for_lanes()


@device_function
def gather(net, disease, chance, is_on, lane, workspace, counts):
    """Add what a disease is expected to have caused: P(present) (1 - f) / P(finding present)."""
    edge, last = edges_of(net, disease, lane)
    while edge < last:
        slot = slot_of(net.edge_symptoms[edge], workspace)
        if slot >= 0:
            absent = workspace.absent[np.uint32(slot)]
            if absent == 0.0:
                add_at_once(counts.unknown, edge, chance)
            else:
                f = net.failures[edge]
                with_disease = absent if is_on else absent * f
                add_at_once(counts.caused, edge, chance * (1.0 - f) / (1.0 - with_disease))
        edge = after(edge, lane)
