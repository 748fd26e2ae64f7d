"""Compiled work on one record: which diseases it may have, sampled or summed up exactly.

Given the other diseases, with a_j = P(finding j absent | the others), disease i has the odds

    p / (1 - p)  prod_{absent j} f_ij  prod_{present j} (1 - a_j f_ij) / (1 - a_j)

With `base` = log(p / (1 - p)) + sum_j log f_ij over all children, each present finding multiplies
by (1/f - a) / (1 - a) = w/f - h, where w = 1 / (1 - a) and h = a / (1 - a): no division for each
edge. An unknown finding has w = 1 and h = 0, which takes its f out of `base` again.

Most diseases are nearly impossible for a record. They are screened all at once; only the others,
its candidates, are sampled one by one.
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from noisyor.inference.random_kernels import next_uniform

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

HUGE = 1e200
MOST_ENUMERATED = 12
"""Records with more candidates are sampled; with fewer all states of them are summed up."""


class FlatNetwork(NamedTuple):
    """A network as arrays."""

    child_offsets: Integers
    """The edges of disease i are `child_offsets[i] : child_offsets[i + 1]`."""
    edge_symptoms: Integers
    parent_offsets: Integers
    """The parents of symptom j are `parent_offsets[j] : parent_offsets[j + 1]` of the next two."""
    parent_diseases: Integers
    inverse_failures: Floats
    """1 / f of each parent."""
    priors: Floats
    failures: Floats
    leaks: Floats
    base: Floats
    """Log odds of each disease where all its findings are absent."""
    base_odds: Floats


class Records(NamedTuple):
    """A block of records with what is kept of each."""

    offsets: Integers
    """The findings of record r that are present or unknown: `offsets[r] : offsets[r + 1]`."""
    listed: NDArray[np.int32]
    is_unknown: NDArray[np.bool_]
    first: int
    """The number of the block's first record."""
    states: Words
    """The diseases that each record has for the moment, a bit each."""
    candidates: Words
    """The diseases that are possible for each record, a bit each."""


class Desk(NamedTuple):
    """Room to work on one record."""

    slots: NDArray[np.int32]
    """Of each symptom its place among the record's findings, from 1; 0 where it is absent."""
    is_on: NDArray[np.bool_]
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
    entry_places: Integers
    probabilities: Floats
    """P(disease | record) of each candidate."""
    with_disease: Floats
    """E[d / P(finding present | D)] of each entry."""
    inverses: Floats
    """E[1 / P(finding present | D)] of each finding."""


@numba.njit(nogil=True, cache=True)
def new_desk(n_diseases: int, n_symptoms: int) -> Desk:
    """Return an empty desk."""
    n_entries = MOST_ENUMERATED * n_symptoms
    return Desk(
        np.zeros(n_symptoms, dtype=np.int32),
        np.zeros(n_diseases, dtype=np.bool_),
        np.empty(n_diseases),
        np.empty(n_diseases, dtype=np.int64),
        np.empty(n_symptoms),
        np.empty(n_symptoms),
        np.empty(n_symptoms),
        np.empty(n_symptoms),
        np.empty(MOST_ENUMERATED + 1, dtype=np.int64),
        np.empty(n_entries, dtype=np.int64),
        np.empty(n_entries, dtype=np.int64),
        np.empty(MOST_ENUMERATED),
        np.empty(n_entries),
        np.empty(n_symptoms),
    )


@numba.njit(nogil=True, cache=True, inline="always")
def has_bit(words: Words, element: int) -> bool:
    """Say whether a set of bits has an element."""
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
def open_record(net: FlatNetwork, records: Records, record: int, desk: Desk) -> NDArray[np.int32]:
    """Put a record on the desk, with the diseases that it has; return its findings."""
    here = slice(records.offsets[record], records.offsets[record + 1])
    symptoms, is_unknown = records.listed[here], records.is_unknown[here]
    for x in range(len(symptoms)):
        desk.slots[symptoms[x]] = x + 1
        desk.absent[x] = 1.0 - net.leaks[symptoms[x]]
        desk.w[x] = 1.0 / (1.0 - desk.absent[x])
        desk.h[x] = desk.absent[x] * desk.w[x]
        if is_unknown[x]:
            desk.w[x], desk.h[x] = 1.0, 0.0
    for disease in range(len(desk.is_on)):
        desk.is_on[disease] = has_bit(records.states[record], disease)
        if desk.is_on[disease]:
            turn(net, disease, desk)
    return symptoms


@numba.njit(nogil=True, cache=True)
def close_record(symptoms: NDArray[np.int32], desk: Desk) -> None:
    """Take a record off the desk."""
    for symptom in symptoms:
        desk.slots[symptom] = 0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def turn(net: FlatNetwork, disease: int, desk: Desk) -> None:
    """Put a disease that was just turned on or off into the findings' probabilities."""
    is_on = desk.is_on[disease]
    for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
        x = desk.slots[net.edge_symptoms[edge]] - 1
        if x >= 0 and desk.h[x] > 0.0:
            f, absent = net.failures[edge], desk.absent[x]
            absent = absent * f if is_on else absent / f
            desk.absent[x] = absent
            desk.w[x] = 1.0 / (1.0 - absent)
            desk.h[x] = absent * desk.w[x]


@numba.njit(nogil=True, cache=True)
def list_candidates(words: Words, desk: Desk) -> int:
    """Write down a record's candidates; return how many there are."""
    n_found = 0
    for disease in range(len(desk.is_on)):
        if has_bit(words, disease):
            desk.chosen[n_found] = disease
            n_found += 1
    return n_found


# --- all diseases at once ---


@numba.njit(nogil=True, cache=True, error_model="numpy")
def find_odds(net: FlatNetwork, symptoms: NDArray[np.int32], desk: Desk) -> None:
    """Find the odds of all diseases that are not on."""
    desk.odds[:] = 1.0
    for x in range(len(symptoms)):
        w, h = desk.w[x], desk.h[x]
        for place in range(net.parent_offsets[symptoms[x]], net.parent_offsets[symptoms[x] + 1]):
            desk.odds[net.parent_diseases[place]] *= net.inverse_failures[place] * w - h
    desk.odds[:] *= net.base_odds


@numba.njit(nogil=True, cache=True, error_model="numpy")
def explain(net: FlatNetwork, symptoms: NDArray[np.int32], desk: Desk, state: Words) -> None:
    """Start a record: turn on the most probable disease while one is more probable than not."""
    for _ in range(len(desk.odds)):
        find_odds(net, symptoms, desk)
        best, best_odds = -1, 1.0
        for disease in range(len(desk.odds)):
            if not desk.is_on[disease] and desk.odds[disease] > best_odds:
                best, best_odds = disease, desk.odds[disease]
        if best < 0:
            return
        desk.is_on[best] = True
        set_bit(state, best, True)
        turn(net, best, desk)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def screen(
    net: FlatNetwork, symptoms: NDArray[np.int32], negligible: float, desk: Desk, candidates: Words
) -> None:
    """Let the diseases that are on or not negligible be candidates; set the odds of those to 0."""
    find_odds(net, symptoms, desk)
    for disease in range(len(desk.odds)):
        is_candidate = desk.is_on[disease] or not desk.odds[disease] < negligible
        set_bit(candidates, disease, is_candidate)
        if is_candidate:
            desk.odds[disease] = 0.0


# --- one disease at a time ---


@numba.njit(nogil=True, cache=True, error_model="numpy")
def probability_of(net: FlatNetwork, disease: int, desk: Desk) -> float:
    """Return the probability of a disease given all others."""
    product, log_odds = 1.0, net.base[disease]
    is_on = desk.is_on[disease]
    for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
        x = desk.slots[net.edge_symptoms[edge]] - 1
        if x >= 0:
            f = net.failures[edge]
            if desk.h[x] == 0.0:
                product /= f
            elif is_on:
                product *= (1.0 - desk.absent[x]) / (f - desk.absent[x])
            else:
                product *= desk.w[x] / f - desk.h[x]
            if product > HUGE:
                log_odds += np.log(product)
                product = 1.0
    return float(1.0 / (1.0 + np.exp(-log_odds - np.log(product))))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def draw(
    net: FlatNetwork, disease: int, probability: float, random: np.uint64, desk: Desk, state: Words
) -> np.uint64:
    """Turn a disease on with a probability, else off; return the state of the random numbers."""
    random, uniform = next_uniform(random)
    if (uniform < probability) != desk.is_on[disease]:
        desk.is_on[disease] = not desk.is_on[disease]
        turn(net, disease, desk)
        set_bit(state, disease, desk.is_on[disease])
    return random


@numba.njit(nogil=True, cache=True, error_model="numpy")
def score(net: FlatNetwork, disease: int, desk: Desk) -> None:
    """Find the derivatives of a record's log likelihood by a disease's failures, if it is present.

    1 / f for an absent finding, -a / (1 - a f) for a present one, 0 for an unknown one.
    """
    first, is_on = net.child_offsets[disease], desk.is_on[disease]
    for edge in range(first, net.child_offsets[disease + 1]):
        x = desk.slots[net.edge_symptoms[edge]] - 1
        f = net.failures[edge]
        if x < 0:
            desk.scores[edge - first] = 1.0 / f
        elif desk.h[x] > 0.0:
            without = desk.absent[x] / f if is_on else desk.absent[x]
            desk.scores[edge - first] = -without / (1.0 - without * f)
        else:
            desk.scores[edge - first] = 0.0


# --- all states of the candidates ---


@numba.njit(nogil=True, cache=True, error_model="numpy")
def enumerate_states(
    net: FlatNetwork, symptoms: NDArray[np.int32], n_chosen: int, desk: Desk, state: Words
) -> None:
    """Sum over all states of a record's candidates, one flip after the other (Gray code).

    Fills `probabilities`, `with_disease` and `inverses`. The most probable state is kept.
    """
    log_odds = list_entries(net, symptoms, n_chosen, desk)
    log_weight, reference, total = 0.0, 0.0, 0.0
    best, best_weight = 0, -np.inf
    on = 0
    for number in range(1 << n_chosen):
        if number > 0:
            place = 0
            while not (number >> place) & 1:
                place += 1
            on ^= 1 << place
            turned_on = (on >> place) & 1 == 1
            log_weight += log_odds[place] if turned_on else -log_odds[place]
            log_weight += flip(net, place, turned_on, desk)
        if log_weight > best_weight:
            best, best_weight = on, log_weight
        if log_weight > reference + 20.0:
            # What was summed so far is small beside this: bring it to the new scale.
            scale = np.exp(reference - log_weight)
            total *= scale
            scale_sums(n_chosen, len(symptoms), scale, desk)
            reference = log_weight
        weight = np.exp(log_weight - reference)
        if weight >= 1e-12 * total:
            total += weight
            add_state(on, n_chosen, len(symptoms), weight, desk)
    scale_sums(n_chosen, len(symptoms), 1.0 / total, desk)
    for place in range(n_chosen):
        disease = desk.chosen[place]
        desk.is_on[disease] = (best >> place) & 1 == 1
        set_bit(state, disease, desk.is_on[disease])


@numba.njit(nogil=True, cache=True, error_model="numpy")
def list_entries(
    net: FlatNetwork, symptoms: NDArray[np.int32], n_chosen: int, desk: Desk
) -> Floats:
    """Begin the sums with all diseases off; return the candidates' log odds without findings."""
    log_odds = np.empty(n_chosen)
    n_entries = 0
    for place in range(n_chosen):
        disease = desk.chosen[place]
        desk.entry_offsets[place] = n_entries
        log_odds[place] = net.base[disease]
        for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
            x = desk.slots[net.edge_symptoms[edge]] - 1
            if x >= 0:
                log_odds[place] -= np.log(net.failures[edge])
                if desk.h[x] > 0.0:
                    desk.entry_edges[n_entries] = edge
                    desk.entry_places[n_entries] = x
                    n_entries += 1
    desk.entry_offsets[n_chosen] = n_entries
    for x in range(len(symptoms)):
        desk.absent[x] = 1.0 - net.leaks[symptoms[x]]
    scale_sums(n_chosen, len(symptoms), 0.0, desk)
    return log_odds


@numba.njit(nogil=True, cache=True, error_model="numpy")
def flip(net: FlatNetwork, place: int, turned_on: bool, desk: Desk) -> float:
    """Turn a candidate on or off; return the change of the log probability of its findings."""
    change, ratio = 0.0, 1.0
    for entry in range(desk.entry_offsets[place], desk.entry_offsets[place + 1]):
        x = desk.entry_places[entry]
        f = net.failures[desk.entry_edges[entry]]
        before = 1.0 - desk.absent[x]
        desk.absent[x] = desk.absent[x] * f if turned_on else desk.absent[x] / f
        ratio *= (1.0 - desk.absent[x]) / before
        if ratio > HUGE or ratio < 1.0 / HUGE:
            change += np.log(ratio)
            ratio = 1.0
    return float(change + np.log(ratio))


@numba.njit(nogil=True, cache=True)
def add_state(on: int, n_chosen: int, n_findings: int, weight: float, desk: Desk) -> None:
    """Add a state, given as bits of the candidates, to the sums."""
    for x in range(n_findings):
        desk.inverses[x] += weight / (1.0 - desk.absent[x])
    for place in range(n_chosen):
        if (on >> place) & 1:
            desk.probabilities[place] += weight
            for entry in range(desk.entry_offsets[place], desk.entry_offsets[place + 1]):
                desk.with_disease[entry] += weight / (1.0 - desk.absent[desk.entry_places[entry]])


@numba.njit(nogil=True, cache=True)
def scale_sums(n_chosen: int, n_findings: int, scale: float, desk: Desk) -> None:
    """Multiply all sums; by 0 to begin them, whatever they hold."""
    for sums, n in (
        (desk.probabilities, n_chosen),
        (desk.with_disease, desk.entry_offsets[n_chosen]),
        (desk.inverses, n_findings),
    ):
        for place in range(n):
            sums[place] = sums[place] * scale if scale > 0.0 else 0.0
