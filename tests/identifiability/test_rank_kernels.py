"""Arithmetic modulo a prime: inverses, ranks, and the reduced form."""

import numpy as np

from noisyor.identifiability.rank_kernels import PRIME, eliminate, inverse, reduce_upwards

prime = int(PRIME)


def test_inverses(rng):
    for value in rng.integers(1, prime, 200, dtype=np.uint64):
        assert int(inverse(value)) * int(value) % prime == 1


def test_the_rank_of_a_product_is_that_of_its_factors(rng):
    for _ in range(100):
        n_rows, n_columns = rng.integers(1, 9, 2)
        rank = int(rng.integers(0, min(n_rows, n_columns) + 1))
        left, right = (
            rng.integers(0, prime, shape).astype(object)
            for shape in ((n_rows, rank), (rank, n_columns))
        )
        matrix = np.zeros((n_rows, n_columns), dtype=np.uint64)
        if rank:
            matrix = (left @ right % prime).astype(np.uint64)
        reduced, pivots = matrix.copy(), np.empty(min(matrix.shape), dtype=np.int64)
        assert eliminate(reduced, pivots) == rank
        reduce_upwards(reduced, pivots[:rank])
        assert (reduced[:rank, pivots[:rank]] % PRIME == np.eye(rank)).all()
        # Each row is the combination of the reduced rows that its own pivot columns name.
        again = matrix[:, pivots[:rank]].astype(object) @ reduced[:rank].astype(object) % prime
        assert (again.reshape(matrix.shape) == matrix.astype(object)).all()
