"""Passes over records: each is split into connected pieces, which are solved one by one."""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from noisyor.inference.piece_kernels import (
    Piece,
    eliminate_piece,
    enumerate_piece,
    find_order,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

WIDEST = 20
"""Findings that may be open at once in an elimination, and diseases that are enumerated at most."""


class FlatNetwork(NamedTuple):
    """A network as arrays."""

    priors: Floats
    failures: Floats
    leaks: Floats
    parent_offsets: Integers
    """The parents of symptom j are `parent_offsets[j] : parent_offsets[j + 1]` of the next two."""
    parent_diseases: Integers
    parent_edges: Integers
    log_absent: Floats
    """Of each disease: the log probability that none of its edges fires; those with a failure of 0
    are left out..."""
    n_certain: Integers
    """... and counted here."""


class Records(NamedTuple):
    """Distinct records."""

    offsets: Integers
    """The findings of record r that are present or unknown: `offsets[r] : offsets[r + 1]`."""
    symptoms: NDArray[np.int32]
    is_unknown: NDArray[np.bool_]
    weights: Floats
    """How often each occurs."""


class Sums(NamedTuple):
    """What the records are expected to hold, added up."""

    cases: Floats
    """Of each disease."""
    caused: Floats
    """Findings that each edge has caused."""
    unknown: Floats
    """Cases in which the finding of each edge is unknown."""
    leaked: Floats
    """Findings of each symptom that came by themselves."""


class Desk(NamedTuple):
    """Room to work on one record."""

    on: Floats
    """P(disease | absent findings), then P(disease | all findings)."""
    piece_of: Integers
    """The piece of each disease; -1 where no present finding is its own."""
    caused: Floats
    """Of each edge to a present finding."""
    leaked: Floats
    """Of each present finding, by symptom."""


@numba.njit(nogil=True, cache=True)
def new_desk(net: FlatNetwork) -> Desk:
    """Return an empty desk."""
    n_diseases = len(net.priors)
    return Desk(
        np.empty(n_diseases),
        np.empty(n_diseases, dtype=np.int64),
        np.zeros(len(net.failures)),
        np.zeros(len(net.leaks)),
    )


@numba.njit(nogil=True, cache=True)
def expect_records(
    net: FlatNetwork, records: Records, first: int, last: int, sums: Sums, evidences: Floats
) -> None:
    """Add what records are expected to hold; write the log evidence of each."""
    desk = new_desk(net)
    for record in range(first, last):
        here = slice(records.offsets[record], records.offsets[record + 1])
        symptoms, is_unknown = records.symptoms[here], records.is_unknown[here]
        evidences[record] = solve_record(net, symptoms, is_unknown, desk)
        weight = records.weights[record]
        for disease in range(len(net.priors)):
            sums.cases[disease] += weight * desk.on[disease]
        for x in range(len(symptoms)):
            j = symptoms[x]
            if not is_unknown[x]:
                sums.leaked[j] += weight * desk.leaked[j]
            for place in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
                edge = net.parent_edges[place]
                if is_unknown[x]:
                    sums.unknown[edge] += weight * desk.on[net.parent_diseases[place]]
                else:
                    sums.caused[edge] += weight * desk.caused[edge]


@numba.njit(nogil=True, cache=True)
def score_records(
    net: FlatNetwork, records: Records, first: int, last: int, scores: Floats
) -> None:
    """Write the slopes of the records' log likelihoods by failures, priors and leaks, as rows."""
    desk = new_desk(net)
    n_edges, n_diseases = len(net.failures), len(net.priors)
    is_known = np.empty(len(net.leaks), dtype=np.bool_)
    is_present = np.empty(len(net.leaks), dtype=np.bool_)
    for record in range(first, last):
        here = slice(records.offsets[record], records.offsets[record + 1])
        symptoms, is_unknown = records.symptoms[here], records.is_unknown[here]
        solve_record(net, symptoms, is_unknown, desk)
        is_known[:], is_present[:] = True, False
        for x in range(len(symptoms)):
            is_known[symptoms[x]], is_present[symptoms[x]] = not is_unknown[x], not is_unknown[x]
        row = scores[record - first]
        row[n_edges : n_edges + n_diseases] = (desk.on - net.priors) / (
            net.priors * (1.0 - net.priors)
        )
        for j in range(len(net.leaks)):
            leaked = desk.leaked[j] if is_present[j] else 0.0
            slope = leaked / net.leaks[j] - (1.0 - leaked) / (1.0 - net.leaks[j])
            row[n_edges + n_diseases + j] = slope if is_known[j] else 0.0
            for place in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
                edge, on = net.parent_edges[place], desk.on[net.parent_diseases[place]]
                f, caused = net.failures[edge], desk.caused[edge] if is_present[j] else 0.0
                slope = (on - caused) / f - caused / (1.0 - f)
                row[edge] = slope if is_known[j] else 0.0


@numba.njit(nogil=True, cache=True)
def solve_record(
    net: FlatNetwork,
    symptoms: NDArray[np.int32],
    is_unknown: NDArray[np.bool_],
    desk: Desk,
) -> float:
    """Find posteriors and causes of one record, on the desk; return its log evidence."""
    log_evidence = weigh_absent(net, symptoms, is_unknown, desk.on)
    n_pieces = find_pieces(net, symptoms, is_unknown, desk)
    for x in range(len(symptoms)):
        j = symptoms[x]
        if not is_unknown[x] and not _has_parent(net, j, desk):
            desk.leaked[j] = 1.0
            log_evidence += np.log(net.leaks[j])
    for number in range(n_pieces):
        piece, diseases, findings, edges = make_piece(net, symptoms, is_unknown, number, desk)
        log_evidence += solve_piece(piece)
        desk.on[diseases] = piece.posteriors
        desk.caused[edges] = piece.caused
        for x in range(len(findings)):
            desk.leaked[findings[x]] = piece.leaked[x]
    return float(log_evidence)


@numba.njit(nogil=True, cache=True)
def solve_piece(piece: Piece) -> float:
    """Solve a piece in the cheaper of both ways; NaN if neither is possible."""
    order = find_order(piece)
    by_states, by_steps = costs_of(piece, order.width)
    if by_states <= by_steps:
        return enumerate_piece(piece) if by_states < np.inf else np.nan
    return eliminate_piece(piece, order)


@numba.njit(nogil=True, cache=True)
def costs_of(piece: Piece, width: int) -> tuple[float, float]:
    """Return how many operations enumeration and elimination take; infinite where impossible."""
    k = len(piece.on)
    by_states = 2.0**k * len(piece.leaks) if k <= WIDEST else np.inf
    by_steps = 3.0 * 2.0**width * len(piece.findings) if width <= WIDEST else np.inf
    return by_states, by_steps


@numba.njit(nogil=True, cache=True)
def cost_of_records(net: FlatNetwork, records: Records, costs: Floats) -> None:
    """Write how many operations each record takes, without solving it."""
    desk = new_desk(net)
    for record in range(len(records.weights)):
        here = slice(records.offsets[record], records.offsets[record + 1])
        symptoms, is_unknown = records.symptoms[here], records.is_unknown[here]
        desk.on[:] = 0.5  # whatever the parameters are
        costs[record] = 0.0
        for number in range(find_pieces(net, symptoms, is_unknown, desk)):
            piece, _, _, _ = make_piece(net, symptoms, is_unknown, number, desk)
            costs[record] += min(*costs_of(piece, find_order(piece).width))


@numba.njit(nogil=True, cache=True)
def weigh_absent(
    net: FlatNetwork, symptoms: NDArray[np.int32], is_unknown: NDArray[np.bool_], on: Floats
) -> float:
    """Find P(disease | absent findings); return the log probability of those."""
    log_absent, n_certain = net.log_absent.copy(), net.n_certain.copy()
    log_evidence = np.log1p(-net.leaks).sum()
    for x in range(len(symptoms)):
        j = symptoms[x]
        log_evidence -= np.log1p(-net.leaks[j])
        for place in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            f, disease = net.failures[net.parent_edges[place]], net.parent_diseases[place]
            if f > 0.0:
                log_absent[disease] -= np.log(f)
            else:
                n_certain[disease] -= 1
    for disease in range(len(on)):
        p = net.priors[disease]
        within = p * np.exp(log_absent[disease]) if n_certain[disease] == 0 else 0.0
        total = 1.0 - p + within
        on[disease] = within / total if total > 0.0 else 0.0  # the record is impossible
        log_evidence += np.log(total) if total > 0.0 else -np.inf
    return float(log_evidence)


@numba.njit(nogil=True, cache=True)
def find_pieces(
    net: FlatNetwork,
    symptoms: NDArray[np.int32],
    is_unknown: NDArray[np.bool_],
    desk: Desk,
) -> int:
    """Number the pieces: diseases belong together if they share a present finding."""
    leaders = desk.piece_of
    leaders[:] = -1
    for x in range(len(symptoms)):
        if is_unknown[x]:
            continue
        first = -1
        for place in range(net.parent_offsets[symptoms[x]], net.parent_offsets[symptoms[x] + 1]):
            disease = net.parent_diseases[place]
            if not is_active(net, net.parent_edges[place], disease, desk):
                continue
            if leaders[disease] < 0:
                leaders[disease] = disease
            if first < 0:
                first = leader_of(leaders, disease)
            else:
                leaders[leader_of(leaders, disease)] = first
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


@numba.njit(nogil=True, cache=True)
def leader_of(leaders: Integers, disease: int) -> int:
    """Follow the pointers to the disease that stands for a set."""
    while leaders[disease] != disease:
        disease = leaders[disease]
    return disease


@numba.njit(nogil=True, cache=True)
def is_active(net: FlatNetwork, edge: int, disease: int, desk: Desk) -> bool:
    """Say whether a disease is possible and its edge can fire."""
    return bool(desk.on[disease] > 0.0 and net.failures[edge] < 1.0)


@numba.njit(nogil=True, cache=True)
def _has_parent(net: FlatNetwork, symptom: int, desk: Desk) -> bool:
    for place in range(net.parent_offsets[symptom], net.parent_offsets[symptom + 1]):
        if is_active(net, net.parent_edges[place], net.parent_diseases[place], desk):
            return True
        desk.caused[net.parent_edges[place]] = 0.0
    return False


@numba.njit(nogil=True, cache=True)
def make_piece(
    net: FlatNetwork,
    symptoms: NDArray[np.int32],
    is_unknown: NDArray[np.bool_],
    number: int,
    desk: Desk,
) -> tuple[Piece, Integers, Integers, Integers]:
    """Return a piece, and which diseases, symptoms and edges it consists of."""
    diseases = np.flatnonzero(desk.piece_of == number)
    local = np.full(len(desk.piece_of), -1, dtype=np.int64)
    local[diseases] = np.arange(len(diseases))
    offsets = np.zeros(len(diseases) + 1, dtype=np.int64)
    findings = np.empty(len(symptoms), dtype=np.int64)
    n_findings = 0
    for x in range(len(symptoms)):
        is_here = False
        if is_unknown[x]:
            continue
        for place in range(net.parent_offsets[symptoms[x]], net.parent_offsets[symptoms[x] + 1]):
            edge, disease = net.parent_edges[place], net.parent_diseases[place]
            desk.caused[edge] = 0.0 if local[disease] >= 0 else desk.caused[edge]
            if local[disease] >= 0 and is_active(net, edge, disease, desk):
                offsets[local[disease] + 1] += 1
                is_here = True
        if is_here:
            findings[n_findings] = symptoms[x]
            n_findings += 1
    findings = findings[:n_findings].copy()
    offsets = np.cumsum(offsets)
    entries, edges = np.empty(offsets[-1], np.int64), np.empty(offsets[-1], np.int64)
    filled = offsets[:-1].copy()
    for x in range(n_findings):
        for place in range(net.parent_offsets[findings[x]], net.parent_offsets[findings[x] + 1]):
            edge, disease = net.parent_edges[place], net.parent_diseases[place]
            if local[disease] >= 0 and is_active(net, edge, disease, desk):
                entries[filled[local[disease]]] = x
                edges[filled[local[disease]]] = edge
                filled[local[disease]] += 1
    piece = Piece(
        desk.on[diseases], offsets, entries, net.failures[edges], net.leaks[findings],
        np.empty(len(diseases)), np.empty(len(edges)), np.empty(n_findings),
    )  # fmt: skip
    return piece, diseases, findings, edges
