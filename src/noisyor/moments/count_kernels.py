"""Compiled loops that count. A plane is a row of bits per symptom, 64 records to a word.

Those that count take a range of words, so that a plane can be counted slice by slice, and add
to their results, so that slices add up. Rows are cut to that range first: loops from 0 are the ones
that LLVM turns into vector instructions.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.kernels import kernel
from noisyor.kernels.word_kernels import popcount
from noisyor.network.network_kernels import ParentArrays, next_parent

Words = NDArray[np.uint64]
Sets = NDArray[np.int32]
Counts = NDArray[Any]


class ColumnSets(NamedTuple):
    """The sets of a plan, and the order in which their columns are combined.

    A triplet's columns are at hand when it is counted, so it also counts those of its pairs that
    no triplet before it has counted: it owns them. The pairs that no triplet owns come first.
    """

    symptoms: Sets
    pairs: Sets
    lone_pairs: Sets
    """Rows of `pairs` that no triplet owns."""
    triplets: Sets
    owners: Sets
    """Rows of `triplets` that own a pair."""
    owned_pairs: Sets
    """For each triplet, the rows of its pairs ab, ac and bc; -1 where another one counts it."""
    plain_triplets: Sets
    """Rows of `triplets` that own none."""
    quartets: Sets


class ColumnCounts(NamedTuple):
    """Counts of the sets by group, and zeros to count in."""

    symptoms: Counts
    pairs: Counts
    triplets: Counts
    quartets: Counts
    near_pairs: Counts
    near_triplets: Counts


@kernel
def count_columns(
    plane: Words, first: int, last: int, most_listed: int, sets: ColumnSets, row: int,
    counts: ColumnCounts,
) -> np.int64:  # fmt: skip
    """Count all sets of a plan, and return the number of findings.

    Pairs and triplets are left out if there are no more findings than `most_listed`: lists of them
    are shorter. One call does all: between calls threads would wait for Python's lock. Triplets and
    their pairs, which stand far from each other, are counted in zeros that stay in the caches.
    """
    n_findings = count_symptoms(plane, first, last, sets.symptoms, counts.symptoms[row])
    if n_findings > most_listed:
        pairs = counts.pairs[row]
        count_pairs(plane, first, last, sets.pairs, sets.lone_pairs, pairs)
        if len(sets.triplets):
            near = counts.near_triplets
            count_triplets(plane, first, last, sets.triplets, sets.plain_triplets, near)
            count_triplets_and_pairs(
                plane, first, last, sets.triplets, sets.owners, sets.owned_pairs,
                near, counts.near_pairs,
            )  # fmt: skip
            move_counts(near, counts.triplets[row])
            move_counts(counts.near_pairs, pairs)
    # These are few, and no list would be shorter.
    count_quartets(plane, first, last, sets.quartets, counts.quartets[row])
    return n_findings


@kernel
def move_counts(near: Counts, counts: Counts) -> None:
    """Add counts to others, and leave zeros."""
    for k in range(len(near)):
        counts[k] += near[k]
        near[k] = 0


@kernel
def count_symptoms(plane: Words, first: int, last: int, symptoms: Sets, counts: Counts) -> np.int64:
    """Count the set bits of some symptoms; return how many there are of all."""
    total = np.uint64(0)
    for k in range(len(symptoms)):
        a = plane[symptoms[k], first:last]
        present = np.uint64(0)
        for word in range(len(a)):
            present += popcount(a[word])
        counts[k] += present
        total += present
    return np.int64(total)


@kernel
def count_pairs(
    plane: Words, first: int, last: int, pairs: Sets, rows: Sets, counts: Counts
) -> None:
    """Count, for some rows of `pairs`, the records in which both symptoms are present."""
    for row in rows:
        a, b = plane[pairs[row, 0], first:last], plane[pairs[row, 1], first:last]
        present = np.uint64(0)
        for word in range(len(a)):
            present += popcount(a[word] & b[word])
        counts[row] += present


@kernel
def count_triplets(
    plane: Words, first: int, last: int, triplets: Sets, rows: Sets, counts: Counts
) -> None:
    """Count, for some rows of `triplets`, the records in which all three symptoms are present."""
    for row in rows:
        a, b = plane[triplets[row, 0], first:last], plane[triplets[row, 1], first:last]
        c = plane[triplets[row, 2], first:last]
        present = np.uint64(0)
        for word in range(len(a)):
            present += popcount(a[word] & b[word] & c[word])
        counts[row] += present


@kernel
def count_triplets_and_pairs(
    plane: Words,
    first: int,
    last: int,
    triplets: Sets,
    rows: Sets,
    owned_pairs: Sets,
    triplet_counts: Counts,
    pair_counts: Counts,
) -> None:
    """Count some triplets together with those of their pairs ab, ac and bc that they own."""
    for row in rows:
        a, b = plane[triplets[row, 0], first:last], plane[triplets[row, 1], first:last]
        c = plane[triplets[row, 2], first:last]
        n_ab = n_ac = n_bc = n_abc = np.uint64(0)
        for word in range(len(a)):
            both = a[word] & b[word]
            n_ab += popcount(both)
            n_ac += popcount(a[word] & c[word])
            n_bc += popcount(b[word] & c[word])
            n_abc += popcount(both & c[word])
        triplet_counts[row] += n_abc
        if owned_pairs[row, 0] >= 0:
            pair_counts[owned_pairs[row, 0]] += n_ab
        if owned_pairs[row, 1] >= 0:
            pair_counts[owned_pairs[row, 1]] += n_ac
        if owned_pairs[row, 2] >= 0:
            pair_counts[owned_pairs[row, 2]] += n_bc


@kernel
def count_pair_margins(
    plane: Words, known: Words, first: int, last: int, pairs: Sets, margins: Counts
) -> None:
    """Count, where both are known: the records, those with a, and those with b."""
    for k in range(len(pairs)):
        a, b = plane[pairs[k, 0], first:last], plane[pairs[k, 1], first:last]
        knows_a, knows_b = known[pairs[k, 0], first:last], known[pairs[k, 1], first:last]
        n = n_a = n_b = np.uint64(0)
        for word in range(len(a)):
            n += popcount(knows_a[word] & knows_b[word])
            n_a += popcount(a[word] & knows_b[word])
            n_b += popcount(b[word] & knows_a[word])
        margins[k, 0] += n
        margins[k, 1] += n_a
        margins[k, 2] += n_b


@kernel
def count_triplet_margins(
    plane: Words, known: Words, first: int, last: int, triplets: Sets, margins: Counts
) -> None:
    """Count, where all three are known: the records, and those with a, b, c, ab, ac and bc."""
    for k in range(len(triplets)):
        x, y, z = triplets[k, 0], triplets[k, 1], triplets[k, 2]
        a, b, c = plane[x, first:last], plane[y, first:last], plane[z, first:last]
        knows_a, knows_b, knows_c = known[x, first:last], known[y, first:last], known[z, first:last]
        n = n_a = n_b = n_c = n_ab = n_ac = n_bc = np.uint64(0)
        for word in range(len(a)):
            n += popcount(knows_a[word] & knows_b[word] & knows_c[word])
            n_a += popcount(a[word] & knows_b[word] & knows_c[word])
            n_b += popcount(knows_a[word] & b[word] & knows_c[word])
            n_c += popcount(knows_a[word] & knows_b[word] & c[word])
            n_ab += popcount(a[word] & b[word] & knows_c[word])
            n_ac += popcount(a[word] & knows_b[word] & c[word])
            n_bc += popcount(knows_a[word] & b[word] & c[word])
        margins[k, 0] += n
        margins[k, 1] += n_a
        margins[k, 2] += n_b
        margins[k, 3] += n_c
        margins[k, 4] += n_ab
        margins[k, 5] += n_ac
        margins[k, 6] += n_bc


@kernel
def count_quartets(plane: Words, first: int, last: int, quartets: Sets, counts: Counts) -> None:
    """Count the records in which all four symptoms are present."""
    for k in range(len(quartets)):
        a, b = plane[quartets[k, 0], first:last], plane[quartets[k, 1], first:last]
        c, d = plane[quartets[k, 2], first:last], plane[quartets[k, 3], first:last]
        present = np.uint64(0)
        for word in range(len(a)):
            present += popcount(a[word] & b[word] & c[word] & d[word])
        counts[k] += present


@kernel
def count_quartet_margins(
    plane: Words, known: Words, first: int, last: int, quartets: Sets,
    is_member: NDArray[np.bool_], margins: Counts,
) -> None:  # fmt: skip
    """Count, where all four are known, the records in which all of some of them are present.

    `is_member` has a row for each column of `margins`: which of the four must be present.
    """
    for k in range(len(quartets)):
        for subset in range(len(is_member)):
            w, x = quartets[k, 0], quartets[k, 1]
            y, z = quartets[k, 2], quartets[k, 3]
            a = plane[w, first:last] if is_member[subset, 0] else known[w, first:last]
            b = plane[x, first:last] if is_member[subset, 1] else known[x, first:last]
            c = plane[y, first:last] if is_member[subset, 2] else known[y, first:last]
            d = plane[z, first:last] if is_member[subset, 3] else known[z, first:last]
            n = np.uint64(0)
            for word in range(len(a)):
                n += popcount(a[word] & b[word] & c[word] & d[word])
            margins[k, subset] += n


class ListedSets(NamedTuple):
    """Pairs and triplets as lists of findings are looked up in them."""

    pair_at: NDArray[np.int32]
    """The number of the pair (a, b), or -1."""
    offsets: NDArray[np.int64]
    """The triplets (a, b, c) of pair k are those from entry k to entry k + 1 of the next two."""
    thirds: NDArray[np.int32]
    """Their symptoms c."""
    triplets: NDArray[np.int32]
    """Their numbers."""


@kernel
def count_listed(
    offsets: NDArray[np.int64],
    listed: NDArray[np.int32],
    sets: ListedSets,
    pair_counts: Counts,
    triplet_counts: Counts,
) -> None:
    """Count pairs and triplets record by record, from lists of the present symptoms."""
    is_present = np.zeros(sets.pair_at.shape[0], dtype=np.bool_)
    for record in range(len(offsets) - 1):
        findings = listed[offsets[record] : offsets[record + 1]]
        for symptom in findings:
            is_present[symptom] = True
        for i in range(len(findings)):
            for j in range(i + 1, len(findings)):
                pair = sets.pair_at[findings[i], findings[j]]
                if pair >= 0:
                    pair_counts[pair] += 1
                    for k in range(sets.offsets[pair], sets.offsets[pair + 1]):
                        if is_present[sets.thirds[k]]:
                            triplet_counts[sets.triplets[k]] += 1
        for symptom in findings:
            is_present[symptom] = False


@kernel
def log_ratios(
    sets: NDArray[np.int64],
    parents: ParentArrays,
    priors: NDArray[np.float64],
    failures: NDArray[np.float64],
    ratios: NDArray[np.float64],
) -> None:
    """Fill in log R(S) of pairs or triplets of a network, exactly, without cancellation.

    With t = (1 - f) / (1 - p (1 - f)) for each edge to S, a disease adds
    log(1 + q (t_a t_b + t_a t_c + t_b t_c) - q (1 - 2 p) t_a t_b t_c), where q = p (1 - p).
    """
    order = sets.shape[1]
    cursors = np.empty(order, dtype=np.int64)
    none = len(priors)
    for row in range(sets.shape[0]):
        for k in range(order):
            cursors[k] = parents.offsets[sets[row, k]]
        total = 0.0
        while True:
            disease = next_parent(sets[row], cursors, parents, none)
            if disease == none:
                break
            p = priors[disease]
            first = second = third = 0.0  # elementary symmetric sums of t over the set
            for k in range(order):
                at = cursors[k]
                if at < parents.offsets[sets[row, k] + 1] and parents.diseases[at] == disease:
                    cause = 1.0 - failures[parents.edges[at]]
                    t = cause / (1.0 - p * cause)
                    third += second * t
                    second += first * t
                    first += t
                    cursors[k] += 1
            q = p * (1.0 - p)
            total += np.log1p(q * second - q * (1.0 - 2.0 * p) * third)
        ratios[row] = total


@kernel
def find_pair_excesses(
    n_records: int, symptoms: NDArray[np.int64], rows: NDArray[np.int64],
    both: NDArray[np.int64], excesses: NDArray[np.float64],
) -> None:  # fmt: skip
    """Fill in (n n_ab - n_a n_b) / ((n - n_a) (n - n_b)) of pairs, `rows` of `symptoms`."""
    for k in range(len(rows)):
        a, b = symptoms[rows[k, 0]], symptoms[rows[k, 1]]
        absent = np.float64(n_records - a) * np.float64(n_records - b)
        excesses[k] = np.float64(n_records * both[k] - a * b) / absent
