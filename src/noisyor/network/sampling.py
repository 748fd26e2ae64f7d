"""Sampling records block by block, on all cores, the same for a seed whatever their number."""

import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError, quoted
from noisyor.findings.blocks import BLOCK_RECORDS, Block, words_for
from noisyor.network.causes import Causes
from noisyor.parallel import n_threads
from noisyor.parameters import Parameters
from noisyor.structure import Structure

Rng = int | np.random.Generator | np.random.SeedSequence | None
"""A seed, a generator to draw from, or None for a seed from the operating system."""


class SampledBlock(NamedTuple):
    """Some records, and which diseases they had (records x diseases), if that was asked for."""

    block: Block
    diseases: NDArray[np.bool_]


def seed_sequence(rng: Rng, purpose: str) -> np.random.SeedSequence:
    """Turn what users give as `rng` into numpy's source of independent streams.

    One seed may serve several purposes (draw a network, then sample it): each has streams of its
    own, so that their numbers are independent.
    """
    key = zlib.crc32(purpose.encode())
    if isinstance(rng, np.random.SeedSequence):
        return np.random.SeedSequence(rng.entropy, spawn_key=(*rng.spawn_key, key))
    if isinstance(rng, np.random.Generator):
        return np.random.SeedSequence(rng.integers(2**63, size=2).tolist(), spawn_key=(key,))
    return np.random.SeedSequence(None if rng is None else as_seed(rng), spawn_key=(key,))


def as_seed(rng: Rng) -> int:
    """Return a whole number below 2^63 to start from, drawn where a generator or None is given."""
    if rng is None or isinstance(rng, np.random.SeedSequence):
        rng = np.random.default_rng(rng)
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or not 0 <= rng < 2**63:
        raise ParameterError(
            "rng must be a whole number from 0 to 2^63 - 1 or a numpy Generator, not "
            f"{quoted(rng)}."
        )
    return int(rng)


def sample_blocks(
    structure: Structure,
    parameters: Parameters,
    n_records: int,
    rng: Rng,
    *,
    keep_diseases: bool = False,
    n_jobs: int | None = None,
    causes: Causes | None = None,
    rows: NDArray[np.float64] | None = None,
) -> Iterator[SampledBlock]:
    """Sample records in blocks, in order; each block has a random stream of its own.

    Where diseases are not independent, `causes` says how they occur together, and `rows` has the
    covariates of each record, if they are known.
    """
    sizes = [min(BLOCK_RECORDS, n_records - start) for start in range(0, n_records, BLOCK_RECORDS)]
    streams = iter(seed_sequence(rng, "records").spawn(len(sizes)))
    children = structure.edge_symptoms

    def sample(start: int, size: int, stream: np.random.SeedSequence) -> SampledBlock:
        from noisyor.network.network_kernels import NetworkArrays, sample_block, sample_findings

        present = np.zeros((structure.n_symptoms, words_for(size)), dtype=np.uint64)
        diseases = np.zeros((size if keep_diseases else 0, structure.n_diseases), dtype=np.bool_)
        generator = np.random.Generator(np.random.PCG64(stream))
        network = NetworkArrays(structure.child_offsets, children, *parameters)
        if causes is None:
            sample_block(generator, size, network, present, diseases)
        else:
            known = None if rows is None else rows[start : start + size]
            drawn = causes.sample(size, generator, known)
            sample_findings(generator, drawn, network, present)
            diseases = drawn if keep_diseases else diseases
        return SampledBlock(Block(size, present), diseases)

    n_workers = n_threads(n_jobs)
    with ThreadPoolExecutor(n_workers) as pool:
        starts = range(0, n_records, BLOCK_RECORDS)
        work = (
            pool.submit(sample, start, size, next(streams))
            for start, size in zip(starts, sizes, strict=True)
        )
        # A few blocks ahead keep all threads busy while memory stays bounded.
        pending = list(islice(work, 2 * n_workers))
        while pending:
            yield pending.pop(0).result()
            pending.extend(islice(work, 1))
