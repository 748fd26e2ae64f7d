"""The kernel of the card that counts. Records lie there as here: a row per symptom, 64 to a word.

A block of threads takes a chunk of sets that have few symptoms in common, and a run of words.
It brings some words of these symptoms near (shared memory); all threads look their sets' symptoms
up in them and count. The words of a symptom lie side by side, an odd number of them, so that
symptoms begin in different banks of near memory, and one address serves all words of a set.
"""

import functools
from typing import Any

import numpy as np
from numba import cuda

NEAR_WORDS = 6144
"""Words of near memory for a block of threads: 48 kB, which all cards have."""
FEW_ROWS, MANY_ROWS = 3, 7
"""Words of each symptom that are near at a time."""
SETS_OF_THREAD = 8


def most_near(n_rows: int, with_margins: bool) -> int:
    """Return how many symptoms have room; for margins, which of them are known has, too."""
    return NEAR_WORDS // n_rows // (2 if with_margins else 1)


@functools.cache
def count_kernel(order: int, n_rows: int, with_margins: bool) -> Any:
    """Return the kernel that counts records that have all symptoms of a set of so many.

    With margins it counts for each subset of a set those that have all of it, among records in
    which all of the set is known: the symptoms of a subset are the bits of a number, by which the
    counts of a set stand. Without, for the whole set alone.
    """
    # Names of constants: arrays must have a size that the compiler knows, and loops unroll.
    wide, rows, near_words = order, n_rows, NEAR_WORDS
    n_subsets = 1 << order if with_margins else 1
    sets_of_thread = 1 if with_margins else SETS_OF_THREAD
    n_members, n_found = sets_of_thread * order, sets_of_thread * n_subsets
    known_from = np.uint32(NEAR_WORDS // 2)

    @cuda.jit
    def count_sets(present, unknown, valid, runs, chunks, listed, sets, counts):
        near = cuda.shared.array(near_words, np.uint64)
        members = cuda.local.array(n_members, np.uint32)
        found = cuda.local.array(n_found, np.uint32)
        thread, n_threads = cuda.threadIdx.x, cuda.blockDim.x
        first_set, n_sets = chunks[cuda.blockIdx.x, 0], chunks[cuda.blockIdx.x, 1]
        first_symptom, n_symptoms = chunks[cuda.blockIdx.x, 2], chunks[cuda.blockIdx.x, 3]
        word, last = runs[cuda.blockIdx.y, 0], runs[cuda.blockIdx.y, 1]
        group = runs[cuda.blockIdx.y, 2]
        for s in range(sets_of_thread):
            # Threads without a set of their own count the last one, for nobody.
            at = first_set + min(thread + s * n_threads, n_sets - 1)
            for k in range(wide):
                members[s * wide + k] = np.uint32(sets[k, at] * rows)
            for subset in range(n_subsets):
                found[s * n_subsets + subset] = 0
        while word < last:
            for index in range(thread, n_symptoms * rows, n_threads):
                x = listed[first_symptom + index // rows]
                at = word + index % rows
                bits = np.uint64(0)
                if at < last:
                    bits = present[x, at]
                near[index] = bits
                if with_margins:
                    if at < last:
                        bits = ~unknown[x, at] & valid[at]
                    near[known_from + index] = bits
            cuda.syncthreads()
            for s in range(sets_of_thread):
                for subset in range(n_subsets):
                    n_found_here = np.uint32(0)
                    for row in range(rows):
                        bits = ~np.uint64(0)
                        for k in range(wide):
                            at = members[s * wide + k] + np.uint32(row)
                            if with_margins and (subset >> k) & 1 == 0:
                                at = at + known_from
                            bits = bits & near[at]
                        n_found_here = np.uint32(n_found_here + np.uint32(cuda.popc(bits)))
                    at = s * n_subsets + subset
                    found[at] = np.uint32(found[at] + n_found_here)
            cuda.syncthreads()
            word += rows
        for s in range(sets_of_thread):
            at = thread + s * n_threads
            if at < n_sets:
                for subset in range(n_subsets):
                    n_found_here = found[s * n_subsets + subset]
                    if n_found_here > 0:
                        number = listed[first_set + at]
                        cuda.atomic.add(counts, (group, number, subset), n_found_here)

    return count_sets
