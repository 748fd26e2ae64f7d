"""The kernels of the card that count. Records lie there as here: a row per symptom, 64 to a word.

Where all findings are known, a warp counts some sets, and its lanes take words side by side: they
read whole lines of the cache. A triplet counts its pairs, too, whose words are at hand. What the
lanes have found is added up in near (shared) memory at the end.

With margins, a block of threads takes a chunk of sets that have few symptoms in common. It brings
some words of these symptoms near; all threads look their sets' symptoms up in them and count. The
words of a symptom lie side by side, an odd number of them, so that symptoms begin in different
banks of near memory, and one address serves all words of a set.
"""

import functools
from typing import Any

import numpy as np
from numba import cuda

NEAR_WORDS = 6144
"""Words of near memory for a block of threads: 48 kB, which all cards have."""


@functools.cache
def set_kernel(order: int, n_warps: int, n_lanes: int, sets_of_warp: int) -> Any:
    """Return the kernel that counts records that have all symptoms of a set of so many.

    Of a triplet it counts the whole and the pairs (0, 1), (0, 2) and (1, 2). `targets` says, of
    each set, to which numbers these are added; below 0: someone else counts the same pair.
    """
    # Names of constants: arrays must have a size that the compiler knows, and loops unroll.
    wide, lanes, warps, sets_here = order, n_lanes, n_warps, sets_of_warp
    has_pairs = order == 3
    n_counts, n_values = (4, 2 * sets_of_warp) if has_pairs else (1, sets_of_warp)
    n_members, n_near = order * sets_of_warp, n_warps * n_values * (n_lanes + 1)
    upper, half = np.uint32(16), np.uint32(0xFFFF)

    @cuda.jit
    def count_sets(words, n_words, runs, sets, targets, counts, pair_counts):
        near = cuda.shared.array(n_near, np.uint32)
        rows = cuda.local.array(n_members, np.uint32)
        found = cuda.local.array(n_values, np.uint32)
        lane, warp = cuda.threadIdx.x % lanes, cuda.threadIdx.x // lanes
        first_set = (cuda.blockIdx.x * warps + warp) * sets_here
        first, last = runs[cuda.blockIdx.y, 0], runs[cuda.blockIdx.y, 1]
        group = runs[cuda.blockIdx.y, 2]
        for s in range(sets_here):
            # Warps without sets of their own count the last one, for nobody.
            at = min(first_set + s, len(sets) - 1)
            for k in range(wide):
                rows[s * wide + k] = np.uint32(sets[at, k] * n_words)
        for value in range(n_values):
            found[value] = np.uint32(0)
        for word in range(first + lane, last, lanes):
            w = np.uint32(word)
            for s in range(sets_here):
                a = words[np.uint32(rows[s * wide] + w)]
                if has_pairs:
                    b = words[np.uint32(rows[s * wide + 1] + w)]
                    c = words[np.uint32(rows[s * wide + 2] + w)]
                    # Two counts to a number: runs have fewer than 65,536 records.
                    ab, ac, bc = cuda.popc(a & b), cuda.popc(a & c), cuda.popc(b & c)
                    abc = np.uint32(cuda.popc(a & b & c))
                    found[2 * s] += np.uint32(abc + (np.uint32(ab) << upper))
                    found[2 * s + 1] += np.uint32(np.uint32(ac) + (np.uint32(bc) << upper))
                else:
                    for k in range(1, wide):
                        a = a & words[np.uint32(rows[s * wide + k] + w)]
                    found[s] += np.uint32(cuda.popc(a))
        for value in range(n_values):
            near[(warp * n_values + value) * (lanes + 1) + lane] = found[value]
        cuda.syncthreads()
        for index in range(lane, sets_here * n_counts, lanes):
            s, count = first_set + index // n_counts, index % n_counts
            if s < len(sets):
                row = (warp * n_values + index * n_values // (sets_here * n_counts)) * (lanes + 1)
                total = np.uint32(0)
                for other in range(lanes):
                    total = np.uint32(total + near[row + other])
                if has_pairs:
                    total = total >> upper if count % 2 == 1 else total & half
                target = targets[s, count]
                if target >= 0 and total > 0:
                    if count == 0:
                        cuda.atomic.add(counts, (group, target), total)
                    else:
                        cuda.atomic.add(pair_counts, (group, target), total)

    return count_sets


FEW_ROWS, MANY_ROWS = 3, 7
"""Words of each symptom that are near at a time."""


def most_near(n_rows: int) -> int:
    """Return how many symptoms have room: what is present, and what is known."""
    return NEAR_WORDS // n_rows // 2


@functools.cache
def margin_kernel(order: int, n_rows: int) -> Any:
    """Return the kernel that counts records for each subset of sets of so many symptoms.

    Among records in which all of a set is known, those are counted that have all of a subset. The
    symptoms of a subset are the bits of a number, by which the counts of a set stand.
    """
    # Names of constants: arrays must have a size that the compiler knows, and loops unroll.
    wide, rows, near_words, n_subsets = order, n_rows, NEAR_WORDS, 1 << order
    known_from = np.uint32(NEAR_WORDS // 2)

    @cuda.jit
    def count_margins(present, unknown, valid, runs, chunks, listed, sets, counts):
        near = cuda.shared.array(near_words, np.uint64)
        members = cuda.local.array(wide, np.uint32)
        found = cuda.local.array(n_subsets, np.uint32)
        thread, n_threads = cuda.threadIdx.x, cuda.blockDim.x
        first_set, n_sets = chunks[cuda.blockIdx.x, 0], chunks[cuda.blockIdx.x, 1]
        first_symptom, n_symptoms = chunks[cuda.blockIdx.x, 2], chunks[cuda.blockIdx.x, 3]
        word, last = runs[cuda.blockIdx.y, 0], runs[cuda.blockIdx.y, 1]
        group = runs[cuda.blockIdx.y, 2]
        # Threads without a set of their own count the last one, for nobody.
        at = first_set + min(thread, n_sets - 1)
        for k in range(wide):
            members[k] = np.uint32(sets[k, at] * rows)
        for subset in range(n_subsets):
            found[subset] = 0
        while word < last:
            for index in range(thread, n_symptoms * rows, n_threads):
                x = listed[first_symptom + index // rows]
                at = word + index % rows
                bits, known = np.uint64(0), np.uint64(0)
                if at < last:
                    bits, known = present[x, at], ~unknown[x, at] & valid[at]
                near[index], near[known_from + index] = bits, known
            cuda.syncthreads()
            for subset in range(n_subsets):
                n_found = np.uint32(0)
                for row in range(rows):
                    bits = ~np.uint64(0)
                    for k in range(wide):
                        at = members[k] + np.uint32(row)
                        if (subset >> k) & 1 == 0:
                            at = at + known_from
                        bits = bits & near[at]
                    n_found = np.uint32(n_found + np.uint32(cuda.popc(bits)))
                found[subset] = np.uint32(found[subset] + n_found)
            cuda.syncthreads()
            word += rows
        if thread < n_sets:
            number = listed[first_set + thread]
            for subset in range(n_subsets):
                if found[subset] > 0:
                    cuda.atomic.add(counts, (group, number, subset), found[subset])

    return count_margins
