"""What the moments say of a piece, with all learned diseases removed."""

import numpy as np
from numpy.typing import NDArray

from noisyor.learning.cleanup.pieces import Piece
from noisyor.learning.cleanup.problem import USUAL_LAMBDA, Entries
from noisyor.learning.kernels import remove_influences
from noisyor.learning.pooled.pairs import MANY_RECORDS
from noisyor.learning.pooled.triplets import triplet_spreads
from noisyor.learning.steps import edge_numbers
from noisyor.moments import Moments
from noisyor.names import Indices
from noisyor.schedule.search import couplings_of, parent_bits
from noisyor.structure import Structure

Floats = NDArray[np.float64]


class Observations:
    """c of a piece's pairs, then k of its triplets, and how certain they are.

    Attributes
    ----------
    own
        Which of the piece's diseases and their kin couple each set of symptoms.
    weights
        One over the sampling variances.
    is_exact
        Whether the moments are those of a network, and not of records.
    """

    def __init__(self, structure: Structure, piece: Piece, moments: Moments) -> None:
        self._moments = moments
        self.is_exact = moments.is_exact
        self._pair_rows = moments.plan.rows_of(2, piece.pairs)
        self._triplet_rows = moments.plan.rows_of(3, piece.triplets)
        sets = piece.sets
        nobody = np.full(len(sets), -1)
        coupled = couplings_of(parent_bits(structure), nobody, sets)
        is_own = np.isin(coupled[:, 1], piece.members)
        self._removed = _entries(structure, sets, coupled[~is_own])
        self.own = _entries(structure, sets, coupled[is_own])
        self.weights = self._find_weights()

    def _find_weights(self) -> Floats:
        """Return one over the sampling variances of c and k."""
        pairs, triplets = self._moments.values(2), self._moments.values(3)
        a, b = pairs.odds[self._pair_rows].T
        c = np.maximum(pairs.pair_excesses[self._pair_rows, 0], 0.0)
        n = np.minimum(pairs.n_records[self._pair_rows], MANY_RECORDS)
        of_pairs = n / np.maximum(a * b + c * (1.0 + a + b), 1e-12)
        spread = triplet_spreads(triplets, self._triplet_rows)
        n = np.minimum(triplets.n_records[self._triplet_rows], MANY_RECORDS)
        weights = np.concatenate([of_pairs, n / np.maximum(spread, 1e-12)])
        weights[~np.isfinite(weights)] = 0.0
        return np.asarray(weights)

    def observed(self, strengths: Floats, lambdas: Floats, without: int | None = None) -> Floats:
        """Return c of the pairs and k of the triplets with the learned diseases removed."""
        n_pairs = len(self._pair_rows)
        excesses = np.zeros((n_pairs + len(self._triplet_rows), 4))
        excesses[:n_pairs, 0] = self._moments.excesses(2, without=without)[self._pair_rows]
        values = self._moments.values(3, without=without)
        excesses[n_pairs:, :3] = values.pair_excesses[self._triplet_rows]
        excesses[n_pairs:, 3] = values.triplet_excess[self._triplet_rows]
        remove_influences(
            self._removed.offsets, self._removed.diseases, self._removed.edges,
            np.nan_to_num(lambdas, nan=USUAL_LAMBDA), strengths, excesses,
        )  # fmt: skip
        return np.concatenate([excesses[:n_pairs, 0], excesses[n_pairs:, 3]])


def _entries(structure: Structure, sets: Indices, coupled: Indices) -> Entries:
    """Return rows (set, disease), sorted by set, with the edges from each disease to its set."""
    owners, diseases = coupled.T
    offsets = np.searchsorted(owners, np.arange(len(sets) + 1))
    return Entries(
        offsets, np.ascontiguousarray(diseases), edge_numbers(structure, diseases, sets[owners])
    )
