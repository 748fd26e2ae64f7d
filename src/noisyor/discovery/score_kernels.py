"""Compiled passes over records: what each says of every pair of a disease and a symptom.

With P_j = P(symptom j present | D) and, given a record,

    e_i = E[d_i]        h_j = E[1 / P_j]        g_ij = E[d_i / P_j]        where j is present,

the derivatives of its log likelihood by -log f_ij, by -log(1 - leak_j) and by the log odds of p_i
are s_ij = g_ij - e_i, h_j - 1 and e_i - p_i; without g and h where j is absent, 0 where it is
unknown. The first is the same for an edge that the network has and for one that it has not (f = 1).
A record's probability is linear in each failure: with another one, f', it is 1 + (f - f') / f s_ij
times as large, exactly.
"""

from typing import NamedTuple

import numpy as np

from noisyor.em import candidate_kernels, state_kernels
from noisyor.em.candidate_kernels import MOST_ENUMERATED, OpenRecord, SampledRecords
from noisyor.inference.flat import FlatNetwork, Floats, Integers, Listed
from noisyor.inference.gibbs_kernels import Random, random_of
from noisyor.kernels import kernel
from noisyor.structure import Structure

SUMMED = 10
"""Records with more diseases that are likely are sampled; otherwise all states are summed up of so
many, and others are looked at one by one."""
LIKELY, UNLIKELY, LEAST_ODDS = 1e-3, 1e-4, 1e-6
"""Odds of a disease. Those below the second need not be summed up with others; those below the last
are not candidates of a record."""
BURN_IN, SWEEPS = 4, 12
STRENGTHS = (0.01, 0.03, 0.1, 0.2, 0.35, 0.55, 0.75, 0.95)
"""Values of 1 - f of edges that a network does not have."""


class PairSums(NamedTuple):
    """Sums over records; diseases x symptoms where nothing else is said."""

    e: Floats
    """Of each disease..."""
    ee: Floats
    unknown_e: Floats
    """... and over records in which the symptom is unknown."""
    unknown_ee: Floats
    g: Floats
    """Over records in which the symptom is present; the next ones too."""
    gg: Floats
    ge: Floats
    gh: Floats
    eh: Floats
    h: Floats
    """Of each symptom."""
    hh: Floats
    absent_gains: Floats
    """Diseases x strengths: what edges to a symptom that is always absent would add to the log
    likelihood..."""
    gains: Floats
    """... and how much more each adds where its symptom is as it is."""
    edge_gains: Floats
    """What is gained without each edge that the network has."""

    @classmethod
    def zeros(cls, structure: Structure) -> "PairSums":
        """Return sums over no record."""
        n, m, k = structure.n_diseases, structure.n_symptoms, len(STRENGTHS)
        shapes: list[tuple[int, ...]] = [*[(n,)] * 2, *[(n, m)] * 7, *[(m,)] * 2]
        shapes += [(n, k), (n, m, k), (structure.n_edges,)]
        return cls(*(np.zeros(shape) for shape in shapes))


class RecordExpectation(NamedTuple):
    """What one record says, for its candidates."""

    e: Floats
    h: Floats
    """Of each of its findings that are present or unknown."""
    g: Floats
    """Candidates x findings."""


@kernel
def new_expectation(net: FlatNetwork) -> RecordExpectation:
    """Return what is to be filled in."""
    n, m = len(net.priors), len(net.leaks)
    return RecordExpectation(np.empty(n), np.empty(m), np.empty((n, m)))


@kernel
def sum_pairs(
    net: FlatNetwork, full: FlatNetwork, records: SampledRecords, weights: Floats, span: Integers,
    seed: int, sums: PairSums,
) -> None:  # fmt: skip
    """Add up what the records of a span say of all pairs.

    `full` is the same network with an edge, of failure 1, for each pair that has none. The states
    of the records must be empty.
    """
    workspace, found = candidate_kernels.new_open_record(net), new_expectation(net)
    for record in range(span[0], span[1]):
        random = random_of(seed, records.first + record)
        symptoms = candidate_kernels.open_record(net, records, record, workspace)
        n_chosen = expect_pairs(net, full, symptoms, random, workspace, found)
        weight = weights[record]
        for c in range(n_chosen):
            i, e = workspace.chosen[c], found.e[c]
            sums.e[i] += weight * e
            sums.ee[i] += weight * e * e
            add_gains(net, symptoms, c, weight, workspace, found, sums)
            for x in range(len(symptoms)):
                j = symptoms[x]
                if workspace.h[x] == 0.0:
                    sums.unknown_e[i, j] += weight * e
                    sums.unknown_ee[i, j] += weight * e * e
                    continue
                g, h = found.g[c, x], found.h[x]
                sums.g[i, j] += weight * g
                sums.gg[i, j] += weight * g * g
                sums.ge[i, j] += weight * g * e
                sums.gh[i, j] += weight * g * h
                sums.eh[i, j] += weight * e * h
        for x in range(len(symptoms)):
            if workspace.h[x] > 0.0:
                sums.h[symptoms[x]] += weight * found.h[x]
                sums.hh[symptoms[x]] += weight * found.h[x] ** 2
        candidate_kernels.close_record(symptoms, workspace, records.states[record])


@kernel
def add_gains(
    net: FlatNetwork, symptoms: Listed, c: int, weight: float, workspace: OpenRecord,
    found: RecordExpectation, sums: PairSums,
) -> None:  # fmt: skip
    """Add what a record would gain or lose by edges of one of its candidates."""
    i, e = workspace.chosen[c], found.e[c]
    for k in range(len(STRENGTHS)):
        if_absent = log_of(-STRENGTHS[k] * e)
        sums.absent_gains[i, k] += weight * if_absent
        for x in range(len(symptoms)):
            gain = -if_absent
            if workspace.h[x] > 0.0:
                gain += log_of(STRENGTHS[k] * (found.g[c, x] - e))
            sums.gains[i, symptoms[x], k] += weight * gain
    for edge in range(net.child_offsets[i], net.child_offsets[i + 1]):
        x, f = workspace.slots[net.edge_symptoms[edge]] - 1, net.failures[edge]
        if x >= 0 and workspace.h[x] == 0.0:
            continue
        score = found.g[c, x] - e if x >= 0 else -e
        sums.edge_gains[edge] += weight * log_of((f - 1.0) / f * score)


@kernel
def log_of(change: float) -> float:
    """Return log(1 + change), quickly where little changes."""
    if abs(change) < 1e-3:
        return change - 0.5 * change * change
    return float(np.log(max(1.0 + change, 1e-300)))


@kernel
def score_pairs(
    net: FlatNetwork, full: FlatNetwork, records: SampledRecords, span: Integers, seed: int,
    pairs: Integers, rows: Floats,
) -> None:  # fmt: skip
    """Write the scores of the records of a span: by the priors, the leaks and some pairs."""
    workspace, found = candidate_kernels.new_open_record(net), new_expectation(net)
    n, m = len(net.priors), len(net.leaks)
    index_of = np.empty(n, dtype=np.int64)
    for record in range(span[0], span[1]):
        random = random_of(seed, records.first + record)
        symptoms = candidate_kernels.open_record(net, records, record, workspace)
        n_chosen = expect_pairs(net, full, symptoms, random, workspace, found)
        row = rows[record - span[0]]
        row[:n], row[n : n + m] = -net.priors, -1.0
        index_of[:] = -1
        for c in range(n_chosen):
            index_of[workspace.chosen[c]] = c
            row[workspace.chosen[c]] += found.e[c]
        for x in range(len(symptoms)):
            row[n + symptoms[x]] = found.h[x] - 1.0 if workspace.h[x] > 0.0 else 0.0
        for number in range(len(pairs)):
            c, x = index_of[pairs[number, 0]], workspace.slots[pairs[number, 1]] - 1
            score = 0.0
            if c >= 0 and x < 0:
                score = -found.e[c]
            elif c >= 0 and workspace.h[x] > 0.0:
                score = found.g[c, x] - found.e[c]
            row[n + m + number] = score
        candidate_kernels.close_record(symptoms, workspace, records.states[record])


# --- one record ---


@kernel
def expect_pairs(
    net: FlatNetwork, full: FlatNetwork, symptoms: Listed, random: Random, workspace: OpenRecord,
    found: RecordExpectation,
) -> int:  # fmt: skip
    """Fill in what a record says; return how many candidates it has."""
    n_chosen, n_summed = choose(net, symptoms, workspace)
    if n_summed < 0:
        sample_states(net, symptoms, n_chosen, random, workspace, found)
        return n_chosen
    sum_states(full, symptoms, n_summed, workspace, found)
    for c in range(n_summed, n_chosen):
        look_at(net, full, symptoms, c, workspace, found)
    return n_chosen


@kernel
def choose(net: FlatNetwork, symptoms: Listed, workspace: OpenRecord) -> tuple[int, int]:
    """List the diseases that are possible for a record, the likeliest first: all if they are few.

    Returns how many there are, and of how many all states are summed up; -1 if they are sampled.
    """
    n = len(net.priors)
    if n <= SUMMED:
        workspace.chosen[:n] = np.arange(n)
        return n, n
    candidate_kernels.explain(net, symptoms, workspace)
    odds = np.empty(n)
    candidate_kernels.find_plausible_odds(net, symptoms, workspace, odds)
    workspace.odds[:] = odds
    n_chosen, n_likely, n_unlikely = 0, 0, 0
    for disease in np.argsort(-odds):
        if odds[disease] < LEAST_ODDS:
            break
        workspace.chosen[n_chosen] = disease
        n_chosen += 1
        n_likely += odds[disease] >= LIKELY
        n_unlikely += odds[disease] < UNLIKELY
    if n_likely > SUMMED:
        return n_chosen, -1
    return n_chosen, min(n_chosen - n_unlikely, SUMMED)


@kernel
def look_at(
    net: FlatNetwork, full: FlatNetwork, symptoms: Listed, c: int, workspace: OpenRecord,
    found: RecordExpectation,
) -> None:  # fmt: skip
    """Fill in what a record says of a disease that is hardly possible, all others as they are.

    It changes nothing for symptoms that are not its own: g = e h. Its own are present at least as
    probably as it causes them.
    """
    disease = workspace.chosen[c]
    e, first = (
        workspace.odds[disease] / (1.0 + workspace.odds[disease]),
        full.child_offsets[disease],
    )
    found.e[c] = e
    for x in range(len(symptoms)):
        j = symptoms[x]
        alone = 1.0 / (1.0 - full.failures[first + j] * (1.0 - net.leaks[j]))
        found.g[c, x] = e * max(min(found.h[x], alone), 1.0)


@kernel
def sum_states(
    full: FlatNetwork, symptoms: Listed, n_chosen: int, workspace: OpenRecord,
    found: RecordExpectation,
) -> None:  # fmt: skip
    """Sum over all states of the candidates."""
    no_draws = candidate_kernels.no_draws()
    state_kernels.enumerate_states(full, symptoms, n_chosen, workspace, no_draws)
    found.h[: len(symptoms)] = workspace.inverses[: len(symptoms)]
    for c in range(n_chosen):
        found.e[c] = workspace.probabilities[c]
        for entry in range(workspace.entry_offsets[c], workspace.entry_offsets[c + 1]):
            found.g[c, workspace.entry_findings[entry]] = workspace.with_disease[entry]


@kernel
def sample_states(
    net: FlatNetwork, symptoms: Listed, n_chosen: int, random: Random, workspace: OpenRecord,
    found: RecordExpectation,
) -> None:  # fmt: skip
    """Take means over sampled states, of each disease over both of its own (Rao and Blackwell)."""
    n_findings, w = len(symptoms), workspace.w
    found.e[:n_chosen], found.h[:n_findings], found.g[:n_chosen, :n_findings] = 0.0, 0.0, 0.0
    for sweep in range(BURN_IN + SWEEPS):
        is_kept = sweep >= BURN_IN
        for c in range(n_chosen):
            disease = workspace.chosen[c]
            probability = candidate_kernels.probability_of(net, disease, workspace)
            if is_kept:
                part = probability / SWEEPS
                found.e[c] += part
                for x in range(n_findings):
                    found.g[c, x] += part * w[x]
                if not workspace.is_on[disease]:
                    correct_own(net, disease, part, workspace, found.g[c])
            candidate_kernels.draw(net, disease, probability, random, workspace)
        if is_kept:
            for x in range(n_findings):
                found.h[x] += w[x] / SWEEPS


@kernel
def correct_own(
    net: FlatNetwork, disease: int, part: float, workspace: OpenRecord, g: Floats
) -> None:
    """Let a disease that is off be on for the findings that it causes."""
    for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
        x = workspace.slots[net.edge_symptoms[edge]] - 1
        if x >= 0:
            present = 1.0 - workspace.absent[x] * net.failures[edge]
            g[x] += part * (1.0 / present - workspace.w[x])


assert SUMMED <= MOST_ENUMERATED  # of more, nothing is kept
