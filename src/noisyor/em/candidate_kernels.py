"""Compiled work on one record: which diseases it may have, sampled or summed up exactly.

Given the other diseases, with a_j = P(finding j absent | the others), disease i has the odds

    p / (1 - p)  prod_{absent j} f_ij  prod_{present j} (1 - a_j f_ij) / (1 - a_j)

With the log odds log(p / (1 - p)) + sum_j log f_ij over all children, each present finding
multiplies by (1/f - a) / (1 - a) = w/f - h, where w = 1 / (1 - a) and h = a / (1 - a): no division
for each edge. An unknown finding has w = 1 and h = 0, which takes its f out of them again.

Most diseases are nearly impossible for a record. They are screened all at once; only the others,
its candidates, are sampled one by one.
"""

from typing import NamedTuple

import numba
import numpy as np

from noisyor.findings.blocks import Words
from noisyor.inference.flat import Booleans, FlatNetwork, Floats, Integers, Listed
from noisyor.inference.gibbs_kernels import Random, next_uniform

HUGE = 1e200
MOST_ENUMERATED = 12
"""Records with more candidates are sampled; with fewer all states of them are summed up."""


class SampledRecords(NamedTuple):
    """A block of records with what is kept of each."""

    offsets: Integers
    """The findings of record r that are present or unknown: `offsets[r] : offsets[r + 1]`."""
    listed: Listed
    is_unknown: Booleans
    first: int
    """The number of the block's first record."""
    states: Words
    """The diseases that each record has for the moment, a bit each."""
    candidates: Words
    """The diseases that are possible for each record, a bit each."""


class OpenRecord(NamedTuple):
    """The findings and candidates of the record that is worked on."""

    slots: Listed
    """Of each symptom its index among the record's findings, from 1; 0 where it is absent."""
    is_on: Booleans
    """Whether the record has each disease for the moment."""
    odds: Floats
    """Of each disease."""
    chosen: Integers
    """The record's candidates."""
    absent: Floats
    """P(absent | diseases that are on) of each finding."""
    w: Floats
    h: Floats
    scores: Floats
    """By the failures of one disease."""
    entry_offsets: Integers
    """The present findings of candidate c are the entries
    `entry_offsets[c] : entry_offsets[c + 1]`."""
    entry_edges: Integers
    entry_findings: Integers
    probabilities: Floats
    """P(disease | record) of each candidate."""
    with_disease: Floats
    """E[d / P(finding present | D)] of each entry."""
    inverses: Floats
    """E[1 / P(finding present | D)] of each finding."""


@numba.njit(nogil=True, cache=True)
def new_open_record(net: FlatNetwork) -> OpenRecord:
    """Return an empty workspace."""
    n, m = len(net.priors), len(net.leaks)
    n_entries = MOST_ENUMERATED * m
    return OpenRecord(
        np.zeros(m, np.int32), np.zeros(n, np.bool_), np.empty(n), np.empty(n, np.int64),
        np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(MOST_ENUMERATED + 1, np.int64),
        np.empty(n_entries, np.int64), np.empty(n_entries, np.int64), np.empty(MOST_ENUMERATED),
        np.empty(n_entries), np.empty(m),
    )  # fmt: skip


@numba.njit(nogil=True, cache=True)
def no_draws() -> Random:
    """Return an empty stream of random numbers: what is not to be drawn."""
    return np.empty(0, dtype=np.uint64)


@numba.njit(nogil=True, cache=True, inline="always")
def has_bit(words: Words, element: int) -> bool:
    """Return True if a set of bits has an element."""
    return bool((words[element >> 6] >> np.uint64(element & 63)) & np.uint64(1))


@numba.njit(nogil=True, cache=True, inline="always")
def set_bit(words: Words, element: int, value: bool) -> None:
    """Put an element into a set of bits, or take it out."""
    bit = np.uint64(1) << np.uint64(element & 63)
    if value:
        words[element >> 6] |= bit
    else:
        words[element >> 6] &= ~bit


# --- opening and closing a record ---


@numba.njit(nogil=True, cache=True, error_model="numpy")
def open_record(
    net: FlatNetwork, records: SampledRecords, record: int, workspace: OpenRecord
) -> Listed:
    """Open a record with the diseases that it has; return its findings."""
    here = slice(records.offsets[record], records.offsets[record + 1])
    symptoms, is_unknown = records.listed[here], records.is_unknown[here]
    for x in range(len(symptoms)):
        workspace.slots[symptoms[x]] = x + 1
        workspace.absent[x] = 1.0 - net.leaks[symptoms[x]]
        workspace.w[x] = 1.0 / (1.0 - workspace.absent[x])
        workspace.h[x] = workspace.absent[x] * workspace.w[x]
        if is_unknown[x]:
            workspace.w[x], workspace.h[x] = 1.0, 0.0
    for disease in range(len(workspace.is_on)):
        workspace.is_on[disease] = has_bit(records.states[record], disease)
        if workspace.is_on[disease]:
            turn(net, disease, workspace)
    return symptoms


@numba.njit(nogil=True, cache=True)
def close_record(symptoms: Listed, workspace: OpenRecord, state: Words) -> None:
    """Write down the diseases that a record has now, and forget it."""
    for disease in range(len(workspace.is_on)):
        set_bit(state, disease, workspace.is_on[disease])
    for symptom in symptoms:
        workspace.slots[symptom] = 0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def turn(net: FlatNetwork, disease: int, workspace: OpenRecord) -> None:
    """Put a disease that was just turned on or off into the findings' probabilities."""
    is_on = workspace.is_on[disease]
    for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
        x = workspace.slots[net.edge_symptoms[edge]] - 1
        if x >= 0 and workspace.h[x] > 0.0:
            f, absent = net.failures[edge], workspace.absent[x]
            absent = absent * f if is_on else absent / f
            workspace.absent[x] = absent
            workspace.w[x] = 1.0 / (1.0 - absent)
            workspace.h[x] = absent * workspace.w[x]


@numba.njit(nogil=True, cache=True)
def list_candidates(words: Words, workspace: OpenRecord) -> int:
    """Write down a record's candidates; return how many there are."""
    n_found = 0
    for disease in range(len(workspace.is_on)):
        if has_bit(words, disease):
            workspace.chosen[n_found] = disease
            n_found += 1
    return n_found


# --- all diseases at once ---


@numba.njit(nogil=True, cache=True, error_model="numpy")
def find_odds(net: FlatNetwork, symptoms: Listed, workspace: OpenRecord) -> None:
    """Find the odds of all diseases that are not on."""
    workspace.odds[:] = 1.0
    for x in range(len(symptoms)):
        w, h = workspace.w[x], workspace.h[x]
        for index in range(net.parent_offsets[symptoms[x]], net.parent_offsets[symptoms[x] + 1]):
            workspace.odds[net.parent_diseases[index]] *= net.inverse_failures[index] * w - h
    workspace.odds[:] *= net.odds


@numba.njit(nogil=True, cache=True, error_model="numpy")
def explain(net: FlatNetwork, symptoms: Listed, workspace: OpenRecord) -> None:
    """Start a record: turn on the most probable disease while one is more probable than not."""
    for _ in range(len(workspace.odds)):
        find_odds(net, symptoms, workspace)
        best, best_odds = -1, 1.0
        for disease in range(len(workspace.odds)):
            if not workspace.is_on[disease] and workspace.odds[disease] > best_odds:
                best, best_odds = disease, workspace.odds[disease]
        if best < 0:
            return
        workspace.is_on[best] = True
        turn(net, best, workspace)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def screen(
    net: FlatNetwork, symptoms: Listed, negligible: float, workspace: OpenRecord, candidates: Words
) -> None:
    """Let the diseases that are on or not negligible be candidates; set the odds of those to 0."""
    find_odds(net, symptoms, workspace)
    for disease in range(len(workspace.odds)):
        is_candidate = workspace.is_on[disease] or not workspace.odds[disease] < negligible
        set_bit(candidates, disease, is_candidate)
        if is_candidate:
            workspace.odds[disease] = 0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def find_plausible_odds(
    net: FlatNetwork, symptoms: Listed, workspace: OpenRecord, odds: Floats
) -> None:
    """Find the odds of all diseases given those that explain a record, or all but one of them.

    Of two diseases that explain the same findings one is on, which makes the other improbable; so
    each that is on is left out in turn. Those that are on have infinite odds.
    """
    find_odds(net, symptoms, workspace)
    odds[:] = workspace.odds
    for disease in range(len(odds)):
        if not workspace.is_on[disease]:
            continue
        workspace.is_on[disease] = False
        turn(net, disease, workspace)
        find_odds(net, symptoms, workspace)
        odds[:] = np.maximum(odds, workspace.odds)
        workspace.is_on[disease] = True
        turn(net, disease, workspace)
    odds[workspace.is_on] = np.inf


# --- one disease at a time ---


@numba.njit(nogil=True, cache=True, error_model="numpy")
def probability_of(net: FlatNetwork, disease: int, workspace: OpenRecord) -> float:
    """Return the probability of a disease given all others."""
    product, log_odds = 1.0, net.log_odds[disease]
    is_on = workspace.is_on[disease]
    for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
        x = workspace.slots[net.edge_symptoms[edge]] - 1
        if x >= 0:
            f = net.failures[edge]
            if workspace.h[x] == 0.0:
                product /= f
            elif is_on:
                product *= (1.0 - workspace.absent[x]) / (f - workspace.absent[x])
            else:
                product *= workspace.w[x] / f - workspace.h[x]
            if product > HUGE:
                log_odds += np.log(product)
                product = 1.0
    return float(1.0 / (1.0 + np.exp(-log_odds - np.log(product))))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def draw(
    net: FlatNetwork, disease: int, probability: float, random: Random, workspace: OpenRecord
) -> None:
    """Turn a disease on with a probability, else off."""
    if (next_uniform(random) < probability) != workspace.is_on[disease]:
        workspace.is_on[disease] = not workspace.is_on[disease]
        turn(net, disease, workspace)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def score(net: FlatNetwork, disease: int, workspace: OpenRecord) -> None:
    """Find the derivatives of a record's log likelihood by a disease's failures, if it is present.

    1 / f for an absent finding, -a / (1 - a f) for a present one, 0 for an unknown one.
    """
    first, is_on = net.child_offsets[disease], workspace.is_on[disease]
    for edge in range(first, net.child_offsets[disease + 1]):
        x = workspace.slots[net.edge_symptoms[edge]] - 1
        f = net.failures[edge]
        if x < 0:
            workspace.scores[edge - first] = 1.0 / f
        elif workspace.h[x] > 0.0:
            without = workspace.absent[x] / f if is_on else workspace.absent[x]
            workspace.scores[edge - first] = -without / (1.0 - without * f)
        else:
            workspace.scores[edge - first] = 0.0


# --- all states of the candidates ---


@numba.njit(nogil=True, cache=True, error_model="numpy")
def enumerate_states(
    net: FlatNetwork, symptoms: Listed, n_chosen: int, workspace: OpenRecord, random: Random
) -> float:
    """Sum over all states of a record's candidates, one flip after the other (Gray code).

    Fills `probabilities`, `with_disease` and `inverses`. A state is kept: drawn with its
    probability, or the most probable one where `random` is empty. Returns the log of how much more
    probable all states together are than the one without a candidate.
    """
    log_odds = list_entries(net, n_chosen, workspace)
    for x in range(len(symptoms)):
        workspace.absent[x] = 1.0 - net.leaks[symptoms[x]]
    scale_sums(n_chosen, len(symptoms), 0.0, workspace)
    log_weight, reference, total = 0.0, 0.0, 0.0
    best, best_weight = 0, -np.inf
    on = 0
    for number in range(1 << n_chosen):
        if number > 0:
            index = 0
            while not (number >> index) & 1:
                index += 1
            on ^= 1 << index
            turned_on = (on >> index) & 1 == 1
            log_weight += log_odds[index] if turned_on else -log_odds[index]
            log_weight += flip(net, index, turned_on, workspace)
        if not len(random) and log_weight > best_weight:
            best, best_weight = on, log_weight
        if log_weight > reference + 20.0:
            # What was summed so far is small beside this: bring it to the new scale.
            scale = np.exp(reference - log_weight)
            total *= scale
            scale_sums(n_chosen, len(symptoms), scale, workspace)
            reference = log_weight
        weight = np.exp(log_weight - reference)
        if weight >= 1e-12 * total:
            total += weight
            if len(random) and next_uniform(random) * total < weight:
                best = on
            add_state(on, n_chosen, len(symptoms), weight, workspace)
    scale_sums(n_chosen, len(symptoms), 1.0 / total, workspace)
    for index in range(n_chosen):
        workspace.is_on[workspace.chosen[index]] = (best >> index) & 1 == 1
    return float(reference + np.log(total))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def list_entries(net: FlatNetwork, n_chosen: int, workspace: OpenRecord) -> Floats:
    """List the present findings of the candidates; return their log odds without these."""
    log_odds = np.empty(n_chosen)
    n_entries = 0
    for index in range(n_chosen):
        disease = workspace.chosen[index]
        workspace.entry_offsets[index] = n_entries
        log_odds[index] = net.log_odds[disease]
        for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
            x = workspace.slots[net.edge_symptoms[edge]] - 1
            if x >= 0:
                log_odds[index] -= np.log(net.failures[edge])
                if workspace.h[x] > 0.0:
                    workspace.entry_edges[n_entries] = edge
                    workspace.entry_findings[n_entries] = x
                    n_entries += 1
    workspace.entry_offsets[n_chosen] = n_entries
    return log_odds


@numba.njit(nogil=True, cache=True, error_model="numpy")
def flip(net: FlatNetwork, index: int, turned_on: bool, workspace: OpenRecord) -> float:
    """Turn a candidate on or off; return the change of the log probability of its findings."""
    change, ratio = 0.0, 1.0
    for entry in range(workspace.entry_offsets[index], workspace.entry_offsets[index + 1]):
        x = workspace.entry_findings[entry]
        f = net.failures[workspace.entry_edges[entry]]
        before = 1.0 - workspace.absent[x]
        workspace.absent[x] = workspace.absent[x] * f if turned_on else workspace.absent[x] / f
        ratio *= (1.0 - workspace.absent[x]) / before
        if ratio > HUGE or ratio < 1.0 / HUGE:
            change += np.log(ratio)
            ratio = 1.0
    return float(change + np.log(ratio))


@numba.njit(nogil=True, cache=True)
def add_state(
    on: int, n_chosen: int, n_findings: int, weight: float, workspace: OpenRecord
) -> None:
    """Add a state, given as bits of the candidates, to the sums."""
    for x in range(n_findings):
        workspace.inverses[x] += weight / (1.0 - workspace.absent[x])
    for index in range(n_chosen):
        if (on >> index) & 1:
            workspace.probabilities[index] += weight
            for entry in range(workspace.entry_offsets[index], workspace.entry_offsets[index + 1]):
                absent = workspace.absent[workspace.entry_findings[entry]]
                workspace.with_disease[entry] += weight / (1.0 - absent)


@numba.njit(nogil=True, cache=True)
def scale_sums(n_chosen: int, n_findings: int, scale: float, workspace: OpenRecord) -> None:
    """Multiply all sums; by 0 to begin them, whatever they are."""
    for sums, n in (
        (workspace.probabilities, n_chosen),
        (workspace.with_disease, workspace.entry_offsets[n_chosen]),
        (workspace.inverses, n_findings),
    ):
        for index in range(n):
            sums[index] = sums[index] * scale if scale > 0.0 else 0.0
