"""Compiled loops of a network: exact negative moments, and sampling.

In these loops p is a disease's prior and f the failure of an edge, as in the paper.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.kernels import kernel

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class ParentArrays(NamedTuple):
    """The parents of each symptom, in increasing order, as arrays of a structure."""

    offsets: Indices
    """The parents of symptom j are those from entry j to entry j + 1 of the next two."""
    diseases: Indices
    edges: Indices


@kernel
def next_parent(symptoms: Indices, cursors: Indices, parents: ParentArrays, none: int) -> int:
    """Return the smallest disease at the cursors into the symptoms' parents; `none` at the end."""
    disease = none
    for k in range(len(cursors)):
        if cursors[k] < parents.offsets[symptoms[k] + 1]:
            disease = min(disease, parents.diseases[cursors[k]])
    return disease


@kernel
def negative_moments(
    sets: Indices,
    parents: ParentArrays,
    priors: Floats,
    failures: Floats,
    leaks: Floats,
    moments: Floats,
) -> None:
    """Fill in P(all symptoms of a set absent) for each row of `sets` (Eq. 3).

    The parents of each symptom are sorted, so their union is a merge: at each step the smallest
    disease at any of the cursors is taken, and its influence is 1 - p + p * (product of f).
    """
    order = sets.shape[1]
    cursors = np.empty(order, dtype=np.int64)
    none = len(priors)
    for row in range(sets.shape[0]):
        moment = 1.0
        for k in range(order):
            cursors[k] = parents.offsets[sets[row, k]]
            moment *= 1.0 - leaks[sets[row, k]]
        while True:
            disease = next_parent(sets[row], cursors, parents, none)
            if disease == none:
                break
            all_fail = 1.0
            for k in range(order):
                if (
                    cursors[k] < parents.offsets[sets[row, k] + 1]
                    and parents.diseases[cursors[k]] == disease
                ):
                    all_fail *= failures[parents.edges[cursors[k]]]
                    cursors[k] += 1
            moment *= 1.0 - priors[disease] + priors[disease] * all_fail
        moments[row] = moment


@kernel
def _events(rng: np.random.Generator, p: float, n: int, events: Indices) -> int:
    """Fill in which of n independent trials of probability p succeed; return their number.

    Steps from success to success: the gap is geometric, floor(log(u) / log(1 - p)).
    """
    if p <= 0.0:
        return 0
    count = 0
    if p >= 1.0:
        for trial in range(n):
            events[trial] = trial
        return n
    per_log = 1.0 / math.log1p(-p)
    at = math.log(1.0 - rng.random()) * per_log
    while at < n:
        trial = int(at)
        events[count] = trial
        count += 1
        at = trial + 1 + math.floor(math.log(1.0 - rng.random()) * per_log)
    return count


class NetworkArrays(NamedTuple):
    """What sampling needs of a network."""

    child_offsets: Indices
    """The edges of disease i are those from entry i to entry i + 1."""
    children: Indices
    """The symptom of each edge."""
    priors: Floats
    failures: Floats
    leaks: Floats


@kernel
def sample_block(
    rng: np.random.Generator,
    n_records: int,
    network: NetworkArrays,
    present: NDArray[np.uint64],
    diseases: NDArray[np.bool_],
) -> None:
    """Sample records into bit columns, disease by disease (the process of Section 2).

    `diseases` is filled in where it has rows. Few records have a given disease, so they are found
    by skipping; of these many have a given child, so there each is tried.
    """
    one = np.uint64(1)
    records = np.empty(n_records, dtype=np.int64)
    for disease in range(len(network.priors)):
        count = _events(rng, network.priors[disease], n_records, records)
        if len(diseases):
            for k in range(count):
                diseases[records[k], disease] = True
        for edge in range(network.child_offsets[disease], network.child_offsets[disease + 1]):
            column = present[network.children[edge]]
            success = 1.0 - network.failures[edge]
            for k in range(count):
                if rng.random() < success:
                    column[records[k] >> 6] |= one << np.uint64(records[k] & 63)
    for symptom in range(len(network.leaks)):
        column = present[symptom]
        count = _events(rng, network.leaks[symptom], n_records, records)
        for k in range(count):
            column[records[k] >> 6] |= one << np.uint64(records[k] & 63)


@kernel
def sample_findings(
    rng: np.random.Generator,
    diseases: NDArray[np.bool_],
    network: NetworkArrays,
    present: NDArray[np.uint64],
) -> None:
    """Sample the findings of records whose diseases are known into bit columns."""
    one, n_records = np.uint64(1), len(diseases)
    for record in range(n_records):
        word, bit = record >> 6, one << np.uint64(record & 63)
        for disease in np.flatnonzero(diseases[record]):
            for edge in range(network.child_offsets[disease], network.child_offsets[disease + 1]):
                if rng.random() >= network.failures[edge]:
                    present[network.children[edge], word] |= bit
    records = np.empty(n_records, dtype=np.int64)
    for symptom in range(len(network.leaks)):
        for k in range(_events(rng, network.leaks[symptom], n_records, records)):
            present[symptom, records[k] >> 6] |= one << np.uint64(records[k] & 63)
