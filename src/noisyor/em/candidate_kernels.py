"""Compiled work on one record: which diseases it may have, sampled or summed up exactly.

Given the other diseases, with a_j = P(finding j absent | the others), disease i has the odds

    p / (1 - p)  prod_{absent j} f_ij  prod_{present j} (1 - a_j f_ij) / (1 - a_j)

With the log odds log(p / (1 - p)) + sum_j log f_ij over all children, each present finding
multiplies by (1/f - a) / (1 - a) = w/f - h, where w = 1 / (1 - a) and h = a / (1 - a): no division
for each edge. An unknown finding has w = 1 and h = 0, which takes its f out of them again.

Most diseases are nearly impossible for a record. They are screened all at once; only the others,
its candidates, are sampled one by one. A disease that was seen to be absent is never a candidate;
one that was seen is, always, and certain.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.findings.blocks import Words
from noisyor.inference.flat import Booleans, FlatNetwork, Floats, Integers, Listed
from noisyor.inference.gibbs_kernels import Random, next_uniform
from noisyor.kernels import kernel
from noisyor.kernels.word_kernels import lowest_bit

Labels = NDArray[np.int8]

HUGE = 1e200
MOST_ENUMERATED = 12
"""Records with more candidates are sampled; with fewer all states of them are summed up."""


CERTAIN = 1e4
"""Added to the log odds of a disease that was seen: no findings speak against it as much."""


class Seen(NamedTuple):
    """Diseases that were seen, or seen to be absent: a row of bits for each record, or no rows."""

    known: Words
    on: Words


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
    seen: Seen


class OpenRecord(NamedTuple):
    """The findings and candidates of the record that is worked on."""

    slots: Listed
    """Of each symptom its index among the record's findings, from 1; 0 where it is absent."""
    is_on: Booleans
    """Whether the record has each disease for the moment."""
    labels: Labels
    """Of each disease: 1 if the record was seen to have it, -1 if not to have it, else 0."""
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
    log_odds: Floats
    """Of each candidate, without its present findings."""
    in_doubt: Integers
    """The candidates that may be on or off."""


@kernel
def new_open_record(net: FlatNetwork) -> OpenRecord:
    """Return an empty workspace."""
    n, m = len(net.priors), len(net.leaks)
    n_entries = MOST_ENUMERATED * m
    return OpenRecord(
        np.zeros(m, np.int32), np.zeros(n, np.bool_), np.zeros(n, np.int8), np.empty(n),
        np.empty(n, np.int64), np.empty(m), np.empty(m), np.empty(m), np.empty(m),
        np.empty(MOST_ENUMERATED + 1, np.int64), np.empty(n_entries, np.int64),
        np.empty(n_entries, np.int64), np.empty(MOST_ENUMERATED), np.empty(n_entries), np.empty(m),
        np.empty(MOST_ENUMERATED), np.empty(MOST_ENUMERATED, np.int64),
    )  # fmt: skip


@kernel
def own_network(net: FlatNetwork) -> FlatNetwork:
    """Return a network whose odds can be written over, those of one record after the other."""
    return FlatNetwork(
        np.empty_like(net.priors), net.failures, net.leaks, net.child_offsets, net.edge_symptoms,
        net.parent_offsets, net.parent_diseases, net.parent_edges, net.inverse_failures,
        net.log_failures, net.log_absent, net.n_certain, net.log_silent, net.is_certain,
        np.empty_like(net.log_odds), np.empty_like(net.odds),
    )  # fmt: skip


@kernel
def no_draws() -> Random:
    """Return an empty stream of random numbers: what is not to be drawn."""
    return np.empty(0, dtype=np.uint64)


@kernel
def has_bit(words: Words, element: int) -> bool:
    """Return True if a set of bits has an element."""
    return bool((words[element >> 6] >> np.uint64(element & 63)) & np.uint64(1))


@kernel
def set_bit(words: Words, element: int, value: bool) -> None:
    """Put an element into a set of bits, or take it out."""
    bit = np.uint64(1) << np.uint64(element & 63)
    if value:
        words[element >> 6] |= bit
    else:
        words[element >> 6] &= ~bit


@kernel
def clear(words: Words) -> None:
    """Take all elements out of a set of bits."""
    for word in range(len(words)):
        words[word] = np.uint64(0)


@kernel
def list_elements(words: Words, listed: Integers) -> int:
    """Write down the elements of a set of bits, in their order; return how many there are."""
    n_found = 0
    for word in range(len(words)):
        left = words[word]
        while left != np.uint64(0):
            listed[n_found] = 64 * word + lowest_bit(left)
            n_found += 1
            left &= left - np.uint64(1)
    return n_found


@kernel
def read_labels(seen: Seen, record: int, labels: Labels) -> None:
    """Write which diseases of a record were seen: 1, to be absent: -1, and of which it is open."""
    if len(seen.known):
        for disease in range(len(labels)):
            labels[disease] = 0
            if has_bit(seen.known[record], disease):
                labels[disease] = 1 if has_bit(seen.on[record], disease) else -1


# --- opening and closing a record ---


@kernel
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
    read_labels(records.seen, record, workspace.labels)
    for disease in range(len(workspace.is_on)):
        workspace.is_on[disease] = False
    for disease in workspace.chosen[: list_elements(records.states[record], workspace.chosen)]:
        workspace.is_on[disease] = True
        turn(net, disease, workspace)
    return symptoms


@kernel
def close_record(symptoms: Listed, workspace: OpenRecord, state: Words) -> None:
    """Write down the diseases that a record has now, and forget it."""
    clear(state)
    for disease in range(len(workspace.is_on)):
        if workspace.is_on[disease]:
            set_bit(state, disease, True)
    for symptom in symptoms:
        workspace.slots[symptom] = 0


@kernel
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


# --- all diseases at once ---


@kernel
def find_odds(net: FlatNetwork, symptoms: Listed, workspace: OpenRecord) -> None:
    """Find the odds of all diseases that are not on."""
    for disease in range(len(net.odds)):
        workspace.odds[disease] = 1.0
    for x in range(len(symptoms)):
        w, h = workspace.w[x], workspace.h[x]
        for index in range(net.parent_offsets[symptoms[x]], net.parent_offsets[symptoms[x] + 1]):
            workspace.odds[net.parent_diseases[index]] *= net.inverse_failures[index] * w - h
    for disease in range(len(net.odds)):
        workspace.odds[disease] *= net.odds[disease]


@kernel
def explain(net: FlatNetwork, symptoms: Listed, workspace: OpenRecord) -> None:
    """Start a record: turn on the most probable disease while one is more probable than not.

    Those that were seen are on from the first.
    """
    for disease in range(len(workspace.odds)):
        if workspace.labels[disease] == 1 and not workspace.is_on[disease]:
            workspace.is_on[disease] = True
            turn(net, disease, workspace)
    for _ in range(len(workspace.odds)):
        find_odds(net, symptoms, workspace)
        best, best_odds = -1, 1.0
        for disease in range(len(workspace.odds)):
            is_off = not workspace.is_on[disease] and workspace.labels[disease] == 0
            if is_off and workspace.odds[disease] > best_odds:
                best, best_odds = disease, workspace.odds[disease]
        if best < 0:
            return
        workspace.is_on[best] = True
        turn(net, best, workspace)


@kernel
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
        if not workspace.is_on[disease] or workspace.labels[disease] == 1:
            continue
        workspace.is_on[disease] = False
        turn(net, disease, workspace)
        find_odds(net, symptoms, workspace)
        odds[:] = np.maximum(odds, workspace.odds)
        workspace.is_on[disease] = True
        turn(net, disease, workspace)
    odds[workspace.labels == -1] = 0.0
    odds[workspace.is_on] = np.inf


@kernel
def screen(
    net: FlatNetwork, symptoms: Listed, negligible: float, workspace: OpenRecord, candidates: Words
) -> None:
    """Let the diseases that are on or not negligible be candidates; set the odds of those to 0.

    Those that were seen to be absent have no odds either.
    """
    find_odds(net, symptoms, workspace)
    choose(workspace.odds, negligible, workspace, candidates)


@kernel
def screen_closely(
    net: FlatNetwork, symptoms: Listed, negligible: float, workspace: OpenRecord,
    plausible: Floats, candidates: Words,
) -> None:  # fmt: skip
    """Do so, and let those be candidates, too, that are plausible in the place of another.

    It takes as many times as long as there are diseases on.
    """
    find_plausible_odds(net, symptoms, workspace, plausible)
    find_odds(net, symptoms, workspace)
    choose(plausible, negligible, workspace, candidates)


@kernel
def choose(odds: Floats, negligible: float, workspace: OpenRecord, candidates: Words) -> None:
    """Let the diseases that are on or whose odds are not negligible be candidates."""
    clear(candidates)
    for disease in range(len(odds)):
        is_candidate = workspace.is_on[disease] or not odds[disease] < negligible
        is_absent = workspace.labels[disease] == -1
        if is_candidate or is_absent:
            workspace.odds[disease] = 0.0
            set_bit(candidates, disease, not is_absent)


# --- one disease at a time ---


@kernel
def log_odds_of(net: FlatNetwork, disease: int, workspace: OpenRecord) -> float:
    """Return the log odds of a disease given all others."""
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
    return float(log_odds + np.log(product))


@kernel
def probability_of(net: FlatNetwork, disease: int, workspace: OpenRecord) -> float:
    """Return the probability of a disease given all others, and whether it was seen."""
    if workspace.labels[disease] != 0:
        return 1.0 if workspace.labels[disease] == 1 else 0.0
    return float(1.0 / (1.0 + np.exp(-log_odds_of(net, disease, workspace))))


@kernel
def draw(
    net: FlatNetwork, disease: int, probability: float, random: Random, workspace: OpenRecord
) -> None:
    """Turn a disease on with a probability, else off."""
    if (next_uniform(random) < probability) != workspace.is_on[disease]:
        workspace.is_on[disease] = not workspace.is_on[disease]
        turn(net, disease, workspace)


@kernel
def exchange(net: FlatNetwork, n_chosen: int, random: Random, workspace: OpenRecord) -> None:
    """Put another candidate in the place of each disease that is on, as often as there are such.

    Of diseases that explain the same findings one is on, and none turns on or off alone: drawn one
    by one they never change. One of those that are on, each as probable as any other, is turned
    off, and one of all candidates that are off is turned on, by their odds.
    """
    chosen, n_on = workspace.chosen[:n_chosen], 0
    for disease in chosen:
        n_on += 1 if workspace.is_on[disease] and workspace.labels[disease] == 0 else 0
    for _ in range(n_on):
        number = int(next_uniform(random) * n_on)
        for disease in chosen:
            if workspace.is_on[disease] and workspace.labels[disease] == 0:
                number -= 1
                if number < 0:
                    exchange_one(net, disease, chosen, random, workspace)
                    break


@kernel
def exchange_one(
    net: FlatNetwork, disease: int, chosen: Integers, random: Random, workspace: OpenRecord
) -> None:
    """Turn a disease off, and a candidate on that is drawn by its odds."""
    workspace.is_on[disease] = False
    turn(net, disease, workspace)
    reference, total, taken = log_odds_of(net, disease, workspace), 1.0, disease
    for other in chosen:
        if other != disease and not workspace.is_on[other] and workspace.labels[other] == 0:
            odds = np.exp(min(log_odds_of(net, other, workspace) - reference, 600.0))
            total += odds
            if next_uniform(random) * total < odds:
                taken = other
    workspace.is_on[taken] = True
    turn(net, taken, workspace)


@kernel
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
