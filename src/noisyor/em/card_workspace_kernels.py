"""The workspace of a group of lanes on the card, for the record that it works on."""

from typing import Any, NamedTuple

import numpy as np

from noisyor.em.candidate_kernels import MOST_ENUMERATED
from noisyor.gpu.lane_kernels import LANES, device_function, popcount, wait_for_lanes


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
    symptom_words: int
    disease_words: int
    n_floats: int
    n_words: int
    n_bytes: int

    @classmethod
    def of(cls, findings: int, entries: int, n_diseases: int, n_symptoms: int) -> "Sizes":
        """Return the sizes for so many findings, and entries of candidates among them."""
        symptom_words, disease_words = (n_symptoms + 31) // 32, 2 * ((n_diseases + 63) // 64)
        n_floats = 2 * MOST_ENUMERATED + 2 * findings + max(n_diseases, findings + entries)
        n_words = 3 * MOST_ENUMERATED + 1 + findings + 2 * entries
        n_words += 2 * symptom_words + 2 * disease_words
        n_bytes = 8 * (n_floats + (n_words + 1) // 2)
        return cls(findings, entries, symptom_words, disease_words, n_floats, n_words, n_bytes)


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
    """Of each disease. It lies where `inverses` and `with_disease` lie, which are needed later."""
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
    """Return a workspace in some memory.

    Integers are words of 32 bits without a sign: where one cannot be negative, an index into an
    array need not be looked at whether it counts from the end.
    """
    k, f, e = MOST_ENUMERATED, sizes.findings, sizes.entries
    m, n = sizes.symptom_words, sizes.disease_words
    sums, lists, bits = 2 * k + 2 * f, 3 * k + 1, 3 * k + 1 + f + 2 * e
    return CardWorkspace(
        floats[:k], floats[k : 2 * k], floats[2 * k : 2 * k + f], floats[2 * k + f : sums],
        floats[sums : sums + f], floats[sums + f : sums + f + e], floats[sums:],
        words[:k], words[k : 2 * k], words[2 * k : lists],
        words[lists : lists + f], words[lists + f : lists + f + e], words[lists + f + e : bits],
        words[bits : bits + m], words[bits + m : bits + 2 * m],
        words[bits + 2 * m : bits + 2 * m + n], words[bits + 2 * m + n : bits + 2 * m + 2 * n],
    )  # fmt: skip


@device_function
def lowest_of(word):
    """Return the number of the lowest set bit."""
    return popcount((word & -word) - 1)


@device_function
def has_bit(words, element):
    """Return True if a set of bits has an element."""
    return (words[element >> 5] >> (element & 31)) & 1 == 1


@device_function
def turn_bit(words, element, value, lane):
    """Put an element into a set of bits, or take it out; all others may read then."""
    if lane == 0:
        bit = np.uint32(1) << np.uint32(element & 31)
        if value:
            words[element >> 5] |= bit
        else:
            words[element >> 5] &= ~bit
    wait_for_lanes()


@device_function
def load_bits(rows, record, words, lane):
    """Copy a record's row of bits into words of 32."""
    for word in range(lane, rows.shape[1], LANES):
        bits = rows[record, word]
        words[2 * word] = bits & np.uint64(0xFFFFFFFF)
        words[2 * word + 1] = bits >> np.uint64(32)


@device_function
def store_bits(words, rows, record, lane):
    """Copy words of 32 bits into a record's row."""
    for word in range(lane, rows.shape[1], LANES):
        high = np.uint64(words[2 * word + 1]) << np.uint64(32)
        rows[record, word] = high | np.uint64(words[2 * word])


@device_function
def label_of(records, record, disease):
    """Return 1 if a record was seen to have a disease, -1 if not to have it, else 0."""
    if not len(records.known):
        return 0
    bit = np.uint64(1) << np.uint64(disease & 63)
    if records.known[record, disease >> 6] & bit == np.uint64(0):
        return 0
    return 1 if records.on[record, disease >> 6] & bit != np.uint64(0) else -1


@device_function
def slot_of(symptom, workspace):
    """Return the index of a symptom among the record's findings, -1 where it is absent."""
    bits, bit = np.int64(workspace.bits[symptom >> 5]), np.int64(1) << np.int64(symptom & 31)
    if bits & bit == 0:
        return -1
    return np.int64(workspace.ranks[symptom >> 5]) + np.int64(popcount(bits & (bit - 1)))


@device_function
def edges_of(net, disease, lane):
    """Return the edges of a disease that are a lane's."""
    last = np.int64(net.child_offsets[disease + 1])
    return range(np.int64(net.child_offsets[disease]) + lane, last, LANES)


@device_function
def entries_of(index, lane, workspace):
    """Return the entries of a candidate that are a lane's."""
    last = np.int64(workspace.entry_offsets[index + 1])
    return range(np.int64(workspace.entry_offsets[index]) + lane, last, LANES)


@device_function
def turn(net, disease, is_on, lane, workspace):
    """Put a disease that was just turned on or off into the findings' probabilities."""
    for edge in edges_of(net, disease, lane):
        x = slot_of(net.edge_symptoms[edge], workspace)
        if x >= 0 and workspace.absent[x] > 0.0:
            f, absent = net.failures[edge], workspace.absent[x]
            absent = absent * f if is_on else absent / f
            workspace.absent[x] = absent
            workspace.w[x] = 1.0 / (1.0 - absent)
    wait_for_lanes()
