"""One record: it is split into connected pieces, which are solved one by one."""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from noisyor.inference.piece_kernels import (
    Piece,
    eliminate_piece,
    enumerate_piece,
    find_order,
    new_piece,
    with_findings,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Listed = NDArray[np.int32]
Booleans = NDArray[np.bool_]

WIDEST = 20
"""Findings that may be open at once in an elimination, and diseases that are enumerated at most."""
MOST_HELD = 2.0**27
"""Numbers that an elimination may hold: 1 GB."""


class FlatNetwork(NamedTuple):
    """A network as arrays."""

    priors: Floats
    failures: Floats
    leaks: Floats
    parent_offsets: Integers
    """The parents of symptom j are `parent_offsets[j] : parent_offsets[j + 1]` of the next two."""
    parent_diseases: Integers
    parent_edges: Integers
    log_failures: Floats
    """Of each edge; 0 where the failure is 0."""
    log_absent: Floats
    """Of each disease: the log probability that none of its edges fires; those with a failure of 0
    are left out..."""
    n_certain: Integers
    """... and counted here."""
    log_silent: Floats
    """Of each symptom: the log probability that its leak does not fire; 0 where that is certain to
    happen..."""
    is_loud: Booleans
    """... which is marked here."""


class Records(NamedTuple):
    """Some records."""

    offsets: Integers
    """Record r lists `offsets[r] : offsets[r + 1]`: its present findings and either those that are
    unknown, all others being absent, or those that are absent, all others being unknown."""
    symptoms: Listed
    is_present: Booleans
    rest_unknown: Booleans
    """Of each record: whether findings that are not listed are unknown; otherwise absent."""
    weights: Floats
    """How often each occurs."""


class Desk(NamedTuple):
    """Room to work on one record."""

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


@numba.njit(nogil=True, cache=True, error_model="numpy")
def new_desk(net: FlatNetwork) -> Desk:
    """Return an empty desk."""
    n_diseases, n_symptoms = len(net.priors), len(net.leaks)
    return Desk(
        np.empty(n_diseases),
        np.empty(n_diseases),
        np.empty(n_diseases, dtype=np.int64),
        np.empty(n_diseases, dtype=np.int64),
        np.zeros(len(net.failures)),
        np.zeros(n_symptoms),
        np.empty(n_symptoms),
        np.empty(n_symptoms),
        np.empty(n_symptoms),
        np.empty(n_symptoms),
        np.zeros(1),
    )


@numba.njit(nogil=True, cache=True, error_model="numpy")
def listed(records: Records, record: int) -> tuple[Listed, Booleans]:
    """Return the findings that a record lists, and which of them are present."""
    here = slice(records.offsets[record], records.offsets[record + 1])
    return records.symptoms[here], records.is_present[here]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def solve_record(
    net: FlatNetwork, symptoms: Listed, is_present: Booleans, rest_unknown: bool, desk: Desk
) -> float:
    """Find posteriors and causes of one record, on the desk; return its log evidence."""
    log_evidence = weigh_absent(net, symptoms, is_present, rest_unknown, desk)
    if log_evidence == -np.inf:
        return log_evidence
    return log_evidence + solve_present(net, present_of(symptoms, is_present), desk)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def present_of(symptoms: Listed, is_present: Booleans) -> Listed:
    """Return the findings that are present."""
    present, n = np.empty_like(symptoms), 0
    for x in range(len(symptoms)):
        if is_present[x]:
            present[n] = symptoms[x]
            n += 1
    return present[:n]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def weigh_absent(
    net: FlatNetwork, symptoms: Listed, is_present: Booleans, rest_unknown: bool, desk: Desk
) -> float:
    """Find P(disease | absent findings), on the desk; return the log probability of those."""
    log_absent = desk.log_absent
    if rest_unknown:
        log_absent[:] = 0.0
        n_certain, n_loud, log_evidence = np.zeros_like(net.n_certain), 0, 0.0
    else:
        log_absent[:] = net.log_absent
        n_certain, n_loud = net.n_certain.copy(), net.is_loud.sum()
        log_evidence = net.log_silent.sum()
    sign = 1 if rest_unknown else -1
    for x in range(len(symptoms)):
        if rest_unknown and is_present[x]:
            continue
        j = symptoms[x]
        log_evidence += sign * net.log_silent[j]
        n_loud += sign if net.is_loud[j] else 0
        for place in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            edge, disease = net.parent_edges[place], net.parent_diseases[place]
            log_absent[disease] += sign * net.log_failures[edge]
            n_certain[disease] += sign if net.failures[edge] == 0.0 else 0
    log_absent[n_certain > 0] = -np.inf
    # A sum of logarithms is rounded once a term, in proportion to its size.
    largest = 0.0
    for disease in range(len(log_absent)):
        largest = max(largest, -net.log_absent[disease])
    desk.roundings[0] = 8.0 + largest * len(net.leaks)
    log_evidence += weigh_all(net, log_absent, desk.on)
    return -np.inf if n_loud > 0 else float(log_evidence)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def weigh_all(net: FlatNetwork, log_factors: Floats, on: Floats) -> float:
    """Write P(disease) where being there has a factor; return the log of what all add up to."""
    log_sum = 0.0
    for disease in range(len(on)):
        on[disease], log_total = weigh(net.priors[disease], log_factors[disease])
        log_sum += log_total
    return log_sum


@numba.njit(nogil=True, cache=True, error_model="numpy")
def weigh(p: float, log_factor: float) -> tuple[float, float]:
    """Return P(on), and the log of 1 - p + p exp(log_factor), whose second part is P(on)."""
    if log_factor > 0.0:
        total = p + (1.0 - p) * np.exp(-log_factor)
        return (p / total, np.log(total) + log_factor) if total > 0.0 else (0.0, 0.0)
    within = p * np.exp(log_factor)
    total = 1.0 - p + within
    return (within / total, np.log(total)) if total > 0.0 else (0.0, -np.inf)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def solve_present(net: FlatNetwork, present: Listed, desk: Desk) -> float:
    """Go on with the present findings: `desk.on` becomes P(disease | all findings)."""
    n_pieces = open_findings(net, present, desk)
    log_evidence = 0.0
    for j in present:
        if not _has_piece(net, j, desk):
            if desk.present[j] == 0.0:
                return -np.inf
            desk.if_caused[j], desk.if_not[j] = 1.0 / desk.present[j], 0.0
            log_evidence += np.log(desk.present[j])
    for number in range(n_pieces):
        piece, diseases, findings, edges = make_piece(net, present, number, desk)
        log_evidence += solve_piece(piece, desk)
        if not log_evidence > -np.inf:
            return log_evidence
        for d in range(len(diseases)):
            desk.on[diseases[d]] = piece.posteriors[d]
        for entry in range(len(edges)):
            desk.caused[edges[entry]] = piece.caused[entry]
        for x in range(len(findings)):
            desk.if_caused[findings[x]] = piece.if_caused[x]
            desk.if_not[findings[x]] = piece.if_not[x]
    for j in present:
        close_finding(net, j, desk)
    return float(log_evidence)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def open_findings(net: FlatNetwork, present: Listed, desk: Desk) -> int:
    """Merge diseases that have one present finding with its leak; number the pieces of the others.

    Diseases belong together if they share a present finding.
    """
    desk.n_open[:] = 0
    for j in present:
        for place in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            edge, disease = net.parent_edges[place], net.parent_diseases[place]
            desk.caused[edge] = 0.0
            desk.n_open[disease] += 1 if is_active(net, edge, disease, desk) else 0
    desk.piece_of[:] = -1
    for j in present:
        merge_parents(net, j, desk)
    return number_pieces(desk.piece_of)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def merge_parents(net: FlatNetwork, j: int, desk: Desk) -> None:
    """Merge the diseases that have this finding alone with its leak; join the others."""
    absent, present, first = 1.0 - net.leaks[j], net.leaks[j], -1
    leaders = desk.piece_of
    for place in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
        edge, disease = net.parent_edges[place], net.parent_diseases[place]
        if not is_active(net, edge, disease, desk):
            continue
        if desk.n_open[disease] == 1:
            chance = desk.on[disease] * (1.0 - net.failures[edge])
            present += absent * chance
            absent *= 1.0 - chance
            continue
        if leaders[disease] < 0:
            leaders[disease] = disease
        if first < 0:
            first = leader_of(leaders, disease)
        else:
            leaders[leader_of(leaders, disease)] = first
    desk.absent[j], desk.present[j] = absent, present


@numba.njit(nogil=True, cache=True, error_model="numpy")
def number_pieces(leaders: Integers) -> int:
    """Turn the pointers of diseases to others of their piece into numbers; return how many."""
    n_pieces = 0
    numbers = np.full(len(leaders), -1, dtype=np.int64)
    for disease in range(len(leaders)):
        if leaders[disease] >= 0:
            leader = leader_of(leaders, disease)
            if numbers[leader] < 0:
                numbers[leader] = n_pieces
                n_pieces += 1
    for disease in range(len(leaders)):
        if leaders[disease] >= 0:
            numbers[disease] = numbers[leader_of(leaders, disease)]
    leaders[:] = numbers
    return n_pieces


@numba.njit(nogil=True, cache=True, error_model="numpy")
def leader_of(leaders: Integers, disease: int) -> int:
    """Follow the pointers to the disease that stands for a set."""
    while leaders[disease] != disease:
        disease = leaders[disease]
    return disease


@numba.njit(nogil=True, cache=True, error_model="numpy")
def is_active(net: FlatNetwork, edge: int, disease: int, desk: Desk) -> bool:
    """Say whether a disease is possible and its edge can fire."""
    return bool(desk.on[disease] > 0.0 and net.failures[edge] < 1.0)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _has_piece(net: FlatNetwork, j: int, desk: Desk) -> bool:
    for place in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
        disease = net.parent_diseases[place]
        if desk.piece_of[disease] >= 0 and net.failures[net.parent_edges[place]] < 1.0:
            return True
    return False


@numba.njit(nogil=True, cache=True, error_model="numpy")
def close_finding(net: FlatNetwork, j: int, desk: Desk) -> None:
    """Find the posteriors of the diseases that were merged with a finding's leak, and its causes.

    Such a disease causes the finding, or does not, and then another of them or the piece does. What
    the others do is put together from those before and those behind it, so that nothing cancels.
    """
    if_caused, if_not = desk.if_caused[j], desk.if_not[j]
    desk.leaked[j] = net.leaks[j] * if_caused
    first, last = net.parent_offsets[j], net.parent_offsets[j + 1]
    absent, present = np.ones(last - first + 1), np.zeros(last - first + 1)  # those behind
    for place in range(last - 1, first - 1, -1):
        chance = _merged_chance(net, place, desk)
        at = place - first
        present[at] = present[at + 1] + absent[at + 1] * chance
        absent[at] = absent[at + 1] * (1.0 - chance)
    absent_before, present_before = 1.0 - net.leaks[j], net.leaks[j]
    for place in range(first, last):
        chance, at = _merged_chance(net, place, desk), place - first + 1
        if chance == 0.0:
            continue
        edge, disease = net.parent_edges[place], net.parent_diseases[place]
        others = present_before + absent_before * present[at]
        not_caused = others * if_caused + absent_before * absent[at] * if_not
        present_before += absent_before * chance
        absent_before *= 1.0 - chance
        desk.caused[edge] = chance * if_caused
        on = desk.on[disease] * net.failures[edge] * not_caused + desk.caused[edge]
        desk.on[disease] = min(on, 1.0)
    desk.roundings[0] += 6.0 * (last - first)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _merged_chance(net: FlatNetwork, place: int, desk: Desk) -> float:
    """Return P(a disease causes a finding) if it was merged with the leak, else 0."""
    edge, disease = net.parent_edges[place], net.parent_diseases[place]
    if desk.n_open[disease] != 1 or not is_active(net, edge, disease, desk):
        return 0.0
    return float(desk.on[disease] * (1.0 - net.failures[edge]))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def is_possible(
    net: FlatNetwork, symptoms: Listed, is_present: Booleans, rest_unknown: bool, desk: Desk
) -> bool:
    """Say whether a record can be at all: each present finding has a cause, each absent none."""
    if weigh_absent(net, symptoms, is_present, rest_unknown, desk) == -np.inf:
        return False
    present = present_of(symptoms, is_present)
    open_findings(net, present, desk)
    n_unexplained = 0
    for j in present:
        n_unexplained += 1 if desk.present[j] == 0.0 and not _has_piece(net, j, desk) else 0
    return n_unexplained == 0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def solve_piece(piece: Piece, desk: Desk) -> float:
    """Solve a piece in the cheaper of both ways; NaN if neither is possible."""
    order = find_order(piece)
    by_states, by_steps = costs_of(piece, order.width)
    desk.roundings[0] += 6.0 * len(piece.findings) + 4.0 * len(piece.absent)
    if min(by_states, by_steps) == np.inf:
        return float(np.nan)
    if by_states <= by_steps:
        desk.roundings[0] += 2.0 ** len(piece.on)
        return float(enumerate_piece(piece))
    desk.roundings[0] += len(piece.on) * 2.0**order.width
    return float(eliminate_piece(piece, order))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def costs_of(piece: Piece, width: int) -> tuple[float, float]:
    """Return how many operations enumeration and elimination take; infinite where impossible."""
    k = len(piece.on)
    by_states = 10.0 * 2.0**k * len(piece.absent) if k <= WIDEST else np.inf
    by_steps = 3.0 * 2.0**width * len(piece.findings)
    if width > WIDEST or k * 2.0**width > MOST_HELD:
        by_steps = np.inf
    return by_states, by_steps


@numba.njit(nogil=True, cache=True, error_model="numpy")
def cost_of_present(net: FlatNetwork, present: Listed, desk: Desk) -> float:
    """Return how many operations `solve_present` takes for its pieces."""
    cost = 0.0
    for number in range(open_findings(net, present, desk)):
        piece, _, _, _ = make_piece(net, present, number, desk)
        cost += min(*costs_of(piece, find_order(piece).width))
    return cost


@numba.njit(nogil=True, cache=True, error_model="numpy")
def make_piece(
    net: FlatNetwork, present: Listed, number: int, desk: Desk
) -> tuple[Piece, Integers, Integers, Integers]:
    """Return a piece, and which diseases, symptoms and edges it consists of."""
    local, n_diseases, n_entries = np.empty_like(desk.piece_of), 0, 0
    for disease in range(len(local)):
        local[disease] = -1
        if desk.piece_of[disease] == number:
            local[disease] = n_diseases
            n_diseases += 1
            n_entries += desk.n_open[disease]
    piece = new_piece(n_diseases, n_entries, len(present))
    diseases, edges = np.empty(n_diseases, np.int64), np.empty(n_entries, np.int64)
    filled = np.empty(n_diseases, np.int64)
    for disease in range(len(local)):
        d = local[disease]
        if d >= 0:
            diseases[d], piece.on[d], filled[d] = disease, desk.on[disease], piece.offsets[d]
            piece.offsets[d + 1] = piece.offsets[d] + desk.n_open[disease]
    findings, n_findings = np.empty(len(present), np.int64), 0
    for j in present:
        is_here = False
        for place in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            edge, d = net.parent_edges[place], local[net.parent_diseases[place]]
            if d >= 0 and net.failures[edge] < 1.0:
                piece.findings[filled[d]], piece.failures[filled[d]] = (
                    n_findings,
                    net.failures[edge],
                )
                edges[filled[d]] = edge
                filled[d] += 1
                is_here = True
        if is_here:
            findings[n_findings] = j
            piece.absent[n_findings], piece.present[n_findings] = desk.absent[j], desk.present[j]
            n_findings += 1
    return with_findings(piece, n_findings), diseases, findings[:n_findings], edges
