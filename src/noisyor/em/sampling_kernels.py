"""Compiled passes over records: the expectations of EM, and the information for its errors."""

from typing import NamedTuple

import numpy as np

from noisyor.em import candidate_kernels, state_kernels
from noisyor.em.candidate_kernels import (
    CERTAIN,
    MOST_ENUMERATED,
    OpenRecord,
    SampledRecords,
)
from noisyor.em.expected import ExpectedCounts
from noisyor.findings.blocks import Words
from noisyor.inference.flat import FlatNetwork, Floats, Integers, Listed
from noisyor.inference.gibbs_kernels import Random, random_of
from noisyor.kernels import kernel
from noisyor.structure import Structure

NOTHING = 1e-7
"""Probabilities that are not worth the time to count them."""


@kernel
def add_to(sums: Floats, index: int, value: float) -> None:
    """Add to one of some sums; on a card, where many threads do so at once, another function."""
    sums[index] += value


# --- the expectations of EM ---


class Sweeps(NamedTuple):
    """How to go over the records."""

    least_odds: float
    """Diseases with smaller odds are not candidates of a record."""
    is_start: bool
    must_screen: bool
    n_sweeps: int
    seed: int
    must_draw: bool = False
    """Leave each record in a state that is drawn even where all states are summed up; otherwise in
    the most probable one."""
    most_enumerated: int = MOST_ENUMERATED
    """Records with more candidates are sampled."""
    may_exchange: bool = False
    """Let diseases that explain the same findings take each other's places, in `gather_scores`
    alone; it takes as many times as long as there are diseases on."""


@kernel
def sample_records(
    net: FlatNetwork,
    records: SampledRecords,
    sweeps: Sweeps,
    counts: ExpectedCounts,
    negligible_cases: Floats,
) -> None:
    """Sample the diseases of each record some times; add the expected counts of the last sweep.

    Cases of diseases that are not candidates are added apart, where they are looked for.
    """
    workspace = candidate_kernels.new_open_record(net)
    for record in range(len(records.offsets) - 1):
        random = random_of(sweeps.seed, records.first + record)
        sample_record(net, records, record, sweeps, random, workspace, counts, negligible_cases)


@kernel
def sample_record(
    net: FlatNetwork,
    records: SampledRecords,
    record: int,
    sweeps: Sweeps,
    random: Random,
    workspace: OpenRecord,
    counts: ExpectedCounts,
    negligible_cases: Floats,
) -> None:
    """Do so with one record."""
    symptoms = candidate_kernels.open_record(net, records, record, workspace)
    if sweeps.is_start:
        candidate_kernels.explain(net, symptoms, workspace)
    if sweeps.must_screen:
        candidate_kernels.screen(
            net, symptoms, sweeps.least_odds, workspace, records.candidates[record]
        )
        for disease in range(len(net.priors)):
            odds = workspace.odds[disease]
            add_to(negligible_cases, disease, odds)
            if odds > NOTHING:
                gather(net, disease, odds, workspace, counts)
    n_chosen = candidate_kernels.list_elements(records.candidates[record], workspace.chosen)
    expect_record(net, symptoms, n_chosen, sweeps, random, workspace, counts)
    candidate_kernels.close_record(symptoms, workspace, records.states[record])


@kernel
def expect_record(
    net: FlatNetwork,
    symptoms: Listed,
    n_chosen: int,
    sweeps: Sweeps,
    random: Random,
    workspace: OpenRecord,
    counts: ExpectedCounts,
) -> None:
    """Add what a record with these candidates is expected to contain.

    The candidates' probabilities take the place of their odds in the workspace.
    """
    if n_chosen <= sweeps.most_enumerated:
        draws = random if sweeps.must_draw else random[:0]
        state_kernels.enumerate_states(net, symptoms, n_chosen, workspace, draws)
        gather_sums(net, symptoms, n_chosen, workspace, counts)
        for index in range(n_chosen):
            workspace.odds[workspace.chosen[index]] = workspace.probabilities[index]
        return
    for sweep in range(sweeps.n_sweeps):
        for disease in workspace.chosen[:n_chosen]:
            probability = candidate_kernels.probability_of(net, disease, workspace)
            if sweep == sweeps.n_sweeps - 1:
                add_to(counts.cases, disease, probability)
                workspace.odds[disease] = probability
                gather(net, disease, probability, workspace, counts)
            candidate_kernels.draw(net, disease, probability, random, workspace)
    for x in range(len(symptoms)):
        if workspace.h[x] > 0.0:
            add_to(counts.leaked, symptoms[x], net.leaks[symptoms[x]] * workspace.w[x])


@kernel
def gather(
    net: FlatNetwork, disease: int, chance: float, workspace: OpenRecord, counts: ExpectedCounts
) -> None:
    """Add what a disease is expected to have caused: P(present) (1 - f) / P(finding present)."""
    for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
        x = workspace.slots[net.edge_symptoms[edge]] - 1
        if x >= 0:
            if workspace.h[x] == 0.0:
                add_to(counts.unknown, edge, chance)
            else:
                f, absent = net.failures[edge], workspace.absent[x]
                with_disease = absent if workspace.is_on[disease] else absent * f
                add_to(counts.caused, edge, chance * (1.0 - f) / (1.0 - with_disease))


@kernel
def gather_sums(
    net: FlatNetwork, symptoms: Listed, n_chosen: int, workspace: OpenRecord, counts: ExpectedCounts
) -> None:
    """Add the expected counts over all states of the candidates."""
    for c in range(n_chosen):
        disease, probability = workspace.chosen[c], workspace.probabilities[c]
        add_to(counts.cases, disease, probability)
        for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
            x = workspace.slots[net.edge_symptoms[edge]] - 1
            if x >= 0 and workspace.h[x] == 0.0:
                add_to(counts.unknown, edge, probability)
        for entry in range(workspace.entry_offsets[c], workspace.entry_offsets[c + 1]):
            edge = workspace.entry_edges[entry]
            add_to(counts.caused, edge, (1.0 - net.failures[edge]) * workspace.with_disease[entry])
    for x in range(len(symptoms)):
        if workspace.h[x] > 0.0:
            add_to(counts.leaked, symptoms[x], net.leaks[symptoms[x]] * workspace.inverses[x])


# --- bounds of the likelihood ---


class SummedBounds(NamedTuple):
    """Lower bounds of the log evidences of some records, added up."""

    total: Floats
    n_records: Floats
    """Both have one entry."""

    @classmethod
    def zeros(cls, structure: Structure) -> "SummedBounds":
        """Return bounds of no record."""
        return cls(np.zeros(1), np.zeros(1))


@kernel
def bound_records(
    net: FlatNetwork, records: SampledRecords, every: int, bounded: SummedBounds
) -> None:
    """Add up lower bounds of the log evidences of some records, those of every so many.

    A bound is the sum over all states of the most plausible diseases, the others being absent. It
    depends on the network alone, not on what was sampled.
    """
    workspace, odds = candidate_kernels.new_open_record(net), np.empty(len(net.priors))
    fresh = SampledRecords(
        records.offsets, records.listed, records.is_unknown, records.first,
        np.zeros_like(records.states), records.candidates, records.seen,
    )  # fmt: skip
    log_silent = np.log(1.0 - net.leaks)
    log_nothing = np.log(1.0 - net.priors).sum() + log_silent.sum()
    for record in range(len(records.offsets) - 1):
        if (records.first + record) % every != 0:
            continue
        symptoms = candidate_kernels.open_record(net, fresh, record, workspace)
        candidate_kernels.explain(net, symptoms, workspace)
        candidate_kernels.find_plausible_odds(net, symptoms, workspace, odds)
        n_chosen = min(len(odds), MOST_ENUMERATED)
        workspace.chosen[:n_chosen] = np.argsort(-odds)[:n_chosen]
        workspace.is_on[:] = False
        log_evidence = log_nothing
        log_evidence += state_kernels.enumerate_states(
            net, symptoms, n_chosen, workspace, candidate_kernels.no_draws()
        )
        log_evidence -= CERTAIN * (workspace.labels[workspace.chosen[:n_chosen]] == 1).sum()
        for x in range(len(symptoms)):
            log_evidence -= log_silent[symptoms[x]]
            if workspace.h[x] > 0.0:
                log_evidence += np.log(net.leaks[symptoms[x]])
        bounded.total[0] += log_evidence
        bounded.n_records[0] += 1.0
        candidate_kernels.close_record(symptoms, workspace, fresh.states[record])


# --- the information on each disease of a large network ---


class DiseaseInformation(NamedTuple):
    """What records say of each disease, its prior and its failures, and of the leaks."""

    matrices: Floats
    """One for each disease, row by row, the prior last; only the lower triangles."""
    leaks: Floats

    @classmethod
    def zeros(cls, structure: Structure) -> "DiseaseInformation":
        """Return no information."""
        sizes = np.diff(structure.child_offsets) + 1
        return cls(np.zeros((sizes * sizes).sum()), np.zeros(structure.n_symptoms))


@kernel
def gather_information(
    net: FlatNetwork, records: SampledRecords, sweeps: Sweeps, information: DiseaseInformation
) -> None:
    """Add each record's information on each disease's failures and, last, its prior (Louis 1982).

    Were the diseases seen, a record would bring P s^2 for each failure, s its score. What is
    missing is the variance of the scores given the record: P (1 - P) s s^T.
    """
    offsets, sizes = np.zeros_like(net.child_offsets), np.diff(net.child_offsets) + 1
    offsets[1:] = np.cumsum(sizes * sizes)
    n_sweeps = sweeps.n_sweeps
    workspace = candidate_kernels.new_open_record(net)
    for record in range(len(records.offsets) - 1):
        random = random_of(sweeps.seed, records.first + record)
        symptoms = candidate_kernels.open_record(net, records, record, workspace)
        n_chosen = candidate_kernels.list_elements(records.candidates[record], workspace.chosen)
        for _ in range(n_sweeps):
            for disease in workspace.chosen[:n_chosen]:
                probability = candidate_kernels.probability_of(net, disease, workspace)
                if probability > NOTHING:
                    matrix = information.matrices[offsets[disease] : offsets[disease + 1]]
                    candidate_kernels.score(net, disease, workspace)
                    inform(net, disease, probability, 1.0 / n_sweeps, workspace, matrix)
                candidate_kernels.draw(net, disease, probability, random, workspace)
            for x in range(len(symptoms)):
                if workspace.h[x] > 0.0:
                    # A finding's leak is seen as clearly as P(it came by itself) is certain.
                    leak = net.leaks[symptoms[x]]
                    certain = (workspace.h[x] / (1.0 - leak)) ** 2
                    information.leaks[symptoms[x]] += certain / n_sweeps
        for symptom in symptoms:
            information.leaks[symptom] -= 1.0 / (1.0 - net.leaks[symptom]) ** 2
        candidate_kernels.close_record(symptoms, workspace, records.states[record])


@kernel
def inform(
    net: FlatNetwork,
    disease: int,
    probability: float,
    share: float,
    workspace: OpenRecord,
    matrix: Floats,
) -> None:
    """Add a record's information on one disease to the lower triangle of its matrix."""
    m = net.child_offsets[disease + 1] - net.child_offsets[disease] + 1
    s, p = workspace.scores, net.priors[disease]
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


class Scores(NamedTuple):
    """Derivatives of the log likelihood by all parameters, and the products of each two."""

    total: Floats
    information: Floats

    @classmethod
    def zeros(cls, structure: Structure) -> "Scores":
        """Return scores of no record."""
        size = structure.n_parameters
        return cls(np.zeros(size), np.zeros((size, size)))


@kernel
def gather_scores(
    net: FlatNetwork, records: SampledRecords, sweeps: Sweeps, scores: Scores
) -> None:
    """Add up the records' expected scores, and the products of each two of them.

    Parameters are numbered: priors, failures, leaks. The score of a record in which every disease
    is impossible and every finding absent is left out here: -1 / (1 - p), -1 / (1 - leak). The
    expectations over two halves of the sweeps are multiplied, so that the noise of sampling does
    not add to the products.
    """
    total, products = scores
    workspace = candidate_kernels.new_open_record(net)
    halves, plausible = np.zeros((2, len(total))), np.empty(len(net.priors))
    touched = np.empty(len(total), dtype=np.int64)
    for record in range(len(records.offsets) - 1):
        random = random_of(sweeps.seed, records.first + record)
        symptoms = candidate_kernels.open_record(net, records, record, workspace)
        find_candidates(net, symptoms, sweeps, plausible, workspace, records.candidates[record])
        for disease in range(len(net.priors)):
            if workspace.odds[disease] > NOTHING:  # too small for the products, not for the sums
                add_scores(net, disease, workspace.odds[disease], workspace, total)
        n_chosen = candidate_kernels.list_elements(records.candidates[record], workspace.chosen)
        expect_scores(net, symptoms, n_chosen, sweeps, random, workspace, halves)
        n_touched = list_touched(net, symptoms, n_chosen, workspace, touched)
        add_products(touched[:n_touched], halves, total, products)
        candidate_kernels.close_record(symptoms, workspace, records.states[record])


@kernel
def find_candidates(
    net: FlatNetwork, symptoms: Listed, sweeps: Sweeps, plausible: Floats, workspace: OpenRecord,
    candidates: Words,
) -> None:  # fmt: skip
    """Find the candidates of a record; where diseases may be exchanged, those for that, too."""
    least = sweeps.least_odds
    if sweeps.may_exchange:
        candidate_kernels.screen_closely(net, symptoms, least, workspace, plausible, candidates)
    else:
        candidate_kernels.screen(net, symptoms, least, workspace, candidates)


@kernel
def expect_scores(
    net: FlatNetwork, symptoms: Listed, n_chosen: int, sweeps: Sweeps, random: Random,
    workspace: OpenRecord, halves: Floats,
) -> None:  # fmt: skip
    """Write down a record's expected scores, twice: by two halves of the sweeps, or summed up."""
    n_sweeps = sweeps.n_sweeps
    if n_chosen <= MOST_ENUMERATED:
        no_draws = candidate_kernels.no_draws()
        state_kernels.enumerate_states(net, symptoms, n_chosen, workspace, no_draws)
        score_sums(net, symptoms, n_chosen, workspace, halves[0])
        halves[1] = halves[0]
        return
    first_leak = len(net.priors) + len(net.failures)
    for sweep in range(2 * n_sweeps):
        half = halves[sweep // n_sweeps]
        if sweeps.may_exchange:
            candidate_kernels.exchange(net, n_chosen, random, workspace)
        for disease in workspace.chosen[:n_chosen]:
            probability = candidate_kernels.probability_of(net, disease, workspace)
            add_scores(net, disease, probability / n_sweeps, workspace, half)
            candidate_kernels.draw(net, disease, probability, random, workspace)
        for x in range(len(symptoms)):
            # Present: h / (1 - leak) instead of -1 / (1 - leak); unknown (h = 0): nothing.
            leak = net.leaks[symptoms[x]]
            half[first_leak + symptoms[x]] += (workspace.h[x] + 1.0) / (1.0 - leak) / n_sweeps


@kernel
def add_scores(
    net: FlatNetwork, disease: int, probability: float, workspace: OpenRecord, scores: Floats
) -> None:
    """Add the scores of a disease's failures and prior, times its probability."""
    candidate_kernels.score(net, disease, workspace)
    first, p = net.child_offsets[disease], net.priors[disease]
    for edge in range(first, net.child_offsets[disease + 1]):
        scores[len(net.priors) + edge] += probability * workspace.scores[edge - first]
    scores[disease] += probability / (p * (1.0 - p))


@kernel
def score_sums(
    net: FlatNetwork, symptoms: Listed, n_chosen: int, workspace: OpenRecord, scores: Floats
) -> None:
    """Write down a record's scores over all states of its candidates."""
    n_edges, n_diseases = len(net.failures), len(net.priors)
    for index in range(n_chosen):
        disease, probability = workspace.chosen[index], workspace.probabilities[index]
        p = net.priors[disease]
        scores[disease] = probability / (p * (1.0 - p))
        for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
            if workspace.slots[net.edge_symptoms[edge]] == 0:
                scores[n_diseases + edge] = probability / net.failures[edge]
        for entry in range(workspace.entry_offsets[index], workspace.entry_offsets[index + 1]):
            edge = workspace.entry_edges[entry]
            missed = probability - workspace.with_disease[entry]
            scores[n_diseases + edge] = missed / net.failures[edge]
    for x in range(len(symptoms)):
        inverse = workspace.inverses[x] if workspace.h[x] > 0.0 else 1.0
        scores[n_edges + n_diseases + symptoms[x]] = inverse / (1.0 - net.leaks[symptoms[x]])


@kernel
def list_touched(
    net: FlatNetwork, symptoms: Listed, n_chosen: int, workspace: OpenRecord, touched: Integers
) -> int:
    """Write down the parameters that a record has scores of; return how many there are."""
    n_edges, n_diseases, n_touched = len(net.failures), len(net.priors), 0
    for disease in workspace.chosen[:n_chosen]:
        for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
            touched[n_touched] = n_diseases + edge
            n_touched += 1
        touched[n_touched] = disease
        n_touched += 1
    for symptom in symptoms:
        touched[n_touched] = n_edges + n_diseases + symptom
        n_touched += 1
    return n_touched


@kernel
def add_products(touched: Integers, halves: Floats, total: Floats, products: Floats) -> None:
    """Add a record's scores and their products to the sums, and wipe them out."""
    for a in touched:
        total[a] += (halves[0, a] + halves[1, a]) / 2.0
        for b in touched:
            products[a, b] += halves[0, a] * halves[1, b]
    for a in touched:
        halves[0, a] = halves[1, a] = 0.0


# --- what the diseases of a large network share ---


class SharedScores(NamedTuple):
    """Scores by all parameters, and the products of those by each two diseases' priors."""

    total: Floats
    information: Floats

    @classmethod
    def zeros(cls, structure: Structure) -> "SharedScores":
        """Return scores of no record."""
        n = structure.n_diseases
        return cls(np.zeros(structure.n_parameters), np.zeros((n, n)))


@kernel
def gather_shared(
    net: FlatNetwork, records: SampledRecords, sweeps: Sweeps, following: Floats,
    scores: SharedScores,
) -> None:  # fmt: skip
    """Do as `gather_scores`, with products of one score a disease: that by its prior.

    The disease's failures follow its prior, each by so much.
    """
    total, products = scores
    workspace = candidate_kernels.new_open_record(net)
    halves, touched = np.zeros((2, len(total))), np.empty(len(total), dtype=np.int64)
    by_disease, n_diseases = np.zeros((2, len(net.priors))), len(net.priors)
    for record in range(len(records.offsets) - 1):
        random = random_of(sweeps.seed, records.first + record)
        symptoms = candidate_kernels.open_record(net, records, record, workspace)
        candidates = records.candidates[record]
        candidate_kernels.screen(net, symptoms, sweeps.least_odds, workspace, candidates)
        for disease in range(n_diseases):
            if workspace.odds[disease] > NOTHING:
                add_scores(net, disease, workspace.odds[disease], workspace, total)
        n_chosen = candidate_kernels.list_elements(candidates, workspace.chosen)
        expect_scores(net, symptoms, n_chosen, sweeps, random, workspace, halves)
        chosen = workspace.chosen[:n_chosen]
        for half in range(2):
            for disease in chosen:
                found = halves[half, disease]
                for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
                    found += following[edge] * halves[half, n_diseases + edge]
                by_disease[half, disease] = found
        for a in chosen:
            for b in chosen:
                products[a, b] += by_disease[0, a] * by_disease[1, b]
        for a in touched[: list_touched(net, symptoms, n_chosen, workspace, touched)]:
            total[a] += (halves[0, a] + halves[1, a]) / 2.0
            halves[0, a] = halves[1, a] = 0.0
        candidate_kernels.close_record(symptoms, workspace, records.states[record])
