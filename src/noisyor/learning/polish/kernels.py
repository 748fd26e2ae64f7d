"""Compiled passes over records: the expectations of EM, and the information for its errors."""

import numba
import numpy as np
from numpy.typing import NDArray

from noisyor.inference.random_kernels import seed_of
from noisyor.learning.polish.record_kernels import (
    MOST_ENUMERATED,
    Desk,
    FlatNetwork,
    Floats,
    Integers,
    Records,
    close_record,
    draw,
    enumerate_states,
    explain,
    list_candidates,
    new_desk,
    open_record,
    probability_of,
    score,
    screen,
)

NOTHING = 1e-7
"""Probabilities that are not worth the time to count them."""


# --- the expectations of EM ---


@numba.njit(nogil=True, cache=True, error_model="numpy")
def sample_records(
    net: FlatNetwork, records: Records, negligible: float, is_start: bool, must_screen: bool,
    n_sweeps: int, seed: int, cases: Floats, negligible_cases: Floats, caused: Floats,
    unknown: Floats, leaked: Floats,
) -> None:  # fmt: skip
    """Sample the diseases of each record `n_sweeps` times; add the last sweep's expectations."""
    desk = new_desk(len(net.priors), len(net.leaks))
    for record in range(len(records.offsets) - 1):
        state, random = records.states[record], seed_of(seed, records.first + record)
        symptoms = open_record(net, records, record, desk)
        if is_start:
            explain(net, symptoms, desk, state)
        if must_screen:
            screen(net, symptoms, negligible, desk, records.candidates[record])
            for disease in range(len(net.priors)):
                negligible_cases[disease] += desk.odds[disease]
                if desk.odds[disease] > NOTHING:
                    gather(net, disease, desk.odds[disease], desk, caused, unknown)
        n_chosen = list_candidates(records.candidates[record], desk)
        if n_chosen <= MOST_ENUMERATED:
            enumerate_states(net, symptoms, n_chosen, desk, state)
            gather_sums(net, symptoms, n_chosen, desk, cases, caused, unknown, leaked)
        else:
            for sweep in range(n_sweeps):
                for disease in desk.chosen[:n_chosen]:
                    probability = probability_of(net, disease, desk)
                    if sweep == n_sweeps - 1:
                        cases[disease] += probability
                        gather(net, disease, probability, desk, caused, unknown)
                    random = draw(net, disease, probability, random, desk, state)
            for x in range(len(symptoms)):
                if desk.h[x] > 0.0:
                    leaked[symptoms[x]] += net.leaks[symptoms[x]] * desk.w[x]
        close_record(symptoms, desk)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def gather(
    net: FlatNetwork, disease: int, probability: float, desk: Desk, caused: Floats, unknown: Floats
) -> None:
    """Add what a disease is expected to have caused: P(present) (1 - f) / P(finding present)."""
    for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
        x = desk.slots[net.edge_symptoms[edge]] - 1
        if x >= 0:
            if desk.h[x] == 0.0:
                unknown[edge] += probability
            else:
                f = net.failures[edge]
                with_disease = desk.absent[x] if desk.is_on[disease] else desk.absent[x] * f
                caused[edge] += probability * (1.0 - f) / (1.0 - with_disease)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def gather_sums(
    net: FlatNetwork, symptoms: NDArray[np.int32], n_chosen: int, desk: Desk, cases: Floats,
    caused: Floats, unknown: Floats, leaked: Floats,
) -> None:  # fmt: skip
    """Add the expectations over all states of the candidates."""
    for place in range(n_chosen):
        disease, probability = desk.chosen[place], desk.probabilities[place]
        cases[disease] += probability
        for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
            x = desk.slots[net.edge_symptoms[edge]] - 1
            if x >= 0 and desk.h[x] == 0.0:
                unknown[edge] += probability
        for entry in range(desk.entry_offsets[place], desk.entry_offsets[place + 1]):
            edge = desk.entry_edges[entry]
            caused[edge] += (1.0 - net.failures[edge]) * desk.with_disease[entry]
    for x in range(len(symptoms)):
        if desk.h[x] > 0.0:
            leaked[symptoms[x]] += net.leaks[symptoms[x]] * desk.inverses[x]


# --- the information on each disease of a large network ---


@numba.njit(nogil=True, cache=True, error_model="numpy")
def gather_information(
    net: FlatNetwork, records: Records, n_sweeps: int, seed: int, matrix_offsets: Integers,
    matrices: Floats, leak_information: Floats,
) -> None:  # fmt: skip
    """Add each record's information on each disease's failures and, last, its prior (Louis 1982).

    Were the diseases seen, a record would bring P s^2 for each failure, s its score. What is
    missing is the variance of the scores given the record: P (1 - P) s s^T.
    """
    desk = new_desk(len(net.priors), len(net.leaks))
    for record in range(len(records.offsets) - 1):
        state, random = records.states[record], seed_of(seed, records.first + record)
        symptoms = open_record(net, records, record, desk)
        n_chosen = list_candidates(records.candidates[record], desk)
        for _ in range(n_sweeps):
            for disease in desk.chosen[:n_chosen]:
                probability = probability_of(net, disease, desk)
                if probability > NOTHING:
                    matrix = matrices[matrix_offsets[disease] : matrix_offsets[disease + 1]]
                    score(net, disease, desk)
                    inform(net, disease, probability, 1.0 / n_sweeps, desk, matrix)
                random = draw(net, disease, probability, random, desk, state)
            for x in range(len(symptoms)):
                if desk.h[x] > 0.0:
                    # A finding's leak is seen as clearly as P(it came by itself) is certain.
                    leak = net.leaks[symptoms[x]]
                    leak_information[symptoms[x]] += (desk.h[x] / (1.0 - leak)) ** 2 / n_sweeps
        for symptom in symptoms:
            leak_information[symptom] -= 1.0 / (1.0 - net.leaks[symptom]) ** 2
        close_record(symptoms, desk)


@numba.njit(nogil=True, cache=True)
def inform(
    net: FlatNetwork, disease: int, probability: float, share: float, desk: Desk, matrix: Floats
) -> None:
    """Add a record's information on one disease to the lower triangle of its matrix."""
    m = net.child_offsets[disease + 1] - net.child_offsets[disease] + 1
    s, p = desk.scores, net.priors[disease]
    for a in range(m - 1):
        matrix[a * m + a] += probability * share * s[a] * s[a]
    missing = probability * (1.0 - probability) * share
    if missing > 1e-5:
        by_prior = 1.0 / (p * (1.0 - p))
        for a in range(m):
            by_a = s[a] if a < m - 1 else by_prior
            for b in range(a):
                matrix[a * m + b] -= missing * by_a * s[b]
            matrix[a * m + a] -= missing * by_a * by_a


# --- the scores of all parameters of a small network ---


@numba.njit(nogil=True, cache=True, error_model="numpy")
def gather_scores(
    net: FlatNetwork, records: Records, negligible: float, n_sweeps: int, seed: int, total: Floats,
    products: Floats,
) -> None:  # fmt: skip
    """Add up the records' expected scores, and the products of each two of them.

    Parameters are numbered: failures, priors, leaks. The score of a record in which every disease
    is impossible and every finding absent is left out here: -1 / (1 - p), -1 / (1 - leak). The
    expectations over two halves of the sweeps are multiplied, so that the noise of sampling does
    not add to the products.
    """
    desk = new_desk(len(net.priors), len(net.leaks))
    halves = np.zeros((2, len(total)))
    touched = np.empty(len(total), dtype=np.int64)
    for record in range(len(records.offsets) - 1):
        state, random = records.states[record], seed_of(seed, records.first + record)
        symptoms = open_record(net, records, record, desk)
        screen(net, symptoms, negligible, desk, records.candidates[record])
        for disease in range(len(net.priors)):
            if desk.odds[disease] > NOTHING:  # too small for the products, not for the sums
                add_scores(net, disease, desk.odds[disease], desk, total)
        n_chosen = list_candidates(records.candidates[record], desk)
        if n_chosen <= MOST_ENUMERATED:
            enumerate_states(net, symptoms, n_chosen, desk, state)
            score_sums(net, symptoms, n_chosen, desk, halves[0])
            halves[1] = halves[0]
        else:
            for sweep in range(2 * n_sweeps):
                half = halves[sweep // n_sweeps]
                for disease in desk.chosen[:n_chosen]:
                    probability = probability_of(net, disease, desk)
                    add_scores(net, disease, probability / n_sweeps, desk, half)
                    random = draw(net, disease, probability, random, desk, state)
                for x in range(len(symptoms)):
                    # Present: h / (1 - leak) instead of -1 / (1 - leak); unknown (h = 0): nothing.
                    at = len(total) - len(net.leaks) + symptoms[x]
                    half[at] += (desk.h[x] + 1.0) / (1.0 - net.leaks[symptoms[x]]) / n_sweeps
        n_touched = list_touched(net, symptoms, n_chosen, desk, touched)
        add_products(touched[:n_touched], halves, total, products)
        close_record(symptoms, desk)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def add_scores(
    net: FlatNetwork, disease: int, probability: float, desk: Desk, scores: Floats
) -> None:
    """Add the scores of a disease's failures and prior, times its probability."""
    score(net, disease, desk)
    first, p = net.child_offsets[disease], net.priors[disease]
    for edge in range(first, net.child_offsets[disease + 1]):
        scores[edge] += probability * desk.scores[edge - first]
    scores[len(net.failures) + disease] += probability / (p * (1.0 - p))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def score_sums(
    net: FlatNetwork, symptoms: NDArray[np.int32], n_chosen: int, desk: Desk, scores: Floats
) -> None:
    """Write down a record's scores over all states of its candidates."""
    n_edges, n_diseases = len(net.failures), len(net.priors)
    for place in range(n_chosen):
        disease, probability = desk.chosen[place], desk.probabilities[place]
        p = net.priors[disease]
        scores[n_edges + disease] = probability / (p * (1.0 - p))
        for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
            if desk.slots[net.edge_symptoms[edge]] == 0:
                scores[edge] = probability / net.failures[edge]
        for entry in range(desk.entry_offsets[place], desk.entry_offsets[place + 1]):
            edge = desk.entry_edges[entry]
            scores[edge] = (probability - desk.with_disease[entry]) / net.failures[edge]
    for x in range(len(symptoms)):
        inverse = desk.inverses[x] if desk.h[x] > 0.0 else 1.0
        scores[n_edges + n_diseases + symptoms[x]] = inverse / (1.0 - net.leaks[symptoms[x]])


@numba.njit(nogil=True, cache=True)
def list_touched(
    net: FlatNetwork, symptoms: NDArray[np.int32], n_chosen: int, desk: Desk, touched: Integers
) -> int:
    """Write down the parameters that a record has scores of; return how many there are."""
    n_edges, n_diseases, n_touched = len(net.failures), len(net.priors), 0
    for disease in desk.chosen[:n_chosen]:
        for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
            touched[n_touched] = edge
            n_touched += 1
        touched[n_touched] = n_edges + disease
        n_touched += 1
    for symptom in symptoms:
        touched[n_touched] = n_edges + n_diseases + symptom
        n_touched += 1
    return n_touched


@numba.njit(nogil=True, cache=True)
def add_products(touched: Integers, halves: Floats, total: Floats, products: Floats) -> None:
    """Add a record's scores and their products to the sums, and wipe them out."""
    for a in touched:
        total[a] += (halves[0, a] + halves[1, a]) / 2.0
        for b in touched:
            products[a, b] += halves[0, a] * halves[1, b]
    for a in touched:
        halves[0, a] = halves[1, a] = 0.0
