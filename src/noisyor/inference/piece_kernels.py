"""Exact inference on one connected piece of a record: some diseases, some present findings.

A disease with one present finding only acts on it as a leak does, so it is merged with the leak
before; a piece has the diseases with several. All sums are of positive terms, so nothing cancels.
Two ways lead to the same result:

- enumeration: over all states of the diseases, 2^k of them;
- elimination: disease after disease, over which of the findings are already explained. A finding
  takes part from its first parent to its last, so 2^w states, w the most that are open at once.
"""

from typing import NamedTuple

import numpy as np

from noisyor.inference.flat import Floats, Integers
from noisyor.kernels import kernel
from noisyor.kernels.array_kernels import (
    copy,
    divide,
    fill,
    largest_of,
    move,
    new_floats,
    new_integers,
    new_marks,
    new_table,
    new_zeros,
    sum_of,
)

SMALLEST_NORMAL = 2.3e-308
"""Numbers below it have few digits, and an infinite inverse: findings that are as improbable are
refused."""


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
    absent: Floats
    """P(absent | no disease of the piece), of each finding: neither its leak nor a disease that has
    only this finding causes it..."""
    present: Floats
    """... or one of them does."""
    posteriors: Floats
    """P(disease | all findings), to be filled in."""
    caused: Floats
    """P(the edge has caused its finding | all findings) of each entry, to be filled in."""
    if_caused: Floats
    """How many times more probable all findings would be if this one were caused by its leak for
    certain, to be filled in..."""
    if_not: Floats
    """... and if it were not caused by its leak and diseases outside of the piece."""


@kernel
def new_piece(n_diseases: int, n_entries: int, n_findings: int) -> Piece:
    """Return an empty piece."""
    return Piece(
        new_floats(n_diseases), new_integers(n_diseases + 1), new_integers(n_entries),
        new_floats(n_entries), new_floats(n_findings), new_floats(n_findings),
        new_floats(n_diseases), new_floats(n_entries), new_floats(n_findings),
        new_floats(n_findings),
    )  # fmt: skip


@kernel
def with_findings(piece: Piece, n_findings: int) -> Piece:
    """Return a piece without the room for more findings."""
    return Piece(
        piece.on, piece.offsets, piece.findings, piece.failures, piece.absent[:n_findings],
        piece.present[:n_findings], piece.posteriors, piece.caused, piece.if_caused[:n_findings],
        piece.if_not[:n_findings],
    )  # fmt: skip


@kernel
def enumerate_piece(piece: Piece) -> float:
    """Sum over all states of the diseases; return the log probability of the findings.

    The states are counted in binary, the first disease being the highest digit; what belongs to
    the digits that have not changed is kept, so a state costs about two diseases' work. Row d of
    `silent` has P(no disease before d causes the finding), of `causing` the complement, which is
    added up by itself: 1 - silent would lose the digits of a small one.
    """
    k, m = len(piece.on), len(piece.absent)
    silent, causing, weights = new_table(k + 1, m), new_table(k + 1, m), new_floats(k + 1)
    fill(silent[0], 1.0)
    fill(causing[0], 0.0)
    weights[0] = 1.0
    scales = _scales(piece)
    present = new_floats(m)
    total, state = 0.0, 0
    fill(piece.posteriors, 0.0)
    fill(piece.caused, 0.0)
    fill(piece.if_caused, 0.0)
    fill(piece.if_not, 0.0)
    first = 0  # the first disease whose digit has changed
    while True:
        for disease in range(first, k):
            is_on = (state >> (k - 1 - disease)) & 1 == 1
            _decide(piece, disease, is_on, silent, causing, weights)
        weight = weights[k]
        for x in range(m):
            present[x] = piece.present[x] + piece.absent[x] * causing[k, x]
            weight *= present[x] * scales[x]
        if weight > 0.0:
            total += weight
            _add_state(piece, state, weight, present, causing[k])
        state += 1
        if state >> k:
            break
        first = k - 1
        while not (state >> (k - 1 - first)) & 1:
            first -= 1
    if total < SMALLEST_NORMAL:
        return -np.inf
    for entry in range(len(piece.caused)):
        piece.caused[entry] *= (1.0 - piece.failures[entry]) / total
    divide(piece.posteriors, total)
    divide(piece.if_caused, total)
    divide(piece.if_not, total)
    log_evidence = np.log(total)
    for x in range(m):
        log_evidence -= np.log(scales[x])
    return float(log_evidence)


@kernel
def _scales(piece: Piece) -> Floats:
    """Return one over what P(present) can be at most, so that products do not underflow."""
    silent, causing = new_floats(len(piece.absent)), new_zeros(len(piece.absent))
    fill(silent, 1.0)
    for entry in range(len(piece.findings)):
        x = piece.findings[entry]
        causing[x] += silent[x] * (1.0 - piece.failures[entry])
        silent[x] *= piece.failures[entry]
    for x in range(len(causing)):
        causing[x] = 1.0 / max(piece.present[x] + piece.absent[x] * causing[x], 1e-300)
    return causing


@kernel
def _decide(
    piece: Piece, disease: int, is_on: bool, silent: Floats, causing: Floats, weights: Floats
) -> None:
    """Write what findings and weight are with one more disease decided."""
    p = piece.on[disease]
    weights[disease + 1] = weights[disease] * (p if is_on else 1.0 - p)
    copy(silent[disease], silent[disease + 1])
    copy(causing[disease], causing[disease + 1])
    if is_on:
        for entry in range(piece.offsets[disease], piece.offsets[disease + 1]):
            x, f = piece.findings[entry], piece.failures[entry]
            causing[disease + 1, x] += silent[disease + 1, x] * (1.0 - f)
            silent[disease + 1, x] *= f


@kernel
def _add_state(piece: Piece, state: int, weight: float, present: Floats, causing: Floats) -> None:
    k = len(piece.on)
    for x in range(len(present)):
        piece.if_caused[x] += weight / present[x]
        piece.if_not[x] += weight * causing[x] / present[x]
    for disease in range(k):
        if (state >> (k - 1 - disease)) & 1:
            piece.posteriors[disease] += weight
            for entry in range(piece.offsets[disease], piece.offsets[disease + 1]):
                piece.caused[entry] += weight / present[piece.findings[entry]]


# --- elimination ---


class Order(NamedTuple):
    """The order in which diseases are eliminated, and the indices that findings have meanwhile."""

    diseases: Integers
    opened: Integers
    """The findings that open before each disease, in its order..."""
    opened_offsets: Integers
    closed: Integers
    """... and those that close after it."""
    closed_offsets: Integers
    indices: Integers
    """The bit of each finding while it is open."""
    width: int
    """The most findings that are open at once."""


@kernel
def find_order(piece: Piece) -> Order:
    """Choose diseases one by one, each time the one that leaves the fewest findings open."""
    k, m = len(piece.on), len(piece.absent)
    parent_offsets, parents = parents_of(piece)
    waiting, more = new_integers(m), new_integers(k)  # more: findings that a disease leaves open
    for disease in range(k):
        more[disease] = piece.offsets[disease + 1] - piece.offsets[disease]
    for x in range(m):
        waiting[x] = parent_offsets[x + 1] - parent_offsets[x]
        if waiting[x] == 1:
            more[parents[parent_offsets[x]]] -= 1
    is_open, is_done, is_taken = new_marks(m), new_marks(k), new_marks(m)
    diseases, opened, closed = new_integers(k), new_integers(m), new_integers(m)
    opened_offsets, closed_offsets = new_integers(k + 1), new_integers(k + 1)
    indices = new_integers(m)
    width = n_opened = n_closed = 0
    for step in range(k):
        best = -1
        for disease in range(k):
            if not is_done[disease] and (best < 0 or more[disease] < more[best]):
                best = disease
        diseases[step], is_done[best] = best, True
        for entry in range(piece.offsets[best], piece.offsets[best + 1]):
            x = piece.findings[entry]
            if not is_open[x]:
                is_open[x] = True
                index = 0
                while is_taken[index]:
                    index += 1
                indices[x], is_taken[index] = index, True
                width = max(width, index + 1)
                opened[n_opened] = x
                n_opened += 1
                for disease in parents[parent_offsets[x] : parent_offsets[x + 1]]:
                    more[disease] -= 1
        for entry in range(piece.offsets[best], piece.offsets[best + 1]):
            x = piece.findings[entry]
            waiting[x] -= 1
            if waiting[x] == 0:
                is_taken[indices[x]] = False
                closed[n_closed] = x
                n_closed += 1
            elif waiting[x] == 1:  # its last parent will close it
                for disease in parents[parent_offsets[x] : parent_offsets[x + 1]]:
                    more[disease] -= 0 if is_done[disease] else 1
        opened_offsets[step + 1], closed_offsets[step + 1] = n_opened, n_closed
    return Order(diseases, opened, opened_offsets, closed, closed_offsets, indices, width)


@kernel
def parents_of(piece: Piece) -> tuple[Integers, Integers]:
    """List the diseases of each finding."""
    offsets = new_integers(len(piece.absent) + 1)
    filled = new_integers(len(piece.absent))
    parents = new_integers(len(piece.findings))
    for x in piece.findings:
        offsets[x + 1] += 1
    for x in range(len(piece.absent)):
        filled[x] = offsets[x]
        offsets[x + 1] += offsets[x]
    for disease in range(len(piece.on)):
        for x in piece.findings[piece.offsets[disease] : piece.offsets[disease + 1]]:
            parents[filled[x]] = disease
            filled[x] += 1
    return offsets, parents


@kernel
def eliminate_piece(piece: Piece, order: Order) -> float:
    """Eliminate disease after disease; return the log probability of the findings.

    A vector has the probability of each set of open findings being the explained ones. It is kept
    before every disease; a second one runs back and has the probability that the others are
    explained later. Together they give all posteriors.
    """
    before = new_table(len(piece.on), 1 << order.width)
    log_evidence = run_ahead(piece, order, before)
    if log_evidence > -np.inf:
        _run_back(piece, order, before)
    return log_evidence


@kernel
def run_ahead(piece: Piece, order: Order, before: Floats) -> float:
    """Write the vector before every disease; return the log probability of the findings."""
    k, size = before.shape
    ahead, with_disease = new_zeros(size), new_floats(size)
    ahead[0] = 1.0
    log_evidence = 0.0
    for step in range(k):
        disease = order.diseases[step]
        for x in order.opened[order.opened_offsets[step] : order.opened_offsets[step + 1]]:
            _fire(ahead, order.indices[x], piece.absent[x], piece.present[x])
        copy(ahead, before[step])
        p = piece.on[disease]
        copy(ahead, with_disease)
        for entry in range(piece.offsets[disease], piece.offsets[disease + 1]):
            f = piece.failures[entry]
            _fire(with_disease, order.indices[piece.findings[entry]], f, 1.0 - f)
        move(ahead, p, with_disease)
        for x in order.closed[order.closed_offsets[step] : order.closed_offsets[step + 1]]:
            _close(ahead, order.indices[x], False)
        total = sum_of(ahead)
        if total < SMALLEST_NORMAL:
            return -np.inf
        divide(ahead, total)
        log_evidence += np.log(total)
    return float(log_evidence)


@kernel
def _run_back(piece: Piece, order: Order, before: Floats) -> None:
    """Find posteriors and causes, from the last disease to the first."""
    k, size = before.shape
    behind, reached = new_zeros(size), new_floats(size)
    behind[0] = 1.0
    deepest = 0
    for disease in range(k):
        deepest = max(deepest, piece.offsets[disease + 1] - piece.offsets[disease])
    later = new_table(deepest + 1, size)
    for step in range(k - 1, -1, -1):
        disease, p = order.diseases[step], piece.on[order.diseases[step]]
        for x in order.closed[order.closed_offsets[step] : order.closed_offsets[step + 1]]:
            _close(behind, order.indices[x], True)
        # Through the findings of the disease, if it is there, from the last to the first.
        first, last = piece.offsets[disease], piece.offsets[disease + 1]
        copy(behind, later[last - first])
        for entry in range(last - 1, first - 1, -1):
            copy(later[entry - first + 1], later[entry - first])
            index = order.indices[piece.findings[entry]]
            f = piece.failures[entry]
            _fire_back(later[entry - first], index, f, 1.0 - f)
        without = (1.0 - p) * _dot(before[step], behind)
        within = p * _dot(before[step], later[0])
        total = without + within
        piece.posteriors[disease] = within / total
        copy(before[step], reached)
        for entry in range(first, last):
            index, f = order.indices[piece.findings[entry]], piece.failures[entry]
            fired = _fired(reached, later[entry - first + 1], index)
            piece.caused[entry] = p * (1.0 - f) * fired / total
            _fire(reached, index, f, 1.0 - f)
        move(behind, p, later[0])
        opened = order.opened[order.opened_offsets[step] : order.opened_offsets[step + 1]]
        for x in opened:
            _weigh_leak(piece, x, before[step], behind, order.indices[x])
        for x in opened:
            _fire_back(behind, order.indices[x], piece.absent[x], piece.present[x])
            _free(behind, order.indices[x])
        divide(behind, largest_of(behind))


@kernel
def _dot(one: Floats, other: Floats) -> float:
    """Return the inner product; that of BLAS would start threads within threads."""
    total = 0.0
    for state in range(len(one)):
        total += one[state] * other[state]
    return total


@kernel
def _fire(vector: Floats, index: int, failure: float, chance: float) -> None:
    """Let a finding be explained with a chance, which is 1 - failure."""
    bit = 1 << index
    for first in range(0, len(vector), 2 * bit):
        for state in range(first, first + bit):
            vector[state + bit] += chance * vector[state]
            vector[state] *= failure


@kernel
def _fire_back(vector: Floats, index: int, failure: float, chance: float) -> None:
    """Undo `_fire` for a vector that runs back: what follows from each state before it."""
    bit = 1 << index
    for first in range(0, len(vector), 2 * bit):
        for state in range(first, first + bit):
            vector[state] = failure * vector[state] + chance * vector[state + bit]


@kernel
def _close(vector: Floats, index: int, runs_back: bool) -> None:
    """Demand that a finding is explained, and give its index free; or undo that."""
    bit = 1 << index
    into, out_of = (bit, 0) if runs_back else (0, bit)
    for first in range(0, len(vector), 2 * bit):
        for state in range(first, first + bit):
            vector[state + into] = vector[state + out_of]
            vector[state + out_of] = 0.0


@kernel
def _free(vector: Floats, index: int) -> None:
    """Give the index of a finding free that is not yet open."""
    bit = 1 << index
    for first in range(bit, len(vector), 2 * bit):
        for state in range(first, first + bit):
            vector[state] = 0.0


@kernel
def _fired(before: Floats, after: Floats, index: int) -> float:
    """Return how probable all is if a finding is explained at this point for certain."""
    bit, total = 1 << index, 0.0
    for first in range(0, len(before), 2 * bit):
        for state in range(first, first + bit):
            total += (before[state] + before[state + bit]) * after[state + bit]
    return total


@kernel
def _weigh_leak(piece: Piece, x: int, before: Floats, behind: Floats, index: int) -> None:
    """Find how probable all is if a finding, just opened, is caused by its leak, and if not."""
    bit, caused, not_caused, total = 1 << index, 0.0, 0.0, 0.0
    for first in range(0, len(before), 2 * bit):
        for state in range(first, first + bit):
            reached = before[state] + before[state + bit]
            caused += reached * behind[state + bit]
            not_caused += reached * behind[state]
            total += before[state] * behind[state] + before[state + bit] * behind[state + bit]
    piece.if_caused[x], piece.if_not[x] = caused / total, not_caused / total
