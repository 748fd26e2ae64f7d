"""Kernels of the card that count. A plane has a row per word of 32 records, a word per symptom.

A block of threads takes some sets and some words. It brings one row after the other near (shared
memory), all threads look their sets' symptoms up in it, and add what they found to the counts of
the row's group. So a set costs as many reads of near memory a word as it has symptoms, and rows are
read from far memory once for each block of sets.
"""

import functools
from typing import Any

import numpy as np
from numba import cuda

NEAR_WORDS = 12_288
"""Words of near memory for a block of threads: 48 kB, which all cards have."""
SETS_OF_THREAD = 8
TILE = 32
"""Words and symptoms that are turned at a time..."""
PADDED = TILE + 1
"""... with one more word a row, so that those of a column lie in different banks of memory."""


@functools.cache
def count_kernel(order: int, is_near: bool) -> Any:
    """Return the kernel that counts sets of so many symptoms.

    `is_near`: rows fit into near memory.
    """
    # Names of constants: arrays must have a size that the compiler knows.
    sets_of_thread, near_words, wide = SETS_OF_THREAD, NEAR_WORDS if is_near else 1, order
    n_members = sets_of_thread * wide

    @cuda.jit
    def count_sets(plane, groups, sets, n_words, words_of_block, rows_at_once, counts):
        near = cuda.shared.array(near_words, np.uint32)
        members = cuda.local.array(n_members, np.int32)
        found = cuda.local.array(sets_of_thread, np.uint32)
        n_symptoms, n_sets = plane.shape[1], sets.shape[0]
        first_set = cuda.blockIdx.x * cuda.blockDim.x * sets_of_thread + cuda.threadIdx.x
        for s in range(sets_of_thread):
            found[s] = 0
            at = min(first_set + s * cuda.blockDim.x, n_sets - 1)
            for k in range(wide):
                members[s * wide + k] = sets[at, k]
        word = cuda.blockIdx.y * words_of_block
        last = min(word + words_of_block, n_words)
        group = groups[min(word, n_words - 1)]
        while word < last:
            n_rows = min(rows_at_once, last - word)
            if is_near:
                for row in range(n_rows):
                    for x in range(cuda.threadIdx.x, n_symptoms, cuda.blockDim.x):
                        near[row * n_symptoms + x] = plane[word + row, x]
                cuda.syncthreads()
            for row in range(n_rows):
                if groups[word + row] != group:
                    for s in range(sets_of_thread):
                        at = first_set + s * cuda.blockDim.x
                        if at < n_sets and found[s] > 0:
                            cuda.atomic.add(counts, (group, at), found[s])
                        found[s] = 0
                    group = groups[word + row]
                for s in range(sets_of_thread):
                    bits = np.uint32(0xFFFFFFFF)
                    for k in range(wide):
                        if is_near:
                            there = near[row * n_symptoms + members[s * wide + k]]
                        else:
                            there = plane[word + row, members[s * wide + k]]
                        bits = np.uint32(bits & there)
                    found[s] += np.uint32(cuda.popc(bits))
            word += n_rows
            if is_near:
                cuda.syncthreads()
        for s in range(sets_of_thread):
            at = first_set + s * cuda.blockDim.x
            if at < n_sets and found[s] > 0:
                cuda.atomic.add(counts, (group, at), found[s])

    return count_sets


@functools.cache
def margin_kernel(order: int) -> Any:
    """Return the kernel that counts sets where all of their symptoms are known.

    It counts, for each subset of a set's symptoms, the records that have all of it: the symptoms
    of the subset are the bits of a number, by which the counts of a set stand.
    """
    n_subsets, wide = 1 << order, order

    @cuda.jit
    def count_margins(plane, known, groups, sets, n_words, words_of_block, counts):
        found = cuda.local.array(n_subsets, np.uint32)
        at = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        word = cuda.blockIdx.y * words_of_block
        last = min(word + words_of_block, n_words)
        if at >= sets.shape[0] or word >= last:
            return
        for subset in range(n_subsets):
            found[subset] = 0
        group = groups[word]
        while word < last:
            if groups[word] != group:
                for subset in range(n_subsets):
                    cuda.atomic.add(counts, (group, at, subset), found[subset])
                    found[subset] = 0
                group = groups[word]
            for subset in range(n_subsets):
                bits = np.uint32(0xFFFFFFFF)
                for k in range(wide):
                    is_in = (subset >> k) & 1 == 1
                    there = plane[word, sets[at, k]] if is_in else known[word, sets[at, k]]
                    bits = np.uint32(bits & there)
                found[subset] += np.uint32(cuda.popc(bits))
            word += 1
        for subset in range(n_subsets):
            cuda.atomic.add(counts, (group, at, subset), found[subset])

    return count_margins


@cuda.jit
def turn_columns(columns, valid, are_unknown, n_words, plane):
    """Write columns, a row per symptom, as a plane; of unknown findings, which others are known."""
    tile = cuda.shared.array((TILE, PADDED), np.uint32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    word, symptom = cuda.blockIdx.x * TILE + x, cuda.blockIdx.y * TILE + x
    for row in range(y, TILE, cuda.blockDim.y):
        of = cuda.blockIdx.y * TILE + row
        if word < n_words and of < columns.shape[0]:
            bits = columns[of, word]
            tile[row, x] = np.uint32(~bits & valid[word]) if are_unknown else bits
    cuda.syncthreads()
    for row in range(y, TILE, cuda.blockDim.y):
        to = cuda.blockIdx.x * TILE + row
        if to < n_words and symptom < columns.shape[0]:
            plane[to, symptom] = tile[x, row]
