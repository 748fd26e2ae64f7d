"""Compiled draws of what nobody saw: the diseases of each record, and the causes of its findings.

Given the parameters, the diseases that explain a record's present findings are drawn jointly where
they are few; where they are many, a few parents of each present finding at a time, given all
others. A finding is present because of at least one of its causes, its leak or a disease: they are
gone through one after the other, and each is drawn given that none, or one, has come before. Equal
records are drawn together.
"""

import numpy as np

from noisyor.em import candidate_kernels, state_kernels
from noisyor.em.candidate_kernels import OpenRecord, SampledRecords
from noisyor.em.expected import ExpectedCounts
from noisyor.inference.flat import Booleans, FlatNetwork, Floats, Integers, Listed
from noisyor.inference.gibbs_kernels import Random, next_uniform, random_of
from noisyor.kernels import kernel

MOST_JOINT = 6
"""Diseases of a record that are drawn jointly..."""
LARGEST_BLOCK = 4
"""... and how many parents of a finding are at a time, where there are more."""


@kernel
def draw_records(
    net: FlatNetwork, records: SampledRecords, weights: Integers, seed: int, counts: ExpectedCounts
) -> None:
    """Draw diseases and causes once; add the counts of what was drawn.

    A record stands for as many as its weight says if its explaining diseases are drawn jointly;
    of others the weight is 1, and `states` has their diseases. Diseases of which a record lists no
    symptom are left out.
    """
    workspace = candidate_kernels.new_open_record(net)
    is_listed = np.zeros(len(net.priors), dtype=np.bool_)
    for record in range(len(weights)):
        random = random_of(seed, record)
        symptoms = candidate_kernels.open_record(net, records, record, workspace)
        here = slice(records.offsets[record], records.offsets[record + 1])
        is_unknown = records.is_unknown[here]
        n_explaining = list_parents(net, symptoms, is_unknown, False, is_listed, workspace)
        explaining = workspace.chosen[:n_explaining].copy()
        n_others = list_parents(net, symptoms, is_unknown, True, is_listed, workspace)
        others = workspace.chosen[:n_others].copy()
        for disease in others:
            probability = candidate_kernels.probability_of(net, disease, workspace)
            n = draw_binomial(weights[record], probability, random)
            count_cases(net, disease, n, workspace, counts)
        if n_explaining <= MOST_JOINT:
            workspace.chosen[:n_explaining] = explaining
            draw_copies(net, symptoms, n_explaining, weights[record], workspace, random, counts)
            workspace.is_on[explaining] = False
        else:
            draw_blocks(net, symptoms, is_unknown, workspace, random)
            for disease in explaining:
                if workspace.is_on[disease]:
                    count_cases(net, disease, 1, workspace, counts)
            count_causes(net, symptoms, 1, workspace, random, counts)
        is_listed[explaining] = is_listed[others] = False
        candidate_kernels.close_record(symptoms, workspace, records.states[record])


@kernel
def list_parents(
    net: FlatNetwork,
    symptoms: Listed,
    is_unknown: Booleans,
    of_unknown: bool,
    is_listed: Booleans,
    workspace: OpenRecord,
) -> int:
    """Write down the diseases of the present or the unknown findings that are not listed yet."""
    n_found = 0
    for x in range(len(symptoms)):
        if is_unknown[x] == of_unknown:
            for index in range(
                net.parent_offsets[symptoms[x]], net.parent_offsets[symptoms[x] + 1]
            ):
                disease = net.parent_diseases[index]
                if not is_listed[disease]:
                    is_listed[disease] = True
                    workspace.chosen[n_found] = disease
                    n_found += 1
    return n_found


@kernel
def count_listed(
    net: FlatNetwork,
    records: SampledRecords,
    weights: Integers,
    n_listed: Integers,
    n_seen: Integers,
) -> Integers:
    """Add up in how many records each disease has a symptom that is present or unknown.

    Or a label; apart, those in which it was seen without such a symptom. Returns how many diseases
    have a symptom that is present, record by record.
    """
    workspace = candidate_kernels.new_open_record(net)
    n_explaining = np.zeros(len(weights), dtype=np.int64)
    is_listed = np.zeros(len(net.priors), dtype=np.bool_)
    for record in range(len(weights)):
        here = slice(records.offsets[record], records.offsets[record + 1])
        symptoms, is_unknown = records.listed[here], records.is_unknown[here]
        n_explaining[record] = list_parents(net, symptoms, is_unknown, False, is_listed, workspace)
        list_parents(net, symptoms, is_unknown, True, is_listed, workspace)
        candidate_kernels.read_labels(records.seen, record, workspace.labels)
        n_seen += weights[record] * (~is_listed & (workspace.labels == 1))
        n_listed += weights[record] * (is_listed | (workspace.labels != 0))
        is_listed[:] = False
    return n_explaining


# --- diseases ---


@kernel
def weigh_states(net: FlatNetwork, log_odds: Floats, workspace: OpenRecord) -> Floats:
    """Return the probabilities of all states of the chosen diseases, given all others.

    `log_odds` are those that `list_entries` returns. The diseases are off before and afterwards.
    """
    n_chosen = len(log_odds)
    weights = np.empty(1 << n_chosen)
    log_weight, on = 0.0, 0
    weights[0] = 0.0
    for number in range(1, 1 << n_chosen):
        index = 0
        while not (number >> index) & 1:
            index += 1
        on ^= 1 << index
        turned_on = (on >> index) & 1 == 1
        log_weight += log_odds[index] if turned_on else -log_odds[index]
        log_weight += state_kernels.flip(net, index, turned_on, workspace)
        weights[on] = log_weight
    if n_chosen:
        state_kernels.flip(net, n_chosen - 1, False, workspace)
    weights = np.exp(weights - weights.max())
    return np.asarray(weights / weights.sum())


@kernel
def go_to(net: FlatNetwork, before: int, after: int, n_chosen: int, workspace: OpenRecord) -> None:
    """Turn the chosen diseases from one state to another."""
    for index in range(n_chosen):
        is_on = (after >> index) & 1 == 1
        if ((before >> index) & 1 == 1) != is_on:
            state_kernels.flip(net, index, is_on, workspace)
            workspace.is_on[workspace.chosen[index]] = is_on


@kernel
def draw_copies(
    net: FlatNetwork,
    symptoms: Listed,
    n_chosen: int,
    n_copies: int,
    workspace: OpenRecord,
    random: Random,
    counts: ExpectedCounts,
) -> None:
    """Draw the states of equal records, all chosen diseases jointly, and their causes."""
    log_odds = state_kernels.list_entries(net, n_chosen, workspace)
    probabilities = weigh_states(net, log_odds, workspace)
    left, share, before = n_copies, 1.0, 0
    for state in range(len(probabilities)):
        if left == 0:
            break
        is_last = state == len(probabilities) - 1
        n = left if is_last else draw_binomial(left, probabilities[state] / share, random)
        share = max(share - probabilities[state], 1e-300)
        left -= n
        if n > 0:
            go_to(net, before, state, n_chosen, workspace)
            before = state
            for index in range(n_chosen):
                if (state >> index) & 1:
                    count_cases(net, workspace.chosen[index], n, workspace, counts)
            count_causes(net, symptoms, n, workspace, random, counts)


@kernel
def draw_blocks(
    net: FlatNetwork,
    symptoms: Listed,
    is_unknown: Booleans,
    workspace: OpenRecord,
    random: Random,
) -> None:
    """Draw some parents of each present finding, chosen at random, given all other diseases."""
    for x in range(len(symptoms)):
        if is_unknown[x]:
            continue
        first, last = net.parent_offsets[symptoms[x]], net.parent_offsets[symptoms[x] + 1]
        workspace.chosen[: last - first] = net.parent_diseases[first:last]
        n_chosen, before = min(LARGEST_BLOCK, last - first), 0
        for index in range(n_chosen):
            other = index + int(next_uniform(random) * (last - first - index))
            chosen = workspace.chosen[other]
            workspace.chosen[other] = workspace.chosen[index]
            workspace.chosen[index] = chosen
            if workspace.is_on[chosen]:
                before |= 1 << index
        log_odds = state_kernels.list_entries(net, n_chosen, workspace)
        go_to(net, before, 0, n_chosen, workspace)
        probabilities = weigh_states(net, log_odds, workspace)
        point, state = next_uniform(random), 0
        while state < len(probabilities) - 1 and point >= probabilities[state]:
            point -= probabilities[state]
            state += 1
        go_to(net, 0, state, n_chosen, workspace)


# --- causes ---


@kernel
def count_cases(
    net: FlatNetwork, disease: int, n: int, workspace: OpenRecord, counts: ExpectedCounts
) -> None:
    """Count cases of a disease, and which of its findings are unknown in them."""
    counts.cases[disease] += n
    for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
        x = workspace.slots[net.edge_symptoms[edge]] - 1
        if x >= 0 and workspace.h[x] == 0.0:
            counts.unknown[edge] += n


@kernel
def count_causes(
    net: FlatNetwork,
    symptoms: Listed,
    n_copies: int,
    workspace: OpenRecord,
    random: Random,
    counts: ExpectedCounts,
) -> None:
    """Draw what caused the present findings of equal records with the same diseases.

    `absent` is the probability that none of the causes that are left is at work: a cause that is
    at work with probability a, before which there was none, is with probability a / (1 - absent).
    """
    for x in range(len(symptoms)):
        if workspace.h[x] == 0.0:
            continue
        j, absent = symptoms[x], workspace.absent[x]
        caused = draw_binomial(n_copies, net.leaks[j] / (1.0 - absent), random)
        counts.leaked[j] += caused
        absent /= 1.0 - net.leaks[j]
        for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            if workspace.is_on[net.parent_diseases[index]]:
                edge = net.parent_edges[index]
                strength = 1.0 - net.failures[edge]
                n = draw_binomial(n_copies - caused, strength / (1.0 - absent), random)
                counts.caused[edge] += n + draw_binomial(caused, strength, random)
                caused += n
                absent /= net.failures[edge]


@kernel
def draw_binomial(n: int, p: float, random: Random) -> int:
    """Return how many of n trials succeed: one by one where they are few, else by their gaps."""
    if n == 0 or not p > 0.0:
        return 0
    if p >= 1.0:
        return n
    if n < 4:
        found = 0
        for _ in range(n):
            found += next_uniform(random) < p
        return found
    is_rare = p <= 0.5
    log_missed = np.log1p(-p) if is_rare else np.log(p)
    found, trial = 0, 0.0
    while True:
        trial += 1.0 + np.floor(np.log1p(-next_uniform(random)) / log_missed)
        if trial > n:
            return found if is_rare else n - found
        found += 1
