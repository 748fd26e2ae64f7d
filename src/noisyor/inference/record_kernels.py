"""Exact posteriors of records: each is split into connected pieces, which are solved one by one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.inference import piece_kernels
from noisyor.inference.flat import (
    Booleans,
    Evidence,
    FlatNetwork,
    Floats,
    Integers,
    Listed,
    Records,
)
from noisyor.inference.piece_kernels import SMALLEST_NORMAL, Piece
from noisyor.kernels import kernel
from noisyor.kernels.array_kernels import (
    copy,
    fill,
    new_floats,
    new_integers,
    new_marks,
    new_zeros,
    sum_of,
)

AUTO, EXACT, VARIATIONAL, MEAN_FIELD, GIBBS, IMPOSSIBLE, REFUSED = range(7)
"""Methods, and two reasons why there is no answer."""


class Workspace(NamedTuple):
    """What is computed on the way to one record's posteriors."""

    log_absent: Floats
    """Of each disease: the log probability of the absent findings, as far as it goes."""
    on: Floats
    """P(disease | absent findings), then P(disease | all findings)."""
    n_open: Integers
    """Present findings of each disease that are to be explained."""
    piece_of: Integers
    """The piece of each disease; -1 where it has not several present findings."""
    caused: Floats
    """Of each edge to a present finding."""
    leaked: Floats
    """Of each present finding, by symptom."""
    absent: Floats
    """By symptom: P(neither the leak nor a disease with this finding alone causes it)..."""
    present: Floats
    """... and that one of them does."""
    if_caused: Floats
    """By symptom, as in a piece..."""
    if_not: Floats
    roundings: Floats
    """One number: how often a posterior was rounded at most, in units of 2^-53."""
    is_cut: Booleans
    """Diseases that are not to explain a present finding: their edges to those are left out."""


@kernel
def new_workspace(net: FlatNetwork) -> Workspace:
    """Return a workspace without values."""
    n_diseases, n_symptoms = len(net.priors), len(net.leaks)
    return Workspace(
        new_floats(n_diseases), new_floats(n_diseases), new_integers(n_diseases),
        new_integers(n_diseases), new_zeros(len(net.failures)), new_zeros(n_symptoms),
        new_floats(n_symptoms), new_floats(n_symptoms), new_floats(n_symptoms),
        new_floats(n_symptoms), new_zeros(1), new_marks(n_diseases),
    )  # fmt: skip


@kernel
def listed(records: Records, record: int) -> Evidence:
    """Return the findings of a record."""
    here = slice(records.offsets[record], records.offsets[record + 1])
    return Evidence(
        records.symptoms[here], records.is_present[here], records.others_unknown[record]
    )


@kernel
def solve_record(net: FlatNetwork, evidence: Evidence, workspace: Workspace) -> float:
    """Find posteriors and causes of one record, in the workspace; return its log evidence."""
    log_evidence = weigh_absent(net, evidence, workspace)
    if log_evidence == -np.inf:
        return log_evidence
    return log_evidence + solve_present(net, present_of(evidence), workspace)


@kernel
def present_of(evidence: Evidence) -> Listed:
    """Return the findings that are present."""
    n_present = 0
    for is_present in evidence.is_present:
        n_present += is_present
    present, n_listed = np.empty(n_present, np.int32), 0
    for x in range(len(evidence.symptoms)):
        if evidence.is_present[x]:
            present[n_listed] = evidence.symptoms[x]
            n_listed += 1
    return present


@kernel
def weigh_absent(net: FlatNetwork, evidence: Evidence, workspace: Workspace) -> float:
    """Find P(disease | absent findings), in the workspace; return the log probability of those."""
    log_evidence = list_absent(net, evidence, workspace)
    return log_evidence + weigh_all(net, workspace.log_absent, workspace.on)


@kernel
def list_absent(net: FlatNetwork, evidence: Evidence, workspace: Workspace) -> float:
    """Find what absent findings say of each disease, whatever its prior; return what is left.

    That is the log probability that none of their leaks fires.
    """
    log_absent, others_unknown = workspace.log_absent, evidence.others_unknown
    n_certain, n_contradicted, log_evidence = new_integers(len(log_absent)), 0, 0.0
    if others_unknown:
        fill(log_absent, 0.0)
    else:
        copy(net.log_absent, log_absent)
        for disease in range(len(n_certain)):
            n_certain[disease] = net.n_certain[disease]
        for is_certain in net.is_certain:
            n_contradicted += is_certain
        log_evidence = sum_of(net.log_silent)
    sign = 1 if others_unknown else -1
    for x in range(len(evidence.symptoms)):
        if others_unknown and evidence.is_present[x]:
            continue
        j = evidence.symptoms[x]
        log_evidence += sign * net.log_silent[j]
        n_contradicted += sign if net.is_certain[j] else 0
        for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            edge, disease = net.parent_edges[index], net.parent_diseases[index]
            log_absent[disease] += sign * net.log_failures[edge]
            n_certain[disease] += sign if net.failures[edge] == 0.0 else 0
    # A sum of logarithms is rounded once a term, in proportion to its size.
    largest = 0.0
    for disease in range(len(n_certain)):
        largest = max(largest, -net.log_absent[disease])
        if n_certain[disease] > 0:
            log_absent[disease] = -np.inf
    workspace.roundings[0] = 8.0 + largest * len(net.leaks)
    return -np.inf if n_contradicted > 0 else float(log_evidence)


@kernel
def weigh_all(net: FlatNetwork, log_factors: Floats, on: Floats) -> float:
    """Write P(disease) where being there has a factor; return the log of what all add up to."""
    log_sum = 0.0
    for disease in range(len(on)):
        on[disease], log_total = weigh(net.priors[disease], log_factors[disease])
        log_sum += log_total
    return log_sum


@kernel
def weigh(p: float, log_factor: float) -> tuple[float, float]:
    """Return P(on), and the log of 1 - p + p exp(log_factor), whose second part is P(on)."""
    if p >= 1.0:  # however small the factor is
        return 1.0, log_factor
    if log_factor > 0.0:
        total = p + (1.0 - p) * np.exp(-log_factor)
        return (p / total, np.log(total) + log_factor) if total > 0.0 else (0.0, 0.0)
    within = p * np.exp(log_factor)
    total = 1.0 - p + within
    return (within / total, np.log(total)) if total > 0.0 else (0.0, -np.inf)


@kernel
def solve_present(net: FlatNetwork, present: Listed, workspace: Workspace) -> float:
    """Go on with the present findings: `workspace.on` becomes P(disease | all findings)."""
    n_pieces = open_findings(net, present, workspace)
    log_evidence = 0.0
    for j in present:
        if not _has_piece(net, j, workspace):
            if workspace.present[j] < SMALLEST_NORMAL:
                return -np.inf
            workspace.if_caused[j], workspace.if_not[j] = 1.0 / workspace.present[j], 0.0
            log_evidence += np.log(workspace.present[j])
    for number in range(n_pieces):
        piece, diseases, findings, edges = make_piece(net, present, number, workspace)
        log_evidence += solve_piece(piece, workspace)
        if not log_evidence > -np.inf:
            return log_evidence
        for d in range(len(diseases)):
            workspace.on[diseases[d]] = piece.posteriors[d]
        for entry in range(len(edges)):
            workspace.caused[edges[entry]] = piece.caused[entry]
        for x in range(len(findings)):
            workspace.if_caused[findings[x]] = piece.if_caused[x]
            workspace.if_not[findings[x]] = piece.if_not[x]
    for j in present:
        close_finding(net, j, workspace)
    return float(log_evidence)


@kernel
def open_findings(net: FlatNetwork, present: Listed, workspace: Workspace) -> int:
    """Merge diseases that have one present finding with its leak; number the pieces of the others.

    Diseases belong together if they share a present finding.
    """
    for disease in range(len(workspace.n_open)):
        workspace.n_open[disease], workspace.piece_of[disease] = 0, -1
    for j in present:
        for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            edge, disease = net.parent_edges[index], net.parent_diseases[index]
            workspace.caused[edge] = 0.0
            workspace.n_open[disease] += 1 if is_active(net, edge, disease, workspace) else 0
    for j in present:
        merge_parents(net, j, workspace)
    return number_pieces(workspace.piece_of)


@kernel
def merge_parents(net: FlatNetwork, j: int, workspace: Workspace) -> None:
    """Merge the diseases that have this finding alone with its leak; join the others."""
    absent, present, first = 1.0 - net.leaks[j], net.leaks[j], -1
    leaders = workspace.piece_of
    for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
        edge, disease = net.parent_edges[index], net.parent_diseases[index]
        if not is_active(net, edge, disease, workspace):
            continue
        if workspace.n_open[disease] == 1:
            chance = workspace.on[disease] * (1.0 - net.failures[edge])
            present += absent * chance
            absent *= 1.0 - chance
            continue
        if leaders[disease] < 0:
            leaders[disease] = disease
        if first < 0:
            first = leader_of(leaders, disease)
        else:
            leaders[leader_of(leaders, disease)] = first
    workspace.absent[j], workspace.present[j] = absent, present


@kernel
def number_pieces(leaders: Integers) -> int:
    """Turn the pointers of diseases to others of their piece into numbers; return how many."""
    n_pieces = 0
    numbers = new_integers(len(leaders))  # from 1
    for disease in range(len(leaders)):
        if leaders[disease] >= 0:
            leader = leader_of(leaders, disease)
            if numbers[leader] == 0:
                n_pieces += 1
                numbers[leader] = n_pieces
            numbers[disease] = numbers[leader]
    for disease in range(len(leaders)):
        leaders[disease] = numbers[disease] - 1
    return n_pieces


@kernel
def leader_of(leaders: Integers, disease: int) -> int:
    """Follow the pointers to the disease that stands for a set."""
    while leaders[disease] != disease:
        disease = leaders[disease]
    return disease


@kernel
def is_active(net: FlatNetwork, edge: int, disease: int, workspace: Workspace) -> bool:
    """Return True if a disease is possible and its edge can fire."""
    is_possible = workspace.on[disease] > 0.0 and not workspace.is_cut[disease]
    return bool(is_possible and net.failures[edge] < 1.0)


@kernel
def _has_piece(net: FlatNetwork, j: int, workspace: Workspace) -> bool:
    for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
        disease = net.parent_diseases[index]
        if workspace.piece_of[disease] >= 0 and net.failures[net.parent_edges[index]] < 1.0:
            return True
    return False


@kernel
def close_finding(net: FlatNetwork, j: int, workspace: Workspace) -> None:
    """Find the posteriors of the diseases that were merged with a finding's leak, and its causes.

    Such a disease causes the finding, or does not, and then another of them or the piece does. What
    the others do is put together from those before and those behind it, so that nothing cancels.
    """
    if_caused, if_not = workspace.if_caused[j], workspace.if_not[j]
    workspace.leaked[j] = net.leaks[j] * if_caused
    first, last = net.parent_offsets[j], net.parent_offsets[j + 1]
    # What the diseases behind each do.
    absent, present = new_floats(last - first + 1), new_floats(last - first + 1)
    absent[last - first], present[last - first] = 1.0, 0.0
    for index in range(last - 1, first - 1, -1):
        chance = _merged_chance(net, index, workspace)
        at = index - first
        present[at] = present[at + 1] + absent[at + 1] * chance
        absent[at] = absent[at + 1] * (1.0 - chance)
    absent_before, present_before = 1.0 - net.leaks[j], net.leaks[j]
    for index in range(first, last):
        chance, at = _merged_chance(net, index, workspace), index - first + 1
        if chance == 0.0:
            continue
        edge, disease = net.parent_edges[index], net.parent_diseases[index]
        others = present_before + absent_before * present[at]
        not_caused = others * if_caused + absent_before * absent[at] * if_not
        present_before += absent_before * chance
        absent_before *= 1.0 - chance
        workspace.caused[edge] = chance * if_caused
        on = workspace.on[disease] * net.failures[edge] * not_caused + workspace.caused[edge]
        workspace.on[disease] = min(on, 1.0)
    workspace.roundings[0] += 6.0 * (last - first)


@kernel
def _merged_chance(net: FlatNetwork, index: int, workspace: Workspace) -> float:
    """Return P(a disease causes a finding) if it was merged with the leak, else 0."""
    edge, disease = net.parent_edges[index], net.parent_diseases[index]
    if workspace.n_open[disease] != 1 or not is_active(net, edge, disease, workspace):
        return 0.0
    return float(workspace.on[disease] * (1.0 - net.failures[edge]))


@kernel
def is_possible(net: FlatNetwork, evidence: Evidence, workspace: Workspace) -> bool:
    """Return True if a record can occur: each present finding has a cause, each absent one none."""
    if weigh_absent(net, evidence, workspace) == -np.inf:
        return False
    present = present_of(evidence)
    open_findings(net, present, workspace)
    for j in present:
        if workspace.present[j] < SMALLEST_NORMAL and not _has_piece(net, j, workspace):
            return False
    return True


@kernel
def solve_piece(piece: Piece, workspace: Workspace) -> float:
    """Solve a piece in the cheaper of both ways; NaN if neither is possible."""
    order = piece_kernels.find_order(piece)
    by_states, by_steps = costs_of(piece, order.width)
    workspace.roundings[0] += 6.0 * len(piece.findings) + 4.0 * len(piece.absent)
    if min(by_states, by_steps) == np.inf:
        return float(np.nan)
    if by_states <= by_steps:
        workspace.roundings[0] += 2.0 ** len(piece.on)
        return float(piece_kernels.enumerate_piece(piece))
    workspace.roundings[0] += len(piece.on) * 2.0**order.width
    return float(piece_kernels.eliminate_piece(piece, order))


@kernel
def costs_of(piece: Piece, width: int) -> tuple[float, float]:
    """Return how many operations enumeration and elimination take; infinite where impossible.

    Up to 20 diseases are enumerated; an elimination has up to 20 findings open at once, and up to
    2^27 numbers in memory: 1 GB.
    """
    k = len(piece.on)
    by_states = 10.0 * 2.0**k * len(piece.absent) if k <= 20 else np.inf
    is_too_wide = width > 20 or k * 2.0**width > 2.0**27
    return by_states, np.inf if is_too_wide else 3.0 * 2.0**width * len(piece.findings)


@kernel
def cost_of_present(net: FlatNetwork, present: Listed, workspace: Workspace) -> float:
    """Return how many operations `solve_present` takes for its pieces."""
    cost = 0.0
    for number in range(open_findings(net, present, workspace)):
        piece, _, _, _ = make_piece(net, present, number, workspace)
        cost += min(*costs_of(piece, piece_kernels.find_order(piece).width))
    return cost


@kernel
def make_piece(
    net: FlatNetwork, present: Listed, number: int, workspace: Workspace
) -> tuple[Piece, Integers, Integers, Integers]:
    """Return a piece, and which diseases, symptoms and edges it consists of."""
    local, n_diseases, n_entries = new_integers(len(workspace.piece_of)), 0, 0
    for disease in range(len(local)):
        local[disease] = -1
        if workspace.piece_of[disease] == number:
            local[disease] = n_diseases
            n_diseases += 1
            n_entries += workspace.n_open[disease]
    piece = piece_kernels.new_piece(n_diseases, n_entries, len(present))
    diseases, edges, filled = (
        new_integers(n_diseases), new_integers(n_entries), new_integers(n_diseases),
    )  # fmt: skip
    for disease in range(len(local)):
        d = local[disease]
        if d >= 0:
            diseases[d], piece.on[d], filled[d] = disease, workspace.on[disease], piece.offsets[d]
            piece.offsets[d + 1] = piece.offsets[d] + workspace.n_open[disease]
    findings, n_findings = new_integers(len(present)), 0
    for j in present:
        is_here = False
        for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            edge, d = net.parent_edges[index], local[net.parent_diseases[index]]
            if d >= 0 and net.failures[edge] < 1.0:
                piece.findings[filled[d]], edges[filled[d]] = n_findings, edge
                piece.failures[filled[d]] = net.failures[edge]
                filled[d] += 1
                is_here = True
        if is_here:
            findings[n_findings] = j
            piece.absent[n_findings] = workspace.absent[j]
            piece.present[n_findings] = workspace.present[j]
            n_findings += 1
    return piece_kernels.with_findings(piece, n_findings), diseases, findings[:n_findings], edges


# --- many records ---


class Answers(NamedTuple):
    """What is found of each record, row by row."""

    probabilities: Floats
    """Records x diseases."""
    errors: Floats
    log_evidences: Floats
    """Exact, or a lower bound..."""
    log_uppers: Floats
    """... and an upper one."""
    methods: NDArray[np.int8]
    n_effective: Floats
    """Where it was sampled: as many independent draws would say as much; else NaN."""
    caused: Floats
    """Records x edges, or nothing: P(the edge has caused its finding)..."""
    leaked: Floats
    """... and records x symptoms: P(it came by itself)."""
    lower: Floats
    """Records x diseases, or nothing: bounds on the probabilities."""
    upper: Floats


@kernel
def solve_records(
    net: FlatNetwork, records: Records, first: int, last: int, max_cost: float, answers: Answers
) -> None:
    """Fill in the answers of some records; those that are too much work are refused."""
    workspace = new_workspace(net)
    for record in range(first, last):
        evidence = listed(records, record)
        present = present_of(evidence)
        answers.methods[record], answers.errors[record] = EXACT, np.nan
        log_evidence = weigh_absent(net, evidence, workspace)
        if log_evidence > -np.inf:
            if cost_of_present(net, present, workspace) > max_cost:
                answers.methods[record] = REFUSED
                continue
            log_evidence += solve_present(net, present, workspace)
        write_answer(net, present, log_evidence, workspace, record, answers)


@kernel
def write_answer(
    net: FlatNetwork,
    present: Listed,
    log_evidence: float,
    workspace: Workspace,
    record: int,
    answers: Answers,
) -> None:
    """Write what was found of a record that was solved; it may be impossible."""
    answers.log_evidences[record] = answers.log_uppers[record] = log_evidence
    if log_evidence == -np.inf:
        answers.methods[record] = IMPOSSIBLE
        return
    answers.errors[record] = workspace.roundings[0] * 2.0**-53
    margin = answers.errors[record]
    for disease in range(len(workspace.on)):
        on = workspace.on[disease]
        answers.probabilities[record, disease] = on
        if len(answers.lower):
            answers.lower[record, disease] = max(on - margin, 0.0)
            answers.upper[record, disease] = min(on + margin, 1.0)
    if len(answers.caused):
        write_causes(net, present, workspace, record, answers)


@kernel
def write_causes(
    net: FlatNetwork, present: Listed, workspace: Workspace, record: int, answers: Answers
) -> None:
    """Write what caused the present findings of a record, of which the workspace has others too."""
    for j in present:
        answers.leaked[record, j] = workspace.leaked[j]
        for edge in net.parent_edges[net.parent_offsets[j] : net.parent_offsets[j + 1]]:
            answers.caused[record, edge] = workspace.caused[edge]
