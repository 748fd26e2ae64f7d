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
NOTHING = 1e-7
"""Probabilities that are not worth the time to count them."""
HUGE = 1e200
MOST_ENUMERATED = 12
"""Records with more candidates are sampled; with fewer all states of them are summed up."""


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
    negligible: float, products: Floats, candidates: Words, cases: Floats,
) -> None:  # fmt: skip
    """Find the odds of all diseases at once; those that are not negligible become candidates.

    The others' expected cases are counted; their odds are left in `products`, 0 for candidates.
    """
    products[:] = 1.0
    for x in range(len(symptoms)):
        for place in range(parent_offsets[symptoms[x]], parent_offsets[symptoms[x] + 1]):
            products[parent_diseases[place]] *= inverse_failures[place] * w[x] - h[x]
    for disease in range(len(products)):
        odds = base_odds[disease] * products[disease]
        is_candidate = is_on[disease] or not odds < negligible
        set_bit(candidates, disease, is_candidate)
        products[disease] = 0.0 if is_candidate else odds
        cases[disease] += products[disease]


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
def close_record(symptoms: NDArray[np.int32], leaks: Floats, absent: Floats) -> None:
    """Take all diseases out of the findings' probabilities to be absent."""
    for x in range(len(symptoms)):
        absent[x] = 1.0 - leaks[symptoms[x]]


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
def enumerate_states(
    n_findings: int, chosen: Integers, child_offsets: Integers, edge_symptoms: Integers,
    failures: Floats, slots: NDArray[np.int32], base: Floats, absent: Floats, h: Floats,
    is_on: NDArray[np.bool_], state: Words, entry_offsets: Integers, entry_edges: Integers,
    entry_places: Integers, probabilities: Floats, with_disease: Floats, inverses: Floats,
) -> None:  # fmt: skip
    """Sum over all states of a record's candidates, one flip after the other (Gray code).

    Finds P(disease present) for each candidate, E[d / P(finding present | D)] for each of its
    present findings (an entry), and E[1 / P(finding present | D)] for each finding. The most
    probable state is kept. `absent` must be without any disease; it is left in the last state.
    """
    log_odds_of = np.empty(len(chosen))
    n_entries = 0
    for place in range(len(chosen)):
        disease = chosen[place]
        entry_offsets[place] = n_entries
        log_odds_of[place] = base[disease]
        for edge in range(child_offsets[disease], child_offsets[disease + 1]):
            x = slots[edge_symptoms[edge]] - 1
            if x >= 0:
                log_odds_of[place] -= np.log(failures[edge])
                if h[x] > 0.0:
                    entry_edges[n_entries] = edge
                    entry_places[n_entries] = x
                    with_disease[n_entries] = 0.0
                    n_entries += 1
        probabilities[place] = 0.0
    entry_offsets[len(chosen)] = n_entries
    inverses[:n_findings] = 0.0
    log_weight, reference, total = 0.0, 0.0, 0.0
    best, best_weight = 0, -np.inf
    on = 0
    for number in range(1 << len(chosen)):
        if number > 0:
            place = 0
            while not (number >> place) & 1:
                place += 1
            on ^= 1 << place
            turned_on = (on >> place) & 1 == 1
            log_weight += log_odds_of[place] if turned_on else -log_odds_of[place]
            ratio = 1.0
            for entry in range(entry_offsets[place], entry_offsets[place + 1]):
                x = entry_places[entry]
                f = failures[entry_edges[entry]]
                before = 1.0 - absent[x]
                absent[x] = absent[x] * f if turned_on else absent[x] / f
                ratio *= (1.0 - absent[x]) / before
                if ratio > HUGE or ratio < 1.0 / HUGE:
                    log_weight += np.log(ratio)
                    ratio = 1.0
            log_weight += np.log(ratio)
        if log_weight > best_weight:
            best, best_weight = on, log_weight
        if log_weight > reference + 20.0:
            # What was summed so far is small beside this: bring it to the new scale.
            scale = np.exp(reference - log_weight)
            total *= scale
            probabilities[: len(chosen)] *= scale
            with_disease[:n_entries] *= scale
            inverses[:n_findings] *= scale
            reference = log_weight
        weight = np.exp(log_weight - reference)
        if weight < 1e-12 * total:
            continue
        total += weight
        for x in range(n_findings):
            inverses[x] += weight / (1.0 - absent[x])
        for place in range(len(chosen)):
            if (on >> place) & 1:
                probabilities[place] += weight
                for entry in range(entry_offsets[place], entry_offsets[place + 1]):
                    with_disease[entry] += weight / (1.0 - absent[entry_places[entry]])
    probabilities[: len(chosen)] /= total
    with_disease[:n_entries] /= total
    inverses[:n_findings] /= total
    for place in range(len(chosen)):
        is_on[chosen[place]] = (best >> place) & 1 == 1
        set_bit(state, chosen[place], is_on[chosen[place]])


@numba.njit(nogil=True, cache=True, error_model="numpy")
def sample_records(
    offsets: Integers, listed: NDArray[np.int32], is_unknown: NDArray[np.bool_], first_record: int,
    child_offsets: Integers, edge_symptoms: Integers, parent_offsets: Integers,
    parent_diseases: Integers, inverse_failures: Floats, failures: Floats, leaks: Floats,
    base: Floats, negligible: float, is_start: bool, must_screen: bool, n_sweeps: int, seed: int,
    states: Words, candidates: Words, cases: Floats, negligible_cases: Floats, caused: Floats,
    unknown: Floats, leaked: Floats,
) -> None:  # fmt: skip
    """Sample the diseases of each record `n_sweeps` times; add the last sweep's expectations."""
    n_diseases, n_symptoms = len(base), len(leaks)
    base_odds = np.exp(base)
    slots = np.zeros(n_symptoms, dtype=np.int32)
    is_on = np.zeros(n_diseases, dtype=np.bool_)
    products = np.empty(n_diseases)
    chosen = np.empty(n_diseases, dtype=np.int64)
    absent, w, h = np.empty(n_symptoms), np.empty(n_symptoms), np.empty(n_symptoms)
    entry_offsets = np.empty(MOST_ENUMERATED + 1, dtype=np.int64)
    entry_edges = np.empty(MOST_ENUMERATED * n_symptoms, dtype=np.int64)
    entry_places = np.empty(MOST_ENUMERATED * n_symptoms, dtype=np.int64)
    probabilities = np.empty(MOST_ENUMERATED)
    with_disease = np.empty(MOST_ENUMERATED * n_symptoms)
    inverses = np.empty(n_symptoms)
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
                   is_on, negligible, products, candidates[record],
                   negligible_cases)  # fmt: skip
            for disease in range(n_diseases):
                if products[disease] > NOTHING:
                    gather(child_offsets[disease], child_offsets[disease + 1], edge_symptoms,
                           failures, slots, products[disease], False, absent, h, caused,
                           unknown)  # fmt: skip
        n_chosen = list_elements(candidates[record], n_diseases, chosen)
        if n_chosen <= MOST_ENUMERATED:
            close_record(symptoms, leaks, absent)
            enumerate_states(len(symptoms), chosen[:n_chosen], child_offsets, edge_symptoms,
                             failures, slots, base, absent, h, is_on, states[record],
                             entry_offsets, entry_edges, entry_places, probabilities,
                             with_disease, inverses)  # fmt: skip
            for place in range(n_chosen):
                cases[chosen[place]] += probabilities[place]
                for edge in range(child_offsets[chosen[place]], child_offsets[chosen[place] + 1]):
                    x = slots[edge_symptoms[edge]] - 1
                    if x >= 0 and h[x] == 0.0:
                        unknown[edge] += probabilities[place]
                for entry in range(entry_offsets[place], entry_offsets[place + 1]):
                    edge = entry_edges[entry]
                    caused[edge] += (1.0 - failures[edge]) * with_disease[entry]
            for x in range(len(symptoms)):
                if h[x] > 0.0:
                    leaked[symptoms[x]] += leaks[symptoms[x]] * inverses[x]
                slots[symptoms[x]] = 0
            continue
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
                if probability > NOTHING:
                    m = last - first + 1
                    score(first, last, edge_symptoms, failures, slots, is_on[disease], absent, h, s)
                    s[m - 1] = 1.0 / (priors[disease] * (1.0 - priors[disease]))
                    matrix = matrices[matrix_offsets[disease] : matrix_offsets[disease + 1]]
                    for a in range(m - 1):
                        matrix[a * m + a] += probability / n_sweeps * s[a] * s[a]
                    missing = probability * (1.0 - probability) / n_sweeps
                    if missing > 1e-5:
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


@numba.njit(nogil=True, cache=True, error_model="numpy")
def gather_scores(
    offsets: Integers, listed: NDArray[np.int32], is_unknown: NDArray[np.bool_], first_record: int,
    child_offsets: Integers, edge_symptoms: Integers, parent_offsets: Integers,
    parent_diseases: Integers, inverse_failures: Floats, failures: Floats, leaks: Floats,
    priors: Floats, base: Floats, negligible: float, n_sweeps: int, seed: int, states: Words,
    candidates: Words, total: Floats, products: Floats,
) -> None:  # fmt: skip
    """Add up the records' expected scores, and the products of each two of them.

    Parameters are numbered: failures, priors, leaks. The score of a record in which every disease
    is impossible and every finding absent is left out here: -1 / (1 - p), -1 / (1 - leak). The
    expectations over two halves of the sweeps are multiplied, so that the noise of sampling does
    not add to the products.
    """
    n_diseases, n_symptoms, n_edges = len(base), len(leaks), len(failures)
    slots = np.zeros(n_symptoms, dtype=np.int32)
    is_on = np.zeros(n_diseases, dtype=np.bool_)
    chosen = np.empty(n_diseases, dtype=np.int64)
    absent, w, h = np.empty(n_symptoms), np.empty(n_symptoms), np.empty(n_symptoms)
    s = np.empty(n_symptoms + 1)
    entry_offsets = np.empty(MOST_ENUMERATED + 1, dtype=np.int64)
    entry_edges = np.empty(MOST_ENUMERATED * n_symptoms, dtype=np.int64)
    entry_places = np.empty(MOST_ENUMERATED * n_symptoms, dtype=np.int64)
    probabilities = np.empty(MOST_ENUMERATED)
    with_disease = np.empty(MOST_ENUMERATED * n_symptoms)
    inverses = np.empty(n_symptoms)
    base_odds = np.exp(base)
    odds_of = np.empty(n_diseases)
    cases = np.zeros(n_diseases)
    halves = np.zeros((2, len(total)))
    touched = np.empty(len(total), dtype=np.int64)
    for record in range(len(offsets) - 1):
        random = np.uint64(seed) * SEED_OF_RUN + np.uint64(first_record + record) * SEED_OF_RECORD
        symptoms = listed[offsets[record] : offsets[record + 1]]
        open_record(symptoms, is_unknown[offsets[record] : offsets[record + 1]], child_offsets,
                    edge_symptoms, failures, leaks, states[record], slots, is_on, absent, w,
                    h)  # fmt: skip
        screen(symptoms, parent_offsets, parent_diseases, inverse_failures, base_odds, w, h, is_on,
               negligible, odds_of, candidates[record], cases)  # fmt: skip
        n_touched = 0
        for disease in range(n_diseases):
            if odds_of[disease] > NOTHING:  # too small for the products, not for the sums
                first, last = child_offsets[disease], child_offsets[disease + 1]
                score(first, last, edge_symptoms, failures, slots, False, absent, h, s)
                for edge in range(first, last):
                    total[edge] += odds_of[disease] * s[edge - first]
                p = priors[disease]
                total[n_edges + disease] += odds_of[disease] / (p * (1.0 - p))
        n_chosen = list_elements(candidates[record], n_diseases, chosen)
        n_turns = 2 * n_sweeps
        if n_chosen <= MOST_ENUMERATED:
            n_turns = 0
            close_record(symptoms, leaks, absent)
            enumerate_states(len(symptoms), chosen[:n_chosen], child_offsets, edge_symptoms,
                             failures, slots, base, absent, h, is_on, states[record],
                             entry_offsets, entry_edges, entry_places, probabilities,
                             with_disease, inverses)  # fmt: skip
            for place in range(n_chosen):
                disease = chosen[place]
                probability, p = probabilities[place] * n_sweeps, priors[disease]
                halves[0, n_edges + disease] = probability / (p * (1.0 - p))
                for edge in range(child_offsets[disease], child_offsets[disease + 1]):
                    if slots[edge_symptoms[edge]] == 0:
                        halves[0, edge] = probability / failures[edge]
                for entry in range(entry_offsets[place], entry_offsets[place + 1]):
                    edge = entry_edges[entry]
                    halves[0, edge] = (probability - n_sweeps * with_disease[entry]) / failures[
                        edge
                    ]
            for x in range(len(symptoms)):
                inverse = inverses[x] if h[x] > 0.0 else 1.0
                at = n_edges + n_diseases + symptoms[x]
                halves[0, at] = n_sweeps * inverse / (1.0 - leaks[symptoms[x]])
            halves[1] = halves[0]
        for turn_number in range(n_turns):
            half = halves[turn_number // n_sweeps]
            for disease in chosen[:n_chosen]:
                first, last = child_offsets[disease], child_offsets[disease + 1]
                odds = log_odds(first, last, edge_symptoms, failures, slots, base[disease],
                                is_on[disease], absent, w, h)  # fmt: skip
                probability = 1.0 / (1.0 + np.exp(-odds))
                score(first, last, edge_symptoms, failures, slots, is_on[disease], absent, h, s)
                for edge in range(first, last):
                    half[edge] += probability * s[edge - first]
                p = priors[disease]
                half[n_edges + disease] += probability / (p * (1.0 - p))
                random, uniform = next_uniform(random)
                if (uniform < probability) != is_on[disease]:
                    is_on[disease] = not is_on[disease]
                    turn(first, last, edge_symptoms, failures, slots, is_on[disease], absent, w, h)
                    set_bit(states[record], disease, is_on[disease])
            for x in range(len(symptoms)):
                # Present: h / (1 - leak) instead of -1 / (1 - leak); unknown (h = 0): nothing.
                leak = leaks[symptoms[x]]
                half[n_edges + n_diseases + symptoms[x]] += (h[x] + 1.0) / (1.0 - leak)
        for disease in chosen[:n_chosen]:
            for edge in range(child_offsets[disease], child_offsets[disease + 1]):
                touched[n_touched] = edge
                n_touched += 1
            touched[n_touched] = n_edges + disease
            n_touched += 1
        for x in range(len(symptoms)):
            touched[n_touched] = n_edges + n_diseases + symptoms[x]
            n_touched += 1
            slots[symptoms[x]] = 0
        for a in touched[:n_touched]:
            total[a] += (halves[0, a] + halves[1, a]) / (2.0 * n_sweeps)
            for b in touched[:n_touched]:
                products[a, b] += halves[0, a] * halves[1, b] / (n_sweeps * n_sweeps)
        for a in touched[:n_touched]:
            halves[0, a] = halves[1, a] = 0.0
