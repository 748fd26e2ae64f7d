"""Sampling records block by block, on all cores, the same for a seed whatever their number."""

import os
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError
from noisyor.findings.blocks import BLOCK_RECORDS, Block, words_for
from noisyor.parameters import Parameters
from noisyor.structure import Structure

Seed = int | np.random.Generator | np.random.SeedSequence | None
"""A number, a generator to draw from, or None for a seed from the operating system."""


class SampledBlock(NamedTuple):
    """Some records, and which diseases they had (records x diseases), if that was asked for."""

    block: Block
    diseases: NDArray[np.bool_]


def seed_sequence(seed: Seed, purpose: str) -> np.random.SeedSequence:
    """Turn what users call a seed into numpy's source of independent streams.

    One seed may serve several purposes (draw a network, then sample it): each has streams of its
    own, so that their numbers are independent.
    """
    key = zlib.crc32(purpose.encode())
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, key))
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(seed.integers(2**63, size=2).tolist(), spawn_key=(key,))
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
        raise ParameterError(f"seed is a whole number or a numpy Generator, not {seed!r}.")
    if seed is not None and seed < 0:
        raise ParameterError(f"seed must not be negative, but is {seed}.")
    return np.random.SeedSequence(seed, spawn_key=(key,))


def sample_blocks(
    structure: Structure,
    parameters: Parameters,
    n_records: int,
    seed: Seed,
    *,
    keep_diseases: bool = False,
    n_jobs: int | None = None,
) -> Iterator[SampledBlock]:
    """Sample records in blocks, in order; each block has a random stream of its own."""
    sizes = [min(BLOCK_RECORDS, n_records - start) for start in range(0, n_records, BLOCK_RECORDS)]
    streams = iter(seed_sequence(seed, "records").spawn(len(sizes)))
    children = np.ascontiguousarray(structure.edges[:, 1])

    def sample(size: int, stream: np.random.SeedSequence) -> SampledBlock:
        from noisyor.network.network_kernels import NetworkArrays, sample_block

        present = np.zeros((structure.n_symptoms, words_for(size)), dtype=np.uint64)
        diseases = np.zeros((size if keep_diseases else 0, structure.n_diseases), dtype=np.bool_)
        rng = np.random.Generator(np.random.PCG64(stream))
        network = NetworkArrays(structure.child_offsets, children, *parameters.arrays)
        sample_block(rng, size, network, present, diseases)
        return SampledBlock(Block(size, present), diseases)

    n_threads = n_jobs or os.cpu_count() or 1
    with ThreadPoolExecutor(n_threads) as pool:
        work = (pool.submit(sample, size, next(streams)) for size in sizes)
        # A few blocks ahead keep all threads busy while memory stays bounded.
        pending = list(islice(work, 2 * n_threads))
        while pending:
            yield pending.pop(0).result()
            pending.extend(islice(work, 1))
