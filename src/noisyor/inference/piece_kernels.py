"""Exact inference on one connected piece of a record: some diseases, some present findings.

All sums are of positive terms, so nothing cancels. Two ways lead to the same result:

- enumeration: over all states of the diseases, 2^k of them;
- elimination: disease after disease, over which of the findings are already explained. A finding
  takes part from its first parent to its last, so 2^w states, w the most that are open at once.
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Piece(NamedTuple):
    """Diseases and present findings, numbered anew, and what is to be found out of them."""

    on: Floats
    """P(disease | absent findings)."""
    offsets: Integers
    """The entries of disease d are `offsets[d] : offsets[d + 1]`, one for each of its findings."""
    findings: Integers
    """The finding of each entry."""
    failures: Floats
    """The failure of each entry."""
    leaks: Floats
    """Of each finding."""
    posteriors: Floats
    """P(disease | all findings), to be filled in."""
    caused: Floats
    """P(the edge has caused its finding | all findings) of each entry, to be filled in."""
    leaked: Floats
    """P(the finding came by itself | all findings), to be filled in."""


@numba.njit(nogil=True, cache=True)
def enumerate_piece(piece: Piece) -> float:
    """Sum over all states of the diseases; return the log probability of the findings.

    The states are counted in binary, the first disease being the highest digit; what belongs to
    the digits that have not changed is kept, so a state costs about two diseases' work.
    """
    k, m = len(piece.on), len(piece.leaks)
    absent = np.empty((k + 1, m))
    weights = np.empty(k + 1)
    scales = _scales(piece)
    absent[0], weights[0] = 1.0 - piece.leaks, 1.0
    for disease in range(k):
        absent[disease + 1], weights[disease + 1] = absent[0], 0.0
    total, state = 0.0, 0
    piece.posteriors[:], piece.caused[:], piece.leaked[:] = 0.0, 0.0, 0.0
    first = 0  # the first disease whose digit has changed
    while True:
        for disease in range(first, k):
            _decide(piece, disease, (state >> (k - 1 - disease)) & 1 == 1, absent, weights)
        weight = weights[k]
        for x in range(m):
            weight *= (1.0 - absent[k, x]) * scales[x]
        if weight > 0.0:
            total += weight
            _add_state(piece, state, weight, absent[k])
        state += 1
        if state >> k:
            break
        first = k - 1
        while not (state >> (k - 1 - first)) & 1:
            first -= 1
    _normalise(piece, total)
    return float(np.log(total) - np.log(scales).sum())


@numba.njit(nogil=True, cache=True)
def _scales(piece: Piece) -> Floats:
    """Return one over what P(present) can be at most, so that products do not underflow."""
    absent = 1.0 - piece.leaks
    for entry in range(len(piece.findings)):
        absent[piece.findings[entry]] *= piece.failures[entry]
    return 1.0 / np.maximum(1.0 - absent, 1e-300)


@numba.njit(nogil=True, cache=True)
def _decide(piece: Piece, disease: int, is_on: bool, absent: Floats, weights: Floats) -> None:
    """Write what P(absent) of the findings is with one more disease decided."""
    p = piece.on[disease]
    weights[disease + 1] = weights[disease] * (p if is_on else 1.0 - p)
    absent[disease + 1] = absent[disease]
    if is_on:
        for entry in range(piece.offsets[disease], piece.offsets[disease + 1]):
            absent[disease + 1, piece.findings[entry]] *= piece.failures[entry]


@numba.njit(nogil=True, cache=True)
def _add_state(piece: Piece, state: int, weight: float, absent: Floats) -> None:
    k = len(piece.on)
    for x in range(len(absent)):
        piece.leaked[x] += weight / (1.0 - absent[x])
    for disease in range(k):
        if (state >> (k - 1 - disease)) & 1:
            piece.posteriors[disease] += weight
            for entry in range(piece.offsets[disease], piece.offsets[disease + 1]):
                piece.caused[entry] += weight / (1.0 - absent[piece.findings[entry]])


@numba.njit(nogil=True, cache=True)
def _normalise(piece: Piece, total: float) -> None:
    """Divide by the evidence; what has caused a finding is a part of what makes it present."""
    piece.posteriors[:] /= total
    piece.caused[:] *= (1.0 - piece.failures) / total
    piece.leaked[:] *= piece.leaks / total


# --- elimination ---


class Order(NamedTuple):
    """The order in which diseases are eliminated, and the places that findings have meanwhile."""

    diseases: Integers
    opened: Integers
    """The findings that open before each disease, in its order..."""
    opened_offsets: Integers
    closed: Integers
    """... and those that close after it."""
    closed_offsets: Integers
    places: Integers
    """The bit of each finding while it is open."""
    width: int
    """The most findings that are open at once."""


@numba.njit(nogil=True, cache=True)
def find_order(piece: Piece) -> Order:
    """Choose diseases one by one, each time the one that leaves the fewest findings open."""
    k, m = len(piece.on), len(piece.leaks)
    waiting = np.zeros(m, dtype=np.int64)
    for entry in range(len(piece.findings)):
        waiting[piece.findings[entry]] += 1
    is_open, is_done = np.zeros(m, dtype=np.bool_), np.zeros(k, dtype=np.bool_)
    diseases = np.empty(k, dtype=np.int64)
    opened, closed = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    opened_offsets, closed_offsets = np.zeros(k + 1, np.int64), np.zeros(k + 1, np.int64)
    places, is_free = np.full(m, -1, dtype=np.int64), np.ones(m, dtype=np.bool_)
    width = n_opened = n_closed = 0
    for step in range(k):
        best, least = -1, 0
        for disease in range(k):
            if is_done[disease]:
                continue
            more = 0
            for entry in range(piece.offsets[disease], piece.offsets[disease + 1]):
                x = piece.findings[entry]
                more += (0 if is_open[x] else 1) - (1 if waiting[x] == 1 else 0)
            if best < 0 or more < least:
                best, least = disease, more
        diseases[step], is_done[best] = best, True
        for entry in range(piece.offsets[best], piece.offsets[best + 1]):
            x = piece.findings[entry]
            if not is_open[x]:
                is_open[x] = True
                place = 0
                while not is_free[place]:
                    place += 1
                places[x], is_free[place] = place, False
                width = max(width, place + 1)
                opened[n_opened] = x
                n_opened += 1
        for entry in range(piece.offsets[best], piece.offsets[best + 1]):
            x = piece.findings[entry]
            waiting[x] -= 1
            if waiting[x] == 0:
                is_free[places[x]] = True
                closed[n_closed] = x
                n_closed += 1
        opened_offsets[step + 1], closed_offsets[step + 1] = n_opened, n_closed
    return Order(diseases, opened, opened_offsets, closed, closed_offsets, places, width)


@numba.njit(nogil=True, cache=True)
def eliminate_piece(piece: Piece, order: Order) -> float:
    """Eliminate disease after disease; return the log probability of the findings.

    A vector holds the probability of each set of open findings being the explained ones. It is
    kept before every disease; a second one runs back and holds how probable it is that the rest
    is explained later. Together they give all posteriors.
    """
    k, size = len(piece.on), 1 << order.width
    before = np.empty((k, size))
    ahead = np.zeros(size)
    ahead[0] = 1.0
    log_evidence = 0.0
    with_disease = np.empty(size)
    for step in range(k):
        disease = order.diseases[step]
        for x in order.opened[order.opened_offsets[step] : order.opened_offsets[step + 1]]:
            _fire(ahead, order.places[x], 1.0 - piece.leaks[x])
        before[step] = ahead
        p = piece.on[disease]
        with_disease[:] = ahead
        for entry in range(piece.offsets[disease], piece.offsets[disease + 1]):
            _fire(with_disease, order.places[piece.findings[entry]], piece.failures[entry])
        ahead *= 1.0 - p
        ahead += p * with_disease
        for x in order.closed[order.closed_offsets[step] : order.closed_offsets[step + 1]]:
            _close(ahead, order.places[x])
        total = ahead.sum()
        ahead /= total
        log_evidence += np.log(total)
    _run_back(piece, order, before)
    return float(log_evidence)


@numba.njit(nogil=True, cache=True)
def _run_back(piece: Piece, order: Order, before: Floats) -> None:
    """Find posteriors and causes, from the last disease to the first."""
    k, size = before.shape
    behind = np.zeros(size)
    behind[0] = 1.0
    deepest = 0
    for disease in range(k):
        deepest = max(deepest, piece.offsets[disease + 1] - piece.offsets[disease])
    later = np.empty((deepest + 1, size))
    for step in range(k - 1, -1, -1):
        disease, p = order.diseases[step], piece.on[order.diseases[step]]
        for x in order.closed[order.closed_offsets[step] : order.closed_offsets[step + 1]]:
            _open_back(behind, order.places[x])
        # Through the findings of the disease, if it is there, from the last to the first.
        first, last = piece.offsets[disease], piece.offsets[disease + 1]
        later[last - first] = behind
        for entry in range(last - 1, first - 1, -1):
            later[entry - first] = later[entry - first + 1]
            place = order.places[piece.findings[entry]]
            _fire_back(later[entry - first], place, piece.failures[entry])
        without = (1.0 - p) * (before[step] @ behind)
        within = p * (before[step] @ later[0])
        total = without + within
        piece.posteriors[disease] = within / total
        reached = before[step].copy()
        for entry in range(first, last):
            place = order.places[piece.findings[entry]]
            fired = _fired(reached, later[entry - first + 1], place)
            piece.caused[entry] = p * (1.0 - piece.failures[entry]) * fired / total
            _fire(reached, place, piece.failures[entry])
        behind *= 1.0 - p
        behind += p * later[0]
        opened = order.opened[order.opened_offsets[step] : order.opened_offsets[step + 1]]
        for x in opened:
            _leak(piece, x, before[step], behind, order.places[x])
        for x in opened:
            _close_back(behind, order.places[x], piece.leaks[x])
        behind /= behind.max()


@numba.njit(nogil=True, cache=True)
def _fire(vector: Floats, place: int, failure: float) -> None:
    """Let a finding be explained with a chance of 1 - failure."""
    bit = 1 << place
    for state in range(len(vector)):
        if not state & bit:
            vector[state | bit] += (1.0 - failure) * vector[state]
            vector[state] *= failure


@numba.njit(nogil=True, cache=True)
def _fire_back(vector: Floats, place: int, failure: float) -> None:
    """Undo `_fire` for a vector that runs back: what follows from each state before it."""
    bit = 1 << place
    for state in range(len(vector)):
        if not state & bit:
            vector[state] = failure * vector[state] + (1.0 - failure) * vector[state | bit]


@numba.njit(nogil=True, cache=True)
def _close(vector: Floats, place: int) -> None:
    """Demand that a finding is explained, and give its place free."""
    bit = 1 << place
    for state in range(len(vector)):
        if not state & bit:
            vector[state] = vector[state | bit]
            vector[state | bit] = 0.0


@numba.njit(nogil=True, cache=True)
def _open_back(vector: Floats, place: int) -> None:
    """Undo `_close` for a vector that runs back."""
    bit = 1 << place
    for state in range(len(vector)):
        if not state & bit:
            vector[state | bit] = vector[state]
            vector[state] = 0.0


@numba.njit(nogil=True, cache=True)
def _close_back(vector: Floats, place: int, leak: float) -> None:
    """Undo the opening of a finding for a vector that runs back, and give its place free."""
    bit = 1 << place
    for state in range(len(vector)):
        if not state & bit:
            vector[state] = (1.0 - leak) * vector[state] + leak * vector[state | bit]
            vector[state | bit] = 0.0


@numba.njit(nogil=True, cache=True)
def _fired(before: Floats, after: Floats, place: int) -> float:
    """Return how probable all is if a finding is explained at this point for certain."""
    bit, total = 1 << place, 0.0
    for state in range(len(before)):
        total += before[state] * after[state | bit]
    return total


@numba.njit(nogil=True, cache=True)
def _leak(piece: Piece, x: int, before: Floats, behind: Floats, place: int) -> None:
    """Find how probable it is that a finding, just opened, has come by itself."""
    bit, leaked, total = 1 << place, 0.0, 0.0
    for state in range(len(before)):
        if state & bit:
            leaked += before[state] * behind[state]
        total += before[state] * behind[state]
    piece.leaked[x] = leaked / total
