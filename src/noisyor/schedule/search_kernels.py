"""Compiled search for the steps of one round of Algorithm 1.

Sets are rows of bits: `parents[x]` and `unknown[x]` have one bit per disease, for symptom x. Two
children x, y of disease i are admissible for i when no other disease couples them any more:

    (P_x & P_y) & (U_x | U_y)  is empty, or is {i}

where U_x are the parents of x whose edge to x is not learned yet.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.kernels import kernel
from noisyor.kernels.word_kernels import lowest_bit

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]


@kernel
def is_admissible(parents: Words, unknown: Words, x: int, y: int, disease: int) -> bool:
    """Return True if no unlearned disease but the given one couples two symptoms."""
    for word in range(parents.shape[1]):
        shared = parents[x, word] & parents[y, word] & (unknown[x, word] | unknown[y, word])
        if word == disease >> 6:
            shared &= ~(np.uint64(1) << np.uint64(disease & 63))
        if shared:
            return False
    return True


@kernel
def first_common(one: Words, other: Words) -> int:
    """Return the first element of two sets' intersection, or -1."""
    for word in range(len(one)):
        common = one[word] & other[word]
        if common:
            return int(64 * word + lowest_bit(common))
    return -1


@kernel
def has(bits: Words, element: int) -> bool:
    """Return True if a set has an element."""
    return bool(bits[element >> 6] >> np.uint64(element & 63) & np.uint64(1))


@kernel
def admissible_pairs(
    parents: Words, unknown: Words, children: Integers, disease: int, near: Words
) -> None:
    """Fill in, for each child, the bits of the children that it is admissible with."""
    one = np.uint64(1)
    for x in range(len(children)):
        for y in range(x):
            if is_admissible(parents, unknown, children[x], children[y], disease):
                near[x, y >> 6] |= one << np.uint64(y & 63)
                near[y, x >> 6] |= one << np.uint64(x & 63)


@kernel
def first_triangle(near: Words, a: int) -> tuple[int, int]:
    """Return the first two children that are admissible with `a` and each other, or -1, -1."""
    for b in range(near.shape[0]):
        if has(near[a], b):
            c = first_common(near[a], near[b])
            if c >= 0:
                return b, c
    return -1, -1


class SearchState(NamedTuple):
    """What is searched, and what is known so far."""

    child_offsets: Integers
    edge_order: Integers
    """The edges of each disease in the order in which they are tried."""
    edge_symptoms: Integers
    parents: Words
    unknown: Words
    depths: Integers
    """The round in which each edge was learned, -1 where it was not."""


class FoundSteps(NamedTuple):
    """The steps that were found, with room for more, and the step that teaches each edge."""

    diseases: Integers
    symptoms: Integers
    edge_steps: Integers
    """-1 where none does."""


@kernel
def find_steps(search: SearchState, found: FoundSteps, n_steps: int, with_pairs: bool) -> int:
    """Write down the steps of a round after the first `n_steps`; return how many there are then.

    An edge that no triplet teaches is tried with the pairs. What this round learns helps nothing
    before the next: `depths` and `unknown` stay as they are.
    """
    edge_steps = found.edge_steps
    for disease in range(len(search.child_offsets) - 1):
        edges = search.edge_order[search.child_offsets[disease] : search.child_offsets[disease + 1]]
        children, is_done = np.empty(len(edges), np.int64), True
        for x in range(len(edges)):
            children[x] = search.edge_symptoms[edges[x]]
            is_done = is_done and search.depths[edges[x]] >= 0
        if is_done:
            continue
        near = np.zeros((len(edges), (len(edges) + 63) >> 6), dtype=np.uint64)
        admissible_pairs(search.parents, search.unknown, children, disease, near)
        for a in range(len(edges)):
            if edge_steps[edges[a]] >= 0:
                continue
            b, c = first_triangle(near, a)
            if b >= 0:
                write_sorted(children[a], children[b], children[c], found.symptoms[n_steps])
                for x in (a, b, c):
                    if edge_steps[edges[x]] < 0:
                        edge_steps[edges[x]] = n_steps
            elif with_pairs:
                for j in range(len(edges)):
                    if search.depths[edges[j]] >= 0 and has(near[a], j):
                        found.symptoms[n_steps, 0] = children[a]
                        found.symptoms[n_steps, 1] = children[j]
                        edge_steps[edges[a]] = n_steps
                        break
            if edge_steps[edges[a]] == n_steps:
                found.diseases[n_steps] = disease
                n_steps += 1
    return n_steps


@kernel
def write_sorted(a: int, b: int, c: int, triplet: Integers) -> None:
    """Write three symptoms in their order."""
    low, high = min(a, b), max(a, b)
    triplet[0], triplet[1], triplet[2] = min(low, c), max(low, min(high, c)), max(high, c)


@kernel
def couplings(
    parents: Words, step_diseases: Integers, step_symptoms: Integers, found: Integers
) -> int:
    """List the diseases that couple two symptoms of a step, besides the step's own.

    Writes rows (step, disease) while there is room in `found`; returns how many there are.
    """
    n_found = 0
    for step in range(len(step_diseases)):
        a, b, c = step_symptoms[step]
        for word in range(parents.shape[1]):
            shared = parents[a, word] & parents[b, word]
            if c >= 0:
                shared |= parents[c, word] & (parents[a, word] | parents[b, word])
            while shared:
                disease = 64 * word + lowest_bit(shared)
                shared &= shared - np.uint64(1)
                if disease != step_diseases[step]:
                    if n_found < len(found):
                        found[n_found, 0] = step
                        found[n_found, 1] = disease
                    n_found += 1
    return n_found
