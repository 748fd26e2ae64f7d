"""Compiled Gibbs sampling of each record's diseases, with the expectations that EM needs.

Given the other diseases, with a_j = P(finding j absent | the others), disease i has the odds

    p / (1 - p)  prod_{absent j} f_ij  prod_{present j} (1 - a_j f_ij) / (1 - a_j)

With `base` = log(p / (1 - p)) + sum_j log f_ij over all children, each present finding multiplies
by (1/f - a) / (1 - a) = w/f - h, where w = 1 / (1 - a) and h = a / (1 - a): no division for each
edge. An unknown finding has w = 1 and h = 0, which takes its f out of `base` again.

Most diseases are nearly impossible for a record. They are screened all at once; only the others,
its candidates, are sampled one by one.
"""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

SEED_STEP = np.uint64(0x9E3779B97F4A7C15)
SEED_OF_RUN = np.uint64(0xD1342543DE82EF95)
SEED_OF_RECORD = np.uint64(0x2545F4914F6CDD1D)
NEGLIGIBLE = 1e-5
"""Diseases with smaller odds are no candidates; their expectation is counted all the same."""
HUGE = 1e200


@numba.njit(nogil=True, cache=True)
def next_uniform(state: np.uint64) -> tuple[np.uint64, float]:
    """Return the next state of splitmix64 and a number in [0, 1)."""
    state += SEED_STEP
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return state, float(z >> np.uint64(11)) / 9007199254740992.0


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


@numba.njit(nogil=True, cache=True, error_model="numpy")
def turn(
    first: int, last: int, edge_symptoms: Integers, failures: Floats, slots: NDArray[np.int32],
    is_on: bool, absent: Floats, w: Floats, h: Floats,
) -> None:  # fmt: skip
    """Put a disease into the findings' probabilities to be absent, or take it out."""
    for edge in range(first, last):
        x = slots[edge_symptoms[edge]] - 1
        if x >= 0 and h[x] > 0.0:
            absent[x] = absent[x] * failures[edge] if is_on else absent[x] / failures[edge]
            w[x] = 1.0 / (1.0 - absent[x])
            h[x] = absent[x] * w[x]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def log_odds(
    first: int, last: int, edge_symptoms: Integers, failures: Floats, slots: NDArray[np.int32],
    base: float, is_on: bool, absent: Floats, w: Floats, h: Floats,
) -> float:  # fmt: skip
    """Return the log odds of a disease given all others."""
    product = 1.0
    for edge in range(first, last):
        x = slots[edge_symptoms[edge]] - 1
        if x >= 0:
            f = failures[edge]
            if h[x] == 0.0:
                product /= f
            elif is_on:
                product *= (1.0 - absent[x]) / (f - absent[x])
            else:
                product *= w[x] / f - h[x]
            if product > HUGE:
                base += np.log(product)
                product = 1.0
    return float(base + np.log(product))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def gather(
    first: int, last: int, edge_symptoms: Integers, failures: Floats, slots: NDArray[np.int32],
    probability: float, is_on: bool, absent: Floats, h: Floats, caused: Floats, unknown: Floats,
) -> None:  # fmt: skip
    """Add what a disease is expected to have caused: P(present) (1 - f) / P(finding present)."""
    for edge in range(first, last):
        x = slots[edge_symptoms[edge]] - 1
        if x >= 0:
            if h[x] == 0.0:
                unknown[edge] += probability
            else:
                f = failures[edge]
                with_disease = absent[x] if is_on else absent[x] * f
                caused[edge] += probability * (1.0 - f) / (1.0 - with_disease)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def screen(
    symptoms: NDArray[np.int32], parent_offsets: Integers, parent_diseases: Integers,
    inverse_failures: Floats, base_odds: Floats, w: Floats, h: Floats, is_on: NDArray[np.bool_],
    products: Floats, candidates: Words, cases: Floats,
) -> None:  # fmt: skip
    """Find the odds of all diseases at once; those that are not negligible become candidates."""
    products[:] = 1.0
    for x in range(len(symptoms)):
        for place in range(parent_offsets[symptoms[x]], parent_offsets[symptoms[x] + 1]):
            products[parent_diseases[place]] *= inverse_failures[place] * w[x] - h[x]
    for disease in range(len(products)):
        odds = base_odds[disease] * products[disease]
        is_candidate = is_on[disease] or not odds < NEGLIGIBLE
        set_bit(candidates, disease, is_candidate)
        if not is_candidate:
            cases[disease] += odds


@numba.njit(nogil=True, cache=True, error_model="numpy")
def explain(
    symptoms: NDArray[np.int32], child_offsets: Integers, edge_symptoms: Integers,
    parent_offsets: Integers, parent_diseases: Integers, inverse_failures: Floats,
    failures: Floats, base_odds: Floats, slots: NDArray[np.int32], absent: Floats, w: Floats,
    h: Floats, is_on: NDArray[np.bool_], products: Floats, state: Words,
) -> None:  # fmt: skip
    """Start a record: turn on the most probable disease while one is more probable than not."""
    for _ in range(len(products)):
        products[:] = 1.0
        for x in range(len(symptoms)):
            for place in range(parent_offsets[symptoms[x]], parent_offsets[symptoms[x] + 1]):
                products[parent_diseases[place]] *= inverse_failures[place] * w[x] - h[x]
        best, best_odds = -1, 1.0
        for disease in range(len(products)):
            odds = base_odds[disease] * products[disease]
            if not is_on[disease] and odds > best_odds:
                best, best_odds = disease, odds
        if best < 0:
            return
        is_on[best] = True
        set_bit(state, best, True)
        turn(child_offsets[best], child_offsets[best + 1], edge_symptoms, failures, slots, True,
             absent, w, h)  # fmt: skip


@numba.njit(nogil=True, cache=True, error_model="numpy")
def open_record(
    symptoms: NDArray[np.int32], is_unknown: NDArray[np.bool_], child_offsets: Integers,
    edge_symptoms: Integers, failures: Floats, leaks: Floats, state: Words,
    slots: NDArray[np.int32], is_on: NDArray[np.bool_], absent: Floats, w: Floats, h: Floats,
) -> None:  # fmt: skip
    """Find P(absent) of each finding given the diseases that are on; `slots` are places, from 1."""
    for x in range(len(symptoms)):
        slots[symptoms[x]] = x + 1
        absent[x] = 1.0 - leaks[symptoms[x]]
        w[x] = 1.0 / (1.0 - absent[x])
        h[x] = absent[x] * w[x]
        if is_unknown[x]:
            w[x], h[x] = 1.0, 0.0
    for disease in range(len(is_on)):
        is_on[disease] = has_bit(state, disease)
        if is_on[disease]:
            turn(child_offsets[disease], child_offsets[disease + 1], edge_symptoms, failures,
                 slots, True, absent, w, h)  # fmt: skip


@numba.njit(nogil=True, cache=True)
def list_elements(words: Words, n: int, elements: Integers) -> int:
    """Write down the elements of a set of bits; return how many there are."""
    n_found = 0
    for element in range(n):
        if has_bit(words, element):
            elements[n_found] = element
            n_found += 1
    return n_found


@numba.njit(nogil=True, cache=True, error_model="numpy")
def sample_records(
    offsets: Integers, listed: NDArray[np.int32], is_unknown: NDArray[np.bool_], first_record: int,
    child_offsets: Integers, edge_symptoms: Integers, parent_offsets: Integers,
    parent_diseases: Integers, inverse_failures: Floats, failures: Floats, leaks: Floats,
    base: Floats, is_start: bool, must_screen: bool, n_sweeps: int, seed: int, states: Words,
    candidates: Words, cases: Floats, negligible_cases: Floats, caused: Floats, unknown: Floats,
    leaked: Floats,
) -> None:  # fmt: skip
    """Sample the diseases of each record `n_sweeps` times; add the last sweep's expectations."""
    n_diseases, n_symptoms = len(base), len(leaks)
    base_odds = np.exp(base)
    slots = np.zeros(n_symptoms, dtype=np.int32)
    is_on = np.zeros(n_diseases, dtype=np.bool_)
    products = np.empty(n_diseases)
    chosen = np.empty(n_diseases, dtype=np.int64)
    absent, w, h = np.empty(n_symptoms), np.empty(n_symptoms), np.empty(n_symptoms)
    for record in range(len(offsets) - 1):
        random = np.uint64(seed) * SEED_OF_RUN + np.uint64(first_record + record) * SEED_OF_RECORD
        symptoms = listed[offsets[record] : offsets[record + 1]]
        open_record(symptoms, is_unknown[offsets[record] : offsets[record + 1]], child_offsets,
                    edge_symptoms, failures, leaks, states[record], slots, is_on, absent, w,
                    h)  # fmt: skip
        if is_start:
            explain(symptoms, child_offsets, edge_symptoms, parent_offsets, parent_diseases,
                    inverse_failures, failures, base_odds, slots, absent, w, h, is_on, products,
                    states[record])  # fmt: skip
        if must_screen:
            screen(symptoms, parent_offsets, parent_diseases, inverse_failures, base_odds, w, h,
                   is_on, products, candidates[record], negligible_cases)  # fmt: skip
        n_chosen = list_elements(candidates[record], n_diseases, chosen)
        for turn_number in range(n_sweeps):
            for disease in chosen[:n_chosen]:
                first, last = child_offsets[disease], child_offsets[disease + 1]
                odds = log_odds(first, last, edge_symptoms, failures, slots, base[disease],
                                is_on[disease], absent, w, h)  # fmt: skip
                probability = 1.0 / (1.0 + np.exp(-odds))
                if turn_number == n_sweeps - 1:
                    cases[disease] += probability
                    gather(first, last, edge_symptoms, failures, slots, probability,
                           is_on[disease], absent, h, caused, unknown)  # fmt: skip
                random, uniform = next_uniform(random)
                if (uniform < probability) != is_on[disease]:
                    is_on[disease] = not is_on[disease]
                    turn(first, last, edge_symptoms, failures, slots, is_on[disease], absent, w, h)
                    set_bit(states[record], disease, is_on[disease])
        for x in range(len(symptoms)):
            if h[x] > 0.0:
                leaked[symptoms[x]] += leaks[symptoms[x]] * w[x]
            slots[symptoms[x]] = 0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def score(
    first: int, last: int, edge_symptoms: Integers, failures: Floats, slots: NDArray[np.int32],
    is_on: bool, absent: Floats, h: Floats, scores: Floats,
) -> None:  # fmt: skip
    """Find the derivatives of a record's log likelihood by a disease's failures, if it is present.

    1 / f for an absent finding, -a / (1 - a f) for a present one, 0 for an unknown one.
    """
    for edge in range(first, last):
        x = slots[edge_symptoms[edge]] - 1
        f = failures[edge]
        if x < 0:
            scores[edge - first] = 1.0 / f
        elif h[x] > 0.0:
            without = absent[x] / f if is_on else absent[x]
            scores[edge - first] = -without / (1.0 - without * f)
        else:
            scores[edge - first] = 0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def gather_information(
    offsets: Integers, listed: NDArray[np.int32], is_unknown: NDArray[np.bool_], first_record: int,
    child_offsets: Integers, edge_symptoms: Integers, failures: Floats, leaks: Floats,
    priors: Floats, base: Floats, n_sweeps: int, seed: int, states: Words, candidates: Words,
    matrix_offsets: Integers, matrices: Floats, leak_information: Floats,
) -> None:  # fmt: skip
    """Add each record's information on each disease's failures and, last, its prior (Louis 1982).

    Were the diseases seen, a record would bring P s^2 for each failure, s its score. What is
    missing is the variance of the scores given the record: P (1 - P) s s^T.
    """
    n_diseases, n_symptoms = len(base), len(leaks)
    slots = np.zeros(n_symptoms, dtype=np.int32)
    is_on = np.zeros(n_diseases, dtype=np.bool_)
    chosen = np.empty(n_diseases, dtype=np.int64)
    absent, w, h = np.empty(n_symptoms), np.empty(n_symptoms), np.empty(n_symptoms)
    s = np.empty(n_symptoms + 1)
    for record in range(len(offsets) - 1):
        random = np.uint64(seed) * SEED_OF_RUN + np.uint64(first_record + record) * SEED_OF_RECORD
        symptoms = listed[offsets[record] : offsets[record + 1]]
        open_record(symptoms, is_unknown[offsets[record] : offsets[record + 1]], child_offsets,
                    edge_symptoms, failures, leaks, states[record], slots, is_on, absent, w,
                    h)  # fmt: skip
        n_chosen = list_elements(candidates[record], n_diseases, chosen)
        for _ in range(n_sweeps):
            for disease in chosen[:n_chosen]:
                first, last = child_offsets[disease], child_offsets[disease + 1]
                odds = log_odds(first, last, edge_symptoms, failures, slots, base[disease],
                                is_on[disease], absent, w, h)  # fmt: skip
                probability = 1.0 / (1.0 + np.exp(-odds))
                if probability > NEGLIGIBLE:
                    m = last - first + 1
                    score(first, last, edge_symptoms, failures, slots, is_on[disease], absent, h, s)
                    s[m - 1] = 1.0 / (priors[disease] * (1.0 - priors[disease]))
                    matrix = matrices[matrix_offsets[disease] : matrix_offsets[disease + 1]]
                    for a in range(m - 1):
                        matrix[a * m + a] += probability / n_sweeps * s[a] * s[a]
                    missing = probability * (1.0 - probability) / n_sweeps
                    if missing > NEGLIGIBLE:
                        for a in range(m):
                            for b in range(a + 1):
                                matrix[a * m + b] -= missing * s[a] * s[b]
                random, uniform = next_uniform(random)
                if (uniform < probability) != is_on[disease]:
                    is_on[disease] = not is_on[disease]
                    turn(first, last, edge_symptoms, failures, slots, is_on[disease], absent, w, h)
                    set_bit(states[record], disease, is_on[disease])
            for x in range(len(symptoms)):
                if h[x] > 0.0:
                    # A finding's leak is seen as clearly as P(it came by itself) is certain.
                    leak = leaks[symptoms[x]]
                    leak_information[symptoms[x]] += (h[x] / (1.0 - leak)) ** 2 / n_sweeps
        for x in range(len(symptoms)):
            leak_information[symptoms[x]] -= 1.0 / (1.0 - leaks[symptoms[x]]) ** 2
            slots[symptoms[x]] = 0
